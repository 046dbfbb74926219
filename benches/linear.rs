//! The sparse layer in one run with faer's own calls: refactorisation, solves, assembly, conjugate gradients.
//!
//! `cargo bench --bench linear --features newton` prints the tables and writes `benches/results/linear.md`; section names
//! (`factor`, `solve`, `assembly`, `pcg`, `refined`) as arguments run only those and write nothing.

#[path = "support/baseline.rs"]
mod baseline;
mod support;

use baseline::Faer;
use pliant::backends::{Parallel, Simd};
use pliant::core::body::Body;
use pliant::core::mesh::{Split, tet_box};
use pliant::core::model::Model;
use pliant::solvers::linear::{
    Cholesky, HessianForm, Ordering, Pattern, Pcg, PcgOptions, Preconditioner, Refined, SlotMap, Tiles,
};
use support::curtain;
use support::report::Report;
use support::timing::{Contender, race};

/// Solves in a row, as in a step of Projective Dynamics: the factor stays in the caches it fits into.
const SOLVES: usize = 5;
/// Step of the implicit methods \[s\].
const H: f64 = 1.0 / 60.0;

/// Springs over free nodes: what Newton and Projective Dynamics assemble.
struct Springs {
    node_count: usize,
    /// Pairs of nodes.
    pairs: Vec<[u32; 2]>,
    /// 3 × 3 block of every pair, by columns.
    blocks: Vec<[f64; 9]>,
    stiffness: f64,
    /// M/h² of every node, and the stiffness that pinned neighbours add.
    inertia: Vec<f64>,
}

impl Springs {
    fn new(body: &Body, pins: &[u32], stiffness: f64) -> Self {
        let mut nodes = vec![u32::MAX; body.positions().len()];
        let mut node_count = 0;
        for (p, node) in nodes.iter_mut().enumerate() {
            if !pins.contains(&(p as u32)) {
                *node = node_count;
                node_count += 1;
            }
        }
        let mut inertia = vec![0.0; node_count as usize];
        for (p, &m) in body.masses().iter().enumerate() {
            if nodes[p] != u32::MAX {
                inertia[nodes[p] as usize] = m / (H * H);
            }
        }
        let (mut pairs, mut blocks) = (Vec::new(), Vec::new());
        for ids in &body.tables().distance.ids {
            let [a, b] = ids.map(|p| nodes[p as usize]);
            if a == u32::MAX || b == u32::MAX {
                let free = a.min(b) as usize;
                if free < inertia.len() {
                    inertia[free] += stiffness;
                }
                continue;
            }
            let [x, y] = ids.map(|p| body.positions()[p as usize]);
            let d = [x[0] - y[0], x[1] - y[1], x[2] - y[2]];
            let length = d.iter().map(|c| c * c).sum::<f64>().sqrt();
            let n = d.map(|c| c / length);
            // A spring at 5 % stretch: k n nᵀ + k (1 − L/ℓ)(I − n nᵀ).
            let across = 1.0 - 1.0 / 1.05;
            let mut block = [0.0; 9];
            for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
                let unit = f64::from(u8::from(i == j));
                block[3 * j + i] = stiffness * (n[i] * n[j] + across * (unit - n[i] * n[j]));
            }
            pairs.push([a, b]);
            blocks.push(block);
        }
        Self { node_count: node_count as usize, pairs, blocks, stiffness, inertia }
    }

    fn cloth(n: usize) -> Self {
        Self::new(&curtain(n), &[0, n as u32 - 1], 100.0)
    }

    /// A bar of tets with springs on its edges, fixed at one end.
    fn bar(cells: [usize; 3]) -> Self {
        let size = cells.map(|c| 0.05 * c as f64);
        let mesh = tet_box(cells, size, Split::Five).expect("a valid box");
        let body = Body::solid(&mesh).expect("a valid solid").with_mass(0.1 * cells.iter().product::<usize>() as f64);
        let pins: Vec<u32> =
            (0..body.positions().len() as u32).filter(|&p| body.positions()[p as usize][0] < 1e-9).collect();
        Self::new(&body, &pins, 1e4)
    }

    fn pattern(&self, ordering: Ordering) -> Pattern {
        Pattern::new(self.node_count, self.pairs.iter(), ordering)
    }

    /// The n × n matrix of Projective Dynamics.
    fn laplacian(&self, pattern: &Pattern) -> Vec<f64> {
        let mut values = vec![0.0; pattern.entry_count()];
        for &[a, b] in &self.pairs {
            values[pattern.diagonal(a)] += self.stiffness;
            values[pattern.diagonal(b)] += self.stiffness;
            values[pattern.slot(a, b).expect("a pair").0] -= self.stiffness;
        }
        for (node, m) in self.inertia.iter().enumerate() {
            values[pattern.diagonal(node as u32)] += m;
        }
        values
    }

    /// The 3n × 3n matrix of Newton's method.
    fn hessian(&self, pattern: &Pattern) -> Vec<f64> {
        let mut values = vec![0.0; pattern.entry_count() * 9];
        for (&[a, b], block) in self.pairs.iter().zip(&self.blocks) {
            for (slot, sign) in
                [(pattern.diagonal(a), 1.0), (pattern.diagonal(b), 1.0), (pattern.slot(a, b).expect("a pair").0, -1.0)]
            {
                for k in 0..9 {
                    values[slot * 9 + k] += sign * block[k];
                }
            }
        }
        for (node, m) in self.inertia.iter().enumerate() {
            for k in 0..3 {
                values[pattern.diagonal(node as u32) * 9 + 4 * k] += m;
            }
        }
        values
    }
}

