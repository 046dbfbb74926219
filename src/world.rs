//! Worlds: several bodies, one model of them all, and the solver that moves it.
//!
//! The files beside this one: `world/handles.rs` (ids), `world/change.rs` (pins, targets, forces), `world/edit.rs` (other
//! constraints, merged bodies), `world/compiled.rs` (what is compiled once), `world/rebuild.rs` (what a new model takes over from the old one), `world/colliders.rs`,
//! `world/contacts.rs` (events and questions), `world/read.rs` (positions, vertices, normals), `world/rigid.rs` (rigid bodies,
//! joints, and what is fastened to them), `world/skin.rs` (cloth on bones), `world/snapshot.rs` (the moving state as bytes),
//! `world/full.rs` (descriptions as well), `world/tearing.rs` (bodies that flow and tear).

mod change;
#[cfg(feature = "collision")]
mod colliders;
mod compiled;
#[cfg(feature = "collision")]
mod contacts;
mod edit;
#[cfg(feature = "serde")]
mod full;
mod handles;
mod read;
mod rebuild;
#[cfg(feature = "rigid")]
mod rigid;
#[cfg(feature = "collision")]
mod skin;
mod snapshot;
mod tearing;

#[cfg(feature = "collision")]
pub use contacts::Intersection;
pub use handles::BodyId;
#[cfg(feature = "collision")]
pub use handles::{BoneId, ColliderId};
#[cfg(feature = "rigid")]
pub use handles::{JointId, RigidId};
pub use read::{VectorsIter, VectorsView};
#[cfg(feature = "collision")]
pub use skin::{Backstop, SkinBone, Skinning};
pub use tearing::TearEvent;

use core::ops::Range;

use pliant_backends::Best;
use pliant_core::backend::Backend;
use pliant_core::body::Body;
use pliant_core::columns::{Columns, Particles};
use pliant_core::environment::Environment;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::solver::{Solver, StepReport, check_time_step};
use pliant_core::warning::Warning;

use crate::method::Method;
use compiled::Compiled;
use handles::Handles;
use rebuild::{Heir, Member, prepare};

/// Bodies that live and move together: the front door for applications.
///
/// A body gets a [`BodyId`] when it is added; it can be read, pinned, pushed, edited and removed by that handle while time runs.
/// Adding, removing, pinning, merging and editing rebuild the model and keep the state of everything else bit for bit, rest shapes
/// that flowed included; moving pins and targets, changing loads and stepping are cheap, and a step allocates nothing. Whatever
/// returns an error leaves the world as it was (the one exception: see [`World::step`]).
///
/// ```
/// use pliant::prelude::*;
///
/// let mut world = World::new();
/// let curtain = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?.pinned([0, 9]))?;
/// for _ in 0..30 {
///     world.step(1.0 / 60.0)?;
/// }
/// let lowest = world.positions(curtain)?.iter().map(|p| p[1]).fold(f32::MAX, f32::min);
/// assert!(lowest < -0.5, "half a second later the curtain has swung down");
/// # Ok::<(), Error>(())
/// ```
pub struct WorldOn<B: Backend> {
    backend: B,
    solver: Box<dyn Solver<B>>,
    model: Model<B::Scalar>,
    particles: Particles<B::Scalar>,
    /// In the order of the model.
    members: Vec<Member>,
    handles: Handles<BodyId>,
    #[cfg(feature = "collision")]
    collider_handles: Handles<ColliderId>,
    /// While contacts are watched.
    #[cfg(feature = "collision")]
    watch: Option<Box<pliant_solvers::ContactWatch<B::Scalar>>>,
    #[cfg(feature = "collision")]
    probe_tree: pliant_core::collide::ProbeTree<B::Scalar>,
    /// Attachment targets at the end of the last step: where their motion over the next step begins.
    settled: Columns<B::Scalar>,
    #[cfg(feature = "rigid")]
    rigid: rigid::Rigid<B::Scalar>,
    #[cfg(feature = "collision")]
    skins: skin::Skins,
    tears: tearing::Tears,
    time: f64,
    compiled: Compiled<B>,
}

