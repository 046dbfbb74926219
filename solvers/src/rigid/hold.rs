//! What one joint does to its two bodies, on lanes: positions and orientations corrected, motors and dampers applied.

use pliant_core::lane::{Lane, Octet, Real};
use pliant_core::mat3::Mat3;
use pliant_core::math::atan2;
use pliant_core::rigid::{Freedom, JointTerms, Motor, Quaternion};
use pliant_core::vec3::Vec3;

use super::flight::{symmetric, vector};

/// What kind of work a joint is; joints of one kind stand side by side on lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Recipe {
    shape: Shape,
    /// Whether the angle about the axis has limits.
    limited: bool,
    damped: bool,
    drive: Drive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Ball,
    Hinge,
    SwingTwist,
    Slider,
    Fixed,
    Distance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Drive {
    None,
    Speed,
    Place,
}

impl Recipe {
    pub fn new<S: Real>(terms: &JointTerms<S>) -> Self {
        let shape = match terms.freedom {
            Freedom::Hinge { .. } => Shape::Hinge,
            Freedom::SwingTwist { .. } => Shape::SwingTwist,
            Freedom::Slider { .. } => Shape::Slider,
            Freedom::Fixed => Shape::Fixed,
            Freedom::Distance { .. } => Shape::Distance,
            _ => Shape::Ball,
        };
        let drive = match terms.motor {
            None => Drive::None,
            Some(Motor::Speed { .. }) => Drive::Speed,
            Some(Motor::Place { .. }) => Drive::Place,
        };
        Self { shape, limited: terms.limits[0].is_finite(), damped: terms.damping > S::ZERO, drive }
    }
}

/// Numbers of a joint, as columns of eight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<T> {
    anchors: [[T; 3]; 2],
    frames: [[T; 4]; 2],
    limits: [T; 2],
    swing: T,
    compliance: T,
    angular_compliance: T,
    damping: T,
    /// Target, then damping and limit of a motor for speed, or stiffness and damping of one for a place.
    motor: [T; 3],
}

impl<S: Real> Numbers<Octet<S>> {
    /// Those of a joint that does nothing.
    pub fn idle() -> Self {
        let zero = Octet([S::ZERO; 8]);
        Self {
            anchors: [[zero; 3]; 2],
            frames: [[zero; 4]; 2],
            limits: [zero; 2],
            swing: zero,
            compliance: zero,
            angular_compliance: zero,
            damping: zero,
            motor: [zero; 3],
        }
    }
    pub fn set(&mut self, lane: usize, terms: &JointTerms<S>) {
        for k in 0..2 {
            (0..3).for_each(|i| self.anchors[k][i].0[lane] = terms.anchors[k][i]);
            (0..4).for_each(|i| self.frames[k][i].0[lane] = terms.frames[k][i]);
            self.limits[k].0[lane] = terms.limits[k];
        }
        self.swing.0[lane] = terms.swing;
        self.compliance.0[lane] = terms.compliance;
        self.angular_compliance.0[lane] = terms.angular_compliance;
        self.damping.0[lane] = terms.damping;
        let motor = match terms.motor {
            None => [0.0; 3],
            Some(Motor::Speed { target, damping, limit }) => [target, damping, limit],
            Some(Motor::Place { target, stiffness, damping }) => [target, stiffness, damping],
        };
        (0..3).for_each(|i| self.motor[i].0[lane] = S::from_f64(motor[i]));
    }
    #[inline(always)]
    pub fn load<L: Lane<Scalar = S>>(&self, at: usize) -> Numbers<L> {
        let mut out = Numbers {
            anchors: [[L::zero(); 3]; 2],
            frames: [[L::zero(); 4]; 2],
            limits: [L::load(&self.limits[0], at), L::load(&self.limits[1], at)],
            swing: L::load(&self.swing, at),
            compliance: L::load(&self.compliance, at),
            angular_compliance: L::load(&self.angular_compliance, at),
            damping: L::load(&self.damping, at),
            motor: [L::load(&self.motor[0], at), L::load(&self.motor[1], at), L::load(&self.motor[2], at)],
        };
        for k in 0..2 {
            for i in 0..3 {
                out.anchors[k][i] = L::load(&self.anchors[k][i], at);
            }
            for i in 0..4 {
                out.frames[k][i] = L::load(&self.frames[k][i], at);
            }
        }
        out
    }
}

/// One of the two bodies of a joint.
#[derive(Clone, Copy)]
pub(crate) struct Side<L> {
    pub x: Vec3<L>,
    pub q: Quaternion<L>,
    pub v: Vec3<L>,
    pub omega: Vec3<L>,
    /// How far it has moved since the step began.
    pub moved: Vec3<L>,
    /// I⁻¹ and 1/m, as in a body in flight.
    pub inverse: [L; 8],
}

