//! Projection: positions pushed out of colliders inside the iterations of PBD and XPBD, with static and sliding friction.

use pliant_core::backend::Map;
use pliant_core::lane::{Lane, Real};
use pliant_core::vec3::Vec3;

use super::{Around, respond};

/// Fields x, start.
pub(super) struct Project<'a, S> {
    pub around: Around<'a, S>,
}

impl<S: Real> Project<'_, S> {
    /// x ← x + d n − friction, d the depth: friction takes back at most μ d of the travel along the surface.
    ///
    /// At rest on a slope a substep without contact would sink by d = h² g cos θ and slide by h² g sin θ: the particle
    /// sticks for tan θ ≤ μ and else gains h g (sin θ − μ cos θ), Coulomb's law to rounding.
    #[inline(always)]
    fn respond<L: Lane<Scalar = S>>(
        &self,
        w: L,
        thickness: L,
        origin: Vec3<L>,
        [mut x, start]: [Vec3<L>; 2],
    ) -> [Vec3<L>; 2] {
        let Around { solids, placed, .. } = self.around;
        for i in 0..solids.len() {
            let (solid, placed) = (&solids[i], &placed[i]);
            let (end, travel) = placed.enter(x, start, origin);
            if let Some(contact) = solid.touch(thickness, end, travel) {
                let most = L::splat(solid.friction) * contact.depth;
                let (moved, _) = solid.project(thickness, &contact, most);
                let held = L::both(w.gt(L::zero()), contact.depth.gt(L::zero()));
                x = Vec3::select(held, x + placed.leave(moved), x);
            }
        }
        [x, start]
    }
}

/// Most models have particles of one thickness in one frame: a field less to load.
impl<S: Real> Map<2> for Project<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        self.respond(w, L::splat(self.around.thickness), Vec3::zero(), fields)
    }
}

respond!(Project, 2, 3, [x, start]);
