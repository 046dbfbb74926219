//! Detection: which bodies may touch in this step, and where they do.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::collide::{Aabb, Bvh, Groups, Leaves, Pairs};
use pliant_core::error::BuildError;
use pliant_core::lane::{Lane, Real};
use pliant_core::rigid::{Quaternion, RigidBodies};
use pliant_core::vec3::Vec3;

use super::manifold::Manifold;
use super::narrow::{Piece, Stand, TAGS, Workshop};

/// Pairs a task of the narrow phase looks at.
const CHUNK: usize = 32;
/// How far a contact point may wander over a body in a step and still be the same, as a share of the body's size.
const SAME_POINT: f64 = 0.1;

/// How far a body without end reaches for those that ask \[m\].
const ENDLESS: f64 = 1e6;

/// Finds contacts; keeps its memory.
pub(crate) struct Detector<S> {
    shapes: Vec<Shaped<S>>,
    /// Bodies without end, which no tree holds.
    endless: Vec<u32>,
    /// Bodies in the tree.
    bounded: Vec<u32>,
    /// Pairs of bodies that joints hold together and that do not touch, sorted.
    joined: Vec<[u32; 2]>,
    parties: Vec<Party>,
    boxes: Vec<Aabb<S>>,
    tree: Bvh<S>,
    found: Pairs,
    pairs: Vec<[u32; 2]>,
    stands: Vec<Stand<S>>,
    speeds: Vec<S>,
    chunks: Vec<Chunk<S>>,
    pub manifolds: Vec<Manifold<S>>,
    pub last: Vec<Manifold<S>>,
}

/// What a body looks like.
struct Shaped<S> {
    pieces: Vec<Piece<S>>,
    /// Middle and half sides of a box around all pieces, in the principal frame.
    middle: Vec3<S>,
    half: Vec3<S>,
    /// Radius of a ball about the middle.
    reach: S,
    friction: S,
    restitution: S,
}

/// What decides whether a body may be part of a contact.
struct Party {
    movable: bool,
    /// In this step.
    moves: bool,
    /// Where the pairs begin and end whose lower row this is.
    joined: (u32, u32),
    groups: Groups,
}

struct Chunk<S> {
    pairs: core::ops::Range<usize>,
    workshop: Workshop<S>,
    found: Vec<Manifold<S>>,
}

impl<S: Real> Detector<S> {
    pub fn new(bodies: &RigidBodies<S>) -> Result<Self, BuildError> {
        let mut this = Self {
            shapes: Vec::new(),
            endless: Vec::new(),
            bounded: Vec::new(),
            joined: Vec::new(),
            parties: Vec::new(),
            boxes: Vec::new(),
            tree: Bvh::new(),
            found: Pairs::new(),
            pairs: Vec::new(),
            stands: Vec::new(),
            speeds: Vec::new(),
            chunks: Vec::new(),
            manifolds: Vec::new(),
            last: Vec::new(),
        };
        for (row, body) in bodies.described().iter().enumerate() {
            let pieces = body.parts.iter().map(|part| Piece::new(part, bodies, row)).collect::<Result<Vec<_>, _>>()?;
            let far = S::from_f64(1e30);
            let (mut low, mut high) = (Vec3::new(far, far, far), Vec3::new(-far, -far, -far));
            let mut endless = false;
            for piece in &pieces {
                let Some(half) = piece.extent() else {
                    endless = true;
                    continue;
                };
                let (a, b) = (piece.centre() - half, piece.centre() + half);
                low = Vec3::new(Lane::min(low.x, a.x), Lane::min(low.y, a.y), Lane::min(low.z, a.z));
                high = Vec3::new(Lane::max(high.x, b.x), Lane::max(high.y, b.y), Lane::max(high.z, b.z));
            }
            if endless {
                this.endless.push(row as u32);
            } else if !pieces.is_empty() {
                this.bounded.push(row as u32);
            }
            let (mut middle, mut half) = (Vec3::zero(), Vec3::zero());
            let mut reach = S::from_f64(if endless { ENDLESS } else { 0.0 });
            if !endless && !pieces.is_empty() {
                (middle, half) = ((low + high) * S::from_f64(0.5), (high - low) * S::from_f64(0.5));
                let single = if let [piece] = pieces.as_slice() { piece.reach } else { None };
                reach = single.unwrap_or_else(|| half.length());
            }
            let (friction, restitution) = (S::from_f64(body.friction), S::from_f64(body.restitution));
            this.shapes.push(Shaped { pieces, middle, half, reach, friction, restitution });
        }
        for joint in bodies.joints().iter().filter(|joint| !joint.touching) {
            let [a, b] = joint.bodies.map(|body| body as u32);
            this.joined.push([a.min(b), a.max(b)]);
        }
        this.joined.sort_unstable();
        this.parties.extend(bodies.described().iter().enumerate().map(|(row, body)| {
            let from = |row: usize| this.joined.partition_point(|pair| (pair[0] as usize) < row) as u32;
            let joined = (from(row), from(row + 1));
            Party { movable: bodies.is_dynamic(row), moves: false, joined, groups: body.groups }
        }));
        Ok(this)
    }

