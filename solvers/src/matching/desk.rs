//! A desk: the scratch memory of one bundle of clusters, and the passes over it.
//!
//! Every block of eight chunks has a portion of octets to itself: its sums first, then four octets for each block of members,
//! which hold their places (as columns) between the first and the third fork and the pulls (as rows) after it.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::mat3::Mat3;
use pliant_core::matching::formula::{Nature, Shape, Sums, fit};
use pliant_core::matching::{Bundle, ChunkBlock, ClusterBlock, MemberBlock};
use pliant_core::schedule::Plan;
use pliant_core::vec3::Vec3;

/// Blocks of members that a task covers, about: some microseconds of work.
const TASK_MEMBERS: usize = 256;
/// Blocks of clusters that a task covers: some microseconds of work.
const TASK_CLUSTERS: usize = 8;
/// Octets of positions that a task covers: 2048 particles.
const TASK_OCTETS: usize = 1024;

/// Nine octets: eight matrices.
type Matrices<S> = [[Octet<S>; 3]; 3];

/// Where the rest shapes of eight clusters went.
#[derive(Clone, Copy, Debug)]
struct Poses<S, const Q: usize> {
    centre: [Octet<S>; 3],
    transform: Matrices<S>,
    bend: [[Octet<S>; 3]; Q],
    plastic: Matrices<S>,
    /// Share of the way to its goal that a member goes in a pass.
    stiffness: Octet<S>,
}

/// The sums of eight clusters.
struct Joined<S, const Q: usize> {
    centre: [Octet<S>; 3],
    linear: Matrices<S>,
    bend: [[Octet<S>; 3]; Q],
}

/// Scratch of a bundle.
#[derive(Clone, Debug)]
pub(super) struct Desk<S, const Q: usize> {
    octets: Vec<Octet<S>>,
    /// By chunk block: where its portion begins, and one place more for the end.
    portions: Vec<usize>,
    /// By task: its first chunk block, and one place more for the end.
    tasks: Vec<usize>,
    /// By task: where its octets begin, and one place more for the end.
    cuts: Vec<usize>,
    poses: Vec<Poses<S, Q>>,
    /// Plastic deformations when the last step succeeded.
    settled: Vec<Matrices<S>>,
    /// By slot: where its pulls are listed, and one place more for the end.
    starts: Vec<u32>,
    /// Offsets of pulls in `octets`.
    pulls: Vec<u32>,
}

fn zero<S: Real>() -> Octet<S> {
    Octet([S::ZERO; BLOCK])
}

/// Octets that the sums of a chunk block take: a centre, a matrix and Q vectors.
const fn sum_octets<const Q: usize>() -> usize {
    12 + 3 * Q
}

