//! What happens to a block of eight pairs: they meet, and in every substep those that are too close are pushed apart.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::collide::Candidate;
use pliant_core::collide::distance::{Closest, Pair, give};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::vec3::Vec3;

use super::super::project::still_held;
use super::rows::{Rows, Skins};

/// Pairs within this many times the thickness remember their sides, and are on the wrong one when they change it. Beyond it
/// a pair has no side: it went around, or too far through for this to be a contact.
pub(super) const REMEMBER: f64 = 2.0;

/// Eight pairs of one kind, without a common vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<S> {
    pub kind: Pair,
    /// Rows of the corners.
    pub at: [[u32; BLOCK]; 4],
    /// The side of the second primitive that the first is on.
    pub normal: [Octet<S>; 3],
    /// How far apart pairs are kept \[m\].
    thickness: Octet<S>,
    friction: Octet<S>,
    recovery: Octet<S>,
    /// Pairs near enough to have a side, one bit each.
    pub close: u32,
}

impl<S: Real> Block<S> {
    /// A block whose lanes are all idle: each corner of each points at a row of its own, from `idle` on.
    pub fn empty(kind: Pair, idle: u32) -> Self {
        let zero = Octet([S::ZERO; BLOCK]);
        let mut at = [[idle; BLOCK]; 4];
        for corner in 0..4 {
            for lane in 0..BLOCK {
                at[corner][lane] += (corner * BLOCK + lane) as u32;
            }
        }
        Self { kind, at, normal: [zero; 3], thickness: zero, friction: zero, recovery: zero, close: 0 }
    }

    /// The lanes that are not idle, one bit each.
    pub fn live(&self, idle: u32) -> u32 {
        let mut live = 0;
        for lane in 0..BLOCK {
            live |= u32::from(self.at[0][lane] < idle) << lane;
        }
        live
    }

    /// Its pairs, by their vertices.
    pub fn pairs(&self, rows: &Rows<S>) -> impl Iterator<Item = Candidate> {
        let live = self.live(rows.idle());
        let lanes = (0..BLOCK).filter(move |lane| live >> lane & 1 == 1);
        lanes.map(|lane| Candidate { pair: self.kind, corners: self.at.map(|at| rows.vertex(at[lane]) as u32) })
    }

    /// Four corners, and their fourth numbers.
    #[inline(always)]
    fn corners<L: Lane<Scalar = S>>(&self, rows: &[Octet<S>], at: usize) -> ([Vec3<L>; 4], [L; 4]) {
        let (mut x, mut w) = ([Vec3::zero(); 4], [L::zero(); 4]);
        for corner in 0..4 {
            let [a, b, c, d] = L::from_rows(rows, &self.at[corner], at);
            x[corner] = Vec3::new(a, b, c);
            w[corner] = d;
        }
        (x, w)
    }

    #[inline(always)]
    fn closest<L: Lane<Scalar = S>>(&self, x: &[Vec3<L>; 4]) -> Closest<L> {
        match self.kind {
            Pair::VertexTriangle => Pair::VertexTriangle.closest(x),
            Pair::EdgeEdge => Pair::EdgeEdge.closest(x),
        }
    }

    /// What pairs are made of.
    pub fn equip(&mut self, skins: &Skins<S>) {
        (0..BLOCK).for_each(|lane| self.equip_lanes::<S>(skins, lane));
    }

    #[inline(always)]
    fn equip_lanes<L: Lane<Scalar = S>>(&mut self, skins: &Skins<S>, at: usize) {
        let second = self.kind.first_corners();
        let half = L::constant(0.5);
        let [t0, f0, r0, _] = L::from_rows(&skins.skin, &self.at[0], at);
        let [t1, f1, r1, _] = L::from_rows(&skins.skin, &self.at[second], at);
        let (rest, owner) = self.corners::<L>(&skins.rest, at);
        // Neighbours that are closer at rest keep their distance at rest.
        let apart = self.closest(&rest).distance_sq.sqrt();
        let same = L::both(owner[0].ge(owner[second]), owner[second].ge(owner[0]));
        let thickness = (t0 + t1) * half;
        let thickness = L::select(same, apart.min(thickness), thickness);
        thickness.store(&mut self.thickness, at);
        ((f0 + f1) * half).store(&mut self.friction, at);
        ((r0 + r1) * half).store(&mut self.recovery, at);
    }

    /// The side that pairs have been on.
    #[inline(always)]
    fn normal<L: Lane<Scalar = S>>(&self, at: usize) -> Vec3<L> {
        let [a, b, c] = &self.normal;
        Vec3::new(L::load(a, at), L::load(b, at), L::load(c, at))
    }

