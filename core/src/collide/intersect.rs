//! Do two primitives intersect, right now? Exact answers, for checking what other methods promise.
//!
//! A surface passes through itself where one of its edges passes through one of its triangles. Everything here follows from
//! the signs of [`exact`](super::exact) determinants, so that touching counts and rounding decides nothing. [C 45–46]

use std::cmp::Ordering;

use super::exact::{orient2d, orient3d};
use super::leaves::{Elements, Groups, Leaves};
use super::query::Pairs;
use super::{Aabb, Bvh, CollideError};
use crate::backend::Backend;
use crate::columns::Columns;
use crate::lane::Real;
use crate::mesh::TriMesh;

/// Whether the segment p q and the triangle a b c, both with their borders, have a point in common.
///
/// This is also the discrete test of a vertex that moves from p to q against a triangle at rest.
pub fn segment_triangle(segment: [[f64; 3]; 2], triangle: [[f64; 3]; 3]) -> bool {
    let [p, q] = segment;
    let [a, b, c] = triangle;
    let (side_p, side_q) = (orient3d(a, b, c, p), orient3d(a, b, c, q));
    if side_p == Ordering::Equal && side_q == Ordering::Equal {
        // All in one plane (or the triangle in one line, where any plane will do only if p and q lie in it too): some
        // projection along an axis keeps points apart, and what meets in space meets in all three.
        if flat(triangle) && orient3d(p, q, a, farthest(a, b, c)) != Ordering::Equal {
            return false;
        }
        return (0..3).all(|axis| {
            let drop = |x: [f64; 3]| [x[(axis + 1) % 3], x[(axis + 2) % 3]];
            segment_triangle_in_plane([drop(p), drop(q)], [drop(a), drop(b), drop(c)])
        });
    }
    if side_p == side_q {
        return false;
    }
    // The line p q passes all three edges on one side.
    let sides = [orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)];
    !(sides.contains(&Ordering::Greater) && sides.contains(&Ordering::Less))
}

/// Whether a triangle has no area.
fn flat([a, b, c]: [[f64; 3]; 3]) -> bool {
    (0..3).all(|axis| {
        let drop = |x: [f64; 3]| [x[(axis + 1) % 3], x[(axis + 2) % 3]];
        orient2d(drop(a), drop(b), drop(c)) == Ordering::Equal
    })
}

/// A corner other than `a`, so that together they span the line of a flat triangle; `a` when all three agree.
fn farthest(a: [f64; 3], b: [f64; 3], c: [f64; 3]) -> [f64; 3] {
    if b == a { c } else { b }
}

fn segment_triangle_in_plane([p, q]: [[f64; 2]; 2], [a, b, c]: [[f64; 2]; 3]) -> bool {
    let turns = [orient2d(a, b, p), orient2d(b, c, p), orient2d(c, a, p)];
    let inside = turns[0] != Ordering::Equal && turns.iter().all(|turn| *turn == turns[0]);
    inside || [[a, b], [b, c], [c, a]].into_iter().any(|edge| segments_in_plane([p, q], edge))
}

/// Whether two segments of the plane, ends included, have a point in common.
fn segments_in_plane([p, q]: [[f64; 2]; 2], [a, b]: [[f64; 2]; 2]) -> bool {
    let turns = [orient2d(p, q, a), orient2d(p, q, b), orient2d(a, b, p), orient2d(a, b, q)];
    if turns == [Ordering::Equal; 4] {
        // In one line: they meet if their ranges do.
        return (0..2).all(|k| p[k].min(q[k]) <= a[k].max(b[k]) && a[k].min(b[k]) <= p[k].max(q[k]));
    }
    let across = |one: Ordering, other: Ordering| one != other || one == Ordering::Equal;
    across(turns[0], turns[1]) && across(turns[2], turns[3])
}

/// An edge that passes through a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piercing {
    /// Vertices of the edge.
    pub edge: [u32; 2],
    /// Vertices of the triangle.
    pub triangle: [u32; 3],
}

/// Every pair of an edge and a triangle of a mesh that share no vertex but have a point in common, by edge and triangle.
///
/// # Errors
/// Positions that are not finite, or another number of them than the mesh has vertices.
pub fn self_intersections<B: Backend<Scalar = f64>>(
    mesh: &TriMesh,
    positions: &[[f64; 3]],
    on: &B,
) -> Result<Vec<Piercing>, CollideError> {
    if positions.len() != mesh.vertex_count() {
        let (found, expected) = (positions.len(), mesh.vertex_count());
        return Err(CollideError::Length { what: "list of positions", found, expected });
    }
    let edges = mesh.topology_allowing_non_manifold().edges;
    piercings(&edges, mesh.triangles(), &positions.iter().copied().collect(), None, on)
}

