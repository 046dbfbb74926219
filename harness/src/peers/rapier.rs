//! rapier3d's soft bodies behind the [`Solver`] trait: cloth and ropes of links, without contacts.
//!
//! What is set equal: masses, pins, gravity, damping, rest lengths, the frame, and the work: `substeps` are its solver
//! iterations (each integrates once), `iterations` its passes inside one. Its extra passes for soft bodies, extra substeps
//! and sleeping are off. An edge is a spring of a natural frequency f \[Hz\] and damping ratio ζ, relative to its reduced
//! mass m = 1/(w₀ + w₁): f = √(k/m)/2π and ζ = β/(2√(k m)) for compliance 1/k; rigid links get rapier's own stiffest
//! default (the one of its joints, 10⁶ Hz), which its solver saturates at what a substep can correct.

use pliant::backends::{AnyBackend, Precision};
use pliant::core::backend::Backend;
use pliant::core::columns::Particles;
use pliant::core::error::{BuildError, StepError};
use pliant::core::lane::Real;
use pliant::core::model::Model;
use pliant::core::solver::{Solver, StepReport, check_time_step};
use rapier3d::dynamics::{SoftBodyBuilder, SoftBodyHandle, SpringCoefficients};
use rapier3d::math::Vector;
use rapier3d::pipeline::PhysicsWorld;

use crate::solvers::Work;

/// Links may start this far from their rest length, relative to it: a soft body of rapier is at rest where it begins.
const REST_TOLERANCE: f64 = 1e-3;

/// Makes the solver.
pub fn make<S: Precision>(work: Work) -> Box<dyn Solver<AnyBackend<S>>> {
    Box::new(Rapier { work, start: None, scene: None })
}

struct Rapier {
    work: Work,
    /// The scene as it began, made when the first step brings the positions. Whoever starts again gets a copy in `prepare`,
    /// so that only the first of several repeats spends time on building it, and the fastest none.
    start: Option<Start>,
    scene: Option<(PhysicsWorld, SoftBodyHandle)>,
}

struct Start {
    model: u64,
    state: u64,
    world: PhysicsWorld,
    handle: SoftBodyHandle,
    /// Whether `scene` is an untouched copy.
    fresh: bool,
}

impl<S: Real, B: Backend<Scalar = S>> Solver<B> for Rapier {
    fn name(&self) -> &'static str {
        "rapier"
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        let refuse = |what, reason| Err(BuildError::Unsupported { what, row: 0, reason });
        let sets = model.constraints();
        if size_of::<S>() != size_of::<f32>() {
            return refuse("precision", "this build has rapier3d in single precision; use f32");
        }
        if sets.len() != sets.distance.len() {
            return refuse("constraint", "rapier is compared on cloth and ropes of links only");
        }
        if model.is_plastic() {
            return refuse("plasticity", "rapier is compared without plastic flow: it reads rest lengths once");
        }
        if model.environment.wind.is_some() || model.environment.forces.is_some() {
            return refuse("load", "rapier is compared without wind and forces: it has no wind of its own");
        }
        self.start = self.start.take().filter(|start| start.model == model.id());
        self.scene = self.start.as_mut().map(|start| {
            start.fresh = true;
            (copy(&start.world), start.handle)
        });
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, _: &B) -> Result<StepReport, StepError> {
        check_time_step(dt.to_f64())?;
        let (found, expected) = (particles.len(), model.particle_count());
        if found != expected {
            return Err(StepError::WrongState { found, expected });
        }
        if let Some(start) = &mut self.start
            && std::mem::take(&mut start.fresh)
            && start.state != particles.state_hash()
        {
            self.scene = None;
        }
        if self.scene.is_none() {
            let (world, handle) = build(model, particles, self.work)?;
            self.scene = Some((copy(&world), handle));
            self.start = Some(Start { model: model.id(), state: particles.state_hash(), world, handle, fresh: false });
        }
        let Some((world, handle)) = &mut self.scene else { return Err(StepError::NotPrepared) };
        world.integration_parameters.dt = dt.to_f64() as f32;
        let Some(body) = world.soft_bodies.get_mut(*handle) else { return Err(StepError::NotPrepared) };
        for (i, &pin) in model.pins().iter().enumerate() {
            body.set_particle_kinematic_target(pin as usize, vector(model.pin_targets().get(i)));
        }
        world.step();
        let Some(body) = world.soft_bodies.get(*handle) else { return Err(StepError::NotPrepared) };
        for (particle, x) in body.particle_positions().enumerate() {
            if !(x.x + x.y + x.z).is_finite() {
                let (substep, value) = (self.work.substeps, f64::from(x.x + x.y + x.z));
                return Err(StepError::Diverged { particle, substep, quantity: "position", value });
            }
        }
        for (i, (x, v)) in body.particle_positions().zip(body.particle_velocities()).enumerate() {
            particles.x.set(i, [x.x, x.y, x.z].map(|c| S::from_f64(c.into())));
            particles.v.set(i, [v.x, v.y, v.z].map(|c| S::from_f64(c.into())));
        }
        let mut report = StepReport::default();
        report.substeps = self.work.substeps;
        report.iterations = self.work.substeps * self.work.iterations;
        report.projections = report.iterations * model.constraints().len();
        Ok(report)
    }
}

