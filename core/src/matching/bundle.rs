//! Bundles: all clusters of a model in the order and layout that passes read.
//!
//! Clusters have from one to thousands of members. They are cut into chunks of at most [`CHUNK`] members; eight chunks of about
//! the same length stand side by side, one a lane, whoever they belong to. So lanes are full for any sizes, and a large
//! cluster is spread over threads. The sums of a cluster's chunks are joined in order, eight clusters side by side.
//!
//! Clusters that are one chunk each have a bundle of their own, in which a block of clusters is a block of chunks: their whole
//! pass happens while their members are in the cache.

use super::basis::{Basis, QUADRATIC};
use super::{CLUSTER, Cluster, Deformation, Matching};
use crate::body::Body;
use crate::error::BuildError;
use crate::lane::{BLOCK, Octet, Real};
use crate::mat3::Mat3;
use crate::schedule::Plan;
use crate::snapshot::Fingerprint;

/// The most members a chunk has: long enough to outweigh its cluster's 3 × 3 work, short enough to spread a cluster.
const CHUNK: usize = 64;

/// A pinned particle weighs this many times all free ones of its cluster: the rest shape hangs on its pins.
const PIN_WEIGHT: f64 = 100.0;

/// Eight members of eight chunks, side by side.
#[derive(Clone, Copy, Debug)]
pub struct MemberBlock<S, const Q: usize> {
    /// Their slots: rows of a field.
    pub slots: [u32; BLOCK],
    /// Weights in their clusters; 0 for idle lanes \[1\].
    pub weight: Octet<S>,
    /// How much of its goal here a particle takes: 1 over the number of its clusters, 0 for pins \[1\].
    pub part: Octet<S>,
    /// Places in the rest shape \[m\].
    pub rest: [Octet<S>; 3],
    /// Functions of the quadratic mode \[1\].
    pub bend: [Octet<S>; Q],
}

/// Eight chunks side by side.
#[derive(Clone, Copy, Debug)]
pub struct ChunkBlock {
    /// Their member blocks: `members[0] .. members[1]`.
    pub members: [u32; 2],
    /// The cluster of each, as eight times a block of clusters plus a lane.
    pub clusters: [u32; BLOCK],
    /// The slot of each cluster's anchor, its first member.
    pub anchors: [u32; BLOCK],
}

/// Eight clusters side by side.
#[derive(Clone, Copy, Debug)]
pub struct ClusterBlock<S> {
    /// 1 over the principal moments \[1/m²\].
    pub inv_moments: [Octet<S>; 3],
    /// How much of the deformation goals take over \[1\].
    pub share: Octet<S>,
    /// Deformation that springs back \[1\].
    pub yields_at: Octet<S>,
    /// Share of the deformation that is kept in a second \[1/s\].
    pub creep: Octet<S>,
    /// The largest plastic deformation \[1\].
    pub bound: Octet<S>,
    /// The chunks of each, as a range of [`Bundle::chunk_places`].
    pub chunks: [[u32; 2]; BLOCK],
}

/// Clusters with `Q` functions beside the coordinates: 0 for rigid and linear ones, 6 for quadratic ones.
#[derive(Clone, Debug)]
pub struct Bundle<S, const Q: usize> {
    /// Members, chunk block after chunk block.
    pub members: Vec<MemberBlock<S, Q>>,
    /// Chunks, longest first.
    pub chunks: Vec<ChunkBlock>,
    /// Clusters, in the order of their chunks if each is one.
    pub clusters: Vec<ClusterBlock<S>>,
    /// The chunks of every cluster in order, as eight times a chunk block plus a lane.
    pub chunk_places: Vec<u32>,
    /// By cluster: its place in the model's list.
    pub rows: Vec<u32>,
    /// By cluster: share of the way to the goal in a sixtieth of a second \[1\].
    pub stiffness: Vec<f64>,
    /// By cluster: the principal axes of its rest shape, as columns.
    pub axes: Vec<Mat3<f64>>,
    /// By cluster: where its members begin in [`Bundle::places`], and one place more for their end.
    pub first_member: Vec<usize>,
    /// By member, cluster after cluster: its particle, and eight times its member block plus its lane.
    pub places: Vec<[u32; 2]>,
}

