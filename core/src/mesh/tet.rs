//! Tetrahedral meshes: solids, made of four-cornered cells called tets.

use super::error::MeshError;
use super::tri::TriMesh;
use super::validate::{DEGENERATE, check_corners, check_density, check_duplicates, check_edges, check_positions};
use ultraviolet::DVec3;

/// A valid tetrahedral mesh at rest: every tet has a positive volume.
///
/// ```text
///        x4
///       /|\          V = (x2 − x1) × (x3 − x1) · (x4 − x1) / 6 > 0:   [METHODS 6]
///      / | \         seen from x4, the corners x1 → x2 → x3 run counter-clockwise.
///     /  |  \
///   x1 --|-- x3
///     \  |  /
///       x2
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TetMesh {
    positions: Vec<DVec3>,
    tets: Vec<[u32; 4]>,
}

/// One side of one tet.
struct Side {
    /// The three corners in ascending order: equal for both tets at a face.
    key: [u32; 3],
    /// The tet.
    tet: usize,
    /// The corners in outward winding.
    outward: [u32; 3],
}

impl TetMesh {
    /// Checks everything and keeps the mesh if it is sound.
    ///
    /// # Errors
    /// An empty list, a coordinate that is not finite, an index out of range, a tet with a repeated vertex, with an
    /// edge of no length, without volume or inverted, two tets with the same vertices or on the same side of a face
    /// they share, and a face with more than two tets.
    ///
    /// ```
    /// use pliant_core::mesh::{MeshError, TetMesh};
    ///
    /// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// assert_eq!(TetMesh::new(corners, [[0, 1, 2, 3]])?.volume(), 1.0 / 6.0);
    ///
    /// let error = TetMesh::new(corners, [[0, 2, 1, 3]]).unwrap_err();
    /// assert!(matches!(error, MeshError::InvertedTet { tet: 0, .. }));
    /// # Ok::<(), MeshError>(())
    /// ```
    pub fn new(
        positions: impl IntoIterator<Item = impl Into<[f64; 3]>>,
        tets: impl IntoIterator<Item = [u32; 4]>,
    ) -> Result<Self, MeshError> {
        let positions: Vec<DVec3> = positions.into_iter().map(|p| DVec3::from(p.into())).collect();
        let tets: Vec<[u32; 4]> = tets.into_iter().collect();
        check_positions(&positions)?;
        if tets.is_empty() {
            return Err(MeshError::Empty { what: "tets" });
        }
        check_corners("tet", &tets, positions.len())?;
        for (row, tet) in tets.iter().enumerate() {
            let longest = check_edges("tet", row, tet, &positions)?;
            // Scaled to unit size first, so that nothing under- or overflows.
            let origin = positions[tet[0] as usize];
            let relative = signed_volume(tet.map(|v| (positions[v as usize] - origin) / longest));
            let volume = relative * longest * longest * longest;
            if relative < -DEGENERATE {
                return Err(MeshError::InvertedTet { tet: row, volume });
            }
            if relative <= DEGENERATE {
                return Err(MeshError::ZeroVolume { tet: row, volume });
            }
        }
        check_duplicates("tet", &tets)?;
        let mesh = Self { positions, tets };
        mesh.check_faces()?;
        Ok(mesh)
    }

    /// Refuses faces with more than two tets, or with two on the same side.
    fn check_faces(&self) -> Result<(), MeshError> {
        for group in self.sides().chunk_by(|p, q| p.key == q.key) {
            let [a, b, c] = group[0].key;
            match group {
                [_] => {}
                [first, second] => {
                    if same_turn(first.outward, second.outward) {
                        return Err(MeshError::OverlappingTets { first: first.tet, second: second.tet });
                    }
                }
                _ => {
                    return Err(MeshError::NonManifoldFace { a, b, c, tet_count: group.len() });
                }
            }
        }
        Ok(())
    }

    /// The four sides of every tet, sorted so that the two of a common face stand together.
    fn sides(&self) -> Vec<Side> {
        let mut sides: Vec<Side> = Vec::with_capacity(4 * self.tets.len());
        for (tet, &[a, b, c, d]) in self.tets.iter().enumerate() {
            // Each opposite to one corner and counter-clockwise when seen from outside.
            for outward in [[a, c, b], [a, b, d], [a, d, c], [b, c, d]] {
                let mut key = outward;
                key.sort_unstable();
                sides.push(Side { key, tet, outward });
            }
        }
        sides.sort_unstable_by_key(|side| (side.key, side.tet));
        sides
    }

