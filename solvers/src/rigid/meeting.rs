//! Meeting: particles and rigid bodies inside the substeps of a particle method.
//!
//! A body goes along the path that its own step gave it, and gives way to particles: every correction p of a substep of
//! length h moves the particle by w p and the body by −p/m and −I⁻¹ (r × p), and changes both velocities by the same over h.
//! ```text
//!   contact      K λ = depth,  λ ≥ 0;   |p_t| ≤ μ λ          summed over the substep
//!   fastening    e = 0                                       e from the body's point to the particle
//! ```
//! # Angular momentum
//! A method that takes v = (x − start)/h changes the particle's angular momentum by start × p/h: the lever arm is where the
//! substep began. Bodies are turned with the same arm, so that nothing is lost, at any step length.

use core::any::Any;

use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::mat3::Mat3;
use pliant_core::model::Model;
use pliant_core::partner::Partner;
use pliant_core::rigid::{Quaternion, RigidBodies};
use pliant_core::vec3::Vec3;

use super::flight::{Moving, half, set_half};
use super::joints::solve;
use super::narrow::{Piece, Stand};

/// Passes over contacts and fastenings every time the method asks.
const PASSES: usize = 4;

/// Bodies near particles, for the length of a step.
pub(super) struct Meeting<S> {
    pub guests: Vec<Guest<S>>,
    pub touches: Vec<Touch<S>>,
    pub ties: Vec<Tie<S>>,
    /// By row: what bodies look like.
    pub pieces: Vec<Vec<Piece<S>>>,
    /// Approaches slower than this are rest, for a substep of 1 s \[m/s²\].
    pub rest: S,
    /// Memory of [`Meeting::pull`].
    hubs: Vec<Hub<S>>,
    pulls: Vec<Vec3<S>>,
    bounces: bool,
    dt: S,
    h: S,
}

/// A body on its way through a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guest<S> {
    pub row: u32,
    /// Pose and velocity as they are, what particles did included.
    pub body: Moving<S>,
    /// Velocity at the ends of the step, without particles \[m/s, rad/s\].
    pub velocities: [[Vec3<S>; 2]; 2],
    /// What the body goes beyond these velocities \[m, rad\]: other bodies and joints stop it in mid-step.
    pub beyond: [Vec3<S>; 2],
    /// What particles gave it in this step: impulse, and angular impulse about the centre \[N s, N m s\].
    pub given: [Vec3<S>; 2],
    /// The same about where the centre was when the step began \[N m s\].
    pub about_start: Vec3<S>,
    /// The centre when the step began \[m\].
    pub reference: Vec3<S>,
    pub friction: S,
    pub restitution: S,
}

/// A particle near a part of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<S> {
    pub particle: u32,
    pub guest: u32,
    pub piece: u32,
    pub thickness: S,
    slot: u32,
    /// Of the frame that the particle is seen in.
    origin: Vec3<S>,
    /// Impulses of positions in this substep \[kg m\].
    normal: S,
    tangent: Vec3<S>,
    n: Vec3<S>,
    /// Whether later passes look at it.
    near: bool,
    /// How fast they approached each other when they met, less what `kept` velocities tell \[m/s\].
    approach: S,
}

/// A particle fastened to a point of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie<S> {
    pub particle: u32,
    pub guest: u32,
    /// In the principal frame \[m\].
    pub point: Vec3<S>,
    slot: u32,
    origin: Vec3<S>,
}

impl<S: Real> Touch<S> {
    pub fn new(particle: u32, guest: u32, piece: u32, thickness: S) -> Self {
        let (zero, none) = (S::ZERO, Vec3::zero());
        let (slot, origin, normal, tangent, n, approach) = (0, none, zero, none, none, zero);
        Self { particle, guest, piece, thickness, slot, origin, normal, tangent, n, near: true, approach }
    }
}

