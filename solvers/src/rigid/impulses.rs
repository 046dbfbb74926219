//! Sequential impulses: contacts, coloured, eight at a time, warm-started and softened.
//!
//! A substep applies last substep's impulses, corrects velocities with contacts a little soft (a damped spring far
//! stiffer than anything seen, so that overlap is pushed out gently), moves the bodies, and corrects velocities again
//! without springs, so that what the spring added does not stay as speed. One pass each: small substeps converge better than many
//! passes (Macklin et al. 2019; the scheme is that of Catto's "soft step", 2023).
//!
//! A colour's contacts touch disjoint bodies. Tasks read bodies and write results beside their contacts; a pass over the
//! colour then copies results to the bodies. So threads never write the same memory, and every backend sees the same numbers.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::vec3::Vec3;

use super::flight::{Moving, lanes, symmetric, transpose, vector};
use super::manifold::{Manifold, POINTS};

/// Blocks a task works on.
const CHUNK: usize = 8;
/// Colours; contacts that fit in none of them are solved one by one at the end.
const COLOURS: usize = 32;
/// The idle lane of a block.
const NOBODY: u32 = u32::MAX;

/// Eight manifolds side by side.
#[derive(Clone, Debug)]
pub(crate) struct Block<S> {
    /// Places of the bodies among those in flight.
    bodies: [[u32; BLOCK]; 2],
    /// Places of the manifolds in their list.
    manifolds: [u32; BLOCK],
    n: [Octet<S>; 3],
    friction: Octet<S>,
    restitution: Octet<S>,
    /// 1 where one of the bodies is immovable.
    hard: Octet<S>,
    /// Points of the fullest manifold.
    count: usize,
    points: [Spot<S>; POINTS],
    /// New velocities of the bodies, by columns.
    result: [[Octet<S>; BLOCK]; 2],
}

/// A contact point of each of eight manifolds.
#[derive(Clone, Copy, Debug)]
struct Spot<S> {
    ra: [Octet<S>; 3],
    rb: [Octet<S>; 3],
    gap: Octet<S>,
    /// Effective masses along the normal and two tangents.
    mass: [Octet<S>; 3],
    /// Impulses along the same.
    impulse: [Octet<S>; 3],
    /// Speed along the normal before the contact acted in this substep.
    approach: Octet<S>,
}

/// How soft contacts are: a spring and damper, as the share of an impulse they ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Softness<S> {
    /// Speed at which overlap goes, a metre of it \[1/s\].
    pub rate: S,
    pub mass_scale: S,
    pub impulse_scale: S,
}

impl<S: Real> Softness<S> {
    /// A spring of frequency f \[Hz\] and damping ratio ζ, integrated implicitly over h:
    /// ω = 2πf,  a₁ = 2ζ + hω,  a₂ = hω a₁:   rate ω/a₁,  share a₂/(1 + a₂),  decay 1/(1 + a₂).
    pub fn new(hertz: f64, zeta: f64, h: f64) -> Self {
        let omega = 2.0 * core::f64::consts::PI * hertz;
        let (a1, a2) = (2.0 * zeta + h * omega, h * omega * (2.0 * zeta + h * omega));
        let [rate, mass_scale, impulse_scale] = [omega / a1, a2 / (1.0 + a2), 1.0 / (1.0 + a2)].map(S::from_f64);
        Self { rate, mass_scale, impulse_scale }
    }
}

/// What a pass does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Applies the impulses of the last substep: all of them, before any is changed.
    Warm,
    /// Solves with springs.
    Solve,
    /// Solves without springs.
    Relax,
    /// Gives back the share of the approach speed that restitution asks for.
    Bounce,
}

/// Contacts of a step, coloured.
#[derive(Clone, Debug)]
pub(crate) struct Impulses<S> {
    blocks: Vec<Block<S>>,
    /// First block of each colour, and the number of blocks.
    colours: Vec<usize>,
    bounces: bool,
    /// Colours a body has, one bit each.
    taken: Vec<u32>,
    lists: Vec<Vec<u32>>,
}

/// Numbers that all contacts of a substep share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<S> {
    pub inv_h: S,
    /// Between two movable bodies, and with an immovable one.
    pub soft: [Softness<S>; 2],
    /// Largest speed at which overlap is pushed out \[m/s\].
    pub push: S,
    /// Overlap that is left alone \[m\].
    pub slop: S,
    /// Approach speed below which nothing bounces \[m/s\].
    pub threshold: S,
}

