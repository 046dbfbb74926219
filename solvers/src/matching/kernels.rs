//! The tasks of a shape matching pass. The formulas are in `pliant_core::matching::formula`; here they meet memory.

use pliant_core::backend::Task;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::mat3::Mat3;
use pliant_core::matching::formula::{Nature, Shape, Sums, fit};
use pliant_core::matching::{Bundle, ChunkBlock, ClusterBlock, MemberBlock};
use pliant_core::vec3::Vec3;

use super::desk::{TASK_CLUSTERS, TASK_OCTETS};

/// Nine octets: eight matrices.
pub(super) type Matrices<S> = [[Octet<S>; 3]; 3];

/// Octets of state that a block of clusters has: plastic deformations and stiffness.
pub(super) const STATE: usize = 10;

/// Octets that the sums of a chunk block take: a centre, a matrix and Q vectors.
pub(super) const fn sum_octets<const Q: usize>() -> usize {
    12 + 3 * Q
}

/// Where the rest shapes of eight clusters went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poses<S, const Q: usize> {
    centre: [Octet<S>; 3],
    transform: Matrices<S>,
    bend: [[Octet<S>; 3]; Q],
    pub plastic: Matrices<S>,
    /// Share of the way to its goal that a member goes in a pass.
    pub stiffness: Octet<S>,
}

impl<S: Real, const Q: usize> Poses<S, Q> {
    /// Nowhere yet, not deformed, not stiff.
    #[inline(always)]
    pub fn new() -> Self {
        let (one, o) = (Octet([S::ONE; BLOCK]), Octet([S::ZERO; BLOCK]));
        let unit = [[one, o, o], [o, one, o], [o, o, one]];
        Self { centre: [o; 3], transform: unit, bend: [[o; 3]; Q], plastic: unit, stiffness: o }
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

#[inline(always)]
fn members<'a, S, const Q: usize>(bundle: &'a Bundle<S, Q>, chunk: &ChunkBlock) -> &'a [MemberBlock<S, Q>] {
    &bundle.members[chunk.members[0] as usize..chunk.members[1] as usize]
}

/// The sums of a chunk block's lanes `at ..`; leaves the members' places as columns in `places`.
#[inline(always)]
fn add<L: Lane, const Q: usize>(
    bundle: &Bundle<L::Scalar, Q>,
    x: &[Octet<L::Scalar>],
    chunk: &ChunkBlock,
    places: &mut [[Octet<L::Scalar>; 4]],
    at: usize,
) -> Sums<L, Q> {
    let members = members(bundle, chunk);
    let [a, b, c, _] = L::from_rows(x, &chunk.anchors, at);
    let anchor = Vec3::new(a, b, c);
    let mut sums = Sums::<L, Q>::zero();
    for m in 0..members.len() {
        let member = &members[m];
        let [a, b, c, _] = L::from_rows(x, &member.slots, at);
        let d = Vec3::new(a, b, c) - anchor;
        let [to_x, to_y, to_z, _] = &mut places[m];
        d.x.store(to_x, at);
        d.y.store(to_y, at);
        d.z.store(to_z, at);
        sums.add(L::load(&member.weight, at), d, load(&member.rest, at), &functions(member, at));
    }
    sums
}

/// Fits the shapes of lanes `at ..` of a block of clusters; rest shapes flow for as long as `flow` says \[s\].
#[inline(always)]
fn place<L: Lane, const Q: usize>(
    clusters: &ClusterBlock<L::Scalar>,
    sums: &Sums<L, Q>,
    flow: Option<L::Scalar>,
    poses: &mut Poses<L::Scalar, Q>,
    at: usize,
) {
    let mut inv_moments = [L::zero(); 3];
    for k in 0..3 {
        inv_moments[k] = L::load(&clusters.inv_moments[k], at);
    }
    let nature = Nature {
        inv_moments,
        share: L::load(&clusters.share, at),
        yields_at: L::load(&clusters.yields_at, at),
        creep: if flow.is_some() { L::load(&clusters.creep, at) } else { L::zero() },
        bound: L::load(&clusters.bound, at),
    };
    let h = match flow {
        Some(h) => L::splat(h),
        None => L::zero(),
    };
    let (Shape { centre, transform, bend }, plastic) = fit(sums, &nature, load_matrix(&poses.plastic, at), h);
    store(centre, &mut poses.centre, at);
    store_matrix(transform, &mut poses.transform, at);
    for k in 0..Q {
        store(bend[k], &mut poses.bend[k], at);
    }
    store_matrix(plastic, &mut poses.plastic, at);
}

