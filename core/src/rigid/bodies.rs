//! The columns of all rigid bodies: what they are, where they are, and how they move.

use super::body::{Mobility, RigidBody};
use super::joint::{Joint, JointTerms};
use super::mass::MassProperties;
use super::parts::after;
use super::quaternion::Quaternion;
use crate::columns::Columns;
use crate::error::BuildError;
use crate::lane::Real;
use crate::sdf::{Pose, Rotation};
use crate::vec3::Vec3;

/// All rigid bodies and joints of a world as a structure of arrays; see the module for the frames they live in.
///
/// Quantities that a solver changes are public columns. Bodies are named by their row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigidBodies<S> {
    /// Centres of mass \[m\].
    pub x: Columns<S>,
    /// Orientations of the principal frames, `[x, y, z, w]`, of length 1.
    pub q: Vec<[S; 4]>,
    /// Velocities of the centres of mass \[m/s\].
    pub v: Columns<S>,
    /// Angular velocities in the world's axes \[rad/s\].
    pub omega: Columns<S>,
    /// Forces on the centres of mass over the next step \[N\]; cleared by it.
    pub force: Columns<S>,
    /// Torques over the next step, in the world's axes \[N m\]; cleared by it.
    pub torque: Columns<S>,
    /// Whether a body has come to rest and is left alone, and with which others: bodies of the same number wake together.
    pub asleep: Vec<Option<u32>>,
    /// How long a body has been nearly still \[s\].
    pub still: Vec<S>,
    pub(super) inv_mass: Vec<S>,
    pub(super) inv_inertia: Columns<S>,
    pub(super) inertia: Columns<S>,
    /// Poses of the shapes' frames in the principal frames.
    pub(super) frames: Vec<Pose>,
    pub(super) sent: Vec<Option<Pose>>,
    pub(super) described: Vec<RigidBody>,
    /// Hashes of the descriptions, without poses and velocities.
    pub(super) identity: Vec<u64>,
    pub(super) joints: Vec<Joint>,
    pub(super) terms: Vec<JointTerms<S>>,
    pub(super) revision: u64,
}

impl<S: Real> RigidBodies<S> {
    /// No bodies.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a body behind the others and returns its row.
    ///
    /// # Errors
    /// The first thing that is wrong with it; nothing is changed then.
    pub fn push(&mut self, body: &RigidBody) -> Result<usize, BuildError> {
        let row = self.len();
        let (body, mass) = body.checked(row)?;
        let Inertia { inv_mass, moments, scale, principal } = Inertia::of(mass);
        let placed = after(body.pose, principal);
        self.x.push(placed.translation.map(S::from_f64));
        self.q.push(placed.rotation.0.map(S::from_f64));
        self.v.push(body.velocity.map(S::from_f64));
        self.omega.push(body.angular_velocity.map(S::from_f64));
        self.force.push([S::ZERO; 3]);
        self.torque.push([S::ZERO; 3]);
        self.asleep.push(None);
        self.still.push(S::ZERO);
        self.inv_mass.push(S::from_f64(inv_mass));
        self.inv_inertia.push(moments.map(|i| S::from_f64(scale / i)));
        self.inertia.push(moments.map(|i| S::from_f64(scale * i)));
        self.frames.push(inverse(principal));
        self.sent.push(None);
        self.identity.push(body.identity());
        self.described.push(body);
        self.revision += 1;
        Ok(row)
    }

