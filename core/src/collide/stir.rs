//! Which leaves of a tree have changed, so that a query may skip pairs of which neither has.

use super::by_vertex::ByVertex;
use super::leaves::Leaf;
use crate::lane::BLOCK;

/// The leaves that hold certain vertices, and the nodes that lead to them: one bit a child.
#[derive(Clone, Debug, Default)]
pub(super) struct Stir {
    /// By node of the tree, lowest level first.
    masks: Vec<u8>,
    /// The leaves of each vertex.
    leaves: ByVertex,
    /// Leaves that were marked.
    marked: Vec<u32>,
}

impl Stir {
    /// For a tree with these leaves, the last `count` of which are no copies, over `vertex_count` vertices.
    pub fn new<S>(leaves: &[Leaf<S>], count: usize, node_count: usize, vertex_count: usize) -> Self {
        let node = |(node, leaf): (usize, &Leaf<S>)| {
            let corners = *leaf.corners();
            (0..BLOCK.min(count - node * BLOCK))
                .flat_map(move |lane| corners.map(move |corner| (corner[lane], (node * BLOCK + lane) as u32)))
        };
        let leaves = ByVertex::new(vertex_count, leaves.iter().enumerate().flat_map(node));
        Self { masks: vec![0; node_count], leaves, marked: Vec::new() }
    }

    /// Marks the leaves of these vertices, and no others. `levels` says where the levels of the tree begin.
    pub fn mark(&mut self, vertices: &[u32], levels: &[usize]) {
        for leaf in self.marked.drain(..) {
            climb(levels, leaf, |node, _| self.masks[node] = 0);
        }
        for &vertex in vertices {
            for &leaf in self.leaves.of(vertex) {
                if self.masks[leaf as usize / BLOCK] >> (leaf as usize % BLOCK) & 1 == 0 {
                    climb(levels, leaf, |node, bit| self.masks[node] |= bit);
                    self.marked.push(leaf);
                }
            }
        }
    }

    /// The leaves that hold a vertex.
    pub fn leaves_of(&self, vertex: u32) -> &[u32] {
        self.leaves.of(vertex)
    }

    /// By node: which of its children lead to marked leaves.
    pub fn masks(&self) -> &[u8] {
        &self.masks
    }
}

/// Visits the nodes above a leaf, with the bit of the child it is below.
fn climb(levels: &[usize], leaf: u32, mut visit: impl FnMut(usize, u8)) {
    let mut child = leaf as usize;
    for first in &levels[..levels.len().saturating_sub(1)] {
        visit(first + child / BLOCK, 1 << (child % BLOCK));
        child /= BLOCK;
    }
}

/// Pairs of children of which one at least is marked: bit 8i + j for child i of one node and j of another.
#[inline(always)]
pub(super) fn either(a: u8, b: u8) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // A copy of the mask in each byte, of which byte i keeps bit i; then the byte is full where that is set.
    let own = (u64::from(a) * EACH) & 0x8040_2010_0804_0201;
    let rows = (((own & !(EACH << 7)) + (EACH * 0x7f)) | own) >> 7 & EACH;
    (rows * 0xff) | (u64::from(b) * EACH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_marked_child_is_enough() {
        for a in 0..=u8::MAX {
            for b in [0, 1, 0x80, 0x5a, u8::MAX] {
                let mut expected = 0_u64;
                for i in 0..BLOCK {
                    for j in 0..BLOCK {
                        expected |= u64::from((a >> i | b >> j) & 1) << (BLOCK * i + j);
                    }
                }
                assert_eq!(either(a, b), expected, "{a:#x} {b:#x}");
            }
        }
    }
}
