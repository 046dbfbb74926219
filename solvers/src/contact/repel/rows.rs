//! Positions during a push: one row `[x y z 1/m]` a slot, whatever layout the fields have.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::field::{Field, Layout};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::model::Model;

/// Rows that idle lanes of a block point at: one for each corner and lane.
const IDLE: usize = 4 * BLOCK;

/// Positions now and at the start of the substep, of all slots from the first to the last that surfaces need.
#[derive(Clone, Debug)]
pub(super) struct Rows<S> {
    /// Slots before the first row; a multiple of eight.
    first: usize,
    /// Rows of slots; idle rows without mass follow.
    count: usize,
    now: Vec<Octet<S>>,
    start: Vec<Octet<S>>,
    /// The row of each vertex, and the other way round.
    of_vertex: Vec<u32>,
    vertices: Vec<u32>,
    /// By block of eight rows: whether somebody needs it.
    needed: Vec<bool>,
    /// Whether all rows were packed, needed or not.
    whole: bool,
}

impl<S: Real> Rows<S> {
    pub fn new(model: &Model<S>) -> Self {
        let slots = model.surfaces().particles.iter().map(|&p| model.plan().slots()[p as usize]);
        let (low, high) = slots.clone().fold((u32::MAX, 0), |(low, high), s| (low.min(s), high.max(s + 1)));
        let first = (low.min(high) as usize) / BLOCK * BLOCK;
        let count = (high as usize).next_multiple_of(BLOCK) - first;
        let of_vertex: Vec<u32> = slots.map(|slot| slot - first as u32).collect();
        let mut vertices = vec![0; count + IDLE];
        for (&row, vertex) in of_vertex.iter().zip(0..) {
            vertices[row as usize] = vertex;
        }
        let rows = vec![Octet([S::ZERO; BLOCK]); (count + IDLE) / 2];
        let needed = vec![false; (count + IDLE) / BLOCK];
        Self { first, count, now: rows.clone(), start: rows, of_vertex, vertices, needed, whole: true }
    }

    /// How many rows there are, idle ones included.
    pub fn count(&self) -> usize {
        self.count + IDLE
    }
    /// The first idle row.
    pub fn idle(&self) -> u32 {
        self.count as u32
    }
    /// The row of a vertex.
    #[inline]
    pub fn of(&self, vertex: u32) -> u32 {
        self.of_vertex[vertex as usize]
    }
    /// The vertex of a row.
    pub fn vertex(&self, row: u32) -> usize {
        self.vertices[row as usize] as usize
    }
    /// The rows of all vertices.
    pub fn of_vertices(&self) -> &[u32] {
        &self.of_vertex
    }
    /// Positions at the start of the substep and now, two rows an octet.
    pub fn places(&self) -> (&[Octet<S>], &[Octet<S>]) {
        (&self.start, &self.now)
    }
    /// Positions at the start of the substep, two rows an octet.
    pub fn start(&self) -> &[Octet<S>] {
        &self.start
    }
    /// Positions now and at the start of the substep, to be moved.
    pub fn both(&mut self) -> (&mut [Octet<S>], &[Octet<S>]) {
        (&mut self.now, &self.start)
    }

    /// No row is needed any more.
    pub fn need_none(&mut self) {
        self.needed.fill(false);
    }

    /// These rows are needed, too.
    pub fn need<'a>(&mut self, corners: impl Iterator<Item = &'a [[u32; BLOCK]; 4]>) {
        for &row in corners.flatten().flatten() {
            self.needed[row as usize / BLOCK] = true;
        }
    }

    /// Copies positions in, all or those that are needed, and adds the frames of vertices where they differ.
    pub fn pack<B: Backend<Scalar = S>>(
        &mut self,
        [x, start]: [&Field<S>; 2],
        all: bool,
        offsets: Option<&[[S; 3]]>,
        on: &B,
    ) {
        self.whole = all;
        let needed = (!self.whole).then_some(&self.needed[..]);
        let (first, used) = (self.first, self.count / 2);
        for (field, rows) in [(x, &mut self.now), (start, &mut self.start)] {
            on.fork(&Pack { field, first, needed }, Cut::Every(PACK), &mut rows[..used]);
            if let Some(offsets) = offsets {
                for (vertex, row) in packed(&self.of_vertex, needed) {
                    let (place, o) = (place_in(rows, row), offsets[vertex]);
                    set_place(rows, row, core::array::from_fn(|k| place[k] + o[k]));
                }
            }
        }
    }

    /// Copies positions back, as many as were packed, and adds what they changed by, over h, to velocities.
    ///
    /// A vertex in another frame gets what its place changed by: far from the frame of the rows they are rounded, and who touches
    /// nobody must not be.
    pub fn unpack<B: Backend<Scalar = S>>(
        &mut self,
        x: &mut Field<S>,
        v: Option<(&mut Field<S>, S)>,
        offsets: Option<&[[S; 3]]>,
        on: &B,
    ) {
        let needed = (!self.whole).then_some(&self.needed[..]);
        if let Some(offsets) = offsets {
            for (vertex, row) in packed(&self.of_vertex, needed) {
                let (before, o) = (x.vector(self.first + row as usize), offsets[vertex]);
                let after = place_in(&self.now, row);
                let moved = core::array::from_fn(|k| before[k] + (after[k] - (before[k] + o[k])));
                set_place(&mut self.now, row, moved);
            }
        }
        if let Some((v, inv_h)) = v {
            for (_, row) in packed(&self.of_vertex, needed) {
                let slot = self.first + row as usize;
                let (before, u, after) = (x.vector(slot), v.vector(slot), place_in(&self.now, row));
                v.set_vector(slot, core::array::from_fn(|k| u[k] + (after[k] - before[k]) * inv_h));
            }
        }
        let unpack = Unpack { rows: &self.now[..self.count / 2], first: self.first, needed };
        on.fork(&unpack, Cut::Every(1), core::slice::from_mut(x));
    }
}

