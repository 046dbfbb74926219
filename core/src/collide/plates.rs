//! Plates: two triangles side by side, a triangle that has no partner, or an edge that belongs to no triangle.

use super::between::{edges_with, triangles_of, vertices_with};
use crate::columns::Columns;
use crate::lane::Real;

/// What surfaces are cut into, and what each piece speaks for.
#[derive(Clone, Debug)]
pub(super) struct Plates {
    /// `[a, b, c, d]`: the triangles `[a, b, c]` and `[a, c, d]`. The last corner comes again where there are fewer.
    corners: Vec<[u32; 4]>,
    /// How many of the plates hold triangles: the first ones.
    sheet_count: usize,
    speakers: Vec<Speaker>,
}

/// The vertices and edges that a plate speaks for, one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Speaker {
    vertices: u8,
    edges: u8,
}

/// Which corners the edges of a plate join: around it, and its diagonal.
pub(super) const EDGES: [[usize; 2]; 5] = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]];

/// The corners of its triangles.
pub(super) const TRIANGLES: [[usize; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

impl Plates {
    /// Joins triangles across their longest edges at rest first; the first plate that has a vertex or an edge speaks for it.
    pub fn new<S: Real>(rest: &Columns<S>, edges: &[[u32; 2]], triangles: &[[u32; 3]]) -> Self {
        let mut corners = join(rest, triangles);
        let sheet_count = corners.len();
        let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]];
        let mut known: Vec<[u32; 2]> = triangles.iter().flat_map(sides).map(ascending).collect();
        known.sort_unstable();
        known.dedup();
        let lone = edges.iter().map(|&edge| ascending(edge)).filter(|edge| known.binary_search(edge).is_err());
        corners.extend(lone.map(|[a, b]| [a, b, b, b]));
        let (mut spoken, mut taken) = (vec![false; rest.len()], vec![false; known.len()]);
        let speaker = |(k, plate): (usize, &[u32; 4])| {
            let mut speaker = Speaker::default();
            for corner in 0..4 {
                let known = core::mem::replace(&mut spoken[plate[corner] as usize], true);
                speaker.vertices |= u8::from(!known) << corner;
            }
            if k >= sheet_count {
                return Speaker { edges: 1, ..speaker };
            }
            for (side, [a, b]) in EDGES.into_iter().enumerate() {
                if let Ok(place) = known.binary_search(&ascending([plate[a], plate[b]])) {
                    speaker.edges |= u8::from(!core::mem::replace(&mut taken[place], true)) << side;
                }
            }
            speaker
        };
        let speakers = corners.iter().enumerate().map(speaker).collect();
        Self { corners, sheet_count, speakers }
    }

    /// Corners of all plates.
    pub fn corners(&self) -> &[[u32; 4]] {
        &self.corners
    }

    /// Whether two plates have a common vertex.
    #[inline]
    pub fn joined(&self, [one, other]: [u32; 2]) -> bool {
        share(&self.corners[one as usize], &self.corners[other as usize])
    }

    /// The pairs of primitives that two plates stand for, one bit each (see `between`): all but those whose triangles share a
    /// vertex.
    #[inline]
    pub fn stand_for(&self, [one, other]: [u32; 2]) -> u64 {
        let (a, b) = (self.speakers[one as usize], self.speakers[other as usize]);
        let all = vertices_with(a.vertices, self.triangles(other), 0)
            | vertices_with(b.vertices, self.triangles(one), 1)
            | edges_with(a.edges, b.edges);
        if !self.joined([one, other]) {
            return all;
        }
        let x = [one, other].map(|plate| self.corners[plate as usize]);
        let edges = x.map(|x| core::array::from_fn(|edge| usize::from(in_second(x, edge))));
        let mut shared = [[false; 2]; 2];
        for first in 0..2 {
            for second in 0..2 {
                shared[first][second] = share(&half(x[0], first == 1), &half(x[1], second == 1));
            }
        }
        let (mut left, mut bits) = (all, all);
        while bits != 0 {
            let [first, second] = triangles_of(bits.trailing_zeros() as usize, edges);
            if shared[first][second] {
                left &= !(bits & bits.wrapping_neg());
            }
            bits &= bits - 1;
        }
        left
    }

    /// The triangles of a plate, one bit each.
    #[inline]
    fn triangles(&self, plate: u32) -> u8 {
        let [_, _, c, d] = self.corners[plate as usize];
        if plate as usize >= self.sheet_count { 0 } else { 0b01 | u8::from(c != d) << 1 }
    }

    /// By vertex: one vertex of the piece it belongs to, the same for all of them.
    pub fn pieces(&self, vertex_count: usize) -> Vec<u32> {
        let mut root: Vec<u32> = (0..vertex_count as u32).collect();
        fn find(root: &mut [u32], mut v: u32) -> u32 {
            while root[v as usize] != v {
                root[v as usize] = root[root[v as usize] as usize];
                v = root[v as usize];
            }
            v
        }
        for &[a, b, c, d] in &self.corners {
            for other in [b, c, d] {
                let [one, other] = [a, other].map(|v| find(&mut root, v));
                root[one as usize] = other;
            }
        }
        (0..vertex_count as u32).map(|v| find(&mut root, v)).collect()
    }
}

