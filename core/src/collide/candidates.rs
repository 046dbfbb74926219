//! Which primitives of a triangle mesh may meet during a step.
//!
//! Three trees (vertices, edges, triangles) are sorted once in the rest pose. Each step the boxes at start and end of the
//! way, grown by half the reach of a contact on each side, are refitted and compared. What comes out holds every pair that
//! can come within the reach, no pair twice, none that shares a vertex, in ascending order.

use super::CollideError;
use super::aabb::{Aabb, lower};
use super::bvh::{Bvh, Node, REFIT_NODES};
use super::distance::Pair;
use super::leaves::{Elements, Groups, Leaf, Leaves};
use super::query::Pairs;
use super::surfaces::share_twins;
use crate::backend::{Backend, Cut, Task};
use crate::columns::Columns;
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::mesh::TriMesh;

/// Two primitives that may meet: four vertices, ordered as the kind of [`Pair`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Vertex–triangle or edge–edge.
    pub pair: Pair,
    /// The vertices.
    pub corners: [u32; 4],
}

/// Finds the pairs of a mesh that may meet.
#[derive(Clone, Debug)]
pub struct MeshCandidates<S> {
    edges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
    vertex_count: usize,
    trees: [Bvh<S, 2>; 3],
    way: Vec<Octet<S>>,
    pairs: Pairs,
    list: Vec<Candidate>,
    vertex_triangle_count: usize,
    /// By vertex, where some count as one: which.
    twins: Option<Vec<u32>>,
}

impl<S: Real> MeshCandidates<S> {
    /// For a mesh with all its vertices, edges and triangles, sorted as it is at rest.
    ///
    /// `groups` tells for each vertex which others it may touch; a triangle or edge has the groups of its first vertex.
    /// Several bodies are one mesh with their vertices one after the other.
    ///
    /// # Errors
    /// Positions that the precision cannot hold, or another number of groups than of vertices.
    pub fn new<B: Backend<Scalar = S>>(
        mesh: &TriMesh,
        groups: Option<&[Groups]>,
        on: &B,
    ) -> Result<Self, CollideError> {
        let rest: Columns<S> =
            mesh.positions().iter().map(|p| [S::from_f64(p.x), S::from_f64(p.y), S::from_f64(p.z)]).collect();
        let edges = mesh.topology_allowing_non_manifold().edges;
        Self::of_elements(&rest, edges, mesh.triangles().to_vec(), groups, on)
    }

    /// The same for any edges and triangles, in the order in which candidates are to be told: a rope has edges alone.
    ///
    /// # Errors
    /// As for [`new`](Self::new), or a vertex that does not exist.
    pub fn of_elements<B: Backend<Scalar = S>>(
        rest: &Columns<S>,
        edges: Vec<[u32; 2]>,
        triangles: Vec<[u32; 3]>,
        groups: Option<&[Groups]>,
        on: &B,
    ) -> Result<Self, CollideError> {
        let count = rest.len();
        check_elements(count, &edges, &triangles)?;
        check_groups(count, groups)?;
        let mut this = Self {
            edges,
            triangles,
            vertex_count: count,
            trees: [Bvh::nothing(), Bvh::nothing(), Bvh::nothing()],
            way: Vec::new(),
            pairs: Pairs::new(),
            list: Vec::new(),
            vertex_triangle_count: 0,
            twins: None,
        };
        pave(&mut this.way, [rest, rest], count)?;
        for kind in 0..3 {
            let at = |v: u32| rest.get(v as usize);
            let boxes: Vec<Aabb<S>> = match kind {
                0 => (0..count as u32).map(|v| Aabb::around(&[at(v)])).collect(),
                1 => this.edges.iter().map(|e| Aabb::around(&e.map(at))).collect(),
                _ => this.triangles.iter().map(|t| Aabb::around(&t.map(at))).collect(),
            };
            let first = |i: usize| match kind {
                0 => i,
                1 => this.edges[i][0] as usize,
                _ => this.triangles[i][0] as usize,
            };
            let own: Option<Vec<Groups>> = groups.map(|groups| (0..boxes.len()).map(|i| groups[first(i)]).collect());
            let elements = match kind {
                0 => Elements::Vertices,
                1 => Elements::Edges(&this.edges),
                _ => Elements::Triangles(&this.triangles),
            };
            this.trees[kind].arrange(&boxes, &Leaves { elements, groups: own.as_deref() })?;
            this.surround(kind, S::ZERO, on);
            this.trees[kind].settle();
        }
        Ok(this)
    }