    /// How far pairs are divided along a direction, whatever their closest points are: n·r is no more than |r|.
    #[inline(always)]
    fn gap<L: Lane<Scalar = S>>(&self, x: &[Vec3<L>; 4], n: Vec3<L>) -> L {
        let along = [n.dot(x[1] - x[0]), n.dot(x[2] - x[0]), n.dot(x[3] - x[0])];
        match self.kind {
            Pair::VertexTriangle => -along[0].max(along[1]).max(along[2]),
            Pair::EdgeEdge => along[0].min(L::zero()) - along[1].max(along[2]),
        }
    }

    /// The normals of pairs on the sides they have been on, and the distances along them, negative once they have crossed.
    /// Pairs farther apart than `far` have no side.
    #[inline(always)]
    fn follow<L: Lane<Scalar = S>>(&mut self, now: &Closest<L>, far: L, at: usize) -> (Vec3<L>, L) {
        let n = self.normal::<L>(at);
        let distance = now.distance_sq.sqrt();
        // r = ±|r| n: the side stays the same.
        let crossed = L::both(L::zero().gt(now.between.dot(n)), far.gt(distance));
        let unit = now.between * distance.divide_or_zero(L::one());
        let n = Vec3::select(distance.gt(L::zero()), Vec3::select(crossed, -unit, unit), n);
        (n, L::select(crossed, -distance, distance))
    }

    /// Takes note of the sides of pairs, and of which are close; returns the latter.
    #[inline(always)]
    fn keep<L: Lane<Scalar = S>>(&mut self, n: Vec3<L>, signed: L, at: usize) -> u32 {
        n.x.store(&mut self.normal[0], at);
        n.y.store(&mut self.normal[1], at);
        n.z.store(&mut self.normal[2], at);
        self.close::<L>(signed, at)
    }

    /// Which pairs are close, one bit each.
    #[inline(always)]
    fn close<L: Lane<Scalar = S>>(&self, signed: L, at: usize) -> u32 {
        L::bits((L::load(&self.thickness, at) * L::constant(REMEMBER)).gt(signed.abs()))
    }
}

/// Tells pairs what they are made of and where they are.
pub(super) struct Meet<'a, S> {
    pub now: &'a [Octet<S>],
    pub skins: &'a Skins<S>,
}

impl<S: Real> Task<Block<S>> for Meet<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Block<S>]) {
        for block in own {
            let mut bits = 0;
            let mut at = 0;
            while at < BLOCK {
                block.equip_lanes::<L>(self.skins, at);
                let (x, _) = block.corners::<L>(self.now, at);
                let now = block.closest(&x);
                let (n, signed) = block.follow::<L>(&now, L::zero(), at);
                bits |= block.keep::<L>(n, signed, at) << at;
                at += L::WIDTH;
            }
            block.close = bits;
        }
    }
}

/// A pass over all blocks, one after the other: each sees what those before it did.
pub(super) struct Push<'a, S> {
    pub h: S,
    pub blocks: &'a mut Vec<Block<S>>,
    /// One a block, or none where nobody asks for them.
    pub grips: &'a mut [Grip<S>],
}

/// By how much the pairs of a block were moved with respect to each other in this substep so far \[m\].
pub(super) type Grip<S> = [Octet<S>; 3];

/// What a pass works on.
struct Work<'a, S> {
    blocks: &'a mut [Block<S>],
    grips: &'a mut [Grip<S>],
    now: &'a mut [Octet<S>],
    start: &'a [Octet<S>],
    touched: bool,
}

impl<S: Real> Push<'_, S> {
    /// Returns whether anything moved.
    pub fn run<B: Backend<Scalar = S>>(self, rows: &mut Rows<S>, on: &B) -> bool {
        let (now, start) = rows.both();
        let mut work = Work { blocks: self.blocks, grips: self.grips, now, start, touched: false };
        on.fork(&PushTask { h: self.h }, Cut::Every(1), core::slice::from_mut(&mut work));
        work.touched
    }
}

struct PushTask<S> {
    h: S,
}

impl<S: Real> Task<Work<'_, S>> for PushTask<S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Work<'_, S>]) {
        for Work { blocks, grips, now, start, touched } in own {
            for (index, block) in blocks.iter_mut().enumerate() {
                *touched |= push::<L>(block, grips.get_mut(index), now, start, self.h);
            }
        }
    }
}

