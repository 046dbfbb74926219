//! Which primitives of a triangle mesh may meet during a step.
//!
//! Three trees (vertices, edges, triangles) are sorted once in the rest pose. Each step the boxes at start and end of the
//! way, grown by half the reach of a contact on each side, are refitted and compared. What comes out holds every pair that
//! can come within the reach, no pair twice, none that shares a vertex, in ascending order.

use super::CollideError;
use super::aabb::{Aabb, lower};
use super::bvh::{Bvh, Node, REFIT_NODES};
use super::distance::Pair;
use super::flat::{Bend, Normals, Sharing, bend};
use super::leaves::{Elements, Groups, Leaf, Leaves};
use super::query::Pairs;
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
    normals: Normals<S>,
    /// Whether all is one piece: only then are nodes that share a vertex one patch.
    connected: bool,
    /// Nodes that share vertices: of vertices and triangles, and of edges.
    sharing: [Sharing; 2],
    pairs: Pairs,
    list: Vec<Candidate>,
    vertex_triangle_count: usize,
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
        let mut this = Self {
            edges,
            triangles,
            vertex_count: count,
            trees: [Bvh::nothing(), Bvh::nothing(), Bvh::nothing()],
            way: Vec::new(),
            normals: Normals::new(0, &[]),
            connected: false,
            sharing: [Sharing::default(), Sharing::default()],
            pairs: Pairs::new(),
            list: Vec::new(),
            vertex_triangle_count: 0,
        };
        this.pave(rest, rest)?;
        if let Some(groups) = groups
            && groups.len() != this.vertex_count
        {
            let (found, expected) = (groups.len(), this.vertex_count);
            return Err(CollideError::Length { what: "list of groups", found, expected });
        }
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
        this.normals = Normals::new(count, &this.triangles);
        this.connected = connected(count, &this.edges, &this.triangles);
        let leaves = [&this.trees[0].leaves, &this.trees[1].leaves, &this.trees[2].leaves];
        this.sharing = [Sharing::new(leaves[0], leaves[2], count), Sharing::new(leaves[1], leaves[1], count)];
        Ok(this)
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
        self.look_up([start, end], reach, true, on)
    }

    /// The same for those who want to know early and may err: in an order that the trees alone decide, and without pairs in
    /// patches of the surface that are about flat at the start. Such patches touch themselves only when they are crushed in
    /// their own plane. Meshes of several pieces have all their pairs looked at.
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    pub fn find_bent<B: Backend<Scalar = S>>(
        &mut self,
        start: &Columns<S>,
        end: &Columns<S>,
        reach: S,
        on: &B,
    ) -> Result<(), CollideError> {
        self.look_up([start, end], reach, false, on)
    }

    fn look_up<B: Backend<Scalar = S>>(
        &mut self,
        [start, end]: [&Columns<S>; 2],
        reach: S,
        all: bool,
        on: &B,
    ) -> Result<(), CollideError> {
        if !(reach >= S::ZERO && Real::is_finite(reach)) {
            let expected = "a finite length, 0 or more";
            return Err(CollideError::BadOption { name: "the reach of a contact", value: reach.to_f64(), expected });
        }
        self.pave(start, end)?;
        for kind in 0..3 {
            // Half on each side: two boxes overlap when their contents come within the whole.
            self.surround(kind, S::from_f64(0.5) * reach, on);
        }
        let bent = !all && self.connected;
        if bent {
            self.normals.take(&self.way, on);
            self.bend(on);
        }
        self.list.clear();
        let [vertices, edges, triangles] = &self.trees;
        if bent {
            self.pairs.between_bent(vertices, triangles, &self.sharing[0], on);
        } else {
            self.pairs.between(vertices, triangles, on);
        }
        if all {
            self.pairs.sort();
        }
        self.list.extend(self.pairs.list().iter().map(|&[v, t]| {
            let [a, b, c] = self.triangles[t as usize];
            Candidate { pair: Pair::VertexTriangle, corners: [v, a, b, c] }
        }));
        self.vertex_triangle_count = self.list.len();
        if bent {
            self.pairs.within_bent(edges, &self.sharing[1], on);
        } else {
            self.pairs.within(edges, on);
        }
        if all {
            self.pairs.sort();
        }
        self.list.extend(self.pairs.list().iter().map(|&[a, b]| {
            let ([a0, a1], [b0, b1]) = (self.edges[a as usize], self.edges[b as usize]);
            Candidate { pair: Pair::EdgeEdge, corners: [a0, a1, b0, b1] }
        }));
        Ok(())
    }

    /// How far normals differ in the nodes of all trees.
    fn bend<B: Backend<Scalar = S>>(&mut self, on: &B) {
        let normals = self.normals.rows();
        for (kind, tree) in self.trees.iter_mut().enumerate() {
            let (bends, leaves, levels) = tree.bending();
            let (lowest, above) = bends.split_at_mut(leaves.len());
            let cut = Cut::Every(REFIT_NODES);
            match kind {
                0 => on.fork(&Face::<S, 1> { normals, leaves }, cut, lowest),
                1 => on.fork(&Face::<S, 2> { normals, leaves }, cut, lowest),
                _ => on.fork(&Face::<S, 3> { normals, leaves }, cut, lowest),
            }
            // The nodes above are few.
            let mut below = &*lowest;
            let mut above = above;
            for level in levels.windows(2).skip(1) {
                let (own, rest) = above.split_at_mut(level[1] - level[0]);
                for (own, children) in own.iter_mut().zip(below.chunks(BLOCK)) {
                    *own = children[0];
                    for child in children {
                        for k in 0..6 {
                            own.bound.0[k] = Lane::min(own.bound.0[k], child.bound.0[k]);
                        }
                    }
                }
                (below, above) = (own, rest);
            }
        }
    }

    /// What was found: vertex–triangle pairs, then edge–edge pairs; after [`find`](Self::find) the former by vertex and
    /// triangle, the latter by edges.
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

    fn pave(&mut self, start: &Columns<S>, end: &Columns<S>) -> Result<(), CollideError> {
        for column in [start, end] {
            if column.len() != self.vertex_count {
                let (found, expected) = (column.len(), self.vertex_count);
                return Err(CollideError::Length { what: "list of positions", found, expected });
            }
            if let Some(row) = column.first_non_finite() {
                let value = column.get(row).into_iter().find(|v| !Real::is_finite(*v)).unwrap_or(S::ZERO).to_f64();
                return Err(CollideError::NotFinite { what: "vertex", row, value });
            }
        }
        self.way.clear();
        self.way.extend(
            start.iter().zip(end.iter()).map(|([x, y, z], [u, v, w])| Octet([x, y, z, S::ZERO, u, v, w, S::ZERO])),
        );
        Ok(())
    }

    /// Boxes around all vertices, edges or triangles at both ends of their way.
    fn surround<B: Backend<Scalar = S>>(&mut self, kind: usize, radius: S, on: &B) {
        let (way, cut) = (&self.way[..], Cut::Every(REFIT_NODES));
        let tree = &mut self.trees[kind];
        let count = tree.len();
        let (nodes, leaves) = tree.lowest();
        match kind {
            0 => on.fork(&Surround::<S, 1> { way, leaves, count, radius }, cut, nodes),
            1 => on.fork(&Surround::<S, 2> { way, leaves, count, radius }, cut, nodes),
            _ => on.fork(&Surround::<S, 3> { way, leaves, count, radius }, cut, nodes),
        }
        tree.fill_above(on);
    }
}

