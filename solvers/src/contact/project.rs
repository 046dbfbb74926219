//! Projection: positions pushed out of colliders inside the iterations of PBD and XPBD, with static and sliding friction.

use pliant_core::backend::{Backend, Light, Map};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::sdf::{Contact, Effort, Placed};
use pliant_core::vec3::Vec3;

use super::Around;

/// Particles pushed out of all colliders, one collider after the other. `GATED` passes ask gates first; where none ever closes that
/// would only cost registers.
pub(super) struct Project<'a, S, const GATED: bool> {
    pub around: Around<'a, S>,
    /// How far particles that began inside come out \[m\].
    pub rise: S,
}

/// A particle's place, and what contact moved it by in this substep so far, for those who ask.
type Place<L> = (Vec3<L>, Option<Vec3<L>>);

impl<S: Real, const GATED: bool> Project<'_, S, GATED> {
    /// A pass over all particles; `given` is what contact gave in the substep so far, for those who ask. Where particles are `alike`
    /// they need no shells.
    pub fn run<B: Backend<Scalar = S>>(
        &self,
        [x, start, shells]: [&mut Field<S>; 3],
        given: Option<&mut Field<S>>,
        alike: bool,
        on: &B,
    ) {
        match given {
            Some(given) => on.map(self, [x, start, shells, given]),
            None if alike => on.map(self, [x, start]),
            None => on.map(self, [x, start, shells]),
        }
    }

    /// x ← x + d n − friction, d the depth: friction takes back at most μ d of the travel along the surface, or what earlier
    /// sweeps of the substep left of it (see [`still_held`]).
    ///
    /// At rest on a slope a substep without contact would sink by d = h² g cos θ and slide by h² g sin θ: the particle
    /// sticks for tan θ ≤ μ and else gains h g (sin θ − μ cos θ), Coulomb's law to rounding.
    #[inline(always)]
    fn respond<L: Lane<Scalar = S>>(
        &self,
        w: L,
        thickness: L,
        origin: Vec3<L>,
        start: Vec3<L>,
        mut place: Place<L>,
    ) -> Place<L> {
        let Around { solids, placed, gates, .. } = self.around;
        for ((solid, placed), gate) in solids.iter().zip(placed).zip(gates) {
            if GATED && !gate.is_open(thickness, place.0, start, origin) {
                continue;
            }
            let (end, travel) = placed.enter(place.0, start, origin);
            if let Some(contact) = solid.touch(thickness, end, travel) {
                let contact = contact.rising(L::splat(self.rise));
                let most = most_held(L::splat(solid.friction), &contact, given_to(placed, place.1));
                let (moved, _) = solid.project(thickness, &contact, most);
                place = moved_by(w, contact.depth, place, placed.leave(moved));
            }
        }
        place
    }

    /// The same where every collider takes a light effort or none.
    #[inline(always)]
    fn respond_light<L: Lane<Scalar = S>>(
        &self,
        w: L,
        thickness: L,
        origin: Vec3<L>,
        start: Vec3<L>,
        mut place: Place<L>,
    ) -> Light<Place<L>> {
        let Around { solids, placed, gates, .. } = self.around;
        let mut touched = false;
        for ((solid, placed), gate) in solids.iter().zip(placed).zip(gates) {
            if GATED && !gate.is_open(thickness, place.0, start, origin) {
                continue;
            }
            let (end, travel) = placed.enter(place.0, start, origin);
            match solid.effort(thickness, end, travel) {
                Effort::None => {}
                Effort::Light => {
                    if let Some(contact) = solid.touch_light(thickness, end, travel) {
                        let contact = contact.rising(L::splat(self.rise));
                        let most = most_held(L::splat(solid.friction), &contact, given_to(placed, place.1));
                        let (moved, _) = contact.resolve(most);
                        place = moved_by(w, contact.depth, place, placed.leave(moved));
                        touched = true;
                    }
                }
                Effort::Full => return Light::Rare,
            }
        }
        if touched { Light::Done(place) } else { Light::Idle }
    }
}

/// What contact gave so far, as the collider sees it.
#[inline(always)]
fn given_to<L: Lane>(placed: &Placed<L::Scalar>, given: Option<Vec3<L>>) -> Option<Vec3<L>> {
    match given {
        Some(given) => Some(placed.turn(given)),
        None => None,
    }
}

/// The most that friction of a collider may take back.
#[inline(always)]
fn most_held<L: Lane>(friction: L, contact: &Contact<L>, given: Option<Vec3<L>>) -> L {
    match given {
        Some(given) => still_held(friction, contact.normal, contact.depth, given),
        None => friction * contact.depth,
    }
}

