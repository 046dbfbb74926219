//! The sparse layer against dense arithmetic, and against itself on every backend.

use pliant::backends::{AnyBackend, Precision, Scalar};
use pliant::core::backend::Backend;
use pliant::solvers::linear::{
    Cholesky, Contribution, Dense, LinearError, LinearMethod, LinearSolver, Ordering, Pattern, Pcg, PcgOptions,
    Preconditioner, Refined, SlotMap, Tiles,
};

/// Numbers in (−1, 1) from a linear congruential generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Pairs of a w × h grid: right, down, both diagonals, and every second one to the right and down.
fn grid(w: u32, h: u32) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (-1, 1), (2, 0), (0, 2)] {
            let (other, row) = (x as i32 + dx, y + dy as u32);
            if other >= 0 && (other as u32) < w && row < h {
                pairs.push([y * w + x, row * w + other as u32]);
            }
        }
    }
    pairs
}

/// A pattern and values of a random, diagonally dominant matrix.
struct System {
    pattern: Pattern,
    block: usize,
    values: Vec<f64>,
}

impl System {
    fn new(n: usize, groups: &[Vec<u32>], block: usize, ordering: Ordering) -> Self {
        let pattern = Pattern::new(n, groups.iter(), ordering);
        let mut values = vec![0.0; pattern.entry_count() * block * block];
        let mut dice = Dice(7);
        let mut dominance = vec![1.0; n * block];
        for row in 0..n as u32 {
            for column in 0..row {
                let Some((slot, transposed)) = pattern.slot(row, column) else { continue };
                for (a, b) in (0..block).flat_map(|a| (0..block).map(move |b| (a, b))) {
                    let value = dice.roll();
                    let (i, j) = if transposed { (b, a) } else { (a, b) };
                    values[(slot * block + j) * block + i] = value;
                    dominance[row as usize * block + a] += value.abs();
                    dominance[column as usize * block + b] += value.abs();
                }
            }
        }
        for node in 0..n as u32 {
            let slot = pattern.diagonal(node);
            for a in 0..block {
                for b in 0..a {
                    let value = dice.roll();
                    values[(slot * block + b) * block + a] = value;
                    values[(slot * block + a) * block + b] = value;
                    dominance[node as usize * block + a] += value.abs();
                    dominance[node as usize * block + b] += value.abs();
                }
            }
            for a in 0..block {
                values[(slot * block + a) * block + a] = dominance[node as usize * block + a];
            }
        }
        Self { pattern, block, values }
    }

    fn pairs(n: usize, pairs: &[[u32; 2]], block: usize) -> Self {
        let groups: Vec<_> = pairs.iter().map(|p| p.to_vec()).collect();
        Self::new(n, &groups, block, Ordering::Amd)
    }

    /// A x, entry by entry.
    fn times(&self, x: &[f64]) -> Vec<f64> {
        let (n, k) = (self.pattern.node_count() as u32, self.block);
        let mut y = vec![0.0; x.len()];
        for row in 0..n {
            for column in 0..n {
                let Some((slot, transposed)) = self.pattern.slot(row, column) else { continue };
                for (a, b) in (0..k).flat_map(|a| (0..k).map(move |b| (a, b))) {
                    let (i, j) = if transposed { (b, a) } else { (a, b) };
                    y[row as usize * k + a] += self.values[(slot * k + j) * k + i] * x[column as usize * k + b];
                }
            }
        }
        y
    }

    fn vector(&self, columns: usize) -> Vec<f64> {
        let mut dice = Dice(11);
        (0..self.pattern.node_count() * self.block * columns).map(|_| dice.roll()).collect()
    }
}

fn round<S: Precision>(v: &[f64]) -> Vec<S> {
    v.iter().map(|&v| S::from_f64(v)).collect()
}