    /// Lets vertices count as one where the same number stands for them; their pairs are then left out like those that share a vertex.
    ///
    /// # Errors
    /// Another count of numbers than of vertices.
    pub fn with_twins(mut self, twins: Option<&[u32]>) -> Result<Self, CollideError> {
        if let Some(twins) = twins.filter(|twins| twins.len() != self.vertex_count) {
            let (found, expected) = (twins.len(), self.vertex_count);
            return Err(CollideError::Length { what: "list of twins", found, expected });
        }
        self.twins = twins.map(<[u32]>::to_vec);
        Ok(self)
    }

    /// Finds all pairs that can come within `reach` of each other \[m\] while every vertex moves in a straight line.
    ///
    /// # Errors
    /// Positions that are not finite (named by vertex), another number of them than the mesh has, a negative reach. The
    /// candidates of the last call are then kept.
    pub fn find<B: Backend<Scalar = S>>(
        &mut self,
        start: &Columns<S>,
        end: &Columns<S>,
        reach: S,
        on: &B,
    ) -> Result<(), CollideError> {
        if !(reach >= S::ZERO && Real::is_finite(reach)) {
            let expected = "a finite length, 0 or more";
            return Err(CollideError::BadOption { name: "the reach of a contact", value: reach.to_f64(), expected });
        }
        pave(&mut self.way, [start, end], self.vertex_count)?;
        for kind in 0..3 {
            // Half on each side: two boxes overlap when their contents come within the whole.
            self.surround(kind, S::from_f64(0.5) * reach, on);
        }
        self.list.clear();
        let [vertices, edges, triangles] = &self.trees;
        self.pairs.between(vertices, triangles, on);
        self.pairs.sort();
        self.list.extend(self.pairs.list().iter().map(|&[v, t]| {
            let [a, b, c] = self.triangles[t as usize];
            Candidate { pair: Pair::VertexTriangle, corners: [v, a, b, c] }
        }));
        self.vertex_triangle_count = self.list.len();
        self.pairs.within(edges, on);
        self.pairs.sort();
        self.list.extend(self.pairs.list().iter().map(|&[a, b]| {
            let ([a0, a1], [b0, b1]) = (self.edges[a as usize], self.edges[b as usize]);
            Candidate { pair: Pair::EdgeEdge, corners: [a0, a1, b0, b1] }
        }));
        if let Some(twins) = &self.twins {
            self.list.retain(|candidate| !meets_in_twins(twins, candidate));
            self.vertex_triangle_count = self.list.partition_point(|candidate| candidate.pair == Pair::VertexTriangle);
        }
        Ok(())
    }

    /// What was found: vertex–triangle pairs by vertex and triangle, then edge–edge pairs by edges.
    pub fn list(&self) -> &[Candidate] {
        &self.list
    }

    /// How many of them are vertex–triangle pairs.
    pub fn vertex_triangle_count(&self) -> usize {
        self.vertex_triangle_count
    }

    /// The two kinds, and the candidates of each.
    pub(super) fn by_kind(&self) -> [(Pair, &[Candidate]); 2] {
        let (first, second) = self.list.split_at(self.vertex_triangle_count);
        [(Pair::VertexTriangle, first), (Pair::EdgeEdge, second)]
    }

    /// Whether the mesh has moved so far from its rest pose that new trees would pay; see [`Bvh::worn`].
    pub fn worn(&self) -> bool {
        self.trees.iter().any(Bvh::worn)
    }

    /// Start and end of each vertex: `[x y z 0 x' y' z' 0]`.
    pub(super) fn way(&self) -> &[Octet<S>] {
        &self.way
    }

    /// Boxes around all vertices, edges or triangles at both ends of their way.
    fn surround<B: Backend<Scalar = S>>(&mut self, kind: usize, radius: S, on: &B) {
        let (way, cut) = (&self.way[..], Cut::Every(REFIT_NODES));
        let tree = &mut self.trees[kind];
        let count = tree.len();
        let (nodes, leaves) = tree.lowest();
        match kind {
            0 => on.fork(&Surround::<S, 1> { way, leaves, count, radius, shares: &[] }, cut, nodes),
            1 => on.fork(&Surround::<S, 2> { way, leaves, count, radius, shares: &[] }, cut, nodes),
            _ => on.fork(&Surround::<S, 3> { way, leaves, count, radius, shares: &[] }, cut, nodes),
        }
        tree.fill_above(on);
    }
}

/// Whether two primitives have corners that count as one.
fn meets_in_twins(twins: &[u32], candidate: &Candidate) -> bool {
    let (one, other) = candidate.corners.split_at(candidate.pair.first_corners());
    share_twins(twins, one, other)
}

