//! Contact events: who touches whom after a step, where, how hard, and since when.
//!
//! Contacts are read off the state that a step ended with, whatever method made it: particles within a margin of a collider, or inside
//! the buffer that the method holds them off by (or thrown off during the step), and pairs of surfaces within a margin of their
//! thickness. How hard is the method's own account, impulses by particle, shared out among the contacts of a particle by least
//! squares:
//! ```text
//!   minimise Σ_p |J_p − Σ_c w_cp n_c j_c|²   over j ≥ 0        J_p the impulse on particle p, w_cp its weight in contact c
//! ```
//! by Gauss–Seidel in the order of the contacts. Where every particle is in one contact this is exact: j = n·J. What squares
//! leave over, because surfaces have moved on since they were pushed, goes to the contacts of a particle by weight: no impulse
//! is lost as long as its particle touches something.

use pliant_core::account::ContactAccount;
use pliant_core::backend::Backend;
use pliant_core::collide::distance::Pair;
use pliant_core::collide::{Candidate, MeshCandidates, NearSearch};
use pliant_core::columns::{Columns, Particles};
use pliant_core::error::StepError;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::sdf::Placed;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::vec3::Vec3;

/// Where a contact is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContactPhase {
    /// It was not there after the step before.
    Begin,
    /// It was there before.
    Persist,
    /// It is there no more: point, normal and gap are the last known, the impulse is 0. Contacts of a body or collider that
    /// was removed end without being told: there is nobody left to name.
    End,
}

/// Who touches whom; particles are numbers of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContactPair {
    /// A particle and a collider, by its place among the model's.
    Collider {
        /// The particle.
        particle: u32,
        /// The collider.
        collider: u32,
    },
    /// A vertex and a triangle of surfaces.
    VertexTriangle {
        /// The vertex.
        particle: u32,
        /// Corners of the triangle.
        triangle: [u32; 3],
    },
    /// Two edges of surfaces.
    EdgeEdge {
        /// Ends of the one edge.
        first: [u32; 2],
        /// Ends of the other.
        second: [u32; 2],
    },
}

/// A contact after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactEvent<S> {
    /// New, going on, or gone.
    pub phase: ContactPhase,
    /// Who.
    pub pair: ContactPair,
    /// The touched point of the second partner: collider, triangle or second edge \[m\].
    pub point: [S; 3],
    /// Unit normal, from the second partner to the first.
    pub normal: [S; 3],
    /// How much farther apart than their thickness they are \[m\]; below 0 it is the depth.
    pub gap: S,
    /// The impulse along the normal over the step \[N s\]; 0 for methods that keep no account.
    pub impulse: S,
}

/// A contact that is being found.
#[derive(Clone, Copy, Debug)]
struct Row<S> {
    event: ContactEvent<S>,
    /// Particles and their weights in the contact; the first `count` are in use.
    particles: [u32; 4],
    weights: [S; 4],
    count: usize,
}

/// Watches the contacts of a model from step to step; keeps its memory.
#[derive(Clone, Debug)]
pub struct ContactWatch<S> {
    margin: S,
    model: Option<u64>,
    candidates: Option<MeshCandidates<S>>,
    near: NearSearch,
    places: Columns<S>,
    placed: Vec<Placed<S>>,
    rows: Vec<Row<S>>,
    events: Vec<ContactEvent<S>>,
    before: Vec<ContactEvent<S>>,
    /// What is left of each particle's impulse, from colliders and from surfaces.
    left: [Columns<S>; 2],
    /// By particle: its weights in contacts between surfaces, added up.
    weights: Vec<S>,
}

/// Passes over the contacts that share impulses out.
const PASSES: usize = 8;

impl<S: Real> ContactWatch<S> {
    /// Watches for what comes within `margin` of touching \[m\].
    pub fn new(margin: S) -> Self {
        Self {
            margin,
            model: None,
            candidates: None,
            near: NearSearch::new(),
            places: Columns::default(),
            placed: Vec::new(),
            rows: Vec::new(),
            events: Vec::new(),
            before: Vec::new(),
            left: [Columns::default(), Columns::default()],
            weights: Vec::new(),
        }
    }

