//! Joints: what two bodies may still do relative to each other.

use super::bodies::RigidBodies;
use super::quaternion::Quaternion;
use crate::error::BuildError;
use crate::lane::Real;
use crate::vec3::Vec3;

/// What a joint leaves free.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Freedom {
    /// All rotations about a shared point.
    Ball,
    /// Rotation about a shared axis, perhaps within limits \[rad\] measured from where the bodies were joined.
    Hinge {
        /// Lowest and highest angle.
        limits: Option<[f64; 2]>,
    },
    /// Rotation about a shared point: the axis may swing away within a cone, and the second body may twist about it.
    SwingTwist {
        /// Largest angle between the two axes \[rad\].
        swing: f64,
        /// Lowest and highest twist \[rad\].
        twist: [f64; 2],
    },
    /// Motion along a shared axis, perhaps within limits \[m\]; no rotation.
    Slider {
        /// Lowest and highest displacement.
        limits: Option<[f64; 2]>,
    },
    /// Nothing.
    Fixed,
    /// Everything but the distance of two points, which stays within a range \[m\].
    Distance {
        /// Lowest and highest distance.
        range: [f64; 2],
    },
}

/// What drives the free axis of a hinge or slider.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Motor {
    /// Drives towards a speed like a damper: torque = damping · (target − speed), up to a limit.
    Speed {
        /// Target \[rad/s or m/s\].
        target: f64,
        /// Damping \[N m s/rad or N s/m\].
        damping: f64,
        /// Largest torque or force \[N m or N\].
        limit: f64,
    },
    /// Drives towards an angle or displacement like a spring with a damper.
    Place {
        /// Target \[rad or m\].
        target: f64,
        /// Stiffness \[N m/rad or N/m\].
        stiffness: f64,
        /// Damping \[N m s/rad or N s/m\].
        damping: f64,
    },
}

/// A joint between two bodies, described in the world as they stand when it is added.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Joint {
    /// Rows of the two bodies.
    pub bodies: [usize; 2],
    /// The point of each body that the joint holds, in the world \[m\]; the same point for all but distance joints.
    pub points: [[f64; 3]; 2],
    /// The axis of hinges, sliders and twists, in the world; of any length above 0.
    pub axis: [f64; 3],
    /// What is left free.
    pub freedom: Freedom,
    /// Give of the point or distance \[m/N\]; 0 holds exactly.
    pub compliance: f64,
    /// Give of the orientation and of limits \[rad/(N m)\]; 0 holds exactly.
    pub angular_compliance: f64,
    /// Damping of relative rotation \[N m s/rad\].
    pub damping: f64,
    /// What drives the free axis.
    pub motor: Option<Motor>,
    /// Whether the two bodies may touch each other; joined bodies usually overlap and do not.
    pub touching: bool,
}

impl Joint {
    fn new(bodies: [usize; 2], points: [[f64; 3]; 2], axis: [f64; 3], freedom: Freedom) -> Self {
        let (compliance, angular_compliance, damping, motor, touching) = (0.0, 0.0, 0.0, None, false);
        Self { bodies, points, axis, freedom, compliance, angular_compliance, damping, motor, touching }
    }
    /// Holds the bodies together at a point of the world \[m\].
    pub fn ball(bodies: [usize; 2], at: impl Into<[f64; 3]>) -> Self {
        Self::new(bodies, [at.into(); 2], [1.0, 0.0, 0.0], Freedom::Ball)
    }
    /// A hinge at a point of the world, about an axis.
    pub fn hinge(bodies: [usize; 2], at: impl Into<[f64; 3]>, axis: impl Into<[f64; 3]>) -> Self {
        Self::new(bodies, [at.into(); 2], axis.into(), Freedom::Hinge { limits: None })
    }
    /// A ball joint whose axis swings by at most `swing` and whose second body twists within a range \[rad\].
    pub fn swing_twist(
        bodies: [usize; 2],
        at: impl Into<[f64; 3]>,
        axis: impl Into<[f64; 3]>,
        swing: f64,
        twist: [f64; 2],
    ) -> Self {
        Self::new(bodies, [at.into(); 2], axis.into(), Freedom::SwingTwist { swing, twist })
    }
    /// A slider along an axis.
    pub fn slider(bodies: [usize; 2], at: impl Into<[f64; 3]>, axis: impl Into<[f64; 3]>) -> Self {
        Self::new(bodies, [at.into(); 2], axis.into(), Freedom::Slider { limits: None })
    }
    /// Glues the bodies together at a point of the world.
    pub fn fixed(bodies: [usize; 2], at: impl Into<[f64; 3]>) -> Self {
        Self::new(bodies, [at.into(); 2], [1.0, 0.0, 0.0], Freedom::Fixed)
    }
    /// Keeps a point of each body within a range of distances \[m\].
    pub fn distance(bodies: [usize; 2], points: [[f64; 3]; 2], range: [f64; 2]) -> Self {
        Self::new(bodies, points, [1.0, 0.0, 0.0], Freedom::Distance { range })
    }