/// K = (1/m) 1 − \[r\]ₓ I⁻¹ \[r\]ₓ: how fast the point at r moves for an impulse there   (R 36).
#[inline(always)]
pub(crate) fn mobility<L: Lane>(inverse: &[L], r: Vec3<L>) -> Mat3<L> {
    let (zero, w) = (L::zero(), inverse[6]);
    // Columns: r × e is a column of [r]ₓ.
    let a = symmetric(inverse, Vec3::new(zero, r.z, -r.y)).cross(r);
    let b = symmetric(inverse, Vec3::new(-r.z, zero, r.x)).cross(r);
    let c = symmetric(inverse, Vec3::new(r.y, -r.x, zero)).cross(r);
    Mat3::from_columns(Vec3::new(w + a.x, a.y, a.z), Vec3::new(b.x, w + b.y, b.z), Vec3::new(c.x, c.y, w + c.z))
}

/// K⁻¹ v for a symmetric positive K; 0 where K has no inverse.
#[inline(always)]
pub(crate) fn solve<L: Lane>(k: Mat3<L>, v: Vec3<L>) -> Vec3<L> {
    let det = k.determinant();
    (k.cofactor().transpose() * v) * det.divide_or_zero(L::one())
}

impl<L: Lane> Side<L> {
    #[inline(always)]
    fn turn(&self, torque: Vec3<L>) -> Vec3<L> {
        symmetric(&self.inverse, torque)
    }
    #[inline(always)]
    fn velocity_at(&self, r: Vec3<L>) -> Vec3<L> {
        self.v + self.omega.cross(r)
    }
    /// n · K n for an impulse along n at r.
    #[inline(always)]
    fn weight(&self, r: Vec3<L>, n: Vec3<L>) -> L {
        let c = r.cross(n);
        self.inverse[6] + c.dot(self.turn(c))
    }
    /// An impulse of positions p at r: moves and turns the body, and lets its velocity know.
    #[inline(always)]
    fn shove(&mut self, r: Vec3<L>, p: Vec3<L>, inv_h: L) {
        let by = p * self.inverse[6];
        self.x = self.x + by;
        self.moved = self.moved + by;
        self.v = self.v + by * inv_h;
        self.twist(r.cross(p), inv_h);
    }
    /// An angular impulse of positions.
    #[inline(always)]
    fn twist(&mut self, p: Vec3<L>, inv_h: L) {
        let by = self.turn(p);
        self.q = self.q.turned(by);
        self.omega = self.omega + by * inv_h;
    }
    /// An impulse j at r.
    #[inline(always)]
    fn push(&mut self, r: Vec3<L>, j: Vec3<L>) {
        self.v = self.v + j * self.inverse[6];
        self.omega = self.omega + self.turn(r.cross(j));
    }
}

/// The bodies of as many joints as there are lanes.
pub(crate) struct Pair<L> {
    pub sides: [Side<L>; 2],
    pub numbers: Numbers<L>,
    pub h: L,
    pub inv_h: L,
}

#[inline(always)]
fn along_x<L: Lane>() -> Vec3<L> {
    Vec3::new(L::one(), L::zero(), L::zero())
}

/// How far a number is outside a range.
#[inline(always)]
fn beyond<L: Lane>(value: L, [low, high]: [L; 2]) -> L {
    L::select(low.gt(value), value - low, L::select(value.gt(high), value - high, L::zero()))
}

impl<L: Lane> Pair<L> {
    #[inline(always)]
    fn frame(&self, k: usize) -> Quaternion<L> {
        self.sides[k].q * Quaternion::new(self.numbers.frames[k])
    }
    /// Anchors from the centres, and how far the second is from the first.
    #[inline(always)]
    fn anchors(&self) -> ([Vec3<L>; 2], Vec3<L>) {
        let [a, b] = self.numbers.anchors;
        let r = [self.sides[0].q.rotate(vector3(a)), self.sides[1].q.rotate(vector3(b))];
        (r, (self.sides[1].x - self.sides[0].x) + (r[1] - r[0]))
    }
    /// α̃ = α/h².
    #[inline(always)]
    fn soft(&self, compliance: L) -> L {
        compliance / (self.h * self.h)
    }

