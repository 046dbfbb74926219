//! Surfaces on their way: straight moves, and the proof that they are free of contact.

use pliant_core::backend::Backend;
use pliant_core::collide::ccd::CcdOptions;
use pliant_core::collide::{CollideError, ContactSearch, MeshCandidates, NearSearch};
use pliant_core::columns::Columns;
use pliant_core::error::StepError;
use pliant_core::lane::Real;
use pliant_core::model::Model;

/// Continuous detection keeps this share of every distance: what rounding takes is far less.
pub(super) const KEEP: f64 = 0.1;
/// Attempts to go a shorter way before staying.
const RETREATS: usize = 12;

/// Positions by vertex of a model's surfaces, and what finds contacts between them.
#[derive(Clone, Debug)]
pub(crate) struct Path<S> {
    /// Built in the first step, which brings a backend.
    pub candidates: Option<MeshCandidates<S>>,
    pub search: ContactSearch,
    pub near: NearSearch,
    /// Where each vertex was at first, where it is, where it tries to go, and where it would like to be in the end.
    pub start: Columns<S>,
    pub now: Columns<S>,
    pub next: Columns<S>,
    pub target: Columns<S>,
}

impl<S: Real> Path<S> {
    pub fn new(model: &Model<S>) -> Self {
        let zeros = || Columns::zeros(model.surfaces().particles.len());
        let (search, near) = (ContactSearch::new(), NearSearch::new());
        Self { candidates: None, search, near, start: zeros(), now: zeros(), next: zeros(), target: zeros() }
    }

    /// Refuses surfaces that pass through each other, at `now`.
    pub fn check_start<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) -> Result<(), StepError> {
        let surfaces = model.surfaces();
        if self.candidates.is_none() {
            self.candidates = Some(crate::contact::candidates(model, on)?);
        }
        let found = surfaces.piercings(&self.now, on)?;
        let Some(first) = found.first() else { return Ok(()) };
        let particle = |vertex: u32| surfaces.particles[vertex as usize];
        let (edge, triangle) = (first.edge.map(particle), first.triangle.map(particle));
        Err(StepError::Intersecting { edge, triangle, count: found.len() })
    }

    /// Whether the way from `now` to `next` is free of contact; when not, the part of it that surely is. Candidates within
    /// `reach` of it are found on the way.
    pub fn free<B: Backend<Scalar = S>>(&mut self, reach: S, on: &B) -> Result<f64, CollideError> {
        let Some(candidates) = &mut self.candidates else { return Ok(0.0) };
        candidates.find(&self.now, &self.next, reach, on)?;
        self.search.run(candidates, &CcdOptions { keep: KEEP, ..CcdOptions::default() }, on);
        Ok(if self.search.contacts().is_empty() { 1.0 } else { self.search.earliest() })
    }

    /// Keeps the candidates of the way that was just looked at that may be within `reach` at its end.
    pub fn find_near<B: Backend<Scalar = S>>(&mut self, reach: S, on: &B) {
        if let Some(candidates) = &self.candidates {
            self.near.run(candidates, reach, on);
        }
    }

    /// next = now + share (next − now).
    fn shorten(&mut self, share: f64) {
        let share = S::from_f64(share);
        let Self { now, next, .. } = self;
        for (now, next) in [(&now.x, &mut next.x), (&now.y, &mut next.y), (&now.z, &mut next.z)] {
            for (now, next) in now.iter().zip(next) {
                *next = *now + (*next - *now) * share;
            }
        }
    }

    /// Shortens the way until it is free; returns how much of it is left, 0 to stay.
    pub fn retreat<B: Backend<Scalar = S>>(&mut self, reach: S, on: &B) -> Result<f64, CollideError> {
        let mut left = 1.0;
        for _ in 0..RETREATS {
            let free = self.free(reach, on)?;
            if free >= 1.0 {
                return Ok(left);
            }
            left *= free;
            if left <= 1e-9 || left.is_nan() {
                break;
            }
            self.shorten(free);
        }
        Ok(0.0)
    }

    pub fn accept(&mut self) {
        core::mem::swap(&mut self.now, &mut self.next);
    }

    /// The largest coordinate, of where vertices are and of where they would like to be \[m\].
    pub fn farthest(&self) -> f64 {
        self.now.iter().chain(self.target.iter()).flatten().fold(0.0, |most, x| most.max(x.to_f64().abs()))
    }

    /// The largest distance to a target \[m\].
    pub fn remaining(&self) -> f64 {
        let apart = |(a, b): ([S; 3], [S; 3])| (0..3).map(|k| (a[k] - b[k]).to_f64().powi(2)).sum::<f64>();
        self.now.iter().zip(self.target.iter()).map(apart).fold(0.0, f64::max).sqrt()
    }
}
