//! Ragdolls: a person of capsules, held together by joints.

use super::bodies::RigidBodies;
use super::body::RigidBody;
use super::joint::Joint;
use crate::error::BuildError;
use crate::lane::Real;
use crate::sdf::{Pose, Rotation};
use crate::vec3::Vec3;

/// A bone of a ragdoll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Bone {
    /// Hips: the root.
    Pelvis,
    /// Chest and shoulders.
    Chest,
    /// Head and neck.
    Head,
    /// Left upper arm (+x).
    LeftUpperArm,
    /// Left forearm and hand.
    LeftForearm,
    /// Right upper arm (−x).
    RightUpperArm,
    /// Right forearm and hand.
    RightForearm,
    /// Left thigh.
    LeftThigh,
    /// Left shin and foot.
    LeftShin,
    /// Right thigh.
    RightThigh,
    /// Right shin and foot.
    RightShin,
}

/// Where a bone begins and ends for a person of height 1 that stands at the origin with arms out, and how thick it is.
const BONES: [(Bone, [f64; 3], [f64; 3], f64); 11] = [
    (Bone::Pelvis, [-0.05, 0.53, 0.0], [0.05, 0.53, 0.0], 0.065),
    (Bone::Chest, [0.0, 0.61, 0.0], [0.0, 0.75, 0.0], 0.085),
    (Bone::Head, [0.0, 0.87, 0.0], [0.0, 0.93, 0.0], 0.06),
    (Bone::LeftUpperArm, [0.12, 0.80, 0.0], [0.27, 0.80, 0.0], 0.03),
    (Bone::LeftForearm, [0.29, 0.80, 0.0], [0.45, 0.80, 0.0], 0.025),
    (Bone::RightUpperArm, [-0.12, 0.80, 0.0], [-0.27, 0.80, 0.0], 0.03),
    (Bone::RightForearm, [-0.29, 0.80, 0.0], [-0.45, 0.80, 0.0], 0.025),
    (Bone::LeftThigh, [0.06, 0.48, 0.0], [0.06, 0.29, 0.0], 0.045),
    (Bone::LeftShin, [0.06, 0.26, 0.0], [0.06, 0.04, 0.0], 0.035),
    (Bone::RightThigh, [-0.06, 0.48, 0.0], [-0.06, 0.29, 0.0], 0.045),
    (Bone::RightShin, [-0.06, 0.26, 0.0], [-0.06, 0.04, 0.0], 0.035),
];

/// A person to be added to a list of bodies.
///
/// ```
/// use pliant_core::rigid::{Bone, Ragdoll, RigidBodies};
///
/// let mut bodies = RigidBodies::<f32>::new();
/// let rows = Ragdoll::new(1.8).at([0.0, 1.0, 0.0]).build(&mut bodies)?;
/// let head = rows[Bone::Head as usize];
/// assert!(bodies.x.get(head)[1] > 2.5);
/// assert_eq!(bodies.joints().len(), 10);
/// # Ok::<(), pliant_core::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Ragdoll {
    /// Height \[m\].
    pub height: f64,
    /// Density \[kg/m³\].
    pub density: f64,
    /// Where the point between its feet is, and how it is turned.
    pub pose: Pose,
    /// Friction of its skin.
    pub friction: f64,
    /// Damping of every joint \[N m s/rad\].
    pub damping: f64,
}

impl Ragdoll {
    /// A person of this height \[m\], standing at the origin with arms out: density 1000 kg/m³, friction 0.6.
    pub fn new(height: f64) -> Self {
        Self { height, density: 1000.0, pose: Pose::IDENTITY, friction: 0.6, damping: 0.5 }
    }
    /// Puts it somewhere \[m\].
    #[must_use]
    pub fn at(mut self, translation: impl Into<[f64; 3]>) -> Self {
        self.pose.translation = translation.into();
        self
    }
    /// Turns it.
    #[must_use]
    pub fn turned(mut self, rotation: impl Into<Rotation>) -> Self {
        self.pose.rotation = rotation.into();
        self
    }