    /// Takes a body and its joints away; rows behind it move up by one.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when there is no such row.
    pub fn remove(&mut self, row: usize) -> Result<RigidBody, BuildError> {
        self.find(row)?;
        for columns in [
            &mut self.x,
            &mut self.v,
            &mut self.omega,
            &mut self.force,
            &mut self.torque,
            &mut self.inv_inertia,
            &mut self.inertia,
        ] {
            columns.x.remove(row);
            columns.y.remove(row);
            columns.z.remove(row);
        }
        self.q.remove(row);
        self.still.remove(row);
        self.inv_mass.remove(row);
        self.frames.remove(row);
        self.sent.remove(row);
        self.identity.remove(row);
        if let Some(group) = self.asleep.remove(row) {
            self.wake_group(group);
        }
        let gone = |joint: &Joint| joint.bodies.contains(&row);
        for joint in (0..self.joints.len()).rev() {
            if gone(&self.joints[joint]) {
                for other in self.joints[joint].bodies.into_iter().filter(|&other| other != row) {
                    self.wake(other - usize::from(other > row));
                }
                self.joints.remove(joint);
                self.terms.remove(joint);
            }
        }
        for (joint, terms) in self.joints.iter_mut().zip(&mut self.terms) {
            joint.bodies = joint.bodies.map(|body| body - usize::from(body > row));
            terms.bodies = joint.bodies.map(|body| body as u32);
        }
        self.wake_all();
        self.revision += 1;
        Ok(self.described.remove(row))
    }

    /// Adds a joint between bodies as they stand now and returns its row.
    ///
    /// # Errors
    /// When a body is missing, both are immovable, limits are in the wrong order or a number is not usable; nothing is changed
    /// then.
    pub fn join(&mut self, joint: &Joint) -> Result<usize, BuildError> {
        let row = self.joints.len();
        let terms = joint.resolve(self, row)?;
        self.joints.push(joint.clone());
        self.terms.push(terms);
        for body in joint.bodies {
            self.wake(body);
        }
        self.revision += 1;
        Ok(row)
    }

    /// Adds a joint that was made when bodies stood elsewhere: `anchors` and `frames` are those of its
    /// [`joint_terms`](Self::joint_terms).
    ///
    /// # Errors
    /// As for [`RigidBodies::join`], or when a number of `anchors` or `frames` is not finite; nothing is changed then.
    pub fn rejoin(&mut self, joint: &Joint, anchors: [[S; 3]; 2], frames: [[S; 4]; 2]) -> Result<usize, BuildError> {
        let numbers = anchors.iter().flatten().chain(frames.iter().flatten());
        if let Some(value) = numbers.copied().find(|number| !number.is_finite()) {
            let (what, row, value) = ("joint", self.joints.len(), value.to_f64());
            let (quantity, expected) = ("anchor or frame", "finite numbers");
            return Err(BuildError::BadValue { what, row, quantity, value, expected });
        }
        let row = self.join(joint)?;
        (self.terms[row].anchors, self.terms[row].frames) = (anchors, frames);
        Ok(row)
    }

    /// Takes a joint away; rows behind it move up by one.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when there is no such joint.
    pub fn unjoin(&mut self, row: usize) -> Result<Joint, BuildError> {
        if row >= self.joints.len() {
            return Err(BuildError::NotFound { what: "joint" });
        }
        self.terms.remove(row);
        let joint = self.joints.remove(row);
        for body in joint.bodies {
            self.wake(body);
        }
        self.revision += 1;
        Ok(joint)
    }

    /// How many bodies there are.
    pub fn len(&self) -> usize {
        self.q.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.q.is_empty()
    }
    /// Changes whenever bodies or joints are added or removed.
    pub fn revision(&self) -> u64 {
        self.revision
    }
    /// A body as it was described.
    pub fn described(&self) -> &[RigidBody] {
        &self.described
    }
    /// Joints as they were described.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }
    /// Joints as solvers see them.
    pub fn joint_terms(&self) -> &[JointTerms<S>] {
        &self.terms
    }
    /// Inverse masses \[1/kg\]; 0 for static and kinematic bodies.
    pub fn inv_mass(&self) -> &[S] {
        &self.inv_mass
    }
    /// Inverse principal moments of inertia \[1/(kg m²)\].
    pub fn inv_inertia(&self) -> &Columns<S> {
        &self.inv_inertia
    }
    /// Principal moments of inertia \[kg m²\]; 0 for static and kinematic bodies.
    pub fn inertia(&self) -> &Columns<S> {
        &self.inertia
    }
    /// The pose of a body's shape in its principal frame.
    pub fn frame(&self, row: usize) -> Pose {
        self.frames[row]
    }
    /// Mass of a dynamic body \[kg\].
    pub fn mass(&self, row: usize) -> Option<f64> {
        (self.inv_mass[row] > S::ZERO).then(|| 1.0 / self.inv_mass[row].to_f64())
    }
    /// Whether forces move it.
    pub fn is_dynamic(&self, row: usize) -> bool {
        self.inv_mass[row] > S::ZERO
    }

