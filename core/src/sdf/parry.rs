//! Shapes of `parry3d` as colliders, through their point projection: what an application already has for its rigid bodies.
//!
//! A projection answers with the nearest point c of the surface and whether p is inside, from which φ = ±|p − c| and
//! ∇φ = ±(p − c)/|p − c|. `parry3d` computes in single precision whatever the precision of a state, one particle after the
//! other: the same calls on every backend, hence the same bits.

use parry3d::bounding_volume::Aabb;
use parry3d::math::Vector;
use parry3d::query::PointQuery as _;
use parry3d::shape::{SharedShape, TriMeshFlags, TypedShape};

use super::pose::Pose;
use super::round::unit_or_up;
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::vec3::Vec3;

/// Half the thickness that surfaces without an inside count with \[m\]: something to tell their sides by.
pub(super) const SKIN: f64 = 1e-3;

/// A shape of `parry3d`, compared by identity.
#[derive(Clone, Debug)]
pub struct ParryShape {
    shape: SharedShape,
    /// The same for projections: see [`sound`].
    solved: SharedShape,
    /// The parts of a compound with hulls in it, each ready for projections; nothing for others.
    parts: Vec<Part>,
    /// Whether it is a surface without an inside.
    open: bool,
}

/// A part of a compound, and the box around it where it stands.
#[derive(Clone, Debug)]
struct Part {
    pose: parry3d::math::Pose,
    solved: SharedShape,
    bounds: Aabb,
}

impl PartialEq for ParryShape {
    fn eq(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.shape.0, &other.shape.0)
    }
}

impl From<SharedShape> for ParryShape {
    fn from(shape: SharedShape) -> Self {
        // Masses and trees of a shape with wrong numbers may panic. It is kept as it is, to be refused later.
        if check(&shape).is_err() {
            return Self { open: false, solved: shape.clone(), parts: Vec::new(), shape };
        }
        let parts = parts(&shape);
        let solved = if parts.is_empty() { sound(&shape) } else { shape.clone() };
        Self { open: is_open(&shape), solved, parts, shape }
    }
}

impl From<parry3d::math::Pose> for Pose {
    fn from(pose: parry3d::math::Pose) -> Self {
        let (t, r) = (pose.translation, pose.rotation);
        Self::at([t.x, t.y, t.z].map(f64::from)).turned([r.x, r.y, r.z, r.w].map(f64::from))
    }
}

/// What is wrong with a shape: a quantity and its value.
pub(super) type Flaw = (&'static str, f64);

impl ParryShape {
    /// The shape itself.
    pub fn shape(&self) -> &SharedShape {
        &self.shape
    }

    /// Whether it is a surface without an inside: lines, triangles, height fields, meshes that are not marked as oriented.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }
    /// Whether nothing bounds it.
    pub(super) fn is_plane(&self) -> bool {
        matches!(self.shape.as_typed_shape(), TypedShape::HalfSpace(_))
    }
    pub(super) fn is_convex(&self) -> bool {
        self.shape.is_convex()
    }
    /// Corners of a box around it \[m\].
    pub(super) fn bounds(&self) -> [[f64; 3]; 2] {
        let bounds = self.shape.compute_local_aabb();
        [bounds.mins, bounds.maxs].map(|c| [c.x, c.y, c.z].map(f64::from))
    }
    /// Half the thickness of its thinnest part where its formula tells, else 0 \[m\].
    pub(super) fn feature(&self) -> f64 {
        match self.shape.as_typed_shape() {
            TypedShape::HalfSpace(_) => f64::INFINITY,
            TypedShape::Ball(_) | TypedShape::Cuboid(_) | TypedShape::Capsule(_) => {
                f64::from(self.shape.ccd_thickness())
            }
            // Not `ccd_thickness`, which is the radius: discs are thinner.
            TypedShape::Cylinder(cylinder) => f64::from(cylinder.radius.min(cylinder.half_height)),
            _ if self.is_open() => SKIN,
            _ => 0.0,
        }
    }

    /// The first number that makes it unusable.
    pub(super) fn check(&self) -> Result<(), Flaw> {
        check(&self.shape)?;
        if self.is_plane() {
            return Ok(());
        }
        let [low, high] = self.bounds();
        let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        let finite = low.iter().chain(&high).all(|c| c.is_finite());
        let size = if finite { size } else { f64::NAN };
        if size > 0.0 { Ok(()) } else { Err(("size of its parry shape", size)) }
    }

    /// φ and ∇φ, lane after lane; up is out where the surface itself is asked.
    #[inline(always)]
    pub(super) fn eval<L: Lane>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        let mut place = [Octet([L::Scalar::ZERO; BLOCK]); 3];
        p.x.store(&mut place[0], 0);
        p.y.store(&mut place[1], 0);
        p.z.store(&mut place[2], 0);
        let mut found = [Octet([L::Scalar::ZERO; BLOCK]); 4];
        for lane in 0..L::WIDTH {
            let row = self.row([place[0].0[lane].to_f64(), place[1].0[lane].to_f64(), place[2].0[lane].to_f64()]);
            for k in 0..4 {
                found[lane / 2].0[4 * (lane % 2) + k] = L::Scalar::from_f64(row[k]);
            }
        }
        let [phi, x, y, z] = L::from_rows(&found, &[0, 1, 2, 3, 4, 5, 6, 7], 0);
        (phi, unit_or_up(Vec3::new(x, y, z)).1)
    }

    /// φ and the direction out at a place, in double precision.
    #[inline(never)]
    fn row(&self, p: [f64; 3]) -> [f64; 4] {
        let skin = if self.open { SKIN } else { 0.0 };
        let Some((distance, [x, y, z])) = self.signed(p) else { return [FAR, 0.0, 1.0, 0.0] };
        let scale = p.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
        let close = CLOSE * scale + f64::from(f32::MIN_POSITIVE);
        if self.open || distance.abs() > close {
            return [distance - skin, x, y, z];
        }
        // On the surface the way to it has no direction: a slope over four places around, the corners of a tetrahedron.
        let mut slope = [0.0; 3];
        for corner in [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]] {
            let at = std::array::from_fn(|k| p[k] + close * corner[k]);
            let there = self.signed(at).map_or(0.0, |(distance, _)| distance);
            for k in 0..3 {
                slope[k] += corner[k] * there;
            }
        }
        [distance - skin, slope[0], slope[1], slope[2]]
    }

    /// The signed distance and a vector that points out. Differences are taken in double precision: rounded places would turn
    /// them close to the surface.
    fn signed(&self, p: [f64; 3]) -> Option<(f64, [f64; 3])> {
        let place = Vector::new(p[0] as f32, p[1] as f32, p[2] as f32);
        let (_, inside, on) = match &self.parts[..] {
            [] => nearest(&self.solved, place),
            parts => nearest_of(parts, place),
        }?;
        let (side, on) = (if inside { -1.0 } else { 1.0 }, [on.x, on.y, on.z].map(f64::from));
        let d: [f64; 3] = std::array::from_fn(|k| side * (p[k] - on[k]));
        Some((side * d.iter().map(|c| c * c).sum::<f64>().sqrt(), d))
    }
}

