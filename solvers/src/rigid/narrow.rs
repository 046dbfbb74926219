//! The narrow phase: where two bodies touch. Convex parts by parry3d, fields by the points of others.

use std::sync::Arc;

use parry3d::math::{Pose as ParryPose, Rotation as ParryRotation, Vector};
use parry3d::shape::{Ball, Capsule, ConvexPolyhedron, Cuboid, Cylinder, HalfSpace};
use pliant_core::error::BuildError;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::rigid::{Part, Quaternion, RigidBodies, Solid};
use pliant_core::sdf::{Collider, Colliders, Program};
use pliant_core::vec3::Vec3;

use super::convex::Convex;
use super::manifold::{Manifold, POINTS, Point};

/// Points of a field that are looked at or skipped together.
const CLUSTER: usize = 8 * BLOCK;
/// Normals closer than this (as a cosine) share a manifold.
const SAME_NORMAL: f64 = 0.95;
/// Most manifolds that points in a field give.
const FIELD_MANIFOLDS: u32 = 8;

/// A part of a body as contact sees it.
#[derive(Clone)]
pub(crate) struct Piece<S> {
    form: Form,
    /// Its distance, except for hulls.
    field: Option<Arc<Program<S>>>,
    /// Where it is in the principal frame.
    at: Vec3<S>,
    turn: Quaternion<S>,
    samples: Samples<S>,
    /// Radius of a ball about its origin that holds it \[m\].
    pub reach: Option<S>,
}

/// What parry3d knows a part as.
#[derive(Clone)]
pub(super) enum Form {
    Ball(Ball),
    Cuboid(Cuboid),
    Capsule(Capsule),
    Cylinder(Cylinder),
    HalfSpace(HalfSpace),
    Convex(Arc<ConvexPolyhedron>),
    /// Known by its distance only.
    Field,
}

/// Points on or inside the surface, in clusters of neighbours under a tree of balls.
#[derive(Clone)]
struct Samples<S> {
    points: Arc<[[Octet<S>; 3]]>,
    count: usize,
    /// The tree, parents before children.
    nodes: Arc<[Node<S>]>,
    radius: S,
}

/// A ball around points of a cluster, or around two such balls.
#[derive(Clone, Copy)]
struct Node<S> {
    centre: Vec3<S>,
    radius: S,
    /// The node to go on with when nothing in this one is near.
    skip: usize,
    cluster: Option<usize>,
}

impl<S: Real> Piece<S> {
    /// Makes a part ready; `frame` is the shape's pose in the principal frame.
    pub fn new(part: &Part, bodies: &RigidBodies<S>, row: usize) -> Result<Self, BuildError> {
        let frame = bodies.frame(row);
        let turn = Quaternion::new(frame.rotation.0);
        let at = turn.rotate(part.pose.translation.into()) + Vec3::from(frame.translation);
        let turn = turn * Quaternion::new(part.pose.rotation.0);
        let single = |v: [f64; 3]| Vector::new(v[0] as f32, v[1] as f32, v[2] as f32);
        let form = match part.solid {
            Solid::Sphere { radius } => Form::Ball(Ball::new(radius as f32)),
            Solid::Cuboid { half } => Form::Cuboid(Cuboid::new(single(half))),
            Solid::Capsule { radius, half_length } => Form::Capsule(Capsule::new_y(half_length as f32, radius as f32)),
            Solid::Cylinder { radius, half_height } => Form::Cylinder(Cylinder::new(half_height as f32, radius as f32)),
            Solid::HalfSpace { normal } => {
                let length = normal.iter().map(|c| c * c).sum::<f64>().sqrt();
                Form::HalfSpace(HalfSpace::new(single(normal.map(|c| c / length))))
            }
            Solid::Convex { ref points } => {
                let points: Vec<_> = points.iter().map(|&p| single(p)).collect();
                let reason = "its points have no convex hull with a volume; check for points in one plane";
                let hull = ConvexPolyhedron::from_convex_hull(&points);
                Form::Convex(Arc::new(hull.ok_or(BuildError::Unsupported { what: "rigid body", row, reason })?))
            }
            Solid::Field { .. } => Form::Field,
            _ => {
                return Err(BuildError::Unsupported {
                    what: "rigid body",
                    row,
                    reason: "contact does not know this solid",
                });
            }
        };
        let field = match part.solid.shape() {
            Some(shape) => Some(Arc::new(Colliders::new([Collider::new(shape)])?.solids()[0].program.clone())),
            None => None,
        };
        let reach = part.solid.reach().map(S::from_f64);
        let round = |v: Vec3<f64>| Vec3::from(<[f64; 3]>::from(v).map(S::from_f64));
        let turn = Quaternion::new(turn.components().map(S::from_f64));
        Ok(Self { form, field, at: round(at), turn, samples: Samples::new(&part.solid), reach })
    }