    /// Where the frame of a body's shape is now.
    pub fn pose(&self, row: usize) -> Pose {
        after(self.principal_pose(row), self.frames[row])
    }
    /// Where the principal frame of a body is now.
    pub fn principal_pose(&self, row: usize) -> Pose {
        let rotation = Rotation(self.q[row].map(S::to_f64));
        Pose { translation: self.x.get(row).map(S::to_f64), rotation }
    }
    /// Puts the frame of a body's shape somewhere else at once; wakes it.
    ///
    /// # Errors
    /// When there is no such body, or the pose is not finite or has a quaternion of no length.
    pub fn set_pose(&mut self, row: usize, pose: Pose) -> Result<(), BuildError> {
        self.find(row)?;
        let placed = after(pose.checked_as("rigid body", row)?, inverse(self.frames[row]));
        self.x.set(row, placed.translation.map(S::from_f64));
        self.q[row] = placed.rotation.0.map(S::from_f64);
        self.sent[row] = None;
        self.wake(row);
        Ok(())
    }
    /// Sends a kinematic body to a new pose; it arrives at the end of the next step.
    ///
    /// # Errors
    /// When there is no such body, it is not kinematic, or the pose is not usable.
    pub fn send(&mut self, row: usize, pose: Pose) -> Result<(), BuildError> {
        self.find(row)?;
        if self.described[row].mobility != Mobility::Kinematic {
            let reason = "only kinematic bodies are sent; push dynamic ones by forces, or use set_pose";
            return Err(BuildError::Unsupported { what: "rigid body", row, reason });
        }
        let placed = after(pose.checked_as("rigid body", row)?, inverse(self.frames[row]));
        self.sent[row] = Some(placed);
        Ok(())
    }
    /// Calls a body back that was sent and has not left yet.
    pub fn call_back(&mut self, row: usize) {
        if let Some(sent) = self.sent.get_mut(row) {
            *sent = None;
        }
    }
    /// Where the principal frame of a kinematic body goes in the next step, if it was sent anywhere.
    pub fn sent(&self, row: usize) -> Option<Pose> {
        self.sent[row]
    }
    /// Where the frame of a body's shape will be after `dt` \[s\], as far as one knows: where it was sent, or where its
    /// velocity takes it.
    pub fn pose_after(&self, row: usize, dt: f64) -> Pose {
        let mut pose = self.principal_pose(row);
        if let Some(to) = self.sent[row].filter(|_| dt > 0.0) {
            pose = to;
        } else if self.is_dynamic(row) {
            let (v, omega) = (self.vector(&self.v, row), self.vector(&self.omega, row));
            pose.translation = (Vec3::from(pose.translation) + v * dt).into();
            pose.rotation = Rotation(Quaternion::new(pose.rotation.0).turned(omega * dt).components());
        }
        after(pose, self.frames[row])
    }
    /// Forgets loads and destinations: called at the end of a step.
    pub fn arrive(&mut self) {
        for load in [&mut self.force, &mut self.torque] {
            for axis in [&mut load.x, &mut load.y, &mut load.z] {
                axis.fill(S::ZERO);
            }
        }
        self.sent.fill(None);
    }

