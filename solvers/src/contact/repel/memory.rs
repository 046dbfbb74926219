//! What repulsion remembers from step to step: where vertices are expected, and which pairs may touch, each on its side.

use core::mem::swap;

use pliant_core::collide::distance::Pair;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

use super::push::Block;
use super::{Repulsion, look};

/// How long the list of pairs holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook<S> {
    /// Whether pairs have been looked up before.
    pub travelled: bool,
    /// Time since the last look, and of the way that vertices are expected to go \[s\].
    pub age: S,
    pub span: S,
    /// For how many looks ahead all pairs were looked up.
    pub spell: u32,
    /// Whether few vertices left their ways.
    pub calm: bool,
}

impl<S: Real> Outlook<S> {
    /// Before anything was looked up.
    pub fn new() -> Self {
        Self { travelled: false, age: S::ZERO, span: S::ZERO, spell: 1, calm: false }
    }
}

/// What was known before a step, until it is over. A look moves the way on to `last`; a second one in the same step would lose it, and
/// hands it over here.
#[derive(Clone, Debug)]
pub(super) struct Before<S> {
    open: bool,
    /// Looks since the step began.
    looks: usize,
    outlook: Outlook<S>,
    way: Vec<Octet<S>>,
    blocks: Vec<Block<S>>,
}

impl<S: Real> Before<S> {
    pub fn new(count: usize) -> Self {
        let way = vec![Octet([S::ZERO; BLOCK]); count];
        Self { open: false, looks: 0, outlook: Outlook::new(), way, blocks: Vec::new() }
    }
    /// A step begins.
    pub fn open(&mut self, outlook: Outlook<S>, blocks: &[Block<S>]) {
        (self.open, self.looks, self.outlook) = (true, 0, outlook);
        self.blocks.clear();
        self.blocks.extend_from_slice(blocks);
    }
    /// The step is over.
    pub fn close(&mut self) {
        self.open = false;
    }
    /// Somebody is about to look.
    pub fn look(&mut self, last: &mut Vec<Octet<S>>) {
        self.looks += 1;
        if self.looks == 2 {
            swap(&mut self.way, last);
        }
    }
}

/// Kinds of pairs in snapshots.
const KINDS: [Pair; 2] = [Pair::VertexTriangle, Pair::EdgeEdge];

impl<S: Real> Repulsion<S> {
    /// Back to before the last step, if that one failed.
    pub(super) fn take_back(&mut self) {
        if !core::mem::take(&mut self.before.open) {
            return;
        }
        match self.before.looks {
            0 => {}
            1 => swap(&mut self.way, &mut self.last),
            _ => swap(&mut self.way, &mut self.before.way),
        }
        self.outlook = self.before.outlook;
        swap(&mut self.blocks, &mut self.before.blocks);
        self.adopt();
    }

    /// The list came from elsewhere.
    fn adopt(&mut self) {
        self.foreign = true;
        self.rows.need_none();
        self.rows.need(self.blocks.iter().map(|block| &block.at));
    }

    /// Writes it down, as it was before the last step if that one failed.
    pub fn remember(&self, to: &mut Writer) {
        let before = &self.before;
        let (way, outlook, blocks) = match (before.open, before.looks) {
            (false, _) => (&self.way, self.outlook, &self.blocks),
            (true, 0) => (&self.way, before.outlook, &before.blocks),
            (true, 1) => (&self.last, before.outlook, &before.blocks),
            (true, _) => (&before.way, before.outlook, &before.blocks),
        };
        to.flag(outlook.travelled);
        if !outlook.travelled {
            return;
        }
        to.reals(&[outlook.age, outlook.span]);
        to.u32(outlook.spell);
        to.flag(outlook.calm);
        for way in way {
            to.reals(&way.0[..3]);
            to.reals(&way.0[4..7]);
        }
        let lanes = |block: &Block<S>| block.live(self.rows.idle());
        to.count(blocks.iter().filter(|block| lanes(block) != 0).count());
        for block in blocks {
            let mut lanes = lanes(block);
            if lanes != 0 {
                to.u32(u32::from(block.kind == KINDS[1]) << 16 | block.close << 8 | lanes);
            }
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                block.at.iter().for_each(|at| to.u32(at[lane]));
                to.reals(&[block.normal[0].0[lane], block.normal[1].0[lane], block.normal[2].0[lane]]);
            }
        }
    }

    /// Takes it back: the next look goes on from there.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.before.close();
        self.stale = true;
        self.blocks.clear();
        self.outlook = Outlook { travelled: from.flag()?, ..Outlook::new() };
        if self.outlook.travelled {
            let (age, span): (S, S) = (from.real()?, from.real()?);
            if !(age > S::ZERO && span > S::ZERO) {
                return Err(SnapshotError::NotFinite { what: "time since layers were looked at" });
            }
            let (spell, calm) = (from.u32()?.clamp(1, look::SPELL), from.flag()?);
            self.outlook = Outlook { travelled: true, age, span, spell, calm };
            for way in &mut self.way {
                from.reals(&mut way.0[..3])?;
                from.reals(&mut way.0[4..7])?;
            }
            for _ in 0..from.count(20 + 3 * size_of::<S>())? {
                let block = self.read_block(from)?;
                self.blocks.push(block);
            }
        }
        self.adopt();
        Ok(())
    }

    fn read_block(&self, from: &mut Reader<'_>) -> Result<Block<S>, SnapshotError> {
        let foreign = SnapshotError::Foreign { what: "pairs of layers" };
        let word = from.u32()?;
        let (kind, close, mut lanes) = ((word >> 16) as usize, word >> 8 & 0xff, word & 0xff);
        let Some(&kind) = KINDS.get(kind).filter(|_| close & !lanes == 0) else { return Err(foreign) };
        let mut block = Block::empty(kind, self.rows.idle());
        block.close = close;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            for corner in 0..4 {
                let row = from.u32()?;
                // Lanes of a block move at once: they share no vertex.
                if row >= self.rows.idle() || block.at.as_flattened().contains(&row) {
                    return Err(foreign);
                }
                block.at[corner][lane] = row;
            }
            let normal: [S; 3] = from.vector()?;
            (0..3).for_each(|k| block.normal[k].0[lane] = normal[k]);
        }
        block.equip(&self.skins);
        Ok(block)
    }
}
