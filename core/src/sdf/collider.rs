//! Colliders: shapes with a pose and a surface, and the set of them that a model carries.

use std::sync::Arc;

use super::grid::DistanceGrid;
use super::pose::{Pose, Rotation};
use super::program::Program;
use super::shape::Shape;
use super::tree;
use crate::collide::Groups;
use crate::error::BuildError;
use crate::lane::Real;
use crate::mesh::TriMesh;
use crate::precision;
use crate::snapshot::{Reader, SnapshotError, Writer};

/// Something solid that particles cannot enter. Described here, checked when it is added to a model or world.
///
/// ```
/// use pliant_core::sdf::Collider;
///
/// let ball = Collider::sphere(0.3).at([0.0, 1.0, 0.0]).with_friction(0.4);
/// let floor = Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Collider {
    /// What it looks like.
    pub shape: Shape,
    /// Where it is.
    pub pose: Pose,
    /// Coulomb's coefficient μ, 0 or more: both the largest static and the sliding friction.
    pub friction: f64,
    /// Coefficient of restitution e, 0 to 1: the share of the approach speed that a particle leaves with.
    pub restitution: f64,
    /// Whether particles that travel farther in a substep than the shape is thick are stopped at their first contact. Penalty
    /// forces of an explicit method look at where particles are, and know no paths.
    pub continuous: bool,
    /// Which bodies it stops: those whose groups meet these, see [`Body::with_collider_groups`](crate::body::Body::with_collider_groups).
    /// All of them unless set. Rigid bodies do not look at groups.
    #[cfg_attr(feature = "serde", serde(default))]
    pub groups: Groups,
}

