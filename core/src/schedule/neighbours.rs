//! Neighbours: for every particle its partners in a set of pairs, eight particles side by side (sliced ELL).
//!
//! Each pair is computed twice, once from either end, and nothing is written but the particle's own sum: no records, no
//! second pass. Items that reach partners in whole vectors (lattices) are marked, so that columns need no gather.

use super::plan::Plan;
use crate::field::Layout;
use crate::lane::{BLOCK, Octet, Real};

/// No pair: an idle lane.
const IDLE: u32 = u32::MAX;
/// No vector: an item whose partners are picked one by one.
pub const SCATTERED: u32 = u32::MAX;

/// The partners of every slot, in blocks of eight slots.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// First item of every block of slots.
    starts: Vec<u32>,
    /// By item: the offsets of eight partners; an idle lane's is some slot of the field.
    offsets: Vec<[[u32; BLOCK]; 1]>,
    /// By item: the first of eight consecutive partners, or [`SCATTERED`].
    vectors: Vec<[u32; 1]>,
    /// By item: the pair of every lane, or [`IDLE`].
    pairs: Vec<[u32; BLOCK]>,
    slot_count: usize,
    layout: Layout,
}

/// An item while it is being filled.
struct Item {
    /// Partner minus own slot, for lattices.
    shift: i64,
    partners: [u32; BLOCK],
    pairs: [u32; BLOCK],
}

impl Neighbours {
    /// Finds the partners of every slot; pairs are listed in the order of `ids`.
    pub fn new(plan: &Plan, ids: &[[u32; 2]]) -> Self {
        let mut around = vec![Vec::new(); plan.slot_count()];
        for (pair, particles) in ids.iter().enumerate() {
            let [a, b] = particles.map(|p| plan.slots()[p as usize]);
            around[a as usize].push((b, pair as u32));
            around[b as usize].push((a, pair as u32));
        }
        let layout = plan.layout();
        let (mut starts, mut offsets, mut vectors, mut pairs) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        for first in (0..plan.slot_count()).step_by(BLOCK) {
            for item in items(&around[first..first + BLOCK], first, layout) {
                let start = first as i64 + item.shift;
                let inside = start >= 0 && start + BLOCK as i64 <= plan.slot_count() as i64;
                let whole = layout == Layout::Columns && inside && item.is_vector(first);
                vectors.push([if whole { start as u32 } else { SCATTERED }]);
                offsets.push([item.partners.map(|slot| slot * plan.stride())]);
                pairs.push(item.pairs);
            }
            starts.push(offsets.len() as u32);
        }
        Self { starts, offsets, vectors, pairs, slot_count: plan.slot_count(), layout }
    }

    /// Whether this fits a field of these dimensions.
    pub fn fits(&self, slot_count: usize, layout: Layout) -> bool {
        self.slot_count == slot_count && self.layout == layout
    }
    /// Slots covered.
    pub fn slot_count(&self) -> usize {
        self.slot_count
    }
    /// Items in all.
    pub fn item_count(&self) -> usize {
        self.offsets.len()
    }
    /// The items of a block of eight slots.
    #[inline]
    pub fn of(&self, block: usize) -> core::ops::Range<usize> {
        self.starts[block] as usize..self.starts[block + 1] as usize
    }
    /// The offsets of every item's partners; all inside a field that fits.
    #[inline]
    pub fn offsets(&self) -> &[[[u32; BLOCK]; 1]] {
        &self.offsets
    }
    /// The first of eight consecutive partners of every item, or [`SCATTERED`].
    #[inline]
    pub fn vectors(&self) -> &[[u32; 1]] {
        &self.vectors
    }

    /// Writes one number a pair into item order, at octet `column` of `width` an item; idle lanes keep theirs.
    pub fn scatter<S: Real>(&self, values: impl Fn(usize) -> S, to: &mut [Octet<S>], column: usize, width: usize) {
        for (item, pairs) in self.pairs.iter().enumerate() {
            for (lane, &pair) in pairs.iter().enumerate().filter(|(_, pair)| **pair != IDLE) {
                to[item * width + column].0[lane] = values(pair as usize);
            }
        }
    }
}

/// The items of eight slots. On a lattice lanes with the same shift go together; elsewhere the k-th partners do.
fn items(around: &[Vec<(u32, u32)>], first: usize, layout: Layout) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for (lane, partners) in around.iter().enumerate() {
        for &(partner, pair) in partners {
            let shift = i64::from(partner) - (first + lane) as i64;
            let fits = |item: &&mut Item| item.pairs[lane] == IDLE && (layout == Layout::Rows || item.shift == shift);
            let item = match items.iter_mut().find(fits) {
                Some(item) => item,
                None => {
                    let own = core::array::from_fn(|l| (first + l) as u32);
                    items.push(Item { shift, partners: own, pairs: [IDLE; BLOCK] });
                    let last = items.len() - 1;
                    &mut items[last]
                }
            };
            (item.partners[lane], item.pairs[lane]) = (partner, pair);
        }
    }
    items
}

impl Item {
    /// Whether all lanes that are not idle keep the shift.
    fn is_vector(&self, first: usize) -> bool {
        (0..BLOCK).all(|l| self.pairs[l] == IDLE || i64::from(self.partners[l]) - (first + l) as i64 == self.shift)
    }
}