impl<S: Real> Tie<S> {
    pub fn new(particle: u32, guest: u32, point: Vec3<S>) -> Self {
        Self { particle, guest, point, slot: 0, origin: Vec3::zero() }
    }
    /// The body's point from its centre, and the particle from that point.
    fn error(&self, guests: &[Guest<S>], x: &Field<S>) -> (Vec3<S>, Vec3<S>) {
        let body = &guests[self.guest as usize].body;
        let r = body.q().rotate(self.point);
        (r, (Vec3::from(x.vector(self.slot as usize)) + self.origin - body.x()) - r)
    }
    /// The particle's mass; a pin's is large beside its body's.
    fn mass(&self, guests: &[Guest<S>], x: &Field<S>) -> S {
        let lightest = guests[self.guest as usize].body.inv_mass() * S::from_f64(1e-4);
        Lane::max(x.get(self.slot as usize, 3), lightest).divide_or_zero(S::ONE)
    }
}

/// A body with everything that is fastened to it.
#[derive(Clone, Copy, Debug)]
struct Hub<S> {
    /// Whether it moves.
    free: bool,
    /// Σ m, Σ m r and the inertia about the centre, the body included.
    mass: S,
    moment: Vec3<S>,
    inertia: Mat3<S>,
    /// Σ m e, Σ m r × e.
    load: [Vec3<S>; 2],
    /// c, θ.
    motion: [Vec3<S>; 2],
}

impl<S: Real> Hub<S> {
    fn new(guest: &Guest<S>) -> Self {
        let (body, none) = (&guest.body, Vec3::zero());
        let [a, b, c] = body.q().matrix().columns;
        let i = half(&body.principal, 1);
        let inertia = Mat3::outer(a, a) * i.x + Mat3::outer(b, b) * i.y + Mat3::outer(c, c) * i.z;
        let mass = body.inv_mass().divide_or_zero(S::ONE);
        Self { free: mass > S::ZERO, mass, moment: none, inertia, load: [none; 2], motion: [none; 2] }
    }
    fn add(&mut self, r: Vec3<S>, e: Vec3<S>, m: S) {
        self.mass = self.mass + m;
        self.moment = self.moment + r * m;
        self.inertia = self.inertia + Mat3::diagonal(r.dot(r) * m) + Mat3::outer(r, r) * -m;
        self.load = [self.load[0] + e * m, self.load[1] + r.cross(e) * m];
    }
    /// Σm c − R × θ = b₁,   R × c + B θ = b₂   with R = Σ m r: three equations for θ are left.
    fn solve(&mut self) {
        if self.free {
            let (inv, [b1, b2], moment) = (S::ONE / self.mass, self.load, self.moment);
            let about_all = Mat3::outer(moment, moment) + Mat3::diagonal(-moment.dot(moment));
            let theta = solve(self.inertia + about_all * inv, b2 - moment.cross(b1) * inv);
            self.motion = [(b1 + moment.cross(theta)) * inv, theta];
        }
    }
    fn motion_at(&self, r: Vec3<S>) -> Vec3<S> {
        self.motion[0] + self.motion[1].cross(r)
    }
}

impl<S: Real> Guest<S> {
    /// A body as it stands, at rest on its path.
    pub fn new(bodies: &RigidBodies<S>, row: usize, x: Vec3<S>, q: Quaternion<S>) -> Self {
        let mut body = Moving::idle();
        set_half(&mut body.pose, 0, x);
        body.pose.0[4..].copy_from_slice(&q.components());
        body.inverse.0[6] = bodies.inv_mass()[row];
        set_half(&mut body.principal, 0, bodies.inv_inertia().get(row).into());
        set_half(&mut body.principal, 1, bodies.inertia().get(row).into());
        let none = Vec3::zero();
        Self {
            row: row as u32,
            body,
            velocities: [[none; 2]; 2],
            beyond: [none; 2],
            given: [none; 2],
            about_start: none,
            reference: x,
            friction: S::from_f64(bodies.described()[row].friction),
            restitution: S::from_f64(bodies.described()[row].restitution),
        }
    }

    /// Whether particles did anything to it.
    pub fn is_pushed(&self) -> bool {
        self.given.iter().any(|g| *g != Vec3::zero())
    }