fn solution<S: Dense + Precision>(system: &System, b: &[f64], columns: usize, on: &impl Backend<Scalar = S>) -> Vec<S> {
    let mut factor = Cholesky::<S>::new(&system.pattern, system.block).expect("a supported block");
    factor.factor(&round::<S>(&system.values), on).expect("a dominant diagonal");
    let mut x = round::<S>(b);
    factor.solve(&mut x, columns, on).expect("lengths fit");
    x
}

fn tiled<S: Dense + Precision>(system: &System, b: &[f64], on: &impl Backend<Scalar = S>) -> Vec<S> {
    let mut factor = Cholesky::<S>::new(&system.pattern, 1).expect("a supported block");
    factor.factor(&round::<S>(&system.values), on).expect("a dominant diagonal");
    let mut tiles = Tiles::new(&factor, on).expect("blocks of one");
    let mut x = round::<S>(b);
    tiles.solve(&mut x, on).expect("lengths fit");
    x
}

fn zoo() -> Vec<(&'static str, usize, Vec<Vec<u32>>)> {
    let lists = |pairs: Vec<[u32; 2]>| pairs.iter().map(|p| p.to_vec()).collect::<Vec<_>>();
    let mut halves = grid(5, 5);
    halves.extend(grid(4, 6).iter().map(|p| p.map(|i| i + 30)));
    let tets = (0..40).map(|i| vec![i, i + 1, i + 2, i + 7]).collect();
    vec![
        ("nothing", 0, vec![]),
        ("one node", 1, vec![]),
        ("loose nodes", 7, vec![]),
        ("rope", 40, (0..39).map(|i| vec![i, i + 1]).collect()),
        ("star", 30, (1..30).map(|i| vec![i, 0]).collect()),
        ("grid", 96, lists(grid(12, 8))),
        ("two grids and loose nodes", 60, lists(halves)),
        ("tets", 47, tets),
    ]
}

#[test]
fn solutions_satisfy_the_system_in_every_ordering() {
    let on = Scalar::<f64>::new();
    for (name, n, groups) in zoo() {
        for ordering in [Ordering::Amd, Ordering::NestedDissection, Ordering::Natural] {
            for (block, columns) in [(1, 1), (1, 3), (3, 1)] {
                let system = System::new(n, &groups, block, ordering);
                let b = system.vector(columns);
                let x = solution::<f64>(&system, &b, columns, &on);
                for plane in 0..columns {
                    let pick = |v: &[f64]| v.iter().skip(plane).step_by(columns).copied().collect::<Vec<_>>();
                    for (i, (ax, b)) in system.times(&pick(&x)).iter().zip(pick(&b)).enumerate() {
                        assert!((ax - b).abs() < 1e-12, "{name}, {ordering:?}, block {block}, row {i}: {ax} for {b}");
                    }
                }
            }
        }
    }
}

/// Large enough to be cut into branches.
fn large(block: usize) -> System {
    System::pairs(60 * 60, &grid(60, 60), block)
}

#[test]
fn large_systems_are_solved_through_their_branches() {
    for (block, columns) in [(1, 3), (3, 1)] {
        let system = large(block);
        let b = system.vector(columns);
        let x = solution::<f64>(&system, &b, columns, &Scalar::new());
        // Only a few rows: the reference product is quadratic.
        let k = block;
        for row in (0..3600_u32).step_by(97) {
            for plane in 0..columns {
                for a in 0..k {
                    let mut sum = 0.0;
                    for column in 0..3600_u32 {
                        let Some((slot, transposed)) = system.pattern.slot(row, column) else { continue };
                        for b in 0..k {
                            let (i, j) = if transposed { (b, a) } else { (a, b) };
                            sum +=
                                system.values[(slot * k + j) * k + i] * x[(column as usize * k + b) * columns + plane];
                        }
                    }
                    let expected = b[(row as usize * k + a) * columns + plane];
                    assert!((sum - expected).abs() < 1e-12, "row {row}, {a}: {sum} for {expected}");
                }
            }
        }
    }
}