    /// Limits of a hinge \[rad\] or slider \[m\], from where the bodies stand when they are joined.
    #[must_use]
    pub fn with_limits(mut self, low: f64, high: f64) -> Self {
        match &mut self.freedom {
            Freedom::Hinge { limits } | Freedom::Slider { limits } => *limits = Some([low, high]),
            Freedom::SwingTwist { twist, .. } => *twist = [low, high],
            Freedom::Distance { range } => *range = [low, high],
            Freedom::Ball | Freedom::Fixed => {}
        }
        self
    }
    /// Give of the point \[m/N\] and of the orientation \[rad/(N m)\].
    #[must_use]
    pub fn with_compliance(mut self, linear: f64, angular: f64) -> Self {
        (self.compliance, self.angular_compliance) = (linear, angular);
        self
    }
    /// Damping of relative rotation \[N m s/rad\].
    #[must_use]
    pub fn with_damping(mut self, damping: f64) -> Self {
        self.damping = damping;
        self
    }
    /// Drives the free axis of a hinge or slider.
    #[must_use]
    pub fn with_motor(mut self, motor: Motor) -> Self {
        self.motor = Some(motor);
        self
    }

    /// Checks the joint and writes it in the frames of its bodies.
    pub(super) fn resolve<S: Real>(&self, bodies: &RigidBodies<S>, row: usize) -> Result<JointTerms<S>, BuildError> {
        let what = "joint";
        let bad = |quantity, value, expected| BuildError::BadValue { what, row, quantity, value, expected };
        let [a, b] = self.bodies;
        if let Some(corner) = (0..2).find(|&k| self.bodies[k] >= bodies.len()) {
            let (particle, count) = (self.bodies[corner] as u32, bodies.len());
            return Err(BuildError::OutOfRange { what, row, corner, particle, count });
        }
        if a == b {
            return Err(BuildError::Repeated { what, row, particle: a as u32 });
        }
        if !bodies.is_dynamic(a) && !bodies.is_dynamic(b) {
            let reason = "both bodies are static or kinematic, so the joint could move neither; make one dynamic";
            return Err(BuildError::Unsupported { what, row, reason });
        }
        if let Some(&value) = self.points.iter().flatten().find(|c| !c.is_finite()) {
            return Err(bad("point", value, "a finite number"));
        }
        for (quantity, value) in [
            ("compliance", self.compliance),
            ("angular compliance", self.angular_compliance),
            ("damping", self.damping),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(bad(quantity, value, "a finite number, 0 or more"));
            }
        }
        let ordered = |quantity, [low, high]: [f64; 2], least: f64, most: f64| {
            if !(low.is_finite() && high.is_finite()) {
                return Err(bad(quantity, if low.is_finite() { high } else { low }, "two finite numbers"));
            }
            if low > high {
                return Err(bad(quantity, low, "the lower limit first, then the higher"));
            }
            if low < least || high > most {
                let value = if low < least { low } else { high };
                return Err(bad(
                    quantity,
                    value,
                    "within half a turn either way (rad), or a distance of 0 or more (m)",
                ));
            }
            Ok([S::from_f64(low), S::from_f64(high)])
        };
        let (turn, far) = (core::f64::consts::PI, f64::INFINITY);
        let free = [S::from_f64(-far), S::from_f64(far)];
        let (mut limits, mut swing) = (free, S::from_f64(far));
        match self.freedom {
            Freedom::Hinge { limits: Some(range) } => limits = ordered("hinge limits", range, -turn, turn)?,
            Freedom::Slider { limits: Some(range) } => limits = ordered("slider limits", range, -far, far)?,
            Freedom::Distance { range } => limits = ordered("distance", range, 0.0, far)?,
            Freedom::SwingTwist { swing: cone, twist } => {
                [_, swing] = ordered("swing", [0.0, cone], 0.0, turn)?;
                limits = ordered("twist limits", twist, -turn, turn)?;
            }
            Freedom::Ball | Freedom::Fixed | Freedom::Hinge { .. } | Freedom::Slider { .. } => {}
        }
        if let Some(motor) = self.motor {
            if !matches!(self.freedom, Freedom::Hinge { .. } | Freedom::Slider { .. }) {
                return Err(BuildError::Unsupported {
                    what,
                    row,
                    reason: "only hinges and sliders have an axis to drive",
                });
            }
            let (target, rest) = match motor {
                Motor::Speed { target, damping, limit } => (target, [damping, limit]),
                Motor::Place { target, stiffness, damping } => (target, [stiffness, damping]),
            };
            if !target.is_finite() {
                return Err(bad("motor target", target, "a finite number"));
            }
            if let Some(value) = rest.into_iter().find(|v| v.is_nan() || *v < 0.0) {
                return Err(bad("motor strength", value, "a number of 0 or more"));
            }
        }
        let axis = Vec3::from(self.axis);
        let length = axis.length();
        if !(length > 1e-9 && length.is_finite()) {
            return Err(bad("length of its axis", length, "a finite number above 0"));
        }
        let frame = frame_along(axis * (1.0 / length));
        let local = |k: usize| {
            let pose = bodies.principal_pose(self.bodies[k]);
            let q = Quaternion::new(pose.rotation.0).normalized();
            let r = q.unrotate(Vec3::from(self.points[k]) - Vec3::from(pose.translation));
            let turned = q.conjugate() * frame;
            (<[f64; 3]>::from(r).map(S::from_f64), turned.components().map(S::from_f64))
        };
        let [(anchor_a, frame_a), (anchor_b, frame_b)] = [local(0), local(1)];
        Ok(JointTerms {
            bodies: [a as u32, b as u32],
            anchors: [anchor_a, anchor_b],
            frames: [frame_a, frame_b],
            freedom: self.freedom,
            limits,
            swing,
            compliance: S::from_f64(self.compliance),
            angular_compliance: S::from_f64(self.angular_compliance),
            damping: S::from_f64(self.damping),
            motor: self.motor,
        })
    }
}

