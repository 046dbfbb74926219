//! Limit: two particles that never get farther apart than a length.

use crate::constraint::Radial;
use crate::lane::Lane;

/// C = max(0, |x₀ − x₁| − L); the parameter is the longest distance L \[m\]. Pulls and never pushes.
///
/// Meant for a single sweep from λ = 0, as coarse layers do it (`pliant_core::layers`): a multiplier kept from an earlier
/// sweep would need [`DistanceRange`](super::DistanceRange).   [METHODS 1, level of detail]
#[derive(Clone, Copy, Debug)]
pub struct Limit;

impl Radial for Limit {
    const NAME: &'static str = "limit";

    #[inline(always)]
    fn value<L: Lane>(longest: L, length: L) -> L {
        (length - longest).max(L::zero())
    }
}
