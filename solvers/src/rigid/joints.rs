//! Joints by XPBD: positions and orientations are corrected directly (Müller et al. 2020).
//!
//! A correction is an impulse of positions p = λ n, with α̃ = α/h² and the generalised inverse masses of both bodies:
//! ```text
//!   point        K p = Δ,   K = Σ (1/m) 1 − [r]ₓ I⁻¹ [r]ₓ + α̃ 1        all three directions at once, exactly
//!   one angle    λ = −C/(n · (I_a⁻¹ + I_b⁻¹) n + α̃)
//! ```
//! Velocities are told at once, v += Δx/h, instead of being taken from positions at the end of the substep: the same in exact
//! arithmetic, and in single precision far from the origin the better one. One pass a substep needs no multipliers.
//!
//! Articulations (bodies connected by joints) share no body, so they are solved side by side; inside one, joints are solved in order
//! of their distance from what is immovable, which carries a load down a chain in one pass.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{Lane, Real};
use pliant_core::mat3::Mat3;
use pliant_core::math::atan2;
use pliant_core::rigid::{Freedom, JointTerms, Motor, Quaternion, RigidBodies};
use pliant_core::vec3::Vec3;

use super::flight::Moving;

/// The joints of all bodies, in the order they are solved.
#[derive(Clone, Debug)]
pub(crate) struct Joints<S> {
    /// First body in flight of each articulation, and the number of bodies in articulations.
    places: Vec<usize>,
    /// First joint of each articulation, and the number of joints.
    firsts: Vec<usize>,
    terms: Vec<Hold<S>>,
    /// Immovable bodies, which articulations share and only read.
    fixed: Vec<Moving<S>>,
    first_fixed: usize,
}

#[derive(Clone, Debug)]
struct Hold<S> {
    terms: JointTerms<S>,
    /// Places of the bodies in flight.
    slots: [usize; 2],
}

/// Which place each body takes in flight: articulations together, then single bodies, then immovable ones.
pub(crate) fn arrange<S: Real>(bodies: &RigidBodies<S>) -> (Vec<u32>, Joints<S>) {
    let count = bodies.len();
    let mut root: Vec<usize> = (0..count).collect();
    let movable = |row: usize| bodies.is_dynamic(row);
    for terms in bodies.joint_terms() {
        let [a, b] = terms.bodies.map(|body| body as usize);
        if movable(a) && movable(b) {
            let (a, b) = (find(&mut root, a), find(&mut root, b));
            root[a.max(b)] = a.min(b);
        }
    }
    let rank = ranks(bodies);
    // A joint belongs to the articulation of its movable bodies.
    let mut jointed = vec![false; count];
    let mut order: Vec<(usize, u32, usize)> = Vec::new();
    for (row, terms) in bodies.joint_terms().iter().enumerate() {
        let [a, b] = terms.bodies.map(|body| body as usize);
        let component = find(&mut root, if movable(a) { a } else { b });
        jointed[component] = true;
        order.push((component, rank[a].min(rank[b]), row));
    }
    order.sort_unstable();
    let mut rows: Vec<usize> = (0..count).collect();
    let class = |row: usize, root: &mut Vec<usize>| {
        let component = find(root, row);
        if !movable(row) {
            (2, 0)
        } else if jointed[component] {
            (0, component)
        } else {
            (1, 0)
        }
    };
    let keys: Vec<_> = (0..count).map(|row| class(row, &mut root)).collect();
    rows.sort_by_key(|&row| (keys[row], row));
    let mut slots = vec![0_u32; count];
    for (slot, &row) in rows.iter().enumerate() {
        slots[row] = slot as u32;
    }
    let mut places = vec![0];
    let mut firsts = vec![0];
    let articulated = rows.iter().filter(|&&row| keys[row].0 == 0).count();
    for slot in 1..articulated {
        if keys[rows[slot]] != keys[rows[slot - 1]] {
            places.push(slot);
        }
    }
    let mut terms: Vec<Hold<S>> = Vec::new();
    for (index, &(component, _, row)) in order.iter().enumerate() {
        if index > 0 && order[index - 1].0 != component {
            firsts.push(index);
        }
        let joint = bodies.joint_terms()[row].clone();
        let slots = joint.bodies.map(|body| slots[body as usize] as usize);
        terms.push(Hold { terms: joint, slots });
    }
    if articulated > 0 {
        places.push(articulated);
        firsts.push(terms.len());
    }
    let first_fixed = keys.iter().filter(|key| key.0 < 2).count();
    (slots, Joints { places, firsts, terms, fixed: Vec::new(), first_fixed })
}

