//! Bodies that become others while they move.

use super::bodies::{Inertia, RigidBodies, inverse};
use super::body::{Mobility, RigidBody};
use super::parts::after;
use super::quaternion::Quaternion;
use crate::error::BuildError;
use crate::lane::Real;
use crate::sdf::Pose;
use crate::vec3::Vec3;

impl<S: Real> RigidBodies<S> {
    /// Makes a body what another description says: shape, mass, friction, mobility. Its shape's frame stays where it is and moves on as
    /// it did; joints hold the same points. Pose and velocities of the description do not count. Everything wakes up.
    ///
    /// Returns where the old principal frame stands in the new one: the same place, bit for bit, if mass and shape are.
    ///
    /// # Errors
    /// When there is no such body, something is wrong with the description, or a joint would be left between two that nothing moves;
    /// nothing is changed then.
    pub fn replace(&mut self, row: usize, body: &RigidBody) -> Result<Pose, BuildError> {
        self.find(row)?;
        let fixed = body.mobility != Mobility::Dynamic;
        let [velocity, angular_velocity] = if fixed { [[0.0; 3]; 2] } else { [body.velocity, body.angular_velocity] };
        let (body, mass) = RigidBody { velocity, angular_velocity, ..body.clone() }.checked(row)?;
        let idle = |other: &usize| *other == row || !self.is_dynamic(*other);
        if let Some(joint) = self.joints.iter().position(|j| j.bodies.contains(&row) && j.bodies.iter().all(idle))
            && fixed
        {
            let reason = "both of its bodies would be static or kinematic; take the joint away first";
            return Err(BuildError::Unsupported { what: "joint", row: joint, reason });
        }
        let Inertia { inv_mass, moments, scale, principal } = Inertia::of(mass);
        let (frame, old_frame) = (inverse(principal), self.frames[row]);
        let mut moved = Pose::IDENTITY;
        if frame != old_frame {
            moved = after(frame, inverse(old_frame));
            self.move_frame(row, after(self.pose(row), principal), moved);
        }
        if fixed {
            self.v.set(row, [S::ZERO; 3]);
            self.omega.set(row, [S::ZERO; 3]);
        }
        self.inv_mass[row] = S::from_f64(inv_mass);
        self.inv_inertia.set(row, moments.map(|i| S::from_f64(scale / i)));
        self.inertia.set(row, moments.map(|i| S::from_f64(scale * i)));
        self.frames[row] = frame;
        self.sent[row] = self.sent[row].filter(|_| body.mobility == Mobility::Kinematic);
        self.identity[row] = body.identity();
        self.described[row] = body;
        self.wake_all();
        self.revision += 1;
        Ok(moved)
    }

    /// Puts a body's principal frame elsewhere in the same solid; `moved` is the old frame in the new one.
    fn move_frame(&mut self, row: usize, placed: Pose, moved: Pose) {
        let centre = Vec3::from(placed.translation) - self.vector(&self.x, row);
        // v of the solid at its new centre: v + ω × r.
        let velocity = self.vector(&self.v, row) + self.vector(&self.omega, row).cross(centre);
        self.v.set(row, <[f64; 3]>::from(velocity).map(S::from_f64));
        self.x.set(row, placed.translation.map(S::from_f64));
        self.q[row] = placed.rotation.0.map(S::from_f64);
        self.sent[row] = self.sent[row].map(|sent| after(sent, inverse(moved)));
        for terms in &mut self.terms {
            for k in (0..2).filter(|&k| terms.bodies[k] as usize == row) {
                terms.anchors[k] = moved.place(terms.anchors[k].map(S::to_f64)).map(S::from_f64);
                let frame = Quaternion::new(moved.rotation.0) * Quaternion::new(terms.frames[k].map(S::to_f64));
                terms.frames[k] = frame.components().map(S::from_f64);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::rigid::Joint;
    use crate::sdf::{Rotation, Shape};

    fn near(a: [f64; 3], b: [f64; 3]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn a_body_that_becomes_another_stays_where_it_is() {
        let mut bodies = RigidBodies::<f64>::new();
        let turn = Rotation::about([1.0, 2.0, 3.0], 0.8);
        let plank = RigidBody::cuboid([1.0, 0.2, 0.4], 100.0).at([1.0, 2.0, 3.0]).turned(turn);
        let a = bodies.push(&plank.clone().moving([1.0, 0.0, 0.0]).spinning([0.0, 2.0, 1.0])).unwrap();
        let b = bodies.push(&RigidBody::sphere(0.1, 100.0).at([2.0, 2.0, 3.0])).unwrap();
        bodies.join(&Joint::ball([a, b], [1.5, 2.0, 3.0])).unwrap();
        let anchor = |bodies: &RigidBodies<f64>| bodies.principal_pose(a).place(bodies.joint_terms()[0].anchors[0]);

        // Twice as heavy: the same frame, and not a bit of the motion changes.
        let before = bodies.clone();
        assert_eq!(bodies.replace(a, &RigidBody { density: 200.0, ..plank.clone() }), Ok(Pose::IDENTITY));
        assert!((bodies.mass(a).unwrap() - 2.0 * before.mass(a).unwrap()).abs() < 1e-9);
        assert_eq!((&bodies.x, &bodies.q, &bodies.v, &bodies.omega), (&before.x, &before.q, &before.v, &before.omega));
        assert_eq!(bodies.joint_terms(), before.joint_terms());

        // A weight at one end: another centre and other axes, and every point goes on as it was.
        let end = Shape::Sphere { radius: 0.2 }.translated([0.5, 0.1, 0.0]);
        let club = RigidBody::new(Shape::Cuboid { half: [0.5, 0.1, 0.2] }.union(end), 100.0);
        let point = [1.2, 2.1, 2.7];
        let was = (bodies.pose(a), bodies.velocity_at(a, point), anchor(&bodies));
        let moved = bodies.replace(a, &club).unwrap();
        assert!(near(bodies.pose(a).translation, was.0.translation) && near(bodies.velocity_at(a, point), was.1));
        assert!(near(anchor(&bodies), was.2) && near(was.2, [1.5, 2.0, 3.0]));
        assert!(moved != Pose::IDENTITY && !near(bodies.x.get(a), before.x.get(a)));

        // Held: it stops; and then the other one must stay free.
        bodies.replace(a, &club.clone().moving([1.0; 3]).held()).unwrap();
        assert_eq!((bodies.v.get(a), bodies.is_dynamic(a)), ([0.0; 3], false));
        let before = bodies.clone();
        let ball = RigidBody::sphere(0.1, 100.0);
        assert!(matches!(bodies.replace(b, &ball.clone().held()), Err(BuildError::Unsupported { what: "joint", .. })));
        assert!(bodies.replace(b, &ball.with_friction(-1.0)).is_err());
        assert_eq!(bodies.replace(7, &club), Err(BuildError::NotFound { what: "rigid body" }));
        assert_eq!(bodies, before);
    }
}
