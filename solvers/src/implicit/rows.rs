//! Rows: C, ∇C and multipliers of all constraints as one linear system, J M⁻¹ Jᵀ + α̃.
//!
//! Every constraint is a node of the system; two couple when they share a free particle. What the constraints of all sets
//! emit stands in one list of records, one row a corner, so that products with J and Jᵀ are sums over records.

use core::marker::PhantomData;

use pliant_core::backend::{Backend, Cut, Emit, TUNING, Task};
use pliant_core::constraint::Constraint;
use pliant_core::constraints::{Set, Visitor};
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Lane, Real};
use pliant_core::model::Model;
use pliant_core::schedule::Incidence;
use pliant_core::vec3::Vec3;

use super::nodes::{Nodes, PINNED};
use crate::linear::{Ordering, Pattern};
use crate::lots::Lot;

/// No constraint: an idle lane.
const IDLE: u32 = u32::MAX;
/// Entries, rows or records a task handles.
const CHUNK: usize = 2048;

/// All constraints of a model, in the order of its sets.
#[derive(Debug)]
pub(crate) struct Rows<S> {
    pub pattern: Pattern,
    /// By set: its part of the records.
    parts: Vec<Part<S>>,
    /// By constraint: its first record and its corners.
    spans: Vec<(u32, u32)>,
    /// By record: its constraint, or [`IDLE`].
    owners: Vec<u32>,
    /// By record: the slot of its corner.
    slots: Vec<u32>,
    /// ∇C, a record a corner.
    gradients: Vec<[S; 4]>,
    scaled: Vec<[S; 4]>,
    /// C of every constraint.
    pub values: Vec<S>,
    /// Compliance α of every constraint.
    pub compliance: Vec<S>,
    /// What adds up to an entry: w ∇C·∇C' over shared particles.
    starts: Vec<u32>,
    products: Vec<Product<S>>,
}

#[derive(Debug)]
struct Part<S> {
    incidence: Incidence,
    first: usize,
    /// C in block order.
    values: Vec<[S; 4]>,
}

#[derive(Clone, Copy, Debug)]
struct Product<S> {
    records: [u32; 2],
    weight: S,
}

impl<S: Real> Rows<S> {
    pub fn new(model: &Model<S>, nodes: &Nodes) -> Self {
        let mut collect = Collect { model, ids: Vec::new(), rows: Self::empty() };
        model.constraints().visit(&mut collect);
        let Collect { ids, mut rows, .. } = collect;
        rows.scaled = rows.gradients.clone();
        rows.values = vec![S::ZERO; rows.spans.len()];

        // The records of every free particle: constraints that share it couple.
        let mut touching: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (&(first, corners), particles) in rows.spans.iter().zip(&ids) {
            for (record, &particle) in (first..first + corners).zip(particles) {
                let node = nodes.of[particle as usize];
                if node != PINNED {
                    touching[node as usize].push(record);
                }
            }
        }
        let owner = |record: u32| rows.owners[record as usize];
        let groups = touching.iter().map(|records| records.iter().map(|&r| owner(r)).collect::<Vec<_>>());
        rows.pattern = Pattern::new(rows.spans.len(), groups, Ordering::Amd);
        let mut lists = Vec::new();
        for (node, records) in touching.iter().enumerate() {
            let weight = model.inv_mass()[nodes.particles[node] as usize];
            for (i, &a) in records.iter().enumerate() {
                for &b in &records[..=i] {
                    if let Some((entry, _)) = rows.pattern.slot(owner(a), owner(b)) {
                        lists.push((entry as u32, Product { records: [a, b], weight }));
                    }
                }
            }
        }
        // Stable: products of an entry stay in the order of particles.
        lists.sort_by_key(|&(entry, _)| entry);
        rows.starts = vec![0; rows.pattern.entry_count() + 1];
        for &(entry, _) in &lists {
            rows.starts[entry as usize + 1] += 1;
        }
        for i in 0..rows.pattern.entry_count() {
            rows.starts[i + 1] += rows.starts[i];
        }
        rows.products = lists.into_iter().map(|(_, product)| product).collect();
        rows
    }