    /// The contacts after the last step: with colliders by particle and collider, then between surfaces by their corners.
    pub fn events(&self) -> &[ContactEvent<S>] {
        &self.events
    }

    /// Forgets all contacts, without an end.
    pub fn forget(&mut self) {
        self.events.clear();
    }
    /// Writes the contacts after the last step down.
    pub fn remember(&self, to: &mut Writer) {
        to.count(self.events.len());
        for event in &self.events {
            let (kind, ids) = match event.pair {
                ContactPair::Collider { particle, collider } => (0, [particle, collider, 0, 0]),
                ContactPair::VertexTriangle { particle, triangle: [a, b, c] } => (1, [particle, a, b, c]),
                ContactPair::EdgeEdge { first: [a, b], second: [c, d] } => (2, [a, b, c, d]),
            };
            to.u32(event.phase as u32);
            to.u32(kind);
            ids.into_iter().for_each(|id| to.u32(id));
            to.reals(&event.point);
            to.reals(&event.normal);
            to.reals(&[event.gap, event.impulse]);
        }
    }
    /// Takes them back: the next step tells which of them go on.
    ///
    /// # Errors
    /// When these are no contacts; they may be half taken back then.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.forget();
        for _ in 0..from.count(24 + 8 * size_of::<S>())? {
            let (phase, kind) = (from.u32()?, from.u32()?);
            let [a, b, c, d] = [from.u32()?, from.u32()?, from.u32()?, from.u32()?];
            let phase = match phase {
                0 => ContactPhase::Begin,
                1 => ContactPhase::Persist,
                _ => ContactPhase::End,
            };
            let pair = match kind {
                0 => ContactPair::Collider { particle: a, collider: b },
                1 => ContactPair::VertexTriangle { particle: a, triangle: [b, c, d] },
                _ => ContactPair::EdgeEdge { first: [a, b], second: [c, d] },
            };
            let (point, normal) = (from.vector()?, from.vector()?);
            let event = ContactEvent { phase, pair, point, normal, gap: from.real()?, impulse: from.real()? };
            self.events.push(event);
        }
        Ok(())
    }

    /// Carries the contacts over to a model with other numbers: new numbers of particles and colliders, `None` where they
    /// are gone. Contacts of what is gone are forgotten without an end.
    pub fn renumber(&mut self, particle: impl Fn(u32) -> Option<u32>, collider: impl Fn(u32) -> Option<u32>) {
        let all = |ids: &mut [u32]| {
            ids.iter_mut().all(|id| {
                let new = particle(*id);
                *id = new.unwrap_or(*id);
                new.is_some()
            })
        };
        self.events.retain_mut(|event| match &mut event.pair {
            ContactPair::Collider { particle, collider: place } => {
                let new = collider(*place);
                *place = new.unwrap_or(*place);
                new.is_some() && all(core::slice::from_mut(particle))
            }
            ContactPair::VertexTriangle { particle, triangle } => {
                all(core::slice::from_mut(particle)) && all(&mut triangle[..])
            }
            ContactPair::EdgeEdge { first, second } => all(&mut first[..]) && all(&mut second[..]),
        });
        self.events.sort_unstable_by_key(|event| event.pair);
    }

    /// Looks at the state after a step of `dt`, with the account that the method kept.
    ///
    /// # Errors
    /// When the state does not belong to the model or is not finite.
    pub fn update<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        account: Option<&ContactAccount<S>>,
        dt: S,
        on: &B,
    ) -> Result<(), StepError> {
        let (found, expected) = (particles.len(), model.particle_count());
        if found != expected {
            return Err(StepError::WrongState { found, expected });
        }
        if self.model != Some(model.id()) {
            self.candidates = None;
            self.model = Some(model.id());
        }
        let [colliders, surfaces] = &mut self.left;
        for (left, kept) in
            [(colliders, account.map(|account| &account.colliders)), (surfaces, account.map(|a| &a.surfaces))]
        {
            if left.len() != expected {
                *left = Columns::zeros(expected);
            }
            for axis in [&mut left.x, &mut left.y, &mut left.z] {
                axis.fill(S::ZERO);
            }
            if let Some(kept) = kept.filter(|kept| kept.len() == expected) {
                left.copy_from(0..expected, kept, 0);
            }
        }
        self.rows.clear();
        let buffer = account.map_or(S::ZERO, |account| account.buffer);
        self.touch_colliders(model, particles, (buffer, dt));
        self.touch_surfaces(model, particles, on)?;
        self.share_out();
        self.share_rest(expected);
        self.tell();
        Ok(())
    }

    fn touch_colliders(&mut self, model: &Model<S>, particles: &Particles<S>, (buffer, dt): (S, S)) {
        let colliders = model.colliders();
        if colliders.is_empty() {
            return;
        }
        // What is held off by a buffer touches anywhere inside it.
        let margin = Lane::max(self.margin, buffer);
        self.placed.clear();
        self.placed.extend(colliders.described().iter().map(|c| Placed::new(c.pose, c.pose, [0.0, 1.0], [0.0; 3])));
        for particle in 0..particles.len() {
            let place = Vec3::from(particles.x.get(particle));
            let thickness = model.thickness()[particle];
            // One that was thrown off during the step has got away from there since, no faster than what threw it made it, or than it is now:
            // whatever slows it down afterwards does not bring it back.
            let thrown = Vec3::from(self.left[0].get(particle)).length();
            let speed = Vec3::from(particles.v.get(particle)).length();
            let fastest = Lane::max(speed, thrown * model.inv_mass()[particle]);
            let reach = if thrown > S::ZERO { Lane::max(margin, buffer + fastest * dt) } else { margin };
            let first = self.rows.len();
            let groups = model.collider_groups(model.body_of(particle as u32));
            for (collider, (solid, placed)) in colliders.solids().iter().zip(&self.placed).enumerate() {
                if !groups.meet(solid.groups) {
                    continue;
                }
                let (inside, _) = placed.enter(place, place, Vec3::zero());
                let Some((phi, normal)) = solid.distance(thickness + reach, inside) else { continue };
                let gap = phi - thickness;
                if gap <= reach {
                    let normal = placed.leave(normal);
                    let event = ContactEvent {
                        phase: ContactPhase::Begin,
                        pair: ContactPair::Collider { particle: particle as u32, collider: collider as u32 },
                        point: (place - normal * phi).into(),
                        normal: normal.into(),
                        gap,
                        impulse: S::ZERO,
                    };
                    self.rows.push(Row {
                        event,
                        particles: [particle as u32; 4],
                        weights: [S::ONE, S::ZERO, S::ZERO, S::ZERO],
                        count: 1,
                    });
                }
            }
            // Of those beyond the margin only the nearest can have been the one.
            let nearest =
                self.rows[first..].iter().map(|row| row.event.gap).fold(reach, |a, b| if b < a { b } else { a });
            let margin = Lane::max(margin, nearest);
            let mut at = first;
            while at < self.rows.len() {
                if self.rows[at].event.gap > margin {
                    self.rows.remove(at);
                } else {
                    at += 1;
                }
            }
        }
    }

    fn touch_surfaces<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        on: &B,
    ) -> Result<(), StepError> {
        let surfaces = model.surfaces();
        if surfaces.is_empty() {
            return Ok(());
        }
        if self.candidates.is_none() {
            self.candidates = Some(super::candidates(model, on)?);
        }
        if self.places.len() != surfaces.particles.len() {
            self.places = Columns::zeros(surfaces.particles.len());
        }
        for (vertex, &particle) in surfaces.particles.iter().enumerate() {
            self.places.set(vertex, particles.x.get(particle as usize));
        }
        let Some(candidates) = &mut self.candidates else { return Ok(()) };
        let reach = surfaces.reach + self.margin;
        candidates.find(&self.places, &self.places, reach, on)?;
        self.near.run(candidates, reach, on);
        self.near.sort();
        for candidate in self.near.near() {
            let Some(row) = meet(model, candidate, &self.places, self.margin) else { continue };
            self.rows.push(row);
        }
        Ok(())
    }

    /// Shares the impulses of particles out among their contacts.
    fn share_out(&mut self) {
        for _ in 0..PASSES {
            for row in &mut self.rows {
                let giver = usize::from(!matches!(row.event.pair, ContactPair::Collider { .. }));
                let left = &mut self.left[giver];
                let n = Vec3::from(row.event.normal);
                let (mut along, mut weight) = (S::ZERO, S::ZERO);
                for k in 0..row.count {
                    let w = row.weights[k];
                    along = along + w * n.dot(left.get(row.particles[k] as usize).into());
                    weight = weight + w * w;
                }
                let before = row.event.impulse;
                row.event.impulse = Lane::max(before + weight.divide_or_zero(along), S::ZERO);
                let change = row.event.impulse - before;
                for k in 0..row.count {
                    let at = row.particles[k] as usize;
                    let rest = Vec3::from(left.get(at)) - n * (change * row.weights[k]);
                    left.set(at, rest.into());
                }
            }
        }
    }

    /// Shares out what is left of the impulses between surfaces: half of a contact's part comes from either partner.
    fn share_rest(&mut self, count: usize) {
        self.weights.clear();
        self.weights.resize(count, S::ZERO);
        let surfaces = |row: &&mut Row<S>| !matches!(row.event.pair, ContactPair::Collider { .. });
        for row in self.rows.iter_mut().filter(surfaces) {
            for (&particle, &w) in row.particles.iter().zip(&row.weights) {
                let sum = &mut self.weights[particle as usize];
                *sum = *sum + w.abs();
            }
        }
        for row in self.rows.iter_mut().filter(surfaces) {
            let n = Vec3::from(row.event.normal);
            let mut rest = S::ZERO;
            for (&particle, &w) in row.particles.iter().zip(&row.weights) {
                let left = n.dot(self.left[1].get(particle as usize).into());
                rest = rest + self.weights[particle as usize].divide_or_zero(w * left);
            }
            row.event.impulse = Lane::max(row.event.impulse + S::from_f64(0.5) * rest, S::ZERO);
        }
    }

    /// New contacts beside those of the step before: both in ascending order.
    fn tell(&mut self) {
        core::mem::swap(&mut self.events, &mut self.before);
        self.events.clear();
        self.rows.sort_unstable_by_key(|row| row.event.pair);
        let mut old = self.before.iter().filter(|event| event.phase != ContactPhase::End).peekable();
        let ended = |event: &ContactEvent<S>| ContactEvent { phase: ContactPhase::End, impulse: S::ZERO, ..*event };
        for row in &self.rows {
            while let Some(gone) = old.next_if(|old| old.pair < row.event.pair) {
                self.events.push(ended(gone));
            }
            let known = old.next_if(|old| old.pair == row.event.pair).is_some();
            let phase = if known { ContactPhase::Persist } else { ContactPhase::Begin };
            self.events.push(ContactEvent { phase, ..row.event });
        }
        self.events.extend(old.map(ended));
    }
}

