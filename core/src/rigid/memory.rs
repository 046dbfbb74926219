//! What tells bodies apart, and what a snapshot holds of them.

use super::bodies::RigidBodies;
use super::body::Mobility;
use crate::columns::Columns;
use crate::lane::Real;
use crate::sdf::Pose;
use crate::snapshot::{Fingerprint, Reader, SnapshotError, Writer};

impl<S: Real> RigidBodies<S> {
    /// A 64-bit FNV-1a hash over every bit of the state: equal states hash equally on every machine.
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

    /// Tells lists apart: equal bodies and joints have equal ones, on every machine.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fingerprint::new();
        hash.add_name(S::NAME);
        hash.add_reals(&self.inv_mass);
        self.inertia.axes().into_iter().for_each(|axis| hash.add_reals(axis));
        for (body, frame) in self.described.iter().zip(&self.frames) {
            hash.add(body.mobility as u64);
            hash.add_all(frame.translation.iter().chain(&frame.rotation.0).map(|c| c.to_bits()));
            // What a dynamic body looks like shows in its mass and inertia.
            for part in body.parts.iter().filter(|_| body.mobility != Mobility::Dynamic) {
                hash.add_all(part.pose.translation.iter().chain(&part.pose.rotation.0).map(|c| c.to_bits()));
                let (points, radius) = part.solid.samples();
                hash.add_all(points.iter().flatten().map(|c| c.to_bits()));
                hash.add(radius.to_bits());
            }
        }
        for joint in &self.terms {
            hash.add_all(joint.bodies.map(u64::from));
            joint.anchors.iter().for_each(|anchor| hash.add_reals(anchor));
            joint.frames.iter().for_each(|frame| hash.add_reals(frame));
            hash.add_reals(&[joint.limits[0], joint.limits[1], joint.swing, joint.compliance]);
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