#[test]
fn tiles_solve_what_the_factor_solves() {
    let on = Scalar::<f64>::new();
    let mut systems: Vec<_> =
        zoo().into_iter().map(|(_, n, groups)| System::new(n, &groups, 1, Ordering::Amd)).collect();
    systems.push(large(1));
    // Wider than a piece: everything couples with everything.
    systems.push(System::new(150, &[(0..150).collect()], 1, Ordering::Amd));
    for system in systems {
        let b = system.vector(3);
        let (x, y) = (solution::<f64>(&system, &b, 3, &on), tiled::<f64>(&system, &b, &on));
        for (i, (x, y)) in x.iter().zip(&y).enumerate() {
            assert!((x - y).abs() < 1e-13, "number {i} of {}: {x} and {y}", b.len());
        }
    }
}

fn backends<S: Precision>() -> Vec<AnyBackend<S>> {
    let pick = |name, threads| AnyBackend::<S>::by_name(name, threads).expect("built with default features");
    let mut all = vec![pick("scalar", None), pick("simd", None), pick("simd-portable", None)];
    all.extend([1, 2, 5].map(|threads| pick("parallel", Some(threads))));
    all
}

fn same_bits<S: Dense + Precision>() {
    for (block, columns) in [(1, 3), (3, 1)] {
        let system = large(block);
        let b = system.vector(columns);
        let all: Vec<_> = backends::<S>().iter().map(|on| solution::<S>(&system, &b, columns, on)).collect();
        for (i, x) in all.iter().enumerate() {
            assert!(x == &all[0], "{}, block {block}: backend {i} differs", S::NAME);
        }
        if block == 1 {
            let all: Vec<_> = backends::<S>().iter().map(|on| tiled::<S>(&system, &b, on)).collect();
            for (i, x) in all.iter().enumerate() {
                assert!(x == &all[0], "{}, tiles: backend {i} differs", S::NAME);
            }
        }
    }
}

#[test]
fn every_backend_and_thread_count_gives_the_same_bits() {
    same_bits::<f32>();
    same_bits::<f64>();
}

#[test]
fn a_matrix_that_is_not_positive_definite_is_refused_with_the_node() {
    let on = Scalar::<f64>::new();
    for value in [-1.0, 0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (n, pairs) in [(96, grid(12, 8)), (3600, grid(60, 60))] {
            let mut system = System::pairs(n, &pairs, 3);
            let slot = system.pattern.diagonal(50);
            let intact = system.values.clone();
            system.values[slot * 9 + 4] = value;
            let mut factor = Cholesky::<f64>::new(&system.pattern, 3).expect("a supported block");
            assert_eq!(factor.factor(&system.values, &on), Err(LinearError::NotPositive { node: 50 }), "{value}");
            factor.factor(&intact, &on).expect("works again after a failure");
        }
    }
    // A NaN off the diagonal reaches a pivot, too.
    let mut system = System::pairs(96, &grid(12, 8), 1);
    let (slot, _) = system.pattern.slot(3, 4).expect("neighbours");
    system.values[slot] = f64::NAN;
    let mut factor = Cholesky::<f64>::new(&system.pattern, 1).expect("a supported block");
    assert!(matches!(factor.factor(&system.values, &on), Err(LinearError::NotPositive { .. })));
}

#[test]
fn wrong_sizes_are_refused() {
    let on = Scalar::<f64>::new();
    let system = System::pairs(12, &grid(4, 3), 1);
    assert!(matches!(Cholesky::<f64>::new(&system.pattern, 2), Err(LinearError::Block { block: 2 })));
    let mut factor = Cholesky::<f64>::new(&system.pattern, 1).expect("a supported block");
    assert!(matches!(factor.factor(&system.values[1..], &on), Err(LinearError::Length { .. })));
    factor.factor(&system.values, &on).expect("a dominant diagonal");
    assert!(matches!(factor.solve(&mut [0.0; 11], 1, &on), Err(LinearError::Length { .. })));
    assert!(matches!(factor.solve(&mut [0.0; 48], 4, &on), Err(LinearError::Length { .. })));
    assert!(matches!(factor.solve(&mut [], 0, &on), Err(LinearError::Length { .. })));
}

