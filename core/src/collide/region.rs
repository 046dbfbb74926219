//! Rays and regions against single boxes and triangles, in double precision.

use super::distance::Pair;
use super::probe::{enter, still};
use super::visit::Span;
use crate::lane::Real;
use crate::sdf::{Pose, Solid};
use crate::vec3::Vec3;

/// What rounding may take from the ends of a box along a ray.
const SLACK: f64 = 1e-12;
/// How often a box is halved to tell whether it meets a collider: six times a side, if it is a cube.
const HALVINGS: u32 = 18;
/// What is farther from the origin is infinite \[m\]: squares of it are within single precision.
const NOWHERE: f64 = 1e15;
/// How far a box without end is looked at beyond its other side and the origin \[m\], for colliders without end.
const FAR: f64 = 1e5;
/// Roundings by which a collider may miss a box that it touches.
const BLUR: f64 = 4.0;

fn axes(v: Vec3<f64>) -> [f64; 3] {
    v.into()
}

/// When a ray enters a box, 0 if it begins there; `None` when it passes.
pub(super) fn ray_span(origin: Vec3<f64>, direction: Vec3<f64>, [low, high]: &Span) -> Option<f64> {
    let (o, d) = (axes(origin), axes(direction));
    let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
    for k in 0..3 {
        let slack = SLACK * (low[k].abs().max(high[k].abs()) + o[k].abs());
        let (a, b) = (low[k] - slack - o[k], high[k] + slack - o[k]);
        if d[k] == 0.0 {
            if a > 0.0 || b < 0.0 {
                return None;
            }
            continue;
        }
        let (near, far) = if d[k] > 0.0 { (a / d[k], b / d[k]) } else { (b / d[k], a / d[k]) };
        (enter, leave) = (enter.max(near), leave.min(far * (1.0 + SLACK)));
    }
    (enter <= leave).then_some(enter)
}

/// Where a ray meets a triangle, and the normal there against the ray.
///
/// In a frame whose last axis is the ray, a triangle is met where the origin is on one side of all three edges. Neighbours
/// compute the function of the edge they share from the same numbers, so that no ray slips through between them.   [Woop13]
pub(super) fn ray_triangle(
    origin: Vec3<f64>,
    direction: Vec3<f64>,
    corners: [Vec3<f64>; 3],
) -> Option<(f64, Vec3<f64>)> {
    let d = axes(direction);
    let z = (0..3).fold(0, |best, k| if d[k].abs() > d[best].abs() { k } else { best });
    let (x, y) = ((z + 1) % 3, (z + 2) % 3);
    let (shear_x, shear_y, scale) = (d[x] / d[z], d[y] / d[z], 1.0 / d[z]);
    let sheared = corners.map(|c| {
        let q = axes(c - origin);
        [q[x] - shear_x * q[z], q[y] - shear_y * q[z], scale * q[z]]
    });
    let [a, b, c] = sheared;
    let turn = |p: [f64; 3], q: [f64; 3]| p[0] * q[1] - p[1] * q[0];
    let (u, v, w) = (turn(b, c), turn(c, a), turn(a, b));
    let all = |side: fn(f64) -> bool| side(u) && side(v) && side(w);
    if !(all(|e| e >= 0.0) || all(|e| e <= 0.0)) {
        return None;
    }
    let sum = u + v + w;
    if sum == 0.0 {
        return None;
    }
    let t = (u * a[2] + v * b[2] + w * c[2]) / sum;
    let n = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    let length = n.length();
    if !(t >= 0.0 && length > 0.0) {
        return None;
    }
    let side = if n.dot(direction) > 0.0 { -1.0 } else { 1.0 };
    Some((t, n * (side / length)))
}

/// A part of space that things may reach into.
#[derive(Clone, Copy, Debug)]
pub(super) enum Region {
    Sphere { centre: Vec3<f64>, radius: f64 },
    Box { low: Vec3<f64>, high: Vec3<f64> },
}

impl Region {
    pub fn usable(&self) -> bool {
        match *self {
            Self::Sphere { centre, radius } => centre.length_sq().is_finite() && radius >= 0.0 && radius.is_finite(),
            Self::Box { low, high } => {
                let (a, b) = (axes(low), axes(high));
                (0..3).all(|k| a[k] <= b[k])
            }
        }
    }

    /// How far a place is outside \[m\].
    pub fn distance(&self, place: Vec3<f64>) -> f64 {
        match *self {
            Self::Sphere { centre, radius } => ((place - centre).length() - radius).max(0.0),
            Self::Box { low, high } => {
                let (p, a, b) = (axes(place), axes(low), axes(high));
                (0..3).map(|k| (a[k] - p[k]).max(p[k] - b[k]).max(0.0).powi(2)).sum::<f64>().sqrt()
            }
        }
    }

    pub fn meets_span(&self, [low, high]: &Span) -> bool {
        match *self {
            Self::Sphere { centre, radius } => {
                Self::Box { low: (*low).into(), high: (*high).into() }.distance(centre) <= radius
            }
            Self::Box { low: a, high: b } => {
                let (a, b) = (axes(a), axes(b));
                (0..3).all(|k| low[k] <= b[k] && a[k] <= high[k])
            }
        }
    }

