//! The harness with the solvers and scenes it knows: the built-in ones, and those of a program that adds its own.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::cli;
use crate::failure::{Failure, unknown};
use crate::scene::builtin::{SCENES, SceneEntry};
use crate::scene::{Scene, file};
use crate::solvers::{self, SOLVERS, SolverEntry};

/// The command line of `pliant`, open to solvers and scenes of one's own.
///
/// They enter `compare`, `run`, `scenes` and `info` beside the built-in ones, under the same checks and on the same terms:
/// `harness/examples/own_solver.rs` is a complete program.
///
/// ```
/// use pliant_harness::{Harness, scene::{Scene, builtin::SceneEntry}};
/// use pliant::core::{body::Body, mesh::ClothGrid};
///
/// let towel = SceneEntry::new("towel", "a small cloth on one pin", || {
///     Ok(Scene::new("towel", vec![Body::cloth(&ClothGrid::square(0.5, 12))?.pinned([0])]))
/// });
/// let harness = Harness::new().with_scene(towel);
/// harness.run(["run", "towel", "--frames", "3"])?;
/// assert!(harness.run(["run", "cushion"]).is_err());
/// # Ok::<(), pliant_harness::Failure>(())
/// ```
#[derive(Clone)]
pub struct Harness {
    solvers: Vec<SolverEntry>,
    scenes: Vec<SceneEntry>,
}

impl Default for Harness {
    fn default() -> Self {
        Self::new()
    }
}

impl Harness {
    /// The harness with everything built in.
    pub fn new() -> Self {
        let built_in = Self { solvers: SOLVERS.to_vec(), scenes: SCENES.to_vec() };
        #[cfg(feature = "peers")]
        let built_in = crate::peers::PEERS.into_iter().fold(built_in, Self::with_solver);
        built_in
    }

    /// One more solver; it takes the place of a built-in one of the same name.
    #[must_use]
    pub fn with_solver(mut self, entry: SolverEntry) -> Self {
        self.solvers.retain(|other| other.name != entry.name);
        self.solvers.push(entry);
        self
    }

    /// One more scene, run by every `compare` without `--scenes`; it takes the place of a built-in one of the same name.
    #[must_use]
    pub fn with_scene(mut self, entry: SceneEntry) -> Self {
        self.scenes.retain(|other| other.name != entry.name);
        self.scenes.push(entry);
        self
    }

    /// Carries out the command line of this process; `fn main` returns what this returns.
    #[must_use]
    pub fn main(&self) -> ExitCode {
        match self.run(std::env::args_os().skip(1)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("{}", failure.line());
                failure.code()
            }
        }
    }

    /// Carries out a command, given without the program's name.
    ///
    /// # Errors
    /// When the request cannot be carried out, a check does not hold, or the user stops it; the message is one line.
    pub fn run<A: Into<OsString> + Clone>(&self, args: impl IntoIterator<Item = A>) -> Result<(), Failure> {
        cli::run(self, args.into_iter().map(Into::into))
    }

    /// The scene that the text of a scene file describes; `path` stands for the file in messages, and files that the text names are
    /// looked up beside it.
    ///
    /// # Errors
    /// What is wrong with it, with file, line and field.
    pub fn scene_from_text(&self, path: &Path, text: &str) -> Result<Scene, Failure> {
        Ok(file::parse(self, path, text.to_owned())?.0)
    }

    /// Solvers, in the order of tables.
    pub(crate) fn solvers(&self) -> &[SolverEntry] {
        &self.solvers
    }

    /// Scenes, in the order of lists.
    pub(crate) fn scenes(&self) -> &[SceneEntry] {
        &self.scenes
    }

    /// Names of scenes that are not built in.
    pub(crate) fn own_scenes(&self) -> impl Iterator<Item = &'static str> {
        let own = |entry: &&SceneEntry| SCENES.iter().all(|other| other.name != entry.name);
        self.scenes.iter().filter(own).map(|entry| entry.name)
    }

    /// The solver of this name.
    pub(crate) fn solver(&self, name: &str) -> Result<SolverEntry, Failure> {
        let found = self.solvers.iter().find(|entry| entry.name == name).copied();
        found.ok_or_else(|| solvers::missing(name, self.solvers.iter().map(|entry| entry.name)))
    }

    /// The scene of this name.
    pub(crate) fn scene(&self, name: &str) -> Result<SceneEntry, Failure> {
        let found = self.scenes.iter().find(|entry| entry.name == name).copied();
        found.ok_or_else(|| unknown("scene", name, self.scenes.iter().map(|entry| entry.name)))
    }
}
