//! Triangle meshes: surfaces such as cloth, and the skins of solids.

use super::error::MeshError;
use super::topology::Topology;
use super::validate::{DEGENERATE, check_corners, check_density, check_duplicates, check_edges, check_positions};
use ultraviolet::DVec3;

/// A valid triangle mesh at rest.
///
/// Corners are counter-clockwise when seen from the side the normal points to. Vertex ids are places in
/// [`positions`](Self::positions) and never change. A vertex may belong to no triangle.
#[derive(Debug, Clone, PartialEq)]
pub struct TriMesh {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl TriMesh {
    /// Checks everything and keeps the mesh if it is sound.
    ///
    /// # Errors
    /// An empty list, a coordinate that is not finite, an index out of range, a triangle with a repeated vertex, with
    /// an edge of no length or without area, and two triangles with the same vertices.
    ///
    /// ```
    /// use pliant_core::mesh::{MeshError, TriMesh};
    ///
    /// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    /// assert_eq!(TriMesh::new(corners, [[0, 1, 2]])?.area(), 0.5);
    ///
    /// let error = TriMesh::new(corners, [[0, 1, 2], [0, 1, 3]]).unwrap_err();
    /// assert!(matches!(error, MeshError::IndexOutOfRange { row: 1, corner: 2, index: 3, .. }));
    /// # Ok::<(), MeshError>(())
    /// ```
    pub fn new(
        positions: impl IntoIterator<Item = impl Into<[f64; 3]>>,
        triangles: impl IntoIterator<Item = [u32; 3]>,
    ) -> Result<Self, MeshError> {
        let positions: Vec<DVec3> = positions.into_iter().map(|p| DVec3::from(p.into())).collect();
        let triangles: Vec<[u32; 3]> = triangles.into_iter().collect();
        check_positions(&positions)?;
        if triangles.is_empty() {
            return Err(MeshError::Empty { what: "triangles" });
        }
        check_corners("triangle", &triangles, positions.len())?;
        for (row, triangle) in triangles.iter().enumerate() {
            let longest = check_edges("triangle", row, triangle, &positions)?;
            let [a, b, c] = triangle.map(|v| positions[v as usize]);
            // Scaled to unit size first, so that nothing under- or overflows.
            let relative = 0.5 * ((b - a) / longest).cross((c - a) / longest).mag();
            if relative <= DEGENERATE {
                return Err(MeshError::ZeroArea { triangle: row, area: relative * longest * longest });
            }
        }
        check_duplicates("triangle", &triangles)?;
        Ok(Self { positions, triangles })
    }

    /// The same from positions in single precision, as graphics cards and files have them.
    ///
    /// # Errors
    /// As for [`TriMesh::new`].
    ///
    /// ```
    /// use pliant_core::mesh::{MeshError, TriMesh};
    ///
    /// let vertices: Vec<[f32; 3]> = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    /// assert_eq!(TriMesh::from_f32(vertices, [[0, 1, 2]])?.area(), 0.5);
    /// # Ok::<(), MeshError>(())
    /// ```
    pub fn from_f32(
        positions: impl IntoIterator<Item = impl Into<[f32; 3]>>,
        triangles: impl IntoIterator<Item = [u32; 3]>,
    ) -> Result<Self, MeshError> {
        Self::new(positions.into_iter().map(|p| p.into().map(f64::from)), triangles)
    }

    /// A mesh of the vertices in use, in their old order, and the old id of each. The triangles must be sound.
    pub(super) fn compact(positions: &[DVec3], triangles: &[[u32; 3]]) -> (Self, Vec<u32>) {
        let mut old_ids: Vec<u32> = triangles.iter().flatten().copied().collect();
        old_ids.sort_unstable();
        old_ids.dedup();
        let mut new_ids = vec![u32::MAX; positions.len()];
        for (new, &old) in (0_u32..).zip(&old_ids) {
            new_ids[old as usize] = new;
        }
        let mesh = Self {
            positions: old_ids.iter().map(|&v| positions[v as usize]).collect(),
            triangles: triangles.iter().map(|t| t.map(|v| new_ids[v as usize])).collect(),
        };
        (mesh, old_ids)
    }

    /// The rest positions \[m\].
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The vertex ids of each triangle.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// How many vertices there are.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// How many triangles there are.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// The positions of a triangle's corners.
    fn corners(&self, triangle: [u32; 3]) -> [DVec3; 3] {
        triangle.map(|v| self.positions[v as usize])
    }