/// The pull of every member of a chunk block as a row, in place of its place.
#[inline(always)]
fn pull<L: Lane, const Q: usize>(
    bundle: &Bundle<L::Scalar, Q>,
    chunk: &ChunkBlock,
    poses: &Poses<L::Scalar, Q>,
    portion: &mut [[Octet<L::Scalar>; 4]],
) {
    let members = members(bundle, chunk);
    for m in 0..members.len() {
        // All places of a block are read before rows are written over them.
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
            L::to_rows([pull.x, pull.y, pull.z, L::zero()], &mut portion[m], &[0, 1, 2, 3, 4, 5, 6, 7], at);
            at += L::WIDTH;
        }
    }
}

/// Clusters of one chunk each: sums, shapes and pulls in one go.
pub(super) struct Whole<'a, S, const Q: usize> {
    pub bundle: &'a Bundle<S, Q>,
    pub x: &'a [Octet<S>],
    pub portions: &'a [usize],
    pub tasks: &'a [usize],
    /// Time for rest shapes to flow \[s\]; nothing when they must not.
    pub flow: Option<S>,
}

impl<S: Real, const Q: usize> Task<Octet<S>> for Whole<'_, S, Q> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = self.portions[self.tasks[index]];
        for k in self.tasks[index]..self.tasks[index + 1] {
            let chunk = &self.bundle.chunks[k];
            let portion = &mut own[self.portions[k] - first..self.portions[k + 1] - first];
            let (state, places) = portion.split_at_mut(STATE);
            let (plastic, stiffness) = state.split_at_mut(STATE - 1);
            let (places, _) = places.as_chunks_mut::<4>();
            let mut poses = Poses::<S, Q>::new();
            poses.stiffness = stiffness[0];
            poses.plastic.as_flattened_mut().copy_from_slice(plastic);
            let mut at = 0;
            while at < BLOCK {
                let sums = add::<L, Q>(self.bundle, self.x, chunk, places, at);
                place(&self.bundle.clusters[k], &sums, self.flow, &mut poses, at);
                at += L::WIDTH;
            }
            pull::<L, Q>(self.bundle, chunk, &poses, places);
            plastic.copy_from_slice(poses.plastic.as_flattened());
        }
    }
}

/// Clusters of several chunks, first fork: the sums of every chunk, and the members' places.
pub(super) struct Add<'a, S, const Q: usize> {
    pub bundle: &'a Bundle<S, Q>,
    pub x: &'a [Octet<S>],
    pub portions: &'a [usize],
    pub tasks: &'a [usize],
}

impl<S: Real, const Q: usize> Task<Octet<S>> for Add<'_, S, Q> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = self.portions[self.tasks[index]];
        for k in self.tasks[index]..self.tasks[index + 1] {
            let portion = &mut own[self.portions[k] - first..self.portions[k + 1] - first];
            let (to, places) = portion.split_at_mut(sum_octets::<Q>());
            let ((to, _), (places, _)) = (to.as_chunks_mut::<3>(), places.as_chunks_mut::<4>());
            let mut at = 0;
            while at < BLOCK {
                let sums = add::<L, Q>(self.bundle, self.x, &self.bundle.chunks[k], places, at);
                store(sums.centre, &mut to[0], at);
                for c in 0..3 {
                    store(sums.linear.columns[c], &mut to[1 + c], at);
                }
                for q in 0..Q {
                    store(sums.bend[q], &mut to[4 + q], at);
                }
                at += L::WIDTH;
            }
        }
    }
}

/// Second fork: the shapes that fit the sums.
pub(super) struct Fit<'a, S, const Q: usize> {
    pub bundle: &'a Bundle<S, Q>,
    pub octets: &'a [Octet<S>],
    pub portions: &'a [usize],
    /// Time for rest shapes to flow \[s\]; nothing when they must not.
    pub flow: Option<S>,
}

