//! Where vertices are expected until pairs are looked up the next time.

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
    /// Two rows a vertex, the first of which is where it came from; none if it came from where it is.
    pub last: Option<&'a [Octet<S>]>,
    /// By row: places at the start of the substep, and the end of the way since.
    pub start: &'a [Octet<S>],
    pub now: &'a [Octet<S>],
    /// The row of each vertex.
    pub of_vertex: &'a [u32],
    /// The time ahead over the time of the way.
    pub further: S,
    pub thickness: S,
}

impl<S: Real> Task<Octet<S>> for Ahead<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = index * VERTICES;
        let further = L::splat(self.further);
        for block in (0..own.len()).step_by(BLOCK) {
            // The last block repeats its last vertex.
            let (mut rows, mut before, mut starts, mut ends) = ([0; BLOCK], [0; BLOCK], [0; BLOCK], [0; BLOCK]);
            for lane in 0..BLOCK {
                let vertex = (block + lane).min(own.len() - 1);
                rows[lane] = self.of_vertex[first + vertex];
                before[lane] = 2 * (first + vertex) as u32;
                starts[lane] = 2 * vertex as u32;
                ends[lane] = 2 * vertex as u32 + 1;
            }
            let mut at = 0;
            while at < BLOCK {
                let [x, y, z, _] = L::from_rows(self.start, &rows, at);
                let start = Vec3::new(x, y, z);
                let way = match self.last {
                    Some(last) => {
                        let [x, y, z, _] = L::from_rows(last, &before, at);
                        start - Vec3::new(x, y, z)
                    }
                    None => {
                        let [x, y, z, _] = L::from_rows(self.now, &rows, at);
                        Vec3::new(x, y, z) - start
                    }
                };
                let way = way * further;
                let end = start + way * share::<L>(way, L::splat(self.thickness));
                L::to_rows([start.x, start.y, start.z, L::zero()], own, &starts, at);
                L::to_rows([end.x, end.y, end.z, L::zero()], own, &ends, at);
                at += L::WIDTH;
            }
        }
    }
}

/// A way counts as so many times as long as what it misses its expected end by: pairs are many where ways are long.
const FAR: f64 = 4.0;

/// How far vertices are from where they were expected, or a quarter of how far they went, squared: the fourth number of their
/// way.
///
/// Pairs that nobody expected are found by the next look, and put right as long as they are within
/// [`push::REMEMBER`](super::push::REMEMBER). That is so while vertices keep to their ways.
pub(super) struct Astray<'a, S> {
    /// By row.
    pub now: &'a [Octet<S>],
    /// The row of each vertex.
    pub of_vertex: &'a [u32],
}

impl<S: Real> Task<Octet<S>> for Astray<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = index * VERTICES;
        for block in (0..own.len()).step_by(BLOCK) {
            let (mut rows, mut starts, mut ends) = ([0; BLOCK], [0; BLOCK], [0; BLOCK]);
            for lane in 0..BLOCK {
                let vertex = (block + lane).min(own.len() - 1);
                rows[lane] = self.of_vertex[first + vertex];
                starts[lane] = 2 * vertex as u32;
                ends[lane] = 2 * vertex as u32 + 1;
            }
            let mut at = 0;
            while at < BLOCK {
                let [x, y, z, _] = L::from_rows(self.now, &rows, at);
                let now = Vec3::new(x, y, z);
                let [x, y, z, _] = L::from_rows(own, &ends, at);
                let missed = (now - Vec3::new(x, y, z)).length_sq();
                let [x, y, z, _] = L::from_rows(own, &starts, at);
                let went = (now - Vec3::new(x, y, z)).length_sq() * L::constant(1.0 / (FAR * FAR));
                L::to_rows([x, y, z, missed.max(went)], own, &starts, at);
                at += L::WIDTH;
            }
        }
    }
}

/// How much of a way is expected: [`AHEAD`] of it, or all but a thickness where that is more.
#[inline(always)]
fn share<L: Lane>(way: Vec3<L>, thickness: L) -> L {
    let (square, rest) = (way.length_sq(), L::constant((1.0 - AHEAD) * (1.0 - AHEAD)));
    let short = (thickness * thickness).ge(rest * square);
    L::select(short, L::constant(AHEAD), L::one() - thickness / square.sqrt())
}
