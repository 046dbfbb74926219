//! Which leaves of one tree share vertices, found once after the tree was built: queries then need not compare vertices.

use super::leaves::Leaf;
use crate::lane::{BLOCK, Lane, Octet, Real};

/// The nodes of the lowest level, from this one on, that share vertices with it, and which of their leaves do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kin<S> {
    /// Their places, as numbers for lanes; NaN where there is none.
    nodes: Octet<S>,
    /// For each of them the pairs of leaves without a common vertex: bit 8i + j for leaf i here and j there. All pairs for
    /// the place behind the last, which stands for every other node.
    apart: [u64; BLOCK + 1],
    /// Whether these are all: where many nodes meet in one vertex there may be more.
    pub complete: bool,
}

impl<S: Real> Kin<S> {
    /// Pairs of leaves without a common vertex in this node and a later one, or this one itself.
    #[inline(always)]
    pub fn apart<L: Lane<Scalar = S>>(&self, node: u32) -> u64 {
        let node = L::constant(f64::from(node));
        let mut bits = 1 << BLOCK;
        let mut at = 0;
        while at < BLOCK {
            let nodes = L::load(&self.nodes, at);
            bits |= L::bits(L::both(nodes.ge(node), node.ge(nodes))) << at;
            at += L::WIDTH;
        }
        self.apart[bits.trailing_zeros() as usize % (BLOCK + 1)]
    }

    /// Notes that leaves here (one bit each) share a vertex with leaves of another node; tells whether there was room.
    fn note(&mut self, count: &mut usize, mine: u8, node: u32, theirs: u8) -> bool {
        let number = S::from_f64(f64::from(node));
        let place = (0..*count).find(|&k| self.nodes.0[k] == number).unwrap_or(*count);
        if place == BLOCK {
            return false;
        }
        if place == *count {
            self.nodes.0[place] = number;
            *count += 1;
        }
        // Eight copies of `theirs`, of which those remain that `mine` has a bit for.
        self.apart[place] &= !(SPREAD[mine as usize] * u64::from(theirs));
        true
    }
}

/// Bit k of a byte, moved to bit 8k.
const SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < BLOCK {
            spread[byte] |= (byte as u64 >> bit & 1) << (BLOCK * bit);
            bit += 1;
        }
        byte += 1;
    }
    spread
};

/// Leaves of one node that share a vertex.
#[derive(Clone, Copy, Debug)]
struct Group {
    node: u32,
    leaves: u8,
    /// The group of the same vertex in a later node, plus one; 0 for none.
    next: u32,
}

/// The kin of all nodes of the lowest level, whose leaves have vertices below `vertex_count`.
pub(super) fn find<S: Real>(leaves: &[Leaf<S>], vertex_count: usize) -> Vec<Kin<S>> {
    let nodes = Octet([S::from_f64(f64::NAN); BLOCK]);
    let mut all = vec![Kin { nodes, apart: [u64::MAX; BLOCK + 1], complete: true }; leaves.len()];
    // By vertex: the group that was found last, plus one.
    let mut last = vec![0_u32; vertex_count];
    let mut groups: Vec<Group> = Vec::with_capacity(2 * BLOCK * leaves.len());
    for (node, leaf) in leaves.iter().enumerate().rev() {
        let first = groups.len();
        for corner in leaf.corners() {
            for (lane, &vertex) in corner.iter().enumerate() {
                let last = &mut last[vertex as usize];
                // Groups of this node come after all others.
                if *last as usize > first {
                    groups[*last as usize - 1].leaves |= 1 << lane;
                } else {
                    groups.push(Group { node: node as u32, leaves: 1 << lane, next: *last });
                    *last = groups.len() as u32;
                }
            }
        }
        let kin = &mut all[node];
        let mut count = 0;
        for mine in &groups[first..] {
            let mut theirs = mine;
            loop {
                kin.complete &= kin.note(&mut count, mine.leaves, theirs.node, theirs.leaves);
                if theirs.next == 0 || !kin.complete {
                    break;
                }
                theirs = &groups[theirs.next as usize - 1];
            }
        }
    }
    all
}
