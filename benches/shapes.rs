//! Shape matching on lanes against its scalar form, in one run: nanoseconds a member and pass.
//!
//! `cargo bench --bench shapes` prints the tables and writes `benches/results/shapes.md`.

mod support;

use pliant::backends::{Parallel, Scalar, Simd};
use pliant::core::backend::{Backend, Cut, Task};
use pliant::core::body::Body;
use pliant::core::lane::{BLOCK, Lane, Octet};
use pliant::core::mat3::Mat3;
use pliant::core::matching::{Deformation, Grouping, Matching, Plasticity};
use pliant::core::model::Model;
use pliant::core::polar::{polar, rotation};
use pliant::core::solver::Solver;
use pliant::core::vec3::Vec3;
use pliant::solvers::{ShapeMatching, ShapeMatchingOptions};
use support::FRAME;
use support::report::Report;
use support::timing::{Contender, race};

/// Passes over the clusters a step: many, so that a step is matching and little else.
const PASSES: usize = 50;

/// Numbers from −1 to 1.
fn noise(i: usize) -> f64 {
    let mut n = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    n ^= n >> 29;
    n = n.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
}

/// Separate clouds of `size` particles, one cluster each.
fn clouds(clusters: usize, size: usize, matching: Matching) -> Body {
    let place = |i: usize| {
        let (c, k) = ((i / size) as f64, i * 3);
        [0.3 * (c % 32.0) + 0.1 * noise(k), 0.1 * noise(k + 1), 0.3 * (c / 32.0).floor() + 0.1 * noise(k + 2)]
    };
    let mut body = Body::particles((0..clusters * size).map(place)).with_mass(clusters as f64);
    for c in 0..clusters {
        body = body.with_cluster((c * size) as u32..((c + 1) * size) as u32, matching);
    }
    body
}

/// A cube of n³ particles with overlapping clusters around every second of them.
fn cube(n: usize, matching: Matching) -> Body {
    let places = (0..n * n * n).map(|i| [i % n, i / n % n, i / n / n].map(|c| 0.05 * c as f64));
    Body::particles(places).with_clusters(Grouping::Lattice { cell: 0.1, reach: 1 }, matching).expect("a cell above 0")
}

/// A step of so many substeps with so many passes each, on any backend.
fn stepper<'a, B: Backend<Scalar = f32> + 'a>(
    name: &str,
    body: &Body,
    (substeps, iterations): (usize, usize),
    on: B,
) -> Contender<'a> {
    let (mut model, start) = Model::<f32>::build(&[body]).expect("a valid body");
    model.environment.gravity = [0.0; 3];
    let mut solver = ShapeMatching::new(ShapeMatchingOptions { substeps, iterations });
    Solver::<B>::prepare(&mut solver, &model).expect("clusters");
    let mut particles = start;
    let members: usize = body.clusters().iter().map(|c| c.particles.len()).sum();
    Contender::new(name, (members * substeps * iterations) as f64, move || {
        solver.step(&model, &mut particles, FRAME, &on).expect("a stable step");
    })
}

fn passes(report: &mut Report) {
    report.line(&format!(
        "\n## A pass over clusters, ns a member ({PASSES} passes a step; prediction, packing and checks included)\n\n\
         | | scalar | AVX2 | ratio | two threads |\n| --- | --- | --- | --- | --- |"
    ));
    let linear = Matching::soft(0.9).with_deformation(Deformation::Linear { share: 0.5 });
    let quadratic = Matching::soft(0.9).with_deformation(Deformation::Quadratic { share: 0.5 });
    let plastic = linear.with_plasticity(Plasticity { yields_at: 0.1, creep: 1.0, bound: 0.5 });
    let cases = [
        ("1,000 clusters × 50 particles, rigid", clouds(1000, 50, Matching::RIGID)),
        ("1,000 × 50, linear", clouds(1000, 50, linear)),
        ("1,000 × 50, linear and plastic", clouds(1000, 50, plastic)),
        ("1,000 × 50, quadratic", clouds(1000, 50, quadratic)),
        ("5,000 × 10, rigid", clouds(5000, 10, Matching::RIGID)),
        ("10 × 5,000, rigid", clouds(10, 5000, Matching::RIGID)),
        ("cube of 20³, overlapping clusters of up to 216", cube(20, linear)),
    ];
    for (name, body) in &cases {
        let mut all = [
            stepper("scalar", body, (1, PASSES), Scalar::new()),
            stepper("simd", body, (1, PASSES), Simd::new()),
            stepper("parallel", body, (1, PASSES), Parallel::with_threads(2)),
        ];
        race(&mut all, 12);
        let [scalar, simd, parallel] = [&all[0], &all[1], &all[2]].map(Contender::nanoseconds);
        report.line(&format!("| {name} | {scalar:.2} | {simd:.2} | {:.1}× | {parallel:.2} |", scalar / simd));
    }
}