/// A joint in the principal frames of its bodies, checked and rounded.
#[derive(Clone, Debug, PartialEq)]
pub struct JointTerms<S> {
    /// Rows of the two bodies.
    pub bodies: [u32; 2],
    /// The points it holds, in the bodies' principal frames \[m\].
    pub anchors: [[S; 3]; 2],
    /// The joint's frame in each body's, as quaternions; x is the axis. They agree when the bodies are joined.
    pub frames: [[S; 4]; 2],
    /// What is left free.
    pub freedom: Freedom,
    /// Limits of the angle, twist, displacement or distance; infinite where there are none.
    pub limits: [S; 2],
    /// Largest swing \[rad\].
    pub swing: S,
    /// Give of the point or distance \[m/N\].
    pub compliance: S,
    /// Give of the orientation \[rad/(N m)\].
    pub angular_compliance: S,
    /// Damping of relative rotation \[N m s/rad\].
    pub damping: S,
    /// What drives the free axis.
    pub motor: Option<Motor>,
}

/// A rotation that takes x to a unit axis: the shortest one, or half a turn about y when the axis is −x.
fn frame_along(axis: Vec3<f64>) -> Quaternion<f64> {
    // q = [x × a, 1 + x · a], normalised.
    let w = 1.0 + axis.x;
    if w < 1e-6 {
        return Quaternion::new([0.0, 1.0, 0.0, 0.0]);
    }
    Quaternion { v: Vec3::new(0.0, -axis.z, axis.y), w }.normalized()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::rigid::RigidBody;

    #[test]
    fn bad_joints_are_refused_and_nothing_changes() {
        let mut bodies = RigidBodies::<f64>::new();
        let floor = bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
        let wall = bodies.push(&RigidBody::cuboid([1.0; 3], 1.0).kinematic()).unwrap();
        let a = bodies.push(&RigidBody::sphere(0.5, 1.0)).unwrap();
        let b = bodies.push(&RigidBody::sphere(0.5, 1.0).at([1.0, 0.0, 0.0])).unwrap();
        let before = bodies.clone();
        let at = [0.5, 0.0, 0.0];
        let x = [1.0, 0.0, 0.0];
        let missing = bodies.join(&Joint::ball([a, 9], at)).unwrap_err();
        assert!(matches!(missing, BuildError::OutOfRange { particle: 9, count: 4, corner: 1, .. }));
        assert!(matches!(bodies.join(&Joint::ball([a, a], at)), Err(BuildError::Repeated { .. })));
        assert!(matches!(bodies.join(&Joint::ball([floor, wall], at)), Err(BuildError::Unsupported { .. })));
        let motor = Motor::Speed { target: f64::NAN, damping: 1.0, limit: 1.0 };
        for joint in [
            Joint::hinge([a, b], at, x).with_limits(1.0, -1.0),
            Joint::hinge([a, b], at, x).with_limits(-4.0, 1.0),
            Joint::hinge([a, b], at, x).with_limits(f64::NAN, 1.0),
            Joint::slider([a, b], at, x).with_limits(0.5, 0.4),
            Joint::swing_twist([a, b], at, x, -0.1, [-1.0, 1.0]),
            Joint::swing_twist([a, b], at, x, 0.5, [1.0, -1.0]),
            Joint::distance([a, b], [at; 2], [-1.0, 1.0]),
            Joint::distance([a, b], [at; 2], [2.0, 1.0]),
            Joint::hinge([a, b], at, [0.0; 3]),
            Joint::ball([a, b], [f64::NAN, 0.0, 0.0]),
            Joint::ball([a, b], at).with_compliance(-1.0, 0.0),
            Joint::ball([a, b], at).with_damping(f64::INFINITY),
            Joint::hinge([a, b], at, x).with_motor(motor),
            Joint::ball([a, b], at).with_motor(Motor::Speed { target: 1.0, damping: 1.0, limit: 1.0 }),
        ] {
            assert!(bodies.join(&joint).is_err(), "{joint:?}");
        }
        assert!(bodies.unjoin(0).is_err());
        assert_eq!(bodies, before);
    }

    #[test]
    fn removing_a_body_takes_its_joints_along() {
        let mut bodies = RigidBodies::<f64>::new();
        for i in 0..4 {
            bodies.push(&RigidBody::sphere(0.5, 1.0).at([f64::from(i), 0.0, 0.0])).unwrap();
        }
        for i in 0..3_usize {
            bodies.join(&Joint::ball([i, i + 1], [i as f64 + 0.5, 0.0, 0.0])).unwrap();
        }
        bodies.remove(1).unwrap();
        assert_eq!(bodies.joints().len(), 1);
        assert_eq!(bodies.joint_terms()[0].bodies, [1, 2]);
        assert_eq!(bodies.joints()[0].bodies, [1, 2]);
    }

    #[test]
    fn frames_take_x_to_the_axis() {
        for axis in [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, -0.8], [-0.6, 0.8, 0.0]] {
            let turned = frame_along(axis.into()).rotate([1.0, 0.0, 0.0].into());
            assert!((turned - axis.into()).length() < 1e-12, "{axis:?}");
        }
    }
}