    /// Contacts within `margin` \[m\], farther where bodies are fast, sorted by bodies; with last step's impulses.
    pub fn run<B: Backend<Scalar = S>>(&mut self, bodies: &RigidBodies<S>, margin: S, dt: S, on: &B) {
        core::mem::swap(&mut self.manifolds, &mut self.last);
        self.manifolds.clear();
        self.place(bodies, margin, dt);
        self.pairs.clear();
        // A box that is not finite is found by the step's own check; nothing touches anything until then.
        if !self.boxes.is_empty() && self.tree.build(&self.boxes, &Leaves::default(), on).is_ok() {
            self.found.within(&self.tree, on);
            let rows = self.found.list().iter().map(|pair| pair.map(|i| self.bounded[i as usize]));
            self.pairs.extend(rows.map(|[a, b]| [a.min(b), a.max(b)]));
            for &a in &self.endless {
                self.pairs.extend(self.bounded.iter().map(|&b| [a.min(b), a.max(b)]));
            }
        }
        let (parties, joined) = (&self.parties, &self.joined);
        self.pairs.retain(|&[a, b]| {
            let (first, second) = (&parties[a as usize], &parties[b as usize]);
            // Something must move, and something must give way.
            (first.movable || second.movable)
                && (first.moves || second.moves)
                && first.groups.meet(second.groups)
                && !joined[first.joined.0 as usize..first.joined.1 as usize].contains(&[a, b])
        });
        self.pairs.sort_unstable();
        self.narrow(margin, dt, on);
    }

    /// Boxes around where bodies are and where they may go.
    fn place(&mut self, bodies: &RigidBodies<S>, margin: S, dt: S) {
        self.stands.clear();
        self.speeds.clear();
        for row in 0..bodies.len() {
            let stand = Stand { x: bodies.x.get(row).into(), q: Quaternion::new(bodies.q[row]) };
            let (v, omega) = (Vec3::from(bodies.v.get(row)), Vec3::from(bodies.omega.get(row)));
            self.stands.push(stand);
            let speed = v.length() + omega.length() * self.shapes[row].reach;
            let party = &mut self.parties[row];
            party.moves = if party.movable { bodies.asleep[row].is_none() } else { speed > S::ZERO };
            self.speeds.push(speed);
        }
        self.boxes.clear();
        for &row in &self.bounded {
            let row = row as usize;
            let (shape, stand) = (&self.shapes[row], &self.stands[row]);
            let centre = stand.x + stand.q.rotate(shape.middle);
            let columns: [[S; 3]; 3] = stand.q.matrix().columns.map(Into::into);
            let grown = margin + self.speeds[row] * dt;
            let half: [S; 3] = core::array::from_fn(|k| {
                let sum = Lane::abs(columns[0][k]) * shape.half.x
                    + Lane::abs(columns[1][k]) * shape.half.y
                    + Lane::abs(columns[2][k]) * shape.half.z;
                Lane::min(sum, shape.reach) + grown
            });
            let centre: [S; 3] = centre.into();
            let low = core::array::from_fn(|k| centre[k] - half[k]);
            let high = core::array::from_fn(|k| centre[k] + half[k]);
            self.boxes.push(Aabb::new(low, high));
        }
    }

