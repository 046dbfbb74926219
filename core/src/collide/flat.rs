//! Which parts of a surface are so flat that they cannot touch themselves.
//!
//! Neighbours in a sheet are always near, and nearly all of them lie side by side: looking at each such pair would cost more
//! than everything else. Where the normals of a connected patch all point about one way, the patch is a graph over the plane
//! across it, and its parts come no closer than they lie in that plane [Volino94]. Two nodes of a tree that share a vertex are
//! such a patch, if neither holds parts that nothing joins.

use super::bvh::REFIT_NODES;
use super::by_vertex::ByVertex;
use super::leaves::Leaf;
use super::stir::either;
use crate::backend::Task;
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::vec3::Vec3;

/// The diagonal of the box around the normals of a flat patch, squared, is less than this. Normals within √3/2 of the middle
/// of the box are within 60° of one direction: in the plane across it, lengths along the surface shrink to no less than half.
const FLAT: f64 = 3.0;
/// Primitives face one way when the product of their normals is above this: 90°.
const AGREE: f64 = 0.0;
/// Less than any number of a normal: what has no normal, or several surfaces in it, is never flat.
const NONE: f64 = -4.0;

/// Which way the surface faces in a node of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bend<S> {
    /// The least box `[low 0 −high 0]` around the normals.
    pub bound: Octet<S>,
    /// The normals of eight primitives, of any length, on the lowest level only.
    normals: [Octet<S>; 3],
}

impl<S: Real> Bend<S> {
    /// Of something that is not flat.
    pub fn new() -> Self {
        Self { bound: Octet([S::from_f64(NONE); BLOCK]), normals: [Octet([S::ZERO; BLOCK]); 3] }
    }
}

/// Finds out which way plates face, eight at a time, in nodes of the lowest level.
pub(super) struct Face<'a, S> {
    /// Two rows a vertex; the first of them counts.
    pub way: &'a [Octet<S>],
    pub leaves: &'a [Leaf<S>],
    /// By node: whether it holds parts that nothing joins.
    pub mixed: &'a [bool],
}

impl<S: Real> Task<Bend<S>> for Face<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Bend<S>]) {
        for (k, own) in own.iter_mut().enumerate() {
            let node = index * REFIT_NODES + k;
            *own = if self.mixed[node] { Bend::new() } else { bend::<L, S>(self.way, self.leaves[node].corners()) };
        }
    }
}

#[inline(always)]
fn bend<L: Lane<Scalar = S>, S: Real>(way: &[Octet<S>], corners: &[[u32; BLOCK]; 4]) -> Bend<S> {
    let mut bend = Bend::new();
    let mut columns = [Octet([S::ZERO; BLOCK]); BLOCK];
    let mut at = 0;
    while at < BLOCK {
        let mut x = [Vec3::zero(); 4];
        for corner in 0..4 {
            let mut rows = [0; BLOCK];
            for lane in 0..BLOCK {
                rows[lane] = 2 * corners[corner][lane];
            }
            let [a, b, c, _] = L::from_rows(way, &rows, at);
            x[corner] = Vec3::new(a, b, c);
        }
        // Both triangles of a plate, and the plate as a whole: the product of its diagonals is the sum of theirs.
        let diagonal = x[2] - x[0];
        let (first, second) = ((x[1] - x[0]).cross(diagonal), diagonal.cross(x[3] - x[0]));
        let lengths = [first.length(), second.length()];
        let some = lengths[0].gt(L::zero());
        let first = first * lengths[0].divide_or_zero(L::one());
        // A lone triangle has no second one.
        let second = Vec3::select(lengths[1].gt(L::zero()), second * lengths[1].divide_or_zero(L::one()), first);
        let whole = diagonal.cross(x[3] - x[1]);
        let (first, second, whole) =
            ([first.x, first.y, first.z], [second.x, second.y, second.z], [whole.x, whole.y, whole.z]);
        for axis in 0..3 {
            whole[axis].store(&mut bend.normals[axis], at);
            let (low, high) = (first[axis].min(second[axis]), first[axis].max(second[axis]));
            L::select(some, low, L::constant(NONE)).store(&mut columns[axis], at);
            L::select(some, -high, L::constant(NONE)).store(&mut columns[axis + 4], at);
        }
        at += L::WIDTH;
    }
    bend.bound = L::least(&columns);
    bend
}

/// The bends of the nodes above the lowest level, which are few: those of their children together.
pub(super) fn face_above<S: Real>(lowest: &[Bend<S>], above: &mut [Bend<S>], levels: &[usize], mixed: &[bool]) {
    let (mut below, mut above) = (lowest, above);
    for level in levels.windows(2).skip(1) {
        let (own, rest) = above.split_at_mut(level[1] - level[0]);
        for ((own, children), &mixed) in own.iter_mut().zip(below.chunks(BLOCK)).zip(&mixed[level[0]..]) {
            *own = Bend::new();
            if !mixed {
                own.bound = children[0].bound;
                for child in children {
                    for k in 0..BLOCK {
                        own.bound.0[k] = Lane::min(own.bound.0[k], child.bound.0[k]);
                    }
                }
            }
        }
        (below, above) = (own, rest);
    }
}

