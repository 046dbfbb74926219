//! Questions about a world as it stands: what does a ray hit, what is nearest to a point, what is inside a region?
//!
//! Surfaces answer as triangles, particles without a triangle (ropes, loose ones) as balls of their thickness, colliders as
//! solids. Triangles and balls are found through a tree of boxes; colliders are few and asked one by one.

use super::CollideError;
use super::aabb::Aabb;
use super::bvh::Bvh;
use super::distance::Pair;
use super::leaves::Leaves;
use super::region::{Region, ray_span, ray_triangle};
use super::visit::{Span, Visit};
use crate::backend::Backend;
use crate::columns::Columns;
use crate::lane::Real;
use crate::model::Model;
use crate::sdf::{Placed, Pose, Solid};
use crate::vec3::Vec3;

/// Something that can be hit; particles are numbers of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A triangle of a surface, by its corners.
    Triangle([u32; 3]),
    /// A particle that is on no triangle.
    Particle(u32),
    /// A collider, by its place among the model's.
    Collider(u32),
}

/// Where something was hit, or is nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// What.
    pub target: Target,
    /// The place on its surface \[m\].
    pub point: [f64; 3],
    /// Unit normal there: against a ray, or from the place to the point that was asked about; zero at distance 0.
    pub normal: [f64; 3],
    /// Along the ray, or from the point \[m\]; below 0 inside particles and colliders.
    pub distance: f64,
}

/// The tree behind a [`Probe`]; keep it between steps.
#[derive(Clone, Debug)]
pub struct ProbeTree<S> {
    model: Option<u64>,
    tree: Bvh<S>,
    boxes: Vec<Aabb<S>>,
    /// Particles that are on no triangle.
    loose: Vec<u32>,
}

impl<S: Real> ProbeTree<S> {
    /// A tree of nothing.
    pub fn new() -> Self {
        Self { model: None, tree: Bvh::new(), boxes: Vec::new(), loose: Vec::new() }
    }

    /// Takes the positions of a model's particles, ready to be asked.
    ///
    /// # Errors
    /// Positions that are not finite, or fewer or more of them than particles.
    pub fn look<'a, B: Backend<Scalar = S>>(
        &'a mut self,
        model: &'a Model<S>,
        x: &'a Columns<S>,
        on: &B,
    ) -> Result<Probe<'a, S>, CollideError> {
        if x.len() != model.particle_count() {
            let (found, expected) = (x.len(), model.particle_count());
            return Err(CollideError::Length { what: "list of positions", found, expected });
        }
        let fresh = self.model != Some(model.id());
        if fresh {
            let mut covered = vec![false; x.len()];
            model.triangles().iter().flatten().for_each(|&p| covered[p as usize] = true);
            self.loose = (0..x.len() as u32).filter(|&p| !covered[p as usize]).collect();
        }
        let at = |p: u32| x.get(p as usize);
        self.boxes.clear();
        self.boxes.extend(model.triangles().iter().map(|t| Aabb::around(&t.map(at))));
        let ball = |&p: &u32| Aabb::around(&[at(p)]).grown(model.thickness()[p as usize]);
        self.boxes.extend(self.loose.iter().map(ball));
        if fresh || self.tree.worn() {
            self.model = None;
            self.tree.build(&self.boxes, &Leaves::default(), on)?;
            self.model = Some(model.id());
        } else {
            self.tree.refit(&self.boxes, on)?;
        }
        Ok(Probe { model, x, tree: &self.tree, loose: &self.loose })
    }
}

impl<S: Real> Default for ProbeTree<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Answers questions about one state; from [`ProbeTree::look`].
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a, S> {
    model: &'a Model<S>,
    x: &'a Columns<S>,
    tree: &'a Bvh<S>,
    loose: &'a [u32],
}

/// A primitive of the tree.
enum Shape {
    Triangle([Vec3<f64>; 3]),
    Ball(Vec3<f64>, f64),
}