impl<S: Real> Impulses<S> {
    pub fn new() -> Self {
        Self { blocks: Vec::new(), colours: Vec::new(), bounces: false, taken: Vec::new(), lists: Vec::new() }
    }

    /// Colours the manifolds and lays them out. `slots` are the places of bodies in flight.
    pub fn build<B: Backend<Scalar = S>>(
        &mut self,
        manifolds: &[Manifold<S>],
        slots: &[u32],
        moving: &[Moving<S>],
        on: &B,
    ) {
        self.bounces = manifolds.iter().any(|m| m.restitution > S::ZERO);
        self.colour(manifolds, slots, moving);
        self.colours.clear();
        self.colours.push(0);
        let mut count = 0;
        for (colour, list) in self.lists.iter().enumerate() {
            count += if colour % (COLOURS + 1) == COLOURS { list.len() } else { list.len().div_ceil(BLOCK) };
            self.colours.push(count);
        }
        self.blocks.resize_with(count, Block::idle);
        let mut at = 0;
        for (colour, list) in self.lists.iter().enumerate() {
            let size = if colour % (COLOURS + 1) == COLOURS { 1 } else { BLOCK };
            for group in list.chunks(size) {
                let block = &mut self.blocks[at];
                block.manifolds = [NOBODY; BLOCK];
                block.manifolds[..group.len()].copy_from_slice(group);
                at += 1;
            }
        }
        if count > 0 {
            on.fork(&Fill { manifolds, slots, moving }, Cut::Every(CHUNK), &mut self.blocks);
        }
    }

    /// Greedy colours in the order of the manifolds: contacts between movable bodies first, those with immovable ones after
    /// them, because the last word should be that of the ground.
    fn colour(&mut self, manifolds: &[Manifold<S>], slots: &[u32], moving: &[Moving<S>]) {
        self.lists.resize_with(2 * (COLOURS + 1), Vec::new);
        self.lists.iter_mut().for_each(Vec::clear);
        for (stage, hard) in [(0, false), (COLOURS + 1, true)] {
            self.taken.clear();
            self.taken.resize(moving.len(), 0);
            for (index, manifold) in manifolds.iter().enumerate() {
                let places = manifold.bodies.map(|row| slots[row as usize] as usize);
                let movable = places.map(|slot| moving[slot].inv_mass() > S::ZERO);
                if hard == (movable[0] && movable[1]) {
                    continue;
                }
                let mut taken = 0;
                for k in 0..2 {
                    taken |= if movable[k] { self.taken[places[k]] } else { 0 };
                }
                let colour = (!taken).trailing_zeros() as usize;
                if colour < COLOURS {
                    for k in 0..2 {
                        self.taken[places[k]] |= 1 << colour;
                    }
                }
                self.lists[stage + colour.min(COLOURS)].push(index as u32);
            }
        }
    }

    /// One pass over all contacts, colour after colour.
    pub fn run<B: Backend<Scalar = S>>(&mut self, pass: Pass, terms: &Terms<S>, moving: &mut [Moving<S>], on: &B) {
        if pass == Pass::Bounce && !self.bounces {
            return;
        }
        for colour in 0..self.colours.len().saturating_sub(1) {
            let range = self.colours[colour]..self.colours[colour + 1];
            if range.is_empty() {
                continue;
            }
            // What fits in no colour is solved one by one.
            let step = if colour % (COLOURS + 1) == COLOURS { 1 } else { range.len() };
            let mut first = range.start;
            while first < range.end {
                let blocks = &mut self.blocks[first..first + step];
                on.fork(&Sweep { pass, terms: *terms, moving }, Cut::Every(CHUNK), blocks);
                for block in blocks {
                    block.deliver(moving);
                }
                first += step;
            }
        }
    }

    /// Writes the impulses back to the manifolds, for the next step.
    pub fn keep(&self, manifolds: &mut [Manifold<S>]) {
        for block in &self.blocks {
            for lane in 0..BLOCK {
                let Some(manifold) = manifolds.get_mut(block.manifolds[lane] as usize) else { continue };
                let (t1, t2) = tangents(manifold.n);
                for (point, spot) in manifold.points[..manifold.count].iter_mut().zip(&block.points) {
                    point.normal = spot.impulse[0].0[lane];
                    point.tangent = t1 * spot.impulse[1].0[lane] + t2 * spot.impulse[2].0[lane];
                }
            }
        }
    }
}

