//! Parts: the simple solids that a body's shape consists of, which is what contact looks at.

use std::sync::Arc;

use super::mass::MassProperties;
use super::quaternion::Quaternion;
use crate::error::BuildError;
use crate::sdf::{Pose, Rotation, Shape};
use crate::vec3::Vec3;

/// A solid that contact can handle as it is.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Solid {
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A box with sides along the axes.
    Cuboid {
        /// Half sides \[m\].
        half: [f64; 3],
    },
    /// All points within `radius` of a segment along y.
    Capsule {
        /// Radius \[m\].
        radius: f64,
        /// Half the length of the segment \[m\].
        half_length: f64,
    },
    /// A cylinder about y.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Half its height \[m\].
        half_height: f64,
    },
    /// Everything behind a plane through the origin.
    HalfSpace {
        /// Points out of the solid; of any length above 0.
        normal: [f64; 3],
    },
    /// The convex hull of points \[m\].
    Convex {
        /// The points.
        points: Arc<[[f64; 3]]>,
    },
    /// Anything with a signed distance; meets others with the points on its surface and theirs.
    Field {
        /// Its distance.
        shape: Shape,
        /// Points on its surface \[m\]; none for things that others only run into.
        points: Arc<[[f64; 3]]>,
    },
}

/// A solid and where it stands in the frame of its body.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Part {
    /// The solid.
    pub solid: Solid,
    /// Its pose.
    pub pose: Pose,
}

impl Solid {
    /// Points on the surface, or within it by `radius` \[m\]: how it meets things that are known by their distance only.
    pub fn samples(&self) -> (Vec<[f64; 3]>, f64) {
        match self {
            &Self::Sphere { radius } => (vec![[0.0; 3]], radius),
            &Self::Capsule { radius, half_length } => {
                ([-1.0, -0.5, 0.0, 0.5, 1.0].map(|t| [0.0, t * half_length, 0.0]).to_vec(), radius)
            }
            &Self::Cuboid { half } => {
                // Corners, middles of edges and of faces: all of {−1, 0, 1}³ but the centre.
                let points = (0..27).filter(|&i| i != 13).map(|i| {
                    let at = [i % 3, i / 3 % 3, i / 9];
                    std::array::from_fn(|k| half[k] * (f64::from(at[k]) - 1.0))
                });
                (points.collect(), 0.0)
            }
            &Self::Cylinder { radius, half_height } => {
                let rim = (0..16).map(|i| (f64::from(i) / 8.0 * core::f64::consts::PI).sin_cos());
                let rim = rim.flat_map(|(s, c)| [-1.0, 1.0].map(|y| [c * radius, y * half_height, s * radius]));
                (rim.chain([[0.0, -half_height, 0.0], [0.0, half_height, 0.0]]).collect(), 0.0)
            }
            Self::HalfSpace { .. } => (Vec::new(), 0.0),
            Self::Convex { points } | Self::Field { points, .. } => (points.to_vec(), 0.0),
        }
    }

    /// The solid as a signed distance; none for hulls of points.
    pub fn shape(&self) -> Option<Shape> {
        Some(match *self {
            Self::Sphere { radius } => Shape::Sphere { radius },
            Self::Cuboid { half } => Shape::Cuboid { half },
            Self::Capsule { radius, half_length } => Shape::Capsule { radius, half_length },
            Self::Cylinder { radius, half_height } => Shape::Cylinder { radius, half_height },
            Self::HalfSpace { normal } => Shape::Plane { normal },
            Self::Field { ref shape, .. } => shape.clone(),
            Self::Convex { .. } => return None,
        })
    }

    /// Radius of a ball about the origin that holds the solid \[m\]; none for a solid without end.
    pub fn reach(&self) -> Option<f64> {
        let longest = |points: &[[f64; 3]]| {
            points.iter().map(|p| p.iter().map(|c| c * c).sum::<f64>()).fold(0.0, f64::max).sqrt()
        };
        match self {
            Self::HalfSpace { .. } => None,
            Self::Field { shape, points } => match shape.bounds() {
                Some([low, high]) => {
                    let far = std::array::from_fn(|k| low[k].abs().max(high[k].abs()));
                    Some(if points.is_empty() { longest(&[far]) } else { longest(&[far]).min(2.0 * longest(points)) })
                }
                None => None,
            },
            _ => {
                let (points, radius) = self.samples();
                Some(longest(&points) + radius)
            }
        }
    }

    /// Mass properties for a density \[kg/m³\]; none where the shape alone does not tell.
    fn mass(&self, density: f64) -> Option<MassProperties> {
        match *self {
            Self::Sphere { radius } => Some(MassProperties::sphere(radius, density)),
            Self::Cuboid { half } => Some(MassProperties::cuboid(half, density)),
            Self::Capsule { radius, half_length } => Some(MassProperties::capsule(radius, half_length, density)),
            Self::Cylinder { radius, half_height } => Some(MassProperties::cylinder(radius, half_height, density)),
            Self::Field { shape: Shape::Torus { major, minor }, .. } => {
                Some(MassProperties::torus(major, minor, density))
            }
            _ => None,
        }
    }
}

impl Part {
    /// The parts of a shape: unions and poses are taken apart, everything else that is no primitive is a field.
    pub fn of_shape(shape: &Shape) -> Vec<Self> {
        let mut parts = Vec::new();
        collect(shape, Pose::IDENTITY, &mut parts);
        parts
    }

    /// Mass properties of parts of one density \[kg/m³\].
    ///
    /// # Errors
    /// When a part's shape does not tell its mass.
    pub fn mass(parts: &[Self], density: f64, row: usize) -> Result<MassProperties, BuildError> {
        let reason = "the mass of this shape is not known; describe it by a closed mesh, or give mass properties";
        let unknown = BuildError::Unsupported { what: "rigid body", row, reason };
        let mut sum: Option<MassProperties> = None;
        for part in parts {
            let own = part.solid.mass(density).ok_or_else(|| unknown.clone())?.posed(part.pose);
            sum = Some(sum.map_or(own, |sum| sum.joined(own)));
        }
        sum.ok_or(unknown)
    }
}

fn collect(shape: &Shape, pose: Pose, to: &mut Vec<Part>) {
    let solid = match *shape {
        Shape::Plane { normal } => Solid::HalfSpace { normal },
        Shape::Sphere { radius } => Solid::Sphere { radius },
        Shape::Cuboid { half } => Solid::Cuboid { half },
        Shape::Capsule { radius, half_length } => Solid::Capsule { radius, half_length },
        Shape::Cylinder { radius, half_height } => Solid::Cylinder { radius, half_height },
        Shape::Posed(ref inner, by) => return collect(inner, after(pose, by), to),
        Shape::Union(ref a, ref b) => {
            collect(a, pose, to);
            return collect(b, pose, to);
        }
        ref other => Solid::Field { shape: other.clone(), points: Arc::new([]) },
    };
    to.push(Part { solid, pose });
}

/// The pose `inner`, seen from outside a frame that stands at `outer`.
pub(super) fn after(outer: Pose, inner: Pose) -> Pose {
    let turn = Quaternion::new(outer.rotation.0);
    let translation = turn.rotate(inner.translation.into()) + Vec3::from(outer.translation);
    let rotation = Rotation((turn * Quaternion::new(inner.rotation.0)).components());
    Pose { translation: translation.into(), rotation }
}
