//! The fingerprint of a model: a hash over everything that stays fixed while time runs. Rest shapes that
//! flow enter as they were made: it is taken before they first do.

use super::Model;
use crate::constraint::Constraint;
use crate::constraints::{EnergyVisitor, Set, Visitor};
use crate::energy::Energy;
use crate::lane::Real;
use crate::snapshot::Fingerprint;

pub(super) fn of<S: Real>(model: &Model<S>) -> u64 {
    let mut hash = Fingerprint::new();
    hash.add_name(S::NAME);
    hash.add_reals(&model.inv_mass);
    hash.add_reals(&model.thickness);
    hash.add_all(model.rest.iter().flatten().map(|c| c.to_bits()));
    hash.add_all(model.first.iter().map(|&first| u64::from(first)));
    hash.add_all(model.pins.iter().map(|&pin| u64::from(pin)));
    hash.add_all(model.tether_anchors.iter().map(|&pin| u64::from(pin)));
    hash.add_all(model.triangles.iter().flatten().map(|&corner| u64::from(corner)));
    model.constraints.visit(&mut hash);
    model.constraints.visit_energies(&mut hash);
    for balloon in &model.constraints.balloons {
        hash.add_all(balloon.triangles.iter().flatten().map(|&corner| u64::from(corner)));
        hash.add_reals(&[balloon.compliance, balloon.volume]);
    }
    #[cfg(feature = "collision")]
    {
        hash.add_all(model.surfaces.particles.iter().map(|&vertex| u64::from(vertex)));
        hash.add_all(model.surfaces.owner.iter().map(|&owner| u64::from(owner)));
        hash.add_shown(&model.surfaces.settings);
        hash.add_shown(&model.collider_groups);
    }
    #[cfg(feature = "rigid")]
    model.clusters.identify(&mut hash);
    hash.value()
}

impl<S: Real> Model<S> {
    /// Whether whatever solvers name by a number has the same number in another model: particles, pins, attachments, surfaces and
    /// clusters. What a solver remembers of one model then holds for the other, unless equal bodies changed places.
    pub fn is_numbered_like(&self, other: &Self) -> bool {
        let numbers = |model: &Self| (model.particle_count(), model.constraints.attachment.ids.len());
        #[allow(unused_mut, reason = "there is more to compare in builds with more features")]
        let mut same = numbers(self) == numbers(other)
            && self.pins == other.pins
            && self.constraints.attachment.ids == other.constraints.attachment.ids;
        #[cfg(feature = "collision")]
        {
            let (ours, theirs) = (&self.surfaces, &other.surfaces);
            same &=
                ours.particles == theirs.particles && ours.edges == theirs.edges && ours.triangles == theirs.triangles;
        }
        #[cfg(feature = "rigid")]
        {
            same &= self.clusters.is_packed_like(&other.clusters);
        }
        same
    }
}

impl Fingerprint {
    fn add_rows<S: Real, K, const N: usize, const P: usize>(&mut self, name: &str, set: &Set<S, K, N, P>) {
        self.add_name(name);
        self.add_all(set.ids().iter().flatten().map(|&id| u64::from(id)));
        set.parameters().iter().for_each(|column| self.add_reals(column));
        self.add_reals(set.compliance());
        self.add_reals(set.damping());
        for (&row, law) in set.plastic().rows().iter().zip(set.plastic().laws()) {
            self.add(u64::from(row));
            self.add_reals(&[law.yields_at, law.creep, law.bound]);
        }
    }
}

/// Adds the rows of every set.
impl<S: Real> Visitor<S> for Fingerprint {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        self.add_rows(K::NAME, set);
    }
}

/// Adds the elements of every set, those of the user's own energies too.
impl<S: Real> EnergyVisitor<S> for Fingerprint {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        self.add_rows(E::NAME, set);
    }
}