    /// Velocity of the body's point that is at `point` now \[m/s\].
    pub fn velocity_at(&self, row: usize, point: [S; 3]) -> [S; 3] {
        let r = Vec3::from(point) - self.x.get(row).into();
        (Vec3::from(self.v.get(row)) + Vec3::from(self.omega.get(row)).cross(r)).into()
    }
    /// A force at a point of the world over the next step \[N, m\]; wakes the body.
    pub fn apply_force(&mut self, row: usize, force: [S; 3], point: [S; 3]) {
        let (f, r) = (Vec3::from(force), Vec3::from(point) - self.x.get(row).into());
        self.force.set(row, (Vec3::from(self.force.get(row)) + f).into());
        self.torque.set(row, (Vec3::from(self.torque.get(row)) + r.cross(f)).into());
        self.wake(row);
    }
    /// An impulse at a point of the world, at once \[N s, m\]: v += j/m, ω += I⁻¹ (r × j); wakes the body.
    pub fn apply_impulse(&mut self, row: usize, impulse: [S; 3], point: [S; 3]) {
        let (j, r) = (Vec3::from(impulse), Vec3::from(point) - self.x.get(row).into());
        let q = Quaternion::new(self.q[row]);
        let turn = q.rotate(scaled(q.unrotate(r.cross(j)), self.inv_inertia.get(row)));
        self.v.set(row, (Vec3::from(self.v.get(row)) + j * self.inv_mass[row]).into());
        self.omega.set(row, (Vec3::from(self.omega.get(row)) + turn).into());
        self.wake(row);
    }

    /// Wakes a body and those that sleep with it.
    pub fn wake(&mut self, row: usize) {
        self.still[row] = S::ZERO;
        if let Some(group) = self.asleep[row] {
            self.wake_group(group);
        }
    }
    /// Wakes every body.
    pub fn wake_all(&mut self) {
        self.asleep.fill(None);
        self.still.fill(S::ZERO);
    }
    fn wake_group(&mut self, group: u32) {
        for (asleep, still) in self.asleep.iter_mut().zip(&mut self.still) {
            if *asleep == Some(group) {
                (*asleep, *still) = (None, S::ZERO);
            }
        }
    }

    /// A vector of a row in double precision.
    pub(super) fn vector(&self, columns: &Columns<S>, row: usize) -> Vec3<f64> {
        columns.get(row).map(S::to_f64).into()
    }

    pub(super) fn find(&self, row: usize) -> Result<(), BuildError> {
        if row < self.len() { Ok(()) } else { Err(BuildError::NotFound { what: "rigid body" }) }
    }
}

/// Component by component.
pub(super) fn scaled<S: Real>(v: Vec3<S>, by: [S; 3]) -> Vec3<S> {
    Vec3::new(v.x * by[0], v.y * by[1], v.z * by[2])
}

/// How a body resists motion: nothing moves one without mass properties.
pub(super) struct Inertia {
    /// \[1/kg\]
    pub inv_mass: f64,
    /// Principal moments \[kg m²\].
    pub moments: [f64; 3],
    /// 1 for bodies that forces move, 0 for others.
    pub scale: f64,
    /// The principal frame in the shape's.
    pub principal: Pose,
}

impl Inertia {
    pub fn of(mass: Option<MassProperties>) -> Self {
        let properties = mass.unwrap_or(MassProperties::diagonal(1.0, [1.0; 3]));
        let (moments, axes) = properties.principal();
        let principal = Pose { translation: properties.centre, rotation: Rotation(axes.components()) };
        let scale = if mass.is_some() { 1.0 } else { 0.0 };
        Self { inv_mass: scale / properties.mass, moments, scale, principal }
    }
}