/// Whether edges and triangles join all vertices.
fn connected(count: usize, edges: &[[u32; 2]], triangles: &[[u32; 3]]) -> bool {
    let mut root: Vec<u32> = (0..count as u32).collect();
    let mut pieces = count;
    let sides = edges.iter().copied().chain(triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c]]));
    for side in sides {
        let [a, b] = side.map(|mut v| {
            while root[v as usize] != v {
                root[v as usize] = root[root[v as usize] as usize];
                v = root[v as usize];
            }
            v
        });
        if a != b {
            root[a as usize] = b;
            pieces -= 1;
        }
    }
    pieces <= 1
}

/// Makes boxes around primitives with `N` corners, eight at a time, straight into the nodes of a tree.
struct Surround<'a, S, const N: usize> {
    way: &'a [Octet<S>],
    leaves: &'a [Leaf<S>],
    /// How many primitives there are.
    count: usize,
    radius: S,
}

impl<S: Real, const N: usize> Task<Node<S, 2>> for Surround<'_, S, N> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Node<S, 2>]) {
        let radius = L::splat(self.radius);
        for (k, node) in own.iter_mut().enumerate() {
            let first = index * REFIT_NODES + k;
            let corners = self.leaves[first].corners();
            for end in 0..2 {
                let mut at = 0;
                while at < BLOCK {
                    let mut low = [L::constant(f64::INFINITY); 3];
                    let mut high = [L::constant(f64::NEG_INFINITY); 3];
                    for corner in 0..N {
                        let mut rows = [0; BLOCK];
                        for lane in 0..BLOCK {
                            rows[lane] = 2 * corners[corner][lane] + end as u32;
                        }
                        let x = L::from_rows(self.way, &rows, at);
                        for axis in 0..3 {
                            low[axis] = x[axis].min(low[axis]);
                            high[axis] = x[axis].max(high[axis]);
                        }
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

/// Finds out which way primitives with `N` corners face.
struct Face<'a, S, const N: usize> {
    normals: &'a [Octet<S>],
    leaves: &'a [Leaf<S>],
}

impl<S: Real, const N: usize> Task<Bend<S>> for Face<'_, S, N> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Bend<S>]) {
        for (k, own) in own.iter_mut().enumerate() {
            *own = bend::<L, N>(self.normals, self.leaves[index * REFIT_NODES + k].corners());
        }
    }
}
