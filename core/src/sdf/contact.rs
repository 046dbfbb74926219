//! Contact: where a particle's path over a substep meets a moving collider, and where friction lets it end.
//!
//! Everything happens in the collider's own frame, in which the shape stands still and the particle travels from q₀ to q₁,
//! taken as a straight line: the pose may move and turn as it likes, the chain of such lines is continuous, and a particle
//! whose lines never cross the surface never gets through.

use super::collider::Solid;
use super::pose::{Frame, Pose};
use super::program::Survey;
use crate::lane::{Lane, Real};
use crate::vec3::Vec3;

/// Evaluations of φ along a path before it counts as blocked where it is: conservative advancement gets close by then,
/// or the path grazes the surface.
const MARCH: usize = 48;
/// A path touches when the gap is below this share of the shape's stride.
const TOUCH: f64 = 0.05;
/// Share of a path's length by which it must lose height to count as running into a surface beside it.
const APPROACH: f64 = 0.01;

/// How deep a path along a surface may scratch it, as a share of the stride.
const SCRATCH: f64 = 0.25;
/// The depth, as a share of the stride, that a path gets when it was not seen to its end.
const UNSEEN: f64 = 1e-6;

/// A collider's motion over one substep.
#[derive(Clone, Copy, Debug)]
pub struct Placed<S> {
    start: Frame<S>,
    end: Frame<S>,
    moves: bool,
}

/// What [`Solid::touch`] takes for some lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Nothing: the collider is out of reach.
    None,
    /// One look at the end of the path, at a shape with a simple formula: [`Solid::touch_light`].
    Light,
    /// Anything.
    Full,
}

/// A contact in the collider's frame; lanes that touch nothing have a depth of 0 or less.
#[derive(Clone, Copy, Debug)]
pub struct Contact<L> {
    /// Unit normal, out of the collider.
    pub normal: Vec3<L>,
    /// How far the particle has to move along the normal \[m\].
    pub depth: L,
    /// The particle's travel relative to the collider over the substep \[m\].
    pub travel: Vec3<L>,
    /// The particle's place at the end of the substep, as it came \[m\].
    end: Vec3<L>,
    /// The first contact, or `end` \[m\].
    point: Vec3<L>,
    /// Whether any lane's path was followed to its first contact.
    followed: bool,
}

impl<L: Lane> Contact<L> {
    /// At the end of a path, where φ and ∇φ are known.
    #[inline(always)]
    fn at(thickness: L, end: Vec3<L>, travel: Vec3<L>, (phi, normal): (L, Vec3<L>)) -> Option<Self> {
        let depth = thickness - phi;
        if !L::any(depth.gt(L::zero())) {
            return None;
        }
        Some(Self { normal, depth, travel, end, point: end, followed: false })
    }

    /// The same, but that particles which began inside come out by no more than `rise` \[m\]. Whoever began outside is as deep as it
    /// came, depth ≤ −travel · n, and is not concerned.
    #[inline(always)]
    pub fn rising(self, rise: L) -> Self {
        Self { depth: self.depth.min(rise - self.travel.dot(self.normal)), ..self }
    }

    /// [`Solid::project`] for contacts whose path was not followed.
    #[inline(always)]
    pub fn resolve(&self, most: L) -> (Vec3<L>, Vec3<L>) {
        let slide = self.travel - self.normal * self.travel.dot(self.normal);
        let (square, out) = (slide.length_sq(), self.normal * self.depth);
        // Cloth at rest sticks everywhere: then there is nothing to divide.
        let slips = L::both(square.gt(most * most), self.depth.gt(L::zero()));
        if !L::any(slips) {
            return (out - slide, slide);
        }
        let held = slide * L::select(slips, most / L::select(slips, square.sqrt(), L::one()), L::one());
        (out - held, held)
    }
}

impl<S: Real> Placed<S> {
    /// The part of a step from `t0` to `t1` (0 to 1) of a collider on its way between two poses, seen from `origin`.
    pub fn new(from: Pose, to: Pose, [t0, t1]: [f64; 2], origin: [f64; 3]) -> Self {
        let at = |t: f64| {
            let pose = if t >= 1.0 { to } else { from.towards(to, t) };
            Frame::new(pose, origin)
        };
        let (start, end) = (at(t0), at(t1));
        Self { start, end, moves: start != end }
    }

    /// A place of the collider's frame at the end.
    pub(super) fn at_end(&self, place: Vec3<S>) -> Vec3<S> {
        self.end.leave(place, Vec3::zero())
    }
    /// Whether entering its frame is a subtraction.
    pub(super) fn is_level(&self) -> bool {
        !self.moves && !self.end.is_turned()
    }
    /// How far its frame moves \[m\], and how much it turns: no place of length 1 by more than this.
    pub(super) fn motion(&self) -> [f64; 2] {
        if self.moves { self.start.apart(&self.end) } else { [0.0; 2] }
    }

