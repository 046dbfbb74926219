//! Which parts of a surface are so flat that they cannot touch themselves.
//!
//! Neighbours in a sheet are always near, and nearly all of them lie side by side: looking at each such pair would cost more
//! than everything else. Where the normals of a connected patch all point about one way, the patch is a graph over the plane
//! across it, and its parts come no closer than they lie in that plane [Volino94]. Two nodes of trees that share a vertex are
//! such a patch; normals are sampled at every vertex, in one of its triangles.

use super::leaves::Leaf;
use crate::backend::{Backend, Cut, Task};
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::vec3::Vec3;

/// Normals of a flat patch differ by less than this, as vectors, squared: 60°.
const FLAT: f64 = 1.0;
/// Primitives face one way when the product of their mean normals is above this: 60°.
const AGREE: f64 = 0.5;
/// Vertices a task finds the normals of.
const NORMALS: usize = 1024;

/// Normals of a moving surface, by vertex.
#[derive(Clone, Debug)]
pub(super) struct Normals<S> {
    /// By vertex: one of its triangles, or the vertex itself three times.
    triangles: Vec<[u32; 3]>,
    /// Two rows `[x y z 0]` an octet; vertices without a normal have 2 in place of 0.
    rows: Vec<Octet<S>>,
}

impl<S: Real> Normals<S> {
    pub fn new(vertex_count: usize, triangles: &[[u32; 3]]) -> Self {
        let mut of: Vec<[u32; 3]> = (0..vertex_count.next_multiple_of(BLOCK)).map(|_| [0; 3]).collect();
        for (v, own) in of.iter_mut().enumerate().take(vertex_count) {
            *own = [v as u32; 3];
        }
        for &triangle in triangles {
            for v in triangle {
                of[v as usize] = triangle;
            }
        }
        let rows = vec![Octet([S::ZERO; BLOCK]); of.len() / 2];
        Self { triangles: of, rows }
    }

    /// Takes the normals of positions: the even rows of `way`.
    pub fn take<B: Backend<Scalar = S>>(&mut self, way: &[Octet<S>], on: &B) {
        let task = TakeNormals { way, triangles: &self.triangles };
        on.fork(&task, Cut::Every(NORMALS / 2), &mut self.rows);
    }

    /// Normals of vertices, one row each.
    pub fn rows(&self) -> &[Octet<S>] {
        &self.rows
    }
}

struct TakeNormals<'a, S> {
    way: &'a [Octet<S>],
    triangles: &'a [[u32; 3]],
}

impl<S: Real> Task<Octet<S>> for TakeNormals<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        for (k, own) in own.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let first = index * NORMALS + k * BLOCK;
            let mut at = 0;
            while at < BLOCK {
                let mut x = [Vec3::zero(); 3];
                for corner in 0..3 {
                    let mut rows = [0; BLOCK];
                    for lane in 0..BLOCK {
                        rows[lane] = 2 * self.triangles[first + lane][corner];
                    }
                    let [a, b, c, _] = L::from_rows(self.way, &rows, at);
                    x[corner] = Vec3::new(a, b, c);
                }
                let n = (x[1] - x[0]).cross(x[2] - x[0]);
                let length = n.length();
                let n = n * length.divide_or_zero(L::one());
                let none = L::select(length.gt(L::zero()), L::zero(), L::constant(2.0));
                L::to_rows([n.x, n.y, n.z, none], own, &[0, 1, 2, 3, 4, 5, 6, 7], at);
                at += L::WIDTH;
            }
        }
    }
}

/// Which way the surface faces in a node of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bend<S> {
    /// The least box `[low, −high]` around the normals, as in [`Aabb`](super::aabb::Aabb).
    pub bound: Octet<S>,
    /// The mean normals of eight primitives; shorter than 1 where their corners disagree. On the lowest level only.
    mean: [Octet<S>; 3],
}

impl<S: Real> Bend<S> {
    pub fn new() -> Self {
        let zero = Octet([S::ZERO; BLOCK]);
        Self { bound: zero, mean: [zero; 3] }
    }
}