#[test]
fn conjugate_gradients_reach_their_tolerance_with_either_preconditioner() {
    let on = Scalar::<f64>::new();
    let mut systems: Vec<_> =
        zoo().into_iter().map(|(name, n, groups)| (name, System::new(n, &groups, 3, Ordering::Amd))).collect();
    systems.push(("large", large(3)));
    for (name, system) in systems {
        let b = system.vector(1);
        let exact = solution::<f64>(&system, &b, 1, &on);
        let mut taken = [0; 2];
        for (i, preconditioner) in [Preconditioner::BlockJacobi, Preconditioner::BlockIc].into_iter().enumerate() {
            let options = PcgOptions { tolerance: 1e-11, iterations: 500, preconditioner };
            let mut pcg = Pcg::<f64>::new(&system.pattern, options);
            pcg.refresh(&system.values, &on).expect("positive definite");
            let mut x = b.clone();
            let report = pcg.solve(&system.values, &mut x, &on).expect("positive definite");
            assert!(report.converged && report.residual <= 1e-11, "{name}: {report:?}");
            for (x, y) in x.iter().zip(&exact) {
                assert!((x - y).abs() < 1e-9, "{name}, {preconditioner:?}: {x} for {y}");
            }
            taken[i] = report.iterations;
        }
        assert!(name != "large" || taken[1] < taken[0], "{name}: IC(0) took {}, Jacobi {}", taken[1], taken[0]);
    }
}

#[test]
fn conjugate_gradients_give_the_same_bits_everywhere() {
    let system = large(3);
    let b = system.vector(1);
    let run = |on: &AnyBackend<f64>| {
        let mut pcg = Pcg::<f64>::new(&system.pattern, PcgOptions::default());
        pcg.refresh(&system.values, on).expect("positive definite");
        let mut x = b.clone();
        let report = pcg.solve(&system.values, &mut x, on).expect("positive definite");
        (x, report)
    };
    let all: Vec<_> = backends::<f64>().iter().map(run).collect();
    for (i, one) in all.iter().enumerate() {
        assert!(one == &all[0], "backend {i} differs");
    }
}

#[test]
fn conjugate_gradients_recover_from_a_solve_that_broke_down() {
    let on = Scalar::<f64>::new();
    let system = System::pairs(96, &grid(12, 8), 3);
    let b = system.vector(1);
    let mut fresh = Pcg::<f64>::new(&system.pattern, PcgOptions::default());
    fresh.refresh(&system.values, &on).expect("positive definite");
    let mut expected = b.clone();
    fresh.solve(&system.values, &mut expected, &on).expect("positive definite");
    // A matrix so small that its solution overflows.
    let mut pcg = Pcg::<f64>::new(&system.pattern, PcgOptions::default());
    let tiny: Vec<f64> = system.values.iter().map(|v| v * 1e-200).collect();
    pcg.refresh(&tiny, &on).expect("positive definite");
    let mut large: Vec<f64> = b.iter().map(|v| v * 1e150).collect();
    assert!(matches!(pcg.solve(&tiny, &mut large, &on), Err(LinearError::Indefinite { .. })));
    pcg.refresh(&system.values, &on).expect("positive definite");
    let mut x = b;
    pcg.solve(&system.values, &mut x, &on).expect("positive definite");
    assert_eq!(x, expected);
}