/// The same for edges and triangles of any kind and precision, with the groups of their vertices.
///
/// # Errors
/// Positions that are not finite.
pub fn piercings<S: Real, B: Backend<Scalar = S>>(
    edges: &[[u32; 2]],
    triangles: &[[u32; 3]],
    positions: &Columns<S>,
    groups: Option<&[Groups]>,
    on: &B,
) -> Result<Vec<Piercing>, CollideError> {
    let at = |i: u32| positions.get(i as usize);
    let exact = |i: u32| at(i).map(S::to_f64);
    let edge_boxes: Vec<_> = edges.iter().map(|e| Aabb::around(&e.map(at))).collect();
    let triangle_boxes: Vec<_> = triangles.iter().map(|t| Aabb::around(&t.map(at))).collect();
    let (mut of_edges, mut of_triangles, mut pairs) = (Bvh::new(), Bvh::new(), Pairs::new());
    let of = |vertex: u32| groups.map(|groups| groups[vertex as usize]);
    let edge_groups: Option<Vec<_>> = groups.and_then(|_| edges.iter().map(|e| of(e[0])).collect());
    let triangle_groups: Option<Vec<_>> = groups.and_then(|_| triangles.iter().map(|t| of(t[0])).collect());
    let leaves = Leaves { elements: Elements::Edges(edges), groups: edge_groups.as_deref() };
    of_edges.build(&edge_boxes, &leaves, on)?;
    let leaves = Leaves { elements: Elements::Triangles(triangles), groups: triangle_groups.as_deref() };
    of_triangles.build(&triangle_boxes, &leaves, on)?;
    pairs.between(&of_edges, &of_triangles, on);
    pairs.sort();
    let found =
        pairs.list().iter().map(|&[e, t]| Piercing { edge: edges[e as usize], triangle: triangles[t as usize] });
    Ok(found.filter(|p| segment_triangle(p.edge.map(exact), p.triangle.map(exact))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIANGLE: [[f64; 3]; 3] = [[0.0; 3], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]];

    #[test]
    fn segments_meet_triangles_or_do_not() {
        let meets = |p, q| segment_triangle([p, q], TRIANGLE);
        assert!(meets([1.0, 1.0, -1.0], [1.0, 1.0, 1.0]), "through the face");
        assert!(meets([1.0, 1.0, 0.0], [1.0, 1.0, 1.0]), "touching the face");
        assert!(meets([2.0, 2.0, -1.0], [2.0, 2.0, 1.0]), "through the edge");
        assert!(meets([4.0, 0.0, -1.0], [4.0, 0.0, 1.0]), "through the corner");
        assert!(!meets([2.0, 2.0 + 1e-15, -1.0], [2.0, 2.0 + 1e-15, 1.0]), "just outside");
        assert!(!meets([1.0, 1.0, 1e-300], [1.0, 1.0, 1.0]), "just above");
        assert!(meets([-1.0, 1.0, 0.0], [5.0, 1.0, 0.0]), "across, in the plane");
        assert!(meets([1.0, 1.0, 0.0], [1.5, 1.0, 0.0]), "inside, in the plane");
        assert!(!meets([3.0, 3.0, 0.0], [5.0, 1.0, 0.0]), "beside, in the plane");
        assert!(!meets([5.0, 0.0, 0.0], [6.0, 0.0, 0.0]), "in line with an edge");
    }

    #[test]
    fn flat_triangles_are_segments() {
        let flat = [[0.0; 3], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
        assert!(segment_triangle([[1.5, -1.0, 0.0], [1.5, 1.0, 0.0]], flat));
        assert!(segment_triangle([[1.5, -1.0, -1.0], [1.5, 1.0, 1.0]], flat));
        assert!(!segment_triangle([[1.5, -1.0, 0.5], [1.5, 1.0, 0.5]], flat));
        assert!(!segment_triangle([[3.0, -1.0, 0.0], [3.0, 1.0, 0.0]], flat));
        let point = [[1.0; 3]; 3];
        assert!(segment_triangle([[0.0; 3], [2.0; 3]], point));
        assert!(!segment_triangle([[0.0; 3], [2.0, 2.0, 2.5]], point));
    }
}
