//! Finding the pairs that may touch: all of them now and then, and those of vertices that go elsewhere than expected in between.
//!
//! All pairs are looked up for some time ahead, in which every vertex is expected to go on as it went. From then on somebody looks
//! once or twice a step where vertices are. As long as they keep to their ways the list holds; who does not is restless, gets a new way, and
//! its pairs are looked up again. When many are restless, or time is up, all pairs are looked up, for a shorter time ahead or a longer
//! one: cloth that falls is searched twice a step, cloth at rest once in a while. A look puts on the list what is not there yet.

use pliant_core::backend::{Backend, Cut};
use pliant_core::collide::LayerSearch;
use pliant_core::collide::ccd::{CcdOptions, first_contact};
use pliant_core::collide::distance::Pair;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::model::Model;

use super::super::side_by_side;
use super::Repulsion;
use super::ahead::{self, Ahead, Astray, Thickness};
use super::memory::Outlook;
use super::push::Meet;

/// Pairs are looked up to this many times the thickness: room for what the prediction of their way does not know. More
/// finds neighbours in the sheet, which never touch: at 2 they are a hundred times as many as contacts.
const ROOM: f64 = 1.25;
/// Who is farther from where it was expected than this part of the thickness is restless. At a half, draped cloth is left with
/// intersections for seconds; at a quarter, everybody is restless soon.
const CALM: f64 = 0.35;
/// When more than one vertex in so many is restless, all pairs are looked up.
const CROWD: usize = 8;
/// When fewer than one in so many is, one look a step is enough.
const QUIET: usize = 32;
/// All pairs are looked up for so many looks ahead at most.
pub(super) const SPELL: u32 = 16;
/// However far ahead that is, vertices are expected to move for so many looks, and then to stay: constraints make neighbours
/// quiver, and several times that looks like a crowd about to collide.
const FURTHER: f64 = 1.5;
/// So many lanes may be idle, or hold pairs that went apart, besides a third of all.
const SPARE: usize = 128;
/// Blocks of eight pairs a task looks at.
const BLOCKS: usize = 64;

/// Vertices that went elsewhere than expected.
#[derive(Clone, Debug)]
pub(super) struct Restless {
    /// By vertex, and those that are set.
    flags: Vec<bool>,
    list: Vec<u32>,
}

impl Restless {
    pub fn new(count: usize) -> Self {
        Self { flags: vec![false; count], list: Vec::with_capacity(count / CROWD + 1) }
    }

    /// Finds who is farther astray than `limit_sq` says; returns whether that is a crowd, of which not all are listed.
    fn find<S: Real>(&mut self, way: &[Octet<S>], limit_sq: S) -> bool {
        for v in self.list.drain(..) {
            self.flags[v as usize] = false;
        }
        let most = way.len() / CROWD;
        for (v, way) in way.iter().enumerate() {
            if way.0[3] > limit_sq {
                if self.list.len() == most {
                    return true;
                }
                self.flags[v] = true;
                self.list.push(v as u32);
            }
        }
        false
    }
}