impl Collider {
    /// A shape at the origin: friction 0, restitution 0, continuous, for all bodies.
    pub fn new(shape: Shape) -> Self {
        let (pose, groups) = (Pose::IDENTITY, Groups::ALL);
        Self { shape, pose, friction: 0.0, restitution: 0.0, continuous: true, groups }
    }
    /// Everything behind a plane; `normal` points out of the solid.
    pub fn plane(normal: impl Into<[f64; 3]>) -> Self {
        Self::new(Shape::Plane { normal: normal.into() })
    }
    /// A ball \[m\].
    pub fn sphere(radius: f64) -> Self {
        Self::new(Shape::Sphere { radius })
    }
    /// A box with these full sides \[m\].
    pub fn cuboid(size: impl Into<[f64; 3]>) -> Self {
        Self::new(Shape::Cuboid { half: size.into().map(|side| 0.5 * side) })
    }
    /// A capsule along y: `length` between the centres of its caps \[m\].
    pub fn capsule(radius: f64, length: f64) -> Self {
        Self::new(Shape::Capsule { radius, half_length: 0.5 * length })
    }
    /// A cylinder along y \[m\].
    pub fn cylinder(radius: f64, height: f64) -> Self {
        Self::new(Shape::Cylinder { radius, half_height: 0.5 * height })
    }
    /// A ring about y: radius of its middle circle and of its tube \[m\].
    pub fn torus(major: f64, minor: f64) -> Self {
        Self::new(Shape::Torus { major, minor })
    }
    /// A closed mesh, sampled with `cells` cells along its longest side; see [`DistanceGrid::from_mesh`].
    ///
    /// # Errors
    /// As for [`DistanceGrid::from_mesh`].
    pub fn mesh(mesh: &TriMesh, cells: usize) -> Result<Self, BuildError> {
        Ok(Self::new(Shape::Grid(Arc::new(DistanceGrid::from_mesh(mesh, cells)?))))
    }
    /// Any shape of `parry3d`: convex hulls, meshes, height fields, compounds, primitives.
    ///
    /// ```
    /// use parry3d::math::{Pose, Vector};
    /// use parry3d::shape::SharedShape;
    /// use pliant_core::sdf::{Collider, Colliders};
    ///
    /// let leg = SharedShape::cylinder(0.35, 0.03);
    /// let top = SharedShape::cuboid(0.6, 0.02, 0.4);
    /// let table = SharedShape::compound(vec![(Pose::translation(0.0, 0.72, 0.0), top), (Pose::translation(0.0, 0.35, 0.0), leg)]);
    /// let colliders = Colliders::<f32>::new([Collider::from_parry(table).with_friction(0.4)])?;
    /// # Ok::<(), pliant_core::error::BuildError>(())
    /// ```
    ///
    /// Each contact costs point projections of `parry3d`, in single precision, particle by particle: the shapes of
    /// [`Shape`] are some hundred times faster. Surfaces without an inside (triangles, height fields, meshes without the flag
    /// `ORIENTED`) are shells 2 mm thick, so that particles have a side; [`Shape::offset`] makes them thicker. Overlapping
    /// parts of a compound are one solid.
    ///
    /// A shape without size or with numbers that are not finite is refused when the collider is added.
    #[cfg(feature = "parry")]
    pub fn from_parry(shape: impl Into<parry3d::shape::SharedShape>) -> Self {
        Self::new(Shape::Parry(super::ParryShape::from(shape.into())))
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
    /// Whether fast particles are stopped at their first contact.
    #[must_use]
    pub fn with_continuous(mut self, continuous: bool) -> Self {
        self.continuous = continuous;
        self
    }
    /// Stops particles only of bodies whose groups meet these.
    ///
    /// ```
    /// use pliant_core::body::Body;
    /// use pliant_core::collide::Groups;
    /// use pliant_core::sdf::Collider;
    ///
    /// // The wall is of group 2 and stops group 1; ghosts are of group 4.
    /// let wall = Collider::plane([1.0, 0.0, 0.0]).with_groups(Groups { member: 2, touches: 1 });
    /// let ghost = Body::particles([[0.0; 3]]).with_collider_groups(Groups { member: 4, touches: u32::MAX });
    /// assert!(!ghost.collider_groups().meet(wall.groups));
    /// ```
    #[must_use]
    pub fn with_groups(mut self, groups: Groups) -> Self {
        self.groups = groups;
        self
    }
}

/// A collider made ready for lanes of one precision.
#[derive(Clone, Debug)]
pub struct Solid<S> {
    /// Distance and gradient in its own frame.
    pub program: Program<S>,
    /// Coefficient of friction μ.
    pub friction: S,
    /// Coefficient of restitution e.
    pub restitution: S,
    /// Which bodies it stops.
    pub groups: Groups,
    pub(super) continuous: bool,
    pub(super) convex: bool,
    /// Whether φ is the distance outside, and inside; a bound of it otherwise.
    pub(super) exact: [bool; 2],
    /// Whether the program is a simple one.
    pub(super) simple: bool,
    /// Whether it has several parts.
    pub(super) combined: bool,
    /// Whether it is a ball.
    pub(super) round: bool,
    /// A particle that travels less cannot pass through \[m\]; 0 where nobody knows.
    pub(super) feature: S,
    /// How far a path may go on beside the surface before it is looked at again \[m\].
    pub(super) stride: S,
    /// How thin walls are at the least \[m\], where nobody knows better.
    pub(super) wall: S,
    /// 1 over the largest slope of φ.
    pub(super) inv_lipschitz: S,
    /// A box around it, in its own frame: centre and half sides \[m\]; infinite for a plane.
    pub(super) centre: [S; 3],
    pub(super) half: [S; 3],
    /// Whether that box is finite.
    pub(super) bounded: bool,
    /// A hash of the description, without its pose.
    pub(super) identity: u64,
}

impl<S: Real> Solid<S> {
    fn new(collider: &Collider, row: usize) -> Result<Self, BuildError> {
        let bad = |quantity, value, expected| BuildError::BadValue { what: "collider", row, quantity, value, expected };
        let friction = precision::not_negative(collider.friction);
        let friction = friction.map_err(|expected| bad("friction", collider.friction, expected))?;
        if !(0.0..=1.0).contains(&collider.restitution) {
            return Err(bad("restitution", collider.restitution, "0 to 1"));
        }
        let (program, traits) = collider.shape.compile(row)?;
        let (centre, half) = match traits.bounds {
            None => ([0.0; 3], [f64::INFINITY; 3]),
            Some([low, high]) => {
                let half: [f64; 3] = std::array::from_fn(|k| 0.5 * (high[k] - low[k]));
                let centre: [f64; 3] = std::array::from_fn(|k| low[k] + half[k]);
                // Wide enough for the rounding of any formula: outside of it nothing may count as touched.
                let size = half.iter().chain(&centre).map(|c| c.abs()).sum::<f64>();
                (centre, half.map(|h| h + 32.0 * S::EPSILON.to_f64() * size))
            }
        };
        Ok(Self {
            friction,
            restitution: S::from_f64(collider.restitution),
            groups: collider.groups,
            continuous: collider.continuous && traits.feature.is_finite(),
            convex: traits.convex,
            exact: traits.exact,
            simple: program.is_simple(),
            combined: program.is_combined(),
            round: program.is_round(),
            // Half of it again: a slow particle must end well on its own side of the middle.
            feature: S::from_f64(0.5 * traits.feature),
            stride: S::from_f64(0.5 * traits.stride),
            wall: S::from_f64(0.5 * traits.wall),
            inv_lipschitz: S::from_f64(1.0 / traits.lipschitz),
            centre: centre.map(S::from_f64),
            half: half.map(S::from_f64),
            bounded: traits.bounds.is_some(),
            identity: collider.identity(),
            program,
        })
    }
}

/// The colliders of a model: shapes stay as they are, poses may change every frame.
#[derive(Clone, Debug)]
pub struct Colliders<S> {
    solids: Vec<Solid<S>>,
    described: Vec<Collider>,
    settled: Vec<Pose>,
}

impl<S> Default for Colliders<S> {
    fn default() -> Self {
        Self { solids: Vec::new(), described: Vec::new(), settled: Vec::new() }
    }
}

impl<S: Real> Colliders<S> {
    /// Checks colliders and makes them ready.
    ///
    /// # Errors
    /// The first thing that is wrong: which collider, which quantity, what was expected.
    pub fn new(colliders: impl IntoIterator<Item = Collider>) -> Result<Self, BuildError> {
        let mut set = Self::default();
        colliders.into_iter().try_for_each(|collider| set.push(collider))?;
        Ok(set)
    }
    /// Adds a collider behind the others.
    ///
    /// # Errors
    /// As for [`Colliders::new`].
    pub fn push(&mut self, mut collider: Collider) -> Result<(), BuildError> {
        collider.shape = tree::checked::<S>(collider.shape, self.len())?;
        collider.pose = collider.pose.checked(self.len())?;
        self.solids.push(Solid::new(&collider, self.described.len())?);
        self.settled.push(collider.pose);
        self.described.push(collider);
        Ok(())
    }
    /// Takes a collider away; those behind it move up.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when there is none at this place.
    pub fn remove(&mut self, index: usize) -> Result<Collider, BuildError> {
        if index >= self.len() {
            return Err(BuildError::NotFound { what: "collider" });
        }
        self.solids.remove(index);
        self.settled.remove(index);
        Ok(self.described.remove(index))
    }
    /// Puts another collider in the place of one; it stands where that one stood, and is sent to its own pose.
    ///
    /// # Errors
    /// As for [`Colliders::new`], or [`BuildError::NotFound`] when there is none at this place; nothing is changed then.
    pub fn replace(&mut self, index: usize, mut collider: Collider) -> Result<(), BuildError> {
        if index >= self.len() {
            return Err(BuildError::NotFound { what: "collider" });
        }
        collider.shape = tree::checked::<S>(collider.shape, index)?;
        collider.pose = collider.pose.checked(index)?;
        self.solids[index] = Solid::new(&collider, index)?;
        self.described[index] = collider;
        Ok(())
    }
    /// Sends a collider to a new pose; it arrives at the end of the next step.
    ///
    /// # Errors
    /// When there is no such collider, or the pose is not finite or has a quaternion of no length.
    pub fn send(&mut self, index: usize, to: Pose) -> Result<(), BuildError> {
        let collider = self.described.get_mut(index).ok_or(BuildError::NotFound { what: "collider" })?;
        collider.pose = to.checked(index)?;
        Ok(())
    }

