//! Coupling: one step of particles and rigid bodies that rest on each other, run into each other and are fastened together.
//!
//! ```text
//!   bodies        their own step, under the load that particles were in the last one (a guess)
//!   particles     their own method; bodies go along and give way in every substep (`meeting`)
//!   bodies        where the substeps left them, the guess taken back
//! ```
//! Any method for particles will do: it meets bodies where it meets colliders. Static and kinematic bodies give way to nothing.
//!
//! The guess lets joints and other bodies know about the load: a box that carries another one on a soft cube finds its balance
//! and stays. It is taken back in full, so that it changes nothing where a body is free. Momentum, linear and angular, is kept to
//! rounding: what a body has at the end is computed from what particles were given.

use pliant_core::backend::Backend;
use pliant_core::columns::{Columns, Particles};
use pliant_core::error::{BuildError, StepError};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::partner::Partner;
use pliant_core::rigid::{Quaternion, RigidBodies, RigidState};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::solver::{Solver, StepReport, Undo};
use pliant_core::vec3::Vec3;

use super::flight::{half, symmetric};
use super::meeting::{Meeting, inverse_inertia};
use super::memory::write_vector;
use super::narrow::Piece;
use super::nearby::Nearby;
use super::{RigidReport, RigidSolver};

/// A particle fastened to a point of a rigid body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fastening {
    /// Number of the particle in the model.
    pub particle: u32,
    /// Row of the body.
    pub body: u32,
    /// The point in the body's principal frame \[m\].
    pub point: [f64; 3],
}

impl Fastening {
    /// Fastens a particle where it is now to a body where it is now.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when there is no such particle or body.
    pub fn new<S: Real>(
        particle: u32,
        body: usize,
        particles: &Particles<S>,
        bodies: &RigidBodies<S>,
    ) -> Result<Self, BuildError> {
        if particle as usize >= particles.len() {
            return Err(BuildError::NotFound { what: "particle" });
        }
        if body >= bodies.len() {
            return Err(BuildError::NotFound { what: "rigid body" });
        }
        let pose = bodies.principal_pose(body);
        let x = particles.x.get(particle as usize).map(S::to_f64);
        let point = Quaternion::new(pose.rotation.0).unrotate(Vec3::from(x) - Vec3::from(pose.translation));
        Ok(Self { particle, body: body as u32, point: point.into() })
    }
}

/// Steps the particles of a model and rigid bodies together.
pub struct Coupling<S> {
    fastenings: Vec<Fastening>,
    /// By row: impulse and angular impulse about the centre that particles gave a body in the last step \[N s, N m s\].
    given: Vec<[Vec3<S>; 2]>,
    /// The same before the step.
    given_before: Vec<[Vec3<S>; 2]>,
    nearby: Nearby<S>,
    /// With the particle method for the length of a step.
    meeting: Option<Box<Meeting<S>>>,
    /// Bodies and particles before the step.
    before: RigidState<S>,
    particles: Particles<S>,
    /// The particles' method before its step.
    undo: Undo,
    /// For methods that do not meet anybody.
    fields: Option<[Field<S>; 2]>,
    revision: Option<u64>,
}