/// All clusters of a model.
#[derive(Clone, Debug)]
pub struct Clusters<S> {
    /// Rigid and linear ones: first those of one chunk each, then the others.
    pub plain: [Bundle<S, 0>; 2],
    /// Quadratic ones: first those of one chunk each, then the others.
    pub quadratic: [Bundle<S, QUADRATIC>; 2],
    /// By particle: how many clusters it belongs to.
    pub memberships: Vec<u32>,
    count: usize,
    plastic: bool,
}

impl<S: Real> Clusters<S> {
    /// How many clusters there are.
    pub fn len(&self) -> usize {
        self.count
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Whether any of them keeps deformations.
    pub fn is_plastic(&self) -> bool {
        self.plastic
    }

    /// Whether every member has the same place in memory as in another list.
    pub(crate) fn is_packed_like(&self, other: &Self) -> bool {
        let plain = self.plain.iter().zip(&other.plain).all(|(a, b)| (&a.rows, &a.places) == (&b.rows, &b.places));
        let quadratic = self.quadratic.iter().zip(&other.quadratic);
        plain && quadratic.into_iter().all(|(a, b)| (&a.rows, &a.places) == (&b.rows, &b.places))
    }

    /// Adds who is in which cluster, and how each holds its shape, to a hash.
    pub(crate) fn identify(&self, hash: &mut Fingerprint) {
        hash.add_all(self.memberships.iter().map(|&count| u64::from(count)));
        hash.add(self.count as u64);
        hash.add(u64::from(self.plastic));
        self.plain.iter().for_each(|bundle| bundle.identify(hash));
        self.quadratic.iter().for_each(|bundle| bundle.identify(hash));
    }

    /// Packs the clusters of bodies that were checked, whose first particles are `first`.
    pub(crate) fn new(bodies: &[&Body], first: &[u32], inv_mass: &[S], plan: &Plan) -> Self {
        let mut memberships = vec![0_u32; inv_mass.len()];
        let all =
            || bodies.iter().zip(first).flat_map(|(body, &first)| body.clusters.iter().map(move |c| (*body, first, c)));
        for (_, first, cluster) in all() {
            cluster.particles.iter().for_each(|&p| memberships[(first + p) as usize] += 1);
        }
        // Rigid and linear, quadratic; of one chunk, of several.
        let mut shaped = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
        for (row, (body, first, cluster)) in (0_u32..).zip(all()) {
            let quadratic = matches!(cluster.matching.deformation, Deformation::Quadratic { .. });
            let list = &mut shaped[usize::from(quadratic)][usize::from(cluster.particles.len() > CHUNK)];
            list.push(Shaped::new(body, first, cluster, row, &memberships, inv_mass, plan));
        }
        let count = shaped.iter().flatten().map(Vec::len).sum();
        let plastic = all().any(|(.., cluster)| cluster.matching.plasticity.is_some());
        let [plain, quadratic] = shaped;
        Self { plain: plain.map(pack), quadratic: quadratic.map(pack), memberships, count, plastic }
    }
}

impl<S: Real, const Q: usize> Bundle<S, Q> {
    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_all(self.rows.iter().map(|&row| u64::from(row)));
        hash.add_all(self.first_member.iter().map(|&first| first as u64));
        hash.add_all(self.places.iter().map(|&[particle, _]| u64::from(particle)));
        hash.add_all(self.stiffness.iter().map(|stiffness| stiffness.to_bits()));
        for ClusterBlock { share, yields_at, creep, bound, .. } in &self.clusters {
            [share, yields_at, creep, bound].into_iter().for_each(|law| hash.add_reals(&law.0));
        }
    }
}