/// Everything that moves and everything it depends on; workspaces are made anew.
fn copy(world: &PhysicsWorld) -> PhysicsWorld {
    let mut copy = PhysicsWorld::new();
    copy.gravity = world.gravity;
    copy.integration_parameters = world.integration_parameters;
    copy.islands = world.islands.clone();
    copy.broad_phase = world.broad_phase.clone();
    copy.narrow_phase = world.narrow_phase.clone();
    copy.bodies = world.bodies.clone();
    copy.colliders = world.colliders.clone();
    copy.soft_bodies = world.soft_bodies.clone();
    copy
}

fn vector<S: Real>([x, y, z]: [S; 3]) -> Vector {
    Vector::new(x.to_f64() as f32, y.to_f64() as f32, z.to_f64() as f32)
}

/// One world with one soft body that holds every particle.
fn build<S: Real>(
    model: &Model<S>,
    particles: &Particles<S>,
    work: Work,
) -> Result<(PhysicsWorld, SoftBodyHandle), StepError> {
    let links = &model.constraints().distance;
    let w: Vec<f64> = model.inv_mass().iter().map(|w| w.to_f64()).collect();
    let mut softness = Vec::with_capacity(links.len());
    for (row, &[a, b]) in links.ids().iter().enumerate() {
        let (from, to) = (particles.x.get(a as usize), particles.x.get(b as usize));
        let length = (0..3).map(|k| (from[k] - to[k]).to_f64().powi(2)).sum::<f64>().sqrt();
        let rest = links.parameters()[0][row].to_f64();
        if (length - rest).abs() > REST_TOLERANCE * rest {
            let reason = "a soft body of rapier is at rest where it begins, and this link is not";
            return Err(StepError::Unsupported { what: "distance", row, reason });
        }
        let (alpha, beta) = (links.compliance()[row].to_f64(), links.damping()[row].to_f64());
        let inverse = w[a as usize] + w[b as usize];
        if alpha > 0.0 && inverse > 0.0 {
            let omega = (inverse / alpha).sqrt();
            let ratio = 0.5 * beta * (alpha * inverse).sqrt();
            softness.push((row as u32, SpringCoefficients::new((omega / std::f64::consts::TAU) as f32, ratio as f32)));
        }
    }
    // Pins have no mass of their own here, and rapier wants one for every particle: it is never read.
    let masses = w.iter().map(|&w| if w > 0.0 { (1.0 / w) as f32 } else { 1.0 }).collect();
    let mut soft = SoftBodyBuilder::new(particles.x.iter().map(vector).collect())
        .masses(masses)
        .pinned_particles(model.pins().iter().copied())
        .edges(links.ids().to_vec())
        .softness(SpringCoefficients::joint_defaults())
        .linear_damping(model.environment.damping.to_f64() as f32)
        .additional_pgs_iterations(0)
        .can_sleep(false)
        .no_surface_collider();
    soft.edge_softness = softness;

    let mut world = PhysicsWorld::new();
    world.gravity = vector(model.environment.gravity);
    let parameters = &mut world.integration_parameters;
    parameters.num_solver_iterations = work.substeps;
    parameters.num_internal_pgs_iterations = work.iterations;
    parameters.soft_bodies.max_extra_substeps = 0;
    // Extra sweeps over strained edges are work that the others do not get.
    parameters.soft_bodies.resweep_strain = f32::MAX;
    let handle = world.insert_soft_body(soft);
    if let Some(body) = world.soft_bodies.get_mut(handle) {
        for (i, v) in particles.v.iter().enumerate().filter(|(i, _)| w[*i] > 0.0) {
            body.set_particle_velocity(i, vector(v));
        }
    }
    Ok((world, handle))
}
