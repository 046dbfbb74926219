//! Repulsion: layers of cloth and different bodies kept apart in real time, inside the substeps of every method.
//!
//! Once a step, pairs of a vertex and a triangle and of two edges that may come near are looked up. In every substep those
//! that are closer than the thickness are pushed apart, one after the other in a fixed order, with friction. Corrections
//! are equal and opposite impulses at the closest points: momentum is kept.
//! ```text
//!   r = Σ wᵢ xᵢ (closest points)     C = n·r − d ≥ 0     Δxᵢ = (wᵢ/mᵢ) δ / Σ wⱼ²/mⱼ,   δ = −C n − friction   [METHODS 10]
//! ```
//! Cloth has no inside: n is r/|r| on the side where the pair has been, followed from substep to substep and from step to
//! step. A pair that went through each other by less than the thickness is pulled back to its own side.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::collide::ccd::{CcdOptions, first_contact};
use pliant_core::collide::distance::Pair;
use pliant_core::collide::{Candidate, MeshCandidates, NearSearch};
use pliant_core::columns::Columns;
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

/// Pairs are looked up to this many times the thickness: room for what the prediction of a step does not know. More finds
/// neighbours in the sheet, which never touch: at 2 they are a hundred times as many as contacts.
const ROOM: f64 = 1.25;
/// Blocks of eight pairs a task looks at.
const BLOCKS: usize = 64;
/// Stands for a vertex that is in no pair.
const NOWHERE: u32 = u32::MAX;

/// Surfaces in contact during a step.
#[derive(Clone, Debug)]
pub(crate) struct Repulsion<S> {
    /// Built in the first step, which brings a backend.
    candidates: Option<MeshCandidates<S>>,
    near: NearSearch,
    /// Positions of all vertices at the start of the step, and where they are expected at its end.
    way: [Columns<S>; 2],
    /// Positions at the start of the step before.
    last: Columns<S>,
    /// By vertex: its body's frame as the first body sees it.
    offsets: Vec<[S; 3]>,
    scattered: bool,
    /// Pairs of this step, by kind, corners and lanes; and those of the last one, for their history.
    pairs: Vec<Near<S>>,
    before: Vec<Near<S>>,
    blocks: Vec<Block<S>>,
    /// Vertices that are in a pair, and the place of each vertex among them.
    involved: Vec<u32>,
    places: Vec<u32>,
    /// Of those: `[x y z 1/m, x y z at the start of the substep, 0]`.
    rows: Vec<Octet<S>>,
    /// Whether there was a step before.
    travelled: bool,
    /// Whether pairs must be looked up before they are used.
    stale: bool,
    /// Substeps of a step, and their length \[s\].
    substeps: usize,
    h: S,
    dt: S,
}

/// A pair that may touch in this step.
#[derive(Clone, Copy, Debug)]
struct Near<S> {
    candidate: Candidate,
    /// The side of the second primitive that the first is on.
    normal: [S; 3],
    /// How far apart they are kept \[m\].
    thickness: S,
    friction: S,
    recovery: S,
}

/// Eight pairs of one kind on lanes.
#[derive(Clone, Copy, Debug)]
struct Block<S> {
    kind: Pair,
    /// Places of the corners.
    at: [[u32; BLOCK]; 4],
    normal: [Octet<S>; 3],
    thickness: Octet<S>,
    /// First pair, how many there are, and which of them are too close.
    first: u32,
    count: u32,
    close: u32,
}

impl<S: Real> Repulsion<S> {
    /// Scratch for a model's surfaces.
    pub fn new(model: &Model<S>) -> Self {
        let count = model.surfaces().particles.len();
        Self {
            candidates: None,
            near: NearSearch::new(),
            way: [Columns::zeros(count), Columns::zeros(count)],
            last: Columns::zeros(count),
            offsets: vec![[S::ZERO; 3]; count],
            scattered: false,
            pairs: Vec::new(),
            before: Vec::new(),
            blocks: Vec::new(),
            involved: Vec::with_capacity(count),
            places: vec![NOWHERE; count],
            rows: Vec::with_capacity(count),
            travelled: false,
            stale: true,
            substeps: 1,
            h: S::ZERO,
            dt: S::ZERO,
        }
    }

    /// Takes note of the frames that the bodies live in during this step of `dt`.
    pub fn begin(&mut self, model: &Model<S>, origins: &[[S; 3]], dt: S) {
        self.stale = true;
        self.dt = dt;
        let particles = &model.surfaces().particles;
        let scattered = origins.iter().any(|o| o != &origins[0]);
        if scattered || self.scattered {
            for (offset, &particle) in self.offsets.iter_mut().zip(particles) {
                let own = origins[model.body_of(particle)];
                // Multiples of one length: the differences are exact.
                *offset = [own[0] - origins[0][0], own[1] - origins[0][1], own[2] - origins[0][2]];
            }
        }
        self.scattered = scattered;
    }

