//! Distance: two particles at a rest length.

use crate::body::Unfit;
use crate::constraint::Radial;
use crate::lane::Lane;

/// C = |x₀ − x₁| − L; the parameter is the rest length L \[m\].   [METHODS 6; C 21]
#[derive(Clone, Copy, Debug)]
pub struct Distance;

impl Distance {
    /// Whether parameters make sense.
    pub(crate) fn accept(p: &[f64; 1]) -> Result<(), Unfit> {
        if p[0] >= 0.0 { Ok(()) } else { Err(("rest length", p[0], "0 or more")) }
    }
}

impl Radial for Distance {
    const NAME: &'static str = "distance";

    #[inline(always)]
    fn value<L: Lane>(rest: L, length: L) -> L {
        length - rest
    }
}