#[test]
fn conjugate_gradients_report_what_they_cannot_do() {
    let on = Scalar::<f64>::new();
    let mut system = System::pairs(96, &grid(12, 8), 3);
    let b = system.vector(1);
    // Too few iterations.
    let mut pcg =
        Pcg::<f64>::new(&system.pattern, PcgOptions { iterations: 2, tolerance: 1e-12, ..Default::default() });
    pcg.refresh(&system.values, &on).expect("positive definite");
    let report = pcg.solve(&system.values, &mut b.clone(), &on).expect("positive definite");
    assert!(!report.converged && report.iterations == 2 && report.residual > 1e-12);
    // A right-hand side of zeros.
    let mut x = vec![0.0; b.len()];
    let report = pcg.solve(&system.values, &mut x, &on).expect("positive definite");
    assert!(report.converged && report.iterations == 0 && x.iter().all(|&v| v == 0.0));
    // A right-hand side that is not a number.
    x[5] = f64::NAN;
    assert!(matches!(pcg.solve(&system.values, &mut x, &on), Err(LinearError::NotFinite { .. })));
    let mut refined = Refined::new(&system.pattern).expect("a pattern of this size");
    refined.factor(&system.values, &on).expect("positive definite");
    assert!(matches!(refined.solve(&system.values, &mut x, 1, &on), Err(LinearError::NotFinite { .. })));
    // Positive diagonal blocks, but a strong coupling makes the matrix indefinite.
    let (slot, _) = system.pattern.slot(3, 4).expect("neighbours");
    for k in [0, 4, 8] {
        system.values[slot * 9 + k] = 1e3;
    }
    let mut pcg = Pcg::<f64>::new(&system.pattern, PcgOptions::default());
    pcg.refresh(&system.values, &on).expect("diagonal blocks are positive definite");
    let mut x = b.clone();
    assert!(matches!(pcg.solve(&system.values, &mut x, &on), Err(LinearError::Indefinite { .. })));
    assert_eq!(x, b, "the right-hand side is left alone");
    // A diagonal block that is not positive definite.
    let diagonal = system.pattern.diagonal(7);
    system.values[diagonal * 9] = f64::NAN;
    assert_eq!(pcg.refresh(&system.values, &on), Err(LinearError::NotPositive { node: 7 }));
}

#[test]
fn refinement_reaches_double_precision() {
    let system = large(3);
    let b = system.vector(1);
    let run = |on: &AnyBackend<f64>, rounds| {
        let mut refined = Refined::new(&system.pattern).expect("a pattern of this size");
        refined.factor(&system.values, on).expect("positive definite");
        let mut x = b.clone();
        let residual = refined.solve(&system.values, &mut x, rounds, on).expect("lengths fit");
        (x, residual)
    };
    let all = backends::<f64>();
    let (plain, once) = (run(&all[0], 0), run(&all[0], 1));
    assert!(plain.1 < 1e-5 && plain.1 > 1e-9, "a single-precision residual: {}", plain.1);
    assert!(once.1 < 1e-11, "after one refinement: {}", once.1);
    for on in &all {
        assert!(run(on, 1) == once, "{} differs", on.isa());
    }
    // Tiny right-hand sides do not vanish.
    let mut refined = Refined::new(&system.pattern).expect("a pattern of this size");
    refined.factor(&system.values, &all[0]).expect("positive definite");
    let mut x: Vec<f64> = b.iter().map(|b| b * 1e-60).collect();
    refined.solve(&system.values, &mut x, 1, &all[0]).expect("lengths fit");
    for (x, y) in x.iter().zip(&once.0) {
        assert!((x * 1e60 - y).abs() < 1e-11);
    }
}

/// A block of 12³ nodes in which every cell of eight couples.
fn cells() -> Vec<Vec<u32>> {
    let at = |x: u32, y: u32, z: u32| (z * 12 + y) * 12 + x;
    let mut cells = Vec::new();
    for (z, y, x) in (0..11).flat_map(|z| (0..11).flat_map(move |y| (0..11).map(move |x| (z, y, x)))) {
        cells.push((0..8).map(|k| at(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2))).collect());
    }
    cells
}