    /// The rest positions \[m\].
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The vertex ids of each tet.
    pub fn tets(&self) -> &[[u32; 4]] {
        &self.tets
    }

    /// How many vertices there are.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// How many tets there are.
    pub fn tet_count(&self) -> usize {
        self.tets.len()
    }

    /// Every edge once, lower vertex first, sorted.
    pub fn edges(&self) -> Vec<[u32; 2]> {
        let mut edges: Vec<[u32; 2]> = self
            .tets
            .iter()
            .flat_map(|&[a, b, c, d]| [[a, b], [a, c], [a, d], [b, c], [b, d], [c, d]])
            .map(|[p, q]| [p.min(q), p.max(q)])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Every face once, inside and outside, its vertices in ascending order, sorted.
    pub fn faces(&self) -> Vec<[u32; 3]> {
        let mut faces: Vec<[u32; 3]> = self.sides().iter().map(|side| side.key).collect();
        faces.dedup();
        faces
    }

    /// The faces with one tet, in outward winding, by this mesh's own vertex ids.
    pub fn surface(&self) -> Vec<[u32; 3]> {
        self.sides()
            .chunk_by(|p, q| p.key == q.key)
            .filter(|group| group.len() == 1)
            .map(|group| group[0].outward)
            .collect()
    }

    /// The surface as a mesh of its own, and for each of its vertices the vertex id in this mesh.
    pub fn surface_mesh(&self) -> (TriMesh, Vec<u32>) {
        // Sound without another check. A triangle's area is 3V/height, and no height exceeds the tet's longest edge,
        // so it is at least 3 DEGENERATE of that edge squared. And there is a surface: all inner faces cancel in the
        // divergence theorem, while the volume is positive.
        TriMesh::compact(&self.positions, &self.surface())
    }

    /// The rest volume of each tet \[m³\].
    pub fn rest_volumes(&self) -> Vec<f64> {
        self.tets.iter().map(|tet| signed_volume(tet.map(|v| self.positions[v as usize]))).collect()
    }

    /// The volume of the solid \[m³\].
    pub fn volume(&self) -> f64 {
        self.rest_volumes().iter().sum()
    }

    /// The mass of each vertex \[kg\]: a quarter of each of its tets. 0 for a vertex without tets.
    ///
    /// `density` is in \[kg/m³\]; water has 1000.
    ///
    /// # Errors
    /// [`MeshError::BadDensity`] unless the density is positive and finite.
    pub fn vertex_masses(&self, density: f64) -> Result<Vec<f64>, MeshError> {
        let density = check_density(density)?;
        let mut masses = vec![0.0; self.vertex_count()];
        for (tet, volume) in self.tets.iter().zip(self.rest_volumes()) {
            for &v in tet {
                masses[v as usize] += density * volume / 4.0;
            }
        }
        Ok(masses)
    }

    /// The same tets with every vertex moved by `place`, checked again.
    ///
    /// # Errors
    /// As [`new`](Self::new), for instance when `place` mirrors the mesh.
    pub fn transformed(&self, place: impl Fn(DVec3) -> DVec3) -> Result<Self, MeshError> {
        Self::new(self.positions.iter().map(|&p| place(p)), self.tets.iter().copied())
    }
}

/// V = (x2 − x1) × (x3 − x1) · (x4 − x1) / 6 \[m³\].   [METHODS 6]
fn signed_volume([x1, x2, x3, x4]: [DVec3; 4]) -> f64 {
    (x2 - x1).cross(x3 - x1).dot(x4 - x1) / 6.0
}

/// Whether two windings of the same three corners turn the same way.
fn same_turn(first: [u32; 3], [a, b, c]: [u32; 3]) -> bool {
    [[a, b, c], [b, c, a], [c, a, b]].contains(&first)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    const CORNERS: [[f64; 3]; 6] =
        [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]];

    /// Two tets on either side of the face 1–2–3.
    fn pair() -> TetMesh {
        TetMesh::new(CORNERS, [[0, 1, 2, 3], [1, 2, 3, 4]]).unwrap()
    }

    #[test]
    fn lists_of_a_pair_of_tets() {
        let mesh = pair();
        assert_eq!(mesh.edges().len(), 9);
        assert_eq!(mesh.faces().len(), 7);
        let surface = mesh.surface();
        assert_eq!(surface.len(), 6);
        assert!(surface.contains(&[0, 2, 1]), "outward winding");
        assert_eq!(mesh.rest_volumes(), [1.0 / 6.0, 1.0 / 3.0]);
        assert_eq!(mesh.volume(), 0.5);
    }

