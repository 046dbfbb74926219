//! Distance range: two particles that may move freely between a lower and an upper distance.

use crate::body::Unfit;
use crate::constraint::Constraint;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// A distance with bounds instead of one rest length, and a compression that may be softer than the stretch.
///
/// With ℓ = |x₀ − x₁| \[m\], parameters lower bound a \[m\], upper bound b \[m\], compression scale s \[1\]:
/// ```text
///        ⎧ ℓ − b        ℓ > b            C
///    C = ⎨ 0            a ≤ ℓ ≤ b        │            ╱ slope 1
///        ⎩ s (ℓ − a)    ℓ < a            ┼────╭──────╮───── ℓ
///                                        │ ╱  a      b
///                                        │╱ slope s
/// ```
/// Since E = C²/(2α), compression has the stiffness k_compress = s² k_stretch: s = √(k_compress/k_stretch) ∈ [0, 1].
///
/// | wanted | parameters | made by |
/// | --- | --- | --- |
/// | the plain distance | \[L, L, 1\] | [`equality`](Self::equality) |
/// | pulls, never pushes (a rope) | \[0, L, 0\] | [`tension_only`](Self::tension_only) |
/// | softer when compressed | \[L, L, √ratio\] | [`soft_compression`](Self::soft_compression) |
/// | no force within ± half a width | \[L − d, L + d, 1\] | [`dead_zone`](Self::dead_zone) |
/// | strain limits | \[a, b, 1\] | [`range`](Self::range) |
///
/// Inside the range C is 0 but ∇C keeps its unit length. An XPBD multiplier λ built up by an earlier iteration of the same
/// step then relaxes, Δλ = −α̃λ/(w₀ + w₁ + α̃), and hands its displacement back along the same line; with a zero gradient
/// λ would vanish and leave the particles where it had pushed them. For the same reason `tension_only` puts its lower
/// bound at 0 instead of using slope 0 below L.   [METHODS 1 anti-locking, 6 strain limiting]
#[derive(Clone, Copy, Debug)]
pub struct DistanceRange;

impl DistanceRange {
    /// Exactly `rest` \[m\], as [`Distance`](super::Distance).
    pub const fn equality(rest: f64) -> [f64; 3] {
        [rest, rest, 1.0]
    }
    /// At most `rest` \[m\]: pulls like a rope and never pushes.
    pub const fn tension_only(rest: f64) -> [f64; 3] {
        [0.0, rest, 0.0]
    }
    /// Rest length `rest` \[m\] with `ratio` = k_compress/k_stretch \[1\] of the stiffness in compression.
    pub fn soft_compression(rest: f64, ratio: f64) -> [f64; 3] {
        [rest, rest, ratio.sqrt()]
    }
    /// No force while |ℓ − rest| < half_width \[m\]; beyond it the distance to the border of that zone counts.
    pub const fn dead_zone(rest: f64, half_width: f64) -> [f64; 3] {
        [rest - half_width, rest + half_width, 1.0]
    }
    /// Between `lower` and `upper` \[m\], both equally stiff.
    pub const fn range(lower: f64, upper: f64) -> [f64; 3] {
        [lower, upper, 1.0]
    }
    /// Whether parameters make sense.
    pub(crate) fn accept(&[lower, upper, scale]: &[f64; 3]) -> Result<(), Unfit> {
        if lower < 0.0 || upper < lower {
            Err(("lower bound", lower, "at least 0 and at most the upper bound"))
        } else if !(0.0..=1.0).contains(&scale) {
            Err(("compression scale", scale, "0 to 1"))
        } else {
            Ok(())
        }
    }
}

impl Constraint<2, 3> for DistanceRange {
    const NAME: &'static str = "distance range";
    const ONE_SIDED: bool = true;

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 3], x: &[Vec3<L>; 2]) -> (L, [Vec3<L>; 2]) {
        let [lower, upper, scale] = *p;
        let d = x[0] - x[1];
        let length = d.length();
        let longer = length.gt(upper);
        let shorter = lower.gt(length);
        let c = L::select(longer, length - upper, L::select(shorter, scale * (length - lower), L::zero()));
        // ∇₀C = slope · d/ℓ, ∇₁C = −∇₀C; coincident points have no direction and get none.
        let slope = L::select(shorter, scale, L::one());
        let n = d * length.divide_or_zero(slope);
        (c, [n, -n])
    }
}