/// Checks the clusters of a body; `row` is the number of clusters before them.
pub(crate) fn check(body: &Body, row: usize) -> Result<(), BuildError> {
    let count = body.particle_count();
    // By particle: the last cluster it was seen in.
    let mut seen = vec![usize::MAX; count];
    for (i, cluster) in body.clusters.iter().enumerate() {
        let row = row + i;
        cluster.matching.check(row)?;
        if cluster.particles.is_empty() {
            let (quantity, expected) = ("number of particles", "1 or more");
            return Err(BuildError::BadValue { what: CLUSTER, row, quantity, value: 0.0, expected });
        }
        for (corner, &particle) in cluster.particles.iter().enumerate() {
            let Some(last) = seen.get_mut(particle as usize) else {
                return Err(BuildError::OutOfRange { what: CLUSTER, row, corner, particle, count });
            };
            if *last == i {
                return Err(BuildError::Repeated { what: CLUSTER, row, particle });
            }
            *last = i;
        }
    }
    Ok(())
}

/// A cluster with its rest shape.
struct Shaped {
    row: u32,
    matching: Matching,
    ids: Vec<u32>,
    slots: Vec<u32>,
    weights: Vec<f64>,
    parts: Vec<f64>,
    basis: Basis,
}

impl Shaped {
    fn new<S: Real>(
        body: &Body,
        first: u32,
        cluster: &Cluster,
        row: u32,
        memberships: &[u32],
        inv_mass: &[S],
        plan: &Plan,
    ) -> Self {
        let ids = || cluster.particles.iter().map(|&p| (p as usize, (first + p) as usize));
        let free = |i: usize| inv_mass[i] > S::ZERO;
        // A particle of several clusters divides its mass among them: each then keeps momentum by itself.   [Rivers07]
        let mass = |(p, i): (usize, usize)| body.masses[p] / f64::from(memberships[i]);
        let total: f64 = ids().filter(|&(_, i)| free(i)).map(mass).sum();
        let heavy = if total > 0.0 { PIN_WEIGHT * total } else { 1.0 };
        let masses: Vec<f64> = ids().map(|id| if free(id.1) { mass(id) } else { heavy }).collect();
        let sum: f64 = masses.iter().sum();
        let weights: Vec<f64> = masses.iter().map(|m| m / sum).collect();
        let places: Vec<[f64; 3]> = ids().map(|(p, _)| body.rest[p]).collect();
        let basis =
            Basis::new(&places, &weights, matches!(cluster.matching.deformation, Deformation::Quadratic { .. }));
        let part = |(_, i): (usize, usize)| if free(i) { 1.0 / f64::from(memberships[i]) } else { 0.0 };
        Self {
            row,
            matching: cluster.matching,
            ids: ids().map(|(_, i)| i as u32).collect(),
            slots: ids().map(|(_, i)| plan.slots()[i]).collect(),
            weights,
            parts: ids().map(part).collect(),
            basis,
        }
    }
}

fn zero<S: Real>() -> Octet<S> {
    Octet([S::ZERO; BLOCK])
}

