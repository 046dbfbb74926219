//! What to run: the chosen scenes, solvers, backends and precisions, checked before anything starts.

use std::time::Duration;

use pliant::backends::AnyBackend;

use crate::cli::CompareArgs;
use crate::failure::{Failure, unknown};
use crate::registry::Harness;
use crate::scene::builtin::SceneEntry;
use crate::simulation::PRECISIONS;
use crate::solvers::{SolverEntry, Work};

/// Scenes of a comparison without `--scenes`.
const DEFAULT_SCENES: [&str; 13] = [
    "curtain-32",
    "curtain-100",
    "curtain-200",
    "shuffled",
    "flag",
    "jelly",
    "soft-jelly",
    "rope",
    "cantilever",
    "balloon",
    "drape",
    "box-stack",
    "ragdoll",
];
/// Scenes of `--quick` without `--scenes`.
const QUICK_SCENES: [&str; 4] = ["curtain-32", "curtain-100", "jelly", "rope"];

/// A solver on a backend in a precision.
#[derive(Clone)]
pub struct Cell {
    pub solver: SolverEntry,
    pub backend: String,
    pub precision: String,
}

/// All runs of a comparison.
pub struct Plan {
    /// Scenes with the cells to run on each; no list is empty.
    pub scenes: Vec<(SceneEntry, Vec<Cell>)>,
    pub frames: usize,
    pub work: Work,
    pub threads: Option<usize>,
    /// Whether the solvers were chosen by name; if not, slow ones are left out of large scenes.
    pub named: bool,
    /// How much smaller scenes must be for slow solvers than their entry says.
    pub haste: usize,
    /// Every run is repeated at least this often.
    pub least_rounds: usize,
    /// Repeats beyond that stop when a scene has taken this long.
    pub patience: Duration,
}

impl Plan {
    pub fn new(harness: &Harness, args: &CompareArgs) -> Result<Self, Failure> {
        let counts = [
            ("--frames", args.frames),
            ("--substeps", Some(args.substeps)),
            ("--iterations", Some(args.iterations)),
            ("--threads", args.threads),
        ];
        for (name, count) in counts {
            if count == Some(0) {
                return Err(Failure::Input(format!("{name} is 0; expected 1 or more")));
            }
        }
        let mut defaults = if args.quick { QUICK_SCENES.to_vec() } else { DEFAULT_SCENES.to_vec() };
        defaults.extend(harness.own_scenes());
        let scenes = names(&args.scenes, &defaults).into_iter().map(|name| harness.scene(&name));
        let scenes = scenes.collect::<Result<Vec<_>, _>>()?;
        // Those that are never run without being asked for are not worth a row either.
        let all: Vec<_> = harness.solvers().iter().filter(|e| e.largest > 0).map(|entry| entry.name).collect();
        let chosen = names(&args.solvers, &all).into_iter().map(|name| harness.solver(&name));
        let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
        let available = AnyBackend::<f32>::names();
        let backends = names(&args.backends, &available);
        if let Some(name) = backends.iter().find(|name| !available.contains(&name.as_str())) {
            return Err(unknown("backend", name, available));
        }
        let precisions = names(&args.precision, &["f32"]);
        if let Some(name) = precisions.iter().find(|name| !PRECISIONS.contains(&name.as_str())) {
            return Err(unknown("precision", name, PRECISIONS));
        }
        let (part, parts) = args.shard.as_deref().map_or(Ok((1, 1)), parse_shard)?;

        let cells = cells(&chosen, &backends, &precisions);
        let mut row = 0;
        let mut planned = Vec::new();
        for scene in scenes {
            let mine = cells.iter().filter(|_| {
                row += 1;
                (row - 1) % parts == part - 1
            });
            let mine: Vec<_> = mine.cloned().collect();
            if !mine.is_empty() {
                planned.push((scene, mine));
            }
        }
        Ok(Self {
            frames: args.frames.unwrap_or(if args.quick { 20 } else { 30 }),
            scenes: planned,
            work: Work { substeps: args.substeps, iterations: args.iterations },
            threads: args.threads,
            named: args.solvers.is_some(),
            haste: if args.quick { 10 } else { 1 },
            least_rounds: if args.quick { 2 } else { 3 },
            patience: Duration::from_millis(if args.quick { 1_000 } else { 2_000 }),
        })
    }

    /// Runs in all.
    pub fn cell_count(&self) -> usize {
        self.scenes.iter().map(|(_, cells)| cells.len()).sum()
    }
}

/// The given names without repeats, or the defaults.
fn names(given: &Option<Vec<String>>, defaults: &[&str]) -> Vec<String> {
    let mut list = Vec::new();
    match given {
        Some(given) => {
            for name in given.iter().map(|name| name.trim()) {
                if !list.iter().any(|other| other == name) {
                    list.push(name.to_owned());
                }
            }
        }
        None => list.extend(defaults.iter().map(|&name| name.to_owned())),
    }
    list
}

fn cells(solvers: &[SolverEntry], backends: &[String], precisions: &[String]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &solver in solvers {
        for precision in precisions {
            let scalar = ["scalar".to_owned()];
            for backend in if solver.uses_backend { backends } else { &scalar } {
                cells.push(Cell { solver, backend: backend.clone(), precision: precision.clone() });
            }
        }
    }
    cells
}

/// `I/N` with 1 ≤ I ≤ N.
fn parse_shard(text: &str) -> Result<(usize, usize), Failure> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if 1 <= i && i <= n => Ok((i, n)),
        _ => Err(Failure::Input(format!("--shard is `{text}`; expected I/N with 1 ≤ I ≤ N, such as 2/8"))),
    }
}
