//! Cures for locking: springs along all edges of a mesh keep it from bending, since a bent edge is a shorter one.
//!
//! Softer compression and a dead zone let edges get shorter; [`Body::linked_along`] leaves out those that are no threads
//! ([`TriMesh::edges_along`](crate::mesh::TriMesh::edges_along) chooses); layers (`pliant_core::layers`) are another matter:
//! they help convergence and never push.   [METHODS 1, anti-locking]

use super::{Body, Role};
use crate::error::BuildError;
use crate::kinds::DistanceRange;

impl Body {
    /// Makes links of stretch and shear softer when they are compressed, by this ratio of stiffness (0 to 1): cloth buckles
    /// instead of resisting.
    ///
    /// # Errors
    /// When the ratio is outside its range, or the lists of the table of links are not equally long.
    pub fn softer_in_compression(self, ratio: f64) -> Result<Self, BuildError> {
        if !(0.0..=1.0).contains(&ratio) {
            return Err(BuildError::BadOption { name: "compression ratio", value: ratio, expected: "0 to 1" });
        }
        self.ranged(|rest| DistanceRange::soft_compression(rest, ratio))
    }

    /// Lets links of stretch and shear change their length by this share (0 to below 1) before they resist.
    ///
    /// # Errors
    /// When the share is outside its range, or the lists of the table of links are not equally long.
    pub fn with_dead_zone(self, share: f64) -> Result<Self, BuildError> {
        if !(0.0..1.0).contains(&share) {
            return Err(BuildError::BadOption { name: "dead zone", value: share, expected: "0 to below 1" });
        }
        self.ranged(|rest| DistanceRange::dead_zone(rest, share * rest))
    }

    /// Keeps only the links of stretch and shear along these edges, in either direction. A table whose lists are not equally long is
    /// left as it is, and refused when a model is built.
    pub fn linked_along(mut self, edges: &[[u32; 2]]) -> Self {
        if !self.tables.distance.is_even() {
            return self;
        }
        let sorted = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
        let mut edges: Vec<[u32; 2]> = edges.iter().map(|&edge| sorted(edge)).collect();
        edges.sort_unstable();
        let links = &mut self.tables.distance;
        let kept = |row: &usize| !resists(links.role[*row]) || edges.binary_search(&sorted(links.ids[*row])).is_ok();
        let rows: Vec<usize> = (0..links.ids.len()).filter(kept).collect();
        links.select(&rows);
        self
    }

    /// Turns links of stretch and shear into ranges.
    fn ranged(mut self, range: impl Fn(f64) -> [f64; 3]) -> Result<Self, BuildError> {
        self.tables.check()?;
        let links = &mut self.tables.distance;
        for row in (0..links.ids.len()).filter(|&row| resists(links.role[row])) {
            let to = &mut self.tables.range;
            to.push(links.role[row], links.direction[row], links.ids[row], range(links.parameters[row][0]));
            let last = to.ids.len() - 1;
            (to.compliance[last], to.damping[last]) = (links.compliance[row], links.damping[row]);
            to.scale[last] = links.scale[row];
        }
        links.keep(|role| !resists(role));
        Ok(self)
    }
}

fn resists(role: Role) -> bool {
    matches!(role, Role::Stretch | Role::Shear)
}
