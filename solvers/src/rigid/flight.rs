//! Rigid bodies in flight: the rows a step works on, and the passes that move them, eight bodies at a time.
//!
//! At rest bodies are columns. In a step everything that one body needs stands together, in octets: a contact reads two
//! bodies at random places, so a body should be a few neighbouring cache lines. A pass turns eight rows into lanes and back.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::mat3::Mat3;
use pliant_core::rigid::Quaternion;
use pliant_core::vec3::Vec3;

use super::Gyroscopic;

/// Bodies a task of a pass moves.
pub(crate) const CHUNK: usize = 16 * BLOCK;

/// One body in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moving<S> {
    /// v, 0, ω, 0 \[m/s, rad/s\].
    pub motion: Octet<S>,
    /// How far it has come since the step began: Δx, 0, Δθ, 0 \[m, rad\].
    pub shift: Octet<S>,
    /// I⁻¹ in the world's axes as xx, xy, xz, yy, yz, zz, then 1/m, 0.
    pub inverse: Octet<S>,
    /// x, 0, q.
    pub pose: Octet<S>,
    /// The pose when the step began.
    pub start: Octet<S>,
    /// Principal moments: inverse, 0, themselves, 0.
    pub principal: Octet<S>,
    /// Acceleration, linear damping, torque, angular damping.
    pub load: Octet<S>,
}

/// The first three numbers of one half of an octet.
#[inline(always)]
pub(crate) fn half<S: Real>(of: &Octet<S>, which: usize) -> Vec3<S> {
    Vec3::new(of.0[4 * which], of.0[4 * which + 1], of.0[4 * which + 2])
}

/// Replaces the first three numbers of one half of an octet.
#[inline(always)]
pub(crate) fn set_half<S: Real>(of: &mut Octet<S>, which: usize, v: Vec3<S>) {
    of.0[4 * which] = v.x;
    of.0[4 * which + 1] = v.y;
    of.0[4 * which + 2] = v.z;
}

/// A symmetric matrix of six numbers, times a vector.
#[inline(always)]
pub(crate) fn symmetric<L: Lane>(m: &[L], v: Vec3<L>) -> Vec3<L> {
    Vec3::new(
        m[0] * v.x + m[1] * v.y + m[2] * v.z,
        m[1] * v.x + m[3] * v.y + m[4] * v.z,
        m[2] * v.x + m[4] * v.y + m[5] * v.z,
    )
}

impl<S: Real> Moving<S> {
    /// A body that is nowhere, weighs nothing and never moves: what unused lanes point at.
    pub fn idle() -> Self {
        let zero = Octet([S::ZERO; BLOCK]);
        let mut pose = zero;
        pose.0[7] = S::ONE;
        Self { motion: zero, shift: zero, inverse: zero, pose, start: pose, principal: zero, load: zero }
    }
    /// Position \[m\].
    pub fn x(&self) -> Vec3<S> {
        half(&self.pose, 0)
    }
    /// Orientation.
    pub fn q(&self) -> Quaternion<S> {
        let p = &self.pose.0;
        Quaternion::new([p[4], p[5], p[6], p[7]])
    }
    /// Velocity \[m/s\].
    pub fn v(&self) -> Vec3<S> {
        half(&self.motion, 0)
    }
    /// Angular velocity \[rad/s\].
    pub fn omega(&self) -> Vec3<S> {
        half(&self.motion, 1)
    }
    /// Inverse mass \[1/kg\].
    pub fn inv_mass(&self) -> S {
        self.inverse.0[6]
    }
    /// I⁻¹ τ in the world's axes.
    #[inline(always)]
    pub fn turn(&self, torque: Vec3<S>) -> Vec3<S> {
        symmetric(&self.inverse.0, torque)
    }
    /// Velocity of the point at `r` from the centre \[m/s\].
    #[inline(always)]
    pub fn velocity_at(&self, r: Vec3<S>) -> Vec3<S> {
        self.v() + self.omega().cross(r)
    }
    /// An impulse at `r` from the centre \[N s\]: v += j/m, ω += I⁻¹ (r × j)   (R 41, 42).
    #[inline(always)]
    pub fn push(&mut self, r: Vec3<S>, j: Vec3<S>) {
        let (v, omega) = (self.v() + j * self.inv_mass(), self.omega() + self.turn(r.cross(j)));
        set_half(&mut self.motion, 0, v);
        set_half(&mut self.motion, 1, omega);
    }
    /// Moves the centre.
    #[inline(always)]
    pub fn displace(&mut self, by: Vec3<S>, inv_h: S) {
        let (x, shift, v) = (self.x() + by, half(&self.shift, 0) + by, self.v() + by * inv_h);
        set_half(&mut self.pose, 0, x);
        set_half(&mut self.shift, 0, shift);
        set_half(&mut self.motion, 0, v);
    }
    /// Turns the body by an angular impulse of positions \[kg m² rad\].
    #[inline(always)]
    pub fn twist(&mut self, p: Vec3<S>, inv_h: S) {
        let by = self.turn(p);
        let omega = self.omega() + by * inv_h;
        let turned = self.q().turned(by).components();
        self.pose.0[4..].copy_from_slice(&turned);
        set_half(&mut self.motion, 1, omega);
    }
}

