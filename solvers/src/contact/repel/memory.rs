//! What repulsion remembers from step to step: where vertices were at the last look, and on which sides pairs are.

use core::mem::swap;

use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

use super::Repulsion;
use super::sides::Sides;

impl<S: Real> Repulsion<S> {
    /// Writes it down, as it was before the last step if that one failed.
    pub fn remember(&self, to: &mut Writer) {
        let (looks, before) = (self.before.looks, &self.before);
        let (travelled, since) =
            if looks > 0 { (before.travelled, before.since) } else { (self.travelled, self.since) };
        let (way, sides, blocks) = match looks {
            0 => (&self.way, &self.sides, (!self.recalled).then_some(&self.blocks[..])),
            1 => (&self.last, &self.sides, None),
            _ => (&before.way, &before.sides, None),
        };
        to.flag(travelled);
        if !travelled {
            return;
        }
        to.reals(&[since]);
        to.flag(self.calm);
        way.iter().for_each(|way| to.reals(&way.0[..3]));
        to.count(sides.count(blocks));
        sides.write(blocks, to);
    }

    /// Back to before the last step, if that one failed.
    pub(super) fn take_back(&mut self) {
        match self.before.looks {
            0 => return,
            1 => swap(&mut self.way, &mut self.last),
            _ => {
                swap(&mut self.way, &mut self.before.way);
                swap(&mut self.sides, &mut self.before.sides);
            }
        }
        (self.travelled, self.since) = (self.before.travelled, self.before.since);
        (self.stale, self.recalled) = (true, true);
        self.blocks.clear();
        self.before.looks = 0;
    }

    /// Takes it back: the next look goes on from there.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.before.looks = 0;
        self.travelled = from.flag()?;
        (self.stale, self.recalled) = (true, true);
        self.blocks.clear();
        if !self.travelled {
            self.calm = false;
            self.sides.put([]);
            return Ok(());
        }
        self.since = from.real()?;
        self.calm = from.flag()?;
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

/// What was known before a step, until it is over. A look moves things on by one place (from what blocks know to `sides`, from `way`
/// to `last`); a second one in the same step would lose them, and hands them over here.
#[derive(Clone, Debug)]
pub(super) struct Before<S> {
    /// Looks since the step began.
    looks: usize,
    travelled: bool,
    since: S,
    way: Vec<Octet<S>>,
    sides: Sides<S>,
}

impl<S: Real> Before<S> {
    pub fn new(count: usize) -> Self {
        let way = vec![Octet([S::ZERO; BLOCK]); count];
        Self { looks: 0, travelled: false, since: S::ZERO, way, sides: Sides::new() }
    }
    /// A step begins.
    pub fn open(&mut self, travelled: bool, since: S) {
        (self.looks, self.travelled, self.since) = (0, travelled, since);
    }
    /// The step is over.
    pub fn close(&mut self) {
        self.looks = 0;
    }
    /// Somebody is about to look.
    pub fn look(&mut self, last: &mut Vec<Octet<S>>, sides: &mut Sides<S>) {
        self.looks += 1;
        if self.looks == 2 {
            swap(&mut self.way, last);
            swap(&mut self.sides, sides);
        }
    }
}
