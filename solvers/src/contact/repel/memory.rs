//! What repulsion remembers from step to step: where vertices were at the last look, and on which sides pairs are.

use pliant_core::lane::Real;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

use super::Repulsion;

impl<S: Real> Repulsion<S> {
    /// Writes it down.
    pub fn remember(&self, to: &mut Writer) {
        to.flag(self.travelled);
        if !self.travelled {
            return;
        }
        to.reals(&[self.since]);
        self.way.iter().for_each(|way| to.reals(&way.0[..3]));
        let kept = self.sides.kept(if self.recalled { None } else { Some(&self.blocks) });
        to.count(kept.len());
        for (corners, normal) in kept {
            corners.into_iter().for_each(|corner| to.u32(corner));
            to.reals(&normal);
        }
    }

    /// Takes it back: the next look goes on from there.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.travelled = from.flag()?;
        (self.stale, self.recalled) = (true, true);
        self.blocks.clear();
        if !self.travelled {
            self.sides.put([]);
            return Ok(());
        }
        self.since = from.real()?;
        for way in &mut self.way {
            from.reals(&mut way.0[..3])?;
        }
        let count = from.count(16 + 3 * size_of::<S>())?;
        let mut kept = Vec::with_capacity(count);
        for _ in 0..count {
            let corners = [from.u32()?, from.u32()?, from.u32()?, from.u32()?];
            kept.push((corners, from.vector()?));
        }
        self.sides.put(kept);
        Ok(())
    }
}
