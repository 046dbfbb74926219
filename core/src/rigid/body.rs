//! Rigid bodies as a user describes them, in double precision and SI units.

use std::sync::Arc;

use super::mass::MassProperties;
use super::parts::{Part, Solid};
use crate::collide::Groups;
use crate::error::BuildError;
use crate::mesh::TriMesh;
use crate::sdf::{Collider, Colliders, DistanceGrid, Pose, Rotation, Shape};

/// Who moves a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Mobility {
    /// Nobody: it stays where it is.
    Static,
    /// Its user, by `send`: it pushes others and is never pushed.
    Kinematic,
    /// Forces, contacts and joints.
    #[default]
    Dynamic,
}

/// A rigid body. Described here, checked when it is added.
///
/// ```
/// use pliant_core::rigid::{RigidBodies, RigidBody};
///
/// let mut bodies = RigidBodies::<f32>::new();
/// let floor = bodies.push(&RigidBody::plane([0.0, 1.0, 0.0]).with_friction(0.6))?;
/// let crate_ = bodies.push(&RigidBody::cuboid([1.0, 0.5, 0.5], 400.0).at([0.0, 2.0, 0.0]))?;
/// assert!((bodies.mass(crate_).unwrap_or_default() - 100.0).abs() < 1e-3);
/// assert_eq!(bodies.mass(floor), None);
/// # Ok::<(), pliant_core::error::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct RigidBody {
    /// What it looks like to contact; empty for a body that touches nothing.
    pub parts: Vec<Part>,
    /// Who moves it.
    pub mobility: Mobility,
    /// Its density \[kg/m³\], for shapes that tell their volume; ignored where mass properties are given.
    pub density: f64,
    /// Mass properties in the frame of its shape, where the shape does not tell them.
    pub mass: Option<MassProperties>,
    /// Where the frame of its shape is.
    pub pose: Pose,
    /// Velocity of the centre of mass \[m/s\].
    pub velocity: [f64; 3],
    /// Angular velocity in the world's axes \[rad/s\].
    pub angular_velocity: [f64; 3],
    /// Coulomb's coefficient μ, 0 or more; of two bodies that touch the geometric mean counts.
    pub friction: f64,
    /// Coefficient of restitution e, 0 to 1; of two bodies that touch the larger counts.
    pub restitution: f64,
    /// Rate at which velocity is lost \[1/s\].
    pub linear_damping: f64,
    /// Rate at which angular velocity is lost \[1/s\].
    pub angular_damping: f64,
    /// Whether it may fall asleep when it has come to rest.
    pub sleeps: bool,
    /// What it touches.
    pub groups: Groups,
}