    /// Where a particle that went from `start` to `x` stands and went in the collider's frame. Places are measured from
    /// the frame's origin plus `origin`.
    #[inline(always)]
    pub fn enter<L: Lane<Scalar = S>>(&self, x: Vec3<L>, start: Vec3<L>, origin: Vec3<L>) -> (Vec3<L>, Vec3<L>) {
        let end = self.end.enter(x, origin);
        if self.moves { (end, end - self.start.enter(start, origin)) } else { (end, self.end.unturn(x - start)) }
    }
    /// A difference of places in the collider's frame as the world sees it.
    #[inline(always)]
    pub fn leave<L: Lane<Scalar = S>>(&self, d: Vec3<L>) -> Vec3<L> {
        self.end.turn(d)
    }
    /// A difference of places in the world as the collider sees it.
    #[inline(always)]
    pub fn turn<L: Lane<Scalar = S>>(&self, d: Vec3<L>) -> Vec3<L> {
        self.end.unturn(d)
    }
    /// How far the collider's material that is at x when the substep begins moves over it \[m\]. Not the way of what ends at x: on a
    /// collider that turns by ω h the two differ by ω² r h².
    #[inline(always)]
    pub fn surface_travel_from<L: Lane<Scalar = S>>(&self, x: Vec3<L>, origin: Vec3<L>) -> Vec3<L> {
        if !self.moves {
            return Vec3::zero();
        }
        self.end.leave(self.start.enter(x, origin), origin) - x
    }
    /// How far the collider's material that is at x when the substep ends moved over it \[m\].
    #[inline(always)]
    pub fn surface_travel_to<L: Lane<Scalar = S>>(&self, x: Vec3<L>, origin: Vec3<L>) -> Vec3<L> {
        if !self.moves {
            return Vec3::zero();
        }
        x - self.start.leave(self.end.enter(x, origin), origin)
    }
}

impl<S: Real> Solid<S> {
    /// Which lanes may touch the collider: those whose path's box comes within `reach` of the box around it \[m\].
    #[inline(always)]
    fn near<L: Lane<Scalar = S>>(&self, reach: L, end: Vec3<L>, travel: Vec3<L>) -> L::Mask {
        let (d, half) = (end - Vec3::splat(self.centre), Vec3::splat(self.half));
        let x = d.x.abs() - travel.x.abs() - half.x;
        let y = d.y.abs() - travel.y.abs() - half.y;
        let z = d.z.abs() - travel.z.abs() - half.z;
        reach.ge(x.max(y).max(z))
    }

    /// The contact of particles of this thickness that travelled by `travel` and ended at `end`; nothing where no lane has
    /// one.
    ///
    /// A slow particle is judged at its end. One that travels farther than the shape is thick is followed from where it
    /// came: φ changes no faster than the path is long, so that the path is free for φ − thickness metres (conservative
    /// advancement). At the first contact a tangent plane stops it:
    /// ```text
    ///   depth = thickness − φ(c) − (q₁ − c) · n,      n = ∇φ(c)                          [METHODS 10; C 47–48]
    /// ```
    #[inline(always)]
    pub fn touch<L: Lane<Scalar = S>>(&self, thickness: L, end: Vec3<L>, travel: Vec3<L>) -> Option<Contact<L>> {
        let near = self.near(thickness, end, travel);
        if !L::any(near) {
            return None;
        }
        let fast = L::both(near, self.fast(travel));
        if self.continuous && L::any(fast) {
            return self.follow(thickness, end, travel, fast);
        }
        Contact::at(thickness, end, travel, self.program.eval(end))
    }

    /// What [`Solid::touch`] will take for these lanes.
    #[inline(always)]
    pub fn effort<L: Lane<Scalar = S>>(&self, thickness: L, end: Vec3<L>, travel: Vec3<L>) -> Effort {
        if !self.bounded {
            // A plane, or something made of one: within reach of everything.
            return if self.simple { Effort::Light } else { Effort::Full };
        }
        if self.round && !L::any(self.fast(travel)) {
            // Slow particles are judged at their end, and squares tell who is within reach of a ball there.
            let reach = (L::splat(self.half[0]) + thickness) * L::constant(1.0 + 1e-5);
            let square = (end - Vec3::splat(self.centre)).length_sq();
            return if L::any((reach * reach).ge(square)) { Effort::Light } else { Effort::None };
        }
        let near = self.near(thickness, end, travel);
        if !L::any(near) {
            return Effort::None;
        }
        if !self.simple || self.continuous && L::any(L::both(near, self.fast(travel))) {
            return Effort::Full;
        }
        Effort::Light
    }

