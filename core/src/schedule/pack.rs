//! Packing: from a serial order of constraints to blocks of eight that touch disjoint particles.
//!
//! Gauss–Seidel converges as well as its order is good, and the best orders are serial: from the pins outward, row by row.
//! Classic graph colouring destroys such an order. Packing keeps it: a constraint goes into the first block with a free lane
//! that comes after every block holding an *earlier* constraint on one of its particles. Blocks run in order, so each
//! constraint sees exactly what it would have seen in the serial order: the result is the serial one, to the bit, at eight
//! lanes a block.

use crate::lane::BLOCK;

/// Blocks between two constraints on the same particle, at least.
///
/// A block's result takes about 75 cycles from load to store (√ and ÷ dominate) but a new block can start every 40: with
/// independent blocks in between, the processor overlaps them. Measured at N = 100, one thread: 1 → 2.3 ns a constraint,
/// 2 → 1.7, 4 → 1.5, 8 → 1.5.
const SPACING: usize = 2;

/// A lane that no constraint uses.
pub(super) const IDLE: u32 = u32::MAX;

/// Scratch of the packer, reused from task to task.
pub(super) struct Packer {
    /// By slot: one more than the last block that touches it, counted over all tasks.
    touched: Vec<usize>,
    /// By block of this task: the next block with a free lane (path-compressed).
    next_free: Vec<usize>,
    /// By block of this task: lanes in use.
    used: Vec<u8>,
    finished: usize,
}

impl Packer {
    pub fn new(slot_count: usize) -> Self {
        Self { touched: vec![0; slot_count], next_free: Vec::new(), used: Vec::new(), finished: 0 }
    }

    fn first_free(&mut self, from: usize) -> usize {
        let mut root = from;
        loop {
            if root >= self.used.len() {
                for b in self.used.len()..=root {
                    self.next_free.push(b);
                    self.used.push(0);
                }
            }
            if self.next_free[root] == root {
                break;
            }
            root = self.next_free[root];
        }
        let mut walk = from;
        while self.next_free[walk] != root {
            walk = core::mem::replace(&mut self.next_free[walk], root);
        }
        root
    }

    /// Packs one task's constraints, given in serial order, and appends its blocks: eight constraint indices each.
    pub fn pack<const N: usize>(
        &mut self,
        serial: &[u32],
        slots_of: impl Fn(u32) -> [u32; N],
        blocks: &mut Vec<[u32; BLOCK]>,
    ) {
        self.next_free.clear();
        self.used.clear();
        let mut packed: Vec<[u32; BLOCK]> = Vec::with_capacity(serial.len() / BLOCK + 1);
        for &c in serial {
            let slots = slots_of(c);
            let mut earliest = 0;
            for &s in &slots {
                let after = self.touched[s as usize];
                if after > self.finished {
                    earliest = earliest.max(after - self.finished + SPACING - 1);
                }
            }
            let block = self.first_free(earliest);
            if packed.len() <= block {
                packed.resize(block + 1, [IDLE; BLOCK]);
            }
            packed[block][self.used[block] as usize] = c;
            self.used[block] += 1;
            if self.used[block] as usize == BLOCK {
                self.next_free[block] = block + 1;
            }
            for &s in &slots {
                self.touched[s as usize] = self.finished + block + 1;
            }
        }
        self.finished += packed.len();
        blocks.extend(packed.into_iter().filter(|block| block[0] != IDLE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_blocks_keep_the_serial_order_of_conflicts() {
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
        let serial: Vec<u32> = (0..pairs.len() as u32).collect();
        let mut blocks = Vec::new();
        Packer::new(48 * 48).pack(&serial, |c| pairs[c as usize], &mut blocks);

        let mut last = vec![None::<u32>; 48 * 48];
        let mut seen = 0;
        for block in &blocks {
            let mut here = Vec::new();
            for &c in block.iter().filter(|&&c| c != IDLE) {
                seen += 1;
                for p in pairs[c as usize] {
                    assert!(!here.contains(&p), "two lanes of a block share particle {p}");
                    here.push(p);
                    assert!(last[p as usize] < Some(c), "constraint {c} ran before an earlier one on particle {p}");
                    last[p as usize] = Some(c);
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