/// Refuses vertices that do not exist.
pub(super) fn check_elements(count: usize, edges: &[[u32; 2]], triangles: &[[u32; 3]]) -> Result<(), CollideError> {
    let beyond = |ids: &[u32]| ids.iter().copied().find(|&v| v as usize >= count);
    for (row, ids) in edges.iter().enumerate() {
        if let Some(vertex) = beyond(ids) {
            return Err(CollideError::OutOfRange { what: "edge", row, vertex, count });
        }
    }
    for (row, ids) in triangles.iter().enumerate() {
        if let Some(vertex) = beyond(ids) {
            return Err(CollideError::OutOfRange { what: "triangle", row, vertex, count });
        }
    }
    Ok(())
}

/// Refuses another number of groups than of vertices.
pub(super) fn check_groups(expected: usize, groups: Option<&[Groups]>) -> Result<(), CollideError> {
    match groups.map(<[Groups]>::len) {
        Some(found) if found != expected => Err(CollideError::Length { what: "list of groups", found, expected }),
        _ => Ok(()),
    }
}

/// Writes down start and end of each vertex: `[x y z 0 x' y' z' 0]`. Positions that are not finite are refused.
pub(super) fn pave<S: Real>(
    way: &mut Vec<Octet<S>>,
    [start, end]: [&Columns<S>; 2],
    expected: usize,
) -> Result<(), CollideError> {
    for column in [start, end] {
        if column.len() != expected {
            return Err(CollideError::Length { what: "list of positions", found: column.len(), expected });
        }
        if let Some(row) = column.first_non_finite() {
            let value = column.get(row).into_iter().find(|v| !Real::is_finite(*v)).unwrap_or(S::ZERO).to_f64();
            return Err(CollideError::NotFinite { what: "vertex", row, value });
        }
    }
    way.clear();
    way.extend(start.iter().zip(end.iter()).map(|([x, y, z], [u, v, w])| Octet([x, y, z, S::ZERO, u, v, w, S::ZERO])));
    Ok(())
}

/// The rows of eight octets: those of their first halves, and of their second ones.
const ROWS: [[u32; BLOCK]; 2] = [[0, 2, 4, 6, 8, 10, 12, 14], [1, 3, 5, 7, 9, 11, 13, 15]];

/// Makes boxes around primitives with `N` corners, eight at a time, straight into the nodes of a tree.
pub(super) struct Surround<'a, S, const N: usize> {
    pub way: &'a [Octet<S>],
    pub leaves: &'a [Leaf<S>],
    /// How many primitives there are.
    pub count: usize,
    pub radius: S,
    /// By node: how much of the radius each primitive gets; none where all of them get all of it.
    pub shares: &'a [Octet<S>],
}

impl<S: Real, const N: usize> Task<Node<S, 2>> for Surround<'_, S, N> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Node<S, 2>]) {
        for (k, node) in own.iter_mut().enumerate() {
            let first = index * REFIT_NODES + k;
            let corners = self.leaves[first].corners();
            // Both ends of a vertex's way are one octet: boxes are made of rows first, and turned into columns once.
            let (mut lows, mut highs) = ([Octet([S::ZERO; BLOCK]); BLOCK], [Octet([S::ZERO; BLOCK]); BLOCK]);
            for lane in 0..BLOCK {
                let mut at = 0;
                while at < BLOCK {
                    let mut low = L::load(&self.way[corners[0][lane] as usize], at);
                    let mut high = low;
                    for corner in 1..N {
                        let x = L::load(&self.way[corners[corner][lane] as usize], at);
                        (low, high) = (x.min(low), x.max(high));
                    }
                    low.store(&mut lows[lane], at);
                    high.store(&mut highs[lane], at);
                    at += L::WIDTH;
                }
            }
            for end in 0..2 {
                let mut at = 0;
                while at < BLOCK {
                    let low = L::from_rows(&lows, &ROWS[end], at);
                    let high = L::from_rows(&highs, &ROWS[end], at);
                    let mut radius = L::splat(self.radius);
                    if let Some(share) = self.shares.get(first) {
                        radius = radius * L::load(share, at);
                    }
                    for axis in 0..3 {
                        lower(low[axis], radius).store(&mut node.ends[end][axis], at);
                        lower(-high[axis], radius).store(&mut node.ends[end][axis + 3], at);
                    }
                    at += L::WIDTH;
                }
            }
            node.clear_from(self.count - first * BLOCK);
        }
    }
}
