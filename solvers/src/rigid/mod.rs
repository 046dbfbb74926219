//! Rigid bodies in motion: contact by sequential impulses, joints by XPBD, in one loop of substeps.
//!
//! A step finds contacts once and then takes small substeps:
//! ```text
//!   accelerate            forces, gravity, damping; the gyroscopic torque
//!   contacts              warm start, one soft pass over velocities
//!   advance               positions and orientations; angular momentum is carried over
//!   joints                XPBD: positions corrected, velocities told
//!   contacts, relaxed     one pass without springs; then restitution
//! ```
//! # Why two methods
//! Joints are equalities that should hold at the end of every substep: corrected as positions they do not drift, stay together at
//! any mass ratio as substeps shrink, and limits need no multipliers. Contacts are inequalities with friction, which is a
//! statement about impulses: sequential impulses carry them from step to step (warm starting), so that a stack finds its
//! balance once and then stands still, where positions corrected afresh every substep would let it creep. Both see the
//! same velocities: a joint's correction is an impulse divided by h, so each method meets what the other one did.
//!
//! | file | what |
//! | --- | --- |
//! | `options` | what can be chosen, and its bounds |
//! | `flight` | bodies in a step, and the passes that move them |
//! | `detect`, `narrow`, `convex`, `manifold` | who touches whom, and where |
//! | `impulses`, `block` | contact by coloured sequential impulses |
//! | `alternatives` | averaged impulses and penalty forces |
//! | `joints`, `hold` | joints by XPBD: which stand side by side, and what one does |
//! | `sleep` | bodies at rest |
//! | `memory` | what a snapshot of contacts holds |
//! | `couple`, `meeting`, `nearby` | one step with particles; contact and fastenings between them and bodies; who is near |
//! | `together` | everything that moves bodies, in one place |

mod alternatives;
mod block;
mod convex;
mod couple;
mod detect;
mod flight;
mod hold;
mod impulses;
mod joints;
mod manifold;
mod meeting;
mod memory;
mod narrow;
mod nearby;
mod options;
mod sleep;
mod together;

pub use couple::{Coupling, Fastening};
pub use options::{Gyroscopic, RigidOptions, RigidResponse};
pub use sleep::Sleep;
pub use together::{Together, state_hash};

use pliant_core::backend::Backend;
use pliant_core::columns::Columns;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::{Lane, Octet, Real};
use pliant_core::math::atan2;
use pliant_core::rigid::{Quaternion, RigidBodies};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::solver::check_time_step;
use pliant_core::vec3::Vec3;

use detect::Detector;
use flight::{Accelerate, Advance, Moving, Refresh, pass, set_half};
use impulses::{Impulses, Pass, Softness, Terms};
use joints::Joints;
use manifold::Manifold;
use sleep::Groups;

/// What a step of rigid bodies did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RigidReport {
    /// Substeps taken.
    pub substeps: usize,
    /// Pairs of parts that touched or nearly did.
    pub manifolds: usize,
    /// Contact points of all of them.
    pub contacts: usize,
    /// Joints that were held.
    pub joints: usize,
    /// Dynamic bodies that were asleep at the end.
    pub asleep: usize,
}

/// Moves rigid bodies: forces, contact and joints.
///
/// ```
/// use pliant_backends::Scalar;
/// use pliant_core::rigid::{RigidBodies, RigidBody};
/// use pliant_solvers::{RigidOptions, RigidSolver};
///
/// let mut bodies = RigidBodies::<f32>::new();
/// bodies.push(&RigidBody::plane([0.0, 1.0, 0.0]))?;
/// let ball = bodies.push(&RigidBody::sphere(0.5, 100.0).at([0.0, 2.0, 0.0]))?;
/// let mut solver = RigidSolver::new(RigidOptions::default());
/// solver.prepare(&bodies)?;
/// for _ in 0..120 {
///     solver.step(&mut bodies, [0.0, -9.81, 0.0], 1.0 / 60.0, &Scalar::new())?;
/// }
/// assert!((bodies.pose(ball).translation[1] - 0.5).abs() < 1e-3);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct RigidSolver<S> {
    options: RigidOptions,
    ready: Option<Ready<S>>,
}

/// Everything that is sized for a list of bodies.
struct Ready<S> {
    revision: u64,
    /// Place of each body in flight.
    slots: Vec<u32>,
    moving: Vec<Moving<S>>,
    detector: Detector<S>,
    impulses: Impulses<S>,
    joints: Joints<S>,
    groups: Groups,
    before: Before<S>,
}

