//! Rebound: restitution after positions were solved.   [Müller20, section 3.6]

use core::marker::PhantomData;

use pliant_core::backend::Map;
use pliant_core::lane::{Lane, Real};
use pliant_core::vec3::Vec3;

use super::{Around, respond};

/// Fields v, kept: kept ← v.
pub(super) struct Keep<S>(PhantomData<S>);

impl<S> Default for Keep<S> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<S: Real> Map<2> for Keep<S> {
    type Scalar = S;
    const WRITES: [bool; 2] = [false, true];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [v, _]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [v, v]
    }
}

/// Fields x, v, kept: v as positions gave it, kept as it was predicted.
pub(super) struct Rebound<'a, S> {
    pub around: Around<'a, S>,
    pub h: S,
    pub inv_h: S,
    pub rest: S,
}

/// A particle counts as stopped by a collider when this share of its approach is all that is left of the gap.
const STOPPED: f64 = 0.1;

impl<S: Real> Rebound<'_, S> {
    /// Where a particle that approached with speed a was stopped, its normal velocity becomes e a, and friction takes
    /// up to μ times that change from its sliding; projection did the same for the stop itself. All relative to the surface.
    #[inline(always)]
    fn respond<L: Lane<Scalar = S>>(
        &self,
        w: L,
        thickness: L,
        origin: Vec3<L>,
        [x, mut v, kept]: [Vec3<L>; 3],
    ) -> [Vec3<L>; 3] {
        let zero = L::zero();
        let Around { solids, placed, .. } = self.around;
        for i in 0..solids.len() {
            let (solid, placed) = (&solids[i], &placed[i]);
            let (end, _) = placed.enter(x, x, origin);
            let Some((phi, n)) = solid.distance(thickness + L::splat(self.h) * kept.length(), end) else { continue };
            let surface = placed.surface_travel_to(x, origin) * L::splat(self.inv_h);
            let approach = -placed.turn(kept - surface).dot(n);
            let gap = phi - thickness;
            let stopped = (approach * L::constant(STOPPED) * L::splat(self.h)).ge(gap);
            let relative = placed.turn(v - surface);
            let along = relative.dot(n);
            let change = L::splat(solid.restitution) * approach - along;
            let hit = L::both(L::both(stopped, approach.gt(L::splat(self.rest))), L::both(change.gt(zero), w.gt(zero)));
            let slide = relative - n * along;
            let length = slide.length();
            let most = L::splat(solid.friction) * change;
            let share = L::select(most.ge(length), L::one(), length.divide_or_zero(most));
            let bounces = solid.restitution > S::ZERO;
            let changed = v + placed.leave(n * change - slide * share);
            v = if bounces { Vec3::select(hit, changed, v) } else { v };
        }
        [x, v, kept]
    }
}

respond!(Rebound, 3, 4, [x: false, v: true, kept: false]);