fn find(root: &mut [usize], mut row: usize) -> usize {
    while root[row] != row {
        root[row] = root[root[row]];
        row = root[row];
    }
    row
}

/// How many joints lie between each body and the nearest immovable one.
fn ranks<S: Real>(bodies: &RigidBodies<S>) -> Vec<u32> {
    let mut rank = vec![u32::MAX; bodies.len()];
    let mut neighbours = vec![Vec::new(); bodies.len()];
    for terms in bodies.joint_terms() {
        let [a, b] = terms.bodies.map(|body| body as usize);
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut front: Vec<usize> = (0..bodies.len()).filter(|&row| !bodies.is_dynamic(row)).collect();
    front.iter().for_each(|&row| rank[row] = 0);
    let mut at = 0;
    while at < front.len() {
        let row = front[at];
        for &next in &neighbours[row] {
            if rank[next] == u32::MAX {
                rank[next] = rank[row] + 1;
                front.push(next);
            }
        }
        at += 1;
    }
    rank
}

impl<S: Real> Joints<S> {
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
    /// How many joints there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }
    /// Corrects positions, then motors and dampers; `iterations` passes.
    pub fn run<B: Backend<Scalar = S>>(&mut self, moving: &mut [Moving<S>], h: S, iterations: usize, on: &B) {
        if self.terms.is_empty() {
            return;
        }
        self.fixed.clear();
        self.fixed.extend_from_slice(&moving[self.first_fixed..]);
        let task = Solve { joints: self, h, iterations };
        let last = self.places[self.places.len() - 1];
        on.fork(&task, Cut::At(&self.places), &mut moving[..last]);
    }
}

struct Solve<'a, S> {
    joints: &'a Joints<S>,
    h: S,
    iterations: usize,
}

impl<S: Real> Task<Moving<S>> for Solve<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Moving<S>]) {
        self.articulation(index, own);
    }
}

impl<S: Real> Solve<'_, S> {
    /// Not inlined: joints are scalar work, the same code for every instruction set.
    #[inline(never)]
    fn articulation(&self, index: usize, own: &mut [Moving<S>]) {
        let joints = self.joints;
        let first = joints.places[index];
        let list = &joints.terms[joints.firsts[index]..joints.firsts[index + 1]];
        for round in 0..self.iterations {
            for hold in list {
                let mut pair = hold.slots.map(|slot| {
                    if slot >= joints.first_fixed { joints.fixed[slot - joints.first_fixed] } else { own[slot - first] }
                });
                let mut both = Pair { bodies: &mut pair, h: self.h };
                both.hold(&hold.terms);
                if round + 1 == self.iterations {
                    both.drive(&hold.terms);
                }
                for k in 0..2 {
                    if hold.slots[k] < joints.first_fixed {
                        own[hold.slots[k] - first] = pair[k];
                    }
                }
            }
        }
    }
}

/// Two bodies that a joint connects.
struct Pair<'a, S> {
    bodies: &'a mut [Moving<S>; 2],
    h: S,
}

/// K = (1/m) 1 − \[r\]ₓ I⁻¹ \[r\]ₓ: how fast the point at r moves for an impulse there   (R 36).
pub(crate) fn mobility<S: Real>(body: &Moving<S>, r: Vec3<S>) -> Mat3<S> {
    let [a, b, c] = Mat3::diagonal(S::ONE).columns.map(|axis| {
        let turned = body.turn(r.cross(axis));
        axis * body.inv_mass() + turned.cross(r)
    });
    Mat3::from_columns(a, b, c)
}