    /// Goes along its path over substep `k` of `n`.
    fn advance(&mut self, (k, n): (usize, usize), h: S) {
        let share = |k: usize| S::from_f64(k as f64 / n as f64);
        let part = S::from_f64(1.0 / n as f64);
        let along = |ends: [Vec3<S>; 2], t: S| ends[0] + (ends[1] - ends[0]) * t;
        let body = &mut self.body;
        body.start = body.pose;
        // Its own velocity goes on, and particles' changes stay with it.
        let pace = |ends: [Vec3<S>; 2], which: usize, body: &Moving<S>| {
            if k == 0 {
                along(ends, share(1))
            } else {
                half(&body.motion, which) + (along(ends, share(k + 1)) - along(ends, share(k)))
            }
        };
        let (v, omega) = (pace(self.velocities[0], 0, body), pace(self.velocities[1], 1, body));
        set_half(&mut body.motion, 0, v);
        set_half(&mut body.motion, 1, omega);
        let x = body.x() + v * h + self.beyond[0] * part;
        let q = body.q().turned(omega * h + self.beyond[1] * part);
        set_half(&mut body.pose, 0, x);
        body.pose.0[4..].copy_from_slice(&q.components());
        let world = inverse_inertia(q, half(&body.principal, 0));
        body.inverse.0[..6].copy_from_slice(&world);
    }

    fn stand(&self) -> Stand<S> {
        Stand { x: self.body.x(), q: self.body.q() }
    }
    /// The centre at the start of the substep.
    fn centre_before(&self) -> Vec3<S> {
        half(&self.body.start, 0)
    }
    /// Where the material that is at x now was at the start of the substep.
    fn was(&self, x: Vec3<S>) -> Vec3<S> {
        let s = &self.body.start.0;
        let before = Quaternion::new([s[4], s[5], s[6], s[7]]);
        self.centre_before() + before.rotate(self.body.q().unrotate(x - self.body.x()))
    }
    /// n · K n for corrections along n at x, with the arm of the substep's start.
    fn yields(&self, n: Vec3<S>, r: Vec3<S>, arm: Vec3<S>) -> S {
        self.body.inv_mass() + Lane::max(r.cross(n).dot(self.body.turn(arm.cross(n))), S::ZERO)
    }
    /// −p on the body.
    fn shove(&mut self, arm: Vec3<S>, p: Vec3<S>, inv_h: S) {
        if self.body.inv_mass() > S::ZERO {
            self.body.displace(-p * self.body.inv_mass(), inv_h);
            self.body.twist(-arm.cross(p), inv_h);
            let from_start = arm + (self.centre_before() - self.reference);
            self.take(arm, from_start, -p * inv_h);
        }
    }
    /// Books an impulse at `arm` from the centre, and so far from where the centre began.
    fn take(&mut self, arm: Vec3<S>, from_start: Vec3<S>, j: Vec3<S>) {
        self.given = [self.given[0] + j, self.given[1] + arm.cross(j)];
        self.about_start = self.about_start + from_start.cross(j);
    }
}

/// R I⁻¹ Rᵀ as six numbers.
pub(super) fn inverse_inertia<S: Real>(q: Quaternion<S>, principal: Vec3<S>) -> [S; 6] {
    let [a, b, c] = q.matrix().columns;
    let world = Mat3::outer(a, a) * principal.x + Mat3::outer(b, b) * principal.y + Mat3::outer(c, c) * principal.z;
    let [x, y, z] = world.columns;
    [x.x, x.y, x.z, y.y, y.z, z.z]
}

impl<S: Real> Meeting<S> {
    pub fn new() -> Self {
        Self {
            guests: Vec::new(),
            touches: Vec::new(),
            ties: Vec::new(),
            pieces: Vec::new(),
            rest: S::ZERO,
            hubs: Vec::new(),
            pulls: Vec::new(),
            bounces: false,
            dt: S::ZERO,
            h: S::ZERO,
        }
    }

