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
//! Articulations (bodies connected by joints) share no body. Inside one, joints are solved in order of their distance from what is
//! immovable, which carries a load down a chain in one pass; a joint's level is how many must go before it. Eight or more
//! articulations make a batch, which is a task: joints of one level and kind stand side by side on lanes, so that eight ragdolls
//! cost little more than one.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::mat3::Mat3;
use pliant_core::rigid::RigidBodies;
use pliant_core::vec3::Vec3;

use super::flight::{self, Advance, Moving, Refresh, columns, halves, set_columns};
use super::hold::{self, Numbers, Pair, Recipe, Side};

pub(crate) use super::hold::solve;

/// Joints a batch should have before it is closed.
const BATCH: usize = 64;

/// The joints of all bodies, in the order they are solved.
#[derive(Clone, Debug)]
pub(crate) struct Joints<S> {
    count: usize,
    /// First body in flight of each batch, then of each portion of single bodies, and the number of movable bodies.
    places: Vec<usize>,
    /// First block of each batch, and the number of blocks.
    firsts: Vec<usize>,
    blocks: Vec<Block<S>>,
    /// Immovable bodies, which articulations share and only read.
    fixed: Vec<Moving<S>>,
}

/// Up to eight joints of one kind that share no movable body.
#[derive(Clone, Debug)]
struct Block<S> {
    recipe: Recipe,
    used: usize,
    /// Places of the bodies in flight.
    slots: [[u32; BLOCK]; 2],
    numbers: Numbers<Octet<S>>,
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
    let first_fixed = keys.iter().filter(|key| key.0 < 2).count();
    let articulated = keys.iter().filter(|key| key.0 == 0).count();
    // How many joints must go before each: those before it in order that share a movable body.
    let mut ready = vec![0_u32; count];
    let mut levels = vec![0_u32; order.len()];
    for &(_, _, row) in &order {
        let pair = bodies.joint_terms()[row].bodies.map(|body| body as usize);
        let movable = pair.into_iter().filter(|&body| movable(body));
        levels[row] = movable.clone().map(|body| ready[body]).max().unwrap_or(0);
        movable.for_each(|body| ready[body] = levels[row] + 1);
    }
    let mut joints =
        Joints { count: order.len(), places: vec![0], firsts: vec![0], blocks: Vec::new(), fixed: Vec::new() };
    let (mut first, mut at, mut articulations) = (0, 0, 0);
    while at < order.len() {
        let component = order[at].0;
        at += order[at..].iter().take_while(|joint| joint.0 == component).count();
        articulations += 1;
        let last = at == order.len();
        if last || (articulations % BLOCK == 0 && at - first >= BATCH) {
            joints.add_batch(bodies, &slots, &levels, &mut order[first..at]);
            let next = if last { articulated } else { slots[order[at].0] as usize };
            joints.places.push(next);
            first = at;
        }
    }
    let mut place = articulated;
    while place < first_fixed {
        place = first_fixed.min(place + flight::CHUNK);
        joints.places.push(place);
    }
    (slots, joints)
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
    /// How many joints there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Lays out the joints of a batch: by level, then by kind, eight at a time.
    fn add_batch(&mut self, bodies: &RigidBodies<S>, slots: &[u32], levels: &[u32], order: &mut [(usize, u32, usize)]) {
        let terms = bodies.joint_terms();
        let key = |row: usize| (levels[row], Recipe::new(&terms[row]));
        order.sort_by_key(|&(_, _, row)| key(row));
        for group in order.chunk_by(|a, b| key(a.2) == key(b.2)) {
            for eight in group.chunks(BLOCK) {
                let recipe = key(eight[0].2).1;
                let mut block = Block { recipe, used: eight.len(), slots: [[0; BLOCK]; 2], numbers: Numbers::idle() };
                for lane in 0..BLOCK {
                    // Idle lanes repeat the last joint; their results are dropped.
                    let terms = &terms[eight[lane.min(eight.len() - 1)].2];
                    (0..2).for_each(|k| block.slots[k][lane] = slots[terms.bodies[k] as usize]);
                    block.numbers.set(lane, terms);
                }
                self.blocks.push(block);
            }
        }
        self.firsts.push(self.blocks.len());
    }