impl<S: Real, const Q: usize> Task<Poses<S, Q>> for Fit<'_, S, Q> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Poses<S, Q>]) {
        for k in 0..own.len() {
            let clusters = &self.bundle.clusters[index * TASK_CLUSTERS + k];
            self.join(clusters, &mut own[k]);
            let mut at = 0;
            while at < BLOCK {
                let poses = &mut own[k];
                let mut sums = Sums {
                    centre: load(&poses.centre, at),
                    linear: load_matrix(&poses.transform, at),
                    bend: [Vec3::zero(); Q],
                };
                for q in 0..Q {
                    sums.bend[q] = load::<L>(&poses.bend[q], at);
                }
                place(clusters, &sums, self.flow, poses, at);
                at += L::WIDTH;
            }
        }
    }
}

impl<S: Real, const Q: usize> Fit<'_, S, Q> {
    /// Joins the sums of the chunks of eight clusters, chunk after chunk, where their shapes will stand.
    #[inline(always)]
    fn join(&self, clusters: &ClusterBlock<S>, to: &mut Poses<S, Q>) {
        let zero = Octet([S::ZERO; BLOCK]);
        (to.centre, to.transform, to.bend) = ([zero; 3], [[zero; 3]; 3], [[zero; 3]; Q]);
        for lane in 0..BLOCK {
            let [first, end] = clusters.chunks[lane];
            for c in first..end {
                let place = self.bundle.chunk_places[c as usize] as usize;
                let (from, _) = self.octets[self.portions[place / BLOCK]..].as_chunks::<3>();
                for axis in 0..3 {
                    let sum = &mut to.centre[axis].0[lane];
                    *sum = *sum + from[0][axis].0[place % BLOCK];
                    for k in 0..3 {
                        let sum = &mut to.transform[k][axis].0[lane];
                        *sum = *sum + from[1 + k][axis].0[place % BLOCK];
                    }
                    for k in 0..Q {
                        let sum = &mut to.bend[k][axis].0[lane];
                        *sum = *sum + from[4 + k][axis].0[place % BLOCK];
                    }
                }
            }
        }
    }
}

/// Third fork: the pull of every member.
pub(super) struct Pull<'a, S, const Q: usize> {
    pub bundle: &'a Bundle<S, Q>,
    pub poses: &'a [Poses<S, Q>],
    pub portions: &'a [usize],
    pub tasks: &'a [usize],
}

impl<S: Real, const Q: usize> Task<Octet<S>> for Pull<'_, S, Q> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let first = self.portions[self.tasks[index]];
        for k in self.tasks[index]..self.tasks[index + 1] {
            let portion = &mut own[self.portions[k] - first + sum_octets::<Q>()..self.portions[k + 1] - first];
            let (portion, _) = portion.as_chunks_mut::<4>();
            let chunk = &self.bundle.chunks[k];
            pull::<L, Q>(self.bundle, chunk, &self.collect(chunk), portion);
        }
    }
}

impl<S: Real, const Q: usize> Pull<'_, S, Q> {
    /// The poses of eight chunks, whichever clusters they belong to.
    #[inline(always)]
    fn collect(&self, chunk: &ChunkBlock) -> Poses<S, Q> {
        let mut poses = Poses::new();
        for lane in 0..BLOCK {
            let (from, l) = (&self.poses[chunk.clusters[lane] as usize / BLOCK], chunk.clusters[lane] as usize % BLOCK);
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
}

/// Last fork: every particle goes by the sum of its pulls. Rows are added as a whole, on four lanes whatever the backend.
pub(super) struct Apply<'a, S> {
    pub octets: &'a [Octet<S>],
    pub starts: &'a [u32],
    pub pulls: &'a [u32],
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

/// The same where every slot has one pull.
pub(super) struct ApplyOne<'a, S> {
    pub octets: &'a [Octet<S>],
    pub pulls: &'a [u32],
}

impl<S: Real> Task<Octet<S>> for ApplyOne<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [Octet<S>]) {
        let (pulls, _) = self.pulls[2 * TASK_OCTETS * index..].as_chunks::<2>();
        for k in 0..own.len() {
            let [a, b] = [pulls[k][0] as usize, pulls[k][1] as usize];
            let first = S::Quad::load(&own[k], 0) + S::Quad::load(&self.octets[a / BLOCK], a % BLOCK);
            let second = S::Quad::load(&own[k], 4) + S::Quad::load(&self.octets[b / BLOCK], b % BLOCK);
            first.store(&mut own[k], 0);
            second.store(&mut own[k], 4);
        }
    }
}
