//! Stencils: a set of constraints made ready to sweep.

use core::ops::Range;

use super::lattice::{self, Cell};
use super::pack::{IDLE, Packer};
use super::plan::Plan;
use crate::field::Layout;
use crate::lane::{BLOCK, Octet, Real};

/// Where a block's particles stand in a field, corner by corner.
///
/// An *offset* is the index of a slot's first number in the field: four times the slot in rows, the slot in columns.
#[derive(Clone, Debug)]
pub enum Addresses<const N: usize> {
    /// Eight offsets a corner: any mesh.
    Indexed(Vec<[[u32; BLOCK]; N]>),
    /// The first of eight consecutive slots a corner: lattices.
    Contiguous(Vec<[u32; N]>),
}

/// Constraints on `N` particles each: ordered for convergence, packed into blocks, grouped into tasks.
///
/// The fields are private because they are a proof that backends rely on. Checked on construction:
/// - every offset is inside a field of this plan;
/// - the lanes of a block touch disjoint slots;
/// - the tasks of a phase touch disjoint slots, idle lanes included.
#[derive(Clone, Debug)]
pub struct Stencil<const N: usize> {
    addresses: Addresses<N>,
    /// By block and lane: the constraint, or [`IDLE`].
    source: Vec<[u32; BLOCK]>,
    /// By constraint: block · 8 + lane.
    place: Vec<u32>,
    /// Block ranges; consecutive.
    tasks: Vec<Range<usize>>,
    /// Ranges of tasks that may run side by side; one after the other.
    phases: Vec<Range<usize>>,
    slot_count: usize,
    layout: Layout,
}

/// Constraints sorted into tasks: parts, interfaces, overflow.
struct Assignment {
    /// Rank and index of the constraints of each task, in serial order.
    tasks: Vec<Vec<(u32, u32)>>,
    part_count: usize,
}

impl<const N: usize> Stencil<N> {
    /// Orders and packs a set of constraints.
    ///
    /// `class[c]` is the constraint's place in the order of kinds: low classes first, and stiff structural links last,
    /// because what is solved last is satisfied best. Ids must be distinct inside a constraint and known to the plan.
    pub fn new(plan: &Plan, ids: &[[u32; N]], class: &[u8]) -> Self {
        debug_assert_eq!(ids.len(), class.len());
        let assignment = Assignment::new(plan, ids, class);
        Self::contiguous(plan, ids, class, &assignment).unwrap_or_else(|| Self::indexed(plan, ids, &assignment))
    }

    fn indexed(plan: &Plan, ids: &[[u32; N]], assignment: &Assignment) -> Self {
        let slots_of = |c: u32| slots(plan, &ids[c as usize]);
        let mut packer = Packer::new(plan.slot_count());
        let mut source = Vec::new();
        let mut tasks = Vec::new();
        for serial in &assignment.tasks {
            let first = source.len();
            packer.pack(serial, slots_of, &mut source);
            tasks.push(first..source.len());
        }
        let mut addresses = Vec::with_capacity(source.len());
        for (task, blocks) in tasks.iter().enumerate() {
            for block in &source[blocks.clone()] {
                let mut offsets = [[0; BLOCK]; N];
                for (lane, &c) in block.iter().enumerate() {
                    let slots = if c == IDLE { [plan.idle_slots(task) + lane as u32; N] } else { slots_of(c) };
                    for (corner, slot) in slots.into_iter().enumerate() {
                        offsets[corner][lane] = slot * plan.stride();
                    }
                }
                addresses.push(offsets);
            }
        }
        Self::assemble(plan, ids.len(), Addresses::Indexed(addresses), source, tasks, assignment.part_count).expect(
            "packing puts constraints that share a particle into different blocks and tasks into their own slots",
        )
    }

    /// Whole vectors of lanes, when every constraint of the set stands on a lattice and its blocks stay well filled.
    fn contiguous(plan: &Plan, ids: &[[u32; N]], class: &[u8], assignment: &Assignment) -> Option<Self> {
        if plan.layout() != Layout::Columns || ids.is_empty() {
            return None;
        }
        let cells: Vec<Cell<N>> = ids.iter().map(|particles| lattice::cell(plan, particles)).collect::<Option<_>>()?;
        let (mut source, mut addresses, mut tasks) = (Vec::<[u32; BLOCK]>::new(), Vec::new(), Vec::new());
        for serial in &assignment.tasks {
            let first = source.len();
            let mut order = serial.clone();
            order.sort_by_key(|&(_, c)| (class[c as usize], cells[c as usize], c));
            for (_, c) in order {
                let cell = &cells[c as usize];
                let lane = cell.lane as usize;
                let same_block = source.len() > first
                    && addresses.last() == Some(&cell.starts)
                    && source.last().is_some_and(|block| block[lane] == IDLE);
                if !same_block {
                    source.push([IDLE; BLOCK]);
                    addresses.push(cell.starts);
                }
                let block = source.len() - 1;
                source[block][lane] = c;
            }
            tasks.push(first..source.len());
        }
        // Half-empty blocks lose more than a gather costs.
        if ids.len() * 2 < source.len() * BLOCK {
            return None;
        }
        Self::assemble(plan, ids.len(), Addresses::Contiguous(addresses), source, tasks, assignment.part_count)
    }

