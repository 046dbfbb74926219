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

use super::block::{Block, Fill, NOBODY, get, tangents};
use super::flight::{Moving, columns, halves, set_columns, symmetric, vector};
use super::manifold::{Manifold, POINTS};

/// Blocks a task works on.
const CHUNK: usize = 8;
/// Colours; contacts that fit in none of them are solved one by one at the end.
const COLOURS: usize = 32;

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
    /// Applies the impulses of the last substep: all of them, before any is changed, and after speeds of approach were noted.
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
        if pass == Pass::Warm {
            let sweep = Sweep { pass, terms: *terms, moving };
            // What each contact adds does not depend on the others: no colours.
            on.fork(&sweep, Cut::Every(CHUNK), &mut self.blocks);
            self.blocks.iter().for_each(|block| block.add(moving));
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
                    point.crept = t1 * spot.crept[0].0[lane] + t2 * spot.crept[1].0[lane];
                }
            }
        }
    }
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
            }
            let mut at = 0;
            while at < BLOCK {
                let m = [columns::<L>(&motion[0], at), columns::<L>(&motion[1], at)];
                let s = [columns::<L>(&shift[0], at), columns::<L>(&shift[1], at)];
                let mut bodies = Bodies {
                    v: [vector(&m[0], 0), vector(&m[1], 0)],
                    omega: [vector(&m[0], 1), vector(&m[1], 1)],
                    inverse: [columns::<L>(&inverse[0], at), columns::<L>(&inverse[1], at)],
                };
                let moved = [vector(&s[0], 0), vector(&s[1], 0)];
                let turned = [vector(&s[0], 1), vector(&s[1], 1)];
                self.solve(block, at, &mut bodies, moved, turned);
                for side in 0..2 {
                    set_columns(&mut block.result[side], at, halves(bodies.v[side], bodies.omega[side]));
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
        let mut moves = [Vec3::zero(); POINTS];
        let between = get::<L>(&block.between, at);
        for k in 0..count {
            let spot = &block.points[k];
            let ra = get::<L>(&spot.ra, at);
            let rb = ra + between;
            let (ma, mb) = (moved[0] + turned[0].cross(ra), moved[1] + turned[1].cross(rb));
            let common = (ma + mb) * half;
            arms[k] = (ra + common - moved[0], rb + common - moved[1]);
            moves[k] = mb - ma;
            gaps[k] = L::load(&spot.gap, at) + moves[k].dot(n);
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
            (bodies.v, bodies.omega) = ([Vec3::zero(); 2], [Vec3::zero(); 2]);
            for k in 0..count {
                let [a, b, c] = &block.points[k].impulse;
                let j = n * L::load(a, at) + t1 * L::load(b, at) + t2 * L::load(c, at);
                bodies.push(arms[k].0, arms[k].1, j);
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
            let (moved1, moved2) = (moves[k].dot(t1), moves[k].dot(t2));
            let (anchor1, anchor2) = (L::load(&spot.anchor[0], at), L::load(&spot.anchor[1], at));
            let (crept1, crept2) = (anchor1 + moved1, anchor2 + moved2);
            // What sticks goes back to where it began to stick, as gently as overlap is pushed out.
            let back = if solve { rate } else { zero };
            let mass = L::load(&spot.mass[1], at);
            let new1 = old1 - mass * (v.dot(t1) + back * crept1);
            let new2 = old2 - mass * (v.dot(t2) + back * crept2);
            // Coulomb's cone: |j_t| ≤ μ j_n.
            let limit = friction * L::load(&spot.impulse[0], at);
            let length = (new1 * new1 + new2 * new2).sqrt();
            let slides = length.gt(limit);
            let scale = L::select(slides, length.divide_or_zero(limit), L::one());
            let (new1, new2) = (new1 * scale, new2 * scale);
            new1.store(&mut spot.impulse[1], at);
            new2.store(&mut spot.impulse[2], at);
            if solve {
                // What slides begins to stick anew wherever it is.
                L::select(slides, -moved1, anchor1).store(&mut spot.anchor[0], at);
                L::select(slides, -moved2, anchor2).store(&mut spot.anchor[1], at);
            } else {
                crept1.store(&mut spot.crept[0], at);
                crept2.store(&mut spot.crept[1], at);
            }
            bodies.push(ra, rb, t1 * (new1 - old1) + t2 * (new2 - old2));
        }
    }
}