/// What a step changes before it is certain to succeed.
struct Before<S> {
    v: Columns<S>,
    omega: Columns<S>,
    asleep: Vec<Option<u32>>,
    still: Vec<S>,
}

impl<S: Real> Before<S> {
    fn keep(&mut self, bodies: &RigidBodies<S>) {
        self.v.copy_from(0..bodies.len(), &bodies.v, 0);
        self.omega.copy_from(0..bodies.len(), &bodies.omega, 0);
        self.asleep.clone_from(&bodies.asleep);
        self.still.clone_from(&bodies.still);
    }
    fn restore(&self, bodies: &mut RigidBodies<S>) {
        bodies.v.copy_from(0..self.v.len(), &self.v, 0);
        bodies.omega.copy_from(0..self.v.len(), &self.omega, 0);
        bodies.asleep.clone_from(&self.asleep);
        bodies.still.clone_from(&self.still);
    }
}

impl<S: Real> RigidSolver<S> {
    /// A solver with options; they are checked by [`RigidSolver::prepare`].
    pub fn new(options: RigidOptions) -> Self {
        Self { options, ready: None }
    }
    /// The options.
    pub fn options(&self) -> &RigidOptions {
        &self.options
    }

    /// Makes ready for a list of bodies; call it again after bodies or joints were added or removed.
    ///
    /// # Errors
    /// When an option is outside its range, or a convex body has no hull.
    pub fn prepare(&mut self, bodies: &RigidBodies<S>) -> Result<(), BuildError> {
        self.options.check()?;
        let (slots, joints) = joints::arrange(bodies);
        let ready = Ready {
            revision: bodies.revision(),
            slots,
            moving: vec![Moving::idle(); bodies.len()],
            detector: Detector::new(bodies)?,
            impulses: Impulses::new(),
            joints,
            groups: Groups::default(),
            before: Before {
                v: Columns::zeros(bodies.len()),
                omega: Columns::zeros(bodies.len()),
                asleep: Vec::new(),
                still: Vec::new(),
            },
        };
        self.ready = Some(ready);
        Ok(())
    }

    /// Forgets the impulses that contacts start from: what comes next depends on the bodies' state alone.
    pub fn cool(&mut self) {
        if let Some(ready) = &mut self.ready {
            ready.detector.forget();
        }
    }

    /// The contacts of the last step, whose impulses those of the next one start from.
    fn take_contacts(&mut self) -> Vec<Manifold<S>> {
        self.ready.as_mut().map(|ready| core::mem::take(&mut ready.detector.manifolds)).unwrap_or_default()
    }
    /// Starts from these contacts.
    fn put_contacts(&mut self, contacts: Vec<Manifold<S>>) {
        if let Some(ready) = &mut self.ready {
            ready.detector.manifolds = contacts;
        }
    }
    /// Lets the contacts follow their bodies to other rows, in the same order; those of bodies that are gone are forgotten.
    fn renumber(&mut self, row: &impl Fn(usize) -> Option<usize>) {
        let mut contacts = self.take_contacts();
        contacts.retain_mut(|manifold| {
            let [a, b] = manifold.bodies.map(|body| row(body as usize));
            let (Some(a), Some(b)) = (a, b) else { return false };
            manifold.bodies = [a as u32, b as u32];
            true
        });
        self.put_contacts(contacts);
    }

