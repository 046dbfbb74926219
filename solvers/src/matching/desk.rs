//! A desk: the scratch memory of one bundle of clusters, and the order in which tasks work on it.
//!
//! Every block of eight chunks has a portion of octets to itself: a head, then four octets for each block of members, which
//! hold their places (as columns) until the shapes are known and the pulls (as rows) after it. Where a cluster is one chunk,
//! one task does all that while the members are in the cache, and the head keeps the state of the clusters; otherwise the
//! head keeps the sums of the chunks, which a fork of its own joins and fits.

use pliant_core::backend::{Backend, Cut};
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Octet, Real};
use pliant_core::matching::{Bundle, Dent};
use pliant_core::schedule::Plan;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

use super::kernels::{Add, Apply, ApplyOne, Fit, Matrices, Poses, Pull, STATE, Whole, sum_octets};

/// Blocks of members that a task covers, about: some microseconds of work.
const TASK_MEMBERS: usize = 256;
/// Blocks of clusters that a task covers: some microseconds of work.
pub(super) const TASK_CLUSTERS: usize = 8;
/// Octets of positions that a task covers: 2048 particles.
pub(super) const TASK_OCTETS: usize = 1024;

/// Scratch of a bundle.
#[derive(Clone, Debug)]
pub(super) struct Desk<S, const Q: usize> {
    /// Whether every cluster is one chunk.
    whole: bool,
    octets: Vec<Octet<S>>,
    /// By chunk block: where its portion begins, and one place more for the end.
    portions: Vec<usize>,
    /// By task: its first chunk block, and one place more for the end.
    tasks: Vec<usize>,
    /// By task: where its octets begin, and one place more for the end.
    cuts: Vec<usize>,
    /// By block of clusters, if they are not whole.
    poses: Vec<Poses<S, Q>>,
    /// Plastic deformations when the last step succeeded, by block of clusters.
    settled: Vec<Matrices<S>>,
    /// By slot: where its pulls are listed, and one place more for the end. Empty where every slot has one pull, or the zero
    /// at the end of `octets` instead.
    starts: Vec<u32>,
    /// Offsets of pulls in `octets`.
    pulls: Vec<u32>,
}

impl<S: Real, const Q: usize> Desk<S, Q> {
    pub fn new(bundle: &Bundle<S, Q>, plan: &Plan, whole: bool) -> Self {
        let head = if whole { STATE } else { sum_octets::<Q>() };
        let (mut portions, mut tasks, mut members) = (vec![0], vec![0], 0);
        for (k, chunk) in bundle.chunks.iter().enumerate() {
            let length = (chunk.members[1] - chunk.members[0]) as usize;
            portions.push(portions[k] + head + 4 * length);
            members += length;
            if members >= TASK_MEMBERS || k + 1 == bundle.chunks.len() {
                tasks.push(k + 1);
                members = 0;
            }
        }
        let mut starts = vec![0_u32; plan.slot_count() + 1];
        let slot = |particle: u32| plan.slots()[particle as usize] as usize;
        for &[particle, _] in &bundle.places {
            starts[slot(particle) + 1] += 1;
        }
        for i in 0..plan.slot_count() {
            starts[i + 1] += starts[i];
        }
        // Cluster after cluster: the order in which a particle's pulls are added.
        let chunk_of = |member: usize| bundle.chunks.partition_point(|c| c.members[1] as usize <= member);
        let mut cursor = starts.clone();
        let mut pulls = vec![0; bundle.places.len()];
        for &[particle, place] in &bundle.places {
            let (member, lane) = (place as usize / BLOCK, place as usize % BLOCK);
            let chunk = chunk_of(member);
            let rows = portions[chunk] + head + 4 * (member - bundle.chunks[chunk].members[0] as usize);
            let at = &mut cursor[slot(particle)];
            pulls[*at as usize] = (BLOCK * rows + 4 * lane) as u32;
            *at += 1;
        }
        // Most particles in one cluster each: a list of one pull a slot is quicker to follow than lists of lists.
        let end = portions.last().copied().unwrap_or(0);
        let single = starts.windows(2).all(|pair| pair[1] - pair[0] <= 1) && 2 * pulls.len() > plan.slot_count();
        if single {
            let none = (BLOCK * end) as u32;
            let one = |pair: &[u32]| if pair[1] > pair[0] { pulls[pair[0] as usize] } else { none };
            pulls = starts.windows(2).map(one).collect();
            starts.clear();
        }
        let mut cuts: Vec<usize> = tasks.iter().map(|&k| portions[k]).collect();
        if let Some(last) = cuts.last_mut() {
            *last = end + 1;
        }
        let pose = Poses::new();
        let blocks = bundle.clusters.len();
        let mut desk = Self {
            whole,
            octets: vec![Octet([S::ZERO; BLOCK]); end + 1],
            cuts,
            portions,
            tasks,
            settled: vec![pose.plastic; blocks],
            poses: vec![pose; if whole { 0 } else { blocks }],
            starts,
            pulls,
        };
        desk.restore();
        desk
    }

