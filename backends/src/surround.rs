//! Sums over the neighbours of every particle, eight particles side by side.

use core::ops::Range;

use pliant_core::backend::Around;
use pliant_core::field::Layout;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::schedule::{Neighbours, SCATTERED};
use pliant_core::vec3::Vec3;

use crate::access::{Access, ColumnsContiguous, ColumnsIndexed, RowsIndexed, View, constants};
use crate::memory::{Kernel, MemoryLane};

/// A task of [`pliant_core::backend::Backend::surround`].
pub(crate) struct Surround<'a, S: Real, K, const P: usize> {
    pub kernel: &'a K,
    pub neighbours: &'a Neighbours,
    pub parameters: &'a [[Octet<S>; P]],
    pub x: View<S>,
    pub to: View<S>,
    /// Blocks of eight slots.
    pub blocks: Range<usize>,
}

impl<S: Real, K: Around<P, Scalar = S>, const P: usize> Kernel<S> for Surround<'_, S, K, P> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        let (offsets, vectors) = (self.neighbours.offsets(), self.neighbours.vectors());
        for block in self.blocks {
            let mut at = 0;
            while at < BLOCK {
                // SAFETY: the neighbours fit both fields; nobody writes x, and the block's slots of `to` belong to this task.
                unsafe {
                    let slot = block * BLOCK + at;
                    let (own, _) = self.x.load::<L>(slot);
                    let (mut sum, weight) = self.to.load::<L>(slot);
                    for item in self.neighbours.of(block) {
                        let (other, _): (Vec3<L>, L) = match self.x.layout {
                            Layout::Rows => RowsIndexed(offsets).load(self.x, item, 0, at),
                            Layout::Columns if vectors[item][0] != SCATTERED => {
                                ColumnsContiguous(vectors).load(self.x, item, 0, at)
                            }
                            Layout::Columns => ColumnsIndexed(offsets).load(self.x, item, 0, at),
                        };
                        let p = constants::<L, P>(self.parameters, item, at);
                        sum = sum + self.kernel.pull(&p, own - other);
                    }
                    self.to.store(slot, sum, weight);
                }
                at += L::WIDTH;
            }
        }
    }
}
