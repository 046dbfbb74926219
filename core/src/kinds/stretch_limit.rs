//! Stretch limit: a triangle that may be stretched only so far along one direction of its material.

use crate::body::Unfit;
use crate::constraint::Constraint;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// The stretch ℓ = |F d| of a material direction d, held between a lower bound a and an upper bound b \[1\].
///
/// ```text
///   F d = (x₁ − x₀) p₀ + (x₂ − x₀) p₁          p₀, p₁: a column of the inverse rest edge matrix [1/m]
///   C = ℓ − b above b, ℓ − a below a, 0 between; p₂ = a, p₃ = b
/// ```
/// Warp and weft are a row each, so that each has limits of its own. Like [`DistanceRange`](super::DistanceRange), ∇C keeps
/// its length inside the range, for multipliers that must relax.   [METHODS 6 strain limiting]
#[derive(Clone, Copy, Debug)]
pub struct StretchLimit;

impl StretchLimit {
    /// Whether parameters make sense.
    pub(crate) fn accept(&[_, _, lower, upper]: &[f64; 4]) -> Result<(), Unfit> {
        if (0.0..=upper).contains(&lower) {
            Ok(())
        } else {
            Err(("lower bound", lower, "at least 0 and at most the upper bound"))
        }
    }

    /// F d.
    #[inline(always)]
    pub(crate) fn direction<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 3]) -> Vec3<L> {
        (x[1] - x[0]) * p[0] + (x[2] - x[0]) * p[1]
    }

    /// ∂(F d)/∂x by corner.
    #[inline(always)]
    pub(crate) fn shape<L: Lane>(p: &[L; 4]) -> [L; 3] {
        [-(p[0] + p[1]), p[0], p[1]]
    }
}

impl Constraint<3, 4> for StretchLimit {
    const NAME: &'static str = "stretch limit";
    const ONE_SIDED: bool = true;

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 3]) -> (L, [Vec3<L>; 3]) {
        let [_, _, lower, upper] = *p;
        let d = Self::direction(p, x);
        let length = d.length();
        let c = L::select(length.gt(upper), length - upper, L::select(lower.gt(length), length - lower, L::zero()));
        let n = d * length.divide_or_zero(L::one());
        let [g0, g1, g2] = Self::shape(p);
        (c, [n * g0, n * g1, n * g2])
    }
}
