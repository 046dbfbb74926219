//! Building the model of a world again: who keeps what, and how nothing is lost on the way.

use std::collections::{BTreeMap, VecDeque};

use pliant_core::backend::Backend;
use pliant_core::body::{Body, Table};
use pliant_core::columns::{Columns, Particles};
use pliant_core::environment::Environment;
use pliant_core::error::BuildError;
use pliant_core::lane::Real;
#[cfg(feature = "rigid")]
use pliant_core::matching::Cluster;
use pliant_core::model::Model;
use pliant_core::snapshot::{Snapshot, SnapshotError};
use pliant_core::solver::Solver;
use pliant_core::tearing::Torn;

use super::tearing::Rips;
use super::{BodyId, WorldOn};

/// A body of the world, as it was described: rest lengths, tethers and volumes come from it whenever a model is built.
#[derive(Debug)]
pub(super) struct Member {
    pub body: Body,
    pub id: BodyId,
    pub vertices: Vec<[f32; 3]>,
    pub interleaved: Vec<[f32; 6]>,
    pub rips: Rips,
}

impl Member {
    pub fn new(body: Body, id: BodyId) -> Self {
        Self { rips: Rips::of(&body), body, id, vertices: Vec::new(), interleaved: Vec::new() }
    }
    /// The body before anything tore since its model was built.
    #[cfg(any(feature = "collision", feature = "serde"))]
    pub fn whole(&self) -> &Body {
        self.rips.whole().unwrap_or(&self.body)
    }
}

/// A body of a model about to be built, and the members whose state it takes over, one after the other.
pub(super) struct Heir<'a> {
    body: &'a Body,
    from: Vec<usize>,
    rows: Rows<'a>,
}

/// How the rows of an heir's constraints are found among those of the member before it.
enum Rows<'a> {
    /// They are the same.
    Same,
    /// By their particles and by what they were made with.
    Matched,
    Torn(&'a Torn),
}

impl<'a> Heir<'a> {
    /// A body that nobody has seen before.
    pub fn new(body: &'a Body) -> Self {
        Self { body, from: Vec::new(), rows: Rows::Same }
    }
    /// A member as it is.
    pub fn kept(body: &'a Body, member: usize) -> Self {
        Self { body, from: vec![member], rows: Rows::Same }
    }
    /// What was made of members, particle after particle, with constraints of any kind.
    pub fn made_of(body: &'a Body, members: Vec<usize>) -> Self {
        Self { body, from: members, rows: Rows::Matched }
    }
    /// What a tear left of a member.
    pub fn torn(torn: &'a Torn, member: usize) -> Self {
        Self { body: torn.body(), from: vec![member], rows: Rows::Torn(torn) }
    }
}

/// A model of changed bodies, with the state of those that stay.
pub(super) struct Draft<S> {
    pub model: Model<S>,
    pub particles: Particles<S>,
    pub settled: Columns<S>,
    /// By member: its first particle now, if it has an heir.
    pub starts: Vec<Option<u32>>,
    /// By cluster: the one it was before, if its deformations are to be kept.
    #[cfg(feature = "rigid")]
    pub clusters: Vec<Option<usize>>,
    /// Whether what the solver remembers still holds.
    pub familiar: bool,
}

