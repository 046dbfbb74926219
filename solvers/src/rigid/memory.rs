//! What the methods of rigid bodies remember from step to step: impulses that contacts and couplings start from.

use pliant_core::lane::Real;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::vec3::Vec3;

use super::manifold::{Manifold, POINTS, Point};

impl<S: Real> Manifold<S> {
    /// Writes down what the next step's contact takes over: who it is, and by their marks its points' impulses and creep.
    pub fn write(&self, to: &mut Writer) {
        let [a, b] = self.bodies;
        [a, b, self.tag, self.count as u32].into_iter().for_each(|number| to.u32(number));
        for point in &self.points[..self.count] {
            let (mark, tangent) = (point.mark, point.tangent);
            to.reals(&[mark.x, mark.y, mark.z, point.normal, tangent.x, tangent.y, tangent.z]);
            write_vector(point.crept, to);
        }
    }

    /// Takes it back. The rest is found afresh in every step.
    pub fn read(from: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let bodies = [from.u32()?, from.u32()?];
        let mut manifold = Self::pattern(bodies, S::ZERO, S::ZERO);
        manifold.tag = from.u32()?;
        manifold.count = from.u32()? as usize;
        if manifold.count > POINTS {
            return Err(SnapshotError::Foreign { what: "contacts of rigid bodies" });
        }
        for point in &mut manifold.points[..manifold.count] {
            let mark = from.vector()?.into();
            let (normal, tangent) = (from.real()?, from.vector()?.into());
            *point = Point { mark, normal, tangent, crept: from.vector()?.into(), ..Point::none() };
        }
        Ok(manifold)
    }
}

/// Bytes of a manifold without points: counts are checked against what is left.
pub(super) const LEAST: usize = 16;

/// Writes a vector down.
pub(super) fn write_vector<S: Real>(v: Vec3<S>, to: &mut Writer) {
    to.reals(&[v.x, v.y, v.z]);
}
