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

/// Whether a vertex on its straight way from one place to another meets a triangle at rest, both ends of the way and the
/// triangle's border included. Exact. [C 45]
///
/// ```
/// use pliant_core::collide::intersect::moving_vertex_triangle;
///
/// let triangle = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// assert!(moving_vertex_triangle([0.2, 0.2, 1.0], [0.3, 0.3, -1.0], triangle));
/// assert!(!moving_vertex_triangle([0.2, 0.2, 1.0], [2.0, 2.0, -1.0], triangle));
/// ```
pub fn moving_vertex_triangle(from: [f64; 3], to: [f64; 3], triangle: [[f64; 3]; 3]) -> bool {
    segment_triangle([from, to], triangle)
}

/// Whether an edge, whose ends go straight from one place to another, may meet an edge at rest. [C 46]
///
/// The moving edge sweeps the quadrilateral between its two places. Where that is flat (the edge is shifted, or turned in a
/// plane) the answer is exact. Where it is bent, the ruled surface lies between the two ways of folding it into triangles,
/// which together bound a tetrahedron: an edge that touches this counts as met. So no meeting is ever missed; what passes the
/// surface within its bend may be reported. Ask [`ccd::edge_edge`](super::ccd::edge_edge) where that matters, or where both move.
///
/// ```
/// use pliant_core::collide::intersect::moving_edge_edge;
///
/// let (above, below) = ([[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]], [[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0]]);
/// assert!(moving_edge_edge(above, below, [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]));
/// assert!(!moving_edge_edge(above, below, [[0.0, 0.1, 0.0], [0.0, 1.0, 0.0]]));
/// ```
pub fn moving_edge_edge(from: [[f64; 3]; 2], to: [[f64; 3]; 2], edge: [[f64; 3]; 2]) -> bool {
    let ([a, b], [c, d]) = (from, to);
    // Folded along a d, and along b c.
    let faces = [[a, b, d], [a, d, c], [a, b, c], [b, d, c]];
    faces.into_iter().any(|face| segment_triangle(edge, face)) || within_tetrahedron(edge[0], [a, b, c, d])
}

/// Whether a point lies inside a tetrahedron, not on its border.
fn within_tetrahedron(p: [f64; 3], [a, b, c, d]: [[f64; 3]; 4]) -> bool {
    let turn = orient3d(a, b, c, d);
    let replaced = [orient3d(p, b, c, d), orient3d(a, p, c, d), orient3d(a, b, p, d), orient3d(a, b, c, p)];
    turn != Ordering::Equal && replaced.iter().all(|side| *side == turn)
}