    #[test]
    fn the_surface_mesh_is_closed_and_holds_the_volume() {
        let mesh = TetMesh::new(CORNERS, [[1, 2, 3, 5]]).unwrap();
        let (surface, old_ids) = mesh.surface_mesh();
        assert_eq!(old_ids, [1, 2, 3, 5]);
        assert!(surface.is_closed());
        assert!((surface.volume().unwrap() - mesh.volume()).abs() < 1e-15);
        for (p, &v) in surface.positions().iter().zip(&old_ids) {
            assert_eq!(*p, mesh.positions()[v as usize]);
        }
        let again = TriMesh::new(surface.positions().iter().copied(), surface.triangles().iter().copied());
        assert_eq!(again.unwrap(), surface);
    }

    #[test]
    fn masses_add_up() {
        let masses = pair().vertex_masses(1000.0).unwrap();
        assert!((masses.iter().sum::<f64>() - 500.0).abs() < 1e-12);
        assert!((masses[0] - 1000.0 / 24.0).abs() < 1e-13);
        assert_eq!(masses[5], 0.0);
        for bad in [0.0, -1.0, f64::NAN] {
            let error = pair().vertex_masses(bad).unwrap_err();
            assert!(matches!(error, MeshError::BadDensity { .. }));
        }
    }

    #[test]
    fn bad_lists_are_named() {
        let error = TetMesh::new(CORNERS, []).unwrap_err();
        assert_eq!(error, MeshError::Empty { what: "tets" });

        let error = TetMesh::new(CORNERS, [[0, 1, 2, 6]]).unwrap_err();
        let out_of_range = MeshError::IndexOutOfRange { element: "tet", row: 0, corner: 3, index: 6, vertex_count: 6 };
        assert_eq!(error, out_of_range);

        let error = TetMesh::new(CORNERS, [[0, 1, 2, 1]]).unwrap_err();
        assert!(matches!(error, MeshError::RepeatedVertex { vertex: 1, .. }));

        let error = TetMesh::new(CORNERS, [[0, 1, 2, 3], [1, 2, 0, 3]]).unwrap_err();
        let duplicate = MeshError::DuplicateElement { element: "tet", first: 0, second: 1 };
        assert_eq!(error, duplicate);
    }

    #[test]
    fn bad_shapes_are_refused_at_any_scale() {
        for scale in [1e-6, 1.0, 1e6] {
            let at = |p: [f64; 3]| p.map(|x| x * scale);
            let error = TetMesh::new(CORNERS.map(at), [[0, 2, 1, 3]]).unwrap_err();
            assert!(matches!(error, MeshError::InvertedTet { tet: 0, volume } if volume < 0.0), "{error}");

            let flat = [[0.0; 3], [1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [3.0, 4.0, 14.0]].map(at);
            let error = TetMesh::new(flat, [[0, 1, 2, 3]]).unwrap_err();
            assert!(matches!(error, MeshError::ZeroVolume { tet: 0, .. }), "{error}");

            let mut twins = CORNERS.map(at);
            twins[3] = twins[1];
            let error = TetMesh::new(twins, [[0, 1, 2, 3]]).unwrap_err();
            assert!(matches!(error, MeshError::ZeroLengthEdge { a: 1, b: 3, .. }));
        }
    }

    #[test]
    fn crowded_faces_are_refused() {
        let error = TetMesh::new(CORNERS, [[1, 2, 3, 4], [1, 2, 3, 5]]).unwrap_err();
        let overlapping = MeshError::OverlappingTets { first: 0, second: 1 };
        assert_eq!(error, overlapping);

        let error = TetMesh::new(CORNERS, [[0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 5]]).unwrap_err();
        let crowded = MeshError::NonManifoldFace { a: 1, b: 2, c: 3, tet_count: 3 };
        assert_eq!(error, crowded);
    }

    #[test]
    fn mirroring_is_refused_and_moving_is_not() {
        let mirrored = pair().transformed(|p| DVec3::new(-p.x, p.y, p.z));
        assert!(matches!(mirrored, Err(MeshError::InvertedTet { tet: 0, .. })));
        let moved = pair().transformed(|p| p + DVec3::broadcast(1.0)).unwrap();
        assert!((moved.volume() - 0.5).abs() < 1e-14);
    }
}