/// The contact of two primitives, if they touch. Neighbours that are closer than their thickness at rest never do.
fn meet<S: Real>(model: &Model<S>, candidate: &Candidate, places: &Columns<S>, margin: S) -> Option<Row<S>> {
    let surfaces = model.surfaces();
    let now = candidate.pair.closest(&candidate.corners.map(|v| Vec3::from(places.get(v as usize))));
    let distance = now.distance_sq.sqrt();
    let [one, other] = super::owners(model, candidate);
    let full = 0.5 * (surfaces.settings[one as usize].thickness + surfaces.settings[other as usize].thickness);
    let gap = distance - S::from_f64(full);
    if gap > margin || distance <= S::ZERO || super::pair_thickness(model, candidate) < full {
        return None;
    }
    let particles = candidate.corners.map(|v| surfaces.particles[v as usize]);
    let [a, b, c, d] = particles;
    let (pair, first) = match candidate.pair {
        Pair::VertexTriangle => (ContactPair::VertexTriangle { particle: a, triangle: [b, c, d] }, 1),
        Pair::EdgeEdge => (ContactPair::EdgeEdge { first: [a, b], second: [c, d] }, 2),
    };
    let mut point = Vec3::zero();
    for k in first..4 {
        point = point - Vec3::from(places.get(candidate.corners[k] as usize)) * now.weights[k];
    }
    let normal = now.between * (S::ONE / distance);
    let phase = ContactPhase::Begin;
    let event = ContactEvent { phase, pair, point: point.into(), normal: normal.into(), gap, impulse: S::ZERO };
    Some(Row { event, particles, weights: now.weights, count: 4 })
}