/// Whether the segment p q and the triangle a b c, both with their borders, have a point in common.
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
    use super::super::ccd::{CcdOptions, edge_edge};
    use super::super::distance::Pair;
    use super::*;
    use crate::vec3::Vec3;

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

    fn mix(a: [f64; 3], b: [f64; 3], t: f64) -> [f64; 3] {
        std::array::from_fn(|k| a[k] + t * (b[k] - a[k]))
    }

    /// Places on a small lattice, so that edges touch, cross corners and share planes often, or anywhere.
    fn place(next: &mut u64, lattice: bool) -> [f64; 3] {
        std::array::from_fn(|_| {
            *next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (*next >> 33) as f64 / f64::from(1_u32 << 31);
            if lattice { (number * 5.0).floor() - 2.0 } else { 2.0 * number - 1.0 }
        })
    }

    /// Against the distance sampled along the way: what comes within nothing of the triangle is met, what stays away is not.
    #[test]
    fn moving_vertices_meet_what_samples_meet() {
        let (mut next, mut met) = (3, 0);
        for query in 0..2000 {
            let mut place = || place(&mut next, query % 2 == 0);
            let (from, to, triangle) = (place(), place(), [place(), place(), place()]);
            let gap = |t: f64| {
                let corners = [mix(from, to, t), triangle[0], triangle[1], triangle[2]].map(Vec3::from);
                Pair::VertexTriangle.closest(&corners).distance_sq.sqrt()
            };
            let nearest = (0..=400).map(|i| gap(f64::from(i) / 400.0)).fold(f64::INFINITY, f64::min);
            let length = Vec3::from(mix(to, from, 2.0)).length() + 4.0;
            let found = moving_vertex_triangle(from, to, triangle);
            met += usize::from(found);
            if found {
                assert!(nearest < length / 400.0, "{query}: {nearest}");
            } else {
                assert!(nearest > 0.0, "{query}: samples touch {triangle:?} from {from:?} to {to:?}");
            }
        }
        assert!(met > 100, "{met}");
    }

    /// Against the proven search for first contacts, which never misses one either: exact for edges that are shifted, never a
    /// miss for others.
    #[test]
    fn moving_edges_meet_what_they_pass() {
        let options = CcdOptions { tolerance: 1e-12, ..CcdOptions::default() };
        let (mut next, mut met, mut early) = (5, [0; 2], 0);
        for query in 0..6000 {
            let shifted = query % 3 == 0;
            let mut place = || place(&mut next, query % 2 == 0);
            let (from, edge) = ([place(), place()], [place(), place()]);
            let by = place();
            let to = if shifted { from.map(|p| std::array::from_fn(|k| p[k] + by[k])) } else { [place(), place()] };
            let [start, end] = [from, to].map(|[a, b]| [a, b, edge[0], edge[1]]);
            // Near misses count as contact there; far from any they do not.
            let truth = edge_edge(&start, &end, &options).is_some();
            let wide = edge_edge(&start, &end, &CcdOptions { min_separation: 1e-9, ..options }).is_some();
            let found = moving_edge_edge(from, to, edge);
            if shifted {
                assert!(found == truth || wide, "{query}: {found} for {from:?} to {to:?} and {edge:?}");
                assert!(!found || wide, "{query}");
            }
            early += usize::from(found && !truth);
            met[usize::from(found)] += 1;
            let crosses = (0..=64).any(|i| {
                let t = f64::from(i) / 64.0;
                let corners = [mix(from[0], to[0], t), mix(from[1], to[1], t), edge[0], edge[1]].map(Vec3::from);
                Pair::EdgeEdge.closest(&corners).distance_sq == 0.0
            });
            assert!(found || !crosses, "{query}: samples touch");
            // Rounded shifts bend the surface by a rounding; what the search proves to cross within is never missed.
            assert!(found || !truth || !beyond_doubt(&start, &end), "{query}: missed {from:?} to {to:?} and {edge:?}");
        }
        assert!(met[0] > 500 && met[1] > 500, "{met:?}");
        assert!(early * 3 < met[1], "{early} of {} are reported within the bend alone", met[1]);
    }

    /// Whether two edges change sides on their way, at a time when they lie across each other: no doubt that they met.
    fn beyond_doubt(start: &[[f64; 3]; 4], end: &[[f64; 3]; 4]) -> bool {
        let at = |t: f64| -> [Vec3<f64>; 4] { std::array::from_fn(|i| Vec3::from(mix(start[i], end[i], t))) };
        let volume = |t: f64| {
            let [a, b, c, d] = at(t);
            (b - a).cross(d - c).dot(c - a)
        };
        (0..64).any(|i| {
            let [mut low, mut high] = [f64::from(i) / 64.0, f64::from(i + 1) / 64.0];
            if volume(low) * volume(high) >= 0.0 {
                return false;
            }
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if volume(low) * volume(middle) <= 0.0 { high = middle } else { low = middle }
            }
            let closest = Pair::EdgeEdge.closest(&at(low));
            let inside = closest.weights.iter().all(|w| w.abs() > 1e-6);
            inside && closest.distance_sq < 1e-24
        })
    }

    #[test]
    fn moving_edges_without_length_or_way_are_no_trouble() {
        let point = |x: f64| [[x, 0.0, 0.0]; 2];
        let across = [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]];
        assert!(moving_edge_edge(point(-1.0), point(1.0), across), "a point passes");
        assert!(!moving_edge_edge(point(-1.0), point(-0.5), across), "a point stays short");
        assert!(moving_edge_edge(across, across, point(0.0)), "a point on an edge at rest");
        assert!(!moving_edge_edge(across, across, point(1e-300)), "a point beside it");
        let along = |x: f64| [[x, 0.0, 0.0], [x + 1.0, 0.0, 0.0]];
        assert!(moving_edge_edge(along(0.0), along(2.0), along(2.5)), "in one line");
        assert!(!moving_edge_edge(along(0.0), along(2.0), along(3.5)), "in one line, ahead");
        assert!(moving_edge_edge(along(0.0), along(0.0), along(1.0)), "end to end");
        // An edge that lies inside what a turning edge sweeps, and touches none of the four faces.
        let (from, to) = ([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, -1.0, 1.0], [0.0, 1.0, 1.0]]);
        assert!(moving_edge_edge(from, to, [[0.0, 0.0, 0.5], [0.01, 0.0, 0.5]]));
        let big = [[-1e150, 0.0, 1e150], [1e150, 0.0, 1e150]];
        assert!(moving_edge_edge(big, big.map(|[x, y, z]| [x, y, -z]), across), "large numbers");
    }
}
