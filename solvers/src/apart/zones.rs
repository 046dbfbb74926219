//! Impact zones: vertices that collide with each other are solved together, inelastically.   [Provot97; Harmon08]
//!
//! ```text
//!   contacts on the way to the targets join their vertices into zones;  in every zone
//!   minimise ½ Σ mᵢ |xᵢ − x₁ᵢ|²  subject to  n·Σ wᵢ xᵢ ≥ g      for every contact found so far
//! ```
//! with n and w of the closest points at the time of the contact, and g the distance there: nobody comes closer than that.
//! Corrections are equal and opposite, momentum is kept. New contacts make zones grow, and they are solved again. What does not
//! come apart in this way moves as a rigid body with the momentum and spin of its targets; what collides even then, or would have
//! to take a pin along, is held where it was before the step, and the guard says so. Every stage is bounded, and none breaks the promise.

use pliant_core::backend::Backend;
use pliant_core::collide::distance::give;
use pliant_core::collide::{Candidate, CollideError, Contact};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

use super::GuardOutcome;
use super::path::Path;
use super::term::{closest, vector};
use crate::contact::pair_thickness;

/// Passes over the contacts of a projection, and when they end: no gap is short by more than this share of itself.
const SWEEPS: usize = 80;
const ENOUGH: f64 = 1e-2;
/// Rounds of rigid motion, and of holding, before everything stays.
const RIGID: usize = 4;
const HOLDS: usize = 24;
/// The share of a distance, or of the thickness where that is less, that is left between vertices of a zone.
const LEAVE: f64 = 0.5;

/// A contact as a constraint.
#[derive(Clone, Copy, Debug)]
struct Row {
    corners: [u32; 4],
    weights: [f64; 4],
    normal: Vec3<f64>,
    gap: f64,
    /// How readily the contact gives way; 0 where nobody can.
    give: f64,
    lambda: f64,
}

/// How a zone moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Projected,
    Rigid,
    Held,
}

/// Scratch by vertex.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    inv_mass: Vec<f64>,
    rows: Vec<Row>,
    /// Each vertex' parent; roots name zones.
    parent: Vec<u32>,
    mode: Vec<Mode>,
    place: Vec<Vec3<f64>>,
    /// Rigid motion by root.
    bodies: Vec<Body>,
}

/// Sums over a zone, then its motion.
#[derive(Clone, Copy, Debug)]
struct Body {
    mass: f64,
    /// Σ m x, then the centre of mass.
    centre: Vec3<f64>,
    /// Σ m Δx, then the mean travel.
    travel: Vec3<f64>,
    /// Σ m r × Δx.
    spin: Vec3<f64>,
    /// Σ m (|r|² 1 − r rᵀ): xx, yy, zz, xy, xz, yz.
    inertia: [f64; 6],
    turn: Vec3<f64>,
    pinned: bool,
}

impl Body {
    const NOTHING: fn() -> Self = || Self {
        mass: 0.0,
        centre: Vec3::zero(),
        travel: Vec3::zero(),
        spin: Vec3::zero(),
        inertia: [0.0; 6],
        turn: Vec3::zero(),
        pinned: false,
    };
}

impl Zones {
    pub fn new<S: Real>(model: &Model<S>) -> Self {
        let particles = &model.surfaces().particles;
        let count = particles.len();
        Self {
            inv_mass: particles.iter().map(|&p| model.inv_mass()[p as usize].to_f64()).collect(),
            rows: Vec::new(),
            parent: vec![0; count],
            mode: vec![Mode::Projected; count],
            place: vec![Vec3::zero(); count],
            bodies: vec![Body::NOTHING(); count],
        }
    }

