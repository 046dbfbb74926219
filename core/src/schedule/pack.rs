//! Packing: from a serial order of constraints to blocks of eight that touch disjoint particles.
//!
//! Gauss–Seidel converges as well as its order is good, and the best orders are serial: kind by kind, from the pins outward.
//! Classic graph colouring destroys such an order. Packing keeps it. Constraints come in *ranks* (a kind and a band of
//! distance from the pins); a constraint goes into the first block with a free lane that comes after every block holding a
//! constraint of a *lower* rank on one of its particles. Inside a rank any block will do that none of its particles is in:
//! a rank is coloured, the order of ranks is kept.

use crate::lane::BLOCK;

/// Blocks between two constraints on the same particle, at least.
///
/// A block's result takes about 65 cycles from load to store (√ and ÷ dominate), and the next block can start before that
/// unless it waits for a particle. Measured at N = 32 and 100, one thread: 1 → 2.8 ns a constraint, 2 → 2.4, 4 → 2.4;
/// 8 and more leave lanes empty on small meshes.
const SPACING: usize = 2;

/// A lane that no constraint uses.
pub(super) const IDLE: u32 = u32::MAX;

/// Where a slot has been used so far in the current task.
#[derive(Clone, Copy, Default)]
struct Use {
    /// One more than the last block of a lower rank.
    settled: u32,
    /// One more than the last block of any rank.
    last: u32,
    /// Rank, task: whether the fields above are still current.
    rank: u32,
    task: u32,
}

/// Scratch of the packer, reused from task to task.
pub(super) struct Packer {
    uses: Vec<Use>,
    /// By block: the next block with a free lane (path-compressed).
    next_free: Vec<u32>,
    /// By block: lanes in use.
    filled: Vec<u8>,
    blocks: Vec<[u32; BLOCK]>,
    task: u32,
}

impl Packer {
    pub fn new(slot_count: usize) -> Self {
        let uses = vec![Use::default(); slot_count];
        Self { uses, next_free: Vec::new(), filled: Vec::new(), blocks: Vec::new(), task: 0 }
    }

    fn grow(&mut self, block: usize) {
        while self.blocks.len() <= block {
            self.next_free.push(self.blocks.len() as u32);
            self.filled.push(0);
            self.blocks.push([IDLE; BLOCK]);
        }
    }

    /// The first block with a free lane, `from` or later.
    fn first_free(&mut self, from: usize) -> usize {
        self.grow(from);
        let mut root = from;
        while self.next_free[root] as usize != root {
            root = self.next_free[root] as usize;
            self.grow(root);
        }
        let mut walk = from;
        while walk != root {
            walk = core::mem::replace(&mut self.next_free[walk], root as u32) as usize;
        }
        root
    }

    /// Whether a block is far enough from every block of this rank that touches one of the slots.
    fn is_apart<const N: usize>(&self, block: usize, slots: &[u32; N], slots_of: &impl Fn(u32) -> [u32; N]) -> bool {
        let near = block.saturating_sub(SPACING - 1)..(block + SPACING).min(self.blocks.len());
        near.flat_map(|b| &self.blocks[b][..self.filled[b] as usize])
            .all(|&c| slots_of(c).iter().all(|s| !slots.contains(s)))
    }

    /// Packs one task's constraints, given in serial order with their ranks, and appends its blocks.
    pub fn pack<const N: usize>(
        &mut self,
        serial: &[(u32, u32)],
        slots_of: impl Fn(u32) -> [u32; N],
        blocks: &mut Vec<[u32; BLOCK]>,
    ) {
        self.next_free.clear();
        self.filled.clear();
        self.blocks.clear();
        self.task += 1;
        for &(rank, c) in serial {
            let slots = slots_of(c);
            let mut earliest = 0;
            for &s in &slots {
                let slot = &mut self.uses[s as usize];
                if slot.task != self.task {
                    *slot = Use { rank, task: self.task, ..Use::default() };
                } else if slot.rank != rank {
                    (slot.settled, slot.rank) = (slot.last, rank);
                }
                if slot.settled > 0 {
                    earliest = earliest.max(slot.settled as usize + SPACING - 1);
                }
            }
            let mut block = self.first_free(earliest);
            while !self.is_apart(block, &slots, &slots_of) {
                block = self.first_free(block + 1);
            }
            self.blocks[block][self.filled[block] as usize] = c;
            self.filled[block] += 1;
            if self.filled[block] as usize == BLOCK {
                self.next_free[block] = block as u32 + 1;
            }
            for &s in &slots {
                let slot = &mut self.uses[s as usize];
                slot.last = slot.last.max(block as u32 + 1);
            }
        }
        blocks.extend(self.blocks.iter().filter(|block| block[0] != IDLE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_blocks_keep_the_order_of_ranks() {
        // A 48 × 48 grid's horizontal and vertical links, kind by kind.
        let n = 48_u32;
        let mut pairs = Vec::new();
        for j in 0..n {
            for i in 0..n - 1 {
                pairs.push([j * n + i, j * n + i + 1]);
            }
        }
        for j in 0..n - 1 {
            for i in 0..n {
                pairs.push([j * n + i, (j + 1) * n + i]);
            }
        }
        // Bands of four rows; the horizontal links are of a lower rank than the vertical ones.
        let rank = |c: u32| pairs[c as usize][0] / (4 * n) + if c < n * (n - 1) { 0 } else { n };
        let serial: Vec<(u32, u32)> = (0..pairs.len() as u32).map(|c| (rank(c), c)).collect();
        let mut blocks = Vec::new();
        Packer::new(48 * 48).pack(&serial, |c| pairs[c as usize], &mut blocks);

        let mut last = vec![0; 48 * 48];
        let mut seen = 0;
        for block in &blocks {
            let mut here = Vec::new();
            for &c in block.iter().filter(|&&c| c != IDLE) {
                seen += 1;
                for p in pairs[c as usize] {
                    assert!(!here.contains(&p), "two lanes of a block share particle {p}");
                    here.push(p);
                    assert!(last[p as usize] <= rank(c), "constraint {c} ran after a higher rank on particle {p}");
                    last[p as usize] = rank(c);
                }
            }
        }
        assert_eq!(seen, pairs.len());
        assert!(
            blocks.len() * BLOCK < pairs.len() * 11 / 10,
            "{} blocks for {} constraints",
            blocks.len(),
            pairs.len()
        );
    }
}