    /// Checks the three promises and drops empty tasks; `None` when a promise does not hold.
    fn assemble(
        plan: &Plan,
        count: usize,
        addresses: Addresses<N>,
        source: Vec<[u32; BLOCK]>,
        tasks: Vec<Range<usize>>,
        part_count: usize,
    ) -> Option<Self> {
        let mut place = vec![0; count];
        for (block, lanes) in source.iter().enumerate() {
            for (lane, &c) in lanes.iter().enumerate().filter(|(_, c)| **c != IDLE) {
                place[c as usize] = (block * BLOCK + lane) as u32;
            }
        }
        let mut stencil = Self {
            addresses,
            source,
            place,
            tasks: Vec::new(),
            phases: Vec::new(),
            slot_count: plan.slot_count(),
            layout: plan.layout(),
        };
        let limits = [0, part_count, 2 * part_count, tasks.len()];
        for phase in limits.windows(2) {
            let first = stencil.tasks.len();
            stencil.tasks.extend(tasks[phase[0]..phase[1].max(phase[0])].iter().filter(|t| !t.is_empty()).cloned());
            if stencil.tasks.len() > first {
                stencil.phases.push(first..stencil.tasks.len());
            }
        }
        stencil.is_disjoint().then_some(stencil)
    }

    fn is_disjoint(&self) -> bool {
        let stride = match self.layout {
            Layout::Rows => 4,
            Layout::Columns => 1,
        };
        let mut by_block = vec![usize::MAX; self.slot_count];
        let mut by_task = vec![(usize::MAX, usize::MAX); self.slot_count];
        for (phase, tasks) in self.phases.iter().enumerate() {
            for task in tasks.clone() {
                for block in self.tasks[task].clone() {
                    for lane in 0..BLOCK {
                        let idle = self.source[block][lane] == IDLE;
                        for corner in 0..N {
                            let slot = self.offset(block, corner, lane) as usize / stride;
                            if slot >= self.slot_count {
                                return false;
                            }
                            // The corners of an idle indexed lane share one massless slot of their own.
                            let shared = idle && matches!(self.addresses, Addresses::Indexed(_));
                            if by_block[slot] == block && !shared {
                                return false;
                            }
                            by_block[slot] = block;
                            if by_task[slot].0 == phase && by_task[slot].1 != task {
                                return false;
                            }
                            by_task[slot] = (phase, task);
                        }
                    }
                }
            }
        }
        true
    }

    fn offset(&self, block: usize, corner: usize, lane: usize) -> u32 {
        match &self.addresses {
            Addresses::Indexed(blocks) => blocks[block][corner][lane],
            Addresses::Contiguous(blocks) => blocks[block][corner] + lane as u32,
        }
    }

    /// How many constraints there are.
    pub fn len(&self) -> usize {
        self.place.len()
    }
    /// Whether there is no constraint.
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
    }
    /// Number of blocks of eight.
    pub fn block_count(&self) -> usize {
        self.source.len()
    }
    /// Where each block's particles stand.
    pub fn addresses(&self) -> &Addresses<N> {
        &self.addresses
    }
    /// Block ranges that a thread runs from start to end; consecutive over all phases.
    pub fn tasks(&self) -> &[Range<usize>] {
        &self.tasks
    }
    /// Ranges of tasks that touch disjoint particles; phases run one after the other.
    pub fn phases(&self) -> &[Range<usize>] {
        &self.phases
    }
    /// Block and lane of a constraint.
    pub fn place(&self, constraint: usize) -> (usize, usize) {
        (self.place[constraint] as usize / BLOCK, self.place[constraint] as usize % BLOCK)
    }
    /// Whether this stencil's offsets are valid for a field of these dimensions.
    pub fn fits(&self, slot_count: usize, layout: Layout) -> bool {
        self.slot_count == slot_count && self.layout == layout
    }
    /// The share of lanes that hold a constraint, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.len() as f64 / (self.block_count() * BLOCK).max(1) as f64
    }

    /// Writes one number a constraint into block order, at octet `column` of `width` a block; idle lanes keep theirs.
    pub fn scatter<S: Real>(&self, values: impl Iterator<Item = S>, to: &mut [Octet<S>], column: usize, width: usize) {
        for (c, value) in values.enumerate() {
            let (block, lane) = self.place(c);
            to[block * width + column].0[lane] = value;
        }
    }
}

fn slots<const N: usize>(plan: &Plan, particles: &[u32; N]) -> [u32; N] {
    particles.map(|p| plan.slots()[p as usize])
}

impl Assignment {
    fn new<const N: usize>(plan: &Plan, ids: &[[u32; N]], class: &[u8]) -> Self {
        let part_count = plan.part_count();
        let mut tasks = vec![Vec::new(); 2 * part_count + 1];
        let mut interface_of = vec![u32::MAX; plan.slot_count()];
        for (c, particles) in ids.iter().enumerate() {
            let slots = slots(plan, particles);
            let low = slots.iter().map(|&s| plan.part(s)).min().unwrap_or(0);
            let high = slots.iter().map(|&s| plan.part(s)).max().unwrap_or(0);
            let task = if low == high {
                low as usize
            } else if high == low + 1 && slots.iter().all(|&s| [u32::MAX, low].contains(&interface_of[s as usize])) {
                for &s in &slots {
                    interface_of[s as usize] = low;
                }
                part_count + low as usize
            } else {
                2 * part_count
            };
            // Kind by kind; inside a kind from the pins outward, then along memory.
            let band = slots.iter().map(|&s| plan.band(s)).min().unwrap_or(0);
            let key = (class[c], band, slots.iter().min().copied());
            tasks[task].push((key, c as u32));
        }
        let tasks = tasks.into_iter().map(|mut keyed: Vec<_>| {
            keyed.sort_unstable();
            let mut rank = 0;
            let ranked = keyed.iter().enumerate().map(|(i, &((class, band, _), c))| {
                rank += u32::from(i > 0 && (keyed[i - 1].0.0, keyed[i - 1].0.1) != (class, band));
                (rank, c)
            });
            ranked.collect()
        });
        let tasks = tasks.collect();
        Self { tasks, part_count }
    }
}