/// The most that friction may take back of a travel along a surface in one of a substep's sweeps \[m\].
///
/// Coulomb's law holds for the substep as a whole. Of what contact gave in its earlier sweeps, g, the part along n pressed and the
/// rest held already:
/// ```text
///   most = max(μ d, μ (g·n + d) − |g − n (g·n)|)
/// ```
/// With μ d alone later sweeps, which press little, could not hold against what constraints move in them: loads would creep.
/// Of several colliders g is the sum: in a corner what a wall gave counts as held on the floor, and there most is μ d as a rule.
#[inline(always)]
pub(super) fn still_held<L: Lane>(friction: L, normal: Vec3<L>, depth: L, given: Vec3<L>) -> L {
    let pressed = given.dot(normal);
    (friction * depth).max(friction * (pressed + depth) - (given - normal * pressed).length())
}

/// Free particles in contact move, the others stay.
#[inline(always)]
fn moved_by<L: Lane>(w: L, depth: L, (x, given): Place<L>, moved: Vec3<L>) -> Place<L> {
    let moves = L::both(w.gt(L::zero()), depth.gt(L::zero()));
    let given = match given {
        Some(given) => Some(Vec3::select(moves, given + moved, given)),
        None => None,
    };
    (Vec3::select(moves, x + moved, x), given)
}

/// Fields x, start: most models have particles of one thickness in one frame.
impl<S: Real, const GATED: bool> Map<2> for Project<'_, S, GATED> {
    type Scalar = S;
    const WRITES: [bool; 2] = [true, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, start]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        let (x, _) = self.respond(w, L::splat(self.around.thickness), Vec3::zero(), start, (x, None));
        [x, start]
    }
    #[inline(always)]
    fn light<L: Lane<Scalar = S>>(&self, w: [L; 2], [x, start]: [Vec3<L>; 2]) -> Light<[Vec3<L>; 2]> {
        match self.respond_light(w[0], L::splat(self.around.thickness), Vec3::zero(), start, (x, None)) {
            Light::Done((x, _)) => Light::Done([x, start]),
            Light::Idle => Light::Idle,
            Light::Rare => Light::Rare,
        }
    }
}

/// Fields x, start, shells.
impl<S: Real, const GATED: bool> Map<3> for Project<'_, S, GATED> {
    type Scalar = S;
    const WRITES: [bool; 3] = [true, false, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        self.apply_weighted([w; 3], fields)
    }
    #[inline(always)]
    fn apply_weighted<L: Lane<Scalar = S>>(&self, w: [L; 3], [x, start, origin]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        let (x, _) = self.respond(w[0], w[2], origin, start, (x, None));
        [x, start, origin]
    }
    #[inline(always)]
    fn light<L: Lane<Scalar = S>>(&self, w: [L; 3], [x, start, origin]: [Vec3<L>; 3]) -> Light<[Vec3<L>; 3]> {
        match self.respond_light(w[0], w[2], origin, start, (x, None)) {
            Light::Done((x, _)) => Light::Done([x, start, origin]),
            Light::Idle => Light::Idle,
            Light::Rare => Light::Rare,
        }
    }
}

/// Fields x, start, shells, and what contact gave in the substep so far: for methods that sweep more than once.
impl<S: Real, const GATED: bool> Map<4> for Project<'_, S, GATED> {
    type Scalar = S;
    const WRITES: [bool; 4] = [true, false, false, true];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; 4]) -> [Vec3<L>; 4] {
        self.apply_weighted([w; 4], fields)
    }
    #[inline(always)]
    fn apply_weighted<L: Lane<Scalar = S>>(&self, w: [L; 4], [x, start, origin, given]: [Vec3<L>; 4]) -> [Vec3<L>; 4] {
        let (x, after) = self.respond(w[0], w[2], origin, start, (x, Some(given)));
        [x, start, origin, after.unwrap_or(given)]
    }
    #[inline(always)]
    fn light<L: Lane<Scalar = S>>(&self, w: [L; 4], [x, start, origin, given]: [Vec3<L>; 4]) -> Light<[Vec3<L>; 4]> {
        match self.respond_light(w[0], w[2], origin, start, (x, Some(given))) {
            Light::Done((x, after)) => Light::Done([x, start, origin, after.unwrap_or(given)]),
            Light::Idle => Light::Idle,
            Light::Rare => Light::Rare,
        }
    }
}
