//! Checks of a build against reference data and known solutions.

mod analytic;
mod collision;
mod elements;
mod expected;
mod first_contacts;
mod float;
mod queries;
mod rigid;
mod rotations;
mod slopes;
mod strip;
mod table;
mod trajectory;

use std::path::{Path, PathBuf};

use crate::cli::{ValidateArgs, say};
use crate::failure::Failure;

/// A line of the result.
pub struct Check {
    pub name: String,
    pub verdict: Verdict,
}

/// How a check went.
pub enum Verdict {
    /// The worst figure found and the largest allowed.
    Measured { figure: f64, tolerance: f64 },
    /// A figure worth knowing that may be anything.
    Told(f64),
    /// Something known that is not checked here, and why.
    Skipped(&'static str),
    /// A file that no check knows.
    Unknown,
    /// The file could not be used.
    Broken(String),
}

impl Check {
    /// A check with a figure.
    pub fn measured(name: impl Into<String>, figure: f64, tolerance: f64) -> Self {
        Self { name: name.into(), verdict: Verdict::Measured { figure, tolerance } }
    }

    /// A figure that nothing is asked of.
    pub fn told(name: impl Into<String>, figure: f64) -> Self {
        Self { name: name.into(), verdict: Verdict::Told(figure) }
    }

    fn can_fail(&self) -> bool {
        matches!(self.verdict, Verdict::Measured { .. } | Verdict::Broken(_))
    }

    fn failed(&self) -> bool {
        match self.verdict {
            // NaN is no pass.
            Verdict::Measured { figure, tolerance } => {
                !matches!(figure.partial_cmp(&tolerance), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal))
            }
            Verdict::Told(_) | Verdict::Skipped(_) | Verdict::Unknown => false,
            Verdict::Broken(_) => true,
        }
    }

    fn line(&self, width: usize) -> String {
        let name = &self.name;
        let verdict = if self.failed() { "FAIL" } else { "pass" };
        match &self.verdict {
            Verdict::Measured { figure, tolerance } => {
                format!("{name:<width$}  {figure:>10.3e}  {tolerance:>10.3e}  {verdict}")
            }
            Verdict::Told(figure) => format!("{name:<width$}  {figure:>10.3e}  {:>10}  info", "-"),
            Verdict::Skipped(reason) => format!("{name:<width$}  {:>10}  {:>10}  skipped: {reason}", "-", "-"),
            Verdict::Unknown => format!("{name:<width$}  {:>10}  {:>10}  unknown file, skipped", "-", "-"),
            Verdict::Broken(problem) => format!("{name:<width$}  {:>10}  {:>10}  FAIL: {problem}", "-", "-"),
        }
    }
}

/// How many folders deep reference files are looked for: the public benchmarks have scenes, and folders in them.
const DEPTH: usize = 4;

/// `pliant validate`.
pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let mut checks = Vec::new();
    match &args.data {
        Some(directory) => {
            for file in files(directory, DEPTH)? {
                checks.extend(checks_of(&file, directory));
            }
            if checks.is_empty() {
                let problem = format!("no reference files here, nor in folders up to {DEPTH} deep");
                return Err(Failure::at(directory, problem));
            }
        }
        None => {
            let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
            for file in files(&shipped, DEPTH).unwrap_or_default() {
                let found = checks_of(&file, &shipped).into_iter();
                checks.extend(found.filter(|check| !matches!(check.verdict, Verdict::Unknown)));
            }
            checks.extend(analytic::checks());
            checks.extend(slopes::checks());
            checks.extend(rigid::checks());
        }
    }
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    say(&format!("{:<width$}  {:>10}  {:>10}  verdict", "check", "figure", "tolerance"));
    for check in &checks {
        say(&check.line(width));
    }
    match checks.iter().filter(|check| check.failed()).count() {
        0 => Ok(()),
        failed => {
            let all = checks.iter().filter(|check| check.can_fail()).count();
            Err(Failure::Check(format!("{failed} of {all} checks failed")))
        }
    }
}

/// The files of a folder and of folders in it, by name. Hidden folders are somebody else's, such as those of version control.
fn files(directory: &Path, depth: usize) -> Result<Vec<PathBuf>, Failure> {
    let refuse = |error: std::io::Error| Failure::at(directory, format!("cannot read: {error}"));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(refuse)? {
        let entry = entry.map_err(refuse)?;
        let (path, hidden) = (entry.path(), entry.file_name().to_string_lossy().starts_with('.'));
        if path.is_file() {
            found.push(path);
        } else if path.is_dir() && !hidden && depth > 0 {
            found.extend(files(&path, depth - 1)?);
        }
    }
    found.sort();
    Ok(found)
}

/// A file's name without what says how it is written.
fn stem(name: &str) -> &str {
    name.trim_end_matches(".gz").trim_end_matches(".csv").trim_end_matches(".json")
}

/// The checks on a file, named after it and the folders that lead to it: names alone repeat from scene to scene.
fn checks_of(path: &Path, directory: &Path) -> Vec<Check> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let folders = path.parent().and_then(|folder| folder.strip_prefix(directory).ok()).unwrap_or(Path::new(""));
    let within: String = folders.iter().map(|folder| format!("{}/", folder.to_string_lossy())).collect();
    let stem = stem(&name);
    let table = name.ends_with(".csv") || name.ends_with(".csv.gz");
    // Read along with what they belong to.
    if table && (stem.ends_with("_particles") || stem.ends_with("_springs")) || name.ends_with(queries::LIST) {
        return Vec::new();
    }
    let unknown = || Check { name: format!("{within}{name}"), verdict: Verdict::Unknown };
    let result = if name == "analytic_expected.json" {
        expected::sections(path)
    } else if !table {
        return if name.ends_with(".md") { Vec::new() } else { vec![unknown()] };
    } else if stem.starts_with("spring_ref") {
        elements::springs(path)
    } else if stem.starts_with("bending_ref") {
        elements::bending(path)
    } else if stem.starts_with("distance_ref") {
        collision::distances(path)
    } else if stem.starts_with("barrier_ref") {
        collision::barrier(path)
    } else if stem.starts_with("ccd_queries") {
        first_contacts::first_contacts(path)
    } else if let Some(scene) = stem.strip_prefix("symplectic_ref_") {
        trajectory::symplectic(path, scene)
    } else if let Some(scene) = stem.strip_prefix("newton_ref_") {
        trajectory::newton(path, scene)
    } else if stem.starts_with("polar_ref") {
        rotations::rotations(path)
    } else if stem.starts_with("rigid_dzhanibekov") {
        rigid::handle(path)
    } else if stem.starts_with("stickslip_curve") {
        strip::slips(path)
    } else if queries::recognises(path) {
        first_contacts::first_contacts(path)
    } else {
        return vec![unknown()];
    };
    match result {
        Ok(checks) => {
            checks.into_iter().map(|check| Check { name: format!("{within}{stem}, {}", check.name), ..check }).collect()
        }
        Err(failure) => vec![Check { name: format!("{within}{stem}"), verdict: Verdict::Broken(failure.to_string()) }],
    }
}