fn pack<S: Real, const Q: usize>(mut shaped: Vec<Shaped>) -> Bundle<S, Q> {
    // Longest first, as chunks will be: of clusters of one chunk each, both have the same order.
    shaped.sort_by_key(|cluster| core::cmp::Reverse(cluster.ids.len()));
    let shaped = &shaped[..];
    let mut bundle = Bundle {
        members: Vec::new(),
        chunks: Vec::new(),
        clusters: Vec::new(),
        chunk_places: Vec::new(),
        rows: shaped.iter().map(|c| c.row).collect(),
        stiffness: shaped.iter().map(|c| c.matching.stiffness).collect(),
        axes: shaped.iter().map(|c| c.basis.axes).collect(),
        first_member: vec![0],
        places: shaped.iter().flat_map(|c| c.ids.iter().map(|&p| [p, 0])).collect(),
    };
    for (c, cluster) in shaped.iter().enumerate() {
        bundle.first_member.push(bundle.first_member[c] + cluster.ids.len());
    }
    // Chunks of nearly equal length: a cluster, its number among the cluster's chunks, and its members.
    let mut chunks = Vec::new();
    let mut first_of = vec![0];
    for (c, cluster) in shaped.iter().enumerate() {
        let (size, count) = (cluster.slots.len(), cluster.slots.len().div_ceil(CHUNK));
        chunks.extend((0..count).map(|k| (c, k, k * size / count..(k + 1) * size / count)));
        first_of.push(first_of[c] + count);
    }
    chunks.sort_by_key(|(_, _, range)| core::cmp::Reverse(range.len()));
    bundle.chunk_places = vec![0; chunks.len()];
    for (block, eight) in chunks.chunks(BLOCK).enumerate() {
        let start = bundle.members.len();
        let length = eight[0].2.len();
        let mut chunk = ChunkBlock {
            members: [start as u32, (start + length) as u32],
            clusters: [eight[0].0 as u32; BLOCK],
            anchors: [shaped[eight[0].0].slots[0]; BLOCK],
        };
        for (lane, (c, k, _)) in eight.iter().enumerate() {
            chunk.clusters[lane] = *c as u32;
            chunk.anchors[lane] = shaped[*c].slots[0];
            bundle.chunk_places[first_of[*c] + k] = (BLOCK * block + lane) as u32;
        }
        for step in 0..length {
            // Idle lanes look at their anchor and weigh nothing.
            let mut member = MemberBlock {
                slots: chunk.anchors,
                weight: zero(),
                part: zero(),
                rest: [zero(); 3],
                bend: [zero(); Q],
            };
            for (lane, (c, _, range)) in eight.iter().enumerate().filter(|(_, (_, _, range))| step < range.len()) {
                let (cluster, i) = (&shaped[*c], range.start + step);
                member.slots[lane] = cluster.slots[i];
                member.weight.0[lane] = S::from_f64(cluster.weights[i]);
                member.part.0[lane] = S::from_f64(cluster.parts[i]);
                for (axis, value) in <[f64; 3]>::from(cluster.basis.rest[i]).into_iter().enumerate() {
                    member.rest[axis].0[lane] = S::from_f64(value);
                }
                for k in 0..Q {
                    member.bend[k].0[lane] = S::from_f64(cluster.basis.bend[i][k]);
                }
                bundle.places[bundle.first_member[*c] + i][1] = (BLOCK * bundle.members.len() + lane) as u32;
            }
            bundle.members.push(member);
        }
        bundle.chunks.push(chunk);
    }
    for (block, eight) in shaped.chunks(BLOCK).enumerate() {
        let mut clusters = ClusterBlock {
            inv_moments: [zero(); 3],
            share: zero(),
            yields_at: zero(),
            creep: zero(),
            bound: zero(),
            chunks: [[0; 2]; BLOCK],
        };
        for (lane, cluster) in eight.iter().enumerate() {
            for (k, &value) in cluster.basis.inv_moments.iter().enumerate() {
                clusters.inv_moments[k].0[lane] = S::from_f64(value);
            }
            clusters.share.0[lane] = S::from_f64(cluster.matching.share());
            if let Some(plasticity) = cluster.matching.plasticity {
                clusters.yields_at.0[lane] = S::from_f64(plasticity.yields_at);
                clusters.creep.0[lane] = S::from_f64(plasticity.creep);
                clusters.bound.0[lane] = S::from_f64(plasticity.bound);
            }
            let c = BLOCK * block + lane;
            clusters.chunks[lane] = [first_of[c] as u32, first_of[c + 1] as u32];
        }
        bundle.clusters.push(clusters);
    }
    bundle
}