/// Which way eight primitives with `N` corners face.
#[inline(always)]
pub(super) fn bend<L: Lane, const N: usize>(
    normals: &[Octet<L::Scalar>],
    corners: &[[u32; BLOCK]; 3],
) -> Bend<L::Scalar> {
    let mut bend = Bend::new();
    let share = L::constant(1.0 / N as f64);
    let mut columns = [Octet([L::Scalar::ZERO; BLOCK]); BLOCK];
    let mut at = 0;
    while at < BLOCK {
        let mut low = [L::constant(f64::INFINITY); 3];
        let mut high = [L::constant(f64::INFINITY); 3];
        let mut sum = [L::zero(); 3];
        for corner in 0..N {
            let n = L::from_rows(normals, &corners[corner], at);
            for axis in 0..3 {
                sum[axis] = sum[axis] + n[axis];
                low[axis] = (n[axis] - n[3]).min(low[axis]);
                high[axis] = (-n[axis] - n[3]).min(high[axis]);
            }
        }
        for axis in 0..3 {
            low[axis].store(&mut columns[axis], at);
            high[axis].store(&mut columns[axis + 3], at);
            (sum[axis] * share).store(&mut bend.mean[axis], at);
        }
        at += L::WIDTH;
    }
    bend.bound = L::least(&columns);
    bend
}

/// Nodes of two trees whose primitives share vertices, and how far the normals of each node differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patches<'a, S> {
    /// By node of each tree.
    pub bends: [&'a [Bend<S>]; 2],
    pub sharing: &'a Sharing,
}

impl<S: Real> Patches<'_, S> {
    /// Whether the normals of two nodes, by their places among all, are about the same.
    #[inline(always)]
    pub fn flat(&self, places: [usize; 2]) -> bool {
        flat(&self.bends[0][places[0]].bound, &self.bends[1][places[1]].bound)
    }

    /// Whether two nodes of one level share a vertex.
    #[inline(always)]
    pub fn share(&self, level: usize, nodes: [usize; 2]) -> bool {
        self.sharing.of(level, nodes[0]).contains(&(nodes[1] as u32))
    }

    /// The lanes of `b` that face the way lane `i` of `a` does, one bit each, for nodes of the lowest level. Within two nodes
    /// that share a vertex they lie side by side: layers of a fold face each other, or away.
    #[inline(always)]
    pub fn agree<L: Lane<Scalar = S>>(&self, a: usize, i: usize, b: usize) -> u32 {
        let (mine, theirs) = (&self.bends[0][a].mean, &self.bends[1][b].mean);
        let mut bits = 0;
        let mut at = 0;
        while at < BLOCK {
            let mut dot = L::zero();
            for axis in 0..3 {
                dot = dot + L::splat(mine[axis].0[i]) * L::load(&theirs[axis], at);
            }
            bits |= L::bits(dot.gt(L::constant(AGREE))) << at;
            at += L::WIDTH;
        }
        bits
    }
}

#[inline(always)]
fn flat<S: Real>(a: &Octet<S>, b: &Octet<S>) -> bool {
    let mut spread = S::ZERO;
    for k in 0..3 {
        let width = Lane::min(a.0[k], b.0[k]) + Lane::min(a.0[k + 3], b.0[k + 3]);
        spread = spread + width * width;
    }
    spread < S::from_f64(FLAT)
}

/// By level and node of one tree: the nodes of another's that share a vertex with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing(Vec<Lists>);

#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Sharing {
    /// For the leaves of two trees over `vertex_count` vertices.
    pub fn new<S>(a: &[Leaf<S>], b: &[Leaf<S>], vertex_count: usize) -> Self {
        let mut of_vertex = vec![Vec::new(); vertex_count];
        for (leaf, node) in b.iter().zip(0_u32..) {
            for &v in leaf.corners().iter().flatten() {
                of_vertex[v as usize].push(node);
            }
        }
        let mut lists = Lists { starts: vec![0], nodes: Vec::new() };
        for leaf in a {
            lists.append(leaf.corners().iter().flatten().flat_map(|&v| &of_vertex[v as usize]).copied());
        }
        // Nodes share what their children share.
        let mut levels = vec![lists];
        while let Some(below) = levels.last().filter(|below| below.starts.len() > 2) {
            let mut lists = Lists { starts: vec![0], nodes: Vec::new() };
            for first in (0..below.starts.len() - 1).step_by(BLOCK) {
                let last = (first + BLOCK).min(below.starts.len() - 1);
                let children = &below.nodes[below.starts[first] as usize..below.starts[last] as usize];
                lists.append(children.iter().map(|child| child / BLOCK as u32));
            }
            levels.push(lists);
        }
        Self(levels)
    }

    /// Nothing is known of levels beyond the lower tree.
    #[inline(always)]
    fn of(&self, level: usize, node: usize) -> &[u32] {
        let Some(lists) = self.0.get(level) else { return &[] };
        &lists.nodes[lists.starts[node] as usize..lists.starts[node + 1] as usize]
    }
}

impl Lists {
    /// Appends a list, each number once.
    fn append(&mut self, list: impl Iterator<Item = u32>) {
        let mut list: Vec<u32> = list.collect();
        list.sort_unstable();
        list.dedup();
        self.nodes.extend_from_slice(&list);
        self.starts.push(self.nodes.len() as u32);
    }
}