    /// Positions and orientations.
    #[inline(always)]
    pub fn hold(&mut self, recipe: Recipe) {
        match recipe.shape {
            Shape::Fixed | Shape::Slider => {
                let wrong = (self.frame(1) * self.frame(0).conjugate()).small_rotation();
                self.align(wrong);
            }
            Shape::Hinge => {
                let wrong = self.frame(0).rotate(along_x()).cross(self.frame(1).rotate(along_x()));
                self.align(wrong);
            }
            Shape::SwingTwist => self.limit_swing(),
            Shape::Ball | Shape::Distance => {}
        }
        if recipe.limited && matches!(recipe.shape, Shape::Hinge | Shape::SwingTwist) {
            let (n, angle) = self.twisted();
            self.align(n * beyond(angle, self.numbers.limits));
        }
        let (r, apart) = self.anchors();
        match recipe.shape {
            Shape::Distance => {
                let length = apart.length();
                let n = apart * length.divide_or_zero(L::one());
                self.correct(r, n, beyond(length, self.numbers.limits), self.numbers.compliance);
            }
            Shape::Slider => {
                let axis = self.frame(0).rotate(along_x());
                let along = apart.dot(axis);
                let across = apart - axis * along;
                let length = across.length();
                // The first body's arm reaches to where the second one holds it.
                let r = [r[0] + apart, r[1]];
                self.correct(r, across * length.divide_or_zero(L::one()), length, self.numbers.compliance);
                if recipe.limited {
                    let wrong = beyond(along, self.numbers.limits);
                    self.correct(r, axis, wrong, self.numbers.angular_compliance);
                }
                if recipe.drive == Drive::Place {
                    let w = self.sides[0].weight(r[0], axis) + self.sides[1].weight(r[1], axis);
                    let p = self.spring(w, along, self.speed_along(axis));
                    self.shove(r, axis * p);
                }
            }
            _ => self.meet(r, apart),
        }
        // The spring of a hinge, after the anchors have met: only then has the body's weight become a rotation.
        if recipe.shape == Shape::Hinge && recipe.drive == Drive::Place {
            let (n, angle) = self.twisted();
            let speed = (self.sides[1].omega - self.sides[0].omega).dot(n);
            let p = self.spring(self.about_held(n), angle, speed);
            self.twist(n * p);
            // Turning about the centre has moved the anchor: about the hinge is what was asked for.
            let (r, apart) = self.anchors();
            self.meet(r, apart);
        }
    }

    /// Brings the anchors together, all three directions at once.
    #[inline(always)]
    fn meet(&mut self, r: [Vec3<L>; 2], apart: Vec3<L>) {
        let soft = Mat3::diagonal(self.soft(self.numbers.compliance));
        let k = mobility(&self.sides[0].inverse, r[0]) + mobility(&self.sides[1].inverse, r[1]) + soft;
        self.shove(r, solve(k, apart));
    }
    /// Takes a distance `wrong` along n away.
    #[inline(always)]
    fn correct(&mut self, r: [Vec3<L>; 2], n: Vec3<L>, wrong: L, compliance: L) {
        let total = self.sides[0].weight(r[0], n) + self.sides[1].weight(r[1], n) + self.soft(compliance);
        self.shove(r, n * total.divide_or_zero(wrong));
    }
    /// The impulse of positions of an implicit spring and damper: p = (h² k C + h c Ċ h)/(1 + (h² k + h c) w).
    #[inline(always)]
    fn spring(&self, w: L, at: L, speed: L) -> L {
        let [target, stiffness, damping] = self.numbers.motor;
        let (k, c) = (stiffness * self.h * self.h, damping * self.h);
        (k * (at - target) + c * self.h * speed) / (L::one() + (k + c) * w)
    }
    #[inline(always)]
    fn shove(&mut self, r: [Vec3<L>; 2], p: Vec3<L>) {
        self.sides[0].shove(r[0], p, self.inv_h);
        self.sides[1].shove(r[1], -p, self.inv_h);
    }
    #[inline(always)]
    fn twist(&mut self, p: Vec3<L>) {
        self.sides[0].twist(p, self.inv_h);
        self.sides[1].twist(-p, self.inv_h);
    }

    /// Takes a small rotation of the second body relative to the first away \[rad\].
    #[inline(always)]
    fn align(&mut self, wrong: Vec3<L>) {
        let angle = wrong.length();
        let n = wrong * angle.divide_or_zero(L::one());
        let p = self.about(n) + self.soft(self.numbers.angular_compliance);
        self.twist(n * p.divide_or_zero(angle));
    }
    /// n · (I_a⁻¹ + I_b⁻¹) n.
    #[inline(always)]
    fn about(&self, n: Vec3<L>) -> L {
        n.dot(self.sides[0].turn(n)) + n.dot(self.sides[1].turn(n))
    }
    /// The same for bodies that are held together at their anchors, which move along when the bodies turn:
    /// w − d · K⁻¹ d, with d how far a unit of angular impulse takes the anchors apart.
    #[inline(always)]
    fn about_held(&self, n: Vec3<L>) -> L {
        let (r, _) = self.anchors();
        let turned = [self.sides[0].turn(n), self.sides[1].turn(n)];
        let free = n.dot(turned[0]) + n.dot(turned[1]);
        let d = turned[0].cross(r[0]) + turned[1].cross(r[1]);
        let k = mobility(&self.sides[0].inverse, r[0]) + mobility(&self.sides[1].inverse, r[1]);
        (free - d.dot(solve(k, d))).max(free * L::constant(1e-3))
    }