/// First and second halves of eight octets, as rows of four numbers.
const FIRST: [u32; BLOCK] = [0, 2, 4, 6, 8, 10, 12, 14];
const SECOND: [u32; BLOCK] = [1, 3, 5, 7, 9, 11, 13, 15];

/// Octets `at ..` of eight as lanes: lane l of column k is number k of octet at + l.
#[inline(always)]
pub(crate) fn columns<L: Lane>(rows: &[Octet<L::Scalar>; BLOCK], at: usize) -> [L; BLOCK] {
    let ([a, b, c, d], [e, f, g, h]) = (L::from_rows(rows, &FIRST, at), L::from_rows(rows, &SECOND, at));
    [a, b, c, d, e, f, g, h]
}

/// Writes lanes where [`columns`] reads them.
#[inline(always)]
pub(crate) fn set_columns<L: Lane>(rows: &mut [Octet<L::Scalar>; BLOCK], at: usize, of: [L; BLOCK]) {
    let [a, b, c, d, e, f, g, h] = of;
    L::to_rows([a, b, c, d], rows, &FIRST, at);
    L::to_rows([e, f, g, h], rows, &SECOND, at);
}

/// Two vectors as eight columns.
#[inline(always)]
pub(crate) fn halves<L: Lane>(a: Vec3<L>, b: Vec3<L>) -> [L; BLOCK] {
    [a.x, a.y, a.z, L::zero(), b.x, b.y, b.z, L::zero()]
}

/// The first or second vector of eight columns.
#[inline(always)]
pub(crate) fn vector<L: Lane>(from: &[L; BLOCK], which: usize) -> Vec3<L> {
    Vec3::new(from[4 * which], from[4 * which + 1], from[4 * which + 2])
}

/// One quantity of up to eight bodies.
macro_rules! octets {
    ($bodies:ident, $field:ident) => {{
        let mut rows = [Octet([S::ZERO; BLOCK]); BLOCK];
        for (row, body) in rows.iter_mut().zip($bodies.iter()) {
            *row = body.$field;
        }
        rows
    }};
    ($bodies:ident, $field:ident, $rows:expr) => {{
        for (row, body) in $rows.iter().zip($bodies.iter_mut()) {
            body.$field = *row;
        }
    }};
}

/// v ← v/(1 + h d) + h a,   ω ← ω/(1 + h d) + h I⁻¹ τ, and the gyroscopic torque where it is a force   (R 14, corrected).
pub(crate) struct Accelerate<S> {
    pub h: S,
    pub gyroscopic: Gyroscopic,
}