    /// The area of each triangle \[m²\].
    pub fn areas(&self) -> impl Iterator<Item = f64> + '_ {
        self.triangles.iter().map(|&triangle| {
            let [a, b, c] = self.corners(triangle);
            0.5 * (b - a).cross(c - a).mag()
        })
    }

    /// The area of the surface \[m²\].
    pub fn area(&self) -> f64 {
        self.areas().sum()
    }

    /// The volume inside a closed surface \[m³\], negative when its normals point inward.
    ///
    /// # Errors
    /// As [`require_closed`](Self::require_closed): an open surface has no inside.
    pub fn volume(&self) -> Result<f64, MeshError> {
        self.require_closed()?;
        // V = Σ a·(b × c)/6, the divergence theorem for x/3. Measured from a vertex: a far origin would cost digits.
        let origin = self.positions[0];
        let six_fold: f64 = self
            .triangles
            .iter()
            .map(|&triangle| {
                let [a, b, c] = self.corners(triangle).map(|p| p - origin);
                a.dot(b.cross(c))
            })
            .sum();
        Ok(six_fold / 6.0)
    }

    /// The edges, hinges and boundary.
    ///
    /// # Errors
    /// [`MeshError::NonManifoldEdge`] where three or more triangles meet at an edge.
    pub fn topology(&self) -> Result<Topology, MeshError> {
        self.topology_allowing_non_manifold().require_manifold()
    }

    /// The edges, hinges and boundary of a mesh that may have more than two triangles at an edge.
    ///
    /// Such an edge gets one hinge for each two triangles that follow one another in the list of triangles, and is
    /// listed in [`Topology::non_manifold`].
    pub fn topology_allowing_non_manifold(&self) -> Topology {
        Topology::new(&self.triangles)
    }

    /// Whether the surface has an inside: two triangles at every edge, with normals that agree.
    pub fn is_closed(&self) -> bool {
        self.require_closed().is_ok()
    }

    /// Says why the surface is not [closed](Self::is_closed), if so.
    ///
    /// # Errors
    /// [`MeshError::NonManifoldEdge`], [`MeshError::OpenSurface`] or [`MeshError::InconsistentWinding`].
    pub fn require_closed(&self) -> Result<(), MeshError> {
        self.topology()?.require_closed(&self.triangles)
    }

    /// The mass of each vertex \[kg\]: a third of each of its triangles. 0 for a vertex without triangles.
    ///
    /// `areal_density` is in \[kg/m²\]; a cotton shirt has about 0.15.
    ///
    /// # Errors
    /// [`MeshError::BadDensity`] unless the density is positive and finite.
    pub fn vertex_masses(&self, areal_density: f64) -> Result<Vec<f64>, MeshError> {
        let density = check_density(areal_density)?;
        let mut masses = vec![0.0; self.vertex_count()];
        for (triangle, area) in self.triangles.iter().zip(self.areas()) {
            for &v in triangle {
                masses[v as usize] += density * area / 3.0;
            }
        }
        Ok(masses)
    }

    /// The same triangles with every vertex moved by `place`, checked again.
    ///
    /// ```
    /// use pliant_core::mesh::icosphere;
    /// use ultraviolet::DVec3;
    ///
    /// let ball = icosphere(0.5, 2)?.transformed(|p| p + DVec3::new(0.0, 2.0, 0.0))?;
    /// assert!(ball.positions().iter().all(|p| p.y >= 1.5));
    /// # Ok::<(), pliant_core::mesh::MeshError>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), for instance when `place` flattens a triangle to a line.
    pub fn transformed(&self, place: impl Fn(DVec3) -> DVec3) -> Result<Self, MeshError> {
        Self::new(self.positions.iter().map(|&p| place(p)), self.triangles.iter().copied())
    }

