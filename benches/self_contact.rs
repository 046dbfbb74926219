//! Surfaces among themselves: what contact costs the cloth of scene `drape`, and what is left of intersections in hard scenes.
//!
//! `cargo bench --bench self_contact` prints the tables and writes `benches/results/self_contact.md`.

#[path = "../tests/stage/mod.rs"]
mod stage;
#[path = "../tests/contact/stages.rs"]
mod stages;
mod support;

use std::time::Instant;

use pliant::backends::Simd;
use pliant::core::body::{Body, Role};
use pliant::core::mesh::ClothGrid;
use pliant::core::schedule::LayoutChoice::{self, Auto, Rows};
use pliant::{Collider, Guard, SelfContact};
use support::Run;
use support::report::Report;

/// Side of the cloth in particles.
const N: usize = 100;
/// Frames of a fall, how often they are run, and the parts that are told apart: the fall, the slap, folds that swing, rest.
const FRAMES: usize = 400;
const RUNS: usize = 3;
const PARTS: [[usize; 2]; 7] = [[0, 15], [15, 35], [35, 60], [60, 120], [120, 200], [200, FRAMES], [0, FRAMES]];

/// Sets a scene up.
type Make = fn() -> stage::Stage<f32>;

/// Name, compliance of the bends \[m/N\], height it starts from and damping \[1/s\] of each cloth: that of the harness's scene `drape`, a
/// centimetre above the ball; the same from ten; and one with hard bends and no damping.
const CLOTHS: [(&str, f64, f64, f32); 3] = [
    ("scene `drape`", 1e-3, 0.56, 0.5),
    ("the same from 10 cm", 1e-3, 0.65, 0.5),
    ("hard bends, no damping", 0.0, 0.6, 0.0),
];

/// A cloth, how much it is damped \[1/s\], and what it falls on.
struct Fall {
    body: Body,
    damping: f32,
    colliders: [Collider; 2],
}

impl Fall {
    /// One of [`CLOTHS`], from somewhat higher up \[m\].
    fn new((_, compliance, height, damping): (&str, f64, f64, f32), higher: f64) -> Self {
        let cloth = Body::cloth(&ClothGrid::square(1.0, N)).expect("a grid").with_mass(0.2).with_thickness(0.005);
        let cloth = cloth.with_compliance(Role::Bend, compliance);
        let colliders = [
            Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6),
            Collider::sphere(0.3).at([0.0, 0.25, 0.0]).with_friction(0.4),
        ];
        Self { body: cloth.translated([-0.5, height + higher, -0.5]), damping, colliders }
    }
    fn run(&self, layout: LayoutChoice, colliders: bool, itself: bool) -> Run<f32, Simd<f32>> {
        let contact = SelfContact { thickness: 0.005, ..SelfContact::default() };
        let body = self.body.clone();
        let mut run = Run::new(&if itself { body.with_self_contact(contact) } else { body }, layout, 10, Simd::new());
        for collider in self.colliders.iter().filter(|_| colliders).cloned() {
            run.model.colliders_mut().push(collider).expect("valid");
        }
        run.model.environment.damping = self.damping;
        run.solver.prepare(&run.model).expect("prepared before");
        run
    }
}

/// Every frame of a fall from the same state three times: constraints alone (10 substeps of all links, with prediction and
/// velocities, no contact at all), with colliders, and with colliders and itself.
fn drape(report: &mut Report, name: &str, fall: &Fall, layout: LayoutChoice) {
    let mut seconds = [[f64::INFINITY; 3]; FRAMES];
    let mut bad = [0; FRAMES];
    for repeat in 0..RUNS {
        let mut alone = fall.run(layout, false, false);
        let mut without = fall.run(layout, true, false);
        let mut with = fall.run(layout, true, true);
        for (seconds, bad) in seconds.iter_mut().zip(&mut bad) {
            without.particles = with.particles.clone();
            alone.particles = with.particles.clone();
            for (run, seconds) in [&mut alone, &mut without, &mut with].into_iter().zip(seconds) {
                let start = Instant::now();
                run.frame();
                *seconds = seconds.min(start.elapsed().as_secs_f64());
            }
            // Every run is the same.
            if repeat == 0 {
                *bad = stage::intersections(with.model.surfaces(), &with.particles);
            }
        }
    }
    for [from, to] in PARTS {
        let mean = |k: usize| seconds[from..to].iter().map(|s| s[k]).sum::<f64>() / (to - from) as f64;
        let [links, base, full] = [mean(0), mean(1), mean(2)];
        report.line(&format!(
            "| {name} | {from} to {to} | {:.3} | {:.3} | {:.3} | {:.2} × | {:.2} × | {} |",
            1e3 * links,
            1e3 * (base - links),
            1e3 * (full - base),
            (full - base) / links,
            (full - links) / links,
            bad[from..to].iter().filter(|&&count| count > 0).count(),
        ));
    }
}

/// What is left of intersections after 200 frames of falls that differ by millimetres, and how far apart in the sheet.
fn heights(report: &mut Report, cloth: (&str, f64, f64, f32)) {
    let (mut left, mut most, mut farthest) = (Vec::new(), 0, 0.0_f64);
    for higher in [0.0, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05] {
        let mut run = Fall::new(cloth, higher).run(Auto, true, true);
        let rest = run.particles.x.clone();
        for _ in 0..200 {
            run.frame();
            let found = stage::piercings_of(run.model.surfaces(), &run.particles);
            most = most.max(found.len());
            for piercing in found {
                let middle = |corners: &[u32]| {
                    let sum = |k: usize| corners.iter().map(|&v| f64::from(rest.get(v as usize)[k])).sum::<f64>();
                    [0, 1, 2].map(|k| sum(k) / corners.len() as f64)
                };
                let (a, b) = (middle(&piercing.edge), middle(&piercing.triangle));
                let apart = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
                farthest = farthest.max(apart * (N - 1) as f64);
            }
        }
        left.push(stage::intersections(run.model.surfaces(), &run.particles));
    }
    let left: Vec<String> = left.iter().map(usize::to_string).collect();
    report.line(&format!("| {} | {} | {most} | {farthest:.1} |", cloth.0, left.join(", ")));
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
        "## A frame of 10 substeps of a {N} × {N} cloth that falls over a ball, AVX2\n\n\
         Means of frames, each the fastest of {RUNS} runs.\n\n\
         | cloth | frames | ms for constraints alone | for colliders | for self contact \
         | self contact against constraints | all contact against constraints | frames with intersections |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |"
    ));
    for cloth in CLOTHS {
        for (order, layout) in [("mesh", Rows), ("grid", Auto)] {
            drape(&mut report, &format!("{}, as a {order}", cloth.0), &Fall::new(cloth, 0.0), layout);
        }
    }
    report.line(
        "\n## The same from 0, 1, 2, 3, 5, 10, 20 and 50 mm higher up, 200 frames each\n\n\
         | cloth | intersections left in the end | most in any frame | farthest apart in the sheet, edges |\n\
         | --- | --- | --- | --- |",
    );
    CLOTHS.into_iter().for_each(|cloth| heights(&mut report, cloth));
    report.line(
        "\n## Intersections that remain, by an exact test after every step\n\n\
         | scene | mode | steps with any | most at once | farthest miss, mm | ms a step, test included |\n\
         | --- | --- | --- | --- | --- | --- |",
    );
    count(&mut report);
    report.save();
}