fn table(report: &mut Report, title: &str, contenders: &[Contender<'_>]) {
    report.line(&format!("\n## {title}\n\n| | ms | against the first |\n| --- | --- | --- |"));
    let base = contenders[0].nanoseconds();
    for c in contenders {
        report.line(&format!("| {} | {:.3} | {:.2}× |", c.name, c.nanoseconds() * 1e-6, base / c.nanoseconds()));
    }
}

fn factor(report: &mut Report, name: &str, springs: &Springs, ordering: Ordering, rounds: usize) {
    let pattern = springs.pattern(ordering);
    let values = springs.hessian(&pattern);
    let mut faer = Faer::new(&pattern, 3, &values, true);
    let mut own = Cholesky::<f64>::new(&pattern, 3).expect("a supported block");
    let mut pair = Cholesky::<f64>::new(&pattern, 3).expect("a supported block");
    let (simd, two) = (Simd::<f64>::new(), Parallel::<f64>::with_threads(2));
    let b: Vec<f64> = (0..springs.node_count * 3).map(|i| (i as f64).sin()).collect();
    let size = own.size();
    let mut all = [
        Contender::new("faer, sequential", 1.0, || faer.factor()),
        Contender::new("ours, one thread", 1.0, || own.factor(&values, &simd).expect("positive definite")),
        Contender::new("ours, two threads", 1.0, || pair.factor(&values, &two).expect("positive definite")),
    ];
    race(&mut all, rounds);
    let title = format!("Newton refactorisation, f64, 3n × 3n, {name}, {ordering:?}, {size} numbers in the factor");
    table(report, &title, &all);
    drop(all);
    let (mut x, mut y, mut z) = (b.clone(), b.clone(), b.clone());
    let mut all = [
        Contender::new("faer, sequential", 1.0, || faer.solve(&mut x)),
        Contender::new("ours, one thread", 1.0, || own.solve(&mut y, 1, &simd).expect("lengths fit")),
        Contender::new("ours, two threads", 1.0, || pair.solve(&mut z, 1, &two).expect("lengths fit")),
    ];
    race(&mut all, rounds);
    table(report, &format!("One right-hand side, f64, 3n × 3n, {name}, {ordering:?}"), &all);
}

/// Three right-hand sides in f32 on the matrix of Projective Dynamics.
fn solve(report: &mut Report, name: &str, springs: &Springs, ordering: Ordering, rounds: usize) {
    let pattern = springs.pattern(ordering);
    let values: Vec<f32> = springs.laplacian(&pattern).iter().map(|&v| v as f32).collect();
    let (simd, two) = (Simd::<f32>::new(), Parallel::<f32>::with_threads(2));
    let mut supernodal = Faer::new(&pattern, 1, &values, true);
    let mut simplicial = Faer::new(&pattern, 1, &values, false);
    supernodal.factor();
    simplicial.factor();
    let mut own = Cholesky::<f32>::new(&pattern, 1).expect("a supported block");
    own.factor(&values, &simd).expect("positive definite");
    let mut tiles = Tiles::new(&own, &simd).expect("blocks of one");
    let mut pair = Tiles::new(&own, &simd).expect("blocks of one");
    let b: Vec<f32> = (0..springs.node_count * 3).map(|i| (i as f32).sin()).collect();
    let [mut s, mut t, mut u, mut v, mut w] = core::array::from_fn(|_| b.clone());
    let mut all = [
        Contender::new("faer, supernodal", SOLVES as f64, || {
            for _ in 0..SOLVES {
                s.copy_from_slice(&b);
                supernodal.solve(&mut s);
            }
        }),
        Contender::new("faer, simplicial", SOLVES as f64, || {
            for _ in 0..SOLVES {
                t.copy_from_slice(&b);
                simplicial.solve(&mut t);
            }
        }),
        Contender::new("panels, one thread", SOLVES as f64, || {
            for _ in 0..SOLVES {
                u.copy_from_slice(&b);
                own.solve(&mut u, 3, &simd).expect("lengths fit");
            }
        }),
        Contender::new("tiles, one thread", SOLVES as f64, || {
            for _ in 0..SOLVES {
                v.copy_from_slice(&b);
                tiles.solve(&mut v, &simd).expect("lengths fit");
            }
        }),
        Contender::new("tiles, two threads", SOLVES as f64, || {
            for _ in 0..SOLVES {
                w.copy_from_slice(&b);
                pair.solve(&mut w, &two).expect("lengths fit");
            }
        }),
    ];
    race(&mut all, rounds);
    table(report, &format!("Three right-hand sides, f32, n × n, {name}, {ordering:?}, fill {}", pattern.fill()), &all);
    let best = all[0].seconds().min(all[1].seconds());
    report.line(&format!(
        "\nAgainst the better of faer's two: {:.2}× on one thread, {:.2}× on two.",
        best / all[3].seconds(),
        best / all[4].seconds()
    ));
}

/// Values of the Newton matrix from spring blocks.
fn assembly(report: &mut Report, n: usize, rounds: usize) {
    let springs = Springs::cloth(n);
    let pattern = springs.pattern(Ordering::Amd);
    let body = curtain(n);
    let (model, _) = Model::<f64>::build(&[&body]).expect("a valid body");
    let set = &model.constraints().distance;
    let mut nodes = vec![u32::MAX; model.particle_count()];
    for (node, particle) in (0..nodes.len()).filter(|p| ![0, n - 1].contains(p)).enumerate() {
        nodes[particle] = node as u32;
    }
    let map = SlotMap::elements(&pattern, set.stencil(), set.ids(), &nodes, HessianForm::Difference);
    let mut records = vec![[0.0; 4]; set.stencil().block_count() * 8 * 3];
    let free = set.ids().iter().enumerate().filter(|(_, ids)| ids.iter().all(|&p| nodes[p as usize] != u32::MAX));
    for ((c, _), block) in free.zip(&springs.blocks) {
        let (b, lane) = set.stencil().place(c);
        for k in 0..3 {
            records[(b * 8 + lane) * 3 + k] = [block[3 * k], block[3 * k + 1], block[3 * k + 2], 0.0];
        }
    }
    let (simd, two) = (Simd::<f64>::new(), Parallel::<f64>::with_threads(2));
    let mut values = vec![0.0; pattern.entry_count() * 9];
    let mut others = values.clone();
    let mut triplets = 0;
    let mut all = [
        Contender::new("sprs, triplets to compressed columns", 1.0, || {
            let size = 3 * springs.node_count;
            let mut matrix = sprs::TriMat::<f64>::with_capacity((size, size), springs.pairs.len() * 36 + size);
            for (&[a, b], block) in springs.pairs.iter().zip(&springs.blocks) {
                for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
                    for k in 0..9 {
                        matrix.add_triplet(row as usize * 3 + k % 3, column as usize * 3 + k / 3, sign * block[k]);
                    }
                }
            }
            for (node, &m) in springs.inertia.iter().enumerate() {
                for k in 0..3 {
                    matrix.add_triplet(node * 3 + k, node * 3 + k, m);
                }
            }
            triplets = matrix.nnz();
            std::hint::black_box(matrix.to_csc::<usize>());
        }),
        Contender::new("slot map, one thread", 1.0, || {
            map.write(&springs.inertia, &records, &mut values, &simd).expect("lengths fit");
        }),
        Contender::new("slot map, two threads", 1.0, || {
            map.write(&springs.inertia, &records, &mut others, &two).expect("lengths fit");
        }),
    ];
    race(&mut all, rounds);
    let title = format!("Assembly, f64, 3n × 3n, cloth {n}², {} springs", springs.pairs.len());
    table(report, &title, &all);
    drop(all);
    let expected = springs.hessian(&pattern);
    let error = values.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < 1e-9, "the slot map assembles the same matrix ({error})");
    report.line(&format!("\n{triplets} triplets."));
}