    fn empty() -> Self {
        Self {
            pattern: Pattern::new(0, core::iter::empty::<&[u32]>(), Ordering::Natural),
            parts: Vec::new(),
            spans: Vec::new(),
            owners: Vec::new(),
            slots: Vec::new(),
            gradients: Vec::new(),
            scaled: Vec::new(),
            values: Vec::new(),
            compliance: Vec::new(),
            starts: Vec::new(),
            products: Vec::new(),
        }
    }

    /// How many constraints there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// C and ∇C at x.
    pub fn evaluate<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, lots: &[Lot<S>], x: &Field<S>, on: &B) {
        let (gradients, values) = (self.gradients.as_mut_slice(), self.values.as_mut_slice());
        let mut evaluate = Evaluate { lots: lots.iter(), parts: self.parts.iter_mut(), gradients, values, x, on };
        model.constraints().visit(&mut evaluate);
    }

    /// J M⁻¹ Jᵀ + α̃, with α̃ = α `scale` + `shift`. A row without gradient gets the diagonal 1.
    pub fn matrix<B: Backend<Scalar = S>>(&self, scale: S, shift: S, values: &mut [S], on: &B) {
        let assemble = Assemble { rows: self };
        on.fork(&assemble, Cut::Every(CHUNK), values);
        for (c, &alpha) in self.compliance.iter().enumerate() {
            let value = &mut values[self.pattern.diagonal(c as u32)];
            *value = *value + (alpha * scale + shift);
            if *value <= S::ZERO {
                *value = S::ONE;
            }
        }
    }

    /// to += J y.
    pub fn times<B: Backend<Scalar = S>>(&self, y: &Field<S>, to: &mut [S], on: &B) {
        on.fork(&Times { rows: self, y }, Cut::Every(CHUNK), to);
    }

    /// to += Jᵀ λ.
    pub fn transposed<B: Backend<Scalar = S>>(&mut self, lambda: &[S], to: &mut Field<S>, on: &B) {
        let scale = Scale { owners: &self.owners, gradients: &self.gradients, lambda };
        on.fork(&scale, Cut::Every(CHUNK), &mut self.scaled);
        for part in &self.parts {
            let records = &self.scaled[part.first..][..part.incidence.record_count()];
            if !records.is_empty() {
                on.gather(&part.incidence, records, to);
            }
        }
    }

    /// The rows of J in order: constraint, corner's particle slot, gradient.
    pub fn jacobian(&self) -> impl Iterator<Item = (usize, u32, [S; 3])> + '_ {
        self.spans.iter().enumerate().flat_map(move |(c, &(first, corners))| {
            (first..first + corners).map(move |r| {
                let [x, y, z, _] = self.gradients[r as usize];
                (c, self.slots[r as usize], [x, y, z])
            })
        })
    }
}

/// Lays out the records of every set.
struct Collect<'a, S> {
    model: &'a Model<S>,
    ids: Vec<Vec<u32>>,
    rows: Rows<S>,
}

impl<S: Real> Visitor<S> for Collect<'_, S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let plan = self.model.plan();
        let rows = &mut self.rows;
        let incidence = Incidence::new(plan, set.stencil(), set.ids());
        let (first, offset) = (rows.gradients.len(), rows.spans.len() as u32);
        rows.gradients.resize(first + incidence.record_count(), [S::ZERO; 4]);
        rows.owners.resize(rows.gradients.len(), IDLE);
        rows.slots.resize(rows.gradients.len(), 0);
        for (c, particles) in set.ids().iter().enumerate() {
            let (block, lane) = set.stencil().place(c);
            let record = first + (block * BLOCK + lane) * N;
            rows.spans.push((record as u32, N as u32));
            for (corner, &particle) in particles.iter().enumerate() {
                rows.owners[record + corner] = offset + c as u32;
                rows.slots[record + corner] = plan.slots()[particle as usize];
            }
            self.ids.push(particles.to_vec());
        }
        rows.compliance.extend_from_slice(set.compliance());
        rows.parts.push(Part { incidence, first, values: vec![[S::ZERO; 4]; set.stencil().block_count() * BLOCK] });
    }
}

/// ∇C a corner; nothing for a constraint that does not act.
struct Gradient<S, K>(PhantomData<(S, K)>);
/// C in the first component.
struct Value<S, K>(PhantomData<(S, K)>);

