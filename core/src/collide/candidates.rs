//! Which primitives of a triangle mesh may meet during a step.
//!
//! Three trees (vertices, edges, triangles) are sorted once in the rest pose. Each step the boxes of the way from start to
//! end, grown by half the reach of a contact on each side, are refitted and compared. What comes out holds every pair that can
//! come within the reach, no pair twice, none that shares a vertex, in ascending order.

use super::CollideError;
use super::aabb::Aabb;
use super::bvh::Bvh;
use super::distance::Pair;
use super::query::{Elements, Groups, Leaves, Pairs};
use crate::backend::{Backend, Cut, Task};
use crate::columns::Columns;
use crate::lane::{Lane, Octet, Real};
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
    trees: [Bvh<S>; 3],
    boxes: Vec<Aabb<S>>,
    way: Vec<Octet<S>>,
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
            trees: [Bvh::new(), Bvh::new(), Bvh::new()],
            boxes: Vec::new(),
            way: Vec::new(),
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
            this.surround(kind, S::ZERO, on);
            let first = |i: usize| match kind {
                0 => i,
                1 => this.edges[i][0] as usize,
                _ => this.triangles[i][0] as usize,
            };
            let own: Option<Vec<Groups>> =
                groups.map(|groups| (0..this.boxes.len()).map(|i| groups[first(i)]).collect());
            let elements = match kind {
                0 => Elements::Vertices,
                1 => Elements::Edges(&this.edges),
                _ => Elements::Triangles(&this.triangles),
            };
            this.trees[kind].build(&this.boxes, &Leaves { elements, groups: own.as_deref() }, on)?;
        }
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

    /// The same without sorting, for callers who keep few of the candidates and sort those: in an order that the trees alone
    /// decide.
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    pub fn find_unsorted<B: Backend<Scalar = S>>(
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
        sorted: bool,
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
            self.trees[kind].refit(&self.boxes, on)?;
        }
        self.list.clear();
        self.pairs.between(&self.trees[0], &self.trees[2], on);
        if sorted {
            self.pairs.sort();
        }
        self.list.extend(self.pairs.list().iter().map(|&[v, t]| {
            let [a, b, c] = self.triangles[t as usize];
            Candidate { pair: Pair::VertexTriangle, corners: [v, a, b, c] }
        }));
        self.vertex_triangle_count = self.list.len();
        self.pairs.within(&self.trees[1], on);
        if sorted {
            self.pairs.sort();
        }
        self.list.extend(self.pairs.list().iter().map(|&[a, b]| {
            let ([a0, a1], [b0, b1]) = (self.edges[a as usize], self.edges[b as usize]);
            Candidate { pair: Pair::EdgeEdge, corners: [a0, a1, b0, b1] }
        }));
        Ok(())
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

    /// Boxes of the ways of all vertices, edges or triangles.
    fn surround<B: Backend<Scalar = S>>(&mut self, kind: usize, radius: S, on: &B) {
        let count = [self.vertex_count, self.edges.len(), self.triangles.len()][kind];
        self.boxes.resize(count, Aabb::empty());
        let cut = Cut::Every(SURROUND);
        let way = &self.way[..];
        match kind {
            0 => on.fork(&Surround { way, radius, corners: |i: usize| [i as u32] }, cut, &mut self.boxes),
            1 => on.fork(&Surround { way, radius, corners: |i: usize| self.edges[i] }, cut, &mut self.boxes),
            _ => on.fork(&Surround { way, radius, corners: |i: usize| self.triangles[i] }, cut, &mut self.boxes),
        }
    }
}

/// Boxes a task makes.
const SURROUND: usize = 2048;

/// Makes boxes around the ways of primitives with `N` corners.
struct Surround<'a, S, C> {
    way: &'a [Octet<S>],
    radius: S,
    corners: C,
}

impl<S: Real, C: Fn(usize) -> [u32; N] + Sync, const N: usize> Task<Aabb<S>> for Surround<'_, S, C> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Aabb<S>]) {
        for (k, aabb) in own.iter_mut().enumerate() {
            let mut whole = Aabb::empty();
            for v in (self.corners)(index * SURROUND + k) {
                let [x, y, z, _, u, v, w, _] = self.way[v as usize].0;
                whole = whole.union(&Aabb::new([x, y, z], [x, y, z])).union(&Aabb::new([u, v, w], [u, v, w]));
            }
            *aabb = whole.grown(self.radius);
        }
    }
}