impl<S: Real, const Q: usize> Desk<S, Q> {
    pub fn new(bundle: &Bundle<S, Q>, plan: &Plan) -> Self {
        let (mut portions, mut tasks, mut members) = (vec![0], vec![0], 0);
        for (k, chunk) in bundle.chunks.iter().enumerate() {
            let length = (chunk.members[1] - chunk.members[0]) as usize;
            portions.push(portions[k] + sum_octets::<Q>() + 4 * length);
            members += length;
            if members >= TASK_MEMBERS || k + 1 == bundle.chunks.len() {
                tasks.push(k + 1);
                members = 0;
            }
        }
        let one = Octet([S::ONE; BLOCK]);
        let unit = [[one, zero(), zero()], [zero(), one, zero()], [zero(), zero(), one]];
        let pose =
            Poses { centre: [zero(); 3], transform: unit, bend: [[zero(); 3]; Q], plastic: unit, stiffness: zero() };
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
            let rows = portions[chunk] + sum_octets::<Q>() + 4 * (member - bundle.chunks[chunk].members[0] as usize);
            let at = &mut cursor[slot(particle)];
            pulls[*at as usize] = (BLOCK * rows + 4 * lane) as u32;
            *at += 1;
        }
        Self {
            octets: vec![zero(); portions.last().copied().unwrap_or(0)],
            cuts: tasks.iter().map(|&k| portions[k]).collect(),
            portions,
            tasks,
            poses: vec![pose; bundle.clusters.len()],
            settled: vec![unit; bundle.clusters.len()],
            starts,
            pulls,
        }
    }

    /// Takes the stiffness of every cluster over.
    pub fn tune(&mut self, bundle: &Bundle<S, Q>, stiffness: impl Fn(f64) -> S) {
        for (c, &k) in bundle.stiffness.iter().enumerate() {
            self.poses[c / BLOCK].stiffness.0[c % BLOCK] = stiffness(k);
        }
    }

    /// Back to the plastic deformations of the last step that succeeded.
    pub fn restore(&mut self) {
        for (pose, settled) in self.poses.iter_mut().zip(&self.settled) {
            pose.plastic = *settled;
        }
    }
    /// These plastic deformations are those of a step that succeeded.
    pub fn keep(&mut self) {
        for (pose, settled) in self.poses.iter().zip(&mut self.settled) {
            *settled = pose.plastic;
        }
    }

    /// Finds the pull of every member towards its goal.
    pub fn measure<B: Backend<Scalar = S>>(&mut self, bundle: &Bundle<S, Q>, x: &Field<S>, flow: Option<S>, on: &B) {
        if bundle.chunks.is_empty() {
            return;
        }
        let Self { octets, portions, tasks, cuts, poses, .. } = self;
        let (portions, tasks) = (&portions[..], &tasks[..]);
        on.fork(&Add { bundle, x: x.octets(), portions, tasks }, Cut::At(cuts), octets);
        on.fork(&Fit { bundle, octets, portions, flow }, Cut::Every(TASK_CLUSTERS), poses);
        on.fork(&Pull { bundle, poses, portions, tasks }, Cut::At(cuts), octets);
    }

    /// Moves every particle by the sum of its pulls.
    pub fn apply<B: Backend<Scalar = S>>(&self, x: &mut Field<S>, on: &B) {
        if !self.pulls.is_empty() {
            let Self { octets, starts, pulls, .. } = self;
            on.fork(&Apply { octets, starts, pulls }, Cut::Every(TASK_OCTETS), x.octets_mut());
        }
    }
}

/// Loads three octets.
#[inline(always)]
fn load<L: Lane>(from: &[Octet<L::Scalar>; 3], at: usize) -> Vec3<L> {
    Vec3::new(L::load(&from[0], at), L::load(&from[1], at), L::load(&from[2], at))
}

/// Writes three octets.
#[inline(always)]
fn store<L: Lane>(v: Vec3<L>, to: &mut [Octet<L::Scalar>; 3], at: usize) {
    v.x.store(&mut to[0], at);
    v.y.store(&mut to[1], at);
    v.z.store(&mut to[2], at);
}

#[inline(always)]
fn load_matrix<L: Lane>(from: &Matrices<L::Scalar>, at: usize) -> Mat3<L> {
    Mat3::from_columns(load(&from[0], at), load(&from[1], at), load(&from[2], at))
}

#[inline(always)]
fn store_matrix<L: Lane>(m: Mat3<L>, to: &mut Matrices<L::Scalar>, at: usize) {
    for k in 0..3 {
        store(m.columns[k], &mut to[k], at);
    }
}

#[inline(always)]
fn functions<L: Lane, const Q: usize>(member: &MemberBlock<L::Scalar, Q>, at: usize) -> [L; Q] {
    let mut bend = [L::zero(); Q];
    for k in 0..Q {
        bend[k] = L::load(&member.bend[k], at);
    }
    bend
}

/// The block that eight places are the lanes of, if they are: then whole vectors can be loaded.
#[inline(always)]
fn aligned(places: &[u32; BLOCK]) -> Option<usize> {
    let first = places[0] as usize;
    let mut same = first.is_multiple_of(BLOCK);
    for l in 0..BLOCK {
        same &= places[l] as usize == first + l;
    }
    same.then_some(first / BLOCK)
}

/// First fork: the sums of every chunk, and the members' places.
struct Add<'a, S, const Q: usize> {
    bundle: &'a Bundle<S, Q>,
    x: &'a [Octet<S>],
    portions: &'a [usize],
    tasks: &'a [usize],
}

impl<S: Real, const Q: usize> Task<Octet<S>> for Add<'_, S, Q> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = self.portions[self.tasks[index]];
        for k in self.tasks[index]..self.tasks[index + 1] {
            let chunk = &self.bundle.chunks[k];
            let portion = &mut own[self.portions[k] - first..self.portions[k + 1] - first];
            let (sums, places) = portion.split_at_mut(sum_octets::<Q>());
            self.add::<L>(chunk, sums, places);
        }
    }
}

