//! Cuts: which triangles move over to the copy of a vertex.

use super::VertexSplit;
use crate::error::BuildError;
use crate::vec3::Vec3;

/// The triangles of a surface and which of them meet at every vertex.
#[derive(Clone, Debug)]
pub(super) struct Fans {
    pub triangles: Vec<[u32; 3]>,
    first: Vec<u32>,
    around: Vec<u32>,
}

impl Fans {
    pub fn new(triangles: &[[u32; 3]], count: usize) -> Self {
        let mut first = vec![0_u32; count + 1];
        triangles.iter().flatten().for_each(|&v| first[v as usize + 1] += 1);
        (0..count).for_each(|v| first[v + 1] += first[v]);
        let (mut next, mut around) = (first.clone(), vec![0; 3 * triangles.len()]);
        for (t, corners) in (0_u32..).zip(triangles) {
            for &v in corners {
                around[next[v as usize] as usize] = t;
                next[v as usize] += 1;
            }
        }
        Self { triangles: triangles.to_vec(), first, around }
    }

    /// The triangles around a vertex, ascending.
    pub fn around(&self, v: u32) -> &[u32] {
        &self.around[self.first[v as usize] as usize..self.first[v as usize + 1] as usize]
    }
    pub fn corners(&self, t: u32) -> [u32; 3] {
        self.triangles[t as usize]
    }
    pub fn has(&self, t: u32, v: u32) -> bool {
        self.corners(t).contains(&v)
    }
    /// The triangles that have both vertices.
    pub fn along(&self, [a, b]: [u32; 2]) -> impl Iterator<Item = u32> + '_ {
        self.around(a).iter().copied().filter(move |&t| self.has(t, b))
    }
    /// The two corners of a triangle beside `v`.
    fn beside(&self, t: u32, v: u32) -> [u32; 2] {
        match self.corners(t) {
            [a, b, c] if a == v => [b, c],
            [a, b, c] if b == v => [a, c],
            [a, b, _] => [a, b],
        }
    }
    /// Whether a vertex is on a border: some edge there has one triangle.
    fn on_border(&self, v: u32) -> bool {
        self.around(v).iter().any(|&t| self.beside(t, v).into_iter().any(|s| self.along([v, s]).nth(1).is_none()))
    }

    /// The triangles around `v` that hang together, from `seeds` on, over edges v–s that `joins` (two triangles and s).
    fn connected(&self, v: u32, seeds: &[u32], joins: impl Fn(u32, u32, u32) -> bool) -> Vec<u32> {
        let mut reached = seeds.to_vec();
        let mut next = 0;
        while let Some(&t) = reached.get(next) {
            next += 1;
            for s in self.beside(t, v) {
                for other in self.along([v, s]) {
                    if !reached.contains(&other) && joins(t, other, s) {
                        reached.push(other);
                    }
                }
            }
        }
        reached.sort_unstable();
        reached
    }
}

/// Where an edge tears: the vertex, the triangles on the edge's side of it, and the edges v–s along which both sides part.
#[derive(Debug)]
struct Cut {
    vertex: u32,
    side: Vec<u32>,
    parted: Vec<u32>,
}

impl Cut {
    /// The cut at end `v` of an edge to `other`; nothing when all triangles around it are on the edge's side.
    fn at(fans: &Fans, [v, other]: [u32; 2], x: &impl Fn(u32) -> [f64; 3]) -> Option<Self> {
        let place = |p: u32| Vec3::from(x(p));
        let (origin, direction) = (place(v), place(other) - place(v));
        let on_side = |t: u32| {
            let [p, q] = fans.beside(t, v);
            fans.has(t, other) || (place(p) + place(q) - origin * 2.0).dot(direction) > 0.0
        };
        let seeds: Vec<u32> = fans.along([v, other]).collect();
        let side = fans.connected(v, &seeds, |_, t, _| on_side(t));
        let apart = |s: u32| fans.along([v, s]).any(|t| side.binary_search(&t).is_err());
        let mut parted: Vec<u32> = side.iter().flat_map(|&t| fans.beside(t, v)).filter(|&s| apart(s)).collect();
        parted.sort_unstable();
        parted.dedup();
        (side.len() < fans.around(v).len()).then_some(Self { vertex: v, side, parted })
    }
}

/// Tears an edge: the vertices that are divided, with copies numbered from the number of vertices on.
///
/// Of the two ends, one on a border comes first: rips grow instead of new holes opening.
pub(super) fn tear(fans: &Fans, edge: [u32; 2], x: &impl Fn(u32) -> [f64; 3]) -> Result<Vec<VertexSplit>, BuildError> {
    let count = fans.first.len() - 1;
    if edge.iter().any(|&v| v as usize >= count) || edge[0] == edge[1] || fans.along(edge).next().is_none() {
        return Err(BuildError::NotFound { what: "edge" });
    }
    let [a, b] = edge;
    let ends = if !fans.on_border(a) && fans.on_border(b) { [[b, a], [a, b]] } else { [[a, b], [b, a]] };
    let Some(cut) = ends.into_iter().find_map(|end| Cut::at(fans, end, x)) else {
        let reason = "neither end of the edge has triangles on both sides: there is nothing to tear it from";
        return Err(BuildError::Unsupported { what: "edge from vertex", row: a as usize, reason });
    };
    let mut splits = Vec::new();
    for v in [cut.vertex].into_iter().chain(cut.parted.iter().copied()) {
        let joins = |_, _, s: u32| {
            let spoke = if v == cut.vertex { Some(s) } else { (s == cut.vertex).then_some(v) };
            !spoke.is_some_and(|s| cut.parted.contains(&s))
        };
        let mut pieces: Vec<Vec<u32>> = Vec::new();
        for &t in fans.around(v) {
            if !pieces.iter().any(|piece| piece.contains(&t)) {
                pieces.push(fans.connected(v, &[t], joins));
            }
        }
        // The torn edge leaves; elsewhere the largest piece stays. Of equal ones, the one with the first triangle.
        let leaves = |piece: &Vec<u32>| v == cut.vertex && cut.side.binary_search(&piece[0]).is_ok();
        pieces.sort_by_key(|piece| (leaves(piece), core::cmp::Reverse(piece.len()), piece[0]));
        for triangles in pieces.into_iter().skip(1) {
            splits.push(VertexSplit { vertex: v, copy: (count + splits.len()) as u32, triangles });
        }
    }
    Ok(splits)
}