/// A world on the widest backend of this build, in single precision; [`WorldOn`] takes any backend.
///
/// Its kernels are compiled here, once, and not again by every application that uses it.
pub type World = WorldOn<Best<f32>>;

impl World {
    /// An empty world with the default solver: coloured XPBD with ten substeps where built, PBD with ten otherwise.
    pub fn new() -> Self {
        Self::on(Best::new())
    }

    /// The same on a chosen backend, such as [`Best::by_name`] or `Parallel::on_rayon(pool).into()`.
    pub fn on(backend: Best) -> Self {
        Self::with_method(Method::default(), backend)
    }

    /// The same with a chosen method, by value or by name; compiled already, whereas [`World::with`] compiles kernels.
    ///
    /// Its options are checked when it first meets a body, in [`World::add`].
    pub fn with_method(method: impl Into<Method>, backend: Best) -> Self {
        Self::made(method.into(), backend)
    }

    /// Not generic, so that it is compiled here, and with it what a step is.
    fn made(method: Method, backend: Best) -> Self {
        Self::of(method.into_solver(), backend)
    }

    /// Swaps the method for one that is compiled already, as [`World::set_solver`] does for any.
    ///
    /// # Errors
    /// When an option of the method is outside its range or it cannot carry one of the constraints; the old method stays.
    pub fn set_method(&mut self, method: impl Into<Method>) -> Result<(), BuildError> {
        self.swap_method(method.into())
    }