    /// Axis and angle of the rotation about the joint's axis.
    #[inline(always)]
    fn twisted(&self) -> (Vec3<L>, L) {
        let y = Vec3::new(L::zero(), L::one(), L::zero());
        let (a, b) = (self.frame(0), self.frame(1));
        // About the mean of both axes, between the two y axes with their parts along it taken out.
        let mean = a.rotate(along_x()) + b.rotate(along_x());
        let n = mean * mean.length().divide_or_zero(L::one());
        let (ya, yb) = (a.rotate(y), b.rotate(y));
        let (ya, yb) = (ya - n * ya.dot(n), yb - n * yb.dot(n));
        (n, atan2(ya.cross(yb).dot(n), ya.dot(yb)))
    }
    #[inline(always)]
    fn limit_swing(&mut self) {
        let (a, b) = (self.frame(0).rotate(along_x()), self.frame(1).rotate(along_x()));
        let across = a.cross(b);
        let sine = across.length();
        let angle = atan2(sine, a.dot(b));
        let n = across * sine.divide_or_zero(L::one());
        self.align(n * beyond(angle, [L::zero(), self.numbers.swing]));
    }
    /// Speed of the second body's anchor relative to the first's, along an axis.
    #[inline(always)]
    fn speed_along(&self, axis: Vec3<L>) -> L {
        let (r, apart) = self.anchors();
        (self.sides[1].velocity_at(r[1]) - self.sides[0].velocity_at(r[0] + apart)).dot(axis)
    }

    /// Dampers and motors that drive a speed: impulses j = −c h Δ/(1 + c h w), implicit, so that no damping is too strong.
    #[inline(always)]
    pub fn drive(&mut self, recipe: Recipe) {
        if recipe.damped {
            let relative = self.sides[1].omega - self.sides[0].omega;
            let length = relative.length();
            let n = relative * length.divide_or_zero(L::one());
            let c = self.numbers.damping * self.h;
            self.kick(n, c * length / (L::one() + c * self.about_held(n)));
        }
        if recipe.drive == Drive::Speed {
            let axis = self.frame(0).rotate(along_x());
            let [target, damping, limit] = self.numbers.motor;
            let (c, most) = (damping * self.h, limit * self.h);
            if recipe.shape == Shape::Slider {
                let (r, apart) = self.anchors();
                let arms = [r[0] + apart, r[1]];
                let w = self.sides[0].weight(arms[0], axis) + self.sides[1].weight(arms[1], axis);
                let j = c * (self.speed_along(axis) - target) / (L::one() + c * w);
                let j = axis * j.min(most).max(-most);
                self.sides[0].push(arms[0], j);
                self.sides[1].push(arms[1], -j);
            } else {
                let speed = (self.sides[1].omega - self.sides[0].omega).dot(axis);
                let j = c * (speed - target) / (L::one() + c * self.about_held(axis));
                self.kick(axis, j.min(most).max(-most));
            }
        }
    }
    /// An angular impulse j n on the first body, its opposite on the second.
    #[inline(always)]
    fn kick(&mut self, n: Vec3<L>, j: L) {
        self.sides[0].omega = self.sides[0].omega + self.sides[0].turn(n * j);
        self.sides[1].omega = self.sides[1].omega - self.sides[1].turn(n * j);
    }
}

#[inline(always)]
fn vector3<L: Lane>([x, y, z]: [L; 3]) -> Vec3<L> {
    Vec3::new(x, y, z)
}

/// Rows of bodies as a side, and back.
impl<L: Lane> Side<L> {
    #[inline(always)]
    pub fn new(pose: [L; 8], motion: [L; 8], shift: [L; 8], inverse: [L; 8]) -> Self {
        Self {
            x: vector(&pose, 0),
            q: Quaternion::new([pose[4], pose[5], pose[6], pose[7]]),
            v: vector(&motion, 0),
            omega: vector(&motion, 1),
            moved: vector(&shift, 0),
            inverse,
        }
    }
}
