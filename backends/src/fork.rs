//! Independent tasks with a portion of memory each.

use core::marker::PhantomData;

use pliant_core::backend::{Cut, Task};
use pliant_core::lane::Real;

use crate::access::Shared;
use crate::memory::{Kernel, MemoryLane};

/// A slice cut into portions that no two tasks share.
pub(crate) struct Portions<'a, D> {
    base: Shared<D>,
    count: usize,
    cut: Cut<'a>,
    borrow: PhantomData<&'a ()>,
}

impl<'a, D: Send> Portions<'a, D> {
    /// Checks that the cut covers the slice, in order and without overlap.
    pub fn new(cut: Cut<'a>, data: &'a mut [D]) -> Self {
        match cut {
            Cut::Every(step) => assert!(step > 0, "a portion holds at least one item"),
            Cut::At(places) => {
                let whole = places.first() == Some(&0) && places.last() == Some(&data.len());
                assert!(whole && places.is_sorted(), "places rise from 0 to the number of items");
            }
        }
        Self { count: data.len(), base: Shared(data.as_mut_ptr()), cut, borrow: PhantomData }
    }

    /// How many portions there are.
    pub fn count(&self) -> usize {
        match self.cut {
            Cut::Every(step) => self.count.div_ceil(step),
            Cut::At(places) => places.len() - 1,
        }
    }

    /// One portion.
    ///
    /// # Safety
    /// Nobody else holds this portion.
    #[expect(clippy::mut_from_ref, reason = "portions are disjoint, and the caller takes each once")]
    unsafe fn take(&self, index: usize) -> &mut [D] {
        let range = match self.cut {
            Cut::Every(step) => index * step..self.count.min((index + 1) * step),
            Cut::At(places) => places[index]..places[index + 1],
        };
        // SAFETY: `new` checked that the range is inside the slice, which is borrowed for as long as `self` lives.
        unsafe { core::slice::from_raw_parts_mut(self.base.0.add(range.start), range.len()) }
    }
}

/// A task of [`pliant_core::backend::Backend::fork`].
pub(crate) struct RunTask<'a, S, T, D> {
    pub task: &'a T,
    pub portions: &'a Portions<'a, D>,
    pub index: usize,
    pub precision: PhantomData<S>,
}

impl<S: Real, T: Task<D, Scalar = S>, D: Send> Kernel<S> for RunTask<'_, S, T, D> {
    #[inline(always)]
    fn run<L: MemoryLane<Scalar = S>>(self) {
        // SAFETY: every index is run once, so this task alone holds its portion.
        let own = unsafe { self.portions.take(self.index) };
        self.task.run::<L>(self.index, own);
    }
}

#[cfg(test)]
mod tests {
    use pliant_core::backend::{Backend, Cut, Task};
    use pliant_core::lane::{BLOCK, Lane, Octet};

    struct Square;

    impl Task<Octet<f32>> for Square {
        type Scalar = f32;
        #[inline(always)]
        fn run<L: Lane<Scalar = f32>>(&self, index: usize, own: &mut [Octet<f32>]) {
            for octet in own {
                let mut at = 0;
                while at < BLOCK {
                    let x = L::load(octet, at) + L::constant(index as f64);
                    (x * x).store(octet, at);
                    at += L::WIDTH;
                }
            }
        }
    }

    fn squares(on: &impl Backend<Scalar = f32>, cut: Cut<'_>) -> Vec<Octet<f32>> {
        let mut data: Vec<_> = (0..100).map(|i| Octet([0.37 * i as f32; BLOCK])).collect();
        on.fork(&Square, cut, &mut data);
        data
    }

    #[test]
    fn every_item_is_handed_out_once_and_every_backend_gives_the_same_bits() {
        let places = [0, 1, 1, 40, 99, 100];
        for cut in [Cut::Every(7), Cut::Every(1000), Cut::At(&places)] {
            let expected = squares(&crate::Scalar::new(), cut);
            for (i, octet) in expected.iter().enumerate() {
                let task = match cut {
                    Cut::Every(step) => i / step,
                    Cut::At(places) => places.iter().rposition(|&p| p <= i).unwrap_or(0),
                };
                let x = 0.37 * i as f32 + task as f32;
                assert_eq!(octet.0, [x * x; BLOCK], "item {i}");
            }
            for name in crate::AnyBackend::<f32>::names() {
                let on = crate::AnyBackend::by_name(name, Some(3)).expect("a name of this build");
                assert_eq!(squares(&on, cut), expected, "{name}");
            }
        }
    }

    /// Rows in a shuffled order, doubled and put back in another, and the least numbers of each eight octets.
    struct Shuffle;

