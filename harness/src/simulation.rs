//! A scene in motion under one solver, on one backend, in one precision.

use std::rc::Rc;

use pliant::backends::AnyBackend;
use pliant::core::backend::Backend;
use pliant::core::body::Role;
use pliant::core::columns::Particles;
use pliant::core::error::{BuildError, StepError};
use pliant::core::model::Model;
use pliant::core::rigid::RigidBodies;
use pliant::core::solver::Solver;
use pliant::solvers::state_hash;
use pliant::{Pose, RigidOptions, Together, Warning};

use crate::failure::Failure;
use crate::measure;
use crate::passages::{Passages, farthest_pin, through_colliders};
use crate::scene::Scene;
use crate::soften::soften_scene;
use crate::solvers::{self, Number, SolverEntry, Work};
use crate::tears::Tears;

/// What a run looks like from outside, whatever its precision.
pub trait Run {
    /// Back to the start.
    fn reset(&mut self) -> Result<(), Failure>;
    /// One frame; returns constraint projections made.
    fn frame(&mut self) -> Result<usize, StepError>;
    /// The scene as it is now: bodies tear.
    fn scene(&self) -> &Rc<Scene>;
    /// Where the particles are \[m\].
    fn positions(&self) -> Vec<[f64; 3]>;
    /// Where the frames of the rigid bodies' shapes are.
    fn poses(&self) -> Vec<Pose>;
    /// Figures about the state.
    fn state(&self) -> State;
    /// What it runs on.
    fn setup(&self) -> &Setup;
    /// What is allowed but probably not meant.
    fn warnings(&self) -> &[Warning];
    /// Frames so far that ended before their method had converged, of methods that know.
    fn unsettled(&self) -> usize;
    /// Edges that pass through triangles and colliders right now, and pins that were held up.
    fn passages(&self) -> Passages;
}

/// What a run consists of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Instruction set in use.
    pub isa: &'static str,
    /// Threads at work.
    pub threads: usize,
    /// Constraints of all kinds, joints among them.
    pub constraints: usize,
    /// Constraints that had to be softened for the method.
    pub softened: usize,
}

/// Figures about a state.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Hash over every bit.
    pub hash: u64,
    /// Largest elongation of a link over its rest length.
    pub max_strain: f64,
    /// Kinetic, gravitational and elastic energy \[J\].
    pub energy: f64,
}

/// What to run a scene with.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// The method.
    pub solver: SolverEntry,
    /// Name of the backend.
    pub backend: &'a str,
    /// `f32` or `f64`.
    pub precision: &'a str,
    /// Threads of `parallel`.
    pub threads: Option<usize>,
    /// Work a step.
    pub work: Work,
}

/// Makes a scene ready to run.
pub fn start(scene: &Scene, choice: Choice<'_>) -> Result<Box<dyn Run>, Failure> {
    match choice.precision {
        "f32" => Ok(Box::new(Simulation::<f32>::new(scene, choice)?)),
        "f64" => Ok(Box::new(Simulation::<f64>::new(scene, choice)?)),
        other => Err(crate::failure::unknown("precision", other, PRECISIONS)),
    }
}

/// The precisions there are.
pub const PRECISIONS: [&str; 2] = ["f32", "f64"];

struct Simulation<S: Number> {
    /// Before anything tore, and now.
    whole: Rc<Scene>,
    scene: Rc<Scene>,
    tears: Tears,
    model: Model<S>,
    start: Particles<S>,
    particles: Particles<S>,
    /// Rigid bodies at the start and now.
    first: RigidBodies<S>,
    bodies: RigidBodies<S>,
    together: Together<S>,
    solver: Box<dyn Solver<AnyBackend<S>>>,
    backend: AnyBackend<S>,
    setup: Setup,
    frames: usize,
    unsettled: usize,
}

impl<S: Number> Simulation<S> {
    fn new(scene: &Scene, choice: Choice<'_>) -> Result<Self, Failure> {
        let mut scene = scene.clone();
        let work = choice.solver.effort(&scene, choice.work);
        let softened = soften_scene(&mut scene, &choice.solver, work);
        let (model, start) = scene.build::<S>()?;
        let (mut first, fastened) = scene.build_rigid(&start)?;
        let solver = S::solver(&choice.solver.facing(&scene), work);
        let (substeps, passes) = (choice.work.substeps.max(scene.rigid.substeps), choice.work.iterations);
        let joint_iterations = passes.max(scene.rigid.joint_iterations);
        let mut together = Together::new(RigidOptions { substeps, joint_iterations, ..scene.rigid });
        together.mirror(&mut first, model.colliders())?;
        let backend = solvers::backend::<S>(choice.backend, choice.threads)?;
        let setup = Setup {
            isa: if choice.solver.uses_backend { backend.isa() } else { "scalar" },
            threads: if choice.solver.uses_backend { backend.threads() } else { 1 },
            constraints: model.constraints().len() + first.joints().len(),
            softened,
        };
        let (particles, bodies, tears) = (start.clone(), first.clone(), Tears::of(&scene));
        let whole = Rc::new(scene);
        let mut simulation = Self {
            scene: Rc::clone(&whole),
            whole,
            tears,
            model,
            start,
            particles,
            first,
            bodies,
            together,
            solver,
            backend,
            setup,
            frames: 0,
            unsettled: 0,
        };
        simulation.together.prepare(&simulation.bodies)?;
        simulation.together.coupling_mut().fasten(fastened);
        simulation.prepare()?;
        Ok(simulation)
    }

