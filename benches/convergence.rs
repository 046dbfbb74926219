//! Quality a millisecond: how much does stiff cloth stretch, and what does a frame cost?
//!
//! The scene of every comparison: 1 m × 1 m, 0.2 kg, two pinned corners, all constraints rigid, dt 1/60 s, damping 0.1/s,
//! ten seconds; mean and maximum stretch of the elongated structural links over the last second.
//! `cargo bench --bench convergence` prints the table and writes `benches/results/convergence.md`.

mod support;

use std::time::Instant;

use pliant::backends::{Best, Simd};
use pliant::core::backend::Backend;
use pliant::core::body::{Bending, Body};
use pliant::core::mesh::shuffled_sheet;
use pliant::core::schedule::LayoutChoice::{self, Auto, Rows};
use support::report::Report;
use support::textbook::Textbook;
use support::timing::{Contender, race};
use support::{FRAME, Run, Stretch, curtain};

/// Simulates ten seconds; returns the stretch over the last one and the fastest frame \[ms\].
fn hang<B: Backend<Scalar = f32>>(body: &Body, layout: LayoutChoice, substeps: usize, on: B) -> (Stretch, f64) {
    let mut run = Run::new(body, layout, substeps, on);
    run.model.environment.damping = 0.1;
    let (mut stretch, mut best) = (Stretch::default(), f64::INFINITY);
    for frame in 0..600 {
        let start = Instant::now();
        run.frame();
        best = best.min(start.elapsed().as_secs_f64());
        if frame >= 540 {
            stretch.add(body, &run.particles);
        }
    }
    (stretch, best * 1e3)
}

fn row(report: &mut Report, name: &str, substeps: usize, (stretch, ms): (Stretch, f64), budget: f64) {
    report.line(&format!(
        "| {name} | {substeps} | {:.2} | {:.1} | {ms:.3} | {:.3} |",
        stretch.mean(),
        stretch.max(),
        ms / budget
    ));
}

fn main() {
    let mut report = Report::new("convergence", "Stretch of stiff cloth");
    for n in [32_usize, 100] {
        let body = curtain(n);
        let tethered = body.clone().with_tethers(0.0);
        let mut plain = Textbook::links(&body, &[0, n as u32 - 1]);
        let mut loops = [Contender::new("textbook", 1.0, || plain.frame(FRAME, 10))];
        race(&mut loops, 30);
        let budget = loops[0].seconds() * 1e3;
        report.line(&format!(
            "\n## N = {n}; the textbook loop takes {budget:.3} ms for a frame of 10 substeps\n\n\
             | | substeps | mean stretch % | max % | ms a frame | of the textbook frame |\n\
             | --- | --- | --- | --- | --- | --- |"
        ));
        for substeps in [5, 10, 15, 20, 50] {
            row(&mut report, "AVX2, contiguous", substeps, hang(&body, Auto, substeps, Simd::new()), budget);
            row(&mut report, "AVX2, indexed", substeps, hang(&body, Rows, substeps, Simd::new()), budget);
            row(&mut report, "all cores, contiguous", substeps, hang(&body, Auto, substeps, Best::new()), budget);
        }
        for substeps in [1, 2, 5, 8, 10, 12, 20] {
            row(&mut report, "AVX2, tethers", substeps, hang(&tethered, Auto, substeps, Simd::new()), budget);
            row(&mut report, "all cores, tethers", substeps, hang(&tethered, Auto, substeps, Best::new()), budget);
        }
        if n == 100 {
            let mesh = shuffled_sheet(n, 1.0, 7).expect("a valid sheet");
            let corner = |x: f64, z: f64| {
                let distance = |p: &ultraviolet::DVec3| (p.x - x).powi(2) + (p.z - z).powi(2);
                let nearest =
                    (mesh.positions().iter().enumerate()).min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
                nearest.map_or(0, |(i, _)| i as u32)
            };
            let pins = [corner(0.0, 0.0), corner(1.0, 0.0)];
            let sheet = Body::surface(&mesh, Bending::CrossLinks).expect("a manifold mesh").with_mass(0.2).pinned(pins);
            for substeps in [10, 20] {
                row(&mut report, "AVX2, shuffled mesh", substeps, hang(&sheet, Auto, substeps, Simd::new()), budget);
            }
        }
    }
    report.save();
}