impl RigidBody {
    /// A dynamic body of this shape and density \[kg/m³\] at the origin: friction 0.5, no restitution.
    pub fn new(shape: Shape, density: f64) -> Self {
        Self::of_parts(Part::of_shape(&shape), density)
    }
    fn of_parts(parts: Vec<Part>, density: f64) -> Self {
        Self {
            parts,
            mobility: Mobility::Dynamic,
            density,
            mass: None,
            pose: Pose::IDENTITY,
            velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            friction: 0.5,
            restitution: 0.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
            sleeps: true,
            groups: Groups::ALL,
        }
    }
    /// A body without a shape: it has a mass and touches nothing.
    pub fn of_mass(mass: MassProperties) -> Self {
        Self { mass: Some(mass), ..Self::of_parts(Vec::new(), 1.0) }
    }
    /// A static body of this shape.
    pub fn fixed(shape: Shape) -> Self {
        Self { mobility: Mobility::Static, ..Self::new(shape, 1.0) }
    }
    /// Static: everything behind a plane; `normal` points out of the solid.
    pub fn plane(normal: impl Into<[f64; 3]>) -> Self {
        Self::fixed(Shape::Plane { normal: normal.into() })
    }
    /// A box with these full sides \[m, kg/m³\].
    pub fn cuboid(size: impl Into<[f64; 3]>, density: f64) -> Self {
        Self::new(Shape::Cuboid { half: size.into().map(|side| 0.5 * side) }, density)
    }
    /// A ball \[m, kg/m³\].
    pub fn sphere(radius: f64, density: f64) -> Self {
        Self::new(Shape::Sphere { radius }, density)
    }
    /// A capsule along y: `length` between the centres of its caps \[m, kg/m³\].
    pub fn capsule(radius: f64, length: f64, density: f64) -> Self {
        Self::new(Shape::Capsule { radius, half_length: 0.5 * length }, density)
    }
    /// A cylinder along y \[m, kg/m³\].
    pub fn cylinder(radius: f64, height: f64, density: f64) -> Self {
        Self::new(Shape::Cylinder { radius, half_height: 0.5 * height }, density)
    }
    /// The convex hull of a closed mesh that is (nearly) convex \[kg/m³\].
    ///
    /// # Errors
    /// As for [`MassProperties::of_mesh`].
    pub fn convex(mesh: &TriMesh, density: f64) -> Result<Self, BuildError> {
        let mass = MassProperties::of_mesh(mesh, density)?;
        let solid = Solid::Convex { points: points_of(mesh) };
        let parts = vec![Part { solid, pose: Pose::IDENTITY }];
        Ok(Self { mass: Some(mass), ..Self::of_parts(parts, density) })
    }
    /// A closed mesh of any shape \[kg/m³\]: its distance is sampled with `cells` cells along its longest side, and it meets
    /// others with its vertices and theirs.
    ///
    /// # Errors
    /// As for [`MassProperties::of_mesh`] and [`DistanceGrid::from_mesh`].
    pub fn mesh(mesh: &TriMesh, cells: usize, density: f64) -> Result<Self, BuildError> {
        let mass = MassProperties::of_mesh(mesh, density)?;
        let shape = Shape::Grid(Arc::new(DistanceGrid::from_mesh(mesh, cells)?));
        let parts = vec![Part { solid: Solid::Field { shape, points: points_of(mesh) }, pose: Pose::IDENTITY }];
        Ok(Self { mass: Some(mass), ..Self::of_parts(parts, density) })
    }