    /// Moves `path.now` towards the targets in at most `rounds` projections; returns the rounds made and how they ended.
    pub fn run<S: Real, B: Backend<Scalar = S>>(
        &mut self,
        rounds: usize,
        model: &Model<S>,
        path: &mut Path<S>,
        on: &B,
    ) -> Result<(usize, GuardOutcome), CollideError> {
        let count = path.now.len();
        self.rows.clear();
        for vertex in 0..count {
            self.parent[vertex] = vertex as u32;
            self.mode[vertex] = Mode::Projected;
        }
        path.next.copy_from(0..count, &path.target, 0);
        for round in 0..rounds + RIGID + HOLDS {
            if path.free(S::ZERO, on)? >= 1.0 {
                path.accept();
                return Ok((round, self.outcome()));
            }
            let mode = match round {
                r if r < rounds => Mode::Projected,
                r if r < rounds + RIGID => Mode::Rigid,
                _ => Mode::Held,
            };
            for contact in path.search.contacts() {
                let [a, b, c, d] = contact.candidate.corners;
                for other in [b, c, d] {
                    self.join(a, other);
                }
                if mode == Mode::Projected {
                    self.rows.extend(self.row(model, path, contact));
                }
            }
            for contact in path.search.contacts() {
                let root = self.root(contact.candidate.corners[0]) as usize;
                if mode != Mode::Projected {
                    self.mode[root] = mode;
                }
            }
            self.project(path);
            self.stiffen(path);
            for (vertex, p) in self.place.iter().enumerate() {
                path.next.set(vertex, [p.x, p.y, p.z].map(S::from_f64));
            }
        }
        // Nothing helps but going less far, all together.
        let left = path.retreat(S::ZERO, on)?;
        if left > 0.0 {
            path.accept();
        }
        (0..count).for_each(|vertex| self.mode[vertex] = Mode::Held);
        Ok((rounds + RIGID + HOLDS, self.outcome()))
    }

    fn outcome(&self) -> GuardOutcome {
        let (mut zones, mut vertices) = (0, 0);
        for vertex in 0..self.parent.len() {
            let root = self.root(vertex as u32) as usize;
            vertices += usize::from(self.mode[root] == Mode::Held);
            zones += usize::from(self.mode[root] == Mode::Held && root == vertex);
        }
        if vertices == 0 { GuardOutcome::Met } else { GuardOutcome::Held { zones, vertices } }
    }

    /// A contact as a constraint; nothing where the two touch already.
    fn row<S: Real>(&self, model: &Model<S>, path: &Path<S>, contact: &Contact) -> Option<Row> {
        let Candidate { pair, corners } = contact.candidate;
        let time = contact.impact.time;
        let at = |v: u32| {
            let (now, next) = (vector(path.now.get(v as usize)), vector(path.next.get(v as usize)));
            now + (next - now) * time
        };
        let there = pair.closest(&corners.map(at));
        let distance = there.distance_sq.sqrt();
        let before = closest(&contact.candidate, &path.now).distance_sq.sqrt();
        if distance <= 0.0 {
            return None;
        }
        let give = give(&there.weights, &corners.map(|v| self.inv_mass[v as usize]));
        let gap = distance.max(LEAVE * before.min(pair_thickness(model, &contact.candidate)));
        let normal = there.between * (1.0 / distance);
        Some(Row { corners, weights: there.weights, normal, gap, give, lambda: 0.0 })
    }

    /// The projection of all zones, by Gauss–Seidel on the multipliers.
    fn project<S: Real>(&mut self, path: &Path<S>) {
        for (place, target) in self.place.iter_mut().zip(path.target.iter()) {
            *place = vector(target);
        }
        self.rows.iter_mut().for_each(|row| row.lambda = 0.0);
        for _ in 0..SWEEPS {
            let mut worst = 0.0_f64;
            for row in &mut self.rows {
                if row.give <= 0.0 {
                    continue;
                }
                let mut along = 0.0;
                for k in 0..4 {
                    along += row.weights[k] * row.normal.dot(self.place[row.corners[k] as usize]);
                }
                worst = worst.max((row.gap - along) / row.gap);
                let lambda = (row.lambda + (row.gap - along) / row.give).max(0.0);
                let change = lambda - row.lambda;
                row.lambda = lambda;
                for k in 0..4 {
                    let at = row.corners[k] as usize;
                    self.place[at] = self.place[at] + row.normal * (change * row.weights[k] * self.inv_mass[at]);
                }
            }
            if worst <= ENOUGH {
                break;
            }
        }
    }