    /// Takes note of the number of substeps.
    pub fn place(&mut self, substeps: usize) {
        self.substeps = substeps;
        self.h = self.dt / S::from_f64(substeps as f64);
    }

    /// Pushes apart what is too close; `start` holds the positions at the start of the substep. Velocities, where given,
    /// follow the corrections.
    pub fn push<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        [x, start]: [&mut Field<S>; 2],
        v: Option<&mut Field<S>>,
        on: &B,
    ) {
        if model.surfaces().is_empty() {
            return;
        }
        if core::mem::take(&mut self.stale) {
            self.look_up(model, [x, start], on);
        }
        if self.blocks.is_empty() {
            return;
        }
        self.gather(model, [x, start]);
        on.fork(&Compare { rows: &self.rows }, Cut::Every(BLOCKS), &mut self.blocks);
        let mut touched = false;
        for block in &self.blocks {
            let mut bits = block.close;
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let pair = &self.pairs[block.first as usize + lane];
                touched |= pair.separate(block, lane, &mut self.rows, self.h);
            }
        }
        if touched {
            self.scatter(model, x, v);
        }
    }

    /// Finds the pairs that may touch in this step, expecting vertices to go on as they went over the last one.
    ///
    /// The way of a substep, drawn out to a step, would do in the first step only: constraints make neighbours quiver, and
    /// ten times that looks like a crowd about to collide.
    fn look_up<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, [x, start]: [&Field<S>; 2], on: &B) {
        let surfaces = model.surfaces();
        let slots = model.plan().slots();
        let substeps = S::from_f64(self.substeps as f64);
        core::mem::swap(&mut self.last, &mut self.way[0]);
        // What all have in common brings nobody closer: boxes that follow the whole way would hold far too much. It also
        // takes out where the frame has gone since the last step.
        let mut mean = [0.0; 3];
        for (vertex, (&particle, offset)) in surfaces.particles.iter().zip(&self.offsets).enumerate() {
            let slot = slots[particle as usize] as usize;
            let (from, to, last) = (start.vector(slot), x.vector(slot), self.last.get(vertex));
            let now = [from[0] + offset[0], from[1] + offset[1], from[2] + offset[2]];
            let mut travel = [S::ZERO; 3];
            for k in 0..3 {
                travel[k] = if self.travelled { now[k] - last[k] } else { (to[k] - from[k]) * substeps };
                mean[k] += travel[k].to_f64();
            }
            self.way[0].set(vertex, now);
            self.way[1].set(vertex, travel);
        }
        let mean = mean.map(|sum| S::from_f64(sum / surfaces.particles.len() as f64));
        let [from, to] = &mut self.way;
        for (k, (from, to)) in
            [(&from.x, &mut to.x), (&from.y, &mut to.y), (&from.z, &mut to.z)].into_iter().enumerate()
        {
            for (from, to) in from.iter().zip(to) {
                *to = *from + (*to - mean[k]);
            }
        }
        let reach = S::from_f64(ROOM) * surfaces.reach;
        if self.candidates.is_none() {
            self.candidates = super::candidates(model, on).ok();
        }
        // Sides were followed on lanes.
        for block in &self.blocks {
            for lane in 0..block.count as usize {
                self.pairs[block.first as usize + lane].normal = [0, 1, 2].map(|k| block.normal[k].0[lane]);
            }
        }
        core::mem::swap(&mut self.pairs, &mut self.before);
        self.pairs.clear();
        // Positions that are not finite are found out when the step ends; until then nothing touches.
        if let Some(candidates) = &mut self.candidates
            && candidates.find_unsorted(&self.way[0], &self.way[1], reach, on).is_ok()
        {
            self.near.run(candidates, reach, on);
            self.near.sort();
            self.meet(model);
        }
        self.travelled = true;
        self.arrange();
    }

    /// Pairs from what is near, with the history of those that were near before.
    fn meet(&mut self, model: &Model<S>) {
        let surfaces = model.surfaces();
        let mut before = self.before.iter().peekable();
        for &candidate in self.near.near() {
            // Both lists are in ascending order.
            let key = |c: &Candidate| (c.pair, c.corners);
            while before.next_if(|old| key(&old.candidate) < key(&candidate)).is_some() {}
            let now = closest(candidate.pair, candidate.corners.map(|v| self.way[0].get(v as usize)));
            let (r, distance) = (now.between, now.distance_sq.sqrt());
            let pair = if let Some(old) = before.next_if(|old| old.candidate == candidate) {
                Near { normal: side(r, distance, old.thickness, old.normal).0, ..*old }
            } else {
                let [a, b] = super::owners(model, &candidate).map(|owner| &surfaces.settings[owner as usize]);
                let thickness = S::from_f64(super::pair_thickness(model, &candidate));
                let normal = if self.went_through(&candidate, distance, thickness) { -r } else { r };
                Near {
                    candidate,
                    normal: side(normal, distance, S::ZERO, [S::ZERO; 3]).0,
                    thickness,
                    friction: S::from_f64(0.5 * (a.friction + b.friction)),
                    recovery: S::from_f64(0.5 * (a.recovery + b.recovery)),
                }
            };
            self.pairs.push(pair);
        }
    }

    /// Whether a pair that nobody expected met over the last step: it is on the wrong side then.
    fn went_through(&self, candidate: &Candidate, distance: S, thickness: S) -> bool {
        let corners = |of: &Columns<S>| candidate.corners.map(|v| of.get(v as usize).map(S::to_f64));
        self.travelled
            && distance < thickness
            && first_contact(candidate.pair, &corners(&self.last), &corners(&self.way[0]), &CcdOptions::default())
                .is_some()
    }

    /// Pairs on lanes, and the vertices they need.
    fn arrange(&mut self) {
        for vertex in self.involved.drain(..) {
            self.places[vertex as usize] = NOWHERE;
        }
        self.blocks.clear();
        let mut first = 0;
        while let Some(pair) = self.pairs.get(first) {
            let kind = pair.candidate.pair;
            let alike = self.pairs[first..].iter().take(BLOCK).take_while(|p| p.candidate.pair == kind).count();
            let zero = Octet([S::ZERO; BLOCK]);
            let mut block = Block {
                kind,
                at: [[0; BLOCK]; 4],
                normal: [zero; 3],
                // Lanes that are not used are never too close.
                thickness: Octet([S::from_f64(f64::NEG_INFINITY); BLOCK]),
                first: first as u32,
                count: alike as u32,
                close: 0,
            };
            for lane in 0..BLOCK {
                let pair = &self.pairs[first + lane.min(alike - 1)];
                for corner in 0..4 {
                    let vertex = pair.candidate.corners[corner];
                    let place = &mut self.places[vertex as usize];
                    if *place == NOWHERE {
                        *place = self.involved.len() as u32;
                        self.involved.push(vertex);
                    }
                    block.at[corner][lane] = *place;
                }
                for k in 0..3 {
                    block.normal[k].0[lane] = pair.normal[k];
                }
                if lane < alike {
                    block.thickness.0[lane] = pair.thickness;
                }
            }
            self.blocks.push(block);
            first += alike;
        }
        self.rows.resize(self.involved.len(), Octet([S::ZERO; BLOCK]));
    }

    fn gather(&mut self, model: &Model<S>, [x, start]: [&Field<S>; 2]) {
        let slots = model.plan().slots();
        for (row, &vertex) in self.rows.iter_mut().zip(&self.involved) {
            let slot = slots[model.surfaces().particles[vertex as usize] as usize] as usize;
            let (p, q, o) = (x.vector(slot), start.vector(slot), self.offsets[vertex as usize]);
            let w = x.get(slot, 3);
            row.0 = [p[0] + o[0], p[1] + o[1], p[2] + o[2], w, q[0] + o[0], q[1] + o[1], q[2] + o[2], S::ZERO];
        }
    }

    fn scatter(&mut self, model: &Model<S>, x: &mut Field<S>, mut v: Option<&mut Field<S>>) {
        let slots = model.plan().slots();
        let inv_h = S::ONE / self.h;
        for (row, &vertex) in self.rows.iter().zip(&self.involved) {
            let slot = slots[model.surfaces().particles[vertex as usize] as usize] as usize;
            let (before, o) = (x.vector(slot), self.offsets[vertex as usize]);
            let after = [row.0[0] - o[0], row.0[1] - o[1], row.0[2] - o[2]];
            x.set_vector(slot, after);
            if let Some(v) = &mut v {
                let u = v.vector(slot);
                let change = |k: usize| u[k] + (after[k] - before[k]) * inv_h;
                v.set_vector(slot, [change(0), change(1), change(2)]);
            }
        }
    }
}