impl<S: Real> Probe<'_, S> {
    /// The first thing that a ray from `origin` hits within `reach` \[m\]; `direction` may have any length above 0. Both
    /// sides of triangles count; a ray that begins inside a ball or a collider hits it at distance 0. `None` also for a ray
    /// that is not finite or has no direction.
    ///
    /// It ends no farther above a collider than a millionth of the distance from the collider's origin, and a nanometre. One that
    /// comes down at less than 0.2° may pass a torus, a shape of `parry3d`, a sampled mesh that was offset, or a combined shape that
    /// was offset as a whole: it is followed in steps that shrink with its height there, 4096 of them at most. Other shapes are hit
    /// at any angle.
    pub fn ray(&self, origin: impl Into<[f64; 3]>, direction: impl Into<[f64; 3]>, reach: f64) -> Option<Hit> {
        let (origin, direction) = (Vec3::from(origin.into()), unit(direction.into())?);
        if !(origin.length_sq().is_finite() && reach >= 0.0) {
            return None;
        }
        let mut cast = Cast { probe: self, origin, direction, best: None, reach };
        self.tree.visit(&mut cast);
        let Cast { mut best, mut reach, .. } = cast;
        for (row, solid, pose) in self.solids() {
            let placed = still::<S>(pose);
            let from = enter(&placed, origin);
            let along = placed.turn(Vec3::<S>::from_double(direction)).to_double();
            let Some((distance, normal)) = solid.ray(from, along, reach) else { continue };
            if best.is_none() || distance < reach {
                let normal = placed.leave(Vec3::<S>::from_double(normal)).to_double();
                let point = origin + direction * distance;
                reach = distance;
                best =
                    Some(Hit { target: Target::Collider(row), point: point.into(), normal: normal.into(), distance });
            }
        }
        best
    }

    /// What is nearest to a point, within `reach` \[m\]: deepest inside first. `None` also for a point that is not finite.
    ///
    /// Of colliders made of one formula, and of unions of them from outside, it is the nearest place. Sampled meshes,
    /// intersections, differences and the inside of unions know a bound of their distance alone: there it is a place on the
    /// surface near the nearest one, as far as the distance says, and not always the nearest one.
    pub fn closest(&self, point: [f64; 3], reach: f64) -> Option<Hit> {
        let point = Vec3::from(point);
        if !point.length_sq().is_finite() || reach.is_nan() {
            return None;
        }
        let mut nearest = Nearest { probe: self, point, best: None, reach };
        self.tree.visit(&mut nearest);
        let Nearest { mut best, mut reach, .. } = nearest;
        for (row, solid, pose) in self.solids() {
            let placed = still::<S>(pose);
            let place = enter(&placed, point);
            // Nothing is nearer than φ outside.
            let bound = solid.program.eval(Vec3::<S>::from_double(place)).0.to_f64();
            if bound > reach && bound > 0.0 {
                continue;
            }
            let (distance, normal) = solid.nearest(place);
            if distance < reach || best.is_none() && distance <= reach {
                let normal = placed.leave(Vec3::<S>::from_double(normal)).to_double();
                reach = distance;
                let target = Target::Collider(row);
                best = Some(Hit { target, point: (point - normal * distance).into(), normal: normal.into(), distance });
            }
        }
        best
    }

    /// Adds everything within `radius` of a point to `found`, in ascending order; nothing for numbers that are not finite.
    /// Distances of colliders are those of [`Probe::closest`].
    pub fn in_sphere(&self, centre: [f64; 3], radius: f64, found: &mut Vec<Target>) {
        self.overlap(Region::Sphere { centre: centre.into(), radius }, found);
    }

    /// Adds everything that shares a point with a box to `found`, in ascending order; nothing for a box that is inside out.
    /// Sides may be infinite; of colliders without end, 100 km beyond the other side and the origin are looked at then.
    ///
    /// Colliders are judged in pieces of the box, or of what of it is around the collider: it is halved 18 times, each time
    /// across its longest side, which makes a sixty-fourth of every side of a cube and pieces as good as cubes of a flat box.
    /// One that comes nearer to a piece than that is wide may be told, too; nothing that shares a point is left out,
    /// but for what sampling adds to distances.
    pub fn in_box(&self, low: [f64; 3], high: [f64; 3], found: &mut Vec<Target>) {
        self.overlap(Region::Box { low: low.into(), high: high.into() }, found);
    }

    fn overlap(&self, region: Region, found: &mut Vec<Target>) {
        if !region.usable() {
            return;
        }
        let first = found.len();
        self.tree.visit(&mut Within { probe: self, region, found });
        for (row, solid, pose) in self.solids() {
            if region.meets_solid(solid, pose) {
                found.push(Target::Collider(row));
            }
        }
        found[first..].sort_unstable();
    }

    /// Colliders where they stand now.
    fn solids(&self) -> impl Iterator<Item = (u32, &Solid<S>, Pose)> {
        let colliders = self.model.colliders();
        (0..).zip(colliders.solids()).zip(colliders.settled()).map(|((row, solid), &pose)| (row, solid, pose))
    }

    fn shape(&self, primitive: u32) -> (Target, Shape) {
        let (triangles, at) = (self.model.triangles(), |p: u32| Vec3::from(self.x.get(p as usize)).to_double());
        match triangles.get(primitive as usize) {
            Some(&t) => (Target::Triangle(t), Shape::Triangle(t.map(at))),
            None => {
                let p = self.loose[primitive as usize - triangles.len()];
                (Target::Particle(p), Shape::Ball(at(p), self.model.thickness()[p as usize].to_f64()))
            }
        }
    }
}