    /// Centre in the principal frame \[m\].
    pub fn centre(&self) -> Vec3<S> {
        self.at
    }
    /// The normal of a half-space in the principal frame; none for other parts.
    pub fn above(&self) -> Option<Vec3<S>> {
        match &self.form {
            Form::HalfSpace(plane) => Some(self.turn.rotate(wide(plane.normal))),
            _ => None,
        }
    }
    /// Half sides of a box around it in the principal frame \[m\]; none for one without end.
    pub fn extent(&self) -> Option<Vec3<S>> {
        let reach = self.reach?;
        let half = match &self.form {
            Form::Cuboid(cuboid) => [0, 1, 2].map(|k| S::from_f64(f64::from(cuboid.half_extents[k]))),
            Form::Capsule(c) => {
                let r = f64::from(c.radius);
                [r, r + f64::from(c.half_height()), r].map(S::from_f64)
            }
            Form::Cylinder(c) => [c.radius, c.half_height, c.radius].map(|v| S::from_f64(f64::from(v))),
            _ => [reach; 3],
        };
        let columns = self.turn.matrix().columns;
        let along = |k: usize| {
            let parts: [[S; 3]; 3] = columns.map(Into::into);
            let sum =
                Lane::abs(parts[0][k]) * half[0] + Lane::abs(parts[1][k]) * half[1] + Lane::abs(parts[2][k]) * half[2];
            Lane::min(sum, reach)
        };
        Some(Vec3::new(along(0), along(1), along(2)))
    }
    /// Distance of a point of the world and the way out; to the planes of its faces for a hull.
    pub fn distance(&self, stand: Stand<S>, x: Vec3<S>) -> Option<(S, Vec3<S>)> {
        let q = stand.q * self.turn;
        let place = q.unrotate(x - (stand.x + stand.q.rotate(self.at)));
        let (phi, n) = match (&self.field, &self.form) {
            (Some(field), _) => field.eval::<S>(place),
            (None, Form::Convex(hull)) => from_faces(hull, place)?,
            _ => return None,
        };
        Some((phi, q.rotate(n)))
    }
    fn is_field(&self) -> bool {
        matches!(self.form, Form::Field)
    }
}

/// max n · (p − v) over the faces of a hull: exact inside and before a face, too short beside edges.
fn from_faces<S: Real>(hull: &ConvexPolyhedron, p: Vec3<S>) -> Option<(S, Vec3<S>)> {
    let distances = hull.faces().iter().map(|face| {
        let corner = hull.vertices_adj_to_face()[face.first_vertex_or_edge as usize];
        let n = wide::<S>(face.normal);
        ((p - wide(hull.points()[corner as usize])).dot(n), n)
    });
    distances.reduce(|best, next| if next.0 > best.0 { next } else { best })
}

impl<S: Real> Samples<S> {
    fn new(solid: &Solid) -> Self {
        let (mut points, radius) = solid.samples();
        let mut nodes = Vec::new();
        if !points.is_empty() {
            grow(&mut points, 0, &mut nodes);
        }
        let octets = points.chunks(BLOCK).map(|eight| {
            [0, 1, 2].map(|k| Octet(std::array::from_fn(|i| S::from_f64(eight[i.min(eight.len() - 1)][k]))))
        });
        Self { points: octets.collect(), count: points.len(), nodes: nodes.into(), radius: S::from_f64(radius) }
    }
}

