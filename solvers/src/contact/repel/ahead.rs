//! Where vertices are expected until pairs are looked up the next time, and who is somewhere else.

use pliant_core::backend::Task;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::vec3::Vec3;

/// How much of the way since the last look is expected until the next one. Not all of it: layers that touch slow each other
/// down, and boxes that follow the whole way hold too much. But all except one thickness: what two vertices can come closer
/// than expected is then within [`push::REMEMBER`](super::push::REMEMBER), where the next look still finds out who went through whom.
const AHEAD: f64 = 0.75;
/// Vertices a task looks at.
pub(super) const VERTICES: usize = 1024;

/// Writes down where vertices are and where they will be, `[x y z 0 x' y' z' 0]`, going on as they went from one place to another.
pub(super) struct Ahead<'a, S> {
    /// Two rows a vertex: where it came from, and where it was expected; none if it came from where it is. The fourth number is
    /// how far it is from there, squared.
    pub last: Option<&'a [Octet<S>]>,
    /// By row: places at the start of the substep, and the end of the way since.
    pub start: &'a [Octet<S>],
    pub now: &'a [Octet<S>],
    /// The row of each vertex.
    pub of_vertex: &'a [u32],
    /// The time ahead over the time of the way.
    pub further: S,
    pub thickness: Thickness<'a, S>,
    /// Who is no farther from where it was expected than this, squared, is still expected to end there.
    pub calm_sq: S,
}

impl<S: Real> Task<Octet<S>> for Ahead<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = index * VERTICES;
        let further = L::splat(self.further);
        for block in (0..own.len()).step_by(BLOCK) {
            let rows = rows(self.of_vertex, first, block, own.len());
            let thicknesses = self.thickness.of(first, block, own.len());
            let mut at = 0;
            while at < BLOCK {
                let thickness = L::load(&thicknesses, at);
                let [x, y, z, _] = L::from_rows(self.start, &rows.field, at);
                let start = Vec3::new(x, y, z);
                let end = match self.last {
                    Some(last) => {
                        let [x, y, z, astray_sq] = L::from_rows(last, &rows.all_starts, at);
                        let end = expect(start, (start - Vec3::new(x, y, z)) * further, thickness);
                        let [x, y, z, _] = L::from_rows(last, &rows.all_ends, at);
                        Vec3::select(L::splat(self.calm_sq).ge(astray_sq), Vec3::new(x, y, z), end)
                    }
                    None => {
                        let [x, y, z, _] = L::from_rows(self.now, &rows.field, at);
                        expect(start, (Vec3::new(x, y, z) - start) * further, thickness)
                    }
                };
                L::to_rows([start.x, start.y, start.z, L::zero()], own, &rows.starts, at);
                L::to_rows([end.x, end.y, end.z, L::zero()], own, &rows.ends, at);
                at += L::WIDTH;
            }
        }
    }
}

/// How thick surfaces are \[m\].
#[derive(Clone, Copy)]
pub(super) struct Thickness<'a, S> {
    /// The largest thickness.
    pub most: S,
    /// By vertex; none where all are as thick.
    pub own: &'a [S],
}

impl<S: Real> Thickness<'_, S> {
    /// Of the vertices from `first + block` on; the last of `count` is repeated.
    #[inline(always)]
    fn of(&self, first: usize, block: usize, count: usize) -> Octet<S> {
        let mut all = Octet([self.most; BLOCK]);
        if !self.own.is_empty() {
            for lane in 0..BLOCK {
                all.0[lane] = self.own[first + (block + lane).min(count - 1)];
            }
        }
        all
    }
}

/// How far vertices are from where they were expected, squared: the fourth number of their way. Where surfaces are thinner than others
/// it is as many times as much as they are thinner, squared: one limit serves all.
pub(super) struct Astray<'a, S> {
    /// By row: where they are.
    pub now: &'a [Octet<S>],
    /// The row of each vertex.
    pub of_vertex: &'a [u32],
    /// How much of the time ahead has passed.
    pub passed: S,
    pub thickness: Thickness<'a, S>,
}

impl<S: Real> Task<Octet<S>> for Astray<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = index * VERTICES;
        for block in (0..own.len()).step_by(BLOCK) {
            let rows = rows(self.of_vertex, first, block, own.len());
            let thicknesses = self.thickness.of(first, block, own.len());
            let mut at = 0;
            while at < BLOCK {
                let thinner = L::splat(self.thickness.most) / L::load(&thicknesses, at);
                let [x, y, z, _] = L::from_rows(self.now, &rows.field, at);
                let now = Vec3::new(x, y, z);
                let [x, y, z, _] = L::from_rows(own, &rows.ends, at);
                let end = Vec3::new(x, y, z);
                let [x, y, z, _] = L::from_rows(own, &rows.starts, at);
                let start = Vec3::new(x, y, z);
                let expected = start + (end - start) * L::splat(self.passed);
                let astray_sq = (now - expected).length_sq() * (thinner * thinner);
                L::to_rows([x, y, z, astray_sq], own, &rows.starts, at);
                at += L::WIDTH;
            }
        }
    }
}

/// Where a block of vertices has its rows: in a field, in the ways of a task's own vertices, and in those of all.
struct BlockRows {
    field: [u32; BLOCK],
    starts: [u32; BLOCK],
    ends: [u32; BLOCK],
    all_starts: [u32; BLOCK],
    all_ends: [u32; BLOCK],
}

/// Of the vertices from `first + block` on; the last block repeats the last of `count` vertices.
#[inline(always)]
fn rows(of_vertex: &[u32], first: usize, block: usize, count: usize) -> BlockRows {
    let mut rows = BlockRows {
        field: [0; BLOCK],
        starts: [0; BLOCK],
        ends: [0; BLOCK],
        all_starts: [0; BLOCK],
        all_ends: [0; BLOCK],
    };
    for lane in 0..BLOCK {
        let vertex = (block + lane).min(count - 1);
        rows.field[lane] = of_vertex[first + vertex];
        rows.starts[lane] = 2 * vertex as u32;
        rows.ends[lane] = 2 * vertex as u32 + 1;
        rows.all_starts[lane] = 2 * (first + vertex) as u32;
        rows.all_ends[lane] = 2 * (first + vertex) as u32 + 1;
    }
    rows
}

/// Where a way leads: [`AHEAD`] of it, or all but a thickness where that is more.
#[inline(always)]
fn expect<L: Lane>(start: Vec3<L>, way: Vec3<L>, thickness: L) -> Vec3<L> {
    let (square, rest) = (way.length_sq(), L::constant((1.0 - AHEAD) * (1.0 - AHEAD)));
    let short = (thickness * thickness).ge(rest * square);
    start + way * L::select(short, L::constant(AHEAD), L::one() - thickness / square.sqrt())
}