    impl Task<Vec<Octet<f32>>> for Shuffle {
        type Scalar = f32;
        #[inline(always)]
        fn run<L: Lane<Scalar = f32>>(&self, _: usize, own: &mut [Vec<Octet<f32>>]) {
            for data in own {
                let least = L::least(data.first_chunk().unwrap_or(&[Octet([0.0; BLOCK]); BLOCK]));
                let (from, to) = ([3, 15, 0, 8, 9, 1, 14, 6], [5, 2, 11, 7, 4, 13, 10, 12]);
                let mut at = 0;
                while at < BLOCK {
                    let [a, b, c, d] = L::from_rows(data, &from, at);
                    L::to_rows([b + b, a + a, d + d, c + c], data, &to, at);
                    at += L::WIDTH;
                }
                data.push(least);
            }
        }
    }

    #[test]
    fn rows_travel_alike_on_all_lanes() {
        let start: Vec<_> = (0..8_u16)
            .map(|i| Octet([0, 1, 2, 3, 4, 5, 6, 7].map(|k| f32::from(i * 37 % 256 + k * 91 % 256))))
            .collect();
        let mut expected = start.clone();
        let row = |r: usize| &start[r / 2].0[4 * (r % 2)..][..4];
        for (from, to) in [3, 15, 0, 8, 9, 1, 14, 6].into_iter().zip([5, 2, 11, 7, 4, 13, 10, 12_usize]) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| 2.0 * row(from)[k]);
            expected[to / 2].0[4 * (to % 2)..][..4].copy_from_slice(&[b, a, d, c]);
        }
        let least = |k: usize| start[k].0.into_iter().fold(f32::INFINITY, f32::min);
        expected.push(Octet([0, 1, 2, 3, 4, 5, 6, 7].map(least)));
        for name in crate::AnyBackend::<f32>::names() {
            let on = crate::AnyBackend::by_name(name, Some(3)).expect("a name of this build");
            let mut data = [start.clone()];
            on.fork(&Shuffle, Cut::Every(1), &mut data);
            assert_eq!(data[0], expected, "{name}");
        }
    }

    /// Pairs of ids for every set of bits, and how many, in either order.
    struct PairUp;

    impl Task<Vec<[u32; 2]>> for PairUp {
        type Scalar = f32;
        #[inline(always)]
        fn run<L: Lane<Scalar = f32>>(&self, _: usize, own: &mut [Vec<[u32; 2]>]) {
            // Ids above 2³¹ are no smaller than others.
            let others = [7, u32::MAX, 0, 41, 43, 1 << 31, 42, 5];
            for found in own {
                for bits in 0..=u8::MAX {
                    let mut room = [[0; 2]; BLOCK];
                    let count = L::pair_up::<true>(42, &others, bits, &mut room);
                    found.extend_from_slice(&room[..count]);
                    let count = L::pair_up::<false>(42, &others, bits, &mut room);
                    found.extend_from_slice(&room[..count]);
                    found.push([count as u32; 2]);
                }
            }
        }
    }

    #[test]
    fn ids_pair_up_alike_on_all_lanes() {
        let others = [7, u32::MAX, 0, 41, 43, 1 << 31, 42, 5];
        let mut expected = Vec::new();
        for bits in 0..=u8::MAX {
            let chosen = || (0..BLOCK).filter(move |k| bits >> k & 1 == 1).map(|k| others[k]);
            expected.extend(chosen().map(|other: u32| [other.min(42), other.max(42)]));
            expected.extend(chosen().map(|other| [42, other]));
            expected.push([bits.count_ones(); 2]);
        }
        for name in crate::AnyBackend::<f32>::names() {
            let on = crate::AnyBackend::by_name(name, Some(3)).expect("a name of this build");
            let mut found = [Vec::new()];
            on.fork(&PairUp, Cut::Every(1), &mut found);
            assert_eq!(found[0], expected, "{name}");
        }
    }

    #[test]
    fn a_row_beyond_the_end_is_refused() {
        for name in crate::AnyBackend::<f32>::names() {
            let on = crate::AnyBackend::by_name(name, Some(1)).expect("a name of this build");
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut data = [vec![Octet([0.0; BLOCK]); 7]];
                on.fork(&Shuffle, Cut::Every(1), &mut data);
            }));
            assert!(refused.is_err(), "{name}");
        }
    }

    #[test]
    fn a_cut_that_misses_items_is_refused() {
        let refused =
            |places: &[usize]| std::panic::catch_unwind(|| squares(&crate::Scalar::new(), Cut::At(places))).is_err();
        assert!(refused(&[0, 50]) && refused(&[0, 60, 40, 100]) && refused(&[]) && refused(&[1, 100]));
        assert!(!refused(&[0, 100]));
    }
}
