//! A solver and a scene of one's own in the comparison, beside everything built in.
//!
//! ```sh
//! cargo run --release -p pliant-harness --example own_solver -- compare --scenes towel,rope
//! ```
//!
//! The solver is Jakobsen's: Verlet integration, and every link pulled to its length a few times. All it needs is the
//! [`Solver`] trait; names, tables, reports and checks come from the harness.

use std::process::ExitCode;

use pliant::backends::{AnyBackend, Precision};
use pliant::core::backend::Backend;
use pliant::core::body::Body;
use pliant::core::columns::Particles;
use pliant::core::error::{BuildError, StepError};
use pliant::core::lane::Real;
use pliant::core::mesh::ClothGrid;
use pliant::core::model::Model;
use pliant::core::solver::{Solver, StepReport, check_time_step};
use pliant::core::vec3::Vec3;
use pliant_harness::Harness;
use pliant_harness::allocations::Counting;
use pliant_harness::scene::Scene;
use pliant_harness::scene::builtin::SceneEntry;
use pliant_harness::solvers::{SolverEntry, Work};

/// Counts allocations, so that the column "allocs" means something.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Verlet integration with links as rigid as so many passes make them.
struct Jakobsen<S> {
    work: Work,
    x: Vec<Vec3<S>>,
    before: Vec<Vec3<S>>,
}

impl<S: Real, B: Backend<Scalar = S>> Solver<B> for Jakobsen<S> {
    fn name(&self) -> &'static str {
        "jakobsen"
    }

    /// Looks at the model once: refuses what the method cannot carry, and makes room for a step.
    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        let sets = model.constraints();
        if sets.len() != sets.distance.len() {
            let reason = "this example knows links only";
            return Err(BuildError::Unsupported { what: "constraint", row: 0, reason });
        }
        self.x = vec![Vec3::zero(); model.particle_count()];
        self.before = self.x.clone();
        Ok(())
    }

    /// One frame. The user's particles are written at the end only: on an error they are as they were.
    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, _: &B) -> Result<StepReport, StepError> {
        check_time_step(dt.to_f64())?;
        let (found, expected) = (particles.len(), model.particle_count());
        if found != expected {
            return Err(StepError::WrongState { found, expected });
        }
        let Work { substeps, iterations } = self.work;
        let h = dt / S::from_f64(substeps as f64);
        let keep = S::ONE / (S::ONE + h * model.environment.damping);
        let (w, links) = (model.inv_mass(), &model.constraints().distance);
        let rest = &links.parameters()[0];
        for i in 0..expected {
            self.x[i] = particles.x.get(i).into();
            self.before[i] = self.x[i] - Vec3::from(particles.v.get(i)) * h;
        }
        for substep in 1..=substeps {
            for i in (0..expected).filter(|&i| w[i] > S::ZERO) {
                // x' = x + (x − x_before) + h² g
                let moved = (self.x[i] - self.before[i]) * keep + Vec3::from(model.environment.gravity) * (h * h);
                self.before[i] = self.x[i];
                self.x[i] = self.x[i] + moved;
            }
            let t = S::from_f64(substep as f64 / substeps as f64);
            for (k, &pin) in model.pins().iter().enumerate() {
                let (from, to) = (particles.x.get(pin as usize).into(), Vec3::from(model.pin_targets().get(k)));
                self.before[pin as usize] = self.x[pin as usize];
                self.x[pin as usize] = from + (to - from) * t;
            }
            for _ in 0..iterations {
                for (k, ids) in links.ids().iter().enumerate() {
                    let [a, b] = ids.map(|i| i as usize);
                    let d = self.x[a] - self.x[b];
                    let length = d.length();
                    let share = (length * (w[a] + w[b])).divide_or_zero(rest[k] - length);
                    self.x[a] = self.x[a] + d * (share * w[a]);
                    self.x[b] = self.x[b] - d * (share * w[b]);
                }
            }
        }
        let inv_h = S::ONE / h;
        for (particle, &x) in self.x.iter().enumerate() {
            let value = x.length().to_f64();
            if !value.is_finite() {
                return Err(StepError::Diverged { particle, substep: substeps, quantity: "position", value });
            }
        }
        for (i, (&x, &before)) in self.x.iter().zip(&self.before).enumerate() {
            particles.x.set(i, x.into());
            particles.v.set(i, ((x - before) * inv_h).into());
        }
        let mut report = StepReport::default();
        report.substeps = substeps;
        report.iterations = substeps * iterations;
        report.projections = report.iterations * links.len();
        Ok(report)
    }
}