    /// All fastenings at once: a body's own motion (c, θ) is eliminated to six equations, so that mass ratios do not matter.
    /// ```text
    ///   p_i = m_i (c + θ × r_i − e_i),   M c = −Σ p_i,   I θ = −Σ r_i × p_i
    /// ```
    fn pull(
        &mut self,
        x: &mut Field<S>,
        start: &impl Fn(&Field<S>, Option<&Field<S>>, usize) -> Vec3<S>,
        mut v: Option<&mut Field<S>>,
    ) {
        if self.ties.is_empty() {
            return;
        }
        let inv_h = S::ONE / self.h;
        self.hubs.clear();
        self.hubs.extend(self.guests.iter().map(Hub::new));
        for tie in &self.ties {
            let (r, e) = tie.error(&self.guests, x);
            self.hubs[tie.guest as usize].add(r, e, tie.mass(&self.guests, x));
        }
        for hub in &mut self.hubs {
            hub.solve();
        }
        for tie in &self.ties {
            let (r, e) = tie.error(&self.guests, x);
            let p = (self.hubs[tie.guest as usize].motion_at(r) - e) * tie.mass(&self.guests, x);
            self.pulls.push(p);
        }
        for (tie, p) in self.ties.iter().zip(self.pulls.drain(..)) {
            let (slot, guest) = (tie.slot as usize, &mut self.guests[tie.guest as usize]);
            let arm = start(x, v.as_deref(), slot) + tie.origin - guest.centre_before();
            guest.shove(arm, p, inv_h);
            let w = x.get(slot, 3);
            shift(x, v.as_deref_mut(), slot, p * w, inv_h);
        }
    }

    /// All couplings, some times over. `start` says where a particle began the substep; `v` follows positions, if given.
    fn solve(
        &mut self,
        x: &mut Field<S>,
        start: &impl Fn(&Field<S>, Option<&Field<S>>, usize) -> Vec3<S>,
        mut v: Option<&mut Field<S>>,
    ) {
        let inv_h = S::ONE / self.h;
        for pass in 0..PASSES {
            self.pull(x, start, v.as_deref_mut());
            for at in 0..self.touches.len() {
                let touch = &mut self.touches[at];
                if pass > 0 && !touch.near {
                    continue;
                }
                let slot = touch.slot as usize;
                let guest = &mut self.guests[touch.guest as usize];
                let begun = start(x, v.as_deref(), slot) + touch.origin;
                let place = Vec3::from(x.vector(slot)) + touch.origin;
                let piece = &self.pieces[guest.row as usize][touch.piece as usize];
                let Some((phi, n)) = piece.distance(guest.stand(), place) else { continue };
                let depth = touch.thickness - phi;
                // What is farther off than it travelled will not be met by the other passes.
                touch.near = depth + (place - begun).length() >= S::ZERO;
                if depth <= S::ZERO && touch.normal <= S::ZERO {
                    continue;
                }
                let w = x.get(slot, 3);
                let (r, arm) = (place - guest.body.x(), begun - guest.centre_before());
                if touch.normal == S::ZERO {
                    touch.n = n;
                    let own = v.as_deref().map_or(S::ZERO, |v| Vec3::from(v.vector(slot)).dot(n));
                    touch.approach = guest.body.velocity_at(r).dot(n) - own;
                }
                let k = w + guest.yields(n, r, arm);
                // Pushing less than before is allowed, pulling is not.
                let normal = Lane::max(touch.normal + k.divide_or_zero(depth), S::ZERO);
                let mut p = n * (normal - touch.normal);
                // Friction takes back travel along the surface.
                let travel = guest.was(place) - begun;
                let slide = travel - n * travel.dot(n);
                let length = slide.length();
                let t = slide * length.divide_or_zero(S::ONE);
                let mut tangent = touch.tangent - t * (w + guest.yields(t, r, arm)).divide_or_zero(length);
                tangent = tangent - n * tangent.dot(n);
                let (limit, size) = (guest.friction * normal, tangent.length());
                if size > limit {
                    tangent = tangent * size.divide_or_zero(limit);
                }
                p = p + (tangent - touch.tangent);
                (touch.normal, touch.tangent) = (normal, tangent);
                guest.shove(arm, p, inv_h);
                shift(x, v.as_deref_mut(), slot, p * w, inv_h);
            }
        }
    }