impl<S: Real> Task<Moving<S>> for Accelerate<S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Moving<S>]) {
        for bodies in own.chunks_mut(BLOCK) {
            let mut motion = octets!(bodies, motion);
            let (inverse, load) = (octets!(bodies, inverse), octets!(bodies, load));
            let (pose, principal) = (octets!(bodies, pose), octets!(bodies, principal));
            let mut at = 0;
            while at < bodies.len() {
                let h = L::splat(self.h);
                let (m, w, f) = (columns::<L>(&motion, at), columns::<L>(&inverse, at), columns::<L>(&load, at));
                let v = vector(&m, 0) * (L::one() / (L::one() + h * f[3])) + vector(&f, 0) * h;
                let mut omega = vector(&m, 1) * (L::one() / (L::one() + h * f[7]));
                omega = omega + symmetric(&w, vector(&f, 1)) * h;
                if matches!(self.gyroscopic, Gyroscopic::Explicit | Gyroscopic::Implicit) {
                    let p = columns::<L>(&pose, at);
                    let q = Quaternion::new([p[4], p[5], p[6], p[7]]);
                    let moments = columns::<L>(&principal, at);
                    let local = q.unrotate(omega);
                    let next = if self.gyroscopic == Gyroscopic::Explicit {
                        local - gyration(&moments, local) * h
                    } else {
                        implicit(&moments, local, h)
                    };
                    omega = Vec3::select(w[6].gt(L::zero()), q.rotate(next), omega);
                }
                set_columns(&mut motion, at, halves(v, omega));
                at += L::WIDTH;
            }
            octets!(bodies, motion, motion);
        }
    }
}

/// I⁻¹ (ω × I ω) in the principal frame.
#[inline(always)]
fn gyration<L: Lane>(moments: &[L; BLOCK], omega: Vec3<L>) -> Vec3<L> {
    let (inverse, inertia) = (vector(moments, 0), vector(moments, 1));
    times(inverse, omega.cross(times(inertia, omega)))
}

/// How ω changes in the principal frame of the start when a body turns by θ and keeps its angular momentum I ω.
///
/// The rotation of [`Quaternion::turned`] is R x = x + s (a × x + a × (a × x)) with a = θ/2 and s = 2/(1 + a·a). Every number
/// here is as small as the turn, so that what is rounded is too: taking ω afresh from I ω in every substep would lose 3·10⁻³ of it
/// in ten thousand substeps in single precision.
#[inline(always)]
fn carried<L: Lane>(moments: &[L; BLOCK], omega: Vec3<L>, theta: Vec3<L>) -> Vec3<L> {
    let (inverse, inertia) = (vector(moments, 0), vector(moments, 1));
    let a = theta * L::constant(0.5);
    let s = L::constant(2.0) / (L::one() + a.dot(a));
    // Rᵀ l − l, the angular momentum seen from the turned frame, and what that makes of ω there.
    let spin = times(inertia, omega);
    let back = a.cross(spin);
    let seen = times(inverse, (a.cross(back) - back) * s);
    // R (ω + seen) − ω.
    let turned = a.cross(omega + seen);
    seen + (turned + a.cross(turned)) * s
}

/// Component by component.
#[inline(always)]
fn times<L: Lane>(a: Vec3<L>, b: Vec3<L>) -> Vec3<L> {
    Vec3::new(a.x * b.x, a.y * b.y, a.z * b.z)
}

/// One Newton step on I (ω' − ω) + h ω' × I ω' = 0 from ω' = ω, in the principal frame: J = I + h (\[ω\]ₓ I − \[I ω\]ₓ).
#[inline(always)]
fn implicit<L: Lane>(moments: &[L; BLOCK], omega: Vec3<L>, h: L) -> Vec3<L> {
    let i = vector(moments, 1);
    let spin = times(i, omega);
    let residual = omega.cross(spin) * h;
    let (zero, o) = (L::zero(), omega);
    // Columns of J.
    let a = Vec3::new(i.x, h * (o.z * i.x - spin.z), h * (spin.y - o.y * i.x));
    let b = Vec3::new(h * (spin.z - o.z * i.y), i.y, h * (o.x * i.y - spin.x));
    let c = Vec3::new(h * (o.y * i.z - spin.y), h * (spin.x - o.x * i.z), i.z);
    let j = Mat3::from_columns(a, b, c);
    let det = j.determinant();
    let usable = L::select(det.gt(zero), det, L::one());
    omega - (j.cofactor().transpose() * residual) * (L::one() / usable)
}

/// x ← x + h v,   q ← normalise(q + ½ \[h ω, 0\] q)   (R 15); with [`Gyroscopic::Momentum`] the angular momentum stays what
/// it was and ω follows from the new orientation.
pub(crate) struct Advance<S> {
    pub h: S,
    pub gyroscopic: Gyroscopic,
}