/// A collider that stays in a pose.
pub(super) fn still<S: Real>(pose: Pose) -> Placed<S> {
    Placed::new(pose, pose, [0.0, 1.0], [0.0; 3])
}

/// The direction of a vector of any length; none of a vector that has no length or is not finite.
fn unit(v: [f64; 3]) -> Option<Vec3<f64>> {
    // First to about 1: squares of very long and very short vectors are not finite, or 0.
    let largest = v.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
    let v = Vec3::from(v.map(|c| c / largest));
    let length = v.length();
    length.is_finite().then(|| v * (1.0 / length))
}

/// A place as a collider sees it.
pub(super) fn enter<S: Real>(placed: &Placed<S>, x: Vec3<f64>) -> Vec3<f64> {
    let x = Vec3::<S>::from_double(x);
    placed.enter(x, x, Vec3::zero()).0.to_double()
}

struct Cast<'a, 'b, S> {
    probe: &'a Probe<'b, S>,
    origin: Vec3<f64>,
    direction: Vec3<f64>,
    best: Option<Hit>,
    reach: f64,
}

impl<S: Real> Visit for Cast<'_, '_, S> {
    fn rank(&self, span: &Span) -> Option<f64> {
        ray_span(self.origin, self.direction, span).filter(|&t| t <= self.reach)
    }
    fn look(&mut self, primitive: u32) {
        let (target, shape) = self.probe.shape(primitive);
        let hit = match shape {
            Shape::Triangle(corners) => ray_triangle(self.origin, self.direction, corners),
            Shape::Ball(centre, radius) => {
                // |o + t d − c|² = r², the nearer root; 0 from inside.
                let from = self.origin - centre;
                let (b, c) = (from.dot(self.direction), from.length_sq() - radius * radius);
                let root = b * b - c;
                let t = if c <= 0.0 { 0.0 } else { -b - root.max(0.0).sqrt() };
                let hits = c <= 0.0 || root >= 0.0 && t >= 0.0;
                let out = from + self.direction * t;
                let length = out.length();
                hits.then(|| (t, if length > 0.0 { out * (1.0 / length) } else { Vec3::zero() }))
            }
        };
        let Some((t, normal)) = hit else { return };
        // Of two at one distance the lower number wins, whatever the order of the tree.
        let better = match self.best {
            None => t <= self.reach,
            Some(best) => t < self.reach || t == self.reach && target < best.target,
        };
        if better {
            self.reach = t;
            let point = self.origin + self.direction * t;
            self.best = Some(Hit { target, point: point.into(), normal: normal.into(), distance: t });
        }
    }
}

struct Nearest<'a, 'b, S> {
    probe: &'a Probe<'b, S>,
    point: Vec3<f64>,
    best: Option<Hit>,
    reach: f64,
}

impl<S: Real> Visit for Nearest<'_, '_, S> {
    fn rank(&self, span: &Span) -> Option<f64> {
        let p = [self.point.x, self.point.y, self.point.z];
        let beyond = |k: usize| (span[0][k] - p[k]).max(p[k] - span[1][k]).max(0.0);
        let distance = (0..3).map(|k| beyond(k) * beyond(k)).sum::<f64>().sqrt();
        // Balls may hold the point and be nearer than 0: their boxes then have rank 0, and are looked at.
        (distance <= self.reach.max(0.0)).then_some(distance)
    }
    fn look(&mut self, primitive: u32) {
        let (target, shape) = self.probe.shape(primitive);
        let (away, radius) = match shape {
            Shape::Triangle([a, b, c]) => (Pair::VertexTriangle.closest(&[self.point, a, b, c]).between, 0.0),
            Shape::Ball(centre, radius) => (self.point - centre, radius),
        };
        let length = away.length();
        let distance = length - radius;
        let better = match self.best {
            None => distance <= self.reach,
            Some(best) => distance < self.reach || distance == self.reach && target < best.target,
        };
        if better {
            self.reach = distance;
            let normal = if length > 0.0 { away * (1.0 / length) } else { Vec3::zero() };
            let point = self.point - normal * distance;
            self.best = Some(Hit { target, point: point.into(), normal: normal.into(), distance });
        }
    }
}

struct Within<'a, 'b, S> {
    probe: &'a Probe<'b, S>,
    region: Region,
    found: &'a mut Vec<Target>,
}

impl<S: Real> Visit for Within<'_, '_, S> {
    fn rank(&self, span: &Span) -> Option<f64> {
        self.region.meets_span(span).then_some(0.0)
    }
    fn look(&mut self, primitive: u32) {
        let (target, shape) = self.probe.shape(primitive);
        let meets = match shape {
            Shape::Triangle(corners) => self.region.meets_triangle(corners),
            Shape::Ball(centre, radius) => self.region.distance(centre) <= radius,
        };
        if meets {
            self.found.push(target);
        }
    }
}