    /// Adds eleven bodies and ten joints; returns the rows of the bodies, in the order of [`Bone`].
    ///
    /// Spine, neck, shoulders and hips swing and twist, elbows and knees are hinges that bend one way.
    ///
    /// # Errors
    /// When a size or the pose is not usable; nothing is changed then.
    pub fn build<S: Real>(&self, bodies: &mut RigidBodies<S>) -> Result<[usize; 11], BuildError> {
        let (first, joints) = (bodies.len(), bodies.joints().len());
        let built = self.add(bodies);
        if built.is_err() {
            while bodies.joints().len() > joints {
                bodies.unjoin(bodies.joints().len() - 1)?;
            }
            while bodies.len() > first {
                bodies.remove(bodies.len() - 1)?;
            }
        }
        built
    }

    fn add<S: Real>(&self, bodies: &mut RigidBodies<S>) -> Result<[usize; 11], BuildError> {
        let pose = self.pose.checked_as("ragdoll", 0)?;
        let size = self.height;
        let turn = super::quaternion::Quaternion::new(pose.rotation.0);
        let place = |p: [f64; 3]| <[f64; 3]>::from(turn.rotate(Vec3::from(p) * size) + pose.translation.into());
        let along = |d: [f64; 3]| <[f64; 3]>::from(turn.rotate(d.into()));
        let mut rows = [0; 11];
        for (bone, from, to, radius) in BONES {
            let (from, to) = (Vec3::from(from), Vec3::from(to));
            let d = to - from;
            let middle = (from + to) * 0.5;
            // Capsules lie along y: turn y to the bone, about y × d.
            let length = d.length();
            let axis = Vec3::from([0.0, 1.0, 0.0]).cross(d);
            let tilt = if axis.length() > 1e-9 {
                Rotation::about(<[f64; 3]>::from(axis), (d.y / length).clamp(-1.0, 1.0).acos())
            } else {
                Rotation::IDENTITY
            };
            let rotation = turn * super::quaternion::Quaternion::new(tilt.0);
            let body = RigidBody::capsule(radius * size, length * size, self.density)
                .at(place(middle.into()))
                .turned(rotation.components())
                .with_friction(self.friction)
                .with_damping(0.05, 0.1);
            rows[bone as usize] = bodies.push(&body)?;
        }
        let row = |bone: Bone| rows[bone as usize];
        let (x, y) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let swing_twist = |a, b, at, axis, swing, twist: f64| {
            Joint::swing_twist([row(a), row(b)], place(at), along(axis), swing, [-twist, twist])
        };
        let hinge = |a, b, at, axis: [f64; 3], low, high| {
            Joint::hinge([row(a), row(b)], place(at), along(axis)).with_limits(low, high)
        };
        use Bone::{Chest, Head, LeftForearm, LeftShin, LeftThigh, LeftUpperArm, Pelvis};
        use Bone::{RightForearm, RightShin, RightThigh, RightUpperArm};
        let joints = [
            swing_twist(Pelvis, Chest, [0.0, 0.57, 0.0], y, 0.6, 0.4),
            swing_twist(Chest, Head, [0.0, 0.84, 0.0], y, 0.7, 0.8),
            swing_twist(Chest, LeftUpperArm, [0.105, 0.80, 0.0], x, 1.3, 0.8),
            hinge(LeftUpperArm, LeftForearm, [0.28, 0.80, 0.0], y, -2.4, 0.05),
            swing_twist(Chest, RightUpperArm, [-0.105, 0.80, 0.0], x, 1.3, 0.8),
            hinge(RightUpperArm, RightForearm, [-0.28, 0.80, 0.0], y, -0.05, 2.4),
            swing_twist(Pelvis, LeftThigh, [0.06, 0.50, 0.0], y, 1.1, 0.4),
            hinge(LeftThigh, LeftShin, [0.06, 0.275, 0.0], x, -0.05, 2.3),
            swing_twist(Pelvis, RightThigh, [-0.06, 0.50, 0.0], y, 1.1, 0.4),
            hinge(RightThigh, RightShin, [-0.06, 0.275, 0.0], x, -0.05, 2.3),
        ];
        for joint in joints {
            bodies.join(&joint.with_damping(self.damping))?;
        }
        Ok(rows)
    }
}