impl<S: Real> Block<S> {
    fn idle() -> Self {
        let zero = Octet([S::ZERO; BLOCK]);
        let three = [zero; 3];
        let spot = Spot { ra: three, rb: three, gap: zero, mass: three, impulse: three, approach: zero };
        Self {
            bodies: [[NOBODY; BLOCK]; 2],
            manifolds: [NOBODY; BLOCK],
            n: three,
            friction: zero,
            restitution: zero,
            hard: zero,
            count: 0,
            points: [spot; POINTS],
            result: [[zero; BLOCK]; 2],
        }
    }

    /// Copies the new velocities to the bodies.
    #[inline(always)]
    fn deliver(&self, moving: &mut [Moving<S>]) {
        for side in 0..2 {
            let rows = transpose(&self.result[side]);
            for lane in 0..BLOCK {
                let Some(body) = moving.get_mut(self.bodies[side][lane] as usize) else { continue };
                if body.inverse.0[6] > S::ZERO {
                    body.motion = rows[lane];
                }
            }
        }
    }
}

/// Two unit vectors across a unit vector (Duff et al. 2017).
#[inline(always)]
fn tangents<L: Lane>(n: Vec3<L>) -> (Vec3<L>, Vec3<L>) {
    let one = L::one();
    let sign = L::select(n.z.ge(L::zero()), one, -one);
    let a = -one / (sign + n.z);
    let b = n.x * n.y * a;
    (Vec3::new(one + sign * n.x * n.x * a, sign * b, -(sign * n.x)), Vec3::new(b, sign + n.y * n.y * a, -n.y))
}

/// Fills blocks from manifolds.
struct Fill<'a, S> {
    manifolds: &'a [Manifold<S>],
    slots: &'a [u32],
    moving: &'a [Moving<S>],
}

impl<S: Real> Task<Block<S>> for Fill<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Block<S>]) {
        for block in own {
            let numbers = block.manifolds;
            *block = Block { manifolds: numbers, ..Block::idle() };
            for (lane, &number) in numbers.iter().enumerate() {
                let Some(manifold) = self.manifolds.get(number as usize) else { continue };
                let places = manifold.bodies.map(|row| self.slots[row as usize]);
                let [a, b] = places.map(|slot| &self.moving[slot as usize]);
                block.bodies[0][lane] = places[0];
                block.bodies[1][lane] = places[1];
                let n = manifold.n;
                let (t1, t2) = tangents(n);
                put(&mut block.n, lane, n);
                block.friction.0[lane] = manifold.friction;
                block.restitution.0[lane] = manifold.restitution;
                let immovable = !(a.inv_mass() > S::ZERO && b.inv_mass() > S::ZERO);
                block.hard.0[lane] = if immovable { S::ONE } else { S::ZERO };
                block.count = block.count.max(manifold.count);
                for (point, spot) in manifold.points[..manifold.count].iter().zip(&mut block.points) {
                    put(&mut spot.ra, lane, point.ra);
                    put(&mut spot.rb, lane, point.rb);
                    spot.gap.0[lane] = point.gap;
                    for (k, direction) in [n, t1, t2].into_iter().enumerate() {
                        // 1/(n · K n), K = K_a + K_b   (R 36).
                        let (ca, cb) = (point.ra.cross(direction), point.rb.cross(direction));
                        let k_n = (a.inv_mass() + b.inv_mass()) + (ca.dot(a.turn(ca)) + cb.dot(b.turn(cb)));
                        spot.mass[k].0[lane] = k_n.divide_or_zero(S::ONE);
                    }
                    // One mass for both tangents: friction then points against the motion, not along the softer tangent.
                    let across = Lane::min(spot.mass[1].0[lane], spot.mass[2].0[lane]);
                    (spot.mass[1].0[lane], spot.mass[2].0[lane]) = (across, across);
                    spot.impulse[0].0[lane] = point.normal;
                    spot.impulse[1].0[lane] = point.tangent.dot(t1);
                    spot.impulse[2].0[lane] = point.tangent.dot(t2);
                }
            }
        }
    }
}

#[inline(always)]
fn put<S: Real>(columns: &mut [Octet<S>; 3], lane: usize, v: Vec3<S>) {
    columns[0].0[lane] = v.x;
    columns[1].0[lane] = v.y;
    columns[2].0[lane] = v.z;
}

