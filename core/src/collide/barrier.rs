//! The contact barrier: an energy that is nothing at the distance d̂, grows as primitives come closer, and is infinite at
//! contact.
//!
//! ```text
//!   b(d)   = −(d − d̂)² ln(d/d̂)                               0 < d < d̂, and 0 for d ≥ d̂   [METHODS 10; Li20]
//!   b'(d)  = 2 (d̂ − d) ln(d/d̂) − (d̂ − d)²/d
//!   b''(d) = −2 ln(d/d̂) + 4 (d̂ − d)/d + ((d̂ − d)/d)²
//! ```
//! b, b' and b'' reach 0 at d̂ continuously (twice differentiable). No term cancels another: each derivative is a sum of
//! numbers of one sign, accurate to a few units in the last place. Multiply by a stiffness \[N/m\] to get an energy.

use crate::lane::{Lane, Real};
use crate::math::ln_ratio;

/// The barrier and its derivatives at one distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Barrier<L> {
    /// b \[m²\].
    pub value: L,
    /// b' \[m\], never positive.
    pub slope: L,
    /// b'', never negative.
    pub curvature: L,
}

/// b, b' and b'' at the distance `d` > 0 with the reach `reach` = d̂ > 0 \[m\].
///
/// At d ≤ 0 (contact, which interior-point methods never accept) the value is +∞, the slope −∞ and the curvature +∞.
#[inline(always)]
pub fn barrier<L: Lane>(d: L, reach: L) -> Barrier<L> {
    let (zero, two) = (L::zero(), L::constant(2.0));
    let apart = d.gt(zero);
    let active = reach.gt(d);
    let safe = L::select(L::both(apart, active), d, reach);
    let log = ln_ratio(safe, reach);
    let gap = reach - safe;
    let ratio = gap / safe;
    let infinite = L::splat(L::Scalar::from_f64(f64::INFINITY));
    Barrier {
        value: L::select(zero.ge(d), infinite, zero - gap * gap * log),
        slope: L::select(zero.ge(d), -infinite, two * gap * log - gap * ratio),
        curvature: L::select(zero.ge(d), infinite, zero - two * log + L::constant(4.0) * ratio + ratio * ratio),
    }
}
