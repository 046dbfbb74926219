//! Plans: a slot in memory for every particle, and spatial parts that threads can work on side by side.

use super::graph::Graph;
use super::lattice::Lattice;
use crate::field::Layout;
use crate::lane::BLOCK;

/// Particles a part aims for: 32 KiB of rows, small enough for a second-level cache, large enough to outweigh a fork–join.
const PART_SIZE: usize = 2048;

/// Parts for so many particles: by size, never by threads; one, two, or a multiple of four, so that two or four threads get as many each.
fn parts_for(count: usize) -> usize {
    match count / PART_SIZE {
        0 | 1 => 1,
        2 => 2,
        parts => (parts + 2) / 4 * 4,
    }
}

/// The share that comes after `done` of `count`, of so many equal ones.
fn share_after(done: usize, count: usize, shares: usize) -> usize {
    (done as u64 * shares as u64 / count as u64) as usize
}

/// How a field's numbers are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayoutChoice {
    /// Columns when every particle stands on a lattice, rows otherwise.
    #[default]
    Auto,
    /// Rows on any mesh, lattices included.
    Rows,
}

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// Which particles meet in any constraint: decides memory order and parts.
    pub graph: &'a Graph,
    /// Particles that do not move; sweeps run from them outward.
    pub pinned: &'a [u32],
    /// Which particles the stiffest links join: decides how far "outward" is.
    pub links: &'a Graph,
    /// Grids among the particles.
    pub lattices: &'a [Lattice],
    /// How fields are laid out.
    pub layout: LayoutChoice,
}

/// Where every particle stands while a step runs.
#[derive(Clone, Debug)]
pub struct Plan {
    slots: Vec<u32>,
    layout: Layout,
    part: Vec<u32>,
    band: Vec<u32>,
    part_count: usize,
    used: usize,
    slot_count: usize,
    lattices: Vec<(Lattice, u32)>,
    /// All grids it was given, whether it follows them or not.
    grids: Vec<Lattice>,
    sweeps_down: bool,
}

impl Plan {
    /// Chooses slots, parts and layout. Deterministic: the same input gives the same plan everywhere.
    pub fn new(input: PlanInput<'_>) -> Self {
        let on_lattice: usize = input.lattices.iter().map(Lattice::len).sum();
        let columns =
            input.layout == LayoutChoice::Auto && !input.lattices.is_empty() && on_lattice == input.graph.len();
        let mut plan = if columns { Self::of_lattices(&input) } else { Self::of_graph(&input) };
        let links = input.links.levels(input.pinned);
        for (particle, &slot) in plan.slots.iter().enumerate() {
            plan.band[slot as usize] = links.level[particle];
        }
        plan.pad();
        plan
    }

    /// Whether it was made for these grids.
    pub(crate) fn is_on(&self, lattices: &[Lattice]) -> bool {
        self.grids == lattices
    }

    fn of_lattices(input: &PlanInput<'_>) -> Self {
        let mut plan = Self {
            slots: vec![0; input.graph.len()],
            layout: Layout::Columns,
            part: Vec::new(),
            band: Vec::new(),
            part_count: 0,
            used: 0,
            slot_count: 0,
            lattices: Vec::new(),
            grids: input.lattices.to_vec(),
            sweeps_down: false,
        };
        let (mut above, mut below) = (0, 0);
        for &lattice in input.lattices {
            let base = plan.part.len() as u32;
            let particles = lattice.first..lattice.first + lattice.len() as u32;
            for particle in particles.clone() {
                plan.slots[particle as usize] = base + lattice.slot(particle);
            }
            // Strips of four rows at least, so that links meet the strip before and the strip after.
            let rows = lattice.rows as usize;
            let row_slots = lattice.slot_count() / rows;
            let strips = parts_for(lattice.slot_count()).min(rows / 4).max(1);
            for slot in 0..lattice.slot_count() {
                plan.part.push((plan.part_count + share_after(slot / row_slots, rows, strips)) as u32);
            }
            plan.part_count += strips;
            plan.lattices.push((lattice, base));
            for &pin in input.pinned.iter().filter(|pin| particles.contains(pin)) {
                let (row, _) = lattice.place(pin);
                above += usize::from(2 * row + 1 < lattice.rows);
                below += usize::from(2 * row + 1 > lattice.rows);
            }
        }
        plan.sweeps_down = below > above;
        plan.band = vec![0; plan.part.len()];
        plan
    }

    fn of_graph(input: &PlanInput<'_>) -> Self {
        let count = input.graph.len();
        let levels = input.graph.levels(input.pinned);
        let mut slots = vec![0; count];
        let mut part = vec![0; count];
        let parts = parts_for(count);
        let (mut current, mut share, mut depth) = (0_u32, 0, 1);
        for (slot, &particle) in levels.order.iter().enumerate() {
            slots[particle as usize] = slot as u32;
            // A part ends where a level ends, so that it meets only the part before and the part after; and not before its second
            // level, or particles would meet both at once.
            if slot > 0 && levels.level[levels.order[slot - 1] as usize] != levels.level[particle as usize] {
                let reached = share_after(slot, count, parts);
                if depth > 1 && reached > share {
                    (current, share, depth) = (current + 1, reached, 0);
                }
                depth += 1;
            }
            part[slot] = current;
        }
        Self {
            slots,
            layout: Layout::Rows,
            part,
            band: vec![0; count],
            part_count: if count == 0 { 0 } else { current as usize + 1 },
            used: 0,
            slot_count: 0,
            lattices: Vec::new(),
            grids: input.lattices.to_vec(),
            sweeps_down: false,
        }
    }

    /// Rounds up to whole blocks and gives every possible task eight idle slots: massless places for unused lanes.
    fn pad(&mut self) {
        self.used = self.part.len().next_multiple_of(BLOCK);
        self.slot_count = self.used + self.task_limit() * BLOCK;
        self.part.resize(self.slot_count, 0);
        self.band.resize(self.slot_count, 0);
    }

    /// Tasks a stencil may have: parts, interfaces between neighbouring parts, and one for everything else.
    pub(super) fn task_limit(&self) -> usize {
        2 * self.part_count + 1
    }
    /// First of the eight idle slots of a task.
    pub(super) fn idle_slots(&self, task: usize) -> u32 {
        (self.used + task * BLOCK) as u32
    }
    /// The lattice a particle stands on and the lattice's first slot, when fields are columns.
    pub(super) fn lattice_of(&self, particle: u32) -> Option<(Lattice, u32)> {
        self.lattices.iter().copied().find(|(l, _)| (l.first..l.first + l.len() as u32).contains(&particle))
    }
    /// Whether lattice sweeps start at the last row, because the pins are there.
    pub(super) fn sweeps_down(&self) -> bool {
        self.sweeps_down
    }

    /// Slot by particle.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }
    /// Slots in all, idle ones included: a multiple of [`BLOCK`].
    pub fn slot_count(&self) -> usize {
        self.slot_count
    }
    /// How fields are laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// Number of spatial parts.
    pub fn part_count(&self) -> usize {
        self.part_count
    }
    /// The spatial part of a slot.
    pub fn part(&self, slot: u32) -> u32 {
        self.part[slot as usize]
    }
    /// Links between a slot's particle and the nearest pin.
    pub fn band(&self, slot: u32) -> u32 {
        self.band[slot as usize]
    }
    /// Distance in memory between the first numbers of two neighbouring slots.
    pub(super) fn stride(&self) -> u32 {
        match self.layout {
            Layout::Rows => 4,
            Layout::Columns => 1,
        }
    }
}