/// Closest points of a pair.
fn closest<S: Real>(kind: Pair, x: [[S; 3]; 4]) -> pliant_core::collide::distance::Closest<S> {
    kind.closest(&x.map(Vec3::from))
}

/// The normal of a pair on the side it has been on, and its distance along it: negative once it has crossed. Beyond the
/// thickness a pair has no side: it went around, or too far through for this to be a contact.
fn side<S: Real>(r: Vec3<S>, distance: S, thickness: S, history: [S; 3]) -> ([S; 3], S) {
    if distance <= S::ZERO || !distance.is_finite() {
        return (history, S::ZERO);
    }
    let crossed = distance < thickness && r.dot(history.into()) < S::ZERO;
    let signed = if crossed { -distance } else { distance };
    ((r * (S::ONE / signed)).into(), signed)
}

impl<S: Real> Near<S> {
    /// Pushes the pair apart, with friction; returns whether anything moved.
    fn separate(&self, block: &Block<S>, lane: usize, rows: &mut [Octet<S>], h: S) -> bool {
        let at = block.at.map(|corner| corner[lane] as usize);
        let now = closest(block.kind, at.map(|place| [rows[place].0[0], rows[place].0[1], rows[place].0[2]]));
        let history = [block.normal[0].0[lane], block.normal[1].0[lane], block.normal[2].0[lane]];
        let (normal, signed) = side(now.between, now.distance_sq.sqrt(), self.thickness, history);
        let n = Vec3::from(normal);
        // Where the closest points came from in this substep, and what their corners weigh.
        let (mut start, mut give) = (Vec3::zero(), S::ZERO);
        for k in 0..4 {
            let row = &rows[at[k]].0;
            start = start + Vec3::new(row[4], row[5], row[6]) * now.weights[k];
            give = give + now.weights[k] * now.weights[k] * row[3];
        }
        // Layers that begin too close part with a bounded speed.
        let target = Lane::min(self.thickness, n.dot(start) + self.recovery * h);
        let depth = target - signed;
        if !(depth > S::ZERO && give > S::ZERO) {
            return false;
        }
        // Friction takes back at most μ · depth of the travel along the surface.
        let travel = now.between - start;
        let slide = travel - n * n.dot(travel);
        let length = slide.length();
        let back = if length > S::ZERO { Lane::min(self.friction * depth / length, S::ONE) } else { S::ZERO };
        let delta = n * depth - slide * back;
        for k in 0..4 {
            let row = &mut rows[at[k]].0;
            let share = now.weights[k] * row[3] / give;
            row[0] = row[0] + delta.x * share;
            row[1] = row[1] + delta.y * share;
            row[2] = row[2] + delta.z * share;
        }
        true
    }
}

