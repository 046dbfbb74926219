//! The projection rule of PBD and XPBD: one formula for both.
//!
//! XPBD:  Δλ = (−C − α̃ λ − γ̃ ∇C·(x − x_start)) / ((1 + γ̃) Σ w|∇C|² + α̃),   Δxᵢ = wᵢ ∇ᵢC Δλ   [METHODS 8; Macklin16]
//! with α̃ = α/h² and γ̃ = α β/h. PBD is the same with α̃ = 0, scaled by its stiffness (the gate).   [METHODS 6; C 22–23]

use core::marker::PhantomData;

use pliant_core::backend::{PairRule, Rule, TUNING};
use pliant_core::constraint::{Constraint, Radial};
use pliant_core::lane::{Lane, Real};
use pliant_core::vec3::Vec3;

/// Octets a block of the folded pair rule: rest length, w₀ inv, w₁ inv. (α̃ inv travels apart: the first sweep of a
/// substep does not need it, and streaming constants from memory is what bounds large cloths.)
pub(crate) const FOLDED: usize = 3;

/// Pairs closer than this \[m\] count as this far apart when their direction is taken.
///
/// Above √(smallest normal f32) = 1.1e-19: where |d|² underflows and the length comes out as 0, |d| itself is still shorter
/// than this, so a pair never moves farther than its error C. A smaller bound would throw such pairs away.
const SHORTEST: f64 = 1e-18;

/// Projects one constraint of any kind.
///
/// The switches are uniform over a sweep, so branching on them costs nothing measurable; as type parameters they would only
/// multiply the code.
pub(crate) struct Project<S, K> {
    /// The first iteration of a substep: λ = 0 need not be read.
    pub first: bool,
    /// Whether anybody will read the new λ.
    pub keep: bool,
    /// Adds the damping term.
    pub damped: bool,
    pub kind: PhantomData<(S, K)>,
}

impl<S, K> Project<S, K> {
    /// A projection on its own: λ starts at 0 and nobody reads it afterwards.
    pub fn once() -> Self {
        Self { first: true, keep: false, damped: false, kind: PhantomData }
    }
}

impl<S: Real, K: Constraint<N, P>, const N: usize, const P: usize> Rule<N, P> for Project<S, K> {
    type Scalar = S;
    #[inline(always)]
    fn reads_start(&self) -> bool {
        self.damped
    }
    #[inline(always)]
    fn reads_lambda(&self) -> bool {
        !self.first
    }
    #[inline(always)]
    fn writes_lambda(&self) -> bool {
        self.keep
    }

    #[inline(always)]
    fn update<L: Lane<Scalar = S>>(
        &self,
        parameters: &[L; P],
        tuning: &[L; TUNING],
        x: &mut [Vec3<L>; N],
        w: &[L; N],
        start: &[Vec3<L>; N],
        lambda: L,
    ) -> L {
        let [alpha, gamma, gate] = *tuning;
        let (c, grad) = K::eval(parameters, x);
        let mut weight = L::zero();
        for k in 0..N {
            weight = weight + w[k] * grad[k].length_sq();
        }
        let mut residual = -c - alpha * lambda;
        if self.damped {
            let mut motion = L::zero();
            for k in 0..N {
                motion = motion + grad[k].dot(x[k] - start[k]);
            }
            residual = residual - gamma * motion;
            weight = weight + gamma * weight;
        }
        let delta = gate * (weight + alpha).divide_or_zero(residual);
        for k in 0..N {
            x[k] = x[k] + grad[k] * (w[k] * delta);
        }
        lambda + delta
    }
}

/// Projects a pair with everything that does not change during a step folded into its constants.
///
/// With inv = 1/(w₀ + w₁ + α̃) and μ = λ/inv:  Δμ = −C − (α̃ inv) μ,  x₀ += d (w₀ inv) Δμ/ℓ,  x₁ −= d (w₁ inv) Δμ/ℓ.
/// One square root, one division, no inverse masses to load.
pub(crate) struct ProjectPair<S, K, const FIRST: bool, const KEEP: bool>(pub PhantomData<(S, K)>);

impl<S: Real, K: Radial, const FIRST: bool, const KEEP: bool> PairRule<FOLDED> for ProjectPair<S, K, FIRST, KEEP> {
    type Scalar = S;
    const READS_LAMBDA: bool = !FIRST;
    const WRITES_LAMBDA: bool = KEEP;

    #[inline(always)]
    fn update<L: Lane<Scalar = S>>(&self, constants: &[L; FOLDED], alpha: L, d: Vec3<L>, mu: L) -> (L, L, L) {
        let [rest, w0, w1] = *constants;
        let length = d.length();
        let c = K::value(rest, length);
        let delta = if FIRST { -c } else { -c - alpha * mu };
        // Coincident points have d = 0: whatever finite number multiplies it, nothing moves.
        let s = delta / length.max(L::constant(SHORTEST));
        (s * w0, s * w1, if FIRST { delta } else { mu + delta })
    }
}

/// Folds a pair's inverse masses, compliance α̃ and gate into its constants and α̃ inv; a pair that nothing can move gets
/// zeros.
pub(crate) fn fold<S: Real>(rest: S, w: [S; 2], alpha: S, gate: S) -> ([S; FOLDED], S) {
    let inv = inverse(w, alpha);
    ([rest, w[0] * inv * gate, w[1] * inv * gate], alpha * inv)
}

/// 1/(w₀ + w₁ + α̃), or 0 when that is 0: two pins.
pub(crate) fn inverse<S: Real>(w: [S; 2], alpha: S) -> S {
    (w[0] + w[1] + alpha).divide_or_zero(S::ONE)
}