    /// Makes the method ready for the start.
    fn prepare(&mut self) -> Result<(), BuildError> {
        // A method for particles has nothing to say about a scene without any.
        if self.particles.is_empty() { Ok(()) } else { self.solver.prepare(&self.model) }
    }

    /// Lets overloaded edges tear: the model is built again, and everything else goes on as it was.
    fn tear(&mut self) -> Result<(), StepError> {
        let Some(rent) = self.tears.find(&self.scene, &self.model, &self.particles.x) else { return Ok(()) };
        let scene = rent.scene(&self.scene);
        let (mut model, mut start) = scene.build::<S>().map_err(StepError::NotTorn)?;
        let particles = rent.carry((&self.model, &self.particles, &self.start), (&mut model, &mut start));
        model.colliders_mut().clone_from(self.model.colliders());
        self.fasten(&scene, &start).map_err(StepError::NotTorn)?;
        self.tears = Tears::of(&scene);
        (self.scene, self.model, self.start, self.particles) = (Rc::new(scene), model, start, particles);
        self.prepare().map_err(StepError::NotTorn)
    }

    /// Ties what a scene fastens to the rigid bodies, where both started.
    fn fasten(&mut self, scene: &Scene, start: &Particles<S>) -> Result<(), BuildError> {
        let fastened = scene.build_rigid(start)?.1;
        self.together.coupling_mut().fasten(fastened);
        Ok(())
    }

    /// Sends moving pins and colliders to where they will be after `frames` frames.
    fn aim(&mut self, frames: usize) -> Result<(), StepError> {
        let time = frames as f64 * self.scene.dt;
        for motion in &self.scene.motions {
            let start = self.start.x.get(motion.particle as usize);
            let offset = motion.offset(start.map(S::to_f64), time);
            let to = std::array::from_fn(|k| S::from_f64(start[k].to_f64() + offset[k]));
            let row = motion.particle as usize;
            let refuse =
                |_| StepError::NotFinite { what: "target of pin", row, value: offset[0] + offset[1] + offset[2] };
            self.model.move_pin(motion.particle, to).map_err(refuse)?;
        }
        for (row, obstacle) in self.scene.obstacles.iter().enumerate().filter(|(_, obstacle)| obstacle.moves()) {
            let refuse = |_| StepError::NotFinite { what: "pose of collider", row, value: time };
            self.model.colliders_mut().send(row, obstacle.pose(time)).map_err(refuse)?;
        }
        Ok(())
    }
}

impl<S: Number> Run for Simulation<S> {
    fn reset(&mut self) -> Result<(), Failure> {
        (self.frames, self.unsettled) = (0, 0);
        self.bodies.clone_from(&self.first);
        self.together.cool();
        if !Rc::ptr_eq(&self.scene, &self.whole) {
            self.scene = Rc::clone(&self.whole);
            self.tears = Tears::of(&self.scene);
            (self.model, self.start) = self.scene.build()?;
            let (scene, start) = (Rc::clone(&self.scene), self.start.clone());
            self.fasten(&scene, &start)?;
        } else if self.model.is_plastic() {
            // What flowed is in the model.
            self.model = self.scene.build::<S>()?.0;
        }
        self.particles.clone_from(&self.start);
        self.aim(0)?;
        self.model.colliders_mut().settle();
        Ok(self.prepare()?)
    }

    fn frame(&mut self) -> Result<usize, StepError> {
        self.aim(self.frames + 1)?;
        let dt = S::from_f64(self.scene.dt);
        let Self { together, solver, model, particles, bodies, backend, .. } = self;
        let (report, _) = together.step((&mut **solver, model, particles), bodies, dt, backend)?;
        model.colliders_mut().settle();
        model.flow(particles, dt);
        self.frames += 1;
        self.unsettled += usize::from(!report.converged);
        self.tear()?;
        Ok(report.projections)
    }

    fn scene(&self) -> &Rc<Scene> {
        &self.scene
    }

    fn positions(&self) -> Vec<[f64; 3]> {
        self.particles.x.iter().map(|x| x.map(S::to_f64)).collect()
    }

    fn poses(&self) -> Vec<Pose> {
        (0..self.scene.solids.len()).map(|row| self.bodies.pose(row)).collect()
    }

    fn state(&self) -> State {
        State {
            hash: state_hash(&self.particles, &self.bodies),
            max_strain: measure::max_strain(&self.scene, &self.positions(), Role::Stretch),
            energy: measure::energy(&self.model, &self.particles)
                + measure::rigid_energy(&self.bodies, self.scene.gravity),
        }
    }

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn warnings(&self) -> &[Warning] {
        self.model.warnings()
    }

    fn unsettled(&self) -> usize {
        self.unsettled
    }

    fn passages(&self) -> Passages {
        let surfaces = self.model.surfaces();
        // A step that ended well left finite positions.
        let found = || surfaces.intersections(&self.particles.x, &self.backend).ok().map(|found| found.len());
        let positions = self.positions();
        let colliders = through_colliders(&self.scene, &self.model, &positions);
        let behind = farthest_pin(&self.model, &positions);
        // Ropes are surfaces of edges alone.
        Passages { triangles: if surfaces.triangles.is_empty() { None } else { found() }, colliders, behind }
    }
}