/// Whole frames, as applications run them.
fn frames(report: &mut Report) {
    report.line(
        "\n## A frame of 10 substeps, one pass each, ms\n\n| | scalar | AVX2 | ratio | two threads |\n\
         | --- | --- | --- | --- | --- |",
    );
    for (name, body) in [
        ("1,000 clusters × 50 particles, rigid", clouds(1000, 50, Matching::RIGID)),
        ("cube of 20³, overlapping clusters of up to 216", cube(20, Matching::soft(0.7))),
    ] {
        let mut all = [
            stepper("scalar", &body, (10, 1), Scalar::new()),
            stepper("simd", &body, (10, 1), Simd::new()),
            stepper("parallel", &body, (10, 1), Parallel::with_threads(2)),
        ];
        race(&mut all, 20);
        let [scalar, simd, parallel] = [&all[0], &all[1], &all[2]].map(|c| 1e3 * c.seconds());
        report.line(&format!("| {name} | {scalar:.2} | {simd:.2} | {:.1}× | {parallel:.2} |", scalar / simd));
    }
}

/// Rotations of blocks of eight matrices: nine octets in, nine out.
struct Turn {
    warm: bool,
}

impl Task<[Octet<f32>; 18]> for Turn {
    type Scalar = f32;
    #[inline(always)]
    fn run<L: Lane<Scalar = f32>>(&self, _: usize, own: &mut [[Octet<f32>; 18]]) {
        for k in 0..own.len() {
            let mut at = 0;
            while at < BLOCK {
                let mut a = Mat3::diagonal(L::zero());
                for c in 0..3 {
                    let [x, y, z] = [&own[k][3 * c], &own[k][3 * c + 1], &own[k][3 * c + 2]];
                    a.columns[c] = Vec3::new(L::load(x, at), L::load(y, at), L::load(z, at));
                }
                let r = if self.warm { polar(a, Mat3::diagonal(L::one()), 2).rotation } else { rotation(a) };
                for c in 0..3 {
                    r.columns[c].x.store(&mut own[k][9 + 3 * c], at);
                    r.columns[c].y.store(&mut own[k][10 + 3 * c], at);
                    r.columns[c].z.store(&mut own[k][11 + 3 * c], at);
                }
                at += L::WIDTH;
            }
        }
    }
}

fn turner<'a, B: Backend<Scalar = f32> + 'a>(name: &str, warm: bool, on: B) -> Contender<'a> {
    let blocks = 500;
    let mut data: Vec<[Octet<f32>; 18]> = (0..blocks)
        .map(|b| core::array::from_fn(|k| Octet(core::array::from_fn(|l| noise(b * 144 + k * 8 + l) as f32))))
        .collect();
    Contender::new(name, (blocks * BLOCK) as f64, move || on.fork(&Turn { warm }, Cut::Every(50), &mut data))
}

fn rotations(report: &mut Report) {
    let mut all = [
        turner("any matrix", false, Scalar::new()),
        turner("any matrix", false, Simd::new()),
        turner("from a guess, two sweeps", true, Scalar::new()),
        turner("from a guess, two sweeps", true, Simd::new()),
    ];
    race(&mut all, 60);
    report.line(
        "\n## The rotation nearest to a 3 × 3 matrix, ns a matrix\n\n| | scalar | AVX2 | ratio |\n| --- | --- | --- | --- |",
    );
    for pair in all.chunks(2) {
        let [scalar, simd] = [&pair[0], &pair[1]].map(Contender::nanoseconds);
        report.line(&format!("| {} | {scalar:.1} | {simd:.1} | {:.1}× |", pair[0].name, scalar / simd));
    }
}

fn main() {
    let mut report = Report::new("shapes", "Shape matching");
    passes(&mut report);
    frames(&mut report);
    rotations(&mut report);
    report.save();
}