    /// The mesh without the vertices that belong to no triangle, and the old id of each vertex kept.
    pub fn compacted(&self) -> (Self, Vec<u32>) {
        Self::compact(&self.positions, &self.triangles)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::super::{ClothGrid, icosphere};
    use super::*;

    const CORNERS: [[f64; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    /// A tetrahedron's surface, normals outward.
    fn tetrahedron() -> TriMesh {
        TriMesh::new(CORNERS, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]).unwrap()
    }

    #[test]
    fn area_volume_and_masses_of_a_tetrahedron() {
        let mesh = tetrahedron();
        assert!((mesh.area() - (1.5 + 0.75_f64.sqrt())).abs() < 1e-15);
        assert!((mesh.volume().unwrap() - 1.0 / 6.0).abs() < 1e-15);
        let masses = mesh.vertex_masses(2.0).unwrap();
        assert!((masses.iter().sum::<f64>() - 2.0 * mesh.area()).abs() < 1e-14);
        assert!((masses[0] - 1.0).abs() < 1e-15, "three halves, a third of each, twice");
    }

    #[test]
    fn volume_is_signed_and_survives_a_far_origin() {
        let mesh = tetrahedron();
        let far = mesh.transformed(|p| p + DVec3::broadcast(1e6)).unwrap();
        assert!((far.volume().unwrap() - 1.0 / 6.0).abs() < 1e-9);
        let mirrored = mesh.transformed(|p| DVec3::new(-p.x, p.y, p.z)).unwrap();
        assert!((mirrored.volume().unwrap() + 1.0 / 6.0).abs() < 1e-15);
        let cloth = ClothGrid::square(1.0, 3).build().unwrap().mesh;
        assert!(matches!(cloth.volume(), Err(MeshError::OpenSurface { boundary_count: 8, .. })));
    }

    #[test]
    fn empty_lists_are_refused() {
        let nothing: [[f64; 3]; 0] = [];
        let error = TriMesh::new(nothing, [[0, 1, 2]]).unwrap_err();
        assert_eq!(error, MeshError::Empty { what: "vertices" });
        let error = TriMesh::new(CORNERS, []).unwrap_err();
        assert_eq!(error, MeshError::Empty { what: "triangles" });
    }

    #[test]
    fn bad_indices_are_named() {
        let error = TriMesh::new(CORNERS, [[0, 1, 2], [0, 9, 2]]).unwrap_err();
        let expected = MeshError::IndexOutOfRange { element: "triangle", row: 1, corner: 1, index: 9, vertex_count: 4 };
        assert_eq!(error, expected);
        assert!(error.to_string().starts_with("triangle 1, corner 1: vertex 9"));

        let error = TriMesh::new(CORNERS, [[0, 2, 2]]).unwrap_err();
        let expected = MeshError::RepeatedVertex { element: "triangle", row: 0, vertex: 2 };
        assert_eq!(error, expected);

        let error = TriMesh::new(CORNERS, [[0, 1, 2], [1, 2, 3], [2, 1, 0]]).unwrap_err();
        let expected = MeshError::DuplicateElement { element: "triangle", first: 0, second: 2 };
        assert_eq!(error, expected);
    }

    #[test]
    fn bad_coordinates_are_named() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
            let mut positions = CORNERS;
            positions[2][1] = bad;
            let error = TriMesh::new(positions, [[0, 1, 3]]).unwrap_err();
            assert!(matches!(error, MeshError::NotFinite { vertex: 2, axis: 'y', .. }));
        }
    }

    #[test]
    fn degenerate_triangles_are_refused_at_any_scale() {
        for scale in [1e-9, 1.0, 1e9] {
            let at = |p: [f64; 3]| p.map(|x| x * scale);
            let line = [[0.0; 3], [1.0, 1.0, 1.0], [3.0, 3.0, 3.0]].map(at);
            let error = TriMesh::new(line, [[0, 1, 2]]).unwrap_err();
            assert!(matches!(error, MeshError::ZeroArea { triangle: 0, .. }));

            let twins = [[0.0; 3], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]].map(at);
            let error = TriMesh::new(twins, [[0, 1, 2]]).unwrap_err();
            let expected = MeshError::ZeroLengthEdge { element: "triangle", row: 0, a: 1, b: 2 };
            assert_eq!(error, expected);

            assert!(TriMesh::new(CORNERS.map(at), [[0, 1, 2]]).is_ok());
        }
        let point = [[1.0; 3]; 3];
        let error = TriMesh::new(point, [[0, 1, 2]]).unwrap_err();
        assert!(matches!(error, MeshError::ZeroLengthEdge { a: 0, b: 1, .. }));
    }

    #[test]
    fn bad_densities_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = tetrahedron().vertex_masses(bad).unwrap_err();
            assert!(matches!(error, MeshError::BadDensity { .. }));
        }
    }

    #[test]
    fn transforming_checks_again_and_compacting_keeps_the_order() {
        let flat = icosphere(1.0, 1).unwrap().transformed(|p| DVec3::new(p.x, 0.0, 0.0));
        assert!(flat.is_err());

        let sparse = TriMesh::new(CORNERS, [[3, 0, 2]]).unwrap();
        assert_eq!(sparse.vertex_masses(1.0).unwrap()[1], 0.0);
        let (mesh, old_ids) = sparse.compacted();
        assert_eq!(old_ids, [0, 2, 3]);
        assert_eq!(mesh.triangles(), [[2, 0, 1]]);
        assert_eq!(mesh.positions()[1], DVec3::from(CORNERS[2]));
    }
}
