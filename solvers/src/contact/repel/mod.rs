//! Repulsion: layers of cloth and different bodies kept apart in real time, inside the substeps of every method.
//!
//! Pairs of a vertex and a triangle and of two edges that may come near are looked up for some time ahead. In every substep
//! those that are closer than the thickness are pushed apart, eight at a time in a fixed order, with friction. Corrections
//! are equal and opposite impulses at the closest points: momentum is kept.
//! ```text
//!   r = Σ wᵢ xᵢ (closest points)     C = n·r − d ≥ 0     Δxᵢ = (wᵢ/mᵢ) δ / Σ wⱼ²/mⱼ,   δ = −C n − friction   [METHODS 10]
//! ```
//! Cloth has no inside: n is r/|r| on the side where the pair has been, followed from substep to substep and from one look-up
//! to the next. A pair that went through each other is pulled back to its own side.
//!
//! `look` finds the pairs, `pack` puts them into blocks that share no vertex, `push` is what happens to a block, `sides` tells a new
//! pair on which side it was, `rows` is where positions stand meanwhile, `ahead` says where they will be, and `memory` writes down
//! what must survive a snapshot.

mod ahead;
mod look;
mod memory;
mod pack;
mod push;
mod rows;
mod sides;

use pliant_core::backend::Backend;
use pliant_core::collide::LayerSearch;
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::model::Model;

use look::Restless;
use memory::{Before, Outlook};
use pack::Packer;
use push::{Block, Grip, Push};
use rows::{Rows, Skins};
use sides::Sides;

/// How often a step looks where vertices are, where it has that many substeps.
const LOOKS: usize = 2;

/// Surfaces in contact during a step.
#[derive(Clone, Debug)]
pub(crate) struct Repulsion<S> {
    /// Built in the first step, which brings a backend.
    layers: Option<LayerSearch<S>>,
    /// Where each vertex was at the last look and where it is expected in the end: `[x y z a x' y' z' 0]`, with how far it was
    /// astray, squared, when that was last asked.
    way: Vec<Octet<S>>,
    /// The same at the look before.
    last: Vec<Octet<S>>,
    outlook: Outlook<S>,
    /// Time until the next look \[s\].
    until: S,
    /// By vertex: its body's frame as the first surface sees it.
    offsets: Vec<[S; 3]>,
    scattered: bool,
    /// By vertex: how thick its surface is; none where all are as thick.
    thicknesses: Vec<S>,
    skins: Skins<S>,
    rows: Rows<S>,
    packer: Packer,
    blocks: Vec<Block<S>>,
    /// One a block while a substep makes several sweeps and there is friction.
    grips: Vec<Grip<S>>,
    /// Whether there is friction between any surfaces.
    slows: bool,
    /// Whether the blocks came from elsewhere: what is in them is not known yet to those who look.
    foreign: bool,
    sides: Sides<S>,
    restless: Restless,
    /// Whether somebody must look before pairs are used.
    stale: bool,
    /// What is lost if the step that is under way fails.
    before: Before<S>,
    /// Length of a substep and of the step \[s\].
    h: S,
    dt: S,
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
            outlook: Outlook::new(),
            until: S::ZERO,
            offsets: vec![[S::ZERO; 3]; count],
            scattered: false,
            thicknesses: thicknesses(model),
            skins: Skins::new(model, &rows),
            packer: Packer::new(rows.count()),
            rows,
            blocks: Vec::new(),
            grips: Vec::new(),
            slows: model.surfaces().settings.iter().any(|contact| contact.friction > 0.0),
            foreign: false,
            sides: Sides::new(),
            restless: Restless::new(count),
            stale: true,
            before: Before::new(count),
            h: S::ZERO,
            dt: S::ZERO,
        }
    }

    /// Takes note of the frames that the bodies live in during this step of `dt`.
    pub fn begin(&mut self, model: &Model<S>, origins: &[[S; 3]], dt: S) {
        self.take_back();
        self.before.open(self.outlook, &self.blocks);
        self.dt = dt;
        let particles = &model.surfaces().particles;
        let origin = |particle: u32| origins[model.body_of(particle)];
        let base = particles.first().map_or([S::ZERO; 3], |&particle| origin(particle));
        self.scattered = false;
        if origins.iter().any(|o| *o != base) {
            for (offset, &particle) in self.offsets.iter_mut().zip(particles) {
                let own = origin(particle);
                // Multiples of one length: the differences are exact.
                *offset = core::array::from_fn(|k| own[k] - base[k]);
                self.scattered |= *offset != [S::ZERO; 3];
            }
        }
    }

    /// Takes note of substep `k` of `n`.
    pub fn place(&mut self, (k, n): (usize, usize)) {
        if k > 0 {
            self.outlook.age = self.outlook.age + self.h;
        }
        self.h = self.dt / S::from_f64(n as f64);
        let every = if self.outlook.calm { n } else { n.div_ceil(LOOKS) };
        if k % every == 0 {
            self.stale = true;
            self.until = self.h * S::from_f64(every.min(n - k) as f64);
        }
    }

    /// Pushes apart what is too close; `start` holds the positions at the start of the substep, of whose `sweep.1` sweeps this is
    /// number `sweep.0`. Velocities, where given, follow the corrections.
    pub fn push<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        [x, start]: [&mut Field<S>; 2],
        v: Option<&mut Field<S>>,
        sweep: (usize, usize),
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
            self.look(model, on);
        }
        if self.blocks.is_empty() {
            return;
        }
        let offsets = self.scattered.then_some(&self.offsets[..]);
        if sweep.0 == 0 {
            self.grips.clear();
        }
        if sweep.1 > 1 && self.slows {
            self.grips.resize(self.blocks.len(), [Octet([S::ZERO; BLOCK]); 3]);
        }
        let push = Push { h: self.h, blocks: &mut self.blocks, grips: &mut self.grips };
        if push.run(&mut self.rows, on) {
            self.rows.unpack(x, v.map(|v| (v, S::ONE / self.h)), offsets, on);
        }
    }

    /// The step succeeded: what it found holds.
    pub fn arrive(&mut self) {
        self.outlook.age = self.outlook.age + self.h;
        self.before.close();
    }
}

/// By vertex: how thick its surface is \[m\]; none where all are as thick.
fn thicknesses<S: Real>(model: &Model<S>) -> Vec<S> {
    let surfaces = model.surfaces();
    let of: Vec<S> = surfaces.settings.iter().map(|contact| S::from_f64(contact.thickness)).collect();
    if of.iter().all(|thickness| *thickness == surfaces.reach) {
        return Vec::new();
    }
    surfaces.owner.iter().map(|&owner| of[owner as usize]).collect()
}
