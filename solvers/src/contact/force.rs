//! Forces: penalties of the distance for explicit methods, with friction that can hold.   [METHODS 10; R 27–30]

use pliant_core::backend::Map;
use pliant_core::lane::{Lane, Real};
use pliant_core::sdf::Penalty;
use pliant_core::vec3::Vec3;

use super::{Around, respond};

/// Fields x, v, force.
pub(super) struct Force<'a, S> {
    pub around: Around<'a, S>,
    pub penalty: Penalty,
    pub h: S,
    pub inv_h: S,
    pub keep: S,
    pub gravity: [S; 3],
}

impl<S: Real> Force<'_, S> {
    /// The penalty's force along the normal; against the sliding velocity u that the substep would end with, the smaller of
    /// μ times it and what stops the particle, |u|/(h w): so that friction holds below Coulomb's limit.
    #[inline(always)]
    fn respond<L: Lane<Scalar = S>>(
        &self,
        w: L,
        thickness: L,
        origin: Vec3<L>,
        [x, v, mut force]: [Vec3<L>; 3],
    ) -> [Vec3<L>; 3] {
        let zero = L::zero();
        let h = L::splat(self.h);
        let Around { solids, placed, .. } = self.around;
        for i in 0..solids.len() {
            let (solid, placed) = (&solids[i], &placed[i]);
            let (end, _) = placed.enter(x, x, origin);
            let Some((phi, n)) = solid.distance(thickness + L::constant(self.penalty.reach()), end) else { continue };
            let (push, _) = self.penalty.push(phi - thickness);
            let n = placed.leave(n);
            let pushed = force + n * push;
            // Positions have not advanced yet: x is where the substep begins.
            let surface = placed.surface_travel_from(x, origin) * L::splat(self.inv_h);
            let after = v * L::splat(self.keep) + (pushed * w + Vec3::splat(self.gravity)) * h - surface;
            let slide = after - n * after.dot(n);
            let length = slide.length();
            let stop = (h * w).divide_or_zero(length);
            let hold = stop.min(L::splat(solid.friction) * push);
            let hit = L::both(w.gt(zero), push.gt(zero));
            force = Vec3::select(hit, pushed - slide * length.divide_or_zero(hold), force);
        }
        [x, v, force]
    }
}

respond!(Force, 3, 4, [x: false, v: false, force: true]);
