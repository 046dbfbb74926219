//! Which leaves of one tree share vertices, found once after the tree was built: queries then need not compare vertices.

use super::leaves::Leaf;
use crate::lane::{BLOCK, Lane, Octet, Real};

/// Nodes of the lowest level that share vertices with one of them, and which of their leaves do.
///
/// The earlier node of two knows of the other, as long as it has room; then the later one of the earlier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kin<S> {
    /// Their places, as numbers for lanes; NaN where there is none.
    nodes: Octet<S>,
    /// For each of them the pairs of leaves without a common vertex: bit 8i + j for leaf i of the earlier node and j of the
    /// later. All pairs for the place behind the last, which stands for every other node.
    apart: [u64; BLOCK + 1],
    count: u8,
    /// Whether some later nodes had to be told instead.
    pub more: bool,
    /// Whether some of them had no room either.
    pub lost: bool,
}

impl<S: Real> Kin<S> {
    /// Pairs of leaves without a common vertex in this node and another, as far as this one knows.
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

    /// Notes pairs of leaves that share a vertex; tells whether there was room.
    fn note(&mut self, node: u32, sharing: u64) -> bool {
        let number = S::from_f64(f64::from(node));
        let count = usize::from(self.count);
        let place = (0..count).find(|&k| self.nodes.0[k] == number).unwrap_or(count);
        if place == BLOCK {
            return false;
        }
        if place == count {
            self.nodes.0[place] = number;
            self.count += 1;
        }
        self.apart[place] &= !sharing;
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
    let alone = Kin { nodes, apart: [u64::MAX; BLOCK + 1], count: 0, more: false, lost: false };
    let mut all = vec![alone; leaves.len()];
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
        for mine in &groups[first..] {
            let mut theirs = mine;
            loop {
                // Eight copies of their byte, of which those remain that ours has a bit for.
                let sharing = SPREAD[mine.leaves as usize] * u64::from(theirs.leaves);
                if !all[node].note(theirs.node, sharing) {
                    all[node].more = true;
                    all[node].lost |= !all[theirs.node as usize].note(node as u32, sharing);
                }
                if theirs.next == 0 || all[node].lost {
                    break;
                }
                theirs = &groups[theirs.next as usize - 1];
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::leaves::{Elements, Leaves, may_meet};

    /// What queries do: ask the earlier node, then the later one, then compare vertices.
    fn apart(all: &[Kin<f32>], a: usize, b: usize) -> Option<u64> {
        let (mine, theirs) = (all[a].apart::<f32>(b as u32), all[b].apart::<f32>(a as u32));
        match (all[a].more, all[a].lost) {
            (_, true) => None,
            (true, false) => Some(mine & theirs),
            (false, false) => Some(mine),
        }
    }

    fn check(triangles: &[[u32; 3]], vertex_count: usize) -> usize {
        let order: Vec<u32> = (0..triangles.len() as u32).collect();
        let mut leaves: Vec<Leaf<f32>> = Vec::new();
        Leaves { elements: Elements::Triangles(triangles), groups: None }.collect(&order, &mut leaves);
        let all = find(&leaves, vertex_count);
        for a in 0..leaves.len() {
            for b in a..leaves.len() {
                let mut expected = 0;
                for i in 0..BLOCK {
                    expected |= u64::from(may_meet(&leaves[a], i, &leaves[b])) << (BLOCK * i);
                }
                if let Some(found) = apart(&all, a, b) {
                    assert_eq!(found, expected, "nodes {a} and {b}");
                }
            }
        }
        all.iter().filter(|kin| kin.lost).count()
    }

    #[test]
    fn nodes_know_exactly_who_shares_their_vertices() {
        // A strip; a wide grid, row by row, whose nodes have many neighbours; a fan around one vertex, which nobody can list.
        let strip: Vec<_> = (0..96).map(|k| [k, k + 1, k + 2]).collect();
        assert_eq!(check(&strip, 98), 0);
        let grid: Vec<_> = (0..400).map(|k| k / 20 * 21 + k % 20).map(|v| [v, v + 1, v + 21]).collect();
        assert_eq!(check(&grid, 441), 0);
        let fan: Vec<_> = (0..400).map(|k| [400, k, (k + 1) % 400]).collect();
        assert!(check(&fan, 401) > 0);
    }
}