    pub fn meets_triangle(&self, corners: [Vec3<f64>; 3]) -> bool {
        let [a, b, c] = corners;
        match *self {
            Self::Sphere { centre, radius } => {
                Pair::VertexTriangle.closest(&[centre, a, b, c]).distance_sq <= radius * radius
            }
            Self::Box { low, high } => {
                // What is around the triangle is enough: the middle of a box without end is nowhere.
                let grasp = |pick: fn(f64, f64) -> f64| {
                    let [a, b, c] = corners.map(axes);
                    std::array::from_fn(|k| pick(pick(a[k], b[k]), c[k]))
                };
                let around: Span = [grasp(f64::min), grasp(f64::max)];
                let size: [f64; 3] = std::array::from_fn(|k| around[1][k] - around[0][k]);
                let margin = size.iter().sum::<f64>();
                let [low, high] = clipped([axes(low), axes(high)], around, margin);
                let (middle, half) = ((low + high) * 0.5, (high - low) * 0.5);
                let [a, b, c] = corners.map(|p| p - middle);
                let edges = [b - a, c - b, a - c];
                let units = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vec3::from);
                // Two convex things are apart if one of these directions says so: the normal of the triangle, those of the
                // box, and the products of their edges. A direction of no length says nothing.   [Akenine-Möller 2001]
                let apart = |n: Vec3<f64>| {
                    let reach = half.x * n.x.abs() + half.y * n.y.abs() + half.z * n.z.abs();
                    let along = [n.dot(a), n.dot(b), n.dot(c)];
                    let least = along.iter().copied().fold(f64::INFINITY, f64::min);
                    let most = along.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    least > reach || most < -reach
                };
                !(units.into_iter().any(apart)
                    || apart(edges[0].cross(edges[1]))
                    || units.into_iter().any(|u| edges.into_iter().any(|e| apart(u.cross(e)))))
            }
        }
    }

    /// Whether a solid in a pose reaches in.
    pub fn meets_solid<S: Real>(&self, solid: &Solid<S>, pose: Pose) -> bool {
        let placed = still::<S>(pose);
        match *self {
            Self::Sphere { centre, radius } => {
                let place = enter(&placed, centre);
                // Nothing is nearer than φ outside.
                let bound = solid.program.eval(Vec3::<S>::from_double(place)).0.to_f64();
                bound <= radius && (bound <= 0.0 || solid.nearest(place).0 <= radius)
            }
            Self::Box { low, high } => {
                let [low, high] = match solid.around() {
                    None => ended([axes(low), axes(high)]).map(Vec3::from),
                    Some([centre, half]) => {
                        let centre = pose.place(centre);
                        let reach: [f64; 3] = std::array::from_fn(|k| {
                            let unit = std::array::from_fn(|axis| f64::from(u8::from(axis == k)));
                            pose.unturn(unit).iter().zip(&half).map(|(c, h)| c.abs() * h).sum()
                        });
                        let span = [-1.0, 1.0].map(|side| std::array::from_fn(|k| centre[k] + side * reach[k]));
                        if !self.meets_span(&span) {
                            return false;
                        }
                        let size = span.as_flattened().iter().fold(0.0, |size: f64, c| size.max(c.abs()));
                        clipped([axes(low), axes(high)], span, BLUR * S::EPSILON.to_f64() * size)
                    }
                };
                let half = (high - low) * 0.5;
                let edges = [[half.x, 0.0, 0.0], [0.0, half.y, 0.0], [0.0, 0.0, half.z]];
                let edges = edges.map(|e| placed.turn(Vec3::<S>::from_double(e.into())).to_double());
                let middle = (low + high) * 0.5;
                // Places are rounded in the world first, which is coarse far from its origin.
                let blur = BLUR * S::EPSILON.to_f64() * (middle.length() + half.length());
                halve(solid, enter(&placed, middle), edges, blur, HALVINGS)
            }
        }
    }
}

/// A box whose sides all end.
fn ended([low, high]: Span) -> Span {
    let end = |side: f64, other: f64| {
        if side.abs() < NOWHERE {
            side
        } else {
            let beyond = if other.abs() < NOWHERE && other * side > 0.0 { other } else { 0.0 };
            beyond + FAR.copysign(side)
        }
    };
    [std::array::from_fn(|k| end(low[k], high[k])), std::array::from_fn(|k| end(high[k], low[k]))]
}

/// What of a box is within `margin` of another \[m\].
fn clipped([low, high]: Span, [from, to]: Span, margin: f64) -> [Vec3<f64>; 2] {
    let low: [f64; 3] = std::array::from_fn(|k| low[k].max(from[k] - margin));
    let high: [f64; 3] = std::array::from_fn(|k| high[k].min(to[k] + margin).max(low[k]));
    [low.into(), high.into()]
}

/// Whether a solid shares a point with a box about `middle` with half edges, in its own frame; by halves across the longest
/// edge, `left` times at most. Places are uncertain by `blur` \[m\].
fn halve<S: Real>(solid: &Solid<S>, middle: Vec3<f64>, half: [Vec3<f64>; 3], blur: f64, left: u32) -> bool {
    let extent = solid.extent(middle, half);
    let longest = (1..3).fold(0, |best, k| if half[k].length_sq() > half[best].length_sq() { k } else { best });
    if extent.phi <= 0.0 || extent.high <= 0.0 {
        return true;
    }
    let size = middle.length() + half[longest].length();
    if extent.low > blur + BLUR * S::EPSILON.to_f64() * size {
        return false;
    }
    if left == 0 {
        return true;
    }
    let mut quarter = half;
    quarter[longest] = half[longest] * 0.5;
    halve(solid, middle - quarter[longest], quarter, blur, left - 1)
        || halve(solid, middle + quarter[longest], quarter, blur, left - 1)
}
