//! Skins: how far particles may leave the places that bones give them.   [NvCloth: motion and separation constraints]
//!
//! A skinned particle has a place t and a direction n from its bones. It may be within `reach` of t, and outside of a ball
//! behind it (the backstop). Both move in straight lines over a step.
//! ```text
//!         x        |x − t| ≤ d
//!       t ┄┄┄      |x − c| ≥ r,    c = t − (offset + r) n
//!       ↓ −n
//!     ╭───╮  offset
//!    │  c  │
//! ```

use crate::columns::Columns;
use crate::error::BuildError;
use crate::lane::{Lane, Real};
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::vec3::Vec3;

/// A reach that never ends \[m\].
pub const FREE: f64 = 1e30;

/// Where the skinned particles of a model may be, by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin<S> {
    particles: Vec<u32>,
    reach: Vec<S>,
    radius: Vec<S>,
    /// Places and centres of backstops: when the step begins, and when it ends \[m\].
    from: [Columns<S>; 2],
    to: [Columns<S>; 2],
}

impl<S: Real> Skin<S> {
    /// Rows of particles, how far each may go \[m\], and the radius of its backstop \[m\], 0 for none.
    ///
    /// # Errors
    /// When a number is negative or not finite ([`FREE`] is the longest reach); rows are named by their place.
    pub fn new(rows: impl IntoIterator<Item = (u32, f64, f64)>) -> Result<Self, BuildError> {
        let (mut particles, mut reach, mut radius) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (particle, d, r)) in rows.into_iter().enumerate() {
            for (quantity, value) in [("max distance", d), ("backstop radius", r)] {
                if !(0.0..=FREE).contains(&value) {
                    let (what, expected) = ("skinned particle", "a number, 0 or more");
                    return Err(BuildError::BadValue { what, row, quantity, value, expected });
                }
            }
            particles.push(particle);
            reach.push(S::from_f64(d));
            radius.push(S::from_f64(r));
        }
        let zeros = || [Columns::zeros(particles.len()), Columns::zeros(particles.len())];
        Ok(Self { from: zeros(), to: zeros(), particles, reach, radius })
    }
    /// Sends a row to its place and the centre of its backstop at the end of the next step \[m\].
    pub fn send(&mut self, row: usize, place: [S; 3], centre: [S; 3]) {
        self.to[0].set(row, place);
        self.to[1].set(row, centre);
    }
    /// Takes where rows were sent as where they are.
    pub fn settle(&mut self) {
        let count = self.particles.len();
        for (from, to) in self.from.iter_mut().zip(&self.to) {
            from.copy_from(0..count, to, 0);
        }
    }
    /// Puts a row where one of another skin is, and sends it where that one was sent.
    pub fn resume(&mut self, row: usize, before: &Self, old_row: usize) {
        for k in 0..2 {
            self.from[k].set(row, before.from[k].get(old_row));
            self.to[k].set(row, before.to[k].get(old_row));
        }
    }
    /// Writes down where rows are and where they were sent.
    pub fn remember(&self, to: &mut Writer) {
        self.from.iter().chain(&self.to).for_each(|columns| to.columns(columns));
    }
    /// Takes it back, for as many rows.
    ///
    /// # Errors
    /// When it is of other rows; it may be half taken back then.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.from.iter_mut().chain(&mut self.to).try_for_each(|columns| from.columns(columns))
    }
    /// The skinned particles of the model.
    pub fn particles(&self) -> &[u32] {
        &self.particles
    }
    /// How far each may go, and the radius of its backstop \[m\].
    pub fn limits(&self, row: usize) -> [S; 2] {
        [self.reach[row], self.radius[row]]
    }
    /// Its place and the centre of its backstop when the step begins \[m\].
    pub fn from(&self, row: usize) -> [[S; 3]; 2] {
        [self.from[0].get(row), self.from[1].get(row)]
    }
    /// The same when it ends.
    pub fn to(&self, row: usize) -> [[S; 3]; 2] {
        [self.to[0].get(row), self.to[1].get(row)]
    }
}

/// x moved to where its place t and reach d, and the backstop c of radius r, let it be.
///
/// Into the ball about t, then out of the ball about c; where the way out leads too far from t, onto the circle that both
/// have in common, s from c along t − c:   s = (D² + r² − d²)/2D,   ρ² = r² − s²,   D = |t − c|.
#[inline(always)]
pub fn hold<L: Lane>(x: Vec3<L>, (t, d): (Vec3<L>, L), (c, r): (Vec3<L>, L)) -> Vec3<L> {
    let away = x - t;
    let length = away.length();
    let x = Vec3::select(length.gt(d), t + away * length.divide_or_zero(d), x);
    let out = x - c;
    let depth = out.length();
    let inside = r.gt(depth);
    let pushed = c + out * depth.divide_or_zero(r);
    let axis = t - c;
    let apart = axis.length();
    let a = axis * apart.divide_or_zero(L::one());
    let s = (apart + apart).divide_or_zero(apart * apart + r * r - d * d);
    let rho = (r * r - s * s).max(L::zero()).sqrt();
    let side = out - a * out.dot(a);
    let width = side.length();
    let circle = c + a * s + side * width.divide_or_zero(rho);
    let circle = Vec3::select(width.gt(L::zero()), circle, t);
    let kept = Vec3::select((pushed - t).length().gt(d), circle, pushed);
    Vec3::select(inside, Vec3::select(depth.gt(L::zero()), kept, t), x)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    #[test]
    fn held_particles_are_in_reach_and_outside_of_the_backstop() {
        let number = |i: usize| ((i * 40_503) % 65_536) as f64 / 32_768.0 - 1.0;
        for i in 0..20_000 {
            let at = |k: usize| Vec3::new(number(7 * i + k), number(11 * i + k + 1), number(13 * i + k + 2));
            let (x, t) = (at(0) * 2.0, at(3));
            let (d, r, offset) = (number(i).abs(), number(3 * i + 1).abs() * 0.7, number(5 * i).abs() * 0.2);
            let n = at(5) * (1.0 / at(5).length());
            let c = t - n * (offset + r);
            let held = hold::<f64>(x, (t, d), (c, r));
            assert!((held - t).length() <= d + 1e-12, "row {i}: {} > {d}", (held - t).length());
            assert!((held - c).length() >= r - 1e-12, "row {i}: {} < {r}", (held - c).length());
            let fine = (x - t).length() <= d && (x - c).length() >= r;
            assert!(!fine || held == x, "row {i} may stay");
        }
        let t = Vec3::new(1.0, 2.0, 3.0);
        assert_eq!(hold::<f64>(Vec3::zero(), (t, 0.0), (t, 0.0)), t, "no reach: exactly there");
        assert!(Skin::<f32>::new([(0, -1.0, 0.0)]).is_err() && Skin::<f32>::new([(0, 1.0, f64::NAN)]).is_err());
    }
}
