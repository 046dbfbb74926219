//! The command line: what can be asked for, and how a command ends.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::{Failure, one_line};
use crate::registry::Harness;
use crate::{compare, info, merge, run, soak, validate};

/// Compare, run and validate the methods of the pliant solver kit.
#[derive(Parser)]
#[command(name = "pliant", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure solvers and backends on the same scenes; writes a report.
    Compare(CompareArgs),
    /// Run a scene file, or a built-in scene, and export what happens.
    Run(RunArgs),
    /// Check this build against reference data and known solutions.
    Validate(ValidateArgs),
    /// Run every solver for long, with contacts, edits, tears and snapshots, and check every step.
    Soak(SoakArgs),
    /// Join the results of several shards into one report.
    Merge(MergeArgs),
    /// List the built-in scenes and what each tests.
    Scenes,
    /// Say what this build is and where it runs.
    Info,
}

/// Arguments of `compare`.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Scenes to run (see `pliant scenes`).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub scenes: Option<Vec<String>>,
    /// Solvers to run; all of this build unless given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub solvers: Option<Vec<String>>,
    /// Backends to run on; all of this build unless given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub backends: Option<Vec<String>>,
    /// Precisions: f32, f64 or both; f32 unless given, f64 for the precision study.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub precision: Option<Vec<String>>,
    /// Frames a run; for the precision study, frames before the step that is measured.
    #[arg(long, value_name = "N")]
    pub frames: Option<usize>,
    /// Substeps a frame.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub substeps: usize,
    /// Passes over the constraints a substep.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub iterations: usize,
    /// Threads of the parallel backend; every core unless given.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// A small selection that takes seconds.
    #[arg(long)]
    pub quick: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Where the report goes.
    #[arg(long, value_name = "DIR", default_value = "target/pliant-report")]
    pub out: PathBuf,
    /// Run the I-th of N equal parts of the chosen rows.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Time against error to the converged implicit-Euler step, for rising iteration counts (precision.html).
    #[arg(long)]
    pub precision_study: bool,
}

/// Arguments of `run`.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// A scene file (see docs/scene-format.md) or the name of a built-in scene.
    #[arg(value_name = "SCENE.toml")]
    pub scene: String,
    /// Frames to run.
    #[arg(long, value_name = "N")]
    pub frames: Option<usize>,
    /// The solver.
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,
    /// The backend.
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    /// f32 or f64.
    #[arg(long, value_name = "NAME")]
    pub precision: Option<String>,
    /// Where exported files go.
    #[arg(long, value_name = "DIR", default_value = "target/pliant-run")]
    pub out: PathBuf,
    /// What to export.
    #[arg(long, value_enum)]
    pub export: Option<Export>,
    /// Save every K-th step; 1 unless given, and only the last for png.
    #[arg(long, value_name = "K")]
    pub every: Option<usize>,
}

/// File formats of `run`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Export {
    /// step,vertex,x,y,z in full precision.
    Csv,
    /// One Wavefront file a saved step.
    Obj,
    /// One PLY file a saved step.
    Ply,
    /// One animated glTF file.
    Gltf,
    /// One picture a saved step.
    Png,
}

/// Arguments of `validate`.
#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// A folder of reference files, in it or in its subfolders; the ones that ship with the project unless given.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Arguments of `soak`.
#[derive(Args)]
pub(crate) struct SoakArgs {
    /// Steps in all, dealt out among solvers and scenes; a step counts once, though two worlds take it.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub steps: u64,
    /// Where the random edits begin.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Solvers to run; all of the soak unless given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub solvers: Option<Vec<String>>,
    /// Scenes of the soak to run; all that suit a solver unless given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub scenes: Option<Vec<String>>,
    /// Stop after so many minutes, whatever is left to do.
    #[arg(long, value_name = "M")]
    pub minutes: Option<f64>,
    /// The life to begin with: to repeat what a failure names.
    #[arg(long, value_name = "L", default_value_t = 0)]
    pub life: u64,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Arguments of `merge`.
#[derive(Args)]
pub(crate) struct MergeArgs {
    /// Results of `compare --shard` (results.json).
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Where the report goes.
    #[arg(long, value_name = "DIR", default_value = "target/pliant-report")]
    pub out: PathBuf,
}

/// How rows are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people.
    Table,
    /// An array of objects.
    Json,
    /// Comma-separated values.
    Csv,
}

/// Carries out the arguments of a command line.
pub(crate) fn run(harness: &Harness, args: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let cli = match Cli::try_parse_from(std::iter::once(OsString::from("pliant")).chain(args)) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            // Help and version: to stdout, as asked for.
            let _ = error.print();
            return Ok(());
        }
        Err(error) => return Err(Failure::Usage(one_line(&error.to_string()))),
    };
    match cli.command {
        Command::Compare(args) => compare::run(harness, &args),
        Command::Run(args) => run::run(harness, &args),
        Command::Validate(args) => validate::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Merge(args) => merge::run(harness, &args),
        Command::Scenes => {
            let width = harness.scenes().iter().map(|entry| entry.name.len()).max().unwrap_or(0);
            for entry in harness.scenes() {
                say(&format!("{:<width$}  {}", entry.name, entry.about));
            }
            Ok(())
        }
        Command::Info => {
            say(info::text(harness).trim_end());
            Ok(())
        }
    }
}

/// Prints to stdout; a reader that went away (`| head`) is no failure.
pub(crate) fn say(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