    /// Rigid motion of zones that need it, and rest of those that are held.
    fn stiffen<S: Real>(&mut self, path: &Path<S>) {
        if self.mode.iter().all(|mode| *mode == Mode::Projected) {
            return;
        }
        let count = self.parent.len();
        self.bodies.fill(Body::NOTHING());
        for vertex in 0..count {
            let root = self.root(vertex as u32) as usize;
            let (now, target) = (vector(path.now.get(vertex)), vector(path.target.get(vertex)));
            let (body, w) = (&mut self.bodies[root], self.inv_mass[vertex]);
            if w > 0.0 {
                body.mass += 1.0 / w;
                body.centre = body.centre + now * (1.0 / w);
                body.travel = body.travel + (target - now) * (1.0 / w);
            } else {
                body.pinned = true;
            }
        }
        for body in self.bodies.iter_mut().filter(|body| body.mass > 0.0) {
            (body.centre, body.travel) = (body.centre * (1.0 / body.mass), body.travel * (1.0 / body.mass));
        }
        for vertex in 0..count {
            let root = self.root(vertex as u32) as usize;
            let (body, w) = (&mut self.bodies[root], self.inv_mass[vertex]);
            let (now, target) = (vector(path.now.get(vertex)), vector(path.target.get(vertex)));
            if w > 0.0 {
                let (r, m) = (now - body.centre, 1.0 / w);
                body.spin = body.spin + r.cross(target - now) * m;
                let own = [
                    r.y * r.y + r.z * r.z,
                    r.x * r.x + r.z * r.z,
                    r.x * r.x + r.y * r.y,
                    -r.x * r.y,
                    -r.x * r.z,
                    -r.y * r.z,
                ];
                for k in 0..6 {
                    body.inertia[k] += m * own[k];
                }
            }
        }
        for (body, mode) in self.bodies.iter_mut().zip(&mut self.mode) {
            body.turn = turn(&body.inertia, body.spin);
            // What holds a pin cannot move as one: it stays where it was, and that is told.
            if body.pinned && *mode == Mode::Rigid {
                *mode = Mode::Held;
            }
        }
        for vertex in 0..count {
            let root = self.root(vertex as u32) as usize;
            let (body, now) = (&self.bodies[root], vector(path.now.get(vertex)));
            match self.mode[root] {
                Mode::Projected => {}
                Mode::Rigid => {
                    let r = now - body.centre;
                    self.place[vertex] = body.centre + body.travel + cayley(body.turn, r);
                }
                Mode::Held => self.place[vertex] = now,
            }
        }
    }

    fn root(&self, mut vertex: u32) -> u32 {
        while self.parent[vertex as usize] != vertex {
            vertex = self.parent[vertex as usize];
        }
        vertex
    }

    /// Joins two zones under the lower root; the stiffer of their modes holds.
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b) as usize, a.max(b) as usize);
        if low == high {
            return;
        }
        self.parent[high] = low as u32;
        self.mode[low] = match (self.mode[low], self.mode[high]) {
            (Mode::Held, _) | (_, Mode::Held) => Mode::Held,
            (Mode::Rigid, _) | (_, Mode::Rigid) => Mode::Rigid,
            _ => Mode::Projected,
        };
    }
}

/// ω with I ω = L; zero for a zone in a line, which has no inertia about it.
fn turn(&[xx, yy, zz, xy, xz, yz]: &[f64; 6], spin: Vec3<f64>) -> Vec3<f64> {
    let (a, b, c) = (Vec3::new(xx, xy, xz), Vec3::new(xy, yy, yz), Vec3::new(xz, yz, zz));
    let determinant = a.dot(b.cross(c));
    let size = xx + yy + zz;
    if determinant <= 1e-9 * size * size * size {
        return Vec3::zero();
    }
    let [ab, bc, ca] = [a.cross(b), b.cross(c), c.cross(a)];
    (bc * spin.x + ca * spin.y + ab * spin.z) * (1.0 / determinant)
}

/// Turns r about ω: R = (1 − [ω/2])⁻¹ (1 + [ω/2]), a rotation without sines.
fn cayley(omega: Vec3<f64>, r: Vec3<f64>) -> Vec3<f64> {
    let half = omega * 0.5;
    let scale = 2.0 / (1.0 + half.length_sq());
    let once = half.cross(r);
    r + (once + half.cross(once)) * scale
}