impl<S: Real, const Q: usize> Add<'_, S, Q> {
    #[inline(always)]
    fn add<L: Lane<Scalar = S>>(&self, chunk: &ChunkBlock, to: &mut [Octet<S>], places: &mut [Octet<S>]) {
        let members = &self.bundle.members[chunk.members[0] as usize..chunk.members[1] as usize];
        let ((to, _), (places, _)) = (to.as_chunks_mut::<3>(), places.as_chunks_mut::<4>());
        let mut at = 0;
        while at < BLOCK {
            let [x, y, z, _] = L::rows(self.x, &chunk.anchors, at);
            let anchor = Vec3::new(x, y, z);
            let mut sums = Sums::<L, Q>::zero();
            for m in 0..members.len() {
                let member = &members[m];
                let [x, y, z, _] = L::rows(self.x, &member.offsets, at);
                let d = Vec3::new(x, y, z) - anchor;
                let [to_x, to_y, to_z, _] = &mut places[m];
                d.x.store(to_x, at);
                d.y.store(to_y, at);
                d.z.store(to_z, at);
                sums.add(L::load(&member.weight, at), d, load(&member.rest, at), &functions(member, at));
            }
            store(sums.centre, &mut to[0], at);
            for k in 0..3 {
                store(sums.linear.columns[k], &mut to[1 + k], at);
            }
            for k in 0..Q {
                store(sums.bend[k], &mut to[4 + k], at);
            }
            at += L::WIDTH;
        }
    }
}

/// Second fork: the shapes that fit the sums.
struct Fit<'a, S, const Q: usize> {
    bundle: &'a Bundle<S, Q>,
    octets: &'a [Octet<S>],
    portions: &'a [usize],
    /// Time for rest shapes to flow \[s\]; nothing when they must not.
    flow: Option<S>,
}

impl<S: Real, const Q: usize> Task<Poses<S, Q>> for Fit<'_, S, Q> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Poses<S, Q>]) {
        for k in 0..own.len() {
            let block = index * TASK_CLUSTERS + k;
            self.fit::<L>(block, &mut own[k]);
        }
    }
}

impl<S: Real, const Q: usize> Fit<'_, S, Q> {
    /// Joins the sums of the chunks of eight clusters, chunk after chunk.
    #[inline(always)]
    fn join(&self, clusters: &ClusterBlock<S>) -> Joined<S, Q> {
        let Joined { mut centre, mut linear, mut bend } =
            Joined { centre: [zero(); 3], linear: [[zero(); 3]; 3], bend: [[zero(); 3]; Q] };
        for lane in 0..BLOCK {
            let [first, end] = clusters.chunks[lane];
            for c in first..end {
                let place = self.bundle.chunk_places[c as usize] as usize;
                let (from, _) = self.octets[self.portions[place / BLOCK]..].as_chunks::<3>();
                for axis in 0..3 {
                    centre[axis].0[lane] = centre[axis].0[lane] + from[0][axis].0[place % BLOCK];
                    for k in 0..3 {
                        linear[k][axis].0[lane] = linear[k][axis].0[lane] + from[1 + k][axis].0[place % BLOCK];
                    }
                    for k in 0..Q {
                        bend[k][axis].0[lane] = bend[k][axis].0[lane] + from[4 + k][axis].0[place % BLOCK];
                    }
                }
            }
        }
        Joined { centre, linear, bend }
    }

    #[inline(always)]
    fn fit<L: Lane<Scalar = S>>(&self, block: usize, own: &mut Poses<S, Q>) {
        let clusters = &self.bundle.clusters[block];
        let Joined { centre, linear, bend } = self.join(clusters);
        let mut at = 0;
        while at < BLOCK {
            let mut sums =
                Sums { centre: load(&centre, at), linear: load_matrix(&linear, at), bend: [Vec3::zero(); Q] };
            for k in 0..Q {
                sums.bend[k] = load(&bend[k], at);
            }
            let mut inv_moments = [L::zero(); 3];
            for k in 0..3 {
                inv_moments[k] = L::load(&clusters.inv_moments[k], at);
            }
            let nature = Nature {
                inv_moments,
                share: L::load(&clusters.share, at),
                yields_at: L::load(&clusters.yields_at, at),
                creep: if self.flow.is_some() { L::load(&clusters.creep, at) } else { L::zero() },
                bound: L::load(&clusters.bound, at),
            };
            let h = L::splat(self.flow.unwrap_or(S::ZERO));
            let (Shape { centre, transform, bend }, plastic) = fit(&sums, &nature, load_matrix(&own.plastic, at), h);
            store(centre, &mut own.centre, at);
            store_matrix(transform, &mut own.transform, at);
            for k in 0..Q {
                store(bend[k], &mut own.bend[k], at);
            }
            store_matrix(plastic, &mut own.plastic, at);
            at += L::WIDTH;
        }
    }
}