    /// Writes down the impulses that contacts start from.
    pub fn remember(&self, to: &mut Writer) {
        let manifolds = self.ready.as_ref().map_or(&[][..], |ready| &ready.detector.manifolds);
        to.count(manifolds.len());
        manifolds.iter().for_each(|manifold| manifold.write(to));
    }
    /// Takes them back, after it was prepared for equal bodies: the next step gives the same bits.
    ///
    /// # Errors
    /// When these are not the contacts of such bodies; they may be half taken back then.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let count = from.count(memory::LEAST)?;
        let Some(ready) = &mut self.ready else {
            let what = "rigid bodies";
            return if count == 0 { Ok(()) } else { Err(SnapshotError::Foreign { what }) };
        };
        ready.detector.forget();
        for _ in 0..count {
            ready.detector.manifolds.push(Manifold::read(from)?);
        }
        Ok(())
    }

    /// Undoes what the last step, which succeeded, changed of the contacts it remembers.
    pub(super) fn take_back(&mut self) {
        if let Some(ready) = &mut self.ready {
            ready.detector.take_back();
        }
    }

    /// Advances all bodies by `dt` \[s\] under gravity \[m/s²\]; forces are used up, kinematic bodies arrive.
    ///
    /// # Errors
    /// When `dt` is not usable, the solver was prepared for other bodies, or a number of the state is or becomes NaN, infinite or
    /// absurdly large; the bodies are then as they were.
    pub fn step<B: Backend<Scalar = S>>(
        &mut self,
        bodies: &mut RigidBodies<S>,
        gravity: [S; 3],
        dt: S,
        on: &B,
    ) -> Result<RigidReport, StepError> {
        check_time_step(dt.to_f64())?;
        let options = self.options;
        let ready = self.ready.as_mut().filter(|ready| ready.revision == bodies.revision());
        let ready = ready.ok_or(StepError::NotPrepared)?;
        check_state(bodies, gravity)?;
        ready.before.keep(bodies);
        aim(bodies, dt);
        ready.detector.run(bodies, S::from_f64(options.margin), dt, on);
        Groups::wake(bodies, &ready.detector.manifolds, gravity, dt);
        ready.load(bodies, gravity);
        ready.fly(&options, dt, on);
        if let Some((row, quantity, value)) = ready.diverged() {
            ready.detector.take_back();
            ready.before.restore(bodies);
            return Err(StepError::BodyDiverged { body: row, quantity, value });
        }
        ready.land(bodies);
        let manifolds = &ready.detector.manifolds;
        if let Some(rule) = &options.sleep {
            ready.groups.settle(bodies, manifolds, rule, dt);
        }
        let report = RigidReport {
            substeps: options.substeps,
            manifolds: manifolds.len(),
            contacts: manifolds.iter().map(|m| m.count).sum(),
            joints: ready.joints.len(),
            asleep: bodies.asleep.iter().flatten().count(),
        };
        bodies.arrive();
        Ok(report)
    }
}

/// Gives kinematic bodies the velocity that takes them where they were sent.
fn aim<S: Real>(bodies: &mut RigidBodies<S>, dt: S) {
    for row in 0..bodies.len() {
        if bodies.is_dynamic(row) {
            continue;
        }
        let (mut v, mut omega) = ([S::ZERO; 3], [S::ZERO; 3]);
        if let Some(to) = bodies.sent(row) {
            let x = bodies.x.get(row);
            v = core::array::from_fn(|k| (S::from_f64(to.translation[k]) - x[k]) / dt);
            let by = Quaternion::new(to.rotation.0.map(S::from_f64)) * Quaternion::new(bodies.q[row]).conjugate();
            // The shorter way round: θ = 2 atan(|v|/|w|) about v.
            let (sine, side) = (by.v.length(), if by.w < S::ZERO { -S::ONE } else { S::ONE });
            let angle = S::from_f64(2.0) * atan2(sine, Lane::abs(by.w));
            omega = (by.v * (side * sine.divide_or_zero(angle) / dt)).into();
        }
        bodies.v.set(row, v);
        bodies.omega.set(row, omega);
    }
}

fn check_state<S: Real>(bodies: &RigidBodies<S>, gravity: [S; 3]) -> Result<(), StepError> {
    let bad = |what, row, value: S| Err(StepError::NotFinite { what, row, value: value.to_f64() });
    if let Some(&value) = gravity.iter().find(|c| !c.is_finite()) {
        return bad("gravity", 0, value);
    }
    let columns = [
        ("position of body", &bodies.x),
        ("velocity of body", &bodies.v),
        ("angular velocity of body", &bodies.omega),
        ("force on body", &bodies.force),
        ("torque on body", &bodies.torque),
    ];
    for (what, column) in columns {
        if column.len() != bodies.len() {
            return Err(StepError::WrongState { found: column.len(), expected: bodies.len() });
        }
        if let Some(row) = column.first_non_finite() {
            let value = column.get(row).into_iter().find(|c| !c.is_finite()).unwrap_or(S::ZERO);
            return bad(what, row, value);
        }
    }
    for (row, q) in bodies.q.iter().enumerate() {
        let length = q.iter().fold(S::ZERO, |sum, &c| sum + c * c);
        if !(length.is_finite() && length > S::from_f64(0.25) && length < S::from_f64(4.0)) {
            return bad("length of the orientation of body", row, length);
        }
    }
    Ok(())
}

/// Numbers beyond this are a step that went wrong \[m, m/s, rad/s\].
const ABSURD: f64 = 1e9;

