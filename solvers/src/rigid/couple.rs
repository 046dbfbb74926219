//! Coupling: particles that rest on rigid bodies or are fastened to them, and push back.
//!
//! Once a step, before particles and bodies move on by their own methods, impulses are exchanged between them: every impulse acts
//! on a particle and, reversed and at the same point, on a body. So linear and angular momentum are kept by construction,
//! whatever method moves the particles. Impulses are remembered from step to step; a load finds its balance and stays.
//! ```text
//!   fastening    K j = −(v_p − v_b + β e/h)              e from the body's point to the particle
//!   contact      j_n ≥ 0,  v_n ≥ −φ/h (apart) or −β φ/h (overlapping),   |j_t| ≤ μ j_n
//! ```
//! with velocities as they will be under gravity at the end of the step. Sharper coupling needs shorter steps.

use pliant_core::backend::Backend;
use pliant_core::collide::{Aabb, Bvh, Leaves, Pairs};
use pliant_core::columns::Particles;
use pliant_core::error::BuildError;
use pliant_core::lane::{Lane, Real};
use pliant_core::mat3::Mat3;
use pliant_core::model::Model;
use pliant_core::rigid::{Quaternion, RigidBodies};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::vec3::Vec3;

use super::flight::{Moving, set_half};
use super::joints::{mobility, solve};
use super::memory::write_vector;
use super::narrow::{Piece, Stand};

/// Share of an error that a step takes back.
const BETA: f64 = 0.3;
/// Passes over all couplings a step.
const PASSES: usize = 8;
/// Approach speed below which nothing bounces \[m/s\].
const BOUNCE: f64 = 0.5;

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

/// Exchanges impulses between the particles of a model and rigid bodies.
pub struct Coupling<S> {
    fastenings: Vec<Fastening>,
    /// Impulse of each fastening in the last step.
    pulls: Vec<Vec3<S>>,
    pieces: Vec<Vec<Piece<S>>>,
    /// Rows of bodies with a shape; those without end are met by every particle.
    bounded: Vec<u32>,
    endless: Vec<u32>,
    revision: Option<u64>,
    touches: Vec<Touch<S>>,
    last: Vec<Touch<S>>,
    moving: Vec<Moving<S>>,
    boxes: [Vec<Aabb<S>>; 2],
    trees: [Bvh<S>; 2],
    pairs: Pairs,
}

/// A particle near a part of a body.
#[derive(Clone, Copy, Debug)]
struct Touch<S> {
    particle: u32,
    body: u32,
    piece: u32,
    /// From the body to the particle.
    n: Vec3<S>,
    gap: S,
    /// Speed along n before anything acted.
    approach: S,
    normal: S,
    tangent: Vec3<S>,
}

impl<S> Touch<S> {
    fn key(&self) -> (u32, u32, u32) {
        (self.particle, self.body, self.piece)
    }
}