impl<S: Real, K: Constraint<N, P>, const N: usize, const P: usize> Emit<N, P, N> for Gradient<S, K> {
    type Scalar = S;
    const READS_VELOCITY: bool = false;
    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        p: &[L; P],
        _: &[L; TUNING],
        x: &[Vec3<L>; N],
        _: &[L; N],
        _: &[Vec3<L>; N],
    ) -> [Vec3<L>; N] {
        let (c, mut grad) = K::eval(p, x);
        if K::ONE_SIDED {
            let acts = L::select(c.abs().gt(L::zero()), L::one(), L::zero());
            for g in &mut grad {
                *g = *g * acts;
            }
        }
        grad
    }
}

impl<S: Real, K: Constraint<N, P>, const N: usize, const P: usize> Emit<N, P, 1> for Tagged<Value<S, K>, N> {
    type Scalar = S;
    const READS_VELOCITY: bool = false;
    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        p: &[L; P],
        _: &[L; TUNING],
        x: &[Vec3<L>; N],
        _: &[L; N],
        _: &[Vec3<L>; N],
    ) -> [Vec3<L>; 1] {
        [Vec3::new(K::eval(p, x).0, L::zero(), L::zero())]
    }
}

/// Tells the two kernels of a one-particle kind apart.
struct Tagged<T, const N: usize>(PhantomData<T>);

struct Evaluate<'a, S, B> {
    lots: core::slice::Iter<'a, Lot<S>>,
    parts: core::slice::IterMut<'a, Part<S>>,
    gradients: &'a mut [[S; 4]],
    values: &'a mut [S],
    x: &'a Field<S>,
    on: &'a B,
}

impl<S: Real, B: Backend<Scalar = S>> Visitor<S> for Evaluate<'_, S, B> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let (Some(lot), Some(part)) = (self.lots.next(), self.parts.next()) else { return };
        if set.is_empty() {
            return;
        }
        let (x, stencil) = (self.x, set.stencil());
        let gradients = &mut self.gradients[part.first..][..part.incidence.record_count()];
        self.on.emit::<_, N, P, N>(&Gradient::<S, K>(PhantomData), stencil, lot.blocks(), x, x, gradients);
        let kernel = Tagged::<Value<S, K>, N>(PhantomData);
        self.on.emit::<_, N, P, 1>(&kernel, stencil, lot.blocks(), x, x, &mut part.values);
        let (own, rest) = core::mem::take(&mut self.values).split_at_mut(set.len());
        for (c, value) in own.iter_mut().enumerate() {
            let (block, lane) = stencil.place(c);
            *value = part.values[block * BLOCK + lane][0];
        }
        self.values = rest;
    }
}

struct Assemble<'a, S> {
    rows: &'a Rows<S>,
}

impl<S: Real> Task<S> for Assemble<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [S]) {
        let Rows { starts, products, gradients, .. } = self.rows;
        for (i, value) in own.iter_mut().enumerate() {
            let entry = index * CHUNK + i;
            let mut sum = S::ZERO;
            for product in &products[starts[entry] as usize..starts[entry + 1] as usize] {
                let [a, b] = product.records.map(|r| gradients[r as usize]);
                sum = sum + product.weight * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
            }
            *value = sum;
        }
    }
}

struct Times<'a, S> {
    rows: &'a Rows<S>,
    y: &'a Field<S>,
}

impl<S: Real> Task<S> for Times<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [S]) {
        let Rows { spans, gradients, slots, .. } = self.rows;
        for (to, &(first, corners)) in own.iter_mut().zip(&spans[index * CHUNK..]) {
            for r in first as usize..(first + corners) as usize {
                let (g, y) = (gradients[r], self.y.vector(slots[r] as usize));
                *to = *to + (g[0] * y[0] + g[1] * y[1] + g[2] * y[2]);
            }
        }
    }
}

struct Scale<'a, S> {
    owners: &'a [u32],
    gradients: &'a [[S; 4]],
    lambda: &'a [S],
}

impl<S: Real> Task<[S; 4]> for Scale<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [[S; 4]]) {
        let first = index * CHUNK;
        for (i, to) in own.iter_mut().enumerate() {
            let owner = self.owners[first + i];
            let [x, y, z, _] = self.gradients[first + i];
            let s = if owner == IDLE { S::ZERO } else { self.lambda[owner as usize] };
            *to = [x * s, y * s, z * s, S::ZERO];
        }
    }
}
