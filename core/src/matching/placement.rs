//! Placements: where the rest shapes of clusters are, for whoever draws something there.

use ultraviolet::{DRotor3, DVec3};

use super::bundle::{Bundle, Clusters};
use super::formula::Sums;
use crate::columns::Particles;
use crate::lane::{BLOCK, Real};
use crate::polar;
use crate::vec3::Vec3;

/// Where a cluster's rest shape is: a point p of the body at rest stands at `turn * (p − rest centre) + centre`.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// Centre of mass \[m\].
    pub centre: DVec3,
    /// The rotation that fits best.
    pub turn: DRotor3,
}

impl<S: Real> Clusters<S> {
    /// The place of every cluster, in the order of the bodies and of their clusters. What cannot be told from the particles, such
    /// as the turn of a straight row about itself, is chosen somehow.
    pub fn placements(&self, particles: &Particles<S>) -> Vec<Placement> {
        let nowhere = Placement { centre: DVec3::zero(), turn: DRotor3::identity() };
        let mut placements = vec![nowhere; self.len()];
        self.plain.iter().for_each(|bundle| bundle.place(particles, &mut placements));
        self.quadratic.iter().for_each(|bundle| bundle.place(particles, &mut placements));
        placements
    }
}

impl<S: Real, const Q: usize> Bundle<S, Q> {
    fn place(&self, particles: &Particles<S>, placements: &mut [Placement]) {
        for (c, &row) in self.rows.iter().enumerate() {
            let members = &self.places[self.first_member[c]..self.first_member[c + 1]];
            let at = |particle: u32| Vec3::from(particles.x.get(particle as usize).map(S::to_f64));
            let anchor = at(members[0][0]);
            let mut sums = Sums::<f64, 0>::zero();
            for &[particle, place] in members {
                let (member, lane) = (&self.members[place as usize / BLOCK], place as usize % BLOCK);
                let [x, y, z] = member.rest.map(|axis| axis.0[lane].to_f64());
                sums.add(member.weight.0[lane].to_f64(), at(particle) - anchor, Vec3::new(x, y, z), &[]);
            }
            // The sums refer to the principal axes of the rest shape.
            let turn = polar::rotation(sums.linear) * self.axes[c].transpose();
            let centre = <[f64; 3]>::from(anchor + sums.centre).into();
            placements[row as usize] = Placement { centre, turn: polar::rotor(turn) };
        }
    }
}
