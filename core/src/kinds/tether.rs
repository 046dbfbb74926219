//! Tether: one particle that stays within reach of an anchor.

use crate::constraint::Constraint;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// C = max(0, |x − a| − L); the parameters are the anchor a and the longest reach L \[m\].
///
/// ∇C = (x − a)/|x − a| when taut, zero when slack: a slack tether neither pulls nor enters the effective mass. Long-range
/// attachments of this kind keep pinned cloth from stretching in few iterations.   [METHODS 6]
#[derive(Clone, Copy, Debug)]
pub struct Tether;

impl Constraint<1, 4> for Tether {
    const NAME: &'static str = "tether";
    const ONE_SIDED: bool = true;

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 1]) -> (L, [Vec3<L>; 1]) {
        let d = x[0] - Vec3::new(p[0], p[1], p[2]);
        let length = d.length();
        let excess = length - p[3];
        let taut = excess.gt(L::zero());
        let inv_length = L::select(taut, length.divide_or_zero(L::one()), L::zero());
        (L::select(taut, excess, L::zero()), [d * inv_length])
    }
}