/// Closer than this, as a share of coordinates, rounding may turn the way to the surface by a degree.
const CLOSE: f64 = 1e-4;

/// The distance of places that nothing can be said about \[m\]: particles that are no numbers touch nothing.
const FAR: f64 = 1e6;

/// Distance to the surface, whether inside, and the surface's nearest point.
fn nearest(shape: &SharedShape, p: Vector) -> Option<(f32, bool, Vector)> {
    if !p.is_finite() {
        return None;
    }
    if let Some(compound) = shape.as_compound().filter(|compound| compound.contains_local_point(p)) {
        // Inside of several parts the nearest surface may be one that another part covers: the deepest part decides.
        let parts = compound.shapes().iter().filter_map(|(pose, part)| {
            let (distance, inside, on) = nearest(part, pose.inverse_transform_point(p))?;
            inside.then(|| (distance, true, pose.transform_point(on)))
        });
        return parts.reduce(|a, b| if b.0 > a.0 { b } else { a });
    }
    let projection = shape.project_local_point(p, false);
    let distance = (p - projection.point).length();
    (distance.is_finite()).then_some((distance, projection.is_inside, projection.point))
}

/// The same over parts: the deepest of those that hold the place, else the nearest.
fn nearest_of(parts: &[Part], p: Vector) -> Option<(f32, bool, Vector)> {
    let mut best: Option<(f32, bool, Vector)> = None;
    for Part { pose, solved, bounds } in parts {
        let hopeless = best.is_some_and(|(distance, inside, _)| match inside {
            true => !bounds.contains_local_point(p),
            false => bounds.distance_to_local_point(p, true) > distance,
        });
        if hopeless {
            continue;
        }
        let Some((distance, inside, on)) = nearest(solved, pose.inverse_transform_point(p)) else { continue };
        let better = best.is_none_or(|(least, within, _)| match (inside, within) {
            (true, true) => distance > least,
            (false, false) => distance < least,
            _ => inside,
        });
        if better {
            best = Some((distance, inside, pose.transform_point(on)));
        }
    }
    best
}

/// The parts of a compound with hulls in it: as meshes they would not go into a compound again.
fn parts(shape: &SharedShape) -> Vec<Part> {
    let hull = |(_, part): &(_, SharedShape)| matches!(part.as_typed_shape(), TypedShape::ConvexPolyhedron(_));
    let Some(compound) = shape.as_compound().filter(|compound| compound.shapes().iter().any(hull)) else {
        return Vec::new();
    };
    let part = |((pose, part), &bounds): (&(_, SharedShape), &Aabb)| Part { pose: *pose, solved: sound(part), bounds };
    compound.shapes().iter().zip(compound.aabbs()).map(part).collect()
}

