//! Coarse layers under PBD and XPBD: before a substep's first sweep, corrections travel over long links.   [`pliant_core::layers`]

use core::marker::PhantomData;

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::constraint::{Constraint, Radial};
use pliant_core::constraints::{Set, Visitor};
use pliant_core::error::BuildError;
use pliant_core::field::{Field, Layout};
use pliant_core::kinds::Limit;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::layers::PARENTS;
use pliant_core::model::Model;

use crate::gauss_seidel::check_count;
use crate::lots::{Allocate, Lot, Tune, Tuning};
use crate::project::ProjectPair;

/// Slots a task restricts or prolongs: enough to outweigh a fork.
const TASK_SLOTS: usize = 1024;

/// Coarse-to-fine layers for PBD and XPBD, to make stiff cloth of many particles converge in few sweeps.
///
/// A layer is a set of inextensible links between far particles, made of the stiff links of a body (those a hundred times softer,
/// and elements, are left alone). So that cloth which is meant to stretch is not held back, `slack` is the strain that layers
/// allow; within it they do nothing, and the result is that of the fine links alone.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct LayerOptions {
    /// Layers above the particles themselves; fewer where a body gets too small.
    pub layers: usize,
    /// Sweeps over each layer a substep.
    pub sweeps: usize,
    /// Strain that the links of layers allow, 0 for cloth that should not stretch \[1\].
    pub slack: f64,
}

impl Default for LayerOptions {
    fn default() -> Self {
        Self { layers: 5, sweeps: 2, slack: 0.0 }
    }
}

impl LayerOptions {
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        check_count("layers", self.layers)?;
        check_count("sweeps of a layer", self.sweeps)?;
        if !(self.slack.is_finite() && self.slack >= 0.0) {
            let expected = "a finite number, 0 or more";
            return Err(BuildError::BadOption { name: "slack of layers", value: self.slack, expected });
        }
        Ok(())
    }
}

/// The layers of a model, finest first.
#[derive(Clone, Debug)]
pub(crate) struct Layers<S> {
    sweeps: usize,
    layers: Vec<Layer<S>>,
}

#[derive(Clone, Debug)]
struct Layer<S> {
    model: Model<S>,
    lots: Vec<Lot<S>>,
    /// Positions of the kept particles.
    x: Field<S>,
    /// What they were moved by, a row a slot.
    moved: Vec<[S; 4]>,
    /// By slot: the slot below that it is.
    source: Vec<u32>,
    /// For each block of slots below: whom they follow, first parents first.
    parents: Vec<[[u32; PARENTS]; BLOCK]>,
    shares: Vec<[[S; PARENTS]; BLOCK]>,
    /// For each block of slots below: what they are moved by.
    carried: Vec<[Octet<S>; 3]>,
}

impl<S: Real> Layers<S> {
    pub fn new(model: &Model<S>, options: LayerOptions) -> Result<Self, BuildError> {
        options.check()?;
        if let Some(&row) = model.constraints().distance.plastic().rows().first() {
            let reason = "the long links of layers know nothing of links that flow, and would hold them back; use one or the other";
            return Err(BuildError::Unsupported { what: "plastic link", row: row as usize, reason });
        }
        let mut layers: Vec<Layer<S>> = Vec::new();
        for layer in pliant_core::layers::layers(model, options.layers, options.slack)? {
            let below = layers.last().map_or(model, |finer| &finer.model);
            layers.push(Layer::new(layer, below));
        }
        Ok(Self { sweeps: options.sweeps, layers })
    }

    pub fn tune(&mut self, tuning: Tuning<S>) {
        let tuning = Tuning { compliance: S::ZERO, damping: S::ZERO, gate: tuning.gate };
        for Layer { model, lots, .. } in &mut self.layers {
            model.constraints().visit(&mut Tune { lots: lots.iter_mut(), model, tuning });
        }
    }

    /// Corrects positions by every layer, coarsest first.
    pub fn correct<B: Backend<Scalar = S>>(&mut self, x: &mut Field<S>, on: &B) {
        for index in 0..self.layers.len() {
            let (finer, rest) = self.layers.split_at_mut(index);
            let Layer { x: to, source, .. } = &mut rest[0];
            let from = finer.last().map_or(&*x, |layer| &layer.x);
            on.fork(&Restrict { from, source }, Cut::Every(TASK_SLOTS / 2), to.octets_mut());
        }
        for index in (0..self.layers.len()).rev() {
            let (finer, rest) = self.layers.split_at_mut(index);
            let layer = &mut rest[0];
            for _ in 0..self.sweeps {
                layer.model.constraints().visit(&mut Shorten { lots: layer.lots.iter_mut(), x: &mut layer.x, on });
            }
            let below = finer.last_mut().map_or(&mut *x, |finer| &mut finer.x);
            let travel = Travel { x: &layer.x, before: &*below, source: &layer.source };
            on.fork(&travel, Cut::Every(TASK_SLOTS), &mut layer.moved);
            let follow = Follow { moved: &layer.moved, parents: &layer.parents, shares: &layer.shares };
            on.fork(&follow, Cut::Every(TASK_SLOTS / BLOCK), &mut layer.carried);
            let add = Add { carried: &layer.carried, layout: below.layout() };
            on.fork(&add, Cut::Every(TASK_SLOTS / 2), below.octets_mut());
        }
    }
}