/// Third fork: the pull of every member, in place of its place.
struct Pull<'a, S, const Q: usize> {
    bundle: &'a Bundle<S, Q>,
    poses: &'a [Poses<S, Q>],
    portions: &'a [usize],
    tasks: &'a [usize],
}

impl<S: Real, const Q: usize> Task<Octet<S>> for Pull<'_, S, Q> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = self.portions[self.tasks[index]];
        for k in self.tasks[index]..self.tasks[index + 1] {
            let chunk = &self.bundle.chunks[k];
            let portion = &mut own[self.portions[k] - first + sum_octets::<Q>()..self.portions[k + 1] - first];
            match aligned(&chunk.clusters) {
                Some(block) => self.pull::<L>(chunk, &self.poses[block], portion),
                None => self.pull::<L>(chunk, &self.collect(chunk), portion),
            }
        }
    }
}

impl<S: Real, const Q: usize> Pull<'_, S, Q> {
    /// The poses of eight chunks of different blocks of clusters.
    #[inline(always)]
    fn collect(&self, chunk: &ChunkBlock) -> Poses<S, Q> {
        let mut poses = self.poses[0];
        for lane in 0..BLOCK {
            let from = &self.poses[chunk.clusters[lane] as usize / BLOCK];
            let l = chunk.clusters[lane] as usize % BLOCK;
            poses.stiffness.0[lane] = from.stiffness.0[l];
            for axis in 0..3 {
                poses.centre[axis].0[lane] = from.centre[axis].0[l];
                for k in 0..3 {
                    poses.transform[k][axis].0[lane] = from.transform[k][axis].0[l];
                }
                for k in 0..Q {
                    poses.bend[k][axis].0[lane] = from.bend[k][axis].0[l];
                }
            }
        }
        poses
    }

    #[inline(always)]
    fn pull<L: Lane<Scalar = S>>(&self, chunk: &ChunkBlock, poses: &Poses<S, Q>, portion: &mut [Octet<S>]) {
        let members = &self.bundle.members[chunk.members[0] as usize..chunk.members[1] as usize];
        let (portion, _) = portion.as_chunks_mut::<4>();
        // All places are read before a lane's rows are written over those of its neighbours.
        for m in 0..members.len() {
            let (member, places) = (&members[m], portion[m]);
            let mut at = 0;
            while at < BLOCK {
                let d = Vec3::new(L::load(&places[0], at), L::load(&places[1], at), L::load(&places[2], at));
                let mut shape = Shape {
                    centre: load(&poses.centre, at),
                    transform: load_matrix(&poses.transform, at),
                    bend: [Vec3::zero(); Q],
                };
                for k in 0..Q {
                    shape.bend[k] = load(&poses.bend[k], at);
                }
                let share = L::load(&poses.stiffness, at) * L::load(&member.part, at);
                let pull = shape.pull(d, load(&member.rest, at), &functions(member, at)) * share;
                L::store_rows([pull.x, pull.y, pull.z, L::zero()], &mut portion[m], at);
                at += L::WIDTH;
            }
        }
    }
}

/// Fourth fork: every particle goes by the sum of its pulls. Rows are added as a whole, on four lanes whatever the backend.
struct Apply<'a, S> {
    octets: &'a [Octet<S>],
    starts: &'a [u32],
    pulls: &'a [u32],
}

impl<S: Real> Task<Octet<S>> for Apply<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let starts = &self.starts[2 * TASK_OCTETS * index..];
        for slot in 0..2 * own.len() {
            let pulls = &self.pulls[starts[slot] as usize..starts[slot + 1] as usize];
            if pulls.is_empty() {
                continue;
            }
            let mut sum = S::Quad::zero();
            for k in 0..pulls.len() {
                let offset = pulls[k] as usize;
                sum = sum + S::Quad::load(&self.octets[offset / BLOCK], offset % BLOCK);
            }
            let row = &mut own[slot / 2];
            let at = 4 * (slot % 2);
            (S::Quad::load(row, at) + sum).store(row, at);
        }
    }
}
