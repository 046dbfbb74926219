//! What tells colliders apart, wherever they are: shape and surface.

use super::collider::{Collider, Colliders};
use super::pose::Pose;
use super::shape::Shape;
use crate::lane::Real;
use crate::snapshot::Fingerprint;

impl Pose {
    pub(crate) fn identify(&self, hash: &mut Fingerprint) {
        hash.add_all(self.translation.iter().chain(&self.rotation.0).map(|c| c.to_bits()));
    }
}

impl Shape {
    /// Adds the shape to a hash. Of a shape of `parry3d` its kind and the box around it count.
    pub(crate) fn identify(&self, hash: &mut Fingerprint) {
        match self {
            Self::Plane { .. }
            | Self::Sphere { .. }
            | Self::Cuboid { .. }
            | Self::Capsule { .. }
            | Self::Cylinder { .. }
            | Self::Torus { .. } => hash.add_shown(self),
            Self::Grid(grid) => {
                hash.add_name("grid");
                hash.add_all(grid.nodes.map(|count| count as u64));
                hash.add_reals(&grid.origin);
                hash.add_reals(&[grid.cell]);
                hash.add_reals(&grid.values);
            }
            Self::Offset(shape, by) => {
                hash.add_name("offset");
                hash.add_reals(&[*by]);
                shape.identify(hash);
            }
            Self::Posed(shape, pose) => {
                hash.add_name("posed");
                pose.identify(hash);
                shape.identify(hash);
            }
            Self::Union(a, b) => pair("union", a, b, hash),
            Self::Intersection(a, b) => pair("intersection", a, b, hash),
            Self::Difference(a, b) => pair("difference", a, b, hash),
            #[cfg(feature = "parry")]
            Self::Parry(shape) => {
                hash.add_name("parry3d");
                hash.add_shown(&shape.shape().shape_type());
                hash.add_reals(shape.bounds().as_flattened());
            }
        }
    }
}

fn pair(name: &str, a: &Shape, b: &Shape, hash: &mut Fingerprint) {
    hash.add_name(name);
    a.identify(hash);
    b.identify(hash);
}

impl Collider {
    /// A hash of all but the pose.
    pub(super) fn identity(&self) -> u64 {
        let mut hash = Fingerprint::new();
        self.shape.identify(&mut hash);
        hash.add_reals(&[self.friction, self.restitution]);
        hash.add(u64::from(self.continuous));
        hash.add_shown(&self.groups);
        hash.value()
    }
}

impl<S: Real> Colliders<S> {
    /// Tells sets apart: equal colliders in equal order have equal ones, on every machine. Poses, which may change, do not count.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fingerprint::new();
        hash.add_all(self.solids().iter().map(|solid| solid.identity));
        hash.value()
    }
}
