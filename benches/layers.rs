//! Coarse layers: how long does stiff cloth of 200 × 200 take to a given stretch, with them and without?
//!
//! The curtain of every comparison, five seconds; mean stretch of the elongated structural links over the last one, and the
//! fastest frame. `cargo bench --bench layers` prints the table and writes `benches/results/layers.md`.

mod support;

use std::time::Instant;

use pliant::backends::Simd;
use pliant::core::model::Model;
use pliant::core::solver::Solver;
use pliant::solvers::{Colored, LayerOptions, XpbdOn};
use support::report::Report;
use support::{FRAME, Stretch, curtain};

/// Mean stretch \[%\] and fastest frame \[ms\].
fn hang(n: usize, mut solver: XpbdOn<Colored, f32>) -> (f64, f64) {
    let body = curtain(n);
    let (mut model, mut particles) = Model::<f32>::build(&[&body]).expect("a valid body");
    model.environment.damping = 0.1;
    let on = Simd::<f32>::new();
    Solver::<Simd<f32>>::prepare(&mut solver, &model).expect("valid options");
    let (mut stretch, mut best) = (Stretch::default(), f64::INFINITY);
    for frame in 0..300 {
        let start = Instant::now();
        solver.step(&model, &mut particles, FRAME, &on).expect("a stable step");
        best = best.min(start.elapsed().as_secs_f64());
        if frame >= 240 {
            stretch.add(&body, &particles);
        }
    }
    (stretch.mean(), best * 1e3)
}

fn main() {
    let mut report = Report::new("layers", "Coarse layers under XPBD");
    for n in [100, 200] {
        let plain: Vec<_> =
            [10, 15, 20, 26, 30, 40].map(|substeps| (substeps, hang(n, XpbdOn::with_substeps(substeps)))).to_vec();
        report.line(&format!(
            "\n## N = {n}\n\n| | substeps | mean stretch % | ms a frame | of the time without layers at that stretch |\n\
             | --- | --- | --- | --- | --- |"
        ));
        for (substeps, (stretch, ms)) in &plain {
            report.line(&format!("| plain | {substeps} | {stretch:.3} | {ms:.3} | |"));
        }
        for substeps in [2, 3, 4, 6] {
            let solver = XpbdOn::with_substeps(substeps).with_layers(LayerOptions::default());
            let (stretch, ms) = hang(n, solver);
            // Between two rows of the table, stretch and time are interpolated as powers of the number of substeps.
            let share = plain.windows(2).find(|w| w[0].1.0 >= stretch && w[1].1.0 < stretch).map(|w| {
                let [(_, (s0, t0)), (_, (s1, t1))] = [w[0], w[1]];
                let at = (stretch / s0).ln() / (s1 / s0).ln();
                ms / (t0 * (t1 / t0).powf(at))
            });
            let share = share.map_or("outside the table".into(), |share| format!("{share:.2}"));
            report.line(&format!("| layers | {substeps} | {stretch:.3} | {ms:.3} | {share} |"));
        }
    }
    report.save();
}