/// Conjugate gradients against a factor, for one Newton system.
fn pcg(report: &mut Report, name: &str, springs: &Springs, ordering: Ordering, rounds: usize) {
    let pattern = springs.pattern(ordering);
    let values = springs.hessian(&pattern);
    let (simd, two) = (Simd::<f64>::new(), Parallel::<f64>::with_threads(2));
    let b: Vec<f64> = (0..springs.node_count * 3).map(|i| (i as f64).sin()).collect();
    let mut faer = Faer::new(&pattern, 3, &values, true);
    let mut direct = Cholesky::<f64>::new(&pattern, 3).expect("a supported block");
    let set = |preconditioner| Pcg::<f64>::new(&pattern, PcgOptions { preconditioner, ..PcgOptions::default() });
    let (mut jacobi, mut ic) = (set(Preconditioner::BlockJacobi), set(Preconditioner::BlockIc));
    let mut pair = set(Preconditioner::BlockIc);
    let [mut s, mut t, mut u, mut v, mut w] = core::array::from_fn(|_| b.clone());
    let mut iterations = [0; 3];
    let [first, second, third] = &mut iterations;
    let mut all = [
        Contender::new("faer, refactorisation and solve", 1.0, || {
            s.copy_from_slice(&b);
            faer.factor();
            faer.solve(&mut s);
        }),
        Contender::new("our factor, one thread", 1.0, || {
            t.copy_from_slice(&b);
            direct.factor(&values, &simd).expect("positive definite");
            direct.solve(&mut t, 1, &simd).expect("lengths fit");
        }),
        Contender::new("conjugate gradients, block Jacobi", 1.0, || {
            u.copy_from_slice(&b);
            jacobi.refresh(&values, &simd).expect("positive definite");
            *first = jacobi.solve(&values, &mut u, &simd).expect("positive definite").iterations;
        }),
        Contender::new("conjugate gradients, block IC(0)", 1.0, || {
            v.copy_from_slice(&b);
            ic.refresh(&values, &simd).expect("positive definite");
            *second = ic.solve(&values, &mut v, &simd).expect("positive definite").iterations;
        }),
        Contender::new("conjugate gradients, block IC(0), two threads", 1.0, || {
            w.copy_from_slice(&b);
            pair.refresh(&values, &two).expect("positive definite");
            *third = pair.solve(&values, &mut w, &two).expect("positive definite").iterations;
        }),
    ];
    race(&mut all, rounds);
    table(report, &format!("One Newton system to 1e-3, f64, {name}, {ordering:?}, fill {}", pattern.fill()), &all);
    drop(all);
    report.line(&format!("\nIterations: block Jacobi {}, block IC(0) {}.", iterations[0], iterations[1]));
}

