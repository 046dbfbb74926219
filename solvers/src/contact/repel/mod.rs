//! Repulsion: layers of cloth and different bodies kept apart in real time, inside the substeps of every method.
//!
//! A few times a step, pairs of a vertex and a triangle and of two edges that may come near are looked up. In every substep
//! those that are closer than the thickness are pushed apart, eight at a time in a fixed order, with friction. Corrections
//! are equal and opposite impulses at the closest points: momentum is kept.
//! ```text
//!   r = Σ wᵢ xᵢ (closest points)     C = n·r − d ≥ 0     Δxᵢ = (wᵢ/mᵢ) δ / Σ wⱼ²/mⱼ,   δ = −C n − friction   [METHODS 10]
//! ```
//! Cloth has no inside: n is r/|r| on the side where the pair has been, followed from substep to substep and from one look-up
//! to the next. A pair that went through each other is pulled back to its own side.
//!
//! `pack` puts pairs into blocks that share no vertex, `push` is what happens to a block, `sides` is the memory of pairs that
//! touch, `rows` is where positions stand meanwhile, `ahead` says where they will be, and `memory` writes down what must survive
//! a snapshot.

mod ahead;
mod memory;
mod pack;
mod push;
mod rows;
mod sides;

use pliant_core::backend::{Backend, Cut};
use pliant_core::collide::LayerSearch;
use pliant_core::collide::ccd::{CcdOptions, first_contact};
use pliant_core::collide::distance::Pair;
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::model::Model;

use ahead::{Ahead, Astray};
use memory::Before;
use pack::Packer;
use push::{Block, Meet, Push};
use rows::{Rows, Skins};
use sides::Sides;

/// Pairs are looked up to this many times the thickness: room for what the prediction of their way does not know. More
/// finds neighbours in the sheet, which never touch: at 2 they are a hundred times as many as contacts.
const ROOM: f64 = 1.25;
/// How often a step looks for pairs, where it has that many substeps: what is found holds for as long as vertices move as
/// they did before. Once is enough while they do, and do not go far: see [`Astray`].
const LOOKS: usize = 2;
/// Blocks of eight pairs a task looks at.
const BLOCKS: usize = 64;

/// Surfaces in contact during a step.
#[derive(Clone, Debug)]
pub(crate) struct Repulsion<S> {
    /// Built in the first step, which brings a backend.
    layers: Option<LayerSearch<S>>,
    /// Where each vertex was when pairs were looked up, and where it is expected at the next time: `[x y z 0 x' y' z' 0]`.
    way: Vec<Octet<S>>,
    /// The same at the time before.
    last: Vec<Octet<S>>,
    /// Time since then, and until the next look \[s\].
    since: S,
    until: S,
    /// By vertex: its body's frame as the first body sees it.
    offsets: Vec<[S; 3]>,
    scattered: bool,
    skins: Skins<S>,
    rows: Rows<S>,
    packer: Packer,
    blocks: Vec<Block<S>>,
    sides: Sides<S>,
    /// Whether the sides were put in from a snapshot, and those of blocks are not known.
    recalled: bool,
    /// Whether pairs have been looked up before.
    travelled: bool,
    /// Whether pairs must be looked up before they are used.
    stale: bool,
    /// Whether vertices ended the last step about where they were expected.
    calm: bool,
    /// What is lost if the step that is under way fails.
    before: Before<S>,
    /// Length of a substep and of the step \[s\].
    h: S,
    dt: S,
    /// The largest thickness \[m\].
    reach: S,
}

impl<S: Real> Repulsion<S> {
    /// Scratch for a model's surfaces.
    pub fn new(model: &Model<S>) -> Self {
        let count = model.surfaces().particles.len();
        let rows = Rows::new(model);
        Self {
            layers: None,
            way: vec![Octet([S::ZERO; BLOCK]); count],
            last: vec![Octet([S::ZERO; BLOCK]); count],
            since: S::ZERO,
            until: S::ZERO,
            offsets: vec![[S::ZERO; 3]; count],
            scattered: false,
            skins: Skins::new(model, &rows),
            packer: Packer::new(rows.count()),
            rows,
            blocks: Vec::new(),
            sides: Sides::new(),
            recalled: false,
            travelled: false,
            stale: true,
            calm: false,
            before: Before::new(count),
            h: S::ZERO,
            dt: S::ZERO,
            reach: model.surfaces().reach,
        }
    }