/// Orders points so that clusters are neighbours, halves along the longest side again and again, and writes the tree of balls
/// around them; `first` is the number of the first cluster.
fn grow<S: Real>(points: &mut [[f64; 3]], first: usize, nodes: &mut Vec<Node<S>>) {
    let count = points.len() as f64;
    let centre: [f64; 3] = std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / count);
    let sq = |p: &[f64; 3]| (0..3).map(|k| (p[k] - centre[k]).powi(2)).sum::<f64>();
    let radius = points.iter().map(sq).fold(0.0, f64::max).sqrt();
    let at = nodes.len();
    let leaf = points.len() <= CLUSTER;
    let node = Node {
        centre: Vec3::from(centre.map(S::from_f64)),
        radius: S::from_f64(radius),
        skip: 0,
        cluster: leaf.then_some(first),
    };
    nodes.push(node);
    if !leaf {
        let side = |k: usize| {
            let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p[k]), h.max(p[k])));
            high - low
        };
        let sides = [side(0), side(1), side(2)];
        let axis = (0..3).fold(0, |best, k| if sides[k] > sides[best] { k } else { best });
        points.sort_by(|a, b| a[axis].total_cmp(&b[axis]));
        let half = (points.len() / 2).next_multiple_of(CLUSTER).min(points.len() - 1);
        let (left, right) = points.split_at_mut(half);
        grow(left, first, nodes);
        grow(right, first + half.div_ceil(CLUSTER), nodes);
    }
    nodes[at].skip = nodes.len();
}

/// A body's pose, as the narrow phase needs it.
#[derive(Clone, Copy)]
pub(crate) struct Stand<S> {
    pub x: Vec3<S>,
    pub q: Quaternion<S>,
}

/// Memory of the narrow phase that is used again and again.
pub(crate) struct Workshop<S> {
    convex: Convex,
    found: Vec<Point<S>>,
    hits: Vec<Hit<S>>,
}

impl<S> Default for Workshop<S> {
    fn default() -> Self {
        Self { convex: Convex::default(), found: Vec::new(), hits: Vec::new() }
    }
}

/// A point of one body in or near the field of another: place and normal in the world, gap.
#[derive(Clone, Copy)]
struct Hit<S> {
    at: Vec3<S>,
    n: Vec3<S>,
    gap: S,
}

impl<S: Real> Workshop<S> {
    /// All manifolds of two parts that are within `margin` of each other; `base` has the bodies and their surfaces.
    pub fn collide<L: Lane<Scalar = S>>(
        &mut self,
        [a, b]: [&Piece<S>; 2],
        [sa, sb]: [Stand<S>; 2],
        margin: S,
        base: &Manifold<S>,
        out: &mut Vec<Manifold<S>>,
    ) {
        if !a.is_field() && !b.is_field() {
            return self.convex([a, b], [sa, sb], margin, base, out);
        }
        // Points of each in the field of the other.
        self.points::<L>(a, b, [sa, sb], false, margin, base, out);
        let base = Manifold { tag: base.tag + FIELD_MANIFOLDS, ..*base };
        self.points::<L>(b, a, [sb, sa], true, margin, &base, out);
    }