/// The shape with its hulls as meshes: projection onto hulls iterates to a thousandth of the distance and may fail inside,
/// onto triangles it is exact. Half-spaces get the unit normal that their projection takes for granted.
fn sound(shape: &SharedShape) -> SharedShape {
    match shape.as_typed_shape() {
        TypedShape::ConvexPolyhedron(hull) => {
            let flags = if is_open(shape) { TriMeshFlags::empty() } else { TriMeshFlags::ORIENTED };
            let (vertices, indices) = hull.to_trimesh();
            SharedShape::trimesh_with_flags(vertices, indices, flags).unwrap_or_else(|_| shape.clone())
        }
        TypedShape::HalfSpace(plane) => SharedShape::halfspace(plane.normal.normalize_or_zero()),
        TypedShape::Compound(compound) => {
            SharedShape::compound(compound.shapes().iter().map(|(pose, part)| (*pose, sound(part))).collect())
        }
        _ => shape.clone(),
    }
}

fn is_open(shape: &SharedShape) -> bool {
    match shape.as_typed_shape() {
        TypedShape::Segment(_) | TypedShape::Triangle(_) | TypedShape::Polyline(_) | TypedShape::HeightField(_) => true,
        TypedShape::TriMesh(mesh) => !mesh.flags().contains(TriMeshFlags::ORIENTED),
        // Hulls of points that nearly share a plane come out flat.
        TypedShape::ConvexPolyhedron(hull) => {
            let size = hull.local_aabb().extents().max_element();
            shape.mass_properties(1.0).mass() < 1e-6 * size * size * size
        }
        TypedShape::Compound(compound) => compound.shapes().iter().any(|(_, part)| is_open(part)),
        _ => false,
    }
}

/// Sizes that must be above 0, and places that must be finite, of a shape and its parts. Reads numbers and computes nothing
/// from them: `parry3d` panics over some.
fn check(shape: &SharedShape) -> Result<(), Flaw> {
    match shape.as_typed_shape() {
        TypedShape::Ball(ball) => size("radius", ball.radius),
        TypedShape::Cuboid(cuboid) => sizes("half side", cuboid.half_extents),
        TypedShape::Capsule(capsule) => {
            places(&[capsule.segment.a, capsule.segment.b]).and(size("radius", capsule.radius))
        }
        TypedShape::Cylinder(cylinder) => {
            size("radius", cylinder.radius).and(size("half height", cylinder.half_height))
        }
        TypedShape::Cone(cone) => size("radius", cone.radius).and(size("half height", cone.half_height)),
        TypedShape::HalfSpace(plane) => size("length of its normal", plane.normal.length()),
        TypedShape::Segment(segment) => places(&[segment.a, segment.b]),
        TypedShape::Triangle(triangle) => places(&triangle.vertices()[..]),
        TypedShape::Polyline(line) => places(line.vertices()),
        TypedShape::TriMesh(mesh) => places(mesh.vertices()),
        TypedShape::ConvexPolyhedron(hull) => places(hull.points()),
        TypedShape::HeightField(field) => {
            finite("a height of its parry shape", field.heights().data())?;
            let scale = field.scale();
            not_negative("scale of its heights", scale.y)?;
            size("width of its parry shape", scale.x).and(size("width of its parry shape", scale.z))
        }
        TypedShape::Voxels(voxels) => sizes("side of its voxels", voxels.voxel_size()),
        TypedShape::RoundCuboid(round) => {
            sizes("half side", round.inner_shape.half_extents).and(border(round.border_radius))
        }
        TypedShape::RoundCylinder(round) => {
            let inner = round.inner_shape;
            not_negative("radius", inner.radius)
                .and(not_negative("half height", inner.half_height))
                .and(border(round.border_radius))
        }
        TypedShape::RoundCone(round) => {
            let inner = round.inner_shape;
            not_negative("radius", inner.radius)
                .and(not_negative("half height", inner.half_height))
                .and(border(round.border_radius))
        }
        // Without its border it would have no inside.
        TypedShape::RoundTriangle(round) => {
            places(&round.inner_shape.vertices()[..]).and(size("border radius", round.border_radius))
        }
        TypedShape::RoundConvexPolyhedron(round) => places(round.inner_shape.points()).and(border(round.border_radius)),
        TypedShape::Compound(compound) => compound.shapes().iter().try_for_each(|(pose, part)| {
            places(&[pose.translation])?;
            finite("the rotation of a part", &pose.rotation.to_array())?;
            check(part)
        }),
        // Shapes of one's own are known by the box around them.
        TypedShape::Custom(_) => Ok(()),
    }
}

fn size(quantity: &'static str, value: f32) -> Result<(), Flaw> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err((quantity, f64::from(value))) }
}

fn sizes(quantity: &'static str, values: Vector) -> Result<(), Flaw> {
    values.to_array().into_iter().try_for_each(|value| size(quantity, value))
}

fn not_negative(quantity: &'static str, value: f32) -> Result<(), Flaw> {
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err((quantity, f64::from(value))) }
}

fn border(radius: f32) -> Result<(), Flaw> {
    not_negative("border radius", radius)
}

fn finite(quantity: &'static str, values: &[f32]) -> Result<(), Flaw> {
    values.iter().find(|value| !value.is_finite()).map_or(Ok(()), |&value| Err((quantity, f64::from(value))))
}

fn places(places: &[Vector]) -> Result<(), Flaw> {
    places.iter().try_for_each(|place| finite("a vertex of its parry shape", &place.to_array()))
}
