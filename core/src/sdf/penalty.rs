//! Penalties: repulsive energies of the distance to a collider, as forces and as stiffness.   [METHODS 10]

use crate::error::BuildError;
use crate::lane::{Lane, Real};
use crate::math::ln;
use crate::precision;

/// How a collider pushes a particle away; the gap is the distance φ less the particle's thickness.
///
/// | | E(gap) | force −E′ | where |
/// | --- | --- | --- | --- |
/// | linear | k/2 gap² | −k gap | gap < 0 |
/// | buffered | k/2 (gap − ε)² | −k (gap − ε) | gap < ε |
/// | log barrier | ρ (gap/ε − 1 − ln(gap/ε)) | ρ/gap − ρ/ε | 0 < gap < ε |
///
/// The barrier is ρ/φ of the textbook, less its value at ε: so the force begins at 0 and acts within the buffer only.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Penalty {
    /// A spring that acts inside the collider.
    Linear {
        /// k \[N/m\].
        stiffness: f64,
    },
    /// A spring that acts in a layer around the collider too.
    Buffered {
        /// k \[N/m\].
        stiffness: f64,
        /// ε \[m\].
        buffer: f64,
    },
    /// A force that grows without bound towards the surface (up to 1000 ρ/ε: explicit steps may overshoot).
    LogBarrier {
        /// ρ \[N m\].
        strength: f64,
        /// ε \[m\].
        buffer: f64,
    },
}

/// A barrier's gap never counts as smaller than this share of the buffer.
const SMALLEST_GAP: f64 = 1e-3;

impl Penalty {
    /// Checks that every number is positive and finite in precision `S`, and the stiffness of a barrier wherever it acts.
    ///
    /// # Errors
    /// [`BuildError::BadOption`] with the first that is not.
    pub fn check<S: Real>(&self) -> Result<(), BuildError> {
        let numbers = match *self {
            Self::Linear { stiffness } => [("penalty stiffness", stiffness); 2],
            Self::Buffered { stiffness, buffer } => [("penalty stiffness", stiffness), ("penalty buffer", buffer)],
            Self::LogBarrier { strength, buffer } => [("barrier strength", strength), ("penalty buffer", buffer)],
        };
        for (name, value) in numbers {
            precision::positive::<S>(value).map_err(|expected| BuildError::BadOption { name, value, expected })?;
        }
        if let Self::LogBarrier { strength, buffer } = *self {
            let smallest = SMALLEST_GAP * buffer;
            let steepest = strength / smallest / smallest;
            if !Real::is_finite(S::from_f64(steepest)) || S::from_f64(smallest) <= S::ZERO {
                let expected = "a longer one: the largest stiffness, 1e6 strength/buffer², is beyond the precision";
                return Err(BuildError::BadOption { name: "penalty buffer", value: buffer, expected });
            }
        }
        Ok(())
    }

    /// Where it begins to push: the largest gap with a force \[m\].
    pub fn reach(&self) -> f64 {
        match *self {
            Self::Linear { .. } => 0.0,
            Self::Buffered { buffer, .. } | Self::LogBarrier { buffer, .. } => buffer,
        }
    }

    /// The energy E at a gap \[m\] \[J\]: what [`Penalty::push`] is the slope of.
    #[inline(always)]
    pub fn energy<L: Lane>(&self, gap: L) -> L {
        let zero = L::zero();
        match *self {
            Self::Linear { stiffness } => L::constant(0.5 * stiffness) * gap.min(zero) * gap.min(zero),
            Self::Buffered { stiffness, buffer } => {
                let inside = (gap - L::constant(buffer)).min(zero);
                L::constant(0.5 * stiffness) * inside * inside
            }
            Self::LogBarrier { strength, buffer } => {
                // A straight line from the smallest gap on, where the force grows no more.
                let smallest = L::constant(SMALLEST_GAP * buffer);
                let inside = gap.max(smallest).min(L::constant(buffer));
                let share = inside * L::constant(1.0 / buffer);
                let energy = L::constant(strength) * (share - L::one() - ln(share));
                energy + self.push(smallest).0 * (smallest - gap).max(zero)
            }
        }
    }

    /// The force −E′ along the normal \[N\] and the stiffness E″ \[N/m\] at a gap \[m\].
    #[inline(always)]
    pub fn push<L: Lane>(&self, gap: L) -> (L, L) {
        let zero = L::zero();
        match *self {
            Self::Linear { stiffness } => spring(stiffness, 0.0, gap),
            Self::Buffered { stiffness, buffer } => spring(stiffness, buffer, gap),
            Self::LogBarrier { strength, buffer } => {
                let near = L::constant(buffer).gt(gap);
                let inverse = L::one() / gap.max(L::constant(SMALLEST_GAP * buffer));
                let force = L::constant(strength) * inverse - L::constant(strength / buffer);
                let stiffness = L::constant(strength) * inverse * inverse;
                (L::select(near, force, zero), L::select(near, stiffness, zero))
            }
        }
    }
}

#[inline(always)]
fn spring<L: Lane>(stiffness: f64, buffer: f64, gap: L) -> (L, L) {
    let (k, depth) = (L::constant(stiffness), L::constant(buffer) - gap);
    let near = depth.gt(L::zero());
    (L::select(near, k * depth, L::zero()), L::select(near, k, L::zero()))
}