    /// Where colliders stand when a solver is prepared: the start of their motion over its first step.
    pub fn settled(&self) -> &[Pose] {
        &self.settled
    }
    /// Writes down where colliders stand and where they were sent.
    pub fn remember(&self, to: &mut Writer) {
        for (settled, collider) in self.settled.iter().zip(&self.described) {
            settled.write(to);
            collider.pose.write(to);
        }
    }
    /// Takes it back, for the same colliders.
    ///
    /// # Errors
    /// When there were fewer.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        for (settled, collider) in self.settled.iter_mut().zip(&mut self.described) {
            *settled = Pose::read(from)?;
            collider.pose = Pose::read(from)?;
        }
        Ok(())
    }
    /// Takes the poses that colliders were sent to as where they stand. A prepared solver keeps track by itself; this is for
    /// preparing another one in the middle of a motion.
    pub fn settle(&mut self) {
        for (settled, collider) in self.settled.iter_mut().zip(&self.described) {
            *settled = collider.pose;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.solids.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.solids.is_empty()
    }
    /// The colliders as described; their poses are where they will be at the end of the next step.
    pub fn described(&self) -> &[Collider] {
        &self.described
    }
    /// The colliders as lanes see them.
    pub fn solids(&self) -> &[Solid<S>] {
        &self.solids
    }
}
