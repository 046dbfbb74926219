//! The memory of pairs that touch: on which side of each other they are.

use pliant_core::lane::Real;

use super::push::Block;

/// The sides of pairs, by their corners.
#[derive(Clone, Debug)]
pub(super) struct Sides<S> {
    entries: Vec<Entry<S>>,
    /// Open addressing: the entry at each place, plus one.
    table: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<S> {
    corners: [u32; 4],
    normal: [S; 3],
}

impl<S: Real> Sides<S> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), table: Vec::new() }
    }

    /// Remembers the pairs of these blocks that are close, and forgets all others.
    pub fn remember(&mut self, blocks: &[Block<S>]) {
        self.clear();
        blocks.iter().for_each(|block| self.add(block, block.close));
        self.index();
    }

    /// Forgets all pairs.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Remembers these lanes of a block, once they are indexed.
    pub fn add(&mut self, block: &Block<S>, mut lanes: u32) {
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let normal = [block.normal[0].0[lane], block.normal[1].0[lane], block.normal[2].0[lane]];
            self.entries.push(Entry { corners: block.at.map(|at| at[lane]), normal });
        }
    }

    /// Makes what was added known.
    pub fn index(&mut self) {
        let size = (2 * self.entries.len()).next_power_of_two().max(self.table.len());
        self.table.clear();
        self.table.resize(size, 0);
        for (entry, place) in self.entries.iter().zip(1..) {
            let mut at = hash(&entry.corners) & (size - 1);
            while self.table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = place;
        }
    }

    /// The side a pair had, if it was close.
    pub fn of(&self, corners: &[u32; 4]) -> Option<[S; 3]> {
        if self.entries.is_empty() {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut at = hash(corners) & mask;
        // At least half of the places are free.
        while let Some(place) = (self.table[at] as usize).checked_sub(1) {
            let entry = &self.entries[place];
            if entry.corners == *corners {
                return Some(entry.normal);
            }
            at = (at + 1) & mask;
        }
        None
    }
}

/// Mixes four numbers.
fn hash(corners: &[u32; 4]) -> usize {
    let mut mixed = 0_u64;
    for &corner in corners {
        mixed = (mixed ^ u64::from(corner)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    (mixed ^ mixed >> 32) as usize
}

#[cfg(test)]
mod tests {
    use pliant_core::collide::distance::Pair;
    use pliant_core::lane::{BLOCK, Octet};

    use super::*;

    #[test]
    fn pairs_that_were_close_are_remembered_and_others_forgotten() {
        let mut sides = Sides::<f32>::new();
        assert_eq!(sides.of(&[0; 4]), None);
        let blocks: Vec<_> = (0..500_u32)
            .map(|k| {
                let mut block = Block::empty(Pair::EdgeEdge, 0);
                for corner in 0..4 {
                    block.at[corner] = core::array::from_fn(|lane| 32 * k + 8 * corner as u32 + lane as u32);
                }
                block.normal = [Octet([k as f32; BLOCK]); 3];
                block.close = 0b0101_0101;
                block
            })
            .collect();
        for part in [&blocks[..], &blocks[..3]] {
            sides.remember(part);
            for (k, block) in blocks.iter().enumerate() {
                for lane in 0..BLOCK {
                    let known = (k < part.len() && lane % 2 == 0).then_some([k as f32; 3]);
                    assert_eq!(sides.of(&block.at.map(|at| at[lane])), known);
                }
            }
        }
    }
}
