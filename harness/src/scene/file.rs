//! Scene files: what `docs/scene-format.md` describes, read and checked with file, line and field in every error.

use std::ops::Range;
use std::path::{Path, PathBuf};

use pliant::core::wind::Wind;
use serde::Deserialize;
use toml::Spanned;

use super::colliders::{self, ColliderFile};
use super::rigid_file::{self, FastenFile, JointFile, RigidFile};
use super::shapes::{self, BodyFile};
use super::{Motion, Scene};
use crate::failure::Failure;
use crate::registry::Harness;
use crate::solvers::Work;

/// How a scene file asks to be run.
#[derive(Clone, Debug)]
pub struct Setting {
    pub solver: String,
    pub backend: String,
    pub precision: String,
    pub work: Work,
}

impl Default for Setting {
    fn default() -> Self {
        let [solver, backend, precision] = ["xpbd-colored", "simd", "f32"].map(str::to_owned);
        Self { solver, backend, precision, work: Work::default() }
    }
}

impl Setting {
    /// What suits a scene: one without particles needs no method for them.
    pub fn of(scene: &Scene) -> Self {
        if scene.particle_count() > 0 {
            Self::default()
        } else {
            Self { solver: "rigid".to_owned(), ..Self::default() }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneFile {
    dt: Spanned<f64>,
    frames: Spanned<usize>,
    gravity: Option<Spanned<[f64; 3]>>,
    damping: Option<Spanned<f64>>,
    precision: Option<Spanned<String>>,
    backend: Option<Spanned<String>>,
    solver: Option<SolverFile>,
    wind: Option<WindFile>,
    #[serde(default)]
    body: Vec<BodyFile>,
    #[serde(default)]
    collider: Vec<ColliderFile>,
    #[serde(default)]
    rigid: Vec<RigidFile>,
    #[serde(default)]
    joint: Vec<JointFile>,
    #[serde(default)]
    fasten: Vec<FastenFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SolverFile {
    name: Option<Spanned<String>>,
    substeps: Option<Spanned<usize>>,
    iterations: Option<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WindFile {
    velocity: Spanned<[f64; 3]>,
    density: Option<Spanned<f64>>,
    drag: Option<Spanned<f64>>,
    lift: Option<Spanned<f64>>,
}

/// Where a scene file stands, to tell where a problem is.
pub(super) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// "file:line: field `x`: problem".
    pub fn fail(&self, span: Range<usize>, field: &str, problem: impl std::fmt::Display) -> Failure {
        Failure::Input(format!("{}:{}: field `{field}`: {problem}", self.path.display(), self.line(span.start)))
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count()
    }

    /// A path in the file, seen from the file's own folder.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(name)
    }

    /// A finite number that `good` accepts.
    pub fn number(
        &self,
        value: &Spanned<f64>,
        field: &str,
        expected: &str,
        good: fn(f64) -> bool,
    ) -> Result<f64, Failure> {
        let number = *value.get_ref();
        if number.is_finite() && good(number) {
            Ok(number)
        } else {
            Err(self.fail(value.span(), field, format!("{number}; expected {expected}")))
        }
    }

    /// Three finite numbers.
    pub fn vector(&self, value: &Spanned<[f64; 3]>, field: &str) -> Result<[f64; 3], Failure> {
        match value.get_ref().iter().find(|c| !c.is_finite()) {
            Some(bad) => Err(self.fail(value.span(), field, format!("{bad}; expected three finite numbers"))),
            None => Ok(*value.get_ref()),
        }
    }

    /// A count of at least one.
    pub fn count(&self, value: &Spanned<usize>, field: &str) -> Result<usize, Failure> {
        match *value.get_ref() {
            0 => Err(self.fail(value.span(), field, "0; expected 1 or more")),
            count => Ok(count),
        }
    }

    /// What the parser did not like; it knows the place and rarely the field, which stands before the `=` there.
    fn refuse(&self, error: &toml::de::Error) -> Failure {
        let message = error.message().replace('\n', ", ");
        let at = error.span().map_or(0, |span| span.start);
        let line = self.line(at);
        let text = self.text.lines().nth(line - 1).unwrap_or_default();
        let field = text.split_once('=').map(|(key, _)| key.trim()).filter(|_| !message.contains("field"));
        match field {
            Some(field) => self.fail(at..at, field, message),
            None => Failure::Input(format!("{}:{line}: {message}", self.path.display())),
        }
    }
}

/// Reads and checks a scene file.
pub fn read(harness: &Harness, path: &Path) -> Result<(Scene, Setting), Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let names: Vec<_> = harness.scenes().iter().map(|entry| entry.name).collect();
        Failure::at(path, format!("cannot read: {error}; a scene file, or one of {}", names.join(", ")))
    })?;
    parse(harness, path, text)
}

