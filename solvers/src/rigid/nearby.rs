//! Nearby: which particles may meet which bodies in a step.

use pliant_core::backend::Backend;
use pliant_core::collide::{Aabb, Bvh, Leaves, Pairs};
use pliant_core::columns::Particles;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::rigid::{Quaternion, RigidBodies, RigidState};
use pliant_core::vec3::Vec3;

use super::couple::Fastening;
use super::meeting::{Guest, Meeting, Tie, Touch};
use super::narrow::{Piece, Stand};

/// How much faster a particle may become within a step than it was, for contacts that count from the start.
const HASTE: f64 = 2.0;
/// Stands for bodies that are no guests.
const NOBODY: u32 = u32::MAX;

/// Finds particles that are near bodies or will be within a step; keeps its memory.
pub(super) struct Nearby<S> {
    /// Rows of bodies with a shape; those without end are met by every particle.
    bounded: Vec<u32>,
    endless: Vec<u32>,
    boxes: [Vec<Aabb<S>>; 2],
    trees: [Bvh<S>; 2],
    pairs: Pairs,
    /// By row.
    guests: Vec<u32>,
}

impl<S: Real> Nearby<S> {
    pub fn new() -> Self {
        Self {
            bounded: Vec::new(),
            endless: Vec::new(),
            boxes: [Vec::new(), Vec::new()],
            trees: [Bvh::new(), Bvh::new()],
            pairs: Pairs::new(),
            guests: Vec::new(),
        }
    }

    /// Takes note of bodies by their parts.
    pub fn prepare(&mut self, pieces: &[Vec<Piece<S>>]) {
        self.bounded.clear();
        self.endless.clear();
        for (row, pieces) in pieces.iter().enumerate() {
            if pieces.iter().any(|piece| piece.reach.is_none()) {
                self.endless.push(row as u32);
            } else if !pieces.is_empty() {
                self.bounded.push(row as u32);
            }
        }
    }

    /// Fills a meeting with contacts, fastenings and the bodies that have any; bodies are known before and after their step.
    #[expect(clippy::too_many_arguments, reason = "two worlds, and the step between two of their states")]
    pub fn look<B: Backend<Scalar = S>>(
        &mut self,
        meeting: &mut Meeting<S>,
        fastenings: &[Fastening],
        model: &Model<S>,
        particles: &Particles<S>,
        (before, after): (&RigidState<S>, &RigidBodies<S>),
        dt: S,
        on: &B,
    ) {
        meeting.guests.clear();
        meeting.touches.clear();
        meeting.ties.clear();
        self.guests.clear();
        self.guests.resize(after.len(), NOBODY);
        for f in fastenings {
            let guest = self.invite(meeting, before, after, f.body);
            meeting.ties.push(Tie::new(f.particle, guest, Vec3::from(f.point.map(S::from_f64))));
        }
        let fall = Vec3::from(model.environment.gravity).length() * dt;
        let haste = S::from_f64(HASTE) * dt;
        self.pair(&meeting.pieces, model, particles, (before, after), [fall, haste], on);
        let near = self.pairs.list();
        let bounded = near.len();
        let count = bounded + self.endless.len() * particles.len();
        for at in 0..count {
            let (particle, body) = if at < bounded {
                let [particle, solid] = self.pairs.list()[at];
                (particle, self.bounded[solid as usize])
            } else {
                let past = at - bounded;
                ((past % particles.len()) as u32, self.endless[past / particles.len()])
            };
            let (p, row) = (particle as usize, body as usize);
            if model.inv_mass()[p] == S::ZERO && !after.is_dynamic(row) {
                continue;
            }
            if fastenings.binary_search_by_key(&(particle, body), |f| (f.particle, f.body)).is_ok() {
                continue;
            }
            let x = Vec3::from(particles.x.get(p));
            let own = Vec3::from(particles.v.get(p));
            let v = (own - velocity(after, row, x)).length();
            let ends = [
                Stand { x: before.x.get(row).into(), q: Quaternion::new(before.q[row]) },
                Stand { x: after.x.get(row).into(), q: Quaternion::new(after.q[row]) },
            ];
            for number in 0..meeting.pieces[row].len() {
                let piece = &meeting.pieces[row][number];
                let gap = ends.iter().filter_map(|&stand| piece.distance(stand, x)).map(|(phi, _)| phi);
                let Some(gap) = gap.reduce(Lane::min) else { continue };
                if gap - model.thickness()[p] < (v + fall) * haste {
                    let guest = self.invite(meeting, before, after, body);
                    meeting.touches.push(Touch::new(particle, guest, number as u32, model.thickness()[p]));
                }
            }
        }
        meeting.touches.sort_unstable_by_key(|touch| (touch.particle, touch.guest, touch.piece));
    }

    /// A body's place among the guests.
    pub fn invite(
        &mut self,
        meeting: &mut Meeting<S>,
        before: &RigidState<S>,
        after: &RigidBodies<S>,
        body: u32,
    ) -> u32 {
        let row = body as usize;
        if self.guests[row] == NOBODY {
            self.guests[row] = meeting.guests.len() as u32;
            meeting.guests.push(Guest::new(after, row, before.x.get(row).into(), Quaternion::new(before.q[row])));
        }
        self.guests[row]
    }

    /// Pairs of particles and bounded bodies whose boxes meet.
    fn pair<B: Backend<Scalar = S>>(
        &mut self,
        pieces: &[Vec<Piece<S>>],
        model: &Model<S>,
        particles: &Particles<S>,
        (before, after): (&RigidState<S>, &RigidBodies<S>),
        [fall, haste]: [S; 2],
        on: &B,
    ) {
        let [points, solids] = &mut self.boxes;
        points.clear();
        solids.clear();
        for &row in &self.bounded {
            let row = row as usize;
            let mut around = Aabb::empty();
            for (x, q) in [(before.x.get(row), before.q[row]), (after.x.get(row), after.q[row])] {
                let q = Quaternion::new(q);
                for piece in &pieces[row] {
                    let centre: [S; 3] = (Vec3::from(x) + q.rotate(piece.centre())).into();
                    around = around.union(&Aabb::new(centre, centre).grown(piece.reach.unwrap_or(S::ZERO)));
                }
            }
            let speed = Vec3::from(after.v.get(row)).length() + fall;
            let spin = Vec3::from(after.omega.get(row)).length();
            let size = pieces[row].iter().filter_map(|p| p.reach).fold(S::ZERO, Lane::max);
            solids.push(around.grown((speed + spin * size) * haste));
        }
        if !solids.is_empty() {
            for at in 0..particles.len() {
                let x = particles.x.get(at);
                let reach = model.thickness()[at] + (Vec3::from(particles.v.get(at)).length() + fall) * haste;
                points.push(Aabb::new(x, x).grown(reach));
            }
        }
        // Boxes that are not finite are found by the methods' own checks; nothing meets anything until then.
        let built = !points.is_empty()
            && self.trees[0].build(points, &Leaves::default(), on).is_ok()
            && self.trees[1].build(solids, &Leaves::default(), on).is_ok();
        if built {
            self.pairs.between(&self.trees[0], &self.trees[1], on);
        } else {
            self.pairs = Pairs::new();
        }
    }
}

/// Velocity of the body's point at x.
fn velocity<S: Real>(bodies: &RigidBodies<S>, row: usize, x: Vec3<S>) -> Vec3<S> {
    bodies.velocity_at(row, x.into()).into()
}
