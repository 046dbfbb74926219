//! Who the leaves of a tree are, and which pairs of them are never wanted.

use super::CollideError;
use crate::lane::{BLOCK, Lane, Octet, Real};

/// Which groups a primitive belongs to and which it may touch, one bit a group.
///
/// Two primitives meet when each one's groups appear in the other's mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Groups {
    /// Groups this belongs to.
    pub member: u32,
    /// Groups this may touch.
    pub touches: u32,
}

/// [`Groups::ALL`].
impl Default for Groups {
    fn default() -> Self {
        Self::ALL
    }
}

impl Groups {
    /// In every group and touching every group.
    pub const ALL: Self = Self { member: u32::MAX, touches: u32::MAX };

    /// Whether the two may touch.
    pub fn meet(self, other: Self) -> bool {
        self.member & other.touches != 0 && other.member & self.touches != 0
    }
}

/// What the primitives are, as far as it decides which pairs are never wanted.
///
/// Pairs that share a vertex are left out, in one tree as between two: vertices, edges and triangles of one mesh use the
/// same vertex ids. Primitives of different meshes need different ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leaves<'a> {
    /// Vertex ids of each primitive.
    pub elements: Elements<'a>,
    /// Groups of each primitive; all touch all when absent.
    pub groups: Option<&'a [Groups]>,
}

/// Vertex ids of primitives.
#[derive(Clone, Copy, Debug, Default)]
pub enum Elements<'a> {
    /// Nothing shares a vertex with anything.
    #[default]
    None,
    /// Primitive i is vertex i.
    Vertices,
    /// Two ids each.
    Edges(&'a [[u32; 2]]),
    /// Three ids each.
    Triangles(&'a [[u32; 3]]),
    /// Four ids each, of which some may be the same: for queries in patches, which take pairs with a common vertex too.
    Plates(&'a [[u32; 4]]),
}

/// Corners a primitive has at most; those with fewer have their last one again.
const CORNERS: usize = 4;

/// Stands where there is no vertex.
const NO_VERTEX: u32 = u32::MAX;

/// Who eight leaves are, in columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf<S> {
    /// One bit for each corner, by a hash of its id: leaves without a common bit share no vertex.
    marks: [u64; 4],
    /// Vertices as numbers, for lanes.
    numbers: [Octet<S>; 3],
    corners: [[u32; BLOCK]; CORNERS],
    member: [u32; BLOCK],
    touches: [u32; BLOCK],
}

impl<S> Leaf<S> {
    /// Vertices of the primitives, by corner.
    #[inline(always)]
    pub fn corners(&self) -> &[[u32; BLOCK]; CORNERS] {
        &self.corners
    }

    /// Whether some of the primitives may share a vertex.
    #[inline(always)]
    pub fn may_share(&self, other: &Self) -> bool {
        let mut common = 0;
        for k in 0..4 {
            common |= self.marks[k] & other.marks[k];
        }
        common != 0
    }
}

impl Leaves<'_> {
    pub(super) fn check(&self, count: usize) -> Result<(), CollideError> {
        let expect = |what, found| {
            if found == count { Ok(()) } else { Err(CollideError::Length { what, found, expected: count }) }
        };
        match self.elements {
            Elements::None | Elements::Vertices => {}
            Elements::Edges(ids) => expect("list of edges", ids.len())?,
            Elements::Triangles(ids) => expect("list of triangles", ids.len())?,
            Elements::Plates(ids) => expect("list of plates", ids.len())?,
        }
        self.groups.map_or(Ok(()), |groups| expect("list of groups", groups.len()))
    }

    /// The highest vertex id.
    pub(super) fn highest(&self, count: usize) -> Option<u32> {
        match self.elements {
            Elements::None => None,
            Elements::Vertices => Some((count as u32).saturating_sub(1)),
            Elements::Edges(edges) => edges.iter().flatten().copied().max(),
            Elements::Triangles(triangles) => triangles.iter().flatten().copied().max(),
            Elements::Plates(plates) => plates.iter().flatten().copied().max(),
        }
    }

    /// How much of a filter these leaves need, whose highest vertex is known.
    pub(super) fn filter<S: Real>(&self, highest: Option<u32>) -> Filter {
        // Whole numbers up to 1/ε = 2²³ are exact and have exact differences in `f32`, all ids in `f64`.
        let limit = (1.0 / S::EPSILON.to_f64()).min(f64::from(u32::MAX)) as u32;
        match highest {
            _ if self.groups.is_some() => Filter::Full,
            None => Filter::None,
            Some(id) if id < limit => Filter::Vertices,
            Some(_) => Filter::Full,
        }
    }

    /// Leaves in tree order.
    pub(super) fn collect<S: Real>(&self, order: &[u32], to: &mut Vec<Leaf<S>>) {
        to.clear();
        to.extend(order.chunks(BLOCK).map(|ids| {
            // Lanes that are not used never overlap anything: what they hold does not matter.
            let mut leaf = Leaf {
                corners: [[NO_VERTEX; BLOCK]; CORNERS],
                numbers: [Octet([S::ZERO; BLOCK]); 3],
                member: [0; BLOCK],
                touches: [0; BLOCK],
                marks: [0; 4],
            };
            for (lane, &id) in ids.iter().enumerate() {
                let at = id as usize;
                let corners = match self.elements {
                    // No vertex at all, which `may_meet` knows.
                    Elements::None => [NO_VERTEX; CORNERS],
                    Elements::Vertices => [id; CORNERS],
                    Elements::Edges(edges) => [edges[at][0], edges[at][1], edges[at][1], edges[at][1]],
                    Elements::Triangles(t) => [t[at][0], t[at][1], t[at][2], t[at][2]],
                    Elements::Plates(plates) => plates[at],
                };
                let groups = self.groups.map_or(Groups::ALL, |groups| groups[at]);
                for k in 0..CORNERS {
                    leaf.corners[k][lane] = corners[k];
                }
                for k in 0..3 {
                    leaf.numbers[k].0[lane] = S::from_f64(f64::from(corners[k]));
                }
                leaf.member[lane] = groups.member;
                leaf.touches[lane] = groups.touches;
                if !matches!(self.elements, Elements::None) {
                    for corner in corners {
                        // The upper bits of a product by 2³²/φ are well mixed.
                        let mark = corner.wrapping_mul(0x9e37_79b9) >> 24;
                        leaf.marks[mark as usize / 64] |= 1 << (mark % 64);
                    }
                }
            }
            for lane in ids.len()..BLOCK {
                // Never looked at, but real vertices, so that lanes may load them.
                for k in 0..CORNERS {
                    leaf.corners[k][lane] = leaf.corners[k][0];
                }
            }
            leaf
        }));
    }
}