/// Finds the pairs of each block that are too close, and follows the sides they are on.
struct Compare<'a, S> {
    rows: &'a [Octet<S>],
}

impl<S: Real> Task<Block<S>> for Compare<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Block<S>]) {
        let mut columns = [[Octet([S::ZERO; BLOCK]); 3]; 4];
        for block in own {
            for corner in 0..4 {
                for lane in 0..BLOCK {
                    let row = &self.rows[block.at[corner][lane] as usize].0;
                    for k in 0..3 {
                        columns[corner][k].0[lane] = row[k];
                    }
                }
            }
            let mut close = 0;
            let mut at = 0;
            while at < BLOCK {
                let mut x = [Vec3::zero(); 4];
                for corner in 0..4 {
                    let c = &columns[corner];
                    x[corner] = Vec3::new(L::load(&c[0], at), L::load(&c[1], at), L::load(&c[2], at));
                }
                let now = match block.kind {
                    Pair::VertexTriangle => Pair::VertexTriangle.closest(&x),
                    Pair::EdgeEdge => Pair::EdgeEdge.closest(&x),
                };
                let [a, b, c] = &block.normal;
                let n = Vec3::new(L::load(a, at), L::load(b, at), L::load(c, at));
                let distance = now.distance_sq.sqrt();
                // r = ±|r| n: the side stays the same.
                let thickness = L::load(&block.thickness, at);
                let crossed = L::both(L::zero().gt(now.between.dot(n)), thickness.gt(distance));
                let signed = L::select(crossed, -distance, distance);
                close |= L::bits(thickness.gt(signed)) << at;
                let unit = now.between * distance.divide_or_zero(L::one());
                let next = Vec3::select(distance.gt(L::zero()), Vec3::select(crossed, -unit, unit), n);
                next.x.store(&mut block.normal[0], at);
                next.y.store(&mut block.normal[1], at);
                next.z.store(&mut block.normal[2], at);
                at += L::WIDTH;
            }
            block.close = close;
        }
    }
}