/// The vertices that were packed, by number and row: all of them, or those in blocks that are needed.
fn packed<'a>(of_vertex: &'a [u32], needed: Option<&'a [bool]>) -> impl Iterator<Item = (usize, u32)> + 'a {
    let rows = of_vertex.iter().copied().enumerate();
    rows.filter(move |&(_, row)| needed.is_none_or(|needed| needed[row as usize / BLOCK]))
}

/// The place in a row.
fn place_in<S: Real>(rows: &[Octet<S>], row: u32) -> [S; 3] {
    core::array::from_fn(|k| rows[row as usize / 2].0[4 * (row as usize % 2) + k])
}
fn set_place<S: Real>(rows: &mut [Octet<S>], row: u32, to: [S; 3]) {
    rows[row as usize / 2].0[4 * (row as usize % 2)..][..3].copy_from_slice(&to);
}

/// Octets of rows a task packs; four hold a block of slots.
const PACK: usize = 4096;

struct Pack<'a, S> {
    field: &'a Field<S>,
    first: usize,
    /// By block of eight rows, where not all of them are wanted.
    needed: Option<&'a [bool]>,
}

impl<S: Real> Task<Octet<S>> for Pack<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let from = self.field.octets();
        let before = index * PACK / 4;
        let column = self.field.slot_count() / BLOCK;
        for (k, own) in own.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            if self.needed.is_some_and(|needed| !needed[before + k]) {
                continue;
            }
            let block = self.first / BLOCK + before + k;
            if self.field.layout() == Layout::Rows {
                own.copy_from_slice(&from[4 * block..4 * block + 4]);
                continue;
            }
            let mut at = 0;
            while at < BLOCK {
                let columns = [
                    L::load(&from[block], at),
                    L::load(&from[column + block], at),
                    L::load(&from[2 * column + block], at),
                    L::load(&from[3 * column + block], at),
                ];
                L::to_rows(columns, own, &[0, 1, 2, 3, 4, 5, 6, 7], at);
                at += L::WIDTH;
            }
        }
    }
}

struct Unpack<'a, S> {
    rows: &'a [Octet<S>],
    first: usize,
    needed: Option<&'a [bool]>,
}

impl<S: Real> Task<Field<S>> for Unpack<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Field<S>]) {
        for field in own {
            let (layout, column, first) = (field.layout(), field.slot_count() / BLOCK, self.first / BLOCK);
            let to = field.octets_mut();
            for (k, rows) in self.rows.as_chunks::<4>().0.iter().enumerate() {
                if self.needed.is_some_and(|needed| !needed[k]) {
                    continue;
                }
                let block = first + k;
                if layout == Layout::Rows {
                    to[4 * block..4 * block + 4].copy_from_slice(rows);
                    continue;
                }
                let mut at = 0;
                while at < BLOCK {
                    let [x, y, z, _] = L::from_rows(rows, &[0, 1, 2, 3, 4, 5, 6, 7], at);
                    x.store(&mut to[block], at);
                    y.store(&mut to[column + block], at);
                    z.store(&mut to[2 * column + block], at);
                    at += L::WIDTH;
                }
            }
        }
    }
}

/// What does not change about the vertices, by row.
#[derive(Clone, Debug)]
pub(super) struct Skins<S> {
    /// `[x y z body]` at rest.
    pub rest: Vec<Octet<S>>,
    /// `[thickness friction recovery 0]`. Idle rows are thinner than anything: they never touch.
    pub skin: Vec<Octet<S>>,
}

impl<S: Real> Skins<S> {
    pub fn new(model: &Model<S>, rows: &Rows<S>) -> Self {
        let surfaces = model.surfaces();
        let far = S::from_f64(f64::NEG_INFINITY);
        let mut rest = vec![Octet([S::ZERO; BLOCK]); rows.count() / 2];
        let mut skin = vec![Octet([far, S::ZERO, S::ZERO, S::ZERO, far, S::ZERO, S::ZERO, S::ZERO]); rows.count() / 2];
        let particle = |vertex: usize| surfaces.particles[vertex] as usize;
        for (vertex, &owner) in surfaces.owner.iter().enumerate() {
            let settings = &surfaces.settings[owner as usize];
            let row = rows.of(vertex as u32) as usize;
            let (p, origin) = (model.rest()[particle(vertex)], model.rest()[particle(0)]);
            let place = [p[0] - origin[0], p[1] - origin[1], p[2] - origin[2], f64::from(owner)];
            let numbers = [settings.thickness, settings.friction, settings.recovery, 0.0];
            rest[row / 2].0[4 * (row % 2)..][..4].copy_from_slice(&place.map(S::from_f64));
            skin[row / 2].0[4 * (row % 2)..][..4].copy_from_slice(&numbers.map(S::from_f64));
        }
        Self { rest, skin }
    }
}