/// Nodes of two trees whose primitives share vertices, and how far the normals of each node differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patches<'a, S> {
    /// By node of each tree.
    pub bends: [&'a [Bend<S>]; 2],
    pub sharing: &'a Sharing,
    /// By node: which of its children lead to leaves that have changed; none where all may have.
    pub stirred: Option<&'a [u8]>,
}

impl<S: Real> Patches<'_, S> {
    /// Whether the normals of two nodes, by their places among all, are about the same.
    #[inline(always)]
    pub fn flat(&self, places: [usize; 2]) -> bool {
        flat(&self.bends[0][places[0]].bound, &self.bends[1][places[1]].bound)
    }

    /// Which pairs of children of two nodes may have changed.
    #[inline(always)]
    pub fn stirred(&self, places: [usize; 2]) -> u64 {
        match self.stirred {
            Some(masks) => either(masks[places[0]], masks[places[1]]),
            None => u64::MAX,
        }
    }

    /// Whether two nodes of one level share a vertex.
    #[inline(always)]
    pub fn share(&self, level: usize, nodes: [usize; 2]) -> bool {
        self.sharing.of(level, nodes[0], nodes[1] as u32)
    }

    /// Which leaves of two nodes of the lowest level face one way: bit 8i + j for leaf i of `a` and j of `b`. Within two nodes
    /// that share a vertex they lie side by side: layers of a fold face each other, or away.
    #[inline(always)]
    pub fn agree<L: Lane<Scalar = S>>(&self, a: usize, b: usize) -> u64 {
        let (mine, theirs) = (&self.bends[0][a].normals, &self.bends[1][b].normals);
        let mut bits = 0;
        let mut at = 0;
        while at < BLOCK {
            let run = [L::load(&theirs[0], at), L::load(&theirs[1], at), L::load(&theirs[2], at)];
            for i in 0..BLOCK {
                let mut dot = L::zero();
                for axis in 0..3 {
                    dot = dot + L::splat(mine[axis].0[i]) * run[axis];
                }
                bits |= u64::from(L::bits(dot.gt(L::constant(AGREE)))) << (BLOCK * i + at);
            }
            at += L::WIDTH;
        }
        bits
    }
}

#[inline(always)]
fn flat<S: Real>(a: &Octet<S>, b: &Octet<S>) -> bool {
    // Four at a time; the last is not looked at.
    let mut width = [S::ZERO; 4];
    for k in 0..4 {
        width[k] = Lane::min(a.0[k], b.0[k]) + Lane::min(a.0[k + 4], b.0[k + 4]);
    }
    let [x, y, z, _] = width;
    let spread = x * x + y * y + z * z;
    spread < S::from_f64(FLAT)
}

/// By level and node of one tree: the nodes of another's that share a vertex with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing(Vec<Lists>);

#[derive(Clone, Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    nodes: Vec<u32>,
    /// By list: bit k for numbers that leave k when divided by 64, so that most others need not be looked for.
    marks: Vec<u64>,
}

impl Sharing {
    /// For the leaves of two trees over `vertex_count` vertices.
    pub fn new<S>(a: &[Leaf<S>], b: &[Leaf<S>], vertex_count: usize) -> Self {
        let corners = |(leaf, node)| Leaf::corners(leaf).iter().flatten().map(move |&v| (v, node));
        let of_vertex = ByVertex::new(vertex_count, b.iter().zip(0_u32..).flat_map(corners));
        let mut scratch = Vec::new();
        let mut lists = Lists { starts: vec![0], ..Lists::default() };
        for leaf in a {
            lists.append(leaf.corners().iter().flatten().flat_map(|&v| of_vertex.of(v)).copied(), &mut scratch);
        }
        // Nodes share what their children share.
        let mut levels = vec![lists];
        while let Some(below) = levels.last().filter(|below| below.starts.len() > 2) {
            let mut lists = Lists { starts: vec![0], ..Lists::default() };
            for first in (0..below.starts.len() - 1).step_by(BLOCK) {
                let last = (first + BLOCK).min(below.starts.len() - 1);
                let children = &below.nodes[below.starts[first] as usize..below.starts[last] as usize];
                lists.append(children.iter().map(|child| child / BLOCK as u32), &mut scratch);
            }
            levels.push(lists);
        }
        Self(levels)
    }

    /// Whether two nodes of a level share a vertex; nothing is known of levels beyond the lower tree.
    #[inline(always)]
    fn of(&self, level: usize, node: usize, other: u32) -> bool {
        let Some(lists) = self.0.get(level) else { return false };
        lists.marks[node] >> (other % 64) & 1 != 0
            && lists.nodes[lists.starts[node] as usize..lists.starts[node + 1] as usize].contains(&other)
    }
}

impl Lists {
    /// Appends a list, each number once.
    fn append(&mut self, numbers: impl Iterator<Item = u32>, list: &mut Vec<u32>) {
        list.clear();
        list.extend(numbers);
        list.sort_unstable();
        list.dedup();
        self.nodes.extend_from_slice(list);
        self.starts.push(self.nodes.len() as u32);
        self.marks.push(list.iter().fold(0, |marks, node| marks | 1 << (node % 64)));
    }
}