/// Pushes the pairs of a block apart; returns whether any moved.
#[inline(always)]
fn push<L: Lane>(
    block: &mut Block<L::Scalar>,
    mut grip: Option<&mut Grip<L::Scalar>>,
    now: &mut [Octet<L::Scalar>],
    start: &[Octet<L::Scalar>],
    h: L::Scalar,
) -> bool {
    let (mut bits, mut moved) = (0, false);
    let mut at = 0;
    while at < BLOCK {
        let (close, any) = separate::<L>(block, grip.as_deref_mut(), at, now, start, h);
        bits |= close << at;
        moved |= any;
        at += L::WIDTH;
    }
    block.close = bits;
    moved
}

/// Pushes some lanes of a block apart, with friction; returns which of them are close and whether any moved.
#[inline(always)]
fn separate<L: Lane>(
    block: &mut Block<L::Scalar>,
    grip: Option<&mut Grip<L::Scalar>>,
    at: usize,
    rows: &mut [Octet<L::Scalar>],
    start: &[Octet<L::Scalar>],
    h: L::Scalar,
) -> (u32, bool) {
    let zero = L::zero();
    let (x, w) = block.corners::<L>(rows, at);
    let thickness = L::load(&block.thickness, at);
    // Most pairs are still divided along the direction they were in, and need no closer look.
    let old = block.normal::<L>(at);
    let gap = block.gap(&x, old);
    if !L::any(thickness.ge(gap)) {
        return (block.close::<L>(gap, at), false);
    }
    let divided = gap.gt(thickness);
    let now = block.closest(&x);
    let mut far = thickness * L::constant(REMEMBER);
    if L::any(L::both(zero.gt(now.between.dot(old)), now.distance_sq.ge(far * far))) {
        let (from, _) = block.corners::<L>(start, at);
        far = L::select(passed(&from, &now, thickness), L::constant(f64::INFINITY), far);
    }
    let (n, signed) = block.follow::<L>(&now, far, at);
    let (n, signed) = (Vec3::select(divided, old, n), L::select(divided, gap, signed));
    let bits = block.keep::<L>(n, signed, at);
    let touching = thickness.gt(signed);
    if !L::any(touching) {
        return (bits, false);
    }
    // Where the closest points came from in this substep, and what their corners weigh.
    let (from, _) = block.corners::<L>(start, at);
    let before = between(&from, &now.weights);
    let give = give(&now.weights, &w);
    // Layers that begin too close part with a bounded speed.
    let target = thickness.min(n.dot(before) + L::load(&block.recovery, at) * L::splat(h));
    let depth = target - signed;
    let moves = L::both(L::both(depth.gt(zero), give.gt(zero)), touching);
    if !L::any(moves) {
        return (bits, false);
    }
    // Friction takes back at most μ · depth of the travel along the surface, or what earlier sweeps left of it.
    let travel = now.between - before;
    let slide = travel - n * n.dot(travel);
    let friction = L::load(&block.friction, at);
    let most = match &grip {
        Some([a, b, c]) => still_held(friction, n, depth, Vec3::new(L::load(a, at), L::load(b, at), L::load(c, at))),
        None => friction * depth,
    };
    let back = slide.length().divide_or_zero(most).min(L::one());
    let delta = n * depth - slide * back;
    if let Some([a, b, c]) = grip {
        for (sum, moved) in [(a, delta.x), (b, delta.y), (c, delta.z)] {
            (L::load(sum, at) + L::select(moves, moved, zero)).store(sum, at);
        }
    }
    for k in 0..4 {
        let share = give.divide_or_zero(now.weights[k] * w[k]);
        let to = Vec3::select(moves, x[k] + delta * share, x[k]);
        L::to_rows([to.x, to.y, to.z, w[k]], rows, &block.at[k], at);
    }
    (bits, true)
}

/// The difference of two points, given by the weights of four corners.
#[inline(always)]
fn between<L: Lane>(x: &[Vec3<L>; 4], weights: &[L; 4]) -> Vec3<L> {
    let mut between = Vec3::zero();
    for k in 0..4 {
        between = between + x[k] * weights[k];
    }
    between
}

/// Which pairs went through each other in this substep, however far: those whose closest points passed within the thickness
/// on a straight way from where they were at its start.
#[inline(always)]
fn passed<L: Lane>(from: &[Vec3<L>; 4], now: &Closest<L>, thickness: L) -> L::Mask {
    let before = between(from, &now.weights);
    let travel = now.between - before;
    let time = travel.length_sq().divide_or_zero(-before.dot(travel)).max(L::zero()).min(L::one());
    let nearest = before + travel * time;
    L::both(L::zero().gt(before.dot(now.between)), (thickness * thickness).gt(nearest.length_sq()))
}