/// A single-precision factor with one round of refinement.
fn refined(report: &mut Report, rounds: usize) {
    let springs = Springs::cloth(100);
    let pattern = springs.pattern(Ordering::Amd);
    let values = springs.hessian(&pattern);
    let simd = Simd::<f64>::new();
    let b: Vec<f64> = (0..springs.node_count * 3).map(|i| (i as f64).sin()).collect();
    let mut direct = Cholesky::<f64>::new(&pattern, 3).expect("a supported block");
    let mut refined = Refined::new(&pattern).expect("a pattern of this size");
    let (mut s, mut t) = (b.clone(), b.clone());
    let mut residual = 0.0;
    let mut all = [
        Contender::new("f64 factor and solve", 1.0, || {
            s.copy_from_slice(&b);
            direct.factor(&values, &simd).expect("positive definite");
            direct.solve(&mut s, 1, &simd).expect("lengths fit");
        }),
        Contender::new("f32 factor, solve and one refinement", 1.0, || {
            t.copy_from_slice(&b);
            refined.factor(&values, &simd).expect("positive definite");
            residual = refined.solve(&values, &mut t, 1, &simd).expect("lengths fit");
        }),
    ];
    race(&mut all, rounds);
    table(report, "Refinement, 3n × 3n, cloth 100²", &all);
    drop(all);
    report.line(&format!("\nLargest residual after one refinement, for numbers up to 1: {residual:.1e}."));
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let runs = |section: &str| wanted.is_empty() || wanted.iter().any(|w| w == section);
    let mut report = Report::new("linear", "The sparse layer");
    if runs("factor") {
        factor(&mut report, "cloth 100²", &Springs::cloth(100), Ordering::Amd, 7);
        factor(&mut report, "tet bar, 10,125 vertices", &Springs::bar([44, 14, 14]), Ordering::NestedDissection, 5);
    }
    if runs("solve") {
        solve(&mut report, "cloth 32²", &Springs::cloth(32), Ordering::Amd, 200);
        solve(&mut report, "cloth 100²", &Springs::cloth(100), Ordering::Amd, 60);
        solve(&mut report, "cloth 200²", &Springs::cloth(200), Ordering::Amd, 20);
        solve(&mut report, "tet bar, 10,125 vertices", &Springs::bar([44, 14, 14]), Ordering::NestedDissection, 20);
    }
    if runs("assembly") {
        assembly(&mut report, 100, 20);
    }
    if runs("pcg") {
        pcg(&mut report, "tet bar, 10,125 vertices", &Springs::bar([44, 14, 14]), Ordering::NestedDissection, 5);
        pcg(&mut report, "cloth 100²", &Springs::cloth(100), Ordering::Amd, 5);
    }
    if runs("refined") {
        refined(&mut report, 7);
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    report.line(&format!(
        "\nLoad average of the machine at the end: {}. Above the number of cores, rows of two threads say nothing.",
        load.split(' ').next().unwrap_or("unknown")
    ));
    if wanted.is_empty() {
        report.save();
    }
}
