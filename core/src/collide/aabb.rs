//! Axis-aligned boxes, the currency of the broad phase.

use super::CollideError;
use crate::lane::{BLOCK, Lane, Octet, Real};

/// An axis-aligned box \[m\].
///
/// Kept as one octet `[low x, y, z, −high x, y, z, 0, 0]`: the union of two boxes is then one minimum, and both halves of
/// the overlap test are the same comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb<S>(pub(super) Octet<S>);

/// A number of a box, lowered by `radius` and rounded outward.
#[inline(always)]
pub(super) fn lower<L: Lane>(number: L, radius: L) -> L {
    // One rounding is at most ε/2 of the result; 2^−126 (2^−1022) covers results near 0. Without branches.
    let tiny = if L::Scalar::NAME == "f32" { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let moved = number - radius;
    moved - (moved.abs() * L::splat(L::Scalar::EPSILON) + L::constant(tiny))
}

impl<S: Real> Aabb<S> {
    /// From its lowest and highest corner.
    #[inline(always)]
    pub fn new(low: [S; 3], high: [S; 3]) -> Self {
        Self(Octet([low[0], low[1], low[2], -high[0], -high[1], -high[2], S::ZERO, S::ZERO]))
    }

    /// The empty box: the union with it changes nothing, and it overlaps nothing.
    #[inline(always)]
    pub fn empty() -> Self {
        let far = S::from_f64(f64::INFINITY);
        Self(Octet([far, far, far, far, far, far, S::ZERO, S::ZERO]))
    }

    /// The smallest box around points; NaN all over when a coordinate is not finite, so that no broad phase takes it.
    #[inline(always)]
    pub fn around(points: &[[S; 3]]) -> Self {
        let mut this = Self::empty();
        let mut blemish = S::ZERO;
        for &p in points {
            this = this.union(&Self::new(p, p));
            blemish = blemish + p[0].blemish() + p[1].blemish() + p[2].blemish();
        }
        // A minimum forgets a NaN; a sum does not.
        for k in 0..6 {
            this.0.0[k] = this.0.0[k] + blemish;
        }
        this
    }

    /// The smallest box around both.
    #[inline(always)]
    pub fn union(&self, other: &Self) -> Self {
        let mut row = self.0;
        for k in 0..BLOCK {
            row.0[k] = Lane::min(other.0.0[k], row.0[k]);
        }
        Self(row)
    }

    /// Grown by `radius` ≥ 0 on every side \[m\], rounded outward: it holds every point within `radius` of the box.
    #[inline(always)]
    pub fn grown(&self, radius: S) -> Self {
        let mut row = self.0;
        for k in 0..6 {
            row.0[k] = lower(row.0[k], radius);
        }
        Self(row)
    }

    /// The lowest corner, and the highest one negated; each followed by a number that means nothing.
    #[inline(always)]
    pub(super) fn corners(&self) -> (&[S; 4], &[S; 4]) {
        let [low @ .., _, _, _, _] = &self.0.0;
        let [_, _, _, high @ .., _] = &self.0.0;
        (low, high)
    }

    /// Lowest corner.
    pub fn low(&self) -> [S; 3] {
        [self.0.0[0], self.0.0[1], self.0.0[2]]
    }

    /// Highest corner.
    pub fn high(&self) -> [S; 3] {
        [-self.0.0[3], -self.0.0[4], -self.0.0[5]]
    }

    /// Whether the boxes share a point; touching counts.
    #[inline(always)]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (&self.0.0, &other.0.0);
        // low ≤ high' and low' ≤ high, on three axes.
        (0..3).all(|k| a[k] <= -b[k + 3] && b[k] <= -a[k + 3])
    }

    /// Half the surface: xy + yz + zx \[m²\].
    pub(super) fn half_surface(&self) -> f64 {
        let r = &self.0.0;
        let [x, y, z] = [0, 1, 2].map(|k| -(r[k].to_f64() + r[k + 3].to_f64()));
        if x < 0.0 { 0.0 } else { x * y + y * z + z * x }
    }

    /// Adds 0 to the sums, or NaN; tells whether the box is turned inside out.
    #[inline(always)]
    fn judge(&self, sum: &mut [S; BLOCK]) -> bool {
        let r = &self.0.0;
        for k in 0..BLOCK {
            sum[k] = sum[k] + r[k] * S::ZERO;
        }
        (r[0] > -r[3]) | (r[1] > -r[4]) | (r[2] > -r[5])
    }

    /// Refuses boxes that are not finite or turned inside out.
    pub(super) fn check(boxes: &[Self]) -> Result<(), CollideError> {
        // NaN and infinities turn the sum into NaN; one pass without branches, and the culprit is looked for afterwards. Four
        // sums side by side: one would wait for itself.
        let mut sums = [[S::ZERO; BLOCK]; 4];
        let mut inverted = false;
        let (fours, rest) = boxes.as_chunks::<4>();
        for four in fours {
            for (aabb, sum) in four.iter().zip(&mut sums) {
                inverted |= aabb.judge(sum);
            }
        }
        for aabb in rest {
            inverted |= aabb.judge(&mut sums[0]);
        }
        let mut sum = [S::ZERO; BLOCK];
        for k in 0..BLOCK {
            sum[k] = (sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]);
        }
        if !inverted && sum == [S::ZERO; BLOCK] {
            return Ok(());
        }
        for (row, aabb) in boxes.iter().enumerate() {
            let (low, high) = (aabb.low(), aabb.high());
            if let Some(bad) = low.into_iter().chain(high).find(|v| !Real::is_finite(*v)) {
                return Err(CollideError::NotFinite { what: "box", row, value: bad.to_f64() });
            }
            if let Some(axis) = (0..3).find(|&k| low[k] > high[k]) {
                return Err(CollideError::Inverted {
                    row,
                    axis: ["x", "y", "z"][axis],
                    low: low[axis].to_f64(),
                    high: high[axis].to_f64(),
                });
            }
        }
        Ok(())
    }
}
