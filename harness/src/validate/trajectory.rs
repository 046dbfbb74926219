//! Trajectories of mass-spring scenes against independent integrations.

use std::path::{Path, PathBuf};

use pliant::backends::AnyBackend;
use pliant::core::solver::Solver;
use pliant::solvers::{Newton, Symplectic};

use super::Check;
use super::table::Table;
use crate::failure::Failure;
use crate::instances::Instances;
use crate::scene::{Scene, tables};
use crate::solvers::{Number, backend};

/// Step of the symplectic references \[s\].
const STEP: f64 = 1e-4;

/// `symplectic_ref_NAME`: the state after as many steps as its `step` column says, on the tables of `newton_ref_NAME*`.
pub fn symplectic(path: &Path, scene: &str) -> Result<Vec<Check>, Failure> {
    let (scene, table) = (mass_springs(path, scene)?, Table::read(path)?);
    let double = largest_error::<f64>(&scene, &table, f64::symplectic(Symplectic::new(1)), STEP)?;
    let single = largest_error::<f32>(&scene, &table, f32::symplectic(Symplectic::new(1)), STEP)?;
    Ok(vec![Check::measured("f64", double, 1e-12), Check::measured("f32", single, 1e-5)])
}

/// `newton_ref_NAME`: the state after every step of implicit Euler, 1/60 s each unless the name ends in `_dtN`.
pub fn newton(path: &Path, scene: &str) -> Result<Vec<Check>, Failure> {
    let rate = scene.rsplit_once("_dt").and_then(|(_, rate)| rate.parse::<f64>().ok()).filter(|rate| *rate > 0.0);
    let dt = 1.0 / rate.unwrap_or(60.0);
    let (scene, table) = (mass_springs(path, scene)?, Table::read(path)?);
    let double = largest_error::<f64>(&scene, &table, f64::newton(Newton::default()), dt)?;
    let single = largest_error::<f32>(&scene, &table, f32::newton(Newton::default()), dt)?;
    Ok(vec![Check::measured("f64", double, 1e-9), Check::measured("f32", single, 1e-5)])
}

/// The particles and springs of the tables `newton_ref_NAME*` beside a reference.
fn mass_springs(path: &Path, name: &str) -> Result<Scene, Failure> {
    let particles = companion(path, name, "_particles.csv")?;
    let springs = companion(path, name, "_springs.csv")?;
    Ok(Scene::new("reference", vec![tables::body(&particles, &springs)?]))
}

/// The file `newton_ref_NAME*ENDING` beside a reference.
fn companion(path: &Path, scene: &str, ending: &str) -> Result<PathBuf, Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let prefix = format!("newton_ref_{scene}");
    let found = super::files(folder, 0)?.into_iter().find(|file| {
        let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        name.starts_with(&prefix) && name.trim_end_matches(".gz").ends_with(ending)
    });
    found.ok_or_else(|| Failure::at(path, format!("needs {prefix}*{ending} beside it")))
}

/// The largest error of a coordinate \[m\].
fn largest_error<S: Number>(
    scene: &Scene,
    table: &Table,
    mut solver: Box<dyn Solver<AnyBackend<S>>>,
    dt: f64,
) -> Result<f64, Failure> {
    let (model, mut particles) = scene.build::<S>()?;
    let on = backend::<S>("scalar", None)?;
    solver.prepare(&model)?;
    let (mut step, mut worst) = (0, 0.0_f64);
    for row in 0..table.len() {
        let (at, vertex) = (table.number(row, "step")? as usize, table.number(row, "vertex")? as usize);
        while step < at {
            solver.step(&model, &mut particles, S::from_f64(dt), &on)?;
            step += 1;
        }
        if at < step || vertex >= particles.len() {
            return Err(Failure::Input(format!("row {row}: step {at}, vertex {vertex} is out of order or range")));
        }
        let x = particles.x.get(vertex).map(S::to_f64);
        for (value, column) in x.into_iter().zip(["x", "y", "z"]) {
            worst = worst.max((value - table.number(row, column)?).abs());
        }
    }
    Ok(worst)
}
