//! Surfaces among themselves: what contact costs in the drape scene, and what is left of intersections in hard scenes.
//!
//! `cargo bench --bench self_contact` prints the tables and writes `benches/results/self_contact.md`.

#[path = "../solvers/tests/stage/mod.rs"]
mod stage;
#[path = "../tests/contact/stages.rs"]
mod stages;
mod support;

use std::time::Instant;

use pliant::backends::Simd;
use pliant::core::body::Body;
use pliant::core::mesh::ClothGrid;
use pliant::core::schedule::LayoutChoice::Auto;
use pliant::{Collider, Guard, SelfContact};
use support::Run;
use support::report::Report;
use support::timing::{Contender, race};

/// Side of the cloth in particles.
const N: usize = 100;
/// Frames that are timed.
const ROUNDS: usize = 20;

/// Sets a scene up.
type Make = fn() -> stage::Stage<f32>;

/// A cloth over a ball and the floor, with and without contact with itself, from the same state.
fn drape(report: &mut Report) {
    let cloth = Body::cloth(&ClothGrid::square(1.0, N)).expect("a grid").with_mass(0.2).with_thickness(0.005);
    let plain = cloth.translated([-0.5, 0.6, -0.5]);
    let contact = SelfContact { thickness: 0.005, ..SelfContact::default() };
    let make = |body: &Body| {
        let mut run = Run::new(body, Auto, 10, Simd::new());
        for collider in [
            Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6),
            Collider::sphere(0.3).at([0.0, 0.25, 0.0]).with_friction(0.4),
        ] {
            run.model.colliders_mut().push(collider).expect("valid");
        }
        run.solver.prepare(&run.model).expect("prepared before");
        run
    };
    for frames in [15, 60] {
        let mut with = make(&plain.clone().with_self_contact(contact));
        (0..frames).for_each(|_| with.frame());
        let mut without = make(&plain);
        without.particles = with.particles.clone();
        let mut never = make(&plain);
        (0..frames + ROUNDS).for_each(|_| never.frame());
        let mut all =
            [Contender::new("without", 1.0, || without.frame()), Contender::new("with", 1.0, || with.frame())];
        race(&mut all, ROUNDS);
        let [base, full] = [all[0].seconds(), all[1].seconds()];
        drop(all);
        let left = [&never, &with].map(|run| stage::intersections(with.model.surfaces(), &run.particles));
        report.line(&format!(
            "| {frames} frames | {:.3} | {:.3} | {:.2} × | {} | {} |",
            1e3 * base,
            1e3 * full,
            (full - base) / base,
            left[0],
            left[1]
        ));
    }
}

/// Intersections over hard scenes, step by step.
fn count(report: &mut Report) {
    let scenes: [(&str, Make, usize); 2] = [
        ("twist, 10 turns, 6 × 18", || stage::twist::<f32>(6, 1.0), 600),
        ("stack of 10 layers of 8 × 8 on a ball", || stage::stack::<f32>(10, 8, 0.0), 120),
    ];
    for (name, stage, steps) in scenes {
        let guards = [
            ("in real time", None),
            ("real time, truncated", Some(Guard::Truncation { passes: 3 })),
            ("real time, interior point", Some(Guard::default())),
        ];
        for (mode, guard) in guards {
            let start = Instant::now();
            let (counts, missed) = stages::run(&mut stage(), guard, steps);
            let mean = 1e3 * start.elapsed().as_secs_f64() / steps as f64;
            let bad = counts.iter().filter(|&&c| c > 0).count();
            let most = counts.iter().max().copied().unwrap_or_default();
            report.line(&format!("| {name} | {mode} | {bad} of {steps} | {most} | {:.1} | {mean:.2} |", 1e3 * missed));
        }
    }
}

fn main() {
    let mut report = Report::new("self_contact", "Surfaces among themselves");
    report.line(&format!(
        "## A frame of 10 substeps of a {N} × {N} cloth draped over a ball, AVX2\n\n\
         | after | ms without self contact | ms with | self contact against the rest | intersections {ROUNDS} frames later, never any contact \
         | with it |\n| --- | --- | --- | --- | --- | --- |"
    ));
    drape(&mut report);
    report.line(
        "\n## Intersections that remain, by an exact test after every step\n\n\
         | scene | mode | steps with any | most at once | farthest miss, mm | ms a step, test included |\n\
         | --- | --- | --- | --- | --- | --- |",
    );
    count(&mut report);
    report.save();
}
