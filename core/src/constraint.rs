//! Constraint kinds: the only home of a formula.
//!
//! A kind is a zero-sized type that computes C(x) and ∇C(x) on lanes from `P` parameters a constraint. Solvers decide what
//! to do with the value and its gradient; backends decide how wide it runs. To add a kind, write one file in `kinds/`,
//! implement [`Constraint`] and [`Energy`](crate::energy::Energy), and follow the lists of [`crate::constraints`].

use crate::lane::Lane;
use crate::vec3::Vec3;

/// A formula C(x) on `N` particles with `P` parameters.
pub trait Constraint<const N: usize, const P: usize>: Copy + Send + Sync + 'static {
    /// The kind's name in reports and errors.
    const NAME: &'static str;

    /// Whether C = 0 means that the constraint does not act, instead of being satisfied.
    const ONE_SIDED: bool = false;

    /// C(x) and the gradient ∇ₖC of each corner.
    ///
    /// Degenerate input (coincident points, flat elements) gives a zero gradient, never a NaN.
    fn eval<L: Lane>(p: &[L; P], x: &[Vec3<L>; N]) -> (L, [Vec3<L>; N]);
}

/// A pair kind with one parameter that only depends on the distance ℓ of its particles, with C(ℓ) rising at unit slope.
///
/// Such kinds take a narrower road through memory: the backend hands over the difference of the two rows and adds multiples
/// of it back. The formula still stands here only; `Constraint<2, 1>` follows from it.
pub trait Radial: Copy + Send + Sync + 'static {
    /// The kind's name in reports and errors.
    const NAME: &'static str;

    /// C(ℓ) for the parameter p and the current distance ℓ \[m\].
    fn value<L: Lane>(p: L, length: L) -> L;
}

impl<K: Radial> Constraint<2, 1> for K {
    const NAME: &'static str = K::NAME;

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 2]) -> (L, [Vec3<L>; 2]) {
        let d = x[0] - x[1];
        let length = d.length();
        // ∇₀C = d/ℓ, ∇₁C = −d/ℓ; coincident points have no direction and get none.
        let n = d * length.divide_or_zero(L::one());
        (K::value(p[0], length), [n, -n])
    }
}
