//! Distance: two particles at a rest length.

use crate::constraint::Radial;
use crate::lane::Lane;

/// C = |x₀ − x₁| − L; the parameter is the rest length L \[m\].   [METHODS 6; C 21]
#[derive(Clone, Copy, Debug)]
pub struct Distance;

impl Radial for Distance {
    const NAME: &'static str = "distance";

    #[inline(always)]
    fn value<L: Lane>(rest: L, length: L) -> L {
        length - rest
    }
}
