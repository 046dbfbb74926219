//! Manifolds: the few points at which two bodies touch, with one normal.

use pliant_core::lane::Real;
use pliant_core::vec3::Vec3;

/// Most points a manifold keeps: four hold a face as well as eight do.
pub(crate) const POINTS: usize = 4;

/// How far a point may move over a body in a step and still count as resting, as a share of how far it may move and still
/// be the same.
const RESTING: f64 = 0.1;

/// A point of contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point<S> {
    /// Halfway between both surfaces, from the centre of the first body \[m\].
    pub ra: Vec3<S>,
    /// The same from the centre of the second.
    pub rb: Vec3<S>,
    /// How far the surfaces are apart along the normal when the step begins \[m\].
    pub gap: S,
    /// Where it is in the principal frame of the first body: how it is known again in the next step \[m\].
    pub mark: Vec3<S>,
    /// Impulse along the normal in a substep \[N s\].
    pub normal: S,
    /// Impulse of friction in a substep \[N s\].
    pub tangent: Vec3<S>,
    /// How far the second body has crept over the first since they began to stick \[m\].
    pub crept: Vec3<S>,
}

/// Contact of a part of one body with a part of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Manifold<S> {
    /// Rows of the bodies, the lower first.
    pub bodies: [u32; 2],
    /// Which of the pair's manifolds this is: parts, and the number among theirs.
    pub tag: u32,
    /// From the first body to the second; of length 1.
    pub n: Vec3<S>,
    pub friction: S,
    pub restitution: S,
    pub count: usize,
    pub points: [Point<S>; POINTS],
}

impl<S: Real> Point<S> {
    pub fn new(ra: Vec3<S>, rb: Vec3<S>, gap: S, mark: Vec3<S>) -> Self {
        Self { ra, rb, gap, mark, normal: S::ZERO, tangent: Vec3::zero(), crept: Vec3::zero() }
    }
    pub fn none() -> Self {
        Self::new(Vec3::zero(), Vec3::zero(), S::ZERO, Vec3::zero())
    }
}

impl<S: Real> Manifold<S> {
    /// What lists of manifolds are sorted by.
    pub fn key(&self) -> (u32, u32, u32) {
        (self.bodies[0], self.bodies[1], self.tag)
    }

    /// Keeps at most four points: the deepest, the one farthest from it, the one farthest from their line, and the one
    /// farthest on the other side of it.
    pub fn keep(&mut self, found: &[Point<S>]) {
        self.count = found.len().min(POINTS);
        if found.len() <= POINTS {
            self.points[..found.len()].copy_from_slice(found);
            return;
        }
        let best = |score: &dyn Fn(&Point<S>) -> S| {
            let mut at = 0;
            for i in 1..found.len() {
                if score(&found[i]) > score(&found[at]) {
                    at = i;
                }
            }
            at
        };
        let first = best(&|p| -p.gap);
        let origin = found[first].ra;
        let second = best(&|p| (p.ra - origin).length_sq());
        let line = (found[second].ra - origin).cross(self.n);
        let third = best(&|p| pliant_core::lane::Lane::abs((p.ra - origin).dot(line)));
        let side = if (found[third].ra - origin).dot(line) > S::ZERO { -S::ONE } else { S::ONE };
        let fourth = best(&|p| side * (p.ra - origin).dot(line));
        let mut chosen = [first, second, third, fourth];
        chosen.sort_unstable();
        self.count = 0;
        for (k, &at) in chosen.iter().enumerate() {
            if k == 0 || chosen[k - 1] != at {
                self.points[self.count] = found[at];
                self.count += 1;
            }
        }
    }

    /// Takes impulses over from the same contact in the last step: each point from the nearest within `tolerance` \[m\].
    pub fn inherit(&mut self, old: &Self, tolerance: S) {
        let mut used = [false; POINTS];
        for point in &mut self.points[..self.count] {
            let mut nearest: Option<(usize, S)> = None;
            for (k, other) in old.points[..old.count].iter().enumerate() {
                let sq = (other.mark - point.mark).length_sq();
                if !used[k] && sq < tolerance * tolerance && nearest.is_none_or(|(_, best)| sq < best) {
                    nearest = Some((k, sq));
                }
            }
            if let Some((k, sq)) = nearest {
                used[k] = true;
                point.normal = old.points[k].normal;
                point.tangent = old.points[k].tangent;
                // A point that wanders over a body rolls, and rolling is not creep.
                if sq < tolerance * tolerance * S::from_f64(RESTING * RESTING) {
                    point.crept = old.points[k].crept;
                }
            }
        }
    }
}
