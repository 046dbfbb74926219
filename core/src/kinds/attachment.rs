//! Attachment: one particle held at a point in space.

use crate::constraint::Constraint;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// C = |x − t|; the parameters are the target t \[m\].
///
/// ∇C = (x − t)/|x − t|, zero at the target. With compliance α it is a spring of rest length zero, E = |x − t|²/(2α).
/// [METHODS 6, 8]
#[derive(Clone, Copy, Debug)]
pub struct Attachment;

impl Constraint<1, 3> for Attachment {
    const NAME: &'static str = "attachment";

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 3], x: &[Vec3<L>; 1]) -> (L, [Vec3<L>; 1]) {
        let d = x[0] - Vec3::new(p[0], p[1], p[2]);
        let length = d.length();
        (length, [d * length.divide_or_zero(L::one())])
    }
}