    /// The state of a block of clusters that are one chunk each: plastic deformations, then stiffness.
    fn state(&mut self, block: usize) -> &mut [Octet<S>] {
        &mut self.octets[self.portions[block]..][..STATE]
    }

    /// Takes the stiffness of every cluster over.
    pub fn tune(&mut self, bundle: &Bundle<S, Q>, stiffness: impl Fn(f64) -> S) {
        for (c, &k) in bundle.stiffness.iter().enumerate() {
            let to =
                if self.whole { &mut self.state(c / BLOCK)[STATE - 1] } else { &mut self.poses[c / BLOCK].stiffness };
            to.0[c % BLOCK] = stiffness(k);
        }
    }

    /// Back to the plastic deformations of the last step that succeeded.
    pub fn restore(&mut self) {
        for block in 0..self.settled.len() {
            let settled = self.settled[block];
            if self.whole {
                self.state(block)[..STATE - 1].copy_from_slice(settled.as_flattened());
            } else {
                self.poses[block].plastic = settled;
            }
        }
    }
    /// These plastic deformations are those of a step that succeeded.
    pub fn keep(&mut self) {
        for block in 0..self.settled.len() {
            if self.whole {
                let state = &self.octets[self.portions[block]..][..STATE - 1];
                self.settled[block].as_flattened_mut().copy_from_slice(state);
            } else {
                self.settled[block] = self.poses[block].plastic;
            }
        }
    }

    /// Writes down the plastic deformations of the last step that succeeded.
    pub fn remember(&self, to: &mut Writer) {
        for octet in self.settled.iter().flat_map(|settled| settled.as_flattened()) {
            to.reals(&octet.0);
        }
    }
    /// Takes them back; the next step begins with them.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut octets = self.settled.iter_mut().flat_map(|settled| settled.as_flattened_mut());
        octets.try_for_each(|octet| from.reals(&mut octet.0))
    }

    /// Lists what clusters have flowed, at their places in the model's list.
    pub fn list_dents(&self, bundle: &Bundle<S, Q>, to: &mut [Dent<S>]) {
        for (c, (&row, &axes)) in bundle.rows.iter().zip(&bundle.axes).enumerate() {
            let (Some(settled), Some(to)) = (self.settled.get(c / BLOCK), to.get_mut(row as usize)) else { continue };
            *to = Dent { plastic: settled.map(|column| column.map(|octet| octet.0[c % BLOCK])), axes };
        }
    }
    /// Takes them over; the next step begins with them.
    pub fn put_dents(&mut self, bundle: &Bundle<S, Q>, from: &[Option<Dent<S>>]) {
        for (c, (&row, axes)) in bundle.rows.iter().zip(&bundle.axes).enumerate() {
            let (Some(settled), Some(dent)) = (self.settled.get_mut(c / BLOCK), from.get(row as usize)) else {
                continue;
            };
            let plastic = dent.map_or(Dent::NONE, |dent| dent.about(axes));
            for (octet, value) in settled.as_flattened_mut().iter_mut().zip(plastic.as_flattened()) {
                octet.0[c % BLOCK] = *value;
            }
        }
    }

    /// Finds the pull of every member towards its goal.
    pub fn measure<B: Backend<Scalar = S>>(&mut self, bundle: &Bundle<S, Q>, x: &Field<S>, flow: Option<S>, on: &B) {
        if bundle.chunks.is_empty() {
            return;
        }
        let Self { octets, portions, tasks, cuts, poses, .. } = self;
        let (x, portions, tasks) = (x.octets(), &portions[..], &tasks[..]);
        if self.whole {
            on.fork(&Whole { bundle, x, portions, tasks, flow }, Cut::At(cuts), octets);
        } else {
            on.fork(&Add { bundle, x, portions, tasks }, Cut::At(cuts), octets);
            on.fork(&Fit { bundle, octets, portions, flow }, Cut::Every(TASK_CLUSTERS), poses);
            on.fork(&Pull { bundle, poses, portions, tasks }, Cut::At(cuts), octets);
        }
    }

    /// Moves every particle by the sum of its pulls.
    pub fn apply<B: Backend<Scalar = S>>(&self, x: &mut Field<S>, on: &B) {
        let Self { octets, starts, pulls, .. } = self;
        if starts.is_empty() {
            on.fork(&ApplyOne { octets, pulls }, Cut::Every(TASK_OCTETS), x.octets_mut());
        } else if !pulls.is_empty() {
            on.fork(&Apply { octets, starts, pulls }, Cut::Every(TASK_OCTETS), x.octets_mut());
        }
    }
}