/// The lanes of `b` that lane `i` of `a` may meet: no common vertex, groups that meet. One bit each.
///
/// In integers, for every case; [`apart`] is the quick way for most.
#[inline(always)]
pub(super) fn may_meet<S>(a: &Leaf<S>, i: usize, b: &Leaf<S>) -> u32 {
    let (member, touches) = (a.member[i], a.touches[i]);
    let mut shared = [0_u32; BLOCK];
    for mine in 0..CORNERS {
        let corner = a.corners[mine][i];
        for theirs in 0..CORNERS {
            for l in 0..BLOCK {
                shared[l] |= u32::from(corner == b.corners[theirs][l]);
            }
        }
    }
    // No vertex equals no vertex, but it is not shared.
    let known = u32::from(a.corners[0][i] != NO_VERTEX);
    let mut bits = 0;
    for l in 0..BLOCK {
        let meet = u32::from(member & b.touches[l] != 0) & u32::from(b.member[l] & touches != 0);
        bits |= (meet & !(shared[l] & known)) << l;
    }
    bits
}

/// The pairs of leaves whose groups meet: bit 8i + j for lane i of `a` and j of `b`.
pub(super) fn grouped<S>(a: &Leaf<S>, b: &Leaf<S>) -> u64 {
    let mut bits = 0;
    for i in 0..BLOCK {
        for j in 0..BLOCK {
            let meet = a.member[i] & b.touches[j] != 0 && b.member[j] & a.touches[i] != 0;
            bits |= u64::from(meet) << (BLOCK * i + j);
        }
    }
    bits
}

/// How pairs of leaves are told apart from neighbours, from the cheapest way to the most general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Filter {
    /// Every pair is wanted.
    None,
    /// Those without a common vertex.
    Vertices,
    /// Groups, or ids too large for lanes.
    Full,
}

/// The pairs of leaves that share no vertex, those of `a` having `N` corners: bit 8i + j for lane i of `a` and j of `b`.
///
/// A product of differences of ids is 0 where two agree, and NaN if another factor overflowed: neither is above 0.
#[inline(always)]
pub(super) fn apart<L: Lane, const N: usize>(a: &Leaf<L::Scalar>, b: &Leaf<L::Scalar>) -> u64 {
    let mut bits = 0;
    let mut at = 0;
    while at < BLOCK {
        let (b0, b1, b2) = (L::load(&b.numbers[0], at), L::load(&b.numbers[1], at), L::load(&b.numbers[2], at));
        for i in 0..BLOCK {
            let mut product = L::one();
            for corner in 0..N {
                let c = L::splat(a.numbers[corner].0[i]);
                product = product * ((c - b0) * (c - b1) * (c - b2));
            }
            bits |= u64::from(L::bits(product.abs().gt(L::zero()))) << (BLOCK * i + at);
        }
        at += L::WIDTH;
    }
    bits
}