    /// Takes note of the frames that the bodies live in during this step of `dt`.
    pub fn begin(&mut self, model: &Model<S>, origins: &[[S; 3]], dt: S) {
        self.take_back();
        self.before.open(self.travelled, self.since);
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

    /// Takes note of substep `k` of `n`.
    pub fn place(&mut self, (k, n): (usize, usize)) {
        self.h = self.dt / S::from_f64(n as f64);
        let every = if self.calm { n } else { n.div_ceil(LOOKS) };
        if k % every == 0 {
            self.stale = true;
            self.until = self.h * S::from_f64(every.min(n - k) as f64);
        }
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
        let stale = core::mem::take(&mut self.stale);
        if !stale && self.blocks.is_empty() {
            return;
        }
        let offsets = self.scattered.then_some(&self.offsets[..]);
        self.rows.pack([x, start], stale, offsets, on);
        if stale {
            self.look_up(model, on);
        }
        if self.blocks.is_empty() {
            return;
        }
        let offsets = self.scattered.then_some(&self.offsets[..]);
        let push = Push { h: self.h, blocks: &mut self.blocks };
        if push.run(&mut self.rows, on) {
            self.rows.unpack(x, v.map(|v| (v, S::ONE / self.h)), offsets, on);
        }
    }

    /// The step succeeded, with these positions: what it found holds.
    pub fn arrive<B: Backend<Scalar = S>>(&mut self, x: &Field<S>, on: &B) {
        self.before.close();
        if !self.travelled {
            return;
        }
        let offsets = self.scattered.then_some(&self.offsets[..]);
        self.rows.pack_now(x, offsets, on);
        let (_, now) = self.rows.places();
        on.fork(&Astray { now, of_vertex: self.rows.of_vertices() }, Cut::Every(ahead::VERTICES), &mut self.way);
        // No faster than a thickness a step: two of them come closer than expected by what is still recognised.
        let limit = self.reach * self.since / self.dt;
        self.calm = self.way.iter().all(|way| way.0[3] <= limit * limit);
    }

    /// Finds the pairs that may touch until the next look, expecting vertices to go on as they went since the last one.
    ///
    /// The way of a substep would do in the first step only: constraints make neighbours quiver, and several times that
    /// looks like a crowd about to collide.
    fn look_up<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        let surfaces = model.surfaces();
        self.before.look(&mut self.last, &mut self.sides);
        core::mem::swap(&mut self.last, &mut self.way);
        let (start, now) = self.rows.places();
        let ahead = Ahead {
            last: self.travelled.then_some(&self.last),
            start,
            now,
            of_vertex: self.rows.of_vertices(),
            further: self.until / if self.travelled { self.since } else { self.h },
            thickness: surfaces.reach,
        };
        on.fork(&ahead, Cut::Every(ahead::VERTICES), &mut self.way);
        self.since = self.until;
        let reach = S::from_f64(ROOM) * surfaces.reach;
        if self.layers.is_none() {
            let (rest, groups) = (super::side_by_side(model), surfaces.groups());
            self.layers = LayerSearch::new(&rest, &surfaces.edges, &surfaces.triangles, groups.as_deref(), on).ok();
        }
        if !core::mem::take(&mut self.recalled) {
            self.sides.remember(&self.blocks);
        }
        self.blocks.clear();
        // Positions that are not finite are found out when the step ends; until then nothing touches.
        if let Some(layers) = &mut self.layers
            && layers.find(&self.way, reach, on).is_ok()
        {
            self.packer.pack(layers.near(), &self.rows, &mut self.blocks);
            self.rows.need(self.blocks.iter().map(|block| &block.at));
            let meet = Meet { now: self.rows.start(), skins: &self.skins };
            on.fork(&meet, Cut::Every(BLOCKS), &mut self.blocks);
            self.recognise();
        }
        self.travelled = true;
    }

    /// Gives pairs that are close the sides they had, or those they must have had.
    fn recognise(&mut self) {
        for block in &mut self.blocks {
            let mut bits = block.close;
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let r = [0, 1, 2].map(|k| block.normal[k].0[lane]);
                let wrong = match self.sides.of(&block.at.map(|at| at[lane])) {
                    Some(old) => r[0] * old[0] + r[1] * old[1] + r[2] * old[2] < S::ZERO,
                    // Nobody expected this pair: if it met since the last look, it is on the wrong side.
                    None if self.travelled => {
                        let corners = block.at.map(|at| self.rows.vertex(at[lane]));
                        let place = |of: &[Octet<S>]| corners.map(|v| [0, 1, 2].map(|k| of[v].0[k].to_f64()));
                        let (from, to) = (place(&self.last), place(&self.way));
                        !divided(block.kind, r.map(S::to_f64), [&from, &to])
                            && first_contact(block.kind, &from, &to, &CcdOptions::default()).is_some()
                    }
                    None => false,
                };
                if wrong {
                    for k in 0..3 {
                        block.normal[k].0[lane] = -r[k];
                    }
                }
            }
        }
    }
}

/// Whether a direction divides two primitives at both ends of their way, and so all along it.
fn divided(kind: Pair, n: [f64; 3], ends: [&[[f64; 3]; 4]; 2]) -> bool {
    let first = match kind {
        Pair::VertexTriangle => 1,
        Pair::EdgeEdge => 2,
    };
    ends.iter().all(|x| {
        let along = x.map(|x| n[0] * x[0] + n[1] * x[1] + n[2] * x[2]);
        let (one, other) = along.split_at(first);
        let low = one.iter().fold(f64::INFINITY, |low, &a| low.min(a));
        other.iter().all(|&a| a < low)
    })
}