    /// Puts it somewhere \[m\].
    #[must_use]
    pub fn at(mut self, translation: impl Into<[f64; 3]>) -> Self {
        self.pose.translation = translation.into();
        self
    }
    /// Turns it: `ultraviolet`'s rotors, a quaternion `[x, y, z, w]`, or [`Rotation::about`].
    #[must_use]
    pub fn turned(mut self, rotation: impl Into<Rotation>) -> Self {
        self.pose.rotation = rotation.into();
        self
    }
    /// Velocity of the centre of mass \[m/s\].
    #[must_use]
    pub fn moving(mut self, velocity: impl Into<[f64; 3]>) -> Self {
        self.velocity = velocity.into();
        self
    }
    /// Angular velocity in the world's axes \[rad/s\].
    #[must_use]
    pub fn spinning(mut self, angular_velocity: impl Into<[f64; 3]>) -> Self {
        self.angular_velocity = angular_velocity.into();
        self
    }
    /// Makes it static: it never moves.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.mobility = Mobility::Static;
        self
    }
    /// Makes it kinematic: its user moves it.
    #[must_use]
    pub fn kinematic(mut self) -> Self {
        self.mobility = Mobility::Kinematic;
        self
    }
    /// Coulomb's coefficient of friction.
    #[must_use]
    pub fn with_friction(mut self, friction: f64) -> Self {
        self.friction = friction;
        self
    }
    /// The coefficient of restitution, 0 to 1.
    #[must_use]
    pub fn with_restitution(mut self, restitution: f64) -> Self {
        self.restitution = restitution;
        self
    }
    /// Rates at which velocity and angular velocity are lost \[1/s\].
    #[must_use]
    pub fn with_damping(mut self, linear: f64, angular: f64) -> Self {
        (self.linear_damping, self.angular_damping) = (linear, angular);
        self
    }
    /// Mass properties of one's own, in the frame of the shape.
    #[must_use]
    pub fn with_mass_properties(mut self, mass: MassProperties) -> Self {
        self.mass = Some(mass);
        self
    }
    /// Whether it may fall asleep when it has come to rest.
    #[must_use]
    pub fn sleeping(mut self, sleeps: bool) -> Self {
        self.sleeps = sleeps;
        self
    }
    /// What it belongs to and what it touches.
    #[must_use]
    pub fn in_groups(mut self, groups: Groups) -> Self {
        self.groups = groups;
        self
    }

    /// Checks everything a user can get wrong; returns the body with a unit quaternion, and its mass properties if it has
    /// any (dynamic bodies).
    ///
    /// # Errors
    /// Which body, which quantity, what was expected.
    pub fn checked(&self, row: usize) -> Result<(Self, Option<MassProperties>), BuildError> {
        let what = "rigid body";
        let bad = |quantity, value, expected| BuildError::BadValue { what, row, quantity, value, expected };
        let mut body = self.clone();
        body.pose = body.pose.checked_as(what, row)?;
        for part in &mut body.parts {
            part.pose = part.pose.checked_as(what, row)?;
            check_solid(&part.solid, row)?;
        }
        for (quantity, vector) in [("velocity", body.velocity), ("angular velocity", body.angular_velocity)] {
            if let Some(&value) = vector.iter().find(|c| !(c.is_finite() && c.abs() < 1e9)) {
                return Err(bad(quantity, value, "a finite number below 1e9"));
            }
        }
        let rates = [("friction", body.friction), ("linear damping", body.linear_damping)];
        for (quantity, value) in rates.into_iter().chain([("angular damping", body.angular_damping)]) {
            if !(value.is_finite() && value >= 0.0) {
                return Err(bad(quantity, value, "a finite number, 0 or more"));
            }
        }
        if !(0.0..=1.0).contains(&body.restitution) {
            return Err(bad("restitution", body.restitution, "a number from 0 to 1"));
        }
        if body.mobility != Mobility::Dynamic {
            let moving = body.velocity.into_iter().chain(body.angular_velocity).find(|&c| c != 0.0);
            return match moving {
                Some(value) => Err(bad("velocity", value, "0 for static and kinematic bodies (send kinematic ones)")),
                None => Ok((body, None)),
            };
        }
        if body.parts.iter().any(|part| matches!(part.solid, Solid::HalfSpace { .. })) {
            return Err(BuildError::Unsupported { what, row, reason: "a half-space has no mass; make it static" });
        }
        let empty = |part: &Part| matches!(&part.solid, Solid::Field { points, .. } if points.is_empty());
        if body.parts.iter().any(empty) {
            let reason = "a shape without points cannot run into others; use RigidBody::mesh, or make it static";
            return Err(BuildError::Unsupported { what, row, reason });
        }
        let mass = match body.mass {
            Some(mass) => mass,
            None => {
                if !(body.density.is_finite() && body.density > 0.0) {
                    return Err(bad("density", body.density, "a finite number above 0"));
                }
                Part::mass(&body.parts, body.density, row)?
            }
        };
        mass.check(row)?;
        Ok((body, Some(mass)))
    }
}

/// Checks sizes with the checks that colliders have.
fn check_solid(solid: &Solid, row: usize) -> Result<(), BuildError> {
    if let Solid::Convex { points } = solid {
        if let Some(&value) = points.iter().flatten().find(|c| !c.is_finite()) {
            let (what, quantity, expected) = ("rigid body", "point of its hull", "a finite number");
            return Err(BuildError::BadValue { what, row, quantity, value, expected });
        }
        let (what, found, expected) = ("convex hull", points.len(), 4);
        return if found < expected { Err(BuildError::Length { what, found, expected }) } else { Ok(()) };
    }
    let Some(shape) = solid.shape() else { return Ok(()) };
    match Colliders::<f64>::new([Collider::new(shape)]) {
        Err(BuildError::BadValue { quantity, value, expected, .. }) => {
            Err(BuildError::BadValue { what: "rigid body", row, quantity, value, expected })
        }
        other => other.map(|_| ()),
    }
}

fn points_of(mesh: &TriMesh) -> Arc<[[f64; 3]]> {
    mesh.positions().iter().map(|p| [p.x, p.y, p.z]).collect()
}