    /// Velocities after positions: what came faster than rest leaves with its share of that speed.
    fn bounce(&mut self, x: &Field<S>, v: &mut Field<S>, kept: Option<&Field<S>>) {
        for touch in self.touches.iter().filter(|touch| touch.normal > S::ZERO) {
            let guest = &mut self.guests[touch.guest as usize];
            let (slot, n) = (touch.slot as usize, touch.n);
            let approach = touch.approach - kept.map_or(S::ZERO, |kept| Vec3::from(kept.vector(slot)).dot(n));
            if guest.restitution == S::ZERO || approach <= self.rest * self.h {
                continue;
            }
            let (w, place) = (x.get(slot, 3), Vec3::from(x.vector(slot)) + touch.origin);
            let r = place - guest.body.x();
            let leaving = Vec3::from(v.vector(slot)).dot(n) - guest.body.velocity_at(r).dot(n);
            let change = guest.restitution * approach - leaving;
            let j = n * Lane::max((w + guest.yields(n, r, r)).divide_or_zero(change), S::ZERO);
            if guest.body.inv_mass() > S::ZERO {
                guest.body.push(r, -j);
                guest.take(r, place - guest.reference, -j);
            }
            v.set_vector(slot, (Vec3::from(v.vector(slot)) + j * w).into());
        }
    }
}

/// Moves a particle, and lets its velocity know.
fn shift<S: Real>(x: &mut Field<S>, v: Option<&mut Field<S>>, slot: usize, by: Vec3<S>, inv_h: S) {
    x.set_vector(slot, (Vec3::from(x.vector(slot)) + by).into());
    if let Some(v) = v {
        v.set_vector(slot, (Vec3::from(v.vector(slot)) + by * inv_h).into());
    }
}

impl<S: Real> Partner<S> for Meeting<S> {
    fn begin(&mut self, model: &Model<S>, origins: &[[S; 3]], dt: S) {
        self.dt = dt;
        let place = |particle: u32| {
            let origin = origins.get(model.body_of(particle)).copied().unwrap_or([S::ZERO; 3]);
            (model.plan().slots()[particle as usize], Vec3::from(origin))
        };
        for touch in &mut self.touches {
            (touch.slot, touch.origin) = place(touch.particle);
        }
        for tie in &mut self.ties {
            (tie.slot, tie.origin) = place(tie.particle);
        }
        self.bounces = self.guests.iter().any(|guest| guest.restitution > S::ZERO);
    }

    fn place(&mut self, (k, n): (usize, usize)) {
        self.h = self.dt / S::from_f64(n as f64);
        for guest in &mut self.guests {
            guest.advance((k, n), self.h);
        }
        for touch in &mut self.touches {
            (touch.normal, touch.tangent) = (S::ZERO, Vec3::zero());
        }
    }

    fn project(&mut self, x: &mut Field<S>, start: &Field<S>) {
        self.solve(x, &|_, _, slot| Vec3::from(start.vector(slot)), None);
    }

    fn strike(&mut self, x: &mut Field<S>, v: &mut Field<S>) {
        // Positions and velocities change together: x − h v stays where the substep began.
        let h = self.h;
        let start = |x: &Field<S>, v: Option<&Field<S>>, slot: usize| {
            Vec3::from(x.vector(slot)) - v.map_or(Vec3::zero(), |v| Vec3::from(v.vector(slot))) * h
        };
        self.solve(x, &start, Some(&mut *v));
        self.bounce(x, v, None);
    }

    fn bounces(&self) -> bool {
        self.bounces
    }

    fn rebound(&mut self, x: &Field<S>, v: &mut Field<S>, kept: &Field<S>) {
        self.bounce(x, v, Some(kept));
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
