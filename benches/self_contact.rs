//! Surfaces among themselves: what contact costs in the drape scene, and what is left of intersections in hard scenes.
//!
//! `cargo bench --bench self_contact` prints the tables and writes `benches/results/self_contact.md`.

#[path = "../solvers/tests/methods/stage/mod.rs"]
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

/// Side of the cloth in particles.
const N: usize = 100;
/// Frames that are timed, and how often.
const FRAMES: usize = 20;
const RUNS: usize = 4;

/// Sets a scene up.
type Make = fn() -> stage::Stage<f32>;

/// A cloth over a ball and the floor from the same state three times: its constraints alone (10 substeps of all links, with
/// prediction and velocities, no contact at all), with colliders, and with colliders and itself.
fn drape(report: &mut Report) {
    let cloth = Body::cloth(&ClothGrid::square(1.0, N)).expect("a grid").with_mass(0.2).with_thickness(0.005);
    let plain = cloth.translated([-0.5, 0.6, -0.5]);
    let contact = SelfContact { thickness: 0.005, ..SelfContact::default() };
    let colliders = [
        Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6),
        Collider::sphere(0.3).at([0.0, 0.25, 0.0]).with_friction(0.4),
    ];
    let make = |body: &Body, colliders: &[Collider]| {
        let mut run = Run::new(body, Auto, 10, Simd::new());
        for collider in colliders.iter().cloned() {
            run.model.colliders_mut().push(collider).expect("valid");
        }
        run.solver.prepare(&run.model).expect("prepared before");
        run
    };
    for frames in [15, 60, 180, 400] {
        // The same frames several times, from the same states with and without: the fastest of each counts.
        let mut seconds = [[f64::INFINITY; FRAMES]; 3];
        let mut left = 0;
        for _ in 0..RUNS {
            let mut with = make(&plain.clone().with_self_contact(contact), &colliders);
            let mut without = make(&plain, &colliders);
            let mut alone = make(&plain, &[]);
            (0..frames).for_each(|_| with.frame());
            for k in 0..FRAMES {
                without.particles = with.particles.clone();
                alone.particles = with.particles.clone();
                for (run, seconds) in [&mut alone, &mut without, &mut with].into_iter().zip(&mut seconds) {
                    let start = Instant::now();
                    run.frame();
                    seconds[k] = seconds[k].min(start.elapsed().as_secs_f64());
                }
            }
            left = stage::intersections(with.model.surfaces(), &with.particles);
        }
        let mut never = make(&plain, &colliders);
        (0..frames + FRAMES).for_each(|_| never.frame());
        let surfaces = make(&plain.clone().with_self_contact(contact), &[]);
        let without_contact = stage::intersections(surfaces.model.surfaces(), &never.particles);
        let [links, base, full] = seconds.map(|seconds| seconds.iter().sum::<f64>() / FRAMES as f64);
        let mut ratios: Vec<f64> = (0..FRAMES).map(|k| seconds[2][k] / seconds[1][k] - 1.0).collect();
        ratios.sort_by(f64::total_cmp);
        report.line(&format!(
            "| {frames} frames | {:.3} | {:.3} | {:.3} | {:.2} × | {:.2}, {:.2}, {:.2} × | {:.2} × | {:.2} × | {without_contact} | {left} |",
            1e3 * links,
            1e3 * base,
            1e3 * full,
            (full - base) / base,
            ratios[0],
            ratios[FRAMES / 2],
            ratios[FRAMES - 1],
            (full - base) / links,
            (full - links) / links,
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
         Means of {FRAMES} frames, each the fastest of {RUNS} runs.\n\n\
         | after | ms for constraints alone | with colliders | and self contact | self contact against the rest \
         | in the best, the middle and the worst frame | against constraints alone | all contact against constraints alone \
         | intersections {FRAMES} frames later, never any contact | with it |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
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