    /// The same as [`Solid::touch`] where that takes a light effort.
    #[inline(always)]
    pub fn touch_light<L: Lane<Scalar = S>>(&self, thickness: L, end: Vec3<L>, travel: Vec3<L>) -> Option<Contact<L>> {
        Contact::at(thickness, end, travel, self.program.eval_simple(end))
    }

    /// Which lanes travelled farther than the shape is thick.
    #[inline(always)]
    fn fast<L: Lane<Scalar = S>>(&self, travel: Vec3<L>) -> L::Mask {
        let feature = L::splat(self.feature);
        travel.length_sq().gt(feature * feature)
    }

    /// The same where some lanes are fast. Apart from the slow way on purpose: the loop keeps nothing in registers.
    #[inline(always)]
    fn follow<L: Lane<Scalar = S>>(
        &self,
        thickness: L,
        end: Vec3<L>,
        travel: Vec3<L>,
        fast: L::Mask,
    ) -> Option<Contact<L>> {
        let one = L::one();
        let length = travel.length();
        let slack = rounding(end, length);
        let mut s = L::select(fast, L::zero(), one);
        let mut point = Vec3::select(fast, end - travel, end);
        let (begin, mut begun) = (point, L::zero());
        let mut left = MARCH;
        loop {
            let survey = self.survey(point);
            let Survey { phi, normal, .. } = survey;
            let gap = phi - thickness - slack;
            let apart = gap.gt(L::splat(self.stride) * L::constant(TOUCH));
            let mut step = L::select(apart, gap * L::splat(self.inv_lipschitz), L::zero());
            if !self.convex {
                begun = if left == MARCH { gap.min(L::zero()) } else { begun };
                let drop = -travel.dot(normal);
                let level = length * L::constant(APPROACH);
                let along = L::both(gap.ge(self.deepest(begun, &survey)), level.ge(drop));
                step = self.go_on(&survey, [apart, along], gap, drop, length);
            }
            // Lanes whose path goes on from here.
            let open = L::both(one.gt(s), step.gt(L::zero()));
            left -= 1;
            if left == 0 || !L::any(open) {
                let mut depth = thickness - phi - (end - point).dot(normal);
                if !self.convex {
                    // The rest of a path that was not seen to its end is looked at from here: see `stay_apart`.
                    depth = L::select(one.gt(s), depth.max(L::splat(self.stride) * L::constant(UNSEEN)), depth);
                }
                if !L::any(depth.gt(L::zero())) {
                    return None;
                }
                return Some(Contact { normal, depth, travel, end, point, followed: true });
            }
            s = L::select(open, (s + step / length).min(one), s);
            point = Vec3::select(s.ge(one), end, begin + travel * s);
        }
    }

    /// Out of the collider along the normal, and back against the travel along the surface by at most `most` \[m\] and never
    /// farther than to where the particle would be had it stuck: the way to go, and the part of it that friction took back.
    #[inline(always)]
    pub fn project<L: Lane<Scalar = S>>(&self, thickness: L, contact: &Contact<L>, most: L) -> (Vec3<L>, Vec3<L>) {
        let (mut moved, held) = contact.resolve(most);
        if contact.followed && !self.convex {
            moved = self.stay_apart(thickness, contact, moved);
        }
        if self.combined {
            moved = self.leave_seam(thickness, contact, moved);
        }
        (moved, held)
    }

    /// Where parts meet, the way out of one may lead into the next: out of that one as well, no farther than the first way was deep.
    /// Otherwise links that pull into a seam keep their particles there. Fast particles are not concerned, and their neighbours on
    /// other lanes are, whether anybody was followed or not.
    #[inline(always)]
    fn leave_seam<L: Lane<Scalar = S>>(&self, thickness: L, contact: &Contact<L>, moved: Vec3<L>) -> Vec3<L> {
        let (phi, normal) = self.program.eval(contact.end + moved);
        let again = (thickness - phi).min(contact.depth);
        let again = if self.continuous { L::select(self.fast(contact.travel), L::zero(), again) } else { again };
        Vec3::select(again.gt(L::zero()), moved + normal * again, moved)
    }

    /// φ and ∇φ at a place of the collider's frame; nothing where no lane is within `reach` of the collider \[m\].
    #[inline(always)]
    pub fn distance<L: Lane<Scalar = S>>(&self, reach: L, place: Vec3<L>) -> Option<(L, Vec3<L>)> {
        L::any(self.near(reach, place, Vec3::zero())).then_some(())?;
        Some(self.program.eval(place))
    }

