//! Edges along a weave: which edges of a mesh to turn into springs so that it can still bend.
//!
//! Springs along all edges of a triangle mesh lock it: a disc of V vertices and E edges, E_b of them on its border, keeps just
//! 3V − E = 3 + E_b degrees of freedom: those of a rigid body, and one for each border edge beyond three. It cannot bend
//! smoothly.   [METHODS 1; C 19–20] Cloth has threads in two directions: springs along those are enough.

use super::TriMesh;
use super::error::MeshError;
use ultraviolet::DVec3;

impl TriMesh {
    /// The edges that run along the warp or across it, within `degrees` (0 to 45): those to make springs of. The field gives
    /// the warp at a place; only its part in the surface counts, and where it has none no edge is chosen.
    ///
    /// ```
    /// use pliant_core::mesh::ClothGrid;
    /// use ultraviolet::DVec3;
    ///
    /// let cloth = ClothGrid::square(1.0, 10).build()?;
    /// let threads = cloth.mesh.edges_along(|_| DVec3::unit_x(), 10.0)?;
    /// assert_eq!(threads.len(), cloth.structural.len(), "the diagonals are left out");
    /// # Ok::<(), pliant_core::mesh::MeshError>(())
    /// ```
    ///
    /// # Errors
    /// When the angle is outside its range or the mesh is not manifold.
    pub fn edges_along(&self, warp: impl Fn(DVec3) -> DVec3, degrees: f64) -> Result<Vec<[u32; 2]>, MeshError> {
        if !(0.0..=45.0).contains(&degrees) {
            let (name, expected) = ("angle to the threads", "0 to 45 degrees");
            return Err(MeshError::BadParameter { name, value: degrees, expected });
        }
        let topology = self.topology()?;
        let x = self.positions();
        let mut normals = vec![DVec3::zero(); x.len()];
        for &[a, b, c] in self.triangles() {
            let [p, q, r] = [a, b, c].map(|v| x[v as usize]);
            [a, b, c].iter().for_each(|&v| normals[v as usize] += (q - p).cross(r - p));
        }
        let least = degrees.to_radians().cos();
        let along = |&[a, b]: &[u32; 2]| {
            let (p, q) = (x[a as usize], x[b as usize]);
            let normal = normals[a as usize] + normals[b as usize];
            let field = warp(0.5 * (p + q));
            let weft = normal.cross(field);
            let (edge, threads) = (q - p, [weft.cross(normal), weft]);
            threads
                .iter()
                .any(|t| t.mag_sq() > 0.0 && edge.dot(*t).abs() >= least * edge.mag() * t.mag() * (1.0 - 1e-12))
        };
        Ok(topology.edges.iter().filter(|edge| along(edge)).copied().collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::mesh::{ClothGrid, shuffled_sheet};

    #[test]
    fn a_disc_with_rigid_edges_keeps_as_many_freedoms_as_its_border_has_edges() {
        let sheet = shuffled_sheet(12, 1.0, 4).unwrap();
        let grids = [ClothGrid::new(9, 5, 1.0, 0.5), ClothGrid::square(1.0, 20)].map(|g| g.build().unwrap().mesh);
        for mesh in grids.into_iter().chain([sheet]) {
            let topology = mesh.topology().unwrap();
            let freedoms = 3 * mesh.vertex_count() - topology.edges.len();
            assert_eq!(freedoms, 3 + topology.boundary.len(), "3V − E = 3 + E_b");
        }
    }

    #[test]
    fn threads_follow_the_field() {
        let cloth = ClothGrid::square(1.0, 8).build().unwrap();
        let diagonal = cloth.mesh.edges_along(|_| DVec3::new(1.0, 0.3, 1.0), 20.0).unwrap();
        assert_eq!(diagonal.len(), 49, "one diagonal a cell");
        assert!(cloth.mesh.edges_along(|_| DVec3::unit_y(), 45.0).unwrap().is_empty());
        assert!(cloth.mesh.edges_along(|_| DVec3::unit_x(), 50.0).is_err());
    }
}