#[inline(always)]
fn get<L: Lane>(columns: &[Octet<L::Scalar>; 3], at: usize) -> Vec3<L> {
    Vec3::new(L::load(&columns[0], at), L::load(&columns[1], at), L::load(&columns[2], at))
}

/// A pass over blocks of one colour.
struct Sweep<'a, S> {
    pass: Pass,
    terms: Terms<S>,
    moving: &'a [Moving<S>],
}

/// The two bodies of eight contacts.
#[derive(Clone, Copy)]
struct Bodies<L> {
    v: [Vec3<L>; 2],
    omega: [Vec3<L>; 2],
    inverse: [[L; BLOCK]; 2],
}

impl<L: Lane> Bodies<L> {
    /// Velocity of the second body's point relative to the first's.
    #[inline(always)]
    fn relative(&self, ra: Vec3<L>, rb: Vec3<L>) -> Vec3<L> {
        (self.v[1] + self.omega[1].cross(rb)) - (self.v[0] + self.omega[0].cross(ra))
    }
    /// An impulse j on the second body at rb, −j on the first at ra.
    #[inline(always)]
    fn push(&mut self, ra: Vec3<L>, rb: Vec3<L>, j: Vec3<L>) {
        self.v[0] = self.v[0] - j * self.inverse[0][6];
        self.v[1] = self.v[1] + j * self.inverse[1][6];
        self.omega[0] = self.omega[0] - symmetric(&self.inverse[0], ra.cross(j));
        self.omega[1] = self.omega[1] + symmetric(&self.inverse[1], rb.cross(j));
    }
}

impl<S: Real> Task<Block<S>> for Sweep<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Block<S>]) {
        let idle = Moving::idle();
        for block in own {
            let mut motion = [[Octet([S::ZERO; BLOCK]); BLOCK]; 2];
            let (mut shift, mut inverse) = (motion, motion);
            for side in 0..2 {
                for lane in 0..BLOCK {
                    let body = self.moving.get(block.bodies[side][lane] as usize).unwrap_or(&idle);
                    motion[side][lane] = body.motion;
                    shift[side][lane] = body.shift;
                    inverse[side][lane] = body.inverse;
                }
                motion[side] = transpose(&motion[side]);
                shift[side] = transpose(&shift[side]);
                inverse[side] = transpose(&inverse[side]);
            }
            block.result = motion;
            let mut at = 0;
            while at < BLOCK {
                let m = [lanes::<L>(&motion[0], at), lanes::<L>(&motion[1], at)];
                let s = [lanes::<L>(&shift[0], at), lanes::<L>(&shift[1], at)];
                let mut bodies = Bodies {
                    v: [vector(&m[0], 0), vector(&m[1], 0)],
                    omega: [vector(&m[0], 1), vector(&m[1], 1)],
                    inverse: [lanes::<L>(&inverse[0], at), lanes::<L>(&inverse[1], at)],
                };
                let moved = [vector(&s[0], 0), vector(&s[1], 0)];
                let turned = [vector(&s[0], 1), vector(&s[1], 1)];
                self.solve(block, at, &mut bodies, moved, turned);
                for side in 0..2 {
                    let (v, omega) = (bodies.v[side], bodies.omega[side]);
                    for (k, value) in [(0, v.x), (1, v.y), (2, v.z), (4, omega.x), (5, omega.y), (6, omega.z)] {
                        value.store(&mut block.result[side][k], at);
                    }
                }
                at += L::WIDTH;
            }
        }
    }
}