#[test]
fn the_choice_follows_the_fill_and_can_be_overridden() {
    let on = Scalar::<f64>::new();
    let sheet = System::pairs(400, &grid(20, 20), 3);
    let solid = System::new(1728, &cells(), 3, Ordering::NestedDissection);
    for (system, ratio) in [(&sheet, "low"), (&solid, "high")] {
        let b = system.vector(1);
        let exact = solution::<f64>(system, &b, 1, &on);
        let options = PcgOptions { tolerance: 1e-10, ..Default::default() };
        for method in [LinearMethod::Automatic, LinearMethod::Direct, LinearMethod::Pcg(options)] {
            let mut solver = LinearSolver::<f64>::new(&system.pattern, method).expect("a pattern of this size");
            match method {
                LinearMethod::Automatic => {
                    let fill = system.pattern.fill() as f64 / system.pattern.entry_count() as f64;
                    assert_eq!(solver.is_direct(), fill <= 16.0, "{ratio} fill {fill}");
                    if ratio == "low" {
                        assert!(solver.is_direct());
                    }
                }
                LinearMethod::Direct => assert!(solver.is_direct()),
                LinearMethod::Pcg(_) => assert!(!solver.is_direct()),
            }
            solver.refresh(&system.values, &on).expect("positive definite");
            let mut x = b.clone();
            let report = solver.solve(&system.values, &mut x, &on).expect("positive definite");
            assert!(report.converged);
            let error = x.iter().zip(&exact).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(error < 1e-2, "{method:?}: {error}");
        }
    }
}

#[test]
fn nested_dissection_fills_a_cube_less_than_minimum_degree_and_nothing_more() {
    for (_, n, groups) in zoo() {
        let fill = |ordering| Pattern::new(n, groups.iter(), ordering).fill();
        assert!(fill(Ordering::NestedDissection) <= fill(Ordering::Amd));
    }
    let fill = |ordering| Pattern::new(1728, cells().iter(), ordering).fill();
    let (cut, plain) = (fill(Ordering::NestedDissection), fill(Ordering::Amd));
    assert!(cut < plain, "{cut} against {plain}");
}

#[test]
fn slot_maps_sum_blocks_in_place() {
    // Three nodes; blocks on (0,0), (1,0), (0,1), (2,2), with signs.
    let pattern = Pattern::new(3, [[0, 1], [1, 2]].iter(), Ordering::Amd);
    let records: Vec<[f64; 4]> =
        (0..12).map(|i| core::array::from_fn(|k| if k < 3 { f64::from(i * 3) + k as f64 } else { 0.0 })).collect();
    let list = [(0, 0, 0, false), (3, 1, 0, false), (6, 0, 1, true), (9, 2, 2, true)];
    let contributions =
        list.iter().map(|&(record, row, column, negative)| Contribution { record, row, column, negative });
    let map = SlotMap::new(&pattern, contributions);
    let mut expected = vec![0.0; pattern.entry_count() * 9];
    for &(record, row, column, negative) in &list {
        let (slot, transposed) = pattern.slot(row, column).expect("in the pattern");
        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            let (i, j) = if transposed { (b, a) } else { (a, b) };
            let value = records[record as usize + b][a];
            expected[(slot * 3 + j) * 3 + i] += if negative { -value } else { value };
        }
    }
    let twice: Vec<f64> = expected.iter().map(|v| 2.0 * v).collect();
    for on in backends::<f64>() {
        let mut values = vec![f64::NAN; pattern.entry_count() * 9];
        map.write(&[0.0; 3], &records, &mut values, &on).expect("lengths fit");
        assert_eq!(values, expected);
        map.add(&records, &mut values, &on).expect("lengths fit");
        assert_eq!(values, twice);
        map.write(&[1.0, 2.0, 4.0], &records, &mut values, &on).expect("lengths fit");
        for (node, inertia) in [(0, 1.0), (1, 2.0), (2, 4.0)] {
            let at = pattern.diagonal(node) * 9;
            assert_eq!([values[at], values[at + 4]], [expected[at] + inertia, expected[at + 4] + inertia]);
            assert_eq!(values[at + 1], expected[at + 1]);
        }
        assert!(matches!(map.write(&[0.0; 2], &records, &mut values, &on), Err(LinearError::Length { .. })));
        assert!(matches!(map.add(&records[1..], &mut values, &on), Err(LinearError::Length { .. })));
    }
}
