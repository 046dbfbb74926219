//! Sampling the distance to a closed mesh on a grid: exact near the surface, handed from node to node farther out.

use ultraviolet::DVec3;

use super::grid::DistanceGrid;
use crate::mesh::TriMesh;

/// Cells of free space around the mesh.
const MARGIN: usize = 2;
/// No triangle yet.
const NONE: u32 = u32::MAX;

/// A grid in the making: the nearest triangle known to every node.
struct Lattice<'a> {
    mesh: &'a TriMesh,
    origin: DVec3,
    cell: f64,
    nodes: [usize; 3],
    nearest: Vec<u32>,
    distance_sq: Vec<f64>,
}

/// Distances to a mesh that is known to be closed.
pub(super) fn sample(mesh: &TriMesh, cells: usize) -> DistanceGrid {
    let (mut low, mut high) = (DVec3::broadcast(f64::INFINITY), DVec3::broadcast(f64::NEG_INFINITY));
    for p in mesh.triangles().iter().flatten().map(|&v| mesh.positions()[v as usize]) {
        (low, high) = (low.min_by_component(p), high.max_by_component(p));
    }
    let size = high - low;
    let cell = size.component_max() / cells as f64;
    let nodes = [size.x, size.y, size.z].map(|side| (side / cell).ceil() as usize + 1 + 2 * MARGIN);
    let count = nodes.iter().product();
    let mut lattice = Lattice {
        mesh,
        origin: low - DVec3::broadcast(MARGIN as f64 * cell),
        cell,
        nodes,
        nearest: vec![NONE; count],
        distance_sq: vec![f64::INFINITY; count],
    };
    lattice.seed();
    for direction in 0..8 {
        lattice.spread(direction);
    }
    let inside = lattice.inside();
    let values = (lattice.distance_sq.iter().zip(&inside))
        .map(|(d, &inside)| if inside { -d.sqrt() } else { d.sqrt() })
        .collect();
    DistanceGrid { origin: lattice.origin.into(), cell, nodes, values }
}

