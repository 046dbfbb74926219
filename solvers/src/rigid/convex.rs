//! Manifolds of two convex parts, put together from what parry3d knows about them.

use parry3d::math::{Pose, Vector};
use parry3d::query::details::contact_manifold_cuboid_cuboid;
use parry3d::query::epa::EPA;
use parry3d::query::gjk::{self, CsoPoint, GJKResult, VoronoiSimplex};
use parry3d::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher, TrackedContact};
use parry3d::shape::{Cuboid, PackedFeatureId, PolygonalFeature, PolygonalFeatureMap, Shape};

use super::narrow::Form;

/// How much the first of two boxes grows before they meet, as a share of the thinnest half side. Boxes of one size that stand on
/// each other have their corners in the same places, where parry3d now and then finds three of four, and the stack gets a kick; a
/// little larger, one face holds the corners of the other.
const GROWN: f32 = 1e-3;

/// Finds manifolds of convex parts; keeps its memory.
pub(super) struct Convex {
    manifold: ContactManifold<(), ()>,
    /// For parts that overlap. parry3d would make a new one for every pair.
    inside: EPA,
}

impl Default for Convex {
    fn default() -> Self {
        Self { manifold: ContactManifold::new(), inside: EPA::new() }
    }
}

impl Convex {
    /// Where two parts are within `margin` of each other, the second seen from the first: no points where they are not.
    pub fn meet(&mut self, [first, second]: [&Form; 2], pose: &Pose, margin: f32) -> &ContactManifold<(), ()> {
        self.manifold.clear();
        if let (Form::Cuboid(first), Form::Cuboid(second)) = (first, second) {
            self.boxes([first, second], pose, margin);
        } else if let (Some(first), Some(second)) = (first.shape(), second.shape()) {
            let features = (first.as_polygonal_feature_map(), second.as_polygonal_feature_map());
            let both_capsules = first.as_capsule().is_some() && second.as_capsule().is_some();
            if let (Some(first), Some(second), false) = (features.0, features.1, both_capsules) {
                self.features([first, second], pose, margin);
            } else {
                // Two half-spaces have no contact; every other pair is known.
                let manifold = &mut self.manifold;
                let known = DefaultQueryDispatcher
                    .contact_manifold_convex_convex(pose, first, second, None, None, margin, manifold);
                if known.is_err() {
                    self.manifold.clear();
                }
            }
        }
        &self.manifold
    }

    fn boxes(&mut self, [first, second]: [&Cuboid; 2], pose: &Pose, margin: f32) {
        let grown = GROWN * first.half_extents.min_element().min(second.half_extents.min_element());
        let larger = Cuboid::new(first.half_extents + Vector::splat(grown));
        let manifold = &mut self.manifold;
        contact_manifold_cuboid_cuboid(pose, &larger, second, margin + grown, manifold);
        // Back to its size: the support of a box along n grows by Σ |n_k| times as much as its sides.
        let n = manifold.local_n1;
        let back = n.abs().element_sum() * grown;
        for point in &mut manifold.points {
            point.local_p1 -= n * back;
            point.dist += back;
        }
    }

    /// Faces and edges next to the closest or deepest points, clipped; each part with a radius around it. This is how parry3d does
    /// it, with memory that is used again and without what it remembers of the pair before.
    fn features(&mut self, [a, b]: [(&dyn PolygonalFeatureMap, f32); 2], pose: &Pose, margin: f32) {
        let ((a, radius_a), (b, radius_b)) = (a, b);
        let reach = margin + radius_a + radius_b;
        let Some((on_a, on_b, n)) = self.closest([a, b], pose, reach) else { return };
        let (from_b, back) = (pose.inverse(), pose.rotation.inverse() * -n);
        let local_b = from_b.transform_point(on_b);
        let mut feature = [PolygonalFeature::default(), PolygonalFeature::default()];
        a.local_support_feature_toward(n, on_a, &mut feature[0]);
        b.local_support_feature_toward(back, local_b, &mut feature[1]);
        let manifold = &mut self.manifold;
        PolygonalFeature::contacts(pose, &from_b, n, back, &feature[0], &feature[1], manifold, false);
        let unknown = PackedFeatureId::UNKNOWN;
        manifold.points.push(TrackedContact::new(on_a, local_b, unknown, unknown, (on_b - on_a).dot(n)));
        for point in &mut manifold.points {
            point.local_p1 += n * radius_a;
            point.local_p2 += back * radius_b;
            point.dist -= radius_a + radius_b;
        }
        manifold.local_n1 = n;
    }

    /// Closest points within `reach`, or deepest ones, and the direction from one to the other, all seen from the first part.
    ///
    /// Where parts touch exactly a search may end without a direction; one that begins elsewhere does not. Parts further apart
    /// are so wherever it begins: nothing is searched again.
    fn closest(
        &mut self,
        [a, b]: [&dyn PolygonalFeatureMap; 2],
        pose: &Pose,
        reach: f32,
    ) -> Option<(Vector, Vector, Vector)> {
        let towards = pose.translation.try_normalize().unwrap_or(Vector::X);
        let mut simplex = VoronoiSimplex::new();
        for begin in [towards, Vector::Y, Vector::X, Vector::Z, Vector::ONE.normalize()] {
            simplex.reset(CsoPoint::from_shapes(pose, a, b, begin));
            let found = match gjk::closest_points(pose, a, b, reach, true, &mut simplex) {
                GJKResult::Intersection if can_expand(&simplex, [a, b], pose) => {
                    self.inside.closest_points(pose, a, b, &simplex)
                }
                GJKResult::Intersection => None,
                GJKResult::ClosestPoints(on_a, on_b, n) => Some((on_a, on_b, n)),
                GJKResult::NoIntersection(_) => return None,
                GJKResult::Proximity(_) => None,
            };
            if let Some(found) = found.filter(|(_, _, n)| n.is_normalized()) {
                return Some(found);
            }
        }
        None
    }
}

/// Whether parry3d finds a third corner for a search that ended in one or two: from corners that coincide, or so far apart that the
/// square of their distance overflows, it has no direction to look in, and panics.
fn can_expand(simplex: &VoronoiSimplex, [a, b]: [&dyn PolygonalFeatureMap; 2], pose: &Pose) -> bool {
    match simplex.dimension() {
        0 => [Vector::X, Vector::Y, Vector::Z].into_iter().flat_map(|axis| [axis, -axis]).all(|axis| {
            let way = CsoPoint::from_shapes(pose, a, b, axis).point - simplex.point(0).point;
            way.length_squared().is_finite()
        }),
        1 => (simplex.point(1).point - simplex.point(0).point).try_normalize().is_some(),
        _ => true,
    }
}

impl Form {
    /// As parry3d knows it; none for fields.
    fn shape(&self) -> Option<&dyn Shape> {
        Some(match self {
            Self::Ball(shape) => shape,
            Self::Cuboid(shape) => shape,
            Self::Capsule(shape) => shape,
            Self::Cylinder(shape) => shape,
            Self::HalfSpace(shape) => shape,
            Self::Convex(shape) => &**shape,
            Self::Field => return None,
        })
    }
}
