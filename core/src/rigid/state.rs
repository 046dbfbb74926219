//! The state of all bodies at one moment, to go back to.

use super::bodies::RigidBodies;
use crate::columns::Columns;
use crate::lane::Real;
use crate::sdf::Pose;

/// Everything about bodies that a step changes. Keeping a state again allocates nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigidState<S> {
    /// Centres of mass \[m\].
    pub x: Columns<S>,
    /// Orientations of the principal frames.
    pub q: Vec<[S; 4]>,
    /// Velocities \[m/s\].
    pub v: Columns<S>,
    /// Angular velocities \[rad/s\].
    pub omega: Columns<S>,
    force: Columns<S>,
    torque: Columns<S>,
    asleep: Vec<Option<u32>>,
    still: Vec<S>,
    sent: Vec<Option<Pose>>,
}

impl<S: Real> RigidState<S> {
    /// Takes down the state of these bodies.
    pub fn keep(&mut self, bodies: &RigidBodies<S>) {
        let Self { x, q, v, omega, force, torque, asleep, still, sent } = self;
        let columns = [(x, &bodies.x), (v, &bodies.v), (omega, &bodies.omega), (force, &bodies.force)];
        for (to, from) in columns.into_iter().chain([(torque, &bodies.torque)]) {
            to.x.clone_from(&from.x);
            to.y.clone_from(&from.y);
            to.z.clone_from(&from.z);
        }
        q.clone_from(&bodies.q);
        asleep.clone_from(&bodies.asleep);
        still.clone_from(&bodies.still);
        sent.clone_from(&bodies.sent);
    }

    /// Gives the bodies back what was taken down. They are the same bodies: none was added or removed since.
    pub fn restore(&self, bodies: &mut RigidBodies<S>) {
        let to = [&mut bodies.x, &mut bodies.v, &mut bodies.omega, &mut bodies.force, &mut bodies.torque];
        for (to, from) in to.into_iter().zip([&self.x, &self.v, &self.omega, &self.force, &self.torque]) {
            to.copy_from(0..from.len(), from, 0);
        }
        bodies.q.copy_from_slice(&self.q);
        bodies.asleep.copy_from_slice(&self.asleep);
        bodies.still.copy_from_slice(&self.still);
        bodies.sent.copy_from_slice(&self.sent);
    }
}