impl<S: Real> Repulsion<S> {
    /// Sees to it that the list holds all pairs that may touch until the next look.
    pub(super) fn look<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        let surfaces = model.surfaces();
        if self.layers.is_none() {
            let (rest, groups) = (side_by_side(model), surfaces.groups());
            let layers = LayerSearch::new(&rest, &surfaces.edges, &surfaces.triangles, groups.as_deref(), on);
            let shares: Vec<S> = self.thicknesses.iter().map(|&thickness| thickness / surfaces.reach).collect();
            let shared =
                |layers: LayerSearch<S>| if shares.is_empty() { Ok(layers) } else { layers.with_shares(&shares) };
            self.layers = layers.and_then(shared).ok();
        }
        let thickness = surfaces.reach;
        let Outlook { travelled, age, span, spell, .. } = self.outlook;
        if !travelled {
            // The way of a substep is all there is.
            return self.look_at_all(thickness, self.h, on);
        }
        let (now, of_vertex) = (self.rows.start(), self.rows.of_vertices());
        let thickness_of = Thickness { most: thickness, own: &self.thicknesses };
        let astray = Astray { now, of_vertex, passed: age / span, thickness: thickness_of };
        on.fork(&astray, Cut::Every(ahead::VERTICES), &mut self.way);
        let limit = S::from_f64(CALM) * thickness;
        let crowd = self.restless.find(&self.way, limit * limit);
        self.outlook.calm = !crowd && self.restless.list.len() * QUIET < self.way.len();
        // Half a substep: times are sums that were rounded.
        let over = age + S::from_f64(0.5) * self.h >= span;
        if crowd || over {
            self.outlook.spell = if crowd { (spell / 2).max(1) } else { (2 * spell).min(SPELL) };
            self.look_at_all(thickness, age, on);
        } else if !self.restless.list.is_empty() {
            self.look_at_restless(thickness, limit, on);
        }
    }

    /// Finds all pairs that may touch while vertices go on as they went in the last `since` seconds.
    fn look_at_all<B: Backend<Scalar = S>>(&mut self, thickness: S, since: S, on: &B) {
        let span = self.until * S::from_f64(f64::from(self.outlook.spell));
        self.go_on(thickness, self.further(span) / since, S::from_f64(-1.0), on);
        self.find(true, thickness, on);
        self.outlook = Outlook { travelled: true, age: S::ZERO, span, ..self.outlook };
    }

    /// Finds the pairs of restless vertices.
    fn look_at_restless<B: Backend<Scalar = S>>(&mut self, thickness: S, limit: S, on: &B) {
        let Outlook { age, span, .. } = self.outlook;
        self.go_on(thickness, self.further(span - age) / age, limit * limit, on);
        (self.outlook.span, self.outlook.age) = (span - age, S::ZERO);
        self.find(false, thickness, on);
    }

    /// For how long vertices are expected to move, of the time that pairs are looked up for.
    fn further(&self, span: S) -> S {
        let most = self.until * S::from_f64(FURTHER);
        if span < most { span } else { most }
    }

    /// New ways, from here on: for all vertices that are farther astray than `calm_sq` says.
    fn go_on<B: Backend<Scalar = S>>(&mut self, thickness: S, further: S, calm_sq: S, on: &B) {
        self.before.look(&mut self.last);
        core::mem::swap(&mut self.last, &mut self.way);
        let (start, now) = self.rows.places();
        let (of_vertex, last) = (self.rows.of_vertices(), self.outlook.travelled.then_some(&self.last[..]));
        let thickness = Thickness { most: thickness, own: &self.thicknesses };
        let ahead = Ahead { last, start, now, of_vertex, further, thickness, calm_sq };
        on.fork(&ahead, Cut::Every(ahead::VERTICES), &mut self.way);
    }

    /// Puts pairs on the list that are not there yet: those of all vertices or of restless ones. Pairs that went apart stay there,
    /// until too many have.
    fn find<B: Backend<Scalar = S>>(&mut self, all: bool, thickness: S, on: &B) {
        let Some(layers) = &mut self.layers else { return };
        if core::mem::take(&mut self.foreign) {
            layers.know(self.blocks.iter().flat_map(|block| block.pairs(&self.rows)));
        }
        let reach = S::from_f64(ROOM) * thickness;
        let restless = (&self.restless.list[..], &self.restless.flags[..]);
        let found = if all {
            layers.find_new(&self.way, reach, on)
        } else {
            layers.find_new_of(restless, &self.way, reach, on)
        };
        // Positions that are not finite are found out when the step ends.
        if found.is_err() {
            return;
        }
        let lanes = BLOCK * self.blocks.len() + layers.near().len();
        self.sides.clear();
        if all && lanes * 2 > layers.found() * 3 + SPARE {
            layers.tell_all();
            self.sides.remember(&self.blocks);
            self.blocks.clear();
            self.rows.need_none();
        }
        let first = self.blocks.len();
        self.packer.pack(layers.near(), &self.rows, &mut self.blocks);
        self.rows.need(self.blocks[first..].iter().map(|block| &block.at));
        let meet = Meet { now: self.rows.start(), skins: &self.skins };
        on.fork(&meet, Cut::Every(BLOCKS), &mut self.blocks[first..]);
        self.recognise(first);
    }

    /// Gives the pairs of new blocks that are close the sides they had, or those they must have had.
    fn recognise(&mut self, first: usize) {
        for block in &mut self.blocks[first..] {
            let mut bits = block.close;
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let r = [0, 1, 2].map(|k| block.normal[k].0[lane]);
                let wrong = match self.sides.of(&block.at.map(|at| at[lane])) {
                    Some(old) => r[0] * old[0] + r[1] * old[1] + r[2] * old[2] < S::ZERO,
                    // Nobody expected this pair: if it met since the last look, it is on the wrong side.
                    None if self.outlook.travelled => {
                        let corners = block.at.map(|at| self.rows.vertex(at[lane]));
                        let place = |of: &[Octet<S>]| corners.map(|v| [0, 1, 2].map(|k| of[v].0[k].to_f64()));
                        let (from, to) = (place(&self.last), place(&self.way));
                        !divided(block.kind, r.map(S::to_f64), [&from, &to])
                            && first_contact(block.kind, &from, &to, &CcdOptions::default()).is_some()
                    }
                    None => false,
                };
                if wrong {
                    for k in 0..3 {
                        block.normal[k].0[lane] = -r[k];
                    }
                }
            }
        }
    }
}

/// Whether a direction divides two primitives at both ends of their way, and so all along it.
fn divided(kind: Pair, n: [f64; 3], ends: [&[[f64; 3]; 4]; 2]) -> bool {
    let first = kind.first_corners();
    ends.iter().all(|x| {
        let along = x.map(|x| n[0] * x[0] + n[1] * x[1] + n[2] * x[2]);
        let (one, other) = along.split_at(first);
        let low = one.iter().fold(f64::INFINITY, |low, &a| low.min(a));
        other.iter().all(|&a| a < low)
    })
}