    fn convex(
        &mut self,
        [a, b]: [&Piece<S>; 2],
        [sa, sb]: [Stand<S>; 2],
        margin: S,
        base: &Manifold<S>,
        out: &mut Vec<Manifold<S>>,
    ) {
        // Parts in the world; the second one seen from the first, in single precision: sizes, not places, are rounded.
        let (xa, qa) = (sa.x + sa.q.rotate(a.at), sa.q * a.turn);
        let (xb, qb) = (sb.x + sb.q.rotate(b.at), sb.q * b.turn);
        if let (Form::HalfSpace(plane), Some(core)) = (&a.form, core(&b.form)) {
            return self.corners(
                qa.rotate(wide(plane.normal)),
                xa,
                (xb, qb, core),
                [sa, sb],
                margin,
                base,
                out,
                S::ONE,
            );
        }
        if let (Some(core), Form::HalfSpace(plane)) = (core(&a.form), &b.form) {
            return self.corners(
                -qb.rotate(wide(plane.normal)),
                xb,
                (xa, qa, core),
                [sa, sb],
                margin,
                base,
                out,
                -S::ONE,
            );
        }
        let between = qa.unrotate(xb - xa);
        let relative = (qa.conjugate() * qb).normalized().components().map(|c| c.to_f64() as f32);
        let single = |v: Vec3<S>| Vector::new(v.x.to_f64() as f32, v.y.to_f64() as f32, v.z.to_f64() as f32);
        let rotation = ParryRotation::from_xyzw(relative[0], relative[1], relative[2], relative[3]);
        let pose = ParryPose::from_parts(single(between), rotation);
        let manifold = self.convex.meet([&a.form, &b.form], &pose, margin.to_f64() as f32);
        if manifold.points.is_empty() {
            return;
        }
        let n = qa.rotate(wide(manifold.local_n1));
        // Rounded in single precision: to length 1 again.
        let n = n * (S::ONE / n.length());
        self.found.clear();
        for point in &manifold.points {
            let on_a = xa + qa.rotate(wide(point.local_p1));
            let on_b = xb + qb.rotate(wide(point.local_p2));
            let gap = S::from_f64(point.dist.into());
            let middle = (on_a + on_b) * S::from_f64(0.5);
            let ra = middle - sa.x;
            self.found.push(Point::new(ra, middle - sb.x, gap, sa.q.unrotate(ra)));
        }
        let mut made = Manifold { n, ..*base };
        made.keep(&self.found);
        out.push(made);
    }

    /// A round, square or long solid on a half-space through `origin`: the points of its core that are near it. `n` is the
    /// manifold's normal, from the first body to the second, whichever of them is the half-space.
    #[expect(clippy::too_many_arguments, reason = "two parts, two poses, and what to make of them")]
    fn corners(
        &mut self,
        n: Vec3<S>,
        origin: Vec3<S>,
        (x, q, core): (Vec3<S>, Quaternion<S>, Core<S>),
        [sa, sb]: [Stand<S>; 2],
        margin: S,
        base: &Manifold<S>,
        out: &mut Vec<Manifold<S>>,
        up: S,
    ) {
        self.found.clear();
        let away = n * up;
        for corner in 0..core.points {
            let side = |k: usize, h: S| if corner >> k & 1 == 0 { h } else { -h };
            let at = x + q.rotate(Vec3::new(side(2, core.half.x), side(0, core.half.y), side(1, core.half.z)));
            let height = (at - origin).dot(away);
            let gap = height - core.radius;
            if gap < margin {
                // Halfway between both surfaces.
                let middle = at - away * (core.radius + gap * S::from_f64(0.5));
                let ra = middle - sa.x;
                self.found.push(Point::new(ra, middle - sb.x, gap, sa.q.unrotate(ra)));
            }
        }
        if !self.found.is_empty() {
            let mut made = Manifold { n, ..*base };
            made.keep(&self.found);
            out.push(made);
        }
    }

