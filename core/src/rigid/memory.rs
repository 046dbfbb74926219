//! What tells bodies apart, and what a snapshot holds of them.

use super::bodies::RigidBodies;
use super::body::RigidBody;
use super::joint::{Freedom, JointTerms, Motor};
use super::parts::Solid;
use crate::columns::Columns;
use crate::lane::Real;
use crate::sdf::Pose;
use crate::snapshot::{Fingerprint, Reader, SnapshotError, Writer};

impl RigidBody {
    /// A hash of all that decides how it moves, but for its mass, which its list holds, and for where it is and goes.
    pub(super) fn identity(&self) -> u64 {
        let mut hash = Fingerprint::new();
        let Self { friction, restitution, linear_damping, angular_damping, .. } = *self;
        hash.add_reals(&[friction, restitution, linear_damping, angular_damping]);
        hash.add_all([self.mobility as u64, u64::from(self.sleeps)]);
        hash.add_all([self.groups.member, self.groups.touches].map(u64::from));
        for part in &self.parts {
            part.pose.identify(&mut hash);
            match &part.solid {
                Solid::Convex { points } => hash.add_reals(points.as_flattened()),
                Solid::Field { shape, points } => {
                    shape.identify(&mut hash);
                    hash.add_reals(points.as_flattened());
                }
                simple => hash.add_shown(simple),
            }
        }
        hash.value()
    }
}

impl<S: Real> JointTerms<S> {
    fn identify(&self, hash: &mut Fingerprint) {
        let Self { bodies, anchors, frames, freedom, limits, swing, compliance, angular_compliance, damping, motor } =
            self;
        hash.add_all(bodies.map(u64::from));
        hash.add_reals(anchors.as_flattened());
        hash.add_reals(frames.as_flattened());
        // Its numbers are the limits and the swing.
        hash.add(match freedom {
            Freedom::Ball => 0,
            Freedom::Hinge { .. } => 1,
            Freedom::SwingTwist { .. } => 2,
            Freedom::Slider { .. } => 3,
            Freedom::Fixed => 4,
            Freedom::Distance { .. } => 5,
        });
        hash.add_reals(&[limits[0], limits[1], *swing, *compliance, *angular_compliance, *damping]);
        match *motor {
            None => hash.add(0),
            Some(Motor::Speed { target, damping, limit }) => hash.add_reals(&[1.0, target, damping, limit]),
            Some(Motor::Place { target, stiffness, damping }) => hash.add_reals(&[2.0, target, stiffness, damping]),
        }
    }
}

impl<S: Real> RigidBodies<S> {
    /// A 64-bit FNV-1a hash over every bit of poses and velocities: equal ones hash equally on every machine.
    pub fn state_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let columns = [&self.x, &self.v, &self.omega].into_iter().flat_map(Columns::axes).flatten();
        for value in columns.chain(self.q.iter().flatten()) {
            for byte in value.bits().to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }

    /// Tells lists apart: equal bodies and joints have equal ones, on every machine. Where bodies are and how they move does not
    /// count.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fingerprint::new();
        hash.add_name(S::NAME);
        hash.add_reals(&self.inv_mass);
        self.inertia.axes().into_iter().for_each(|axis| hash.add_reals(axis));
        hash.add_all(self.identity.iter().copied());
        self.frames.iter().for_each(|frame| frame.identify(&mut hash));
        for (terms, joint) in self.terms.iter().zip(&self.joints) {
            terms.identify(&mut hash);
            hash.add(u64::from(joint.touching));
        }
        hash.value()
    }
    /// Writes down what moves: poses, velocities, sleep, and the loads and destinations of the next step.
    pub fn remember(&self, to: &mut Writer) {
        [&self.x, &self.v, &self.omega].into_iter().for_each(|columns| to.columns(columns));
        to.reals(self.q.as_flattened());
        to.reals(&self.still);
        let asleep = || self.asleep.iter().enumerate().filter_map(|(row, group)| Some((row, (*group)?)));
        to.count(asleep().count());
        asleep().for_each(|(row, group)| [row as u32, group].into_iter().for_each(|number| to.u32(number)));
        let zero = [S::ZERO; 3];
        let loaded = || (0..self.len()).filter(|&row| self.force.get(row) != zero || self.torque.get(row) != zero);
        to.count(loaded().count());
        for row in loaded() {
            to.u32(row as u32);
            to.reals(&self.force.get(row));
            to.reals(&self.torque.get(row));
        }
        let sent = || self.sent.iter().enumerate().filter_map(|(row, pose)| Some((row, (*pose)?)));
        to.count(sent().count());
        for (row, pose) in sent() {
            to.u32(row as u32);
            pose.write(to);
        }
    }
    /// Takes it back, for a list with the same fingerprint.
    ///
    /// # Errors
    /// When it was another list's; it may be half taken back then.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let count = self.len();
        let row = |from: &mut Reader<'_>| match from.u32()? as usize {
            row if row < count => Ok(row),
            _ => Err(SnapshotError::Foreign { what: "rigid bodies" }),
        };
        // Numbers may be infinite: an impulse that is too large shows in the next step, and until then it is part of the state.
        for columns in [&mut self.x, &mut self.v, &mut self.omega] {
            from.columns(columns)?;
        }
        from.reals(self.q.as_flattened_mut())?;
        from.reals(&mut self.still)?;
        self.arrive();
        self.asleep.fill(None);
        for _ in 0..from.count(8)? {
            let row = row(from)?;
            self.asleep[row] = Some(from.u32()?);
        }
        for _ in 0..from.count(4 + 6 * size_of::<S>())? {
            let row = row(from)?;
            self.force.set(row, from.vector()?);
            self.torque.set(row, from.vector()?);
        }
        for _ in 0..from.count(60)? {
            let row = row(from)?;
            self.sent[row] = Some(Pose::read(from)?);
        }
        Ok(())
    }
}
