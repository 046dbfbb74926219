//! Work and precision: how near every method comes to the minimum of implicit Euler, and how long it takes.
//!
//! All methods take the same step from the same state. The reference is the step that Newton's method in double precision
//! takes when it is left to converge. A method is measured at rising iteration counts; what it cannot carry is a status.

mod methods;
mod problem;
mod reach;
mod row;
mod trial;

use std::io::IsTerminal as _;

use pliant::backends::AnyBackend;

use crate::cli::{CompareArgs, Format, say};
use crate::compare::{csv, progress};
use crate::failure::{Failure, unknown};
use crate::registry::Harness;
use crate::simulation::PRECISIONS;
use crate::{interrupt, output, report};

pub use reach::{LEVELS, MEASURES, Measure, reaches};
pub use row::StudyRow;

/// Scenes of the study, with the frames that pass before the step that is measured.
const SCENES: [(&str, usize); 4] =
    [("stiff-curtain", 20), ("soft-jelly", 12), ("heavy-rope", 20), ("compressed-sheet", 0)];
/// Frames that pass on scenes that are not in the list.
const FRAMES: usize = 10;

/// What the study found.
pub struct Study {
    /// One row a method, iteration count, precision and scene.
    pub rows: Vec<StudyRow>,
    /// One line a scene about its reference.
    pub references: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// `pliant compare --precision-study`.
pub fn run(harness: &Harness, args: &CompareArgs) -> Result<(), Failure> {
    if args.shard.is_some() {
        return Err(Failure::Input("--shard is not for --precision-study; spread it by --scenes".to_owned()));
    }
    for (name, count) in [("--frames", args.frames), ("--threads", args.threads)] {
        if count == Some(0) {
            return Err(Failure::Input(format!("{name} is 0; expected 1 or more")));
        }
    }
    let names: Vec<String> = match &args.scenes {
        Some(names) => names.iter().map(|name| name.trim().to_owned()).collect(),
        None => SCENES.map(|(name, _)| name.to_owned()).to_vec(),
    };
    let mut scenes = Vec::new();
    for name in &names {
        let before = SCENES.iter().find(|(known, _)| known == name).map_or(FRAMES, |(_, frames)| *frames);
        scenes.push((harness.scene(name)?, args.frames.unwrap_or(before)));
    }
    let solvers = args.solvers.clone().unwrap_or_else(|| methods::solvers().map(str::to_owned).to_vec());
    if let Some(name) = solvers.iter().find(|name| !methods::solvers().contains(&name.as_str())) {
        return Err(unknown("solver of the study", name, methods::solvers()));
    }
    let precisions = args.precision.clone().unwrap_or_else(|| vec!["f64".to_owned()]);
    if let Some(name) = precisions.iter().find(|name| !PRECISIONS.contains(&name.as_str())) {
        return Err(unknown("precision", name, PRECISIONS));
    }
    let available = AnyBackend::<f64>::names();
    let backend = match args.backends.as_deref() {
        None => if available.contains(&"simd") { "simd" } else { "scalar" }.to_owned(),
        Some([one]) => one.clone(),
        Some(_) => return Err(Failure::Input("--precision-study runs on one backend; expected one name".to_owned())),
    };
    if !available.contains(&backend.as_str()) {
        return Err(unknown("backend", &backend, available));
    }
    output::prepare_directory(&args.out)?;
    interrupt::listen();

    let bar = progress(scenes.len() * precisions.len());
    let mut study = Study { rows: Vec::new(), references: Vec::new(), interrupted: false };
    for (entry, frames) in &scenes {
        bar.set_message(entry.name);
        let problem = problem::Problem::new(&entry.scene()?, *frames)?;
        study.references.push(problem.about());
        for precision in &precisions {
            if interrupt::requested() {
                break;
            }
            let settings =
                trial::Settings { backend: &backend, threads: args.threads, quick: args.quick, solvers: &solvers };
            study.rows.extend(match precision.as_str() {
                "f32" => trial::measure::<f32>(&problem, &settings)?,
                _ => trial::measure::<f64>(&problem, &settings)?,
            });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    study.interrupted = interrupt::requested();
    finish(&study, args)
}

fn finish(study: &Study, args: &CompareArgs) -> Result<(), Failure> {
    let broken = |error: serde_json::Error| Failure::Input(format!("cannot write the rows: {error}"));
    let json = serde_json::to_string_pretty(&study.rows).map_err(broken)?;
    output::write(&args.out.join("precision.json"), json.as_bytes())?;
    match args.format {
        Format::Table => say(row::text(study).trim_end()),
        Format::Json => say(&json),
        Format::Csv => say(csv(&study.rows)?.trim_end()),
    }
    let page = args.out.join("precision.html");
    output::write(&page, report::study(study).as_bytes())?;
    if std::io::stderr().is_terminal() {
        eprintln!("report: {}", page.display());
    }
    if study.interrupted {
        return Err(Failure::Interrupted(format!("stopped after {} rows; the report is partial", study.rows.len())));
    }
    Ok(())
}