/// Checks the text of a scene file; files that it names are looked up beside `path`.
pub fn parse(harness: &Harness, path: &Path, text: String) -> Result<(Scene, Setting), Failure> {
    let source = Source { path: path.to_owned(), text };
    let file: SceneFile = toml::from_str(&source.text).map_err(|error| source.refuse(&error))?;

    let mut setting = Setting::default();
    if let Some(precision) = &file.precision {
        setting.precision = precision.get_ref().clone();
    }
    if let Some(backend) = &file.backend {
        setting.backend = backend.get_ref().clone();
    }
    if let Some(solver) = &file.solver {
        if let Some(name) = &solver.name {
            let found = harness.solver(name.get_ref()).map_err(|error| source.fail(name.span(), "name", error))?;
            setting.solver = found.name.to_owned();
        }
        for (value, field, to) in [
            (&solver.substeps, "substeps", &mut setting.work.substeps),
            (&solver.iterations, "iterations", &mut setting.work.iterations),
        ] {
            if let Some(value) = value {
                *to = source.count(value, field)?;
            }
        }
    }

    let name = path.file_stem().map_or_else(|| "scene".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let mut scene = Scene::new(name, Vec::new());
    scene.dt = source.number(&file.dt, "dt", "a number above 0 and at most 1", |dt| dt > 0.0 && dt <= 1.0)?;
    scene.frames = source.count(&file.frames, "frames")?;
    if let Some(gravity) = &file.gravity {
        scene.gravity = source.vector(gravity, "gravity")?;
    }
    if let Some(damping) = &file.damping {
        scene.damping = source.number(damping, "damping", "0 or more", |d| d >= 0.0)?;
    }
    scene.wind = file.wind.as_ref().map(|wind| self::wind(&source, wind)).transpose()?;
    if file.body.is_empty() && file.rigid.is_empty() {
        return Err(source.fail(0..0, "body", "missing; expected at least one [[body]] or [[rigid]]"));
    }
    for body in &file.body {
        let first = scene.particle_count() as u32;
        let (built, motions) = shapes::build(&source, body)?;
        scene.motions.extend(motions.into_iter().map(|m| Motion { particle: m.particle + first, ..m }));
        scene.bodies.push(built);
        // Everything else a body can have wrong is found by building it, while its place in the file is known.
        pliant::core::model::Model::<f64>::build(&[&scene.bodies[scene.bodies.len() - 1]])
            .map_err(|error| source.fail(body.kind.span(), "body", error))?;
    }
    for (row, collider) in file.collider.iter().enumerate() {
        scene.obstacles.push(colliders::build(&source, collider, row, scene.dt)?);
    }
    let rigid = rigid_file::Files { bodies: &file.rigid, joints: &file.joint, fasten: &file.fasten };
    rigid_file::add(&source, &rigid, &mut scene)?;
    if file.solver.as_ref().is_none_or(|solver| solver.name.is_none()) {
        setting.solver = Setting::of(&scene).solver;
    }
    Ok((scene, setting))
}

fn wind(source: &Source, wind: &WindFile) -> Result<Wind<f64>, Failure> {
    let part = |value: &Option<Spanned<f64>>, field, default| match value {
        Some(value) => source.number(value, field, "0 or more", |v| v >= 0.0),
        None => Ok(default),
    };
    Ok(Wind {
        velocity: source.vector(&wind.velocity, "velocity")?,
        density: part(&wind.density, "density", 1.2)?,
        drag: part(&wind.drag, "drag", 0.6)?,
        lift: part(&wind.lift, "lift", 0.4)?,
    })
}