impl<S: Real> Ready<S> {
    /// Rows from columns.
    fn load(&mut self, bodies: &RigidBodies<S>, gravity: [S; 3]) {
        for row in 0..bodies.len() {
            let mut body = Moving::idle();
            set_half(&mut body.pose, 0, bodies.x.get(row).into());
            body.pose.0[4..].copy_from_slice(&Quaternion::new(bodies.q[row]).normalized().components());
            body.start = body.pose;
            set_half(&mut body.motion, 0, bodies.v.get(row).into());
            set_half(&mut body.motion, 1, bodies.omega.get(row).into());
            if bodies.is_dynamic(row) && bodies.asleep[row].is_none() {
                let inv_mass = bodies.inv_mass()[row];
                body.inverse.0[6] = inv_mass;
                set_half(&mut body.principal, 0, bodies.inv_inertia().get(row).into());
                set_half(&mut body.principal, 1, bodies.inertia().get(row).into());
                let force = Vec3::from(bodies.force.get(row)) * inv_mass;
                set_half(&mut body.load, 0, force + gravity.into());
                set_half(&mut body.load, 1, bodies.torque.get(row).into());
                let described = &bodies.described()[row];
                body.load.0[3] = S::from_f64(described.linear_damping);
                body.load.0[7] = S::from_f64(described.angular_damping);
            }
            self.moving[self.slots[row] as usize] = body;
        }
    }

    /// All substeps.
    fn fly<B: Backend<Scalar = S>>(&mut self, options: &RigidOptions, dt: S, on: &B) {
        let h = dt / S::from_f64(options.substeps as f64);
        let step = h.to_f64();
        let hertz = options.contact_hertz.min(0.2 / step);
        let zeta = options.contact_damping;
        let terms = Terms {
            inv_h: S::ONE / h,
            soft: [Softness::new(hertz, zeta, step), Softness::new(2.0 * hertz, zeta, step)],
            push: S::from_f64(options.push_speed),
            slop: S::from_f64(options.slop),
            threshold: S::from_f64(options.bounce_threshold),
        };
        let gyroscopic = options.gyroscopic;
        let (moving, slots) = (&mut self.moving, &self.slots);
        let manifolds = &mut self.detector.manifolds;
        pass(on, &Refresh::new(), moving);
        if options.response == RigidResponse::Sequential {
            self.impulses.build(manifolds, slots, moving, on);
        }
        for _ in 0..options.substeps {
            pass(on, &Accelerate { h, gyroscopic }, moving);
            match options.response {
                RigidResponse::Sequential => {
                    self.impulses.run(Pass::Warm, &terms, moving, on);
                    self.impulses.run(Pass::Solve, &terms, moving, on);
                }
                RigidResponse::Averaged => alternatives::average(manifolds, slots, moving, &terms),
                RigidResponse::Penalty { stiffness, damping } => {
                    let spring = [stiffness, damping].map(S::from_f64);
                    alternatives::penalise(manifolds, slots, moving, &terms, spring);
                }
            }
            self.joints.advance(moving, &Advance { h, gyroscopic }, options.joint_iterations, on);
            if options.response == RigidResponse::Sequential {
                self.impulses.run(Pass::Relax, &terms, moving, on);
                self.impulses.run(Pass::Bounce, &terms, moving, on);
            }
        }
        if options.response == RigidResponse::Sequential {
            self.impulses.keep(manifolds);
        } else {
            alternatives::keep(manifolds, slots, moving);
        }
    }

    fn diverged(&self) -> Option<(usize, &'static str, f64)> {
        let bad =
            |of: &Octet<S>| of.0.iter().copied().find(|c| !(c.is_finite() && Lane::abs(*c) < S::from_f64(ABSURD)));
        self.slots.iter().enumerate().find_map(|(row, &slot)| {
            let body = &self.moving[slot as usize];
            let wrong = |quantity, of| bad(of).map(|value: S| (row, quantity, value.to_f64()));
            wrong("pose", &body.pose).or_else(|| wrong("velocity", &body.motion))
        })
    }

    /// Columns from rows.
    fn land(&self, bodies: &mut RigidBodies<S>) {
        for (row, &slot) in self.slots.iter().enumerate() {
            let body = &self.moving[slot as usize];
            if let Some(to) = bodies.sent(row) {
                bodies.x.set(row, to.translation.map(S::from_f64));
                bodies.q[row] = to.rotation.0.map(S::from_f64);
            } else if bodies.is_dynamic(row) && bodies.asleep[row].is_none() {
                bodies.x.set(row, body.x().into());
                bodies.q[row] = body.q().components();
                bodies.v.set(row, body.v().into());
                bodies.omega.set(row, body.omega().into());
            }
        }
    }
}