/// The inverse of a pose.
pub(super) fn inverse(pose: Pose) -> Pose {
    let back = Quaternion::new(pose.rotation.0).conjugate();
    let translation = -back.rotate(pose.translation.into());
    Pose { translation: translation.into(), rotation: Rotation(back.components()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::rigid::MassProperties;
    use crate::sdf::Shape;

    #[test]
    fn poses_come_back_as_they_were_given() {
        // An L of two boxes: neither its centre nor its axes are those of its frame.
        let shape = Shape::Cuboid { half: [0.5, 0.1, 0.1] }
            .union(Shape::Cuboid { half: [0.1, 0.4, 0.1] }.translated([0.4, 0.5, 0.0]));
        let pose = Pose::at([1.0, 2.0, 3.0]).turned(Rotation::about([1.0, 1.0, 0.3], 1.1));
        let mut bodies = RigidBodies::<f64>::new();
        let row = bodies.push(&RigidBody { pose, ..RigidBody::new(shape, 500.0) }).unwrap();
        let close = |a: Pose, b: Pose| {
            let same = |a: &[f64], b: &[f64], sign: f64| a.iter().zip(b).all(|(a, b)| (a - sign * b).abs() < 1e-12);
            assert!(same(&a.translation, &b.translation, 1.0), "{a:?} {b:?}");
            let side = a.rotation.0.iter().zip(&b.rotation.0).map(|(a, b)| a * b).sum::<f64>().signum();
            assert!(same(&a.rotation.0, &b.rotation.0, side), "{a:?} {b:?}");
        };
        close(bodies.pose(row), pose);
        let there = Pose::at([-1.0, 0.0, 4.0]).turned(Rotation::about([0.0, 1.0, 0.0], 3.0));
        bodies.set_pose(row, there).unwrap();
        close(bodies.pose(row), there);
    }

    #[test]
    fn an_impulse_at_a_point_moves_and_turns() {
        let mut bodies = RigidBodies::<f64>::new();
        let body = RigidBody::of_mass(MassProperties::diagonal(2.0, [1.0, 2.0, 2.5]));
        let row = bodies.push(&body.at([1.0, 0.0, 0.0])).unwrap();
        bodies.apply_impulse(row, [0.0, 4.0, 0.0], [2.0, 0.0, 0.0]);
        assert_eq!(bodies.v.get(row), [0.0, 2.0, 0.0]);
        assert_eq!(bodies.omega.get(row), [0.0, 0.0, 1.6]);
        assert_eq!(bodies.velocity_at(row, [2.0, 0.0, 0.0]), [0.0, 3.6, 0.0]);
        assert_eq!(bodies.linear_momentum(), [0.0, 4.0, 0.0]);
        assert_eq!(bodies.angular_momentum(), [0.0, 0.0, 8.0]);
    }

    #[test]
    fn bad_bodies_are_refused_and_nothing_changes() {
        let mut bodies = RigidBodies::<f32>::new();
        bodies.push(&RigidBody::sphere(0.5, 100.0)).unwrap();
        let before = bodies.clone();
        let ball = || RigidBody::sphere(0.5, 100.0);
        let bad = [
            RigidBody::sphere(0.0, 1.0),
            RigidBody::sphere(f64::NAN, 1.0),
            RigidBody::cuboid([1.0, -1.0, 1.0], 1.0),
            RigidBody::sphere(1.0, f64::NAN),
            RigidBody::sphere(1.0, 0.0),
            ball().turned([0.0; 4]),
            ball().turned([f64::NAN, 0.0, 0.0, 1.0]),
            ball().at([f64::INFINITY, 0.0, 0.0]),
            ball().moving([f64::NAN, 0.0, 0.0]),
            ball().with_friction(-1.0),
            ball().with_restitution(1.5),
            ball().with_damping(-1.0, 0.0),
            ball().held().moving([1.0, 0.0, 0.0]),
            RigidBody::of_mass(MassProperties::diagonal(1.0, [0.0; 3])),
            RigidBody::of_mass(MassProperties::diagonal(f64::NAN, [1.0; 3])),
            RigidBody { mobility: Mobility::Dynamic, ..RigidBody::plane([0.0, 1.0, 0.0]) },
            RigidBody::new(Shape::Torus { major: 1.0, minor: 0.2 }, 1.0),
        ];
        for (case, body) in bad.iter().enumerate() {
            assert!(bodies.push(body).is_err(), "case {case}");
        }
        assert_eq!(bodies, before);
        assert!(bodies.remove(7).is_err() && bodies.send(0, Pose::IDENTITY).is_err());
        assert!(bodies.set_pose(0, Pose::IDENTITY.turned([0.0; 4])).is_err());
        assert_eq!(bodies, before);
        // A quaternion of another length is normalised.
        let turned = bodies.push(&ball().turned([0.0, 0.0, 3.0, 4.0])).unwrap();
        assert_eq!(bodies.q[turned], [0.0, 0.0, 0.6, 0.8]);
    }
}