/// One of the triangles of a plate.
#[inline]
fn half(x: [u32; 4], second: bool) -> [u32; 3] {
    TRIANGLES[usize::from(second)].map(|corner| x[corner])
}

/// Whether an edge belongs to the second triangle alone. Of a lone triangle [a, b, c, c] every edge belongs to the first: the
/// second is no triangle.
#[inline]
fn in_second(x: [u32; 4], edge: usize) -> bool {
    EDGES[edge].contains(&3) && x[2] != x[3]
}

/// Whether two primitives have a common vertex.
#[inline]
pub(super) fn share<const N: usize>(a: &[u32; N], b: &[u32; N]) -> bool {
    a.iter().any(|v| b.contains(v))
}

fn ascending([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// A triangle seen from one of its sides.
#[derive(Clone, Copy)]
struct Side {
    edge: [u32; 2],
    triangle: usize,
    /// The corner that the side starts from.
    corner: usize,
}

/// Plates of two triangles where they have partners, of one where not, in the order of their first triangles.
fn join<S: Real>(rest: &Columns<S>, triangles: &[[u32; 3]]) -> Vec<[u32; 4]> {
    let side = |triangle: usize, corner: usize| {
        let t = triangles[triangle];
        Side { edge: ascending([t[corner], t[(corner + 1) % 3]]), triangle, corner }
    };
    let mut sides: Vec<Side> = (0..triangles.len()).flat_map(|t| [0, 1, 2].map(|k| side(t, k))).collect();
    sides.sort_unstable_by_key(|side| (side.edge, side.triangle));
    let length = |edge: [u32; 2]| {
        let [a, b] = edge.map(|v| rest.get(v as usize).map(S::to_f64));
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>()
    };
    let neighbours = sides.windows(2).filter(|pair| pair[0].edge == pair[1].edge);
    let mut neighbours: Vec<(f64, [Side; 2])> =
        neighbours.map(|pair| (length(pair[0].edge), [pair[0], pair[1]])).collect();
    neighbours.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut partner: Vec<Option<[Side; 2]>> = vec![None; triangles.len()];
    for (_, pair) in neighbours {
        let [one, other] = pair.map(|side| side.triangle);
        if one != other && partner[one].is_none() && partner[other].is_none() {
            (partner[one], partner[other]) = (Some(pair), Some(pair));
        }
    }
    let plate = |(k, triangle): (usize, &[u32; 3])| match partner[k] {
        Some([one, _]) if one.triangle != k => None,
        // The common side runs from c to a.
        Some([one, other]) => {
            let [a, b, c] = [1, 2, 3].map(|next| triangle[(one.corner + next) % 3]);
            Some([a, b, c, triangles[other.triangle][(other.corner + 2) % 3]])
        }
        None => Some([triangle[0], triangle[1], triangle[2], triangle[2]]),
    };
    triangles.iter().enumerate().filter_map(plate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::ClothGrid;

    /// The places of the bits that are set.
    fn ones(bits: u8) -> impl Iterator<Item = usize> {
        (0..8).filter(move |place| bits >> place & 1 == 1)
    }

    /// The triangles of a plate, the vertices that it speaks for and the edges, and a triangle each that these belong to.
    fn triangles_of(plates: &Plates, plate: u32) -> Vec<[u32; 3]> {
        ones(plates.triangles(plate)).map(|t| half(plates.corners[plate as usize], t == 1)).collect()
    }
    fn vertices_of(plates: &Plates, plate: u32) -> Vec<(u32, [u32; 3])> {
        let x = plates.corners[plate as usize];
        ones(plates.speakers[plate as usize].vertices).map(|corner| (x[corner], half(x, corner == 3))).collect()
    }
    fn edges_of(plates: &Plates, plate: u32) -> Vec<([u32; 2], [u32; 3])> {
        let x = plates.corners[plate as usize];
        let edges = ones(plates.speakers[plate as usize].edges);
        edges.map(|edge| (EDGES[edge].map(|corner| x[corner]), half(x, in_second(x, edge)))).collect()
    }

    #[test]
    fn every_triangle_vertex_and_edge_belongs_to_one_plate() {
        let mesh = ClothGrid::square(1.0, 7).build().expect("a valid grid").mesh;
        // And a triangle that has no partner, and a rope.
        let more = [[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [2.0, 1.0, 0.0], [2.0, 2.0, 0.0]];
        let rest: Columns<f64> = mesh.positions().iter().map(|p| [p.x, p.y, p.z]).chain(more).collect();
        let mut triangles = mesh.triangles().to_vec();
        triangles.push([49, 50, 51]);
        let mut edges = mesh.topology().expect("a manifold").edges;
        edges.extend([[49, 50], [50, 51], [49, 51], [51, 52]]);
        let plates = Plates::new(&rest, &edges, &triangles);
        assert_eq!(plates.corners().len(), 36 + 1 + 1, "squares, the triangle, the rope");
        let all = 0..plates.corners().len() as u32;
        let mut told: Vec<[u32; 3]> = all.clone().flat_map(|k| triangles_of(&plates, k)).collect();
        for t in told.iter_mut().chain(&mut triangles) {
            let first = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
            t.rotate_left(first);
        }
        told.sort_unstable();
        triangles.sort_unstable();
        assert_eq!(told, triangles, "as they were, turned the same way");
        // What vertices and edges belong to is a triangle, or the rope.
        let own = all.clone().flat_map(|k| {
            let vertices = vertices_of(&plates, k).into_iter().map(|(v, own)| ([v; 2], own));
            vertices.chain(edges_of(&plates, k)).collect::<Vec<_>>()
        });
        for (primitive, mut own) in own {
            assert!(primitive.iter().all(|v| own.contains(v)), "{primitive:?} of {own:?}");
            let first = (0..3).min_by_key(|&k| own[k]).unwrap_or(0);
            own.rotate_left(first);
            assert!(triangles.contains(&own) || own == [51, 52, 52], "{primitive:?} of {own:?}");
        }
        let mut vertices: Vec<u32> = all.clone().flat_map(|k| vertices_of(&plates, k)).map(|(v, _)| v).collect();
        vertices.sort_unstable();
        assert!(vertices.into_iter().eq(0..53));
        let mut spoken: Vec<[u32; 2]> =
            all.clone().flat_map(|k| edges_of(&plates, k)).map(|(e, _)| ascending(e)).collect();
        let mut edges: Vec<[u32; 2]> = edges.into_iter().map(ascending).collect();
        spoken.sort_unstable();
        edges.sort_unstable();
        assert_eq!(spoken, edges);
        // What two plates stand for, told in plain loops.
        let count = plates.corners().len() as u32;
        for pair in (0..count).flat_map(|a| (0..count).map(move |b| [a, b])).filter(|[a, b]| a != b) {
            let [one, other] = pair;
            let mut expected = Vec::new();
            for [one, other] in [pair, [other, one]] {
                for (v, own) in vertices_of(&plates, one) {
                    let meets = triangles_of(&plates, other).into_iter().filter(|theirs| !share(&own, theirs));
                    expected.extend(meets.map(|[a, b, c]| [v, a, b, c]));
                }
            }
            for ([a, b], mine) in edges_of(&plates, one) {
                let meets = edges_of(&plates, other).into_iter().filter(|(_, theirs)| !share(&mine, theirs));
                expected.extend(meets.map(|([c, d], _)| [a, b, c, d]));
            }
            let mut verdict = [0; crate::lane::BLOCK];
            verdict[0] = plates.stand_for(pair);
            let mut told = Vec::new();
            crate::collide::between::tell(&[verdict], &plates, &[pair], &mut told);
            let told: Vec<[u32; 4]> = told.iter().map(|candidate| candidate.corners).collect();
            assert_eq!(told, expected, "{pair:?}");
        }
    }
}