/// How the harness makes one, in either precision.
fn jakobsen<S: Precision>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(Jakobsen { work, x: Vec::new(), before: Vec::new() })
}

/// Half a metre of cloth on one pin.
fn towel() -> Result<Scene, BuildError> {
    let cloth = Body::cloth(&ClothGrid::square(0.5, 20))?.with_mass(0.05).pinned([0]);
    Ok(Scene { damping: 0.1, ..Scene::new("towel", vec![cloth]) })
}

fn harness() -> Harness {
    Harness::new()
        .with_solver(SolverEntry::new("jakobsen", "Verlet and relaxed links", jakobsen, jakobsen).on_its_own())
        .with_scene(SceneEntry::new("towel", "a small cloth on one pin", towel))
}

fn main() -> ExitCode {
    harness().main()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use serde_json::Value;

    fn compare(more: &[&str]) -> Vec<Value> {
        let out = tempfile::tempdir().unwrap();
        let mut args = vec!["compare", "--frames", "30", "--out", out.path().to_str().unwrap()];
        args.extend(more);
        super::harness().run(args).unwrap();
        let page = std::fs::read_to_string(out.path().join("index.html")).unwrap();
        assert!(page.contains("jakobsen"), "it is in the report");
        serde_json::from_str(&std::fs::read_to_string(out.path().join("results.json")).unwrap()).unwrap()
    }

    /// Same rows, same figures, and a result close to a method that is known to be right.
    #[test]
    fn it_is_compared_like_any_other() {
        let rows = compare(&["--scenes", "towel", "--solvers", "jakobsen,xpbd-colored", "--precision", "f32,f64"]);
        let mine: Vec<_> = rows.iter().filter(|row| row["solver"] == "jakobsen").collect();
        assert_eq!(mine.len(), 2, "one backend in two precisions");
        for row in mine {
            assert_eq!(
                (&row["status"], &row["scene"], &row["backend"]),
                (&"ok".into(), &"towel".into(), &"scalar".into())
            );
            assert_eq!(row["particles"], 400);
            assert_eq!(row["allocations_per_step"], 0.0);
            assert!(row["ns_per_projection_min"].as_f64().unwrap() > 0.0);
            let other = rows.iter().find(|other| other["solver"] == "xpbd-colored").unwrap();
            let energy = |row: &Value| row["energy"].as_f64().unwrap();
            assert!((energy(row) / energy(other) - 1.0).abs() < 0.2, "{} J and {} J", energy(row), energy(other));
        }
    }

    #[test]
    fn what_it_refuses_is_a_status_and_stops_nothing() {
        let rows = compare(&["--scenes", "balloon", "--solvers", "jakobsen,pbd", "--backends", "scalar"]);
        assert!(rows[0]["status"].as_str().unwrap().contains("links only"), "{}", rows[0]);
        assert!(rows[0]["state_hash"].is_null());
        assert_eq!(rows[1]["status"], "ok");
    }

    #[test]
    fn own_scenes_join_the_default_selection() {
        let out = tempfile::tempdir().unwrap();
        let args = ["compare", "--quick", "--frames", "1", "--solvers", "jakobsen", "--out"];
        super::harness().run(args.into_iter().chain([out.path().to_str().unwrap()])).unwrap();
        let rows = std::fs::read_to_string(out.path().join("results.json")).unwrap();
        assert!(rows.contains("towel") && rows.contains("curtain-32"));
    }
}
