//! Runs one scene and exports what happens.

use std::path::Path;
use std::time::Instant;

use crate::cli::{Export, RunArgs, say};
use crate::compare::{PASSED, progress};
use crate::export::{self, Frame};
use crate::failure::Failure;
use crate::registry::Harness;
use crate::scene::file::{self, Setting};
use crate::simulation::{self, Choice};
use crate::{interrupt, output};

/// `pliant run`.
pub fn run(harness: &Harness, args: &RunArgs) -> Result<(), Failure> {
    let (scene, setting) = if let Ok(entry) = harness.scene(&args.scene) {
        let scene = entry.scene()?;
        let setting = Setting::of(&scene);
        (scene, setting)
    } else {
        file::read(harness, Path::new(&args.scene))?
    };
    for (name, count) in [("--frames", args.frames), ("--every", args.every)] {
        if count == Some(0) {
            return Err(Failure::Input(format!("{name} is 0; expected 1 or more")));
        }
    }
    let frames = args.frames.unwrap_or(scene.frames);
    let picture = args.export == Some(Export::Png);
    let every = args.every.unwrap_or(if picture { frames } else { 1 });
    let choice = Choice {
        solver: harness.solver(args.solver.as_deref().unwrap_or(&setting.solver))?,
        backend: args.backend.as_deref().unwrap_or(&setting.backend),
        precision: args.precision.as_deref().unwrap_or(&setting.precision),
        threads: None,
        work: setting.work,
    };
    let mut run = simulation::start(&scene, choice)?;
    if args.export.is_some() {
        output::prepare_directory(&args.out)?;
    }
    let softened = run.setup().softened;
    if softened > 0 {
        eprintln!(
            "note: {} ran on springs it can carry: {softened} constraints softened or replaced",
            choice.solver.name
        );
    }

    if choice.solver.facing(&scene).parts_late() && scene.has_layers() {
        eprintln!(
            "note: {} pushes surfaces apart after it has found its minimum, which stiff bodies and cloth under load bear badly; \
             newton-apart keeps them apart inside it",
            choice.solver.name
        );
    }

    for warning in run.warnings() {
        eprintln!("note: {warning}");
    }

    interrupt::listen();
    let bar = progress(frames);
    let mut saved = Vec::new();
    if args.export.is_some() && !picture {
        saved.push(Frame::of(&*run, 0));
    }
    let begin = Instant::now();
    for step in 1..=frames {
        if interrupt::requested() {
            return Err(Failure::Interrupted(format!(
                "stopped after {} of {frames} frames; nothing was written",
                step - 1
            )));
        }
        run.frame()?;
        if args.export.is_some() && step % every == 0 {
            saved.push(Frame::of(&*run, step));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let ms = begin.elapsed().as_secs_f64() * 1e3 / frames as f64;
    if let Some(format) = args.export {
        export::write(format, &saved, &args.out)?;
    }
    if run.unsettled() > 0 {
        let (name, count) = (choice.solver.name, run.unsettled());
        eprintln!(
            "note: {name} ended {count} of {frames} frames before it had converged: links may be longer than they should"
        );
    }
    let passages = run.passages();
    if passages.any() {
        eprintln!("note: {passages}");
    } else if passages.triangles.is_some() {
        eprintln!("note: no edge passes through a triangle in the last frame");
    }
    let state = run.state();
    say(&format!(
        "{}: {} on {} in {}, {frames} frames, {ms:.3} ms a frame, max strain {:.3} %, energy {:.6} J, state {:016x}: {}",
        scene.name,
        choice.solver.name,
        if choice.solver.uses_backend { choice.backend } else { "scalar" },
        choice.precision,
        100.0 * state.max_strain,
        state.energy,
        state.hash,
        if passages.any() { format!("{PASSED}: {passages}") } else { "ok".to_owned() }
    ));
    Ok(())
}
