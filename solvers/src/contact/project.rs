//! Projection: positions pushed out of colliders inside the iterations of PBD and XPBD, with static and sliding friction.

use pliant_core::backend::{Light, Map};
use pliant_core::lane::{Lane, Real};
use pliant_core::sdf::Effort;
use pliant_core::vec3::Vec3;

use super::Around;

/// Fields x, start.
pub(super) struct Project<'a, S> {
    pub around: Around<'a, S>,
    /// How far particles that began inside come out \[m\].
    pub rise: S,
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
        for (solid, placed) in solids.iter().zip(placed) {
            let (end, travel) = placed.enter(x, start, origin);
            if let Some(contact) = solid.touch(thickness, end, travel) {
                let contact = contact.rising(L::splat(self.rise));
                let (moved, _) = solid.project(thickness, &contact, L::splat(solid.friction) * contact.depth);
                x = held(w, contact.depth, x, placed.leave(moved));
            }
        }
        [x, start]
    }

    /// The same where every collider takes a light effort or none.
    #[inline(always)]
    fn respond_light<L: Lane<Scalar = S>>(
        &self,
        w: L,
        thickness: L,
        origin: Vec3<L>,
        [mut x, start]: [Vec3<L>; 2],
    ) -> Light<Vec3<L>> {
        let Around { solids, placed, .. } = self.around;
        let mut touched = false;
        for (solid, placed) in solids.iter().zip(placed) {
            let (end, travel) = placed.enter(x, start, origin);
            match solid.effort(thickness, end, travel) {
                Effort::None => {}
                Effort::Light => {
                    if let Some(contact) = solid.touch_light(thickness, end, travel) {
                        let contact = contact.rising(L::splat(self.rise));
                        let (moved, _) = contact.resolve(L::splat(solid.friction) * contact.depth);
                        x = held(w, contact.depth, x, placed.leave(moved));
                        touched = true;
                    }
                }
                Effort::Full => return Light::Rare,
            }
        }
        if touched { Light::Done(x) } else { Light::Idle }
    }
}

/// Free particles in contact move, the others stay.
#[inline(always)]
fn held<L: Lane>(w: L, depth: L, x: Vec3<L>, moved: Vec3<L>) -> Vec3<L> {
    Vec3::select(L::both(w.gt(L::zero()), depth.gt(L::zero())), x + moved, x)
}

/// Most models have particles of one thickness in one frame: a field less to load.
impl<S: Real> Map<2> for Project<'_, S> {
    type Scalar = S;
    const WRITES: [bool; 2] = [true, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        self.respond(w, L::splat(self.around.thickness), Vec3::zero(), fields)
    }
    #[inline(always)]
    fn light<L: Lane<Scalar = S>>(&self, w: [L; 2], fields: [Vec3<L>; 2]) -> Light<[Vec3<L>; 2]> {
        match self.respond_light(w[0], L::splat(self.around.thickness), Vec3::zero(), fields) {
            Light::Done(x) => Light::Done([x, fields[1]]),
            Light::Idle => Light::Idle,
            Light::Rare => Light::Rare,
        }
    }
}

impl<S: Real> Map<3> for Project<'_, S> {
    type Scalar = S;
    const WRITES: [bool; 3] = [true, false, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        self.apply_weighted([w; 3], fields)
    }
    #[inline(always)]
    fn apply_weighted<L: Lane<Scalar = S>>(&self, w: [L; 3], [x, start, origin]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        let [x, start] = self.respond(w[0], w[2], origin, [x, start]);
        [x, start, origin]
    }
    #[inline(always)]
    fn light<L: Lane<Scalar = S>>(&self, w: [L; 3], [x, start, origin]: [Vec3<L>; 3]) -> Light<[Vec3<L>; 3]> {
        match self.respond_light(w[0], w[2], origin, [x, start]) {
            Light::Done(x) => Light::Done([x, start, origin]),
            Light::Idle => Light::Idle,
            Light::Rare => Light::Rare,
        }
    }
}