    fn narrow<B: Backend<Scalar = S>>(&mut self, margin: S, dt: S, on: &B) {
        let count = self.pairs.len().div_ceil(CHUNK);
        while self.chunks.len() < count {
            self.chunks.push(Chunk { pairs: 0..0, workshop: Workshop::default(), found: Vec::new() });
        }
        let chunks = &mut self.chunks[..count];
        for (k, chunk) in chunks.iter_mut().enumerate() {
            chunk.pairs = k * CHUNK..self.pairs.len().min((k + 1) * CHUNK);
        }
        if count > 0 {
            let task = Narrow {
                pairs: &self.pairs,
                shapes: &self.shapes,
                stands: &self.stands,
                speeds: &self.speeds,
                last: &self.last,
                margin,
                dt,
            };
            on.fork(&task, Cut::Every(1), chunks);
        }
        for chunk in chunks {
            self.manifolds.extend_from_slice(&chunk.found);
        }
    }

    /// Undoes the last run: contacts and impulses are those from before it.
    pub fn take_back(&mut self) {
        core::mem::swap(&mut self.manifolds, &mut self.last);
    }
    /// Forgets all contacts and their impulses.
    pub fn forget(&mut self) {
        self.manifolds.clear();
        self.last.clear();
    }
}

struct Narrow<'a, S> {
    pairs: &'a [[u32; 2]],
    shapes: &'a [Shaped<S>],
    stands: &'a [Stand<S>],
    speeds: &'a [S],
    last: &'a [Manifold<S>],
    margin: S,
    dt: S,
}

impl<S: Real> Task<Chunk<S>> for Narrow<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Chunk<S>]) {
        for chunk in own {
            chunk.found.clear();
            // Both lists are sorted: the old manifolds of the chunk's pairs are neighbours.
            let first_pair = self.pairs[chunk.pairs.start];
            let mut old = self.last.partition_point(|old| old.bodies < first_pair);
            for &[a, b] in &self.pairs[chunk.pairs.clone()] {
                let rows = [a as usize, b as usize];
                let [sa, sb] = rows.map(|row| &self.shapes[row]);
                let friction = Lane::sqrt(sa.friction * sb.friction);
                let mut base = Manifold::pattern([a, b], friction, Lane::max(sa.restitution, sb.restitution));
                let margin = self.margin + (self.speeds[rows[0]] + self.speeds[rows[1]]) * self.dt;
                let first = chunk.found.len();
                let stands = rows.map(|row| self.stands[row]);
                for pa in &sa.pieces {
                    for pb in &sb.pieces {
                        if apart([pa, pb], stands, margin) {
                            base.tag += TAGS;
                            continue;
                        }
                        chunk.workshop.collide::<L>([pa, pb], stands, margin, &base, &mut chunk.found);
                        base.tag += TAGS;
                    }
                }
                let tolerance = Lane::min(sa.reach, sb.reach) * S::from_f64(SAME_POINT);
                for manifold in &mut chunk.found[first..] {
                    while self.last.get(old).is_some_and(|old| old.key() < manifold.key()) {
                        old += 1;
                    }
                    if let Some(old) = self.last.get(old).filter(|old| old.key() == manifold.key()) {
                        manifold.inherit(old, tolerance);
                    }
                }
            }
        }
    }
}

/// Whether balls around two parts are farther apart than `margin`.
fn apart<S: Real>([a, b]: [&Piece<S>; 2], [sa, sb]: [Stand<S>; 2], margin: S) -> bool {
    let d = (sa.x + sa.q.rotate(a.centre())) - (sb.x + sb.q.rotate(b.centre()));
    let (ra, rb) = match (a.reach, b.reach) {
        (Some(ra), Some(rb)) => (ra, rb),
        // Above a half-space by more than its radius.
        (None, Some(r)) => return a.above().is_some_and(|n| -sa.q.rotate(n).dot(d) > r + margin),
        (Some(r), None) => return b.above().is_some_and(|n| sb.q.rotate(n).dot(d) > r + margin),
        (None, None) => return false,
    };
    let near = ra + rb + margin;
    d.length_sq() > near * near
}