impl<S: Real> Layer<S> {
    fn new(layer: pliant_core::layers::Layer<S>, below: &Model<S>) -> Self {
        let pliant_core::layers::Layer { model, keeps, follows } = layer;
        let (plan, plan_below) = (model.plan(), below.plan());
        let mut allocate = Allocate { lots: Vec::new(), fold: true };
        model.constraints().visit(&mut allocate);
        // Idle slots stand for slot 0 and are never read.
        let mut source = vec![0; plan.slot_count()];
        for (particle, &kept) in keeps.iter().enumerate() {
            source[plan.slots()[particle] as usize] = plan_below.slots()[kept as usize];
        }
        let blocks = plan_below.slot_count() / BLOCK;
        let mut parents = vec![[[0; PARENTS]; BLOCK]; blocks];
        let mut shares = vec![[[S::ZERO; PARENTS]; BLOCK]; blocks];
        for (&slot, followed) in plan_below.slots().iter().zip(&follows) {
            let (block, lane) = (slot as usize / BLOCK, slot as usize % BLOCK);
            for (k, &(parent, share)) in followed.iter().enumerate() {
                parents[block][lane][k] = plan.slots()[parent as usize];
                shares[block][lane][k] = S::from_f64(share);
            }
        }
        let (x, moved) = (Field::zeros(plan), vec![[S::ZERO; 4]; plan.slot_count()]);
        Self {
            lots: allocate.lots,
            x,
            moved,
            source,
            parents,
            shares,
            carried: vec![[Octet([S::ZERO; BLOCK]); 3]; blocks],
            model,
        }
    }
}

/// Takes the positions of kept particles from the layer below: two rows an octet.
struct Restrict<'a, S> {
    from: &'a Field<S>,
    source: &'a [u32],
}

impl<S: Real> Task<Octet<S>> for Restrict<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = index * TASK_SLOTS;
        for (pair, octet) in own.iter_mut().enumerate() {
            for row in 0..2 {
                let x = self.from.vector(self.source[first + 2 * pair + row] as usize);
                octet.0[4 * row..4 * row + 3].copy_from_slice(&x);
            }
        }
    }
}

/// How far kept particles were moved.
struct Travel<'a, S> {
    x: &'a Field<S>,
    before: &'a Field<S>,
    source: &'a [u32],
}

impl<S: Real> Task<[S; 4]> for Travel<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [[S; 4]]) {
        let first = index * TASK_SLOTS;
        for (offset, moved) in own.iter_mut().enumerate() {
            let slot = first + offset;
            let (after, before) = (self.x.vector(slot), self.before.vector(self.source[slot] as usize));
            *moved = [after[0] - before[0], after[1] - before[1], after[2] - before[2], S::ZERO];
        }
    }
}

/// Σ share · moved for every particle below: eight particles an item.
struct Follow<'a, S> {
    moved: &'a [[S; 4]],
    parents: &'a [[[u32; PARENTS]; BLOCK]],
    shares: &'a [[[S; PARENTS]; BLOCK]],
}

impl<S: Real> Task<[Octet<S>; 3]> for Follow<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [[Octet<S>; 3]]) {
        let first = index * (TASK_SLOTS / BLOCK);
        let parents = &self.parents[first..first + own.len()];
        let shares = &self.shares[first..first + own.len()];
        for ((parents, shares), own) in parents.iter().zip(shares).zip(own) {
            for lane in 0..BLOCK {
                let mut sum = [S::ZERO; 4];
                for k in 0..PARENTS {
                    let (moved, share) = (self.moved[parents[lane][k] as usize], shares[lane][k]);
                    for c in 0..4 {
                        sum[c] = sum[c] + share * moved[c];
                    }
                }
                for c in 0..3 {
                    own[c].0[lane] = sum[c];
                }
            }
        }
    }
}

/// x ← x + what its particle follows.
struct Add<'a, S> {
    carried: &'a [[Octet<S>; 3]],
    layout: Layout,
}

impl<S: Real> Task<Octet<S>> for Add<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = index * (TASK_SLOTS / 2);
        for (offset, octet) in own.iter_mut().enumerate() {
            let at = first + offset;
            match self.layout {
                Layout::Rows => {
                    for row in 0..2 {
                        let slot = 2 * at + row;
                        let carried = &self.carried[slot / BLOCK];
                        for c in 0..3 {
                            octet.0[4 * row + c] = octet.0[4 * row + c] + carried[c].0[slot % BLOCK];
                        }
                    }
                }
                Layout::Columns => {
                    let blocks = self.carried.len();
                    let (block, component) = (at % blocks, at / blocks);
                    if component < 3 {
                        let carried = &self.carried[block][component];
                        for lane in 0..BLOCK {
                            octet.0[lane] = octet.0[lane] + carried.0[lane];
                        }
                    }
                }
            }
        }
    }
}

/// A sweep over the links of a layer.
struct Shorten<'a, S, B> {
    lots: core::slice::IterMut<'a, Lot<S>>,
    x: &'a mut Field<S>,
    on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> Visitor<S> for Shorten<'_, S, B> {
    /// Layers have links and nothing else.
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, _: &Set<S, K, N, P>) {
        self.lots.next();
    }
    fn visit_pairs<K: Radial>(&mut self, set: &Set<S, K, 2, 1>) {
        let Some(lot) = self.lots.next() else { return };
        let rule = ProjectPair::<S, Limit, true, false>(PhantomData);
        self.on.sweep_pairs(&rule, set.stencil(), &lot.parameters, &lot.tuning, &mut lot.lambda, self.x);
    }
}