/// K⁻¹ v for a symmetric positive K; 0 where K has no inverse.
pub(crate) fn solve<S: Real>(k: Mat3<S>, v: Vec3<S>) -> Vec3<S> {
    let det = k.determinant();
    (k.cofactor().transpose() * v) * det.divide_or_zero(S::ONE)
}

impl<S: Real> Pair<'_, S> {
    fn frames(&self, terms: &JointTerms<S>) -> [Quaternion<S>; 2] {
        [0, 1].map(|k| self.bodies[k].q() * Quaternion::new(terms.frames[k]))
    }
    /// Anchors from the centres, and how far the second is from the first.
    fn anchors(&self, terms: &JointTerms<S>) -> ([Vec3<S>; 2], Vec3<S>) {
        let r = [0, 1].map(|k| self.bodies[k].q().rotate(terms.anchors[k].into()));
        let apart = (self.bodies[1].x() - self.bodies[0].x()) + (r[1] - r[0]);
        (r, apart)
    }

    /// Positions and orientations.
    fn hold(&mut self, terms: &JointTerms<S>) {
        let x = Vec3::new(S::ONE, S::ZERO, S::ZERO);
        match terms.freedom {
            Freedom::Fixed | Freedom::Slider { .. } => {
                let [a, b] = self.frames(terms);
                self.align((b * a.conjugate()).small_rotation(), terms.angular_compliance);
            }
            Freedom::Hinge { .. } => {
                let [a, b] = self.frames(terms);
                self.align(a.rotate(x).cross(b.rotate(x)), terms.angular_compliance);
                self.limit_twist(terms);
            }
            Freedom::SwingTwist { .. } => {
                self.limit_swing(terms);
                self.limit_twist(terms);
            }
            _ => {}
        }
        let (r, apart) = self.anchors(terms);
        match terms.freedom {
            Freedom::Distance { .. } => {
                let length = apart.length();
                let wrong = beyond(length, terms.limits);
                let n = apart * length.divide_or_zero(S::ONE);
                self.correct(r, n, wrong, terms.compliance);
            }
            Freedom::Slider { .. } => {
                let axis = self.frames(terms)[0].rotate(x);
                let along = apart.dot(axis);
                let across = apart - axis * along;
                let length = across.length();
                // The first body's arm reaches to where the second one holds it.
                let r = [r[0] + apart, r[1]];
                self.correct(r, across * length.divide_or_zero(S::ONE), length, terms.compliance);
                self.correct(r, axis, beyond(along, terms.limits), terms.angular_compliance);
                if let Some(Motor::Place { target, stiffness, damping }) = terms.motor {
                    let speed = self.speed(terms, axis, true);
                    self.spring(r, axis, along, speed, [target, stiffness, damping]);
                }
            }
            _ => self.meet(r, apart, terms.compliance),
        }
        self.wind(terms);
    }

    /// Brings the anchors together, all three directions at once.
    fn meet(&mut self, r: [Vec3<S>; 2], apart: Vec3<S>, compliance: S) {
        let soft = Mat3::diagonal(compliance / (self.h * self.h));
        let k = mobility(&self.bodies[0], r[0]) + mobility(&self.bodies[1], r[1]) + soft;
        self.shove(r, solve(k, apart));
    }

    /// Takes a distance `wrong` along n away.
    fn correct(&mut self, r: [Vec3<S>; 2], n: Vec3<S>, wrong: S, compliance: S) {
        if wrong == S::ZERO {
            return;
        }
        let w = [0, 1].map(|k| {
            let c = r[k].cross(n);
            self.bodies[k].inv_mass() + c.dot(self.bodies[k].turn(c))
        });
        let total = w[0] + w[1] + compliance / (self.h * self.h);
        self.shove(r, n * total.divide_or_zero(wrong));
    }

    /// A spring and damper along n, implicitly: XPBD with damping, p = −(C + β̃ Ċ)/((1 + β̃) w + α̃).
    fn spring(&mut self, r: [Vec3<S>; 2], n: Vec3<S>, at: S, speed: S, [target, stiffness, damping]: [f64; 3]) {
        let w = [0, 1].map(|k| {
            let c = r[k].cross(n);
            self.bodies[k].inv_mass() + c.dot(self.bodies[k].turn(c))
        });
        let p = self.spring_impulse(w[0] + w[1], at - S::from_f64(target), speed, stiffness, damping);
        self.shove(r, n * p);
    }

    /// The impulse of positions of an implicit spring: p = (h² k C + h c Ċ h)/(1 + (h² k + h c) w).
    fn spring_impulse(&self, w: S, wrong: S, speed: S, stiffness: f64, damping: f64) -> S {
        let h = self.h;
        let (k, c) = (S::from_f64(stiffness) * h * h, S::from_f64(damping) * h);
        (k * wrong + c * h * speed) / (S::ONE + (k + c) * w)
    }

    fn shove(&mut self, r: [Vec3<S>; 2], p: Vec3<S>) {
        let inv_h = S::ONE / self.h;
        self.bodies[0].shove(r[0], p, inv_h);
        self.bodies[1].shove(r[1], -p, inv_h);
    }

    /// Takes a small rotation of the second body relative to the first away \[rad\].
    fn align(&mut self, wrong: Vec3<S>, compliance: S) {
        let angle = wrong.length();
        let n = wrong * angle.divide_or_zero(S::ONE);
        let p = self.about(n) + compliance / (self.h * self.h);
        self.twist(n * p.divide_or_zero(angle));
    }
    /// n · (I_a⁻¹ + I_b⁻¹) n.
    fn about(&self, n: Vec3<S>) -> S {
        n.dot(self.bodies[0].turn(n)) + n.dot(self.bodies[1].turn(n))
    }
    /// The same for bodies that are held together at their anchors, which move along when the bodies turn:
    /// w − d · K⁻¹ d, with d how far a unit of angular impulse takes the anchors apart.
    fn about_held(&self, n: Vec3<S>, terms: &JointTerms<S>) -> S {
        let free = self.about(n);
        let (r, _) = self.anchors(terms);
        let d = self.bodies[0].turn(n).cross(r[0]) + self.bodies[1].turn(n).cross(r[1]);
        let k = mobility(&self.bodies[0], r[0]) + mobility(&self.bodies[1], r[1]);
        Lane::max(free - d.dot(solve(k, d)), free * S::from_f64(1e-3))
    }
    fn twist(&mut self, p: Vec3<S>) {
        let inv_h = S::ONE / self.h;
        self.bodies[0].twist(p, inv_h);
        self.bodies[1].twist(-p, inv_h);
    }

    /// Axis and angle of the rotation about the joint's axis.
    fn twisted(&self, terms: &JointTerms<S>) -> (Vec3<S>, S) {
        let (x, y) = (Vec3::new(S::ONE, S::ZERO, S::ZERO), Vec3::new(S::ZERO, S::ONE, S::ZERO));
        let [a, b] = self.frames(terms);
        // About the mean of both axes, between the two y axes with their parts along it taken out.
        let mean = a.rotate(x) + b.rotate(x);
        let n = mean * mean.length().divide_or_zero(S::ONE);
        let [ya, yb] = [a.rotate(y), b.rotate(y)].map(|y| y - n * y.dot(n));
        (n, atan2(ya.cross(yb).dot(n), ya.dot(yb)))
    }
    fn limit_twist(&mut self, terms: &JointTerms<S>) {
        if terms.limits[0].is_finite() {
            let (n, angle) = self.twisted(terms);
            self.align(n * beyond(angle, terms.limits), terms.angular_compliance);
        }
    }
    /// The spring of a hinge. After the anchors have met: only then has the body's weight become a rotation.
    fn wind(&mut self, terms: &JointTerms<S>) {
        if let (Freedom::Hinge { .. }, Some(Motor::Place { target, stiffness, damping })) = (terms.freedom, terms.motor)
        {
            let (n, angle) = self.twisted(terms);
            let speed = self.speed(terms, n, false);
            let w = self.about_held(n, terms);
            let p = self.spring_impulse(w, angle - S::from_f64(target), speed, stiffness, damping);
            self.twist(n * p);
            // Turning about the centre has moved the anchor: about the hinge is what was asked for.
            let (r, apart) = self.anchors(terms);
            self.meet(r, apart, terms.compliance);
        }
    }
    fn limit_swing(&mut self, terms: &JointTerms<S>) {
        let x = Vec3::new(S::ONE, S::ZERO, S::ZERO);
        let [a, b] = self.frames(terms).map(|frame| frame.rotate(x));
        let across = a.cross(b);
        let sine = across.length();
        let angle = atan2(sine, a.dot(b));
        let n = across * sine.divide_or_zero(S::ONE);
        self.align(n * beyond(angle, [S::ZERO, terms.swing]), terms.angular_compliance);
    }

    /// Speed of the second body relative to the first, along or about an axis.
    fn speed(&self, terms: &JointTerms<S>, axis: Vec3<S>, linear: bool) -> S {
        if linear {
            let (r, apart) = self.anchors(terms);
            (self.bodies[1].velocity_at(r[1]) - self.bodies[0].velocity_at(r[0] + apart)).dot(axis)
        } else {
            (self.bodies[1].omega() - self.bodies[0].omega()).dot(axis)
        }
    }

    /// Dampers and motors that drive a speed: impulses j = −c h Δ/(1 + c h w), implicit, so that no damping is too strong.
    fn drive(&mut self, terms: &JointTerms<S>) {
        if terms.damping > S::ZERO {
            let relative = self.bodies[1].omega() - self.bodies[0].omega();
            let length = relative.length();
            let n = relative * length.divide_or_zero(S::ONE);
            let c = terms.damping * self.h;
            self.kick(n, c * length / (S::ONE + c * self.about_held(n, terms)));
        }
        if let Some(Motor::Speed { target, damping, limit }) = terms.motor {
            let x = Vec3::new(S::ONE, S::ZERO, S::ZERO);
            let axis = self.frames(terms)[0].rotate(x);
            let c = S::from_f64(damping) * self.h;
            let most = S::from_f64(limit) * self.h;
            let linear = matches!(terms.freedom, Freedom::Slider { .. });
            let wrong = self.speed(terms, axis, linear) - S::from_f64(target);
            let clamp = |j: S| Lane::max(Lane::min(j, most), -most);
            if linear {
                let (r, apart) = self.anchors(terms);
                let arms = [r[0] + apart, r[1]];
                let w = [0, 1].map(|k| {
                    let turn = arms[k].cross(axis);
                    self.bodies[k].inv_mass() + turn.dot(self.bodies[k].turn(turn))
                });
                let j = clamp(c * wrong / (S::ONE + c * (w[0] + w[1])));
                self.bodies[0].push(arms[0], axis * j);
                self.bodies[1].push(arms[1], -(axis * j));
            } else {
                let j = clamp(c * wrong / (S::ONE + c * self.about_held(axis, terms)));
                self.kick(axis, j);
            }
        }
    }
    /// An angular impulse j n on the first body, its opposite on the second.
    fn kick(&mut self, n: Vec3<S>, j: S) {
        for (k, j) in [j, -j].into_iter().enumerate() {
            let omega = self.bodies[k].omega() + self.bodies[k].turn(n * j);
            super::flight::set_half(&mut self.bodies[k].motion, 1, omega);
        }
    }
}

/// How far a number is outside a range.
fn beyond<S: Real>(value: S, [low, high]: [S; 2]) -> S {
    if value < low {
        value - low
    } else if value > high {
        value - high
    } else {
        S::ZERO
    }
}
