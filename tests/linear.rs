//! The sparse layer against dense arithmetic, and against itself on every backend.

use pliant::backends::{AnyBackend, Precision, Scalar};
use pliant::core::backend::Backend;
use pliant::solvers::linear::{Cholesky, Dense, LinearError, Ordering, Pattern, Tiles};

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
