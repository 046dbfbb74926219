//! Stability: rigid cloth for thousands of frames at every substep count, also with a 1000:1 mass ratio.
//!
//! `cargo bench --bench stability` runs 1,000 frames a case; `-- --full` runs 10,000 (a quarter of an hour) and writes
//! `benches/results/stability.md`. No damping: whatever the solver adds to the energy stays and shows.

mod support;

use pliant::backends::Best;
use pliant::core::schedule::LayoutChoice::Auto;
use support::report::Report;
use support::{Run, curtain};

fn main() {
    let full = std::env::args().any(|a| a == "--full");
    let frames = if full { 10_000 } else { 1_000 };
    let mut report = Report::new("stability", &format!("Stability over {frames} frames, compliance 0, no damping"));
    report.line("| N | cloth | substeps | largest coordinate reached, m | fastest particle at the end, m/s |");
    report.line("| --- | --- | --- | --- | --- |");
    for n in [32_usize, 100, 200] {
        for (name, mass, heavy) in [
            ("0.2 kg/m²", 0.2, 1.0),
            ("0.2 kg/m², free corners 1000 × heavier", 0.2, 1000.0),
            ("0.15 kg/m²", 0.15, 1.0),
        ] {
            for substeps in [1, 2, 5, 10, 20, 50] {
                let body = curtain(n).with_mass(mass);
                let corners = [n * n - n, n * n - 1];
                let masses: Vec<f64> = (body.masses().iter().enumerate())
                    .map(|(i, m)| if corners.contains(&i) { m * heavy } else { *m })
                    .collect();
                let mut run = Run::new(&body.with_masses(masses), Auto, substeps, Best::new());
                let largest = |columns: &pliant::core::columns::Columns<f32>| {
                    columns.axes().into_iter().flatten().fold(0.0_f32, |a, b| a.max(b.abs()))
                };
                let mut reach = 0.0_f32;
                for _ in 0..frames {
                    run.frame();
                    reach = reach.max(largest(&run.particles.x));
                }
                let speed = largest(&run.particles.v);
                report.line(&format!("| {n} | {name} | {substeps} | {reach:.2} | {speed:.2} |"));
            }
        }
    }
    if full {
        report.save();
    }
}