    /// Points of `other` in the field of `field`; `flipped` when the field belongs to the second body.
    #[expect(clippy::too_many_arguments, reason = "two parts, two poses, and what to make of them")]
    fn points<L: Lane<Scalar = S>>(
        &mut self,
        field: &Piece<S>,
        other: &Piece<S>,
        [sf, so]: [Stand<S>; 2],
        flipped: bool,
        margin: S,
        base: &Manifold<S>,
        out: &mut Vec<Manifold<S>>,
    ) {
        let Some(program) = &field.field else { return };
        let (xf, qf) = (sf.x + sf.q.rotate(field.at), sf.q * field.turn);
        let (xo, qo) = (so.x + so.q.rotate(other.at), so.q * other.turn);
        // Points of the other, seen from the field.
        let (offset, turn) = (qf.unrotate(xo - xf), (qf.conjugate() * qo).normalized());
        let samples = &other.samples;
        let limit = margin + samples.radius;
        self.hits.clear();
        let mut next = 0;
        while let Some(node) = samples.nodes.get(next) {
            let (phi, _) = program.eval::<S>(turn.rotate(node.centre) + offset);
            // Sampled distances are steeper than 1 by at most √3.
            let near = phi <= limit + node.radius * S::from_f64(1.75);
            next = if near { next + 1 } else { node.skip };
            let Some(cluster) = node.cluster.filter(|_| near) else { continue };
            let first = cluster * CLUSTER / BLOCK;
            for block in first..samples.points.len().min(first + CLUSTER / BLOCK) {
                let [x, y, z] = &samples.points[block];
                let mut values = [Octet([S::ZERO; BLOCK]); 7];
                let mut at = 0;
                while at < BLOCK {
                    let spread = |v: S| L::splat(v);
                    let p = Vec3::new(L::load(x, at), L::load(y, at), L::load(z, at));
                    let q = Quaternion::new(turn.components().map(spread));
                    let p = q.rotate(p) + Vec3::new(spread(offset.x), spread(offset.y), spread(offset.z));
                    let (phi, n) = program.eval::<L>(p);
                    for (k, value) in [phi, n.x, n.y, n.z, p.x, p.y, p.z].into_iter().enumerate() {
                        value.store(&mut values[k], at);
                    }
                    at += L::WIDTH;
                }
                for lane in 0..BLOCK.min(samples.count - block * BLOCK) {
                    let [phi, nx, ny, nz, px, py, pz] = std::array::from_fn(|k| values[k].0[lane]);
                    if phi < limit {
                        let gap = phi - samples.radius;
                        let n = qf.rotate(Vec3::new(nx, ny, nz));
                        // Halfway between the field's surface and the point's.
                        let at = xf + qf.rotate(Vec3::new(px, py, pz)) - n * (samples.radius + gap * S::from_f64(0.5));
                        self.hits.push(Hit { at, n, gap });
                    }
                }
            }
        }
        // The deepest point gives a normal; those that share it join its manifold; then the next.
        let (sa, sb) = if flipped { (so, sf) } else { (sf, so) };
        for number in 0..FIELD_MANIFOLDS {
            let Some(deepest) =
                (0..self.hits.len()).reduce(|best, k| if self.hits[k].gap < self.hits[best].gap { k } else { best })
            else {
                break;
            };
            let n = self.hits[deepest].n;
            self.found.clear();
            let found = &mut self.found;
            self.hits.retain(|hit| {
                let same = hit.n.dot(n) > S::from_f64(SAME_NORMAL);
                if same {
                    let ra = hit.at - sa.x;
                    found.push(Point::new(ra, hit.at - sb.x, hit.gap, sa.q.unrotate(ra)));
                }
                !same
            });
            if found.is_empty() {
                // A normal without length: nothing can be said about this point.
                self.hits.remove(deepest);
                continue;
            }
            let mut made = Manifold { n: if flipped { -n } else { n }, tag: base.tag + number, ..*base };
            made.keep(found);
            out.push(made);
        }
    }
}

/// A solid as a few points with a radius around them: corners at ± `half`, of which the first `points` differ.
#[derive(Clone, Copy)]
struct Core<S> {
    half: Vec3<S>,
    points: usize,
    radius: S,
}

/// Balls, capsules and boxes as points with a radius; none for others.
fn core<S: Real>(form: &Form) -> Option<Core<S>> {
    let number = |v: f32| S::from_f64(v.into());
    match form {
        Form::Ball(ball) => Some(Core { half: Vec3::zero(), points: 1, radius: number(ball.radius) }),
        Form::Capsule(capsule) => {
            let half = Vec3::new(S::ZERO, number(capsule.half_height()), S::ZERO);
            Some(Core { half, points: 2, radius: number(capsule.radius) })
        }
        Form::Cuboid(cuboid) => Some(Core { half: wide(cuboid.half_extents), points: 8, radius: S::ZERO }),
        _ => None,
    }
}

/// From single precision.
fn wide<S: Real>(v: Vector) -> Vec3<S> {
    Vec3::new(S::from_f64(v.x.into()), S::from_f64(v.y.into()), S::from_f64(v.z.into()))
}

/// Tags that one pair of parts may use.
pub(crate) const TAGS: u32 = 2 * FIELD_MANIFOLDS;

impl<S: Real> Manifold<S> {
    /// A manifold without points, as a pattern for the narrow phase.
    pub fn pattern(bodies: [u32; 2], friction: S, restitution: S) -> Self {
        let n = Vec3::new(S::ZERO, S::ONE, S::ZERO);
        Self { bodies, tag: 0, n, friction, restitution, count: 0, points: [Point::none(); POINTS] }
    }
}
