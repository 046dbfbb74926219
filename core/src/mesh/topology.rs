//! Which triangles meet where: the edges, hinges and boundary of a triangle mesh.

use super::error::MeshError;

/// The connectivity of a triangle mesh.
///
/// Made by [`TriMesh::topology`](super::TriMesh::topology). Every list is ordered by edge, lower vertex first.
///
/// ```text
///            x2                 a hinge [x0, x1, x2, x3]
///           /  \
///          / T0 \               T0, the triangle with the lower number, runs x0 → x1 → x2;
///        x0 ---- x1             T1 has the same edge and x3 opposite to it.
///          \ T1 /
///           \  /                n0 = (x1 − x0) × (x2 − x0), n1 = (x3 − x0) × (x1 − x0):
///            x3                 parallel when flat, and their angle has a sign.   [METHODS 5]
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    /// Every edge once, lower vertex first, sorted.
    pub edges: Vec<[u32; 2]>,
    /// Pairs of triangles at a common edge, as the vertices `[x0, x1, x2, x3]` of the drawing above.
    pub hinges: Vec<[u32; 4]>,
    /// The two triangles `[T0, T1]` of each hinge, in the order of `hinges`.
    pub hinge_triangles: Vec<[u32; 2]>,
    /// The edges with one triangle, lower vertex first, sorted.
    pub boundary: Vec<[u32; 2]>,
    /// The edges with three triangles or more: empty unless they were explicitly allowed.
    pub non_manifold: Vec<NonManifoldEdge>,
}

/// An edge where three or more triangles meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonManifoldEdge {
    /// The two ends, lower first.
    pub vertices: [u32; 2],
    /// How many triangles meet there.
    pub triangle_count: usize,
}

impl Topology {
    /// Sorts one (min, max, triangle) triple for every triangle side; equal pairs then stand together.   [METHODS 2]
    pub(crate) fn new(triangles: &[[u32; 3]]) -> Self {
        let mut sides: Vec<(u32, u32, u32)> = Vec::with_capacity(3 * triangles.len());
        for (t, [a, b, c]) in (0_u32..).zip(triangles.iter().copied()) {
            sides.extend([(a, b), (b, c), (c, a)].map(|(p, q)| (p.min(q), p.max(q), t)));
        }
        sides.sort_unstable();

        let mut topology = Self::default();
        for group in sides.chunk_by(|p, q| (p.0, p.1) == (q.0, q.1)) {
            let edge = [group[0].0, group[0].1];
            topology.edges.push(edge);
            match group.len() {
                1 => topology.boundary.push(edge),
                2 => {}
                triangle_count => topology.non_manifold.push(NonManifoldEdge { vertices: edge, triangle_count }),
            }
            for pair in group.windows(2) {
                let (first, second) = (pair[0].2, pair[1].2);
                topology.push_hinge(triangles, edge, first, second);
            }
        }
        topology
    }

    /// Adds the hinge of two triangles at an edge, turned into the winding of the first.
    fn push_hinge(&mut self, triangles: &[[u32; 3]], [low, high]: [u32; 2], first: u32, second: u32) {
        let (t0, t1) = (triangles[first as usize], triangles[second as usize]);
        let [x0, x1] = if runs_along(t0, low, high) { [low, high] } else { [high, low] };
        self.hinges.push([x0, x1, opposite(t0, x0, x1), opposite(t1, x0, x1)]);
        self.hinge_triangles.push([first, second]);
    }

    /// Refuses the first non-manifold edge.
    pub(super) fn require_manifold(self) -> Result<Self, MeshError> {
        match self.non_manifold.first() {
            None => Ok(self),
            Some(edge) => Err(MeshError::NonManifoldEdge {
                a: edge.vertices[0],
                b: edge.vertices[1],
                triangle_count: edge.triangle_count,
            }),
        }
    }

    /// Refuses a boundary, and neighbours whose normals disagree.
    pub(super) fn require_closed(&self, triangles: &[[u32; 3]]) -> Result<(), MeshError> {
        if let Some(&[a, b]) = self.boundary.first() {
            return Err(MeshError::OpenSurface { a, b, boundary_count: self.boundary.len() });
        }
        for (&[a, b, ..], &[first, second]) in self.hinges.iter().zip(&self.hinge_triangles) {
            if runs_along(triangles[second as usize], a, b) {
                return Err(MeshError::InconsistentWinding { a, b, first: first as usize, second: second as usize });
            }
        }
        Ok(())
    }
}

/// Whether the triangle runs from `a` straight to `b`.
fn runs_along([p, q, r]: [u32; 3], a: u32, b: u32) -> bool {
    [(p, q), (q, r), (r, p)].contains(&(a, b))
}

