//! Impulses: positions pushed out and velocities reflected, for explicit methods.   [METHODS 10; R 31–33]

use pliant_core::backend::Map;
use pliant_core::lane::{Lane, Real};
use pliant_core::vec3::Vec3;

use super::{Around, respond};

/// Fields x, v; positions have advanced by h v.
pub(super) struct Impulse<'a, S> {
    pub around: Around<'a, S>,
    pub h: S,
    pub inv_h: S,
    pub rest: S,
}

impl<S: Real> Impulse<'_, S> {
    /// Only when approaching, relative to the surface, with a = −v · n:
    /// ```text
    ///   v_N ← e a,   v_T ← max(1 − μ (1 + e) a/|v_T|, 0) v_T
    /// ```
    /// The position goes to the surface, and loses what the new v_T would not have travelled: else a particle at rest on a
    /// slope would creep by h² g sin θ a substep.
    #[inline(always)]
    fn respond<L: Lane<Scalar = S>>(
        &self,
        w: L,
        thickness: L,
        origin: Vec3<L>,
        [mut x, mut v]: [Vec3<L>; 2],
    ) -> [Vec3<L>; 2] {
        let zero = L::zero();
        let (h, inv_h) = (L::splat(self.h), L::splat(self.inv_h));
        let Around { solids, placed, .. } = self.around;
        for i in 0..solids.len() {
            let (solid, placed) = (&solids[i], &placed[i]);
            let (end, travel) = placed.enter(x, x - v * h, origin);
            if let Some(contact) = solid.touch(thickness, end, travel) {
                let approach = (-contact.normal.dot(travel) * inv_h).max(zero);
                let e = L::select(approach.gt(L::splat(self.rest)), L::splat(solid.restitution), zero);
                let stop = (L::one() + e) * approach;
                let (moved, held) = solid.project(thickness, &contact, L::splat(solid.friction) * stop * h);
                let change = contact.normal * stop - held * inv_h;
                let hit = L::both(w.gt(zero), contact.depth.gt(zero));
                x = Vec3::select(hit, x + placed.leave(moved), x);
                v = Vec3::select(hit, v + placed.leave(change), v);
            }
        }
        [x, v]
    }
}

respond!(Impulse, 2, 3, [x: true, v: true]);