    /// Moves all bodies by a substep and corrects the joints, `iterations` passes.
    pub fn advance<B: Backend<Scalar = S>>(
        &mut self,
        moving: &mut [Moving<S>],
        advance: &Advance<S>,
        iterations: usize,
        on: &B,
    ) {
        let (movable, fixed) = moving.split_at_mut(self.places[self.places.len() - 1]);
        flight::pass(on, advance, fixed);
        flight::pass(on, &Refresh::new(), fixed);
        if movable.is_empty() {
            return;
        }
        if !self.blocks.is_empty() {
            self.fixed.clear();
            self.fixed.extend_from_slice(fixed);
        }
        let task = Travel { joints: self, advance, refresh: Refresh::new(), iterations };
        on.fork(&task, Cut::At(&self.places), movable);
    }
}

/// K of a body in flight at `r` from its centre.
pub(crate) fn mobility<S: Real>(body: &Moving<S>, r: Vec3<S>) -> Mat3<S> {
    hold::mobility(&body.inverse.0, r)
}

/// Moves bodies and holds them together: everything of a substep that a batch of articulations does on its own.
struct Travel<'a, S> {
    joints: &'a Joints<S>,
    advance: &'a Advance<S>,
    refresh: Refresh<S>,
    iterations: usize,
}

impl<S: Real> Task<Moving<S>> for Travel<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Moving<S>]) {
        self.advance.run::<L>(index, own);
        // Joints turn by the inertia of the new orientation.
        self.refresh.run::<L>(index, own);
        if index + 1 >= self.joints.firsts.len() {
            return;
        }
        let blocks = &self.joints.blocks[self.joints.firsts[index]..self.joints.firsts[index + 1]];
        for round in 0..self.iterations {
            for block in blocks {
                self.hold::<L>(block, self.joints.places[index], own, round + 1 == self.iterations);
            }
        }
        self.refresh.run::<L>(index, own);
    }
}

impl<S: Real> Travel<'_, S> {
    /// The joints of a block, whose batch begins at body `first`.
    #[inline(always)]
    fn hold<L: Lane<Scalar = S>>(&self, block: &Block<S>, first: usize, own: &mut [Moving<S>], last_round: bool) {
        let mut pose = [[Octet([S::ZERO; BLOCK]); BLOCK]; 2];
        let (mut motion, mut shift, mut inverse) = (pose, pose, pose);
        let movable = self.joints.places[self.joints.places.len() - 1];
        for side in 0..2 {
            for lane in 0..BLOCK {
                let slot = block.slots[side][lane] as usize;
                let body = if slot < movable { &own[slot - first] } else { &self.joints.fixed[slot - movable] };
                pose[side][lane] = body.pose;
                motion[side][lane] = body.motion;
                shift[side][lane] = body.shift;
                inverse[side][lane] = body.inverse;
            }
        }
        let mut at = 0;
        while at < block.used {
            let h = L::splat(self.advance.h);
            let sides = [
                Side::new(
                    columns::<L>(&pose[0], at),
                    columns::<L>(&motion[0], at),
                    columns::<L>(&shift[0], at),
                    columns::<L>(&inverse[0], at),
                ),
                Side::new(
                    columns::<L>(&pose[1], at),
                    columns::<L>(&motion[1], at),
                    columns::<L>(&shift[1], at),
                    columns::<L>(&inverse[1], at),
                ),
            ];
            let mut pair = Pair { sides, numbers: block.numbers.load::<L>(at), h, inv_h: L::one() / h };
            pair.hold(block.recipe);
            if last_round {
                pair.drive(block.recipe);
            }
            for k in 0..2 {
                let side = &pair.sides[k];
                let ([a, b, c, d], x) = (side.q.components(), side.x);
                set_columns(&mut pose[k], at, [x.x, x.y, x.z, L::zero(), a, b, c, d]);
                set_columns(&mut motion[k], at, halves(side.v, side.omega));
                let turned = flight::vector(&columns::<L>(&shift[k], at), 1);
                set_columns(&mut shift[k], at, halves(side.moved, turned));
            }
            at += L::WIDTH;
        }
        for side in 0..2 {
            for lane in 0..block.used {
                let slot = block.slots[side][lane] as usize;
                if slot < movable {
                    let body = &mut own[slot - first];
                    body.pose = pose[side][lane];
                    body.motion = motion[side][lane];
                    body.shift = shift[side][lane];
                }
            }
        }
    }
}