/// The corner of the triangle that is neither `a` nor `b`.
fn opposite(triangle: [u32; 3], a: u32, b: u32) -> u32 {
    // The three corners differ and two of them are a and b, so what is left over is the third.
    triangle[0] ^ triangle[1] ^ triangle[2] ^ a ^ b
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::super::{ClothGrid, TriMesh, icosphere, shuffled_sheet, tube};
    use super::*;

    fn fan(blade_count: u32) -> TriMesh {
        let blade = |k: u32| [f64::from(k) - 1.0, 1.0, f64::from(k * k)];
        let positions = [[0.0; 3], [0.0, 0.0, 1.0]].into_iter().chain((0..blade_count).map(blade));
        TriMesh::new(positions, (0..blade_count).map(|k| [0, 1, 2 + k])).unwrap()
    }

    #[test]
    fn two_triangles_make_one_oriented_hinge() {
        // The common edge is 1–2, and the first triangle runs along it from 2 to 1.
        let mesh = TriMesh::new([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], [[2, 1, 3], [0, 1, 2]])
            .unwrap();
        let topology = mesh.topology().unwrap();
        assert_eq!(topology.edges, [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]);
        assert_eq!(topology.boundary, [[0, 1], [0, 2], [1, 3], [2, 3]]);
        assert_eq!(topology.hinges, [[2, 1, 3, 0]]);
        assert_eq!(topology.hinge_triangles, [[0, 1]]);
    }

    #[test]
    fn hinges_of_a_convex_closed_surface_all_fold_the_same_way() {
        let ball = icosphere(1.0, 2).unwrap();
        let topology = ball.topology().unwrap();
        assert_eq!(topology.hinges.len(), topology.edges.len());
        for hinge in &topology.hinges {
            let [x0, x1, x2, x3] = hinge.map(|v| ball.positions()[v as usize]);
            let (n0, n1) = ((x1 - x0).cross(x2 - x0), (x3 - x0).cross(x1 - x0));
            assert!(n0.dot(x0) > 0.0 && n1.dot(x0) > 0.0, "both normals outward");
            assert!(n0.cross(n1).dot(x1 - x0) > 0.0, "the same sign everywhere");
        }
    }

    #[test]
    fn discs_have_the_degrees_of_freedom_of_the_count_check() {
        // 3V − E = 3 + E_b   [METHODS 1, C 19–20]
        let discs = [
            ClothGrid::square(1.0, 2).build().unwrap().mesh,
            ClothGrid::square(1.0, 17).build().unwrap().mesh,
            shuffled_sheet(12, 1.0, 3).unwrap(),
        ];
        for disc in discs {
            let topology = disc.topology().unwrap();
            let dof = 3 * disc.vertex_count() - topology.edges.len();
            assert_eq!(dof, 3 + topology.boundary.len());
            assert_eq!(topology.hinges.len() + topology.boundary.len(), topology.edges.len());
        }
    }

    #[test]
    fn three_triangles_at_an_edge_need_an_opt_in() {
        let mesh = fan(3);
        let refused = MeshError::NonManifoldEdge { a: 0, b: 1, triangle_count: 3 };
        assert_eq!(mesh.topology(), Err(refused));

        let topology = mesh.topology_allowing_non_manifold();
        assert_eq!(topology.hinges, [[0, 1, 2, 3], [0, 1, 3, 4]]);
        assert_eq!(topology.hinge_triangles, [[0, 1], [1, 2]]);
        assert_eq!(topology.non_manifold, [NonManifoldEdge { vertices: [0, 1], triangle_count: 3 }]);
        assert_eq!(topology.boundary.len(), 6);
    }

    #[test]
    fn closed_means_no_boundary_and_one_winding() {
        assert_eq!(icosphere(1.0, 1).unwrap().require_closed(), Ok(()));

        let open = tube(1.0, 1.0, 6, 2).unwrap();
        let error = open.require_closed().unwrap_err();
        assert_eq!(error, MeshError::OpenSurface { a: 0, b: 1, boundary_count: 12 });

        let ball = icosphere(1.0, 0).unwrap();
        let mut triangles = ball.triangles().to_vec();
        triangles[4].swap(0, 1);
        let flipped = TriMesh::new(ball.positions().iter().copied(), triangles).unwrap();
        let error = flipped.require_closed().unwrap_err();
        assert!(matches!(error, MeshError::InconsistentWinding { first, second, .. } if first == 4 || second == 4));
        assert!(!flipped.is_closed());
    }
}