impl<S: Real> Task<Moving<S>> for Advance<S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Moving<S>]) {
        for bodies in own.chunks_mut(BLOCK) {
            let (mut motion, mut pose, mut shift) =
                (octets!(bodies, motion), octets!(bodies, pose), octets!(bodies, shift));
            let (principal, inverse) = (octets!(bodies, principal), octets!(bodies, inverse));
            let mut at = 0;
            while at < bodies.len() {
                let h = L::splat(self.h);
                let (m, p, s) = (columns::<L>(&motion, at), columns::<L>(&pose, at), columns::<L>(&shift, at));
                let (v, omega) = (vector(&m, 0), vector(&m, 1));
                let step = v * h;
                let x = vector(&p, 0) + step;
                let q = Quaternion::new([p[4], p[5], p[6], p[7]]);
                let turned = if self.gyroscopic == Gyroscopic::Momentum {
                    let moments = columns::<L>(&principal, at);
                    let movable = columns::<L>(&inverse, at)[6].gt(L::zero());
                    let local = q.unrotate(omega);
                    // Half a step of Euler's equations gives ω in the middle of the step: second order.
                    let middle = (local - gyration(&moments, local) * (h * L::constant(0.5))) * h;
                    let change = q.rotate(carried(&moments, local, middle));
                    set_columns(&mut motion, at, halves(v, Vec3::select(movable, omega + change, omega)));
                    q.turned(q.rotate(middle))
                } else {
                    q.turned(omega * h)
                };
                let [a, b, c, d] = turned.components();
                set_columns(&mut pose, at, [x.x, x.y, x.z, L::zero(), a, b, c, d]);
                set_columns(&mut shift, at, halves(vector(&s, 0) + step, vector(&s, 1)));
                at += L::WIDTH;
            }
            octets!(bodies, motion, motion);
            octets!(bodies, pose, pose);
            octets!(bodies, shift, shift);
        }
    }
}

/// What follows from a pose: how far the body has turned, and I⁻¹ = R I_ref⁻¹ Rᵀ in the world's axes   (R 13).
pub(crate) struct Refresh<S>(core::marker::PhantomData<S>);

impl<S> Refresh<S> {
    pub fn new() -> Self {
        Self(core::marker::PhantomData)
    }
}

impl<S: Real> Task<Moving<S>> for Refresh<S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Moving<S>]) {
        for bodies in own.chunks_mut(BLOCK) {
            let (pose, start, principal) = (octets!(bodies, pose), octets!(bodies, start), octets!(bodies, principal));
            let (mut shift, mut inverse) = (octets!(bodies, shift), octets!(bodies, inverse));
            let mut at = 0;
            while at < bodies.len() {
                let (p, s) = (columns::<L>(&pose, at), columns::<L>(&start, at));
                let q = Quaternion::new([p[4], p[5], p[6], p[7]]);
                let q0 = Quaternion::new([s[4], s[5], s[6], s[7]]);
                let moved = vector(&columns::<L>(&shift, at), 0);
                set_columns(&mut shift, at, halves(moved, (q * q0.conjugate()).small_rotation()));
                let [a, b, c] = q.matrix().columns;
                let i = vector(&columns::<L>(&principal, at), 0);
                let (ai, bi, ci) = (a * i.x, b * i.y, c * i.z);
                let world = [
                    ai.x * a.x + bi.x * b.x + ci.x * c.x,
                    ai.x * a.y + bi.x * b.y + ci.x * c.y,
                    ai.x * a.z + bi.x * b.z + ci.x * c.z,
                    ai.y * a.y + bi.y * b.y + ci.y * c.y,
                    ai.y * a.z + bi.y * b.z + ci.y * c.z,
                    ai.z * a.z + bi.z * b.z + ci.z * c.z,
                    columns::<L>(&inverse, at)[6],
                    L::zero(),
                ];
                set_columns(&mut inverse, at, world);
                at += L::WIDTH;
            }
            octets!(bodies, shift, shift);
            octets!(bodies, inverse, inverse);
        }
    }
}

/// Runs a pass over bodies.
pub(crate) fn pass<S: Real, B: Backend<Scalar = S>>(
    on: &B,
    task: &impl Task<Moving<S>, Scalar = S>,
    bodies: &mut [Moving<S>],
) {
    if !bodies.is_empty() {
        on.fork(task, Cut::Every(CHUNK), bodies);
    }
}