impl<S: Real> Coupling<S> {
    /// Couples by contact alone.
    pub fn new() -> Self {
        Self {
            fastenings: Vec::new(),
            given: Vec::new(),
            given_before: Vec::new(),
            nearby: Nearby::new(),
            meeting: None,
            before: RigidState::default(),
            particles: Particles::default(),
            undo: Undo::default(),
            fields: None,
            revision: None,
        }
    }
    /// The particles that are fastened to bodies.
    pub fn fastenings(&self) -> &[Fastening] {
        &self.fastenings
    }
    /// Replaces all fastenings.
    pub fn fasten(&mut self, fastenings: Vec<Fastening>) {
        self.fastenings = fastenings;
        self.fastenings.sort_by_key(|f| (f.particle, f.body));
    }
    /// Forgets the loads of the last step: what comes next depends on the state alone.
    pub fn cool(&mut self) {
        self.given.fill([Vec3::zero(); 2]);
    }
    pub(super) fn take_given(&mut self) -> Vec<[Vec3<S>; 2]> {
        core::mem::take(&mut self.given)
    }
    /// Starts from these loads; bodies behind them have none.
    pub(super) fn put_given(&mut self, given: Vec<[Vec3<S>; 2]>) {
        self.given.iter_mut().zip(given).for_each(|(to, from)| *to = from);
    }
    /// Lets loads follow their bodies to other rows.
    pub(super) fn renumber(&mut self, row: &impl Fn(usize) -> Option<usize>) {
        let mut given = Vec::new();
        for (load, row) in self.given.iter().enumerate().filter_map(|(old, load)| Some((load, row(old)?))) {
            given.resize(given.len().max(row + 1), [Vec3::zero(); 2]);
            given[row] = *load;
        }
        self.given = given;
    }
    /// Writes down the loads of the last step, of those bodies that had any.
    pub fn remember(&self, to: &mut Writer) {
        let loaded = || self.given.iter().enumerate().filter(|(_, given)| **given != [Vec3::zero(); 2]);
        to.count(loaded().count());
        for (row, given) in loaded() {
            to.u32(row as u32);
            given.iter().for_each(|&load| write_vector(load, to));
        }
    }
    /// Takes them back, for the same bodies: the next step gives the same bits.
    ///
    /// # Errors
    /// When they are not of such bodies; they may be half taken back then.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.cool();
        for _ in 0..from.count(4 + 6 * size_of::<S>())? {
            let row = from.u32()? as usize;
            let given = self.given.get_mut(row).ok_or(SnapshotError::Foreign { what: "rigid bodies" })?;
            *given = [from.vector()?.into(), from.vector()?.into()];
        }
        Ok(())
    }
    /// What particles gave a body over the last step, by its row \[N s\].
    pub fn impulse(&self, row: usize) -> [S; 3] {
        self.given.get(row).map_or([S::ZERO; 3], |given| given[0].into())
    }

    /// Makes ready for a list of bodies; call it again after bodies were added or removed. Particles meet the first `met` of
    /// them; the others are twins of colliders, which particles know already.
    ///
    /// # Errors
    /// When a convex body has no hull.
    pub fn prepare(&mut self, bodies: &RigidBodies<S>, met: usize) -> Result<(), BuildError> {
        let mut meeting = Meeting::new();
        for (row, body) in bodies.described().iter().enumerate().take(met) {
            let pieces = body.parts.iter().map(|part| Piece::new(part, bodies, row));
            meeting.pieces.push(pieces.collect::<Result<_, _>>()?);
        }
        self.nearby.prepare(&meeting.pieces);
        self.meeting = Some(Box::new(meeting));
        self.given.clear();
        self.given.resize(bodies.len(), [Vec3::zero(); 2]);
        self.revision = Some(bodies.revision());
        Ok(())
    }

    /// Advances particles and bodies by `dt` \[s\].
    ///
    /// # Errors
    /// When it, or one of the solvers, was prepared for something else, a fastening names a particle or body that is gone, or one
    /// of the steps fails; particles and bodies are then as they were.
    pub fn step<B: Backend<Scalar = S>>(
        &mut self,
        (soft, model, particles): (&mut dyn Solver<B>, &Model<S>, &mut Particles<S>),
        (rigid, bodies): (&mut RigidSolver<S>, &mut RigidBodies<S>),
        dt: S,
        on: &B,
    ) -> Result<(StepReport, RigidReport), StepError> {
        let missing = |f: &Fastening| f.particle as usize >= particles.len() || f.body as usize >= self.given.len();
        if self.revision != Some(bodies.revision()) || self.fastenings.iter().any(missing) {
            return Err(StepError::NotPrepared);
        }
        self.before.keep(bodies);
        self.given_before.clone_from(&self.given);
        let count = particles.len();
        if count == 0 {
            self.cool();
        }
        if self.particles.len() != count {
            self.particles = Particles::at_rest(Columns::zeros(count));
        }
        self.particles.x.copy_from(0..count, &particles.x, 0);
        self.particles.v.copy_from(0..count, &particles.v, 0);
        self.guess(bodies, dt);
        let moved = rigid.step(bodies, model.environment.gravity, dt, on);
        let met = moved.is_ok();
        let stepped = moved.and_then(|moved| {
            let substeps = rigid.options().substeps;
            if count == 0 {
                return Ok((StepReport::default(), moved));
            }
            self.meet(model, particles, bodies, substeps, dt, on);
            self.undo.note(soft);
            let report = self.advance((&mut *soft, model, &mut *particles), dt, on)?;
            let parted = self.part(bodies, substeps, dt);
            self.undo.settle(parted, soft)?;
            Ok((report, moved))
        });
        if stepped.is_err() {
            self.before.restore(bodies);
            particles.x.copy_from(0..count, &self.particles.x, 0);
            particles.v.copy_from(0..count, &self.particles.v, 0);
            self.given.clone_from(&self.given_before);
            if met {
                rigid.take_back();
            }
        }
        stepped
    }

    /// Loads bodies as particles did in the last step.
    fn guess(&mut self, bodies: &mut RigidBodies<S>, dt: S) {
        for row in 0..self.given.len() {
            let [j, l] = self.given[row];
            if self.given[row] != [Vec3::zero(); 2] && bodies.is_dynamic(row) {
                bodies.force.set(row, (Vec3::from(bodies.force.get(row)) + j * (S::ONE / dt)).into());
                bodies.torque.set(row, (Vec3::from(bodies.torque.get(row)) + l * (S::ONE / dt)).into());
                bodies.wake(row);
            } else {
                self.given[row] = [Vec3::zero(); 2];
            }
        }
    }

    /// Finds who meets whom, and the bodies' paths without the guess.
    fn meet<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        bodies: &RigidBodies<S>,
        substeps: usize,
        dt: S,
        on: &B,
    ) {
        let Some(meeting) = &mut self.meeting else { return };
        self.nearby.look(meeting, &self.fastenings, model, particles, (&self.before, bodies), dt, on);
        for row in (0..self.given.len()).filter(|&row| self.given[row] != [Vec3::zero(); 2]) {
            self.nearby.invite(meeting, &self.before, bodies, row as u32);
        }
        let gravity = Vec3::from(model.environment.gravity).length();
        meeting.rest = gravity * S::from_f64(2.0);
        // Semi-implicit Euler of n substeps covers (n + 1)/2n of the change of velocity.
        let share = S::from_f64((substeps as f64 + 1.0) / (2.0 * substeps as f64)) * dt;
        for guest in &mut meeting.guests {
            let row = guest.row as usize;
            let ends = |before: Vec3<S>, after: Vec3<S>, change: Vec3<S>| {
                if bodies.is_dynamic(row) { [before, after - change] } else { [after, after] }
            };
            let change = self.given[row][0] * bodies.inv_mass()[row];
            let v = ends(self.before.v.get(row).into(), bodies.v.get(row).into(), change);
            let q = Quaternion::new(bodies.q[row]);
            let turn = symmetric(&inverse_inertia(q, half(&guest.body.principal, 0)), self.given[row][1]);
            let omega = ends(self.before.omega.get(row).into(), bodies.omega.get(row).into(), turn);
            let way = Vec3::from(bodies.x.get(row)) - guest.reference - change * share;
            let turned = (q * guest.body.q().conjugate()).small_rotation() - turn * share;
            let covered = |[first, last]: [Vec3<S>; 2]| first * dt + (last - first) * share;
            guest.velocities = [v, omega];
            guest.beyond = [way - covered(v), turned - covered(omega)];
        }
    }

    /// The particles' own step, in company.
    fn advance<B: Backend<Scalar = S>>(
        &mut self,
        (soft, model, particles): (&mut dyn Solver<B>, &Model<S>, &mut Particles<S>),
        dt: S,
        on: &B,
    ) -> Result<StepReport, StepError> {
        let Some(mut meeting) = self.meeting.take() else { return Err(StepError::NotPrepared) };
        if meeting.guests.is_empty() {
            self.meeting = Some(meeting);
            return soft.step(model, particles, dt, on);
        }
        if let Some(account) = soft.account() {
            account.partner = Some(meeting);
            let stepped = soft.step(model, particles, dt, on);
            let back = soft.account().and_then(|account| account.partner.take());
            self.meeting = back.and_then(|partner| partner.into_any().downcast().ok());
            return stepped;
        }
        // A method that does not know partners meets them once, after its step.
        let stepped = soft.step(model, particles, dt, on);
        if stepped.is_ok() {
            let [x, v] = self.fields.get_or_insert_with(|| [Field::empty(), Field::empty()]);
            if x.slot_count() != model.plan().slot_count() {
                (*x, *v) = (Field::zeros(model.plan()), Field::zeros(model.plan()));
            }
            x.pack(model.plan(), &particles.x);
            v.pack(model.plan(), &particles.v);
            for (&slot, &w) in model.plan().slots().iter().zip(model.inv_mass()) {
                x.set(slot as usize, 3, w);
            }
            meeting.begin(model, &[], dt);
            meeting.place((0, 1));
            meeting.strike(x, v);
            x.unpack(model.plan(), &mut particles.x);
            v.unpack(model.plan(), &mut particles.v);
        }
        self.meeting = Some(meeting);
        stepped
    }

    /// Bodies as the particles left them.
    fn part(&mut self, bodies: &mut RigidBodies<S>, substeps: usize, dt: S) -> Result<(), StepError> {
        let Some(meeting) = &self.meeting else { return Err(StepError::NotPrepared) };
        for guest in &meeting.guests {
            let row = guest.row as usize;
            let guess = self.given[row];
            self.given[row] = guest.given;
            if !bodies.is_dynamic(row) || !guest.is_pushed() && guess == [Vec3::zero(); 2] {
                continue;
            }
            let (m, from) = (S::ONE / bodies.inv_mass()[row], guest.reference);
            let spin = |q: Quaternion<S>, omega: Vec3<S>| {
                let i = half(&guest.body.principal, 1);
                let local = q.unrotate(omega);
                q.rotate(Vec3::new(local.x * i.x, local.y * i.y, local.z * i.z))
            };
            let (x, v) = (Vec3::from(bodies.x.get(row)), Vec3::from(bodies.v.get(row)));
            let own = (x - from).cross(v) * m + spin(Quaternion::new(bodies.q[row]), bodies.omega.get(row).into());
            let whole = own - guessed(guess, self.before.v.get(row).into(), v, substeps, dt) + guest.about_start;
            let (x, q, v) = (guest.body.x(), guest.body.q(), guest.body.v());
            let rest = whole - (x - from).cross(v) * m;
            let omega = symmetric(&inverse_inertia(q, half(&guest.body.principal, 0)), rest);
            let wrong = [x, v, omega]
                .into_iter()
                .flat_map(<[S; 3]>::from)
                .find(|c| !c.is_finite() || Lane::abs(*c) >= S::from_f64(super::ABSURD));
            if let Some(value) = wrong {
                let (quantity, value) = ("pose or velocity", value.to_f64());
                return Err(StepError::BodyDiverged { body: row, quantity, value });
            }
            bodies.x.set(row, x.into());
            bodies.q[row] = q.components();
            bodies.v.set(row, v.into());
            bodies.omega.set(row, omega.into());
            // A body that holds something up stays awake with it.
            bodies.wake(row);
        }
        Ok(())
    }
}

/// The angular momentum that a guess gave a body, about where the body began: Σ h (x_k − x_0) × J/dt + L over the substeps
/// of length h, with x_k − x_0 = k h v₀ + ½ k (k + 1) h² a.
fn guessed<S: Real>([j, l]: [Vec3<S>; 2], v0: Vec3<S>, v1: Vec3<S>, substeps: usize, dt: S) -> Vec3<S> {
    let n = substeps as f64;
    // h Σ k h/dt = dt (n − 1)/2n,   h Σ ½ k (k + 1) h² a/dt = (v₁ − v₀) dt (n² − 1)/6n².
    let arm =
        v0 * (dt * S::from_f64((n - 1.0) / (2.0 * n))) + (v1 - v0) * (dt * S::from_f64((n * n - 1.0) / (6.0 * n * n)));
    arm.cross(j) + l
}

impl<S: Real> Default for Coupling<S> {
    fn default() -> Self {
        Self::new()
    }
}