impl Lattice<'_> {
    fn index(&self, at: [usize; 3]) -> usize {
        (at[2] * self.nodes[1] + at[1]) * self.nodes[0] + at[0]
    }
    fn place(&self, at: [usize; 3]) -> DVec3 {
        self.origin + DVec3::new(at[0] as f64, at[1] as f64, at[2] as f64) * self.cell
    }
    fn corners(&self, triangle: u32) -> [DVec3; 3] {
        self.mesh.triangles()[triangle as usize].map(|v| self.mesh.positions()[v as usize])
    }

    fn try_triangle(&mut self, at: [usize; 3], triangle: u32) {
        let (index, p) = (self.index(at), self.place(at));
        if self.nearest[index] == triangle {
            return;
        }
        let distance_sq = (p - closest_point(p, self.corners(triangle))).mag_sq();
        if distance_sq < self.distance_sq[index] {
            self.distance_sq[index] = distance_sq;
            self.nearest[index] = triangle;
        }
    }

    /// Every triangle tells the nodes within a cell of its box.
    fn seed(&mut self) {
        for triangle in 0..self.mesh.triangle_count() as u32 {
            let corners = self.corners(triangle);
            let range = |k: usize| {
                let along = corners.map(|c| (c[k] - self.origin[k]) / self.cell);
                let (low, high) =
                    (along.iter().copied().fold(f64::INFINITY, f64::min), along.iter().copied().fold(0.0, f64::max));
                (low.floor() as usize).saturating_sub(1)..(high.ceil() as usize + 2).min(self.nodes[k])
            };
            let [x, y, z] = [range(0), range(1), range(2)];
            for k in z {
                for j in y.clone() {
                    for i in x.clone() {
                        self.try_triangle([i, j, k], triangle);
                    }
                }
            }
        }
    }

    /// One pass through the grid from one of its eight corners: a node tries the triangles its neighbours behind it know.
    fn spread(&mut self, direction: usize) {
        let forward = [direction & 1 == 0, direction & 2 == 0, direction & 4 == 0];
        let step = |k: usize, n: usize| if forward[k] { n } else { self.nodes[k] - 1 - n };
        let nodes = self.nodes;
        let order: [Vec<usize>; 3] = std::array::from_fn(|k| (0..nodes[k]).map(|n| step(k, n)).collect());
        for (c, &k) in order[2].iter().enumerate() {
            for (b, &j) in order[1].iter().enumerate() {
                for (a, &i) in order[0].iter().enumerate() {
                    for behind in 1..8 {
                        let back = [behind & 1, behind >> 1 & 1, behind >> 2];
                        if a < back[0] || b < back[1] || c < back[2] {
                            continue;
                        }
                        let from = [order[0][a - back[0]], order[1][b - back[1]], order[2][c - back[2]]];
                        let triangle = self.nearest[self.index(from)];
                        if triangle != NONE {
                            self.try_triangle([i, j, k], triangle);
                        }
                    }
                }
            }
        }
    }

    /// Which nodes the surface encloses: how often a line along x has crossed it, counted with the side it came from.
    fn inside(&self) -> Vec<bool> {
        let [nx, ny, _] = self.nodes;
        let mut winding = vec![0_i32; self.distance_sq.len()];
        for triangle in 0..self.mesh.triangle_count() as u32 {
            let corners = self.corners(triangle).map(|c| (c - self.origin) / self.cell);
            let range = |k: usize| {
                let low = corners.iter().map(|c| c[k]).fold(f64::INFINITY, f64::min);
                let high = corners.iter().map(|c| c[k]).fold(0.0, f64::max);
                low.ceil() as usize..=(high.floor() as usize).min(self.nodes[k] - 1)
            };
            for k in range(2) {
                for j in range(1) {
                    if let Some((x, side)) = crossing(corners, j as f64, k as f64) {
                        // The first node at or beyond the crossing.
                        let i = x.ceil().max(0.0) as usize;
                        if i < nx {
                            winding[(k * ny + j) * nx + i] += side;
                        }
                    }
                }
            }
        }
        for row in winding.chunks_mut(nx) {
            let mut sum = 0;
            for node in row {
                sum += *node;
                *node = sum;
            }
        }
        winding.into_iter().map(|w| w != 0).collect()
    }
}

/// Where the line along x through (y, z) crosses a triangle, and from which side.
///
/// A line through an edge or a corner counts for exactly one of the triangles that share it: ties are broken by the order
/// of the edge's ends alone, so that neighbours agree.
fn crossing(corners: [DVec3; 3], y: f64, z: f64) -> Option<(f64, i32)> {
    let flat = corners.map(|c| [c.y - y, c.z - z]);
    let (a, side) = turn(flat[1], flat[2])?;
    let (b, same) = turn(flat[2], flat[0])?;
    let (c, last) = turn(flat[0], flat[1])?;
    if side != same || side != last {
        return None;
    }
    let sum = a + b + c;
    (sum != 0.0).then(|| ((a * corners[0].x + b * corners[1].x + c * corners[2].x) / sum, side))
}

/// Twice the area of the triangle (0, p, q) and its sign; a zero area gets the sign an infinitely small shift would give.
fn turn(p: [f64; 2], q: [f64; 2]) -> Option<(f64, i32)> {
    let area = p[0] * q[1] - p[1] * q[0];
    let ordering = [area, q[1] - p[1], p[0] - q[0]].into_iter().find(|&d| d != 0.0)?;
    Some((area, if ordering > 0.0 { 1 } else { -1 }))
}

/// The point of a triangle that is closest to p, by the region p lies in.   [Ericson 2005, 5.1.5]
fn closest_point(p: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + ab * (d1 / (d1 - d3));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    let along = (d4 - d3) + (d5 - d6);
    if va <= 0.0 && d4 >= d3 && d5 >= d6 && along > 0.0 {
        return b + (c - b) * ((d4 - d3) / along);
    }
    let sum = va + vb + vc;
    if sum > 0.0 { a + ab * (vb / sum) + ac * (vc / sum) } else { a }
}