impl<S: Real> Coupling<S> {
    /// Couples by contact alone.
    pub fn new() -> Self {
        Self {
            fastenings: Vec::new(),
            pulls: Vec::new(),
            pieces: Vec::new(),
            bounded: Vec::new(),
            endless: Vec::new(),
            revision: None,
            touches: Vec::new(),
            last: Vec::new(),
            moving: Vec::new(),
            boxes: [Vec::new(), Vec::new()],
            trees: [Bvh::new(), Bvh::new()],
            pairs: Pairs::new(),
        }
    }
    /// The particles that are fastened to bodies.
    pub fn fastenings(&self) -> &[Fastening] {
        &self.fastenings
    }
    /// Replaces all fastenings; their impulses start from nothing.
    pub fn fasten(&mut self, fastenings: Vec<Fastening>) {
        self.pulls = vec![Vec3::zero(); fastenings.len()];
        self.fastenings = fastenings;
    }
    /// Forgets the impulses that it starts from.
    pub fn cool(&mut self) {
        self.pulls.fill(Vec3::zero());
        self.touches.clear();
        self.last.clear();
    }
    /// Writes down the impulses that it starts from.
    pub fn remember(&self, to: &mut Writer) {
        to.count(self.pulls.len());
        self.pulls.iter().for_each(|&pull| write_vector(pull, to));
        to.count(self.touches.len());
        for touch in &self.touches {
            [touch.particle, touch.body, touch.piece].into_iter().for_each(|number| to.u32(number));
            to.reals(&[touch.normal]);
            write_vector(touch.tangent, to);
        }
    }
    /// Takes them back, for the same fastenings: the next exchange gives the same bits.
    ///
    /// # Errors
    /// When they are not of such fastenings; they may be half taken back then.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.exactly(self.pulls.len(), "fastenings")?;
        for pull in &mut self.pulls {
            *pull = from.vector()?.into();
        }
        self.touches.clear();
        self.last.clear();
        for _ in 0..from.count(12 + 4 * size_of::<S>())? {
            let [particle, body, piece] = [from.u32()?, from.u32()?, from.u32()?];
            let (normal, tangent) = (from.real()?, from.vector()?.into());
            let (n, zero) = (Vec3::zero(), S::ZERO);
            self.touches.push(Touch { particle, body, piece, n, gap: zero, approach: zero, normal, tangent });
        }
        Ok(())
    }
    /// Makes ready for a list of bodies; call it again after bodies were added or removed.
    ///
    /// # Errors
    /// When a convex body has no hull.
    pub fn prepare(&mut self, bodies: &RigidBodies<S>) -> Result<(), BuildError> {
        let mut pieces = Vec::new();
        for (row, body) in bodies.described().iter().enumerate() {
            pieces.push(body.parts.iter().map(|part| Piece::new(part, bodies, row)).collect::<Result<Vec<_>, _>>()?);
        }
        self.bounded.clear();
        self.endless.clear();
        for (row, pieces) in pieces.iter().enumerate() {
            if pieces.iter().any(|piece| piece.reach.is_none()) {
                self.endless.push(row as u32);
            } else if !pieces.is_empty() {
                self.bounded.push(row as u32);
            }
        }
        self.pieces = pieces;
        self.revision = Some(bodies.revision());
        self.touches.clear();
        self.last.clear();
        Ok(())
    }

    /// Exchanges the impulses of a step of `dt` \[s\]: changes velocities only.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was prepared for other bodies or a fastening names a particle or body that is gone.
    pub fn exchange<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &mut Particles<S>,
        bodies: &mut RigidBodies<S>,
        dt: S,
        on: &B,
    ) -> Result<(), BuildError> {
        if self.revision != Some(bodies.revision()) {
            return Err(BuildError::NotFound { what: "rigid body" });
        }
        let missing = |f: &&Fastening| f.particle as usize >= particles.len() || f.body as usize >= bodies.len();
        if self.fastenings.iter().find(missing).is_some() {
            return Err(BuildError::NotFound { what: "particle or body of a fastening" });
        }
        let gravity = Vec3::from(model.environment.gravity);
        self.look(model, particles, bodies, dt, on);
        self.load(bodies);
        let fall = |w: S| if w > S::ZERO { gravity * dt } else { Vec3::zero() };
        // Impulses of the last step first, all of them.
        for at in 0..self.fastenings.len() {
            let (f, j) = (self.fastenings[at], self.pulls[at]);
            self.push(particles, model.inv_mass()[f.particle as usize], f.particle, f.body, j);
        }
        for at in 0..self.touches.len() {
            let t = self.touches[at];
            let j = t.n * t.normal + t.tangent;
            self.push(particles, model.inv_mass()[t.particle as usize], t.particle, t.body, j);
        }
        let (inv_dt, beta) = (S::ONE / dt, S::from_f64(BETA));
        for _ in 0..PASSES {
            for at in 0..self.fastenings.len() {
                let Fastening { particle, body, point } = self.fastenings[at];
                let w = model.inv_mass()[particle as usize];
                let solid = &self.moving[body as usize];
                let x = Vec3::from(particles.x.get(particle as usize));
                let r = x - solid.x();
                let error = r - solid.q().rotate(Vec3::from(point.map(S::from_f64)));
                let v = Vec3::from(particles.v.get(particle as usize)) + fall(w);
                let relative = v - (solid.velocity_at(r) + fall(solid.inv_mass()));
                let k = Mat3::diagonal(w) + mobility(solid, r);
                let j = -solve(k, relative + error * (beta * inv_dt));
                self.pulls[at] = self.pulls[at] + j;
                self.push(particles, w, particle, body, j);
            }
            for at in 0..self.touches.len() {
                let touch = self.touches[at];
                let w = model.inv_mass()[touch.particle as usize];
                let solid = &self.moving[touch.body as usize];
                let r = Vec3::from(particles.x.get(touch.particle as usize)) - solid.x();
                let v = Vec3::from(particles.v.get(touch.particle as usize)) + fall(w);
                let relative = v - (solid.velocity_at(r) + fall(solid.inv_mass()));
                let k = Mat3::diagonal(w) + mobility(solid, r);
                let described = &bodies.described()[touch.body as usize];
                let n = touch.n;
                let rate = if touch.gap > S::ZERO { inv_dt } else { beta * inv_dt };
                let mut least = -(touch.gap * rate);
                let rebound = -(S::from_f64(described.restitution) * touch.approach);
                if touch.approach < -S::from_f64(BOUNCE) && touch.normal > S::ZERO && rebound > least {
                    least = rebound;
                }
                let normal = touch.normal + (k * n).dot(n).divide_or_zero(least - relative.dot(n));
                let normal = Lane::max(normal, S::ZERO);
                let across = relative - n * relative.dot(n);
                let speed = across.length();
                let t = across * speed.divide_or_zero(S::ONE);
                let mut tangent = touch.tangent - t * (k * t).dot(t).divide_or_zero(speed);
                tangent = tangent - n * tangent.dot(n);
                let (limit, size) = (S::from_f64(described.friction) * normal, tangent.length());
                if size > limit {
                    tangent = tangent * size.divide_or_zero(limit);
                }
                let j = n * (normal - touch.normal) + (tangent - touch.tangent);
                (self.touches[at].normal, self.touches[at].tangent) = (normal, tangent);
                self.push(particles, w, touch.particle, touch.body, j);
            }
        }
        self.hand_back(bodies);
        Ok(())
    }

    /// j on the particle, −j on the body at the particle's place.
    fn push(&mut self, particles: &mut Particles<S>, w: S, particle: u32, body: u32, j: Vec3<S>) {
        let at = particle as usize;
        let solid = &mut self.moving[body as usize];
        let r = Vec3::from(particles.x.get(at)) - solid.x();
        solid.push(r, -j);
        particles.v.set(at, (Vec3::from(particles.v.get(at)) + j * w).into());
    }

    fn load(&mut self, bodies: &RigidBodies<S>) {
        self.moving.clear();
        for row in 0..bodies.len() {
            let mut body = Moving::idle();
            set_half(&mut body.pose, 0, bodies.x.get(row).into());
            body.pose.0[4..].copy_from_slice(&bodies.q[row]);
            set_half(&mut body.motion, 0, bodies.v.get(row).into());
            set_half(&mut body.motion, 1, bodies.omega.get(row).into());
            body.inverse.0[6] = bodies.inv_mass()[row];
            let [a, b, c] = Quaternion::new(bodies.q[row]).matrix().columns;
            let [ia, ib, ic] = bodies.inv_inertia().get(row);
            let world = Mat3::outer(a, a) * ia + Mat3::outer(b, b) * ib + Mat3::outer(c, c) * ic;
            let [x, y, z] = world.columns;
            body.inverse.0[..6].copy_from_slice(&[x.x, x.y, x.z, y.y, y.z, z.z]);
            self.moving.push(body);
        }
    }

    fn hand_back(&mut self, bodies: &mut RigidBodies<S>) {
        let fastened = self.fastenings.iter().map(|f| (f.body as usize, true));
        for (row, pushed) in fastened.chain(self.touches.iter().map(|t| (t.body as usize, t.normal > S::ZERO))) {
            if bodies.is_dynamic(row) {
                bodies.v.set(row, self.moving[row].v().into());
                bodies.omega.set(row, self.moving[row].omega().into());
            }
            // A body that holds something up stays awake with it.
            if pushed {
                bodies.wake(row);
            }
        }
    }

    /// Finds particles that are near bodies or will be within the step.
    fn look<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        bodies: &RigidBodies<S>,
        dt: S,
        on: &B,
    ) {
        core::mem::swap(&mut self.touches, &mut self.last);
        self.touches.clear();
        let [points, solids] = &mut self.boxes;
        points.clear();
        let fall = Vec3::from(model.environment.gravity).length() * dt;
        let reach_of = |at: usize| model.thickness()[at] + (Vec3::from(particles.v.get(at)).length() + fall) * dt;
        for at in 0..particles.len() {
            let x = particles.x.get(at);
            points.push(Aabb::new(x, x).grown(reach_of(at)));
        }
        solids.clear();
        for &row in &self.bounded {
            let row = row as usize;
            let q = Quaternion::new(bodies.q[row]);
            let mut around = Aabb::empty();
            for piece in &self.pieces[row] {
                let centre: [S; 3] = (Vec3::from(bodies.x.get(row)) + q.rotate(piece.centre())).into();
                around = around.union(&Aabb::new(centre, centre).grown(piece.reach.unwrap_or(S::ZERO)));
            }
            let speed = Vec3::from(bodies.v.get(row)).length() + fall;
            let spin = Vec3::from(bodies.omega.get(row)).length();
            let size = self.pieces[row].iter().filter_map(|p| p.reach).fold(S::ZERO, Lane::max);
            solids.push(around.grown((speed + spin * size) * dt));
        }
        let built = !points.is_empty()
            && !solids.is_empty()
            && self.trees[0].build(points, &Leaves::default(), on).is_ok()
            && self.trees[1].build(solids, &Leaves::default(), on).is_ok();
        if built {
            self.pairs.between(&self.trees[0], &self.trees[1], on);
        }
        let near = if built { self.pairs.list() } else { &[] };
        let bounded = near.iter().map(|&[particle, solid]| (particle, self.bounded[solid as usize]));
        let every = self.endless.iter().flat_map(|&body| (0..particles.len() as u32).map(move |p| (p, body)));
        for (particle, body) in bounded.chain(every) {
            let (at, row) = (particle as usize, body as usize);
            if model.inv_mass()[at] == S::ZERO && !bodies.is_dynamic(row) {
                continue;
            }
            if self.fastenings.iter().any(|f| f.particle == particle && f.body == body) {
                continue;
            }
            let stand = Stand { x: bodies.x.get(row).into(), q: Quaternion::new(bodies.q[row]) };
            let x = Vec3::from(particles.x.get(at));
            let v = Vec3::from(particles.v.get(at)) - Vec3::from(bodies.velocity_at(row, x.into()));
            for (number, piece) in self.pieces[row].iter().enumerate() {
                let Some((phi, n)) = piece.distance(stand, x) else { continue };
                let gap = phi - model.thickness()[at];
                if gap < (v.length() + fall) * dt {
                    let (normal, tangent) = (S::ZERO, Vec3::zero());
                    let piece = number as u32;
                    self.touches.push(Touch { particle, body, piece, n, gap, approach: v.dot(n), normal, tangent });
                }
            }
        }
        self.touches.sort_unstable_by_key(Touch::key);
        for touch in &mut self.touches {
            let at = self.last.partition_point(|old| old.key() < touch.key());
            if let Some(old) = self.last.get(at).filter(|old| old.key() == touch.key()) {
                touch.normal = old.normal;
                touch.tangent = old.tangent - touch.n * old.tangent.dot(touch.n);
            }
        }
    }
}

impl<S: Real> Default for Coupling<S> {
    fn default() -> Self {
        Self::new()
    }
}