    fn swap_method(&mut self, method: Method) -> Result<(), BuildError> {
        self.swap(method.into_solver())
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl<B: Backend> WorldOn<B> {
    /// An empty world with a chosen solver and backend.
    ///
    /// The solver's options are checked when it first meets a body, in [`World::add`].
    pub fn with(solver: impl Solver<B> + 'static, backend: B) -> Self {
        Self::of(Box::new(solver), backend)
    }

    fn of(solver: Box<dyn Solver<B>>, backend: B) -> Self {
        let (model, particles) = Model::build(&[]).expect("a model of no bodies has no row that could be wrong");
        let (members, handles, settled) = (Vec::new(), Handles::default(), Columns::zeros(0));
        Self {
            backend,
            solver,
            model,
            particles,
            members,
            handles,
            #[cfg(feature = "collision")]
            collider_handles: Handles::default(),
            #[cfg(feature = "collision")]
            watch: None,
            #[cfg(feature = "collision")]
            probe_tree: Default::default(),
            settled,
            #[cfg(feature = "rigid")]
            rigid: rigid::Rigid::new(),
            #[cfg(feature = "collision")]
            skins: Default::default(),
            tears: Default::default(),
            time: 0.0,
            compiled: Compiled::here(),
        }
    }

    /// Swaps the method; the bodies and their state stay.
    ///
    /// # Errors
    /// When an option of the solver is outside its range or it cannot carry one of the constraints; the old solver stays.
    pub fn set_solver(&mut self, solver: impl Solver<B> + 'static) -> Result<(), BuildError> {
        self.swap(Box::new(solver))
    }

    fn swap(&mut self, mut solver: Box<dyn Solver<B>>) -> Result<(), BuildError> {
        prepare(&mut *solver, &mut self.model, &self.settled)?;
        #[cfg(feature = "rigid")]
        {
            let dents: Vec<_> = self.solver.dents(&self.model).into_iter().map(Some).collect();
            solver.put_dents(&self.model, &dents);
        }
        self.solver = solver;
        Ok(())
    }

    /// Adds a body: the model is rebuilt, the state of the other bodies is kept bit for bit.
    ///
    /// # Errors
    /// The first thing that is wrong with the body, or why the solver cannot carry it; the world is then as it was.
    pub fn add(&mut self, body: Body) -> Result<BodyId, BuildError> {
        let draft = self.draft(&self.heirs().chain([Heir::new(&body)]).collect::<Vec<_>>())?;
        self.adopt(draft)?;
        Ok(self.enlist(body))
    }

    /// Adds several bodies, for which the model is rebuilt once: the way to fill a world. What comes of it is the same as adding one
    /// after the other.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let flag = Body::cloth(&ClothGrid::new(12, 8, 1.2, 0.8))?.pinned([0, 84]);
    /// let mut world = World::new();
    /// let flags = world.add_all((0..20).map(|i| flag.clone().translated([2.0 * f64::from(i), 0.0, 0.0])))?;
    /// assert_eq!(world.positions(flags[19])?.len(), 96);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong with one of them, or why the solver cannot carry it; the world is then as it was.
    pub fn add_all(&mut self, bodies: impl IntoIterator<Item = Body>) -> Result<Vec<BodyId>, BuildError> {
        let bodies: Vec<Body> = bodies.into_iter().collect();
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        let draft = self.draft(&self.heirs().chain(bodies.iter().map(Heir::new)).collect::<Vec<_>>())?;
        self.adopt(draft)?;
        Ok(bodies.into_iter().map(|body| self.enlist(body)).collect())
    }

    /// Gives a body that the model has already a handle.
    fn enlist(&mut self, body: Body) -> BodyId {
        let id = self.handles.insert(self.members.len());
        self.members.push(Member::new(body, id));
        id
    }

    /// Removes a body for good: the model is rebuilt, the state of the others is kept bit for bit.
    ///
    /// Its contacts leave the list without a `ContactPhase::End`: who keeps count of them forgets the body's here.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed before.
    pub fn remove(&mut self, id: BodyId) -> Result<(), BuildError> {
        let gone = self.handles.find(id)?;
        let mut kept: Vec<_> = self.heirs().collect();
        kept.remove(gone);
        let draft = self.draft(&kept)?;
        self.adopt(draft)?;
        self.handles.remove(id);
        self.members.remove(gone);
        #[cfg(feature = "collision")]
        self.skins.forget(id);
        #[cfg(feature = "rigid")]
        self.refasten();
        Ok(())
    }

    /// Advances time by `dt` \[s\]; pins, attachment targets and colliders arrive where they were sent.
    ///
    /// # Errors
    /// When `dt` is not usable or the step diverges; the world is then as it was. [`World::locate`] says which body a
    /// particle named by the error belongs to. The exception is [`StepError::NotTorn`]: the step was taken, time, positions and
    /// rest shapes have advanced, and only the overloaded edges are still whole.
    pub fn step(&mut self, dt: B::Scalar) -> Result<StepReport, StepError> {
        (self.compiled.advance)(self, dt)
    }

    fn advance(&mut self, dt: B::Scalar) -> Result<StepReport, StepError> {
        check_time_step(dt.to_f64())?;
        #[cfg(feature = "collision")]
        self.open_account();
        #[cfg(feature = "collision")]
        self.follow_bones(dt.to_f64());
        let report = self.move_on(dt)?;
        self.settled.copy_from(0..self.model.attachment_targets().len(), self.model.attachment_targets(), 0);
        #[cfg(feature = "collision")]
        self.model.colliders_mut().settle();
        #[cfg(feature = "collision")]
        if let Some(skin) = self.model.skin_mut() {
            skin.settle();
        }
        #[cfg(feature = "collision")]
        self.list_contacts(dt);
        self.time += dt.to_f64();
        self.flow_and_tear(dt)?;
        Ok(report)
    }

    /// Moves particles and rigid bodies on.
    fn move_on(&mut self, dt: B::Scalar) -> Result<StepReport, StepError> {
        #[cfg(feature = "rigid")]
        if !self.rigid.is_empty() {
            return self.rigid.step((&mut *self.solver, &self.model, &mut self.particles), dt, &self.backend);
        }
        if self.members.is_empty() {
            return Ok(StepReport::default());
        }
        self.solver.step(&self.model, &mut self.particles, dt, &self.backend)
    }

    /// Time since the world began \[s\].
    pub fn time(&self) -> f64 {
        self.time
    }
    /// Handles of all bodies, in the order in which they were added.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = BodyId> + '_ {
        self.members.iter().map(|member| member.id)
    }
    /// Whether this handle's body is still there.
    pub fn contains(&self, id: BodyId) -> bool {
        self.handles.find(id).is_ok()
    }
    /// A body as it was described, with its current pins.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn body(&self, id: BodyId) -> Result<&Body, BuildError> {
        Ok(&self.members[self.handles.find(id)?].body)
    }
    /// The body a particle of the model belongs to, and its number inside that body.
    pub fn locate(&self, particle: usize) -> Option<(BodyId, u32)> {
        let index = (0..self.members.len()).find(|&index| self.range_of(index).contains(&particle))?;
        Some((self.members[index].id, (particle - self.range_of(index).start) as u32))
    }
    /// What is allowed but probably not meant, found when the bodies were put together; a warning's `body` is a place in
    /// [`bodies`](Self::bodies).
    ///
    /// ```
    /// # #[cfg(feature = "collision")] {
    /// use pliant::prelude::*;
    ///
    /// let thick = SelfContact { thickness: 0.3, ..SelfContact::default() };
    /// let mut world = World::new();
    /// world.add(Body::cloth(&ClothGrid::square(1.0, 11))?.with_self_contact(thick))?;
    /// let [warning] = world.warnings() else { panic!("links are 0.1 m long") };
    /// assert!(warning.to_string().contains("0.3 m"));
    /// # }
    /// # Ok::<(), pliant::Error>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        self.model.warnings()
    }
    /// The model of all bodies.
    pub fn model(&self) -> &Model<B::Scalar> {
        &self.model
    }
    /// The state of all particles, body after body.
    pub fn particles(&self) -> &Particles<B::Scalar> {
        &self.particles
    }
    /// Gravity, damping, wind and forces.
    pub fn environment(&self) -> &Environment<B::Scalar> {
        &self.model.environment
    }
    /// Gravity, damping, wind and forces, to be changed at any time; checked by the next step.
    pub fn environment_mut(&mut self) -> &mut Environment<B::Scalar> {
        &mut self.model.environment
    }
    /// The method in use.
    pub fn solver(&self) -> &dyn Solver<B> {
        &*self.solver
    }
    /// The backend in use.
    pub fn backend(&self) -> &B {
        &self.backend
    }
    /// A hash over every bit of positions and velocities of particles, and of poses and velocities of rigid bodies: equal on every
    /// backend and thread count. Time, targets, loads and what methods remember are not in it; [`snapshot`](Self::snapshot) holds
    /// them.
    pub fn state_hash(&self) -> u64 {
        #[cfg(feature = "rigid")]
        return pliant_solvers::state_hash(&self.particles, &self.rigid.bodies);
        #[cfg(not(feature = "rigid"))]
        self.particles.state_hash()
    }
    /// Constraint forces of the last substep, kind by kind in the order of the model's rows; see [`Solver::forces`].
    pub fn constraint_forces(&self) -> Vec<(&'static str, Vec<B::Scalar>)> {
        if self.members.is_empty() { Vec::new() } else { self.solver.forces(&self.model) }
    }

    /// Particles of a member in the model.
    fn range_of(&self, index: usize) -> Range<usize> {
        self.model.body(index).unwrap_or_default()
    }
    /// Attachment rows of a member in the model.
    fn attachments_of(&self, index: usize) -> Range<usize> {
        let count = |member: &Member| member.body.tables().attachment.ids.len();
        let first = self.members[..index].iter().map(count).sum();
        first..first + count(&self.members[index])
    }
}

impl<B: Backend> core::fmt::Debug for WorldOn<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World")
            .field("solver", &self.solver.name())
            .field("backend", &self.backend.name())
            .field("bodies", &self.members.len())
            .field("particles", &self.particles.len())
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}