    /// What a path wants to know of a place; of convex shapes φ and ∇φ are enough.
    #[inline(always)]
    fn survey<L: Lane<Scalar = S>>(&self, place: Vec3<L>) -> Survey<L> {
        if self.convex {
            let (phi, normal) = self.program.eval(place);
            return Survey { phi, normal, above: L::zero(), beside: L::zero() };
        }
        self.program.survey(place, L::splat(self.stride))
    }

    /// How far a path may go on that loses height by `drop` over its length \[m\]: apart from the surface by the gap at least, and as far
    /// as it stays above a convex part; beside the surface, where it runs along, without scratching it, and not through walls. Where
    /// parts meet, or a wall ends, nobody knows: there it goes on by what walls are at the least.
    #[inline(always)]
    fn go_on<L: Lane<Scalar = S>>(
        &self,
        survey: &Survey<L>,
        [apart, along]: [L::Mask; 2],
        gap: L,
        drop: L,
        length: L,
    ) -> L {
        let inv_lipschitz = L::splat(self.inv_lipschitz);
        let height = L::select(apart, gap, gap.max(L::zero()) + L::splat(self.stride) * L::constant(SCRATCH));
        let sinks = drop.gt(L::zero());
        let plane = L::select(sinks, length * height / L::select(sinks, drop, L::one()), L::constant(f64::INFINITY));
        let least = L::select(apart, gap, L::splat(self.wall)) * inv_lipschitz;
        let room = L::select(apart, survey.above, survey.beside) * inv_lipschitz;
        let step = plane.min(room).max(least);
        L::select(apart, step, L::select(along, step, L::zero()))
    }

    /// How deep a path along the surface may get that began with this gap, 0 or less \[m\]: inside combined shapes normals may belong to
    /// sides that other parts cover, and only the depth tells that the path runs into something. In thin walls it is not far to the
    /// other side.
    #[inline(always)]
    fn deepest<L: Lane<Scalar = S>>(&self, begun: L, survey: &Survey<L>) -> L {
        (begun - L::splat(self.stride) * L::constant(SCRATCH)).max(begun.min(-survey.beside))
    }

    /// Shortens a correction whose end lies behind another part of the shape: a tangent plane keeps a particle out of a
    /// convex shape for good, and out of others only near the contact.
    #[inline(always)]
    fn stay_apart<L: Lane<Scalar = S>>(&self, thickness: L, contact: &Contact<L>, moved: Vec3<L>) -> Vec3<L> {
        let (one, zero) = (L::one(), L::zero());
        let (feature, stride) = (L::splat(self.feature), L::splat(self.stride));
        let way = contact.end + moved - contact.point;
        let length = way.length();
        let slack = rounding(contact.end, length);
        // Only paths that were followed, and end in a contact, so that lanes do not depend on their neighbours.
        let fast = L::both(contact.travel.length_sq().gt(feature * feature), contact.depth.gt(zero));
        let fast = L::both(fast, length.gt(L::splat(self.wall)));
        // How far the way was found free, and where to look next; beyond 1 there is nothing left to look at.
        let ended = L::constant(2.0);
        let mut free = L::select(fast, zero, one);
        let mut next = L::select(fast, zero, ended);
        let mut begun = zero;
        let mut left = MARCH;
        while left > 0 && L::any(one.ge(next)) {
            let survey = self.survey(contact.point + way * next);
            let Survey { phi, normal, .. } = survey;
            let gap = phi - thickness - slack;
            let apart = gap.gt(stride * L::constant(TOUCH));
            begun = if left == MARCH { gap.min(L::zero()) } else { begun };
            // It may begin as far above the surface as counts as a touch, and end on it.
            let drop = -way.dot(normal);
            let level = length * L::constant(APPROACH) + stride * L::constant(2.0 * TOUCH);
            let clear = gap.ge(self.deepest(begun, &survey));
            let step = self.go_on(&survey, [apart, L::both(clear, level.ge(drop))], gap, drop, length);
            let open = L::both(one.ge(next), step.gt(zero));
            // A place that is clear can be gone to, also where there is no going on from.
            free = L::select(L::both(one.ge(next), clear), next, free);
            let on = L::select(next.ge(one), ended, (next + length.divide_or_zero(step)).min(one));
            next = L::select(open, on, ended);
            left -= 1;
        }
        Vec3::select(one.gt(free), contact.point + way * free - contact.end, moved)
    }
}

/// By how much places on a path of this length may be off \[m\].
#[inline(always)]
fn rounding<L: Lane>(end: Vec3<L>, length: L) -> L {
    (end.x.abs() + end.y.abs() + end.z.abs() + length) * L::splat(L::Scalar::EPSILON) * L::constant(4.0)
}
