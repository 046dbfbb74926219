//! The sparse layer allocates nothing once it is set up: not to refactor, not to solve, not to assemble.
//!
//! One test alone in this crate, so that nobody else allocates meanwhile.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use pliant::backends::AnyBackend;
use pliant::solvers::linear::{
    Cholesky, Contribution, Ordering as Elimination, Pattern, Pcg, PcgOptions, Refined, SlotMap, Tiles,
};

/// The system's allocator, and how often it was asked for memory.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn nothing_allocates_after_setting_up() {
    // A 50 × 50 grid: large enough for branches, domains and panels wider than a piece.
    let side = 50_u32;
    let mut pairs = Vec::new();
    for i in 0..side * side {
        pairs.extend((i % side + 1 < side).then_some([i, i + 1]));
        pairs.extend((i + side < side * side).then_some([i, i + side]));
        pairs.extend((i % side + 1 < side && i + side < side * side).then_some([i, i + side + 1]));
    }
    let n = (side * side) as usize;
    let pattern = Pattern::new(n, pairs.iter(), Elimination::Amd);
    let blocks = pairs.iter().flat_map(|&[a, b]| [(a, a, false), (b, b, false), (a, b, true)]);
    let map =
        SlotMap::new(&pattern, blocks.map(|(row, column, negative)| Contribution { record: 0, row, column, negative }));
    let records = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    let mut values = vec![0.0_f64; pattern.entry_count() * 9];
    let mut single = vec![-1.0_f64; pattern.entry_count()];
    for node in 0..n as u32 {
        single[pattern.diagonal(node)] = 10.0;
    }
    let mut factor = Cholesky::<f64>::new(&pattern, 3).expect("a supported block");
    let mut plain = Cholesky::<f64>::new(&pattern, 1).expect("a supported block");
    let mut refined = Refined::new(&pattern).expect("a pattern of this size");
    let mut pcg = Pcg::<f64>::new(&pattern, PcgOptions::default());
    let inertia = vec![1.0; n];
    let mut x = vec![1.0; n * 3];

    let pick = |name, threads| AnyBackend::<f64>::by_name(name, threads).expect("built with default features");
    for on in [pick("scalar", None), pick("simd", None), pick("parallel", Some(2))] {
        plain.factor(&single, &on).expect("a dominant diagonal");
        let mut tiles = Tiles::new(&plain, &on).expect("blocks of one");
        let mut round = || {
            map.write(&inertia, &records, &mut values, &on).expect("lengths fit");
            factor.factor(&values, &on).expect("positive definite");
            factor.solve(&mut x, 1, &on).expect("lengths fit");
            plain.factor(&single, &on).expect("a dominant diagonal");
            tiles.refresh(&plain, &on).expect("the same pattern");
            tiles.solve(&mut x, &on).expect("lengths fit");
            refined.factor(&values, &on).expect("positive definite");
            refined.solve(&values, &mut x, 1, &on).expect("lengths fit");
            pcg.refresh(&values, &on).expect("positive definite");
            pcg.solve(&values, &mut x, &on).expect("positive definite");
        };
        // faer keeps packing buffers a thread: the first rounds make them.
        for _ in 0..20 {
            round();
        }
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        round();
        round();
        assert_eq!(ALLOCATIONS.load(Ordering::SeqCst) - before, 0);
    }
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert!(ALLOCATIONS.load(Ordering::SeqCst) > 0, "allocations are counted");
}
