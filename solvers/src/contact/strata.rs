//! Groups: which colliders a particle meets.
//!
//! Colliders in a row that the same bodies meet are one stratum, and get a pass of their own. Bodies that do not meet them have a
//! shell there that is thinner than nothing: no distance is below it, and kernels need not know about groups. Where everybody
//! meets everybody there are no strata, and one pass over all colliders as ever.

use core::ops::Range;

use pliant_core::collide::Groups;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;

/// A thickness that touches nothing \[m\]: far below 0, and far from the largest number of single precision.
const NOWHERE: f64 = -1e30;

/// The strata of a model's colliders.
#[derive(Clone, Debug)]
pub(crate) struct Strata<S> {
    /// The groups of the colliders that this was made for.
    made_for: Vec<Groups>,
    list: Vec<Stratum<S>>,
}

/// Colliders that the same bodies meet.
#[derive(Clone, Debug)]
struct Stratum<S> {
    colliders: Range<usize>,
    /// As the shells of all particles, but for the thickness of those that meet none of these.
    shells: Field<S>,
}

impl<S: Real> Strata<S> {
    pub fn new(model: &Model<S>, shells: &Field<S>) -> Self {
        let groups: Vec<Groups> = model.colliders().solids().iter().map(|solid| solid.groups).collect();
        let meeting = |collider: usize| {
            let meets = |body| model.collider_groups(body).meet(groups[collider]);
            (0..model.body_count()).map(meets).collect::<Vec<bool>>()
        };
        let mut list: Vec<Stratum<S>> = Vec::new();
        let mut last = Vec::new();
        for collider in 0..groups.len() {
            let now = meeting(collider);
            match list.last_mut().filter(|_| now == last) {
                Some(stratum) => stratum.colliders.end = collider + 1,
                None => {
                    let mut shells = shells.clone();
                    for body in (0..now.len()).filter(|&body| !now[body]) {
                        for particle in model.body(body).unwrap_or_default() {
                            shells.set(model.plan().slots()[particle] as usize, 3, S::from_f64(NOWHERE));
                        }
                    }
                    list.push(Stratum { colliders: collider..collider + 1, shells });
                    last = now;
                }
            }
        }
        if list.len() <= 1 && last.iter().all(|&meets| meets) {
            list.clear();
        }
        Self { made_for: groups, list }
    }

    /// Whether colliders have other groups than they had.
    pub fn is_outdated(&self, model: &Model<S>) -> bool {
        let solids = model.colliders().solids();
        !solids.iter().map(|solid| &solid.groups).eq(&self.made_for)
    }

    /// Whether everybody meets everybody.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// Passes over the particles that it takes to meet all colliders.
    pub fn passes(&self) -> usize {
        self.list.len().max(1)
    }
    /// The colliders and shells of a pass; nothing where one pass meets all.
    pub fn pass(&mut self, pass: usize) -> Option<(Range<usize>, &mut Field<S>)> {
        self.list.get_mut(pass).map(|stratum| (stratum.colliders.clone(), &mut stratum.shells))
    }
    /// Moves the origin of a slot's frame.
    pub fn set_origin(&mut self, slot: usize, origin: [S; 3]) {
        self.list.iter_mut().for_each(|stratum| stratum.shells.set_vector(slot, origin));
    }
    /// Whether the particle in a slot meets a collider.
    #[cfg(feature = "linear")]
    pub fn meets(&self, slot: u32, collider: usize) -> bool {
        let stratum = self.list.iter().find(|stratum| stratum.colliders.contains(&collider));
        stratum.is_none_or(|stratum| stratum.shells.get(slot as usize, 3) >= S::ZERO)
    }
}
