//! Ropes: points on a line, joined one after another.

use super::error::MeshError;
use super::validate::{check_at_least, check_corners, check_density, check_edges, check_positions, check_vertex_count};
use ultraviolet::DVec3;

/// A straight rope at rest: `segments + 1` evenly spaced points.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// The points from one end to the other \[m\].
    pub points: Vec<DVec3>,
    /// Each point and the next, in order.
    pub edges: Vec<[u32; 2]>,
    /// Each point and the next but one, in order: connect them too if the rope resists bending.
    pub bending: Vec<[u32; 2]>,
}

impl Rope {
    /// A rope of `segments` equal segments from one place to another \[m\].
    ///
    /// ```
    /// use pliant_core::mesh::Rope;
    ///
    /// let rope = Rope::new(4, [0.0, 2.0, 0.0], [1.0, 2.0, 0.0])?;
    /// assert_eq!(rope.points.len(), 5);
    /// assert_eq!(rope.edges, [[0, 1], [1, 2], [2, 3], [3, 4]]);
    /// # Ok::<(), pliant_core::mesh::MeshError>(())
    /// ```
    ///
    /// # Errors
    /// [`MeshError::BadParameter`] without segments, [`MeshError::NotFinite`] for a bad end (vertex 0 or 1) and
    /// [`MeshError::ZeroLengthEdge`] when both ends are at the same place.
    pub fn new(segments: usize, from: impl Into<[f64; 3]>, to: impl Into<[f64; 3]>) -> Result<Self, MeshError> {
        check_at_least("segments", segments, 1, "at least 1")?;
        let count = check_vertex_count(segments.checked_add(1))? as u32;
        let ends = [from.into(), to.into()].map(DVec3::from);
        check_positions(&ends)?;
        check_edges("rope", 0, &[0, 1], &ends)?;

        let [from, to] = ends;
        // A weighted mean rather than from + t (to − from): the weights 1 and 0 hit both ends exactly.
        let points = (0..=segments).map(|k| {
            let share = |count: usize| count as f64 / segments as f64;
            from * share(segments - k) + to * share(k)
        });
        Ok(Self {
            points: points.collect(),
            edges: (1..count).map(|k| [k - 1, k]).collect(),
            bending: (2..count).map(|k| [k - 2, k]).collect(),
        })
    }

    /// Checks points and pairs, which are public and may have been made by hand.
    ///
    /// # Errors
    /// [`MeshError::Empty`] without points, [`MeshError::NotFinite`] for a bad one, [`MeshError::IndexOutOfRange`] and
    /// [`MeshError::RepeatedVertex`] for a pair that is none of two points.
    pub fn check(&self) -> Result<(), MeshError> {
        check_positions(&self.points)?;
        check_corners("edge", &self.edges, self.points.len())?;
        check_corners("bending pair", &self.bending, self.points.len())
    }

    /// The length of the rope \[m\].
    pub fn length(&self) -> f64 {
        self.segment_lengths().sum()
    }

    /// The mass of each point \[kg\]: half of each of its segments.
    ///
    /// `linear_density` is in \[kg/m\]; a 10 mm climbing rope has about 0.065.
    ///
    /// # Errors
    /// [`MeshError::BadDensity`] unless the density is positive and finite.
    pub fn vertex_masses(&self, linear_density: f64) -> Result<Vec<f64>, MeshError> {
        let density = check_density(linear_density)?;
        let mut masses = vec![0.0; self.points.len()];
        for (segment, length) in self.segment_lengths().enumerate() {
            masses[segment] += density * length / 2.0;
            masses[segment + 1] += density * length / 2.0;
        }
        Ok(masses)
    }

    fn segment_lengths(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.windows(2).map(|pair| (pair[1] - pair[0]).mag())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    #[test]
    fn points_pairs_and_masses() {
        let rope = Rope::new(3, [0.1, 0.2, 0.3], [0.7, 1.0, -2.0]).unwrap();
        assert_eq!(rope.points[0], DVec3::new(0.1, 0.2, 0.3));
        assert_eq!(rope.points[3], DVec3::new(0.7, 1.0, -2.0));
        assert_eq!(rope.edges, [[0, 1], [1, 2], [2, 3]]);
        assert_eq!(rope.bending, [[0, 2], [1, 3]]);
        let masses = rope.vertex_masses(0.5).unwrap();
        assert!((masses.iter().sum::<f64>() - 0.5 * rope.length()).abs() < 1e-15);
        assert!((masses[1] - 2.0 * masses[0]).abs() < 1e-15);
        assert!(rope.vertex_masses(-0.5).is_err());
    }

    #[test]
    fn the_shortest_rope_has_nothing_to_bend() {
        let rope = Rope::new(1, [0.0; 3], [0.0, 1.0, 0.0]).unwrap();
        assert_eq!(rope.edges.len(), 1);
        assert!(rope.bending.is_empty());
    }

    #[test]
    fn pairs_of_a_rope_made_by_hand_are_checked() {
        let rope = Rope::new(2, [0.0; 3], [1.0, 0.0, 0.0]).unwrap();
        assert_eq!(rope.check(), Ok(()));
        let (element, row, corner, index, vertex_count) = ("edge", 1, 0, 7, 3);
        let far = Rope { edges: vec![[0, 1], [7, 2]], ..rope.clone() };
        assert_eq!(far.check(), Err(MeshError::IndexOutOfRange { element, row, corner, index, vertex_count }));
        let twice = Rope { bending: vec![[1, 1]], ..rope.clone() };
        assert!(matches!(twice.check(), Err(MeshError::RepeatedVertex { element: "bending pair", row: 0, vertex: 1 })));
        assert!(matches!(Rope { points: Vec::new(), ..rope }.check(), Err(MeshError::Empty { .. })));
    }

    #[test]
    fn bad_ropes_are_named() {
        let error = Rope::new(0, [0.0; 3], [1.0; 3]).unwrap_err();
        assert!(matches!(error, MeshError::BadParameter { name: "segments", .. }));
        let error = Rope::new(2, [0.0; 3], [0.0, f64::NAN, 0.0]).unwrap_err();
        assert!(matches!(error, MeshError::NotFinite { vertex: 1, axis: 'y', .. }));
        let error = Rope::new(2, [1.0; 3], [1.0; 3]).unwrap_err();
        assert!(matches!(error, MeshError::ZeroLengthEdge { a: 0, b: 1, .. }));
        let error = Rope::new(usize::MAX, [0.0; 3], [1.0; 3]).unwrap_err();
        assert!(matches!(error, MeshError::TooManyVertices { .. }));
    }
}