impl<B: Backend> WorldOn<B> {
    /// All members as they are.
    pub(super) fn heirs(&self) -> impl Iterator<Item = Heir<'_>> {
        self.members.iter().enumerate().map(|(index, member)| Heir::kept(&member.body, index))
    }

    /// Rebuilds with another description of one member; the motion of every particle that is still free is kept.
    pub(super) fn change_body(&mut self, index: usize, changed: Body) -> Result<(), BuildError> {
        let heir = |(i, heir)| if i == index { Heir::made_of(&changed, vec![i]) } else { heir };
        let draft = self.draft(&self.heirs().enumerate().map(heir).collect::<Vec<_>>())?;
        self.adopt(draft)?;
        let member = &mut self.members[index];
        (member.rips, member.body) = (Rips::of(&changed), changed);
        Ok(())
    }

    /// See [`WorldOn::draft`], by which everybody else calls it.
    pub(super) fn make_draft(&self, heirs: &[Heir<'_>]) -> Result<Draft<B::Scalar>, BuildError> {
        let bodies: Vec<&Body> = heirs.iter().map(|heir| heir.body).collect();
        let (model, particles) = Model::<B::Scalar>::build_like(&bodies, &self.model)?;
        let settled = model.attachment_targets().clone();
        let starts = vec![None; self.members.len()];
        let mut draft = Draft {
            model,
            particles,
            settled,
            starts,
            #[cfg(feature = "rigid")]
            clusters: self.clusters_before(heirs),
            familiar: true,
        };
        let mut forces = self.model.environment.forces.as_ref().map(|_| Columns::zeros(draft.particles.len()));
        let mut row = 0;
        for (new, heir) in heirs.iter().enumerate() {
            self.bequeath(heir, new, row, &mut draft, &mut forces)?;
            row += heir.body.tables().attachment.ids.len();
        }
        let model = &mut draft.model;
        model.environment = Environment { forces, ..self.model.environment.clone() };
        #[cfg(feature = "collision")]
        {
            model.colliders_mut().clone_from(self.model.colliders());
            let torn = heirs.iter().filter_map(|heir| match heir.rows {
                Rows::Torn(torn) => Some((*heir.from.first()?, torn)),
                _ => None,
            });
            let torn: Vec<_> = torn.collect();
            let origin = |member: usize, particle: u32| {
                let torn = torn.iter().find(|(of, _)| *of == member);
                Some(torn.map_or(particle, |(_, torn)| torn.origin(particle)))
            };
            model.set_skin(self.renumbered_skin(&draft.starts, origin)?)?;
        }
        // Equal bodies may have changed places: then all numbers are the same, but not those they stand for.
        let unmoved = |(member, start): (usize, &Option<u32>)| *start == Some(self.range_of(member).start as u32);
        draft.familiar &= draft.starts.iter().enumerate().all(unmoved) && model.is_numbered_like(&self.model);
        Ok(draft)
    }

    /// Gives body `new` of a draft, whose first attachment is `row`, what its members have.
    fn bequeath(
        &self,
        heir: &Heir<'_>,
        new: usize,
        row: usize,
        draft: &mut Draft<B::Scalar>,
        forces: &mut Option<Columns<B::Scalar>>,
    ) -> Result<(), BuildError> {
        let Draft { model, particles, settled, starts, familiar, .. } = draft;
        let to = model.body(new).unwrap_or_default();
        let attached = &heir.body.tables().attachment;
        let (mut start, mut first_row) = (to.start, 0);
        let mut rows = Found::among(attachments(attached, 0).enumerate());
        for &old in &heir.from {
            let from = self.range_of(old);
            let kept = start..(start + from.len()).min(to.end);
            starts[old] = Some(start as u32);
            if let Rows::Torn(torn) = heir.rows {
                torn.carry((&self.model, &self.particles, old), (model, particles, new));
            } else {
                particles.x.copy_from(kept.clone(), &self.particles.x, from.start);
                particles.v.copy_from(kept.clone(), &self.particles.v, from.start);
            }
            match heir.rows {
                Rows::Same => model.inherit(new, &self.model, old),
                Rows::Matched => model.inherit_matching(new, start - to.start, &self.model, old),
                Rows::Torn(_) => {}
            }
            if let (Some(forces), Some(before)) = (&mut *forces, &self.model.environment.forces) {
                forces.copy_from(kept.clone(), before, from.start);
            }
            for &pin in heir.body.pins().iter().filter(|pin| kept.contains(&(to.start + **pin as usize))) {
                let now = to.start + pin as usize;
                // A new pin holds its particle where it is, at rest.
                let target = self.pin_target(from.start + (now - start)).unwrap_or_else(|| {
                    particles.v.set(now, [B::Scalar::ZERO; 3]);
                    particles.x.get(now)
                });
                model.move_pin(now as u32, target)?;
            }
            // Attachments that are still what they were keep where their target is and where it was sent.
            let (old_attached, old_rows) = (&self.members[old].body.tables().attachment, self.attachments_of(old));
            for (own, key) in attachments(old_attached, (start - to.start) as u32).enumerate() {
                let (at, old_row) = (rows.take(&key), old_rows.start + own);
                if let Some(at) = at {
                    settled.set(row + at, self.settled.get(old_row));
                    model.move_attachment(row + at, self.model.attachment_targets().get(old_row))?;
                }
                // The solver knows them by their rows.
                *familiar &= at == Some(first_row + own);
            }
            start += from.len();
            first_row += old_rows.len();
        }
        Ok(())
    }

    /// By cluster of the heirs: the one it was before, if it flows. Nothing at all where none did.
    #[cfg(feature = "rigid")]
    fn clusters_before(&self, heirs: &[Heir<'_>]) -> Vec<Option<usize>> {
        let mut before = Vec::new();
        if !self.model.clusters().is_plastic() {
            return before;
        }
        for heir in heirs {
            let first = before.len();
            before.resize(first + heir.body.clusters().len(), None);
            let flowing =
                clusters(heir.body, 0).enumerate().filter(|(_, (cluster, _))| cluster.matching.plasticity.is_some());
            let mut rows = Found::among(flowing.map(|(row, (_, particles))| (row, particles)));
            let mut start = 0;
            for &old in &heir.from {
                let first_old: usize = self.members[..old].iter().map(|member| member.body.clusters().len()).sum();
                for (own, (_, particles)) in clusters(&self.members[old].body, start).enumerate() {
                    if let Some(row) = rows.take(&particles) {
                        before[first + row] = Some(first_old + own);
                    }
                }
                start += self.range_of(old).len() as u32;
            }
        }
        before
    }

    /// Where a pin was sent, by its number in the model; `None` for a particle that is free.
    pub(super) fn pin_target(&self, particle: usize) -> Option<[B::Scalar; 3]> {
        let at = self.model.pins().binary_search(&(particle as u32)).ok()?;
        Some(self.model.pin_targets().get(at))
    }

    /// Makes the solver ready for a draft of other bodies and replaces the model by it; on an error nothing has changed.
    pub(super) fn adopt(&mut self, draft: Draft<B::Scalar>) -> Result<(), BuildError> {
        self.replace(draft)?;
        self.settle_tears();
        Ok(())
    }

    /// See [`WorldOn::replace`], by which everybody else calls it.
    pub(super) fn put_in_place(&mut self, mut draft: Draft<B::Scalar>) -> Result<(), BuildError> {
        if draft.model.particle_count() > 0 {
            let memory = Memory::of(&*self.solver);
            #[cfg(feature = "rigid")]
            let dents = self.solver.dents(&self.model);
            if let Err(error) = prepare(&mut *self.solver, &mut draft.model, &draft.settled) {
                if !self.members.is_empty() {
                    // The solver may be half prepared: give it back the model it has already accepted.
                    memory.resume(&mut *self.solver, &mut self.model, &self.settled)?;
                }
                return Err(error);
            }
            if draft.familiar {
                memory.recall_or_prepare(&mut *self.solver, &mut draft.model, &draft.settled)?;
            }
            #[cfg(feature = "rigid")]
            if !dents.is_empty() {
                let dents: Vec<_> = draft.clusters.iter().map(|old| dents.get((*old)?).copied()).collect();
                self.solver.put_dents(&draft.model, &dents);
            }
        }
        #[cfg(feature = "collision")]
        if let Some(watch) = &mut self.watch {
            let before: Vec<_> = (0..self.members.len()).filter_map(|index| self.model.body(index)).collect();
            let renumbered = |p: u32| {
                let index = before.iter().position(|range| range.contains(&(p as usize)))?;
                Some(draft.starts[index]? + (p - before[index].start as u32))
            };
            watch.renumber(renumbered, Some);
        }
        let Draft { model, particles, settled, .. } = draft;
        (self.model, self.particles, self.settled) = (model, particles, settled);
        Ok(())
    }
}

/// Rows of a new table, to be found by what makes them the same as before; equal ones in order.
struct Found<K>(BTreeMap<K, VecDeque<usize>>);

impl<K: Ord> Found<K> {
    fn among(rows: impl Iterator<Item = (usize, K)>) -> Self {
        let mut found = BTreeMap::<K, VecDeque<usize>>::new();
        rows.for_each(|(row, key)| found.entry(key).or_default().push_back(row));
        Self(found)
    }
    /// The first such row that nobody took.
    fn take(&mut self, key: &K) -> Option<usize> {
        self.0.get_mut(key)?.pop_front()
    }
}

/// An attachment is the same if it holds the same particle, which is `first` in its own body, and was made with the same target.
fn attachments(table: &Table<1, 3>, first: u32) -> impl Iterator<Item = (u32, [u64; 3])> {
    table
        .ids
        .iter()
        .zip(&table.parameters)
        .map(move |(&[particle], target)| (first + particle, target.map(f64::to_bits)))
}

/// A cluster is the same if it holds the same particles.
#[cfg(feature = "rigid")]
fn clusters(body: &Body, first: u32) -> impl Iterator<Item = (&Cluster, Vec<u32>)> {
    body.clusters()
        .iter()
        .map(move |cluster| (cluster, cluster.particles.iter().map(|particle| first + particle).collect()))
}

/// What a solver remembers from step to step.
pub(super) struct Memory(Snapshot);

impl Memory {
    pub fn of<B: Backend>(solver: &dyn Solver<B>) -> Self {
        Self(Snapshot::new(0, |to| solver.remember(to)))
    }

    /// Prepares a solver for a model it remembers, and lets it go on from there.
    pub fn resume<B: Backend>(
        &self,
        solver: &mut dyn Solver<B>,
        model: &mut Model<B::Scalar>,
        settled: &Columns<B::Scalar>,
    ) -> Result<(), BuildError> {
        prepare(solver, model, settled)?;
        self.recall_or_prepare(solver, model, settled)
    }

    /// The same for a solver that is prepared. What cannot be taken back whole is forgotten.
    pub fn recall_or_prepare<B: Backend>(
        &self,
        solver: &mut dyn Solver<B>,
        model: &mut Model<B::Scalar>,
        settled: &Columns<B::Scalar>,
    ) -> Result<(), BuildError> {
        self.recall(solver).or_else(|_| prepare(solver, model, settled))
    }

    fn recall<B: Backend>(&self, solver: &mut dyn Solver<B>) -> Result<(), SnapshotError> {
        let mut from = self.0.read(0)?;
        solver.recall(&mut from)?;
        from.finish()
    }
}

/// Prepares a solver for a model whose attachment targets are on their way: a solver takes the targets it is prepared with
/// as the start of their motion, so it is shown the settled ones.
pub(super) fn prepare<B: Backend>(
    solver: &mut dyn Solver<B>,
    model: &mut Model<B::Scalar>,
    settled: &Columns<B::Scalar>,
) -> Result<(), BuildError> {
    let targets = model.attachment_targets().clone();
    aim(model, settled)?;
    let prepared = solver.prepare(model);
    aim(model, &targets)?;
    prepared
}

fn aim<S: Real>(model: &mut Model<S>, targets: &Columns<S>) -> Result<(), BuildError> {
    (targets.iter().enumerate()).try_for_each(|(row, target)| model.move_attachment(row, target))
}