impl<S: Real> Sweep<'_, S> {
    /// Lanes `at ..` of a block.
    #[inline(always)]
    fn solve<L: Lane<Scalar = S>>(
        &self,
        block: &mut Block<S>,
        at: usize,
        bodies: &mut Bodies<L>,
        moved: [Vec3<L>; 2],
        turned: [Vec3<L>; 2],
    ) {
        let (zero, half) = (L::zero(), L::constant(0.5));
        let n = get::<L>(&block.n, at);
        let (t1, t2) = tangents(n);
        let count = block.count;
        // Where the points are now: the place both bodies have carried them to, halfway. One point for both bodies keeps
        // angular momentum exactly.
        let mut arms = [(Vec3::zero(), Vec3::zero()); POINTS];
        let mut gaps = [zero; POINTS];
        for k in 0..count {
            let spot = &block.points[k];
            let (ra, rb) = (get::<L>(&spot.ra, at), get::<L>(&spot.rb, at));
            let (ma, mb) = (moved[0] + turned[0].cross(ra), moved[1] + turned[1].cross(rb));
            let common = (ma + mb) * half;
            arms[k] = (ra + common - moved[0], rb + common - moved[1]);
            gaps[k] = L::load(&spot.gap, at) + (mb - ma).dot(n);
        }
        if self.pass == Pass::Bounce {
            let (threshold, e) = (L::splat(self.terms.threshold), L::load(&block.restitution, at));
            for k in 0..count {
                let spot = &block.points[k];
                let (ra, rb) = arms[k];
                let approach = L::load(&spot.approach, at);
                let touched = L::both((-approach).gt(threshold), L::load(&spot.impulse[0], at).gt(zero));
                let speed = bodies.relative(ra, rb).dot(n);
                // −m (v_n + e v_n⁻), never a pull.
                let j = (-(L::load(&spot.mass[0], at) * (speed + e * approach))).max(zero);
                bodies.push(ra, rb, n * L::select(L::both(touched, e.gt(zero)), j, zero));
            }
            return;
        }
        if self.pass == Pass::Warm {
            for k in 0..count {
                let speed = bodies.relative(arms[k].0, arms[k].1).dot(n);
                speed.store(&mut block.points[k].approach, at);
            }
            for k in 0..count {
                let spot = &block.points[k];
                let [a, b, c] = [0, 1, 2].map(|i| L::load(&spot.impulse[i], at));
                bodies.push(arms[k].0, arms[k].1, n * a + t1 * b + t2 * c);
            }
            return;
        }
        let solve = self.pass == Pass::Solve;
        let hard = L::load(&block.hard, at).gt(half);
        let [soft, stiff] = self.terms.soft;
        let rate = L::select(hard, L::splat(stiff.rate), L::splat(soft.rate));
        let mass_scale = L::select(hard, L::splat(stiff.mass_scale), L::splat(soft.mass_scale));
        let impulse_scale = L::select(hard, L::splat(stiff.impulse_scale), L::splat(soft.impulse_scale));
        for k in 0..count {
            let spot = &mut block.points[k];
            let (ra, rb) = arms[k];
            let (gap, old) = (gaps[k], L::load(&spot.impulse[0], at));
            let speed = bodies.relative(ra, rb).dot(n);
            // Still apart: they may close the gap within the substep, no more. Overlapping: the spring, if it is its turn.
            let open = gap.gt(zero);
            let overlap = (gap + L::splat(self.terms.slop)).min(zero);
            let push = (rate * overlap).max(-L::splat(self.terms.push));
            let bias = L::select(open, gap * L::splat(self.terms.inv_h), if solve { push } else { zero });
            let (share, decay) = if solve {
                (L::select(open, L::one(), mass_scale), L::select(open, zero, impulse_scale))
            } else {
                (L::one(), zero)
            };
            let j = -(L::load(&spot.mass[0], at) * share * (speed + bias)) - decay * old;
            let new = (old + j).max(zero);
            new.store(&mut spot.impulse[0], at);
            bodies.push(ra, rb, n * (new - old));
        }
        // Friction last: its limit is then what the contact really carries in this substep.
        let friction = L::load(&block.friction, at);
        for k in 0..count {
            let spot = &mut block.points[k];
            let (ra, rb) = arms[k];
            let v = bodies.relative(ra, rb);
            let (old1, old2) = (L::load(&spot.impulse[1], at), L::load(&spot.impulse[2], at));
            let new1 = old1 - L::load(&spot.mass[1], at) * v.dot(t1);
            let new2 = old2 - L::load(&spot.mass[2], at) * v.dot(t2);
            // Coulomb's cone: |j_t| ≤ μ j_n.
            let limit = friction * L::load(&spot.impulse[0], at);
            let length = (new1 * new1 + new2 * new2).sqrt();
            let scale = L::select(length.gt(limit), length.divide_or_zero(limit), L::one());
            let (new1, new2) = (new1 * scale, new2 * scale);
            new1.store(&mut spot.impulse[1], at);
            new2.store(&mut spot.impulse[2], at);
            bodies.push(ra, rb, t1 * (new1 - old1) + t2 * (new2 - old2));
        }
    }
}
