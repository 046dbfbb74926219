//! What becomes of constraints when triangles part: rows that still hang together follow their triangles, the others end.

use super::cut::Fans;
use crate::body::Table;
use crate::vec3::Vec3;

/// How far a vertex is from those that were divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    /// No triangle has both.
    Far,
    /// A neighbour.
    Beside,
    /// It was divided itself.
    Divided,
}

/// A surface before and after a tear.
pub(super) struct Parting<'a> {
    pub before: &'a Fans,
    pub after: &'a [[u32; 3]],
    /// By vertex: how far it is from what was divided.
    pub nearness: &'a [Nearness],
    pub rest: &'a [[f64; 3]],
}

impl Parting<'_> {
    /// What corner `v` of a triangle is now.
    fn now(&self, t: u32, v: u32) -> u32 {
        let corner = self.before.corners(t).iter().position(|&c| c == v).unwrap_or(0);
        self.after[t as usize][corner]
    }

    /// Whether a row may change: an end of it was divided, or it may pass what was.
    fn is_near(&self, ids: &[u32]) -> bool {
        let of = |v: &u32| self.nearness[*v as usize];
        ids.iter().any(|v| of(v) == Nearness::Divided) || ids.iter().all(|v| of(v) == Nearness::Beside)
    }

    /// Whether two triangles still share all these vertices.
    fn joined(&self, [t, u]: [u32; 2], vertices: &[u32]) -> bool {
        vertices.iter().all(|&v| self.now(t, v) == self.now(u, v))
    }

    /// The pairs that a link becomes: none when what it spans was parted, two along an edge that became a border.
    fn link(&self, [a, b]: [u32; 2]) -> Vec<[u32; 2]> {
        let fans = self.before;
        let pair = |t: u32, u: u32| [self.now(t, a), self.now(u, b)];
        let mut pairs: Vec<[u32; 2]> = fans.along([a, b]).map(|t| pair(t, t)).collect();
        if pairs.is_empty() {
            // Across an edge, from triangle to triangle; or over a vertex, from edge to edge.
            let across = |t: u32| fans.corners(t).into_iter().filter(move |&c| c != a);
            let mut spans: Vec<([u32; 2], Vec<u32>)> = Vec::new();
            let mut across_an_edge = false;
            for &t in fans.around(a) {
                for &u in fans.around(b) {
                    let shared: Vec<u32> = across(t).filter(|&c| fans.has(u, c)).collect();
                    across_an_edge |= shared.len() == 2;
                    spans.push(([t, u], shared));
                }
            }
            if across_an_edge {
                spans.retain(|(_, shared)| shared.len() == 2);
            } else {
                let Some(middle) = self.middle([a, b], spans.iter().flat_map(|(_, shared)| shared.iter().copied()))
                else {
                    return vec![[a, b]];
                };
                spans.retain(|(_, shared)| shared.contains(&middle));
                spans.iter_mut().for_each(|(_, shared)| *shared = vec![middle]);
            }
            let whole = spans.iter().filter(|(triangles, shared)| self.joined(*triangles, shared));
            pairs = whole.map(|([t, u], _)| pair(*t, *u)).collect();
        }
        // The old pair stays in its row, if it is still one.
        pairs.sort_unstable_by_key(|pair| (*pair != [a, b], *pair));
        pairs.dedup();
        pairs
    }

    /// The vertex that a link over two edges passes: the one nearest to the middle between its ends at rest.
    fn middle(&self, ends: [u32; 2], candidates: impl Iterator<Item = u32>) -> Option<u32> {
        let place = |v: u32| Vec3::from(self.rest[v as usize]);
        let centre = (place(ends[0]) + place(ends[1])) * 0.5;
        let distance = |v: u32| (place(v) - centre).length_sq();
        candidates.min_by(|&p, &q| distance(p).total_cmp(&distance(q)).then(p.cmp(&q)))
    }

    /// Follows a table of links; returns the old row of each new one.
    pub fn links<const P: usize>(&self, table: &mut Table<2, P>) -> Vec<u32> {
        let (mut kept, mut added) = (Vec::new(), Vec::new());
        for (row, &ids) in table.ids.iter().enumerate() {
            if self.is_near(&ids) {
                let mut pairs = self.link(ids).into_iter().map(|pair| (row, pair));
                kept.extend(pairs.next());
                added.extend(pairs);
            } else {
                kept.push((row, ids));
            }
        }
        kept.append(&mut added);
        rewrite(table, &kept)
    }

    /// Follows a table of hinges `[x0, x1, x2, x3]`, edge first; returns the old row of each new one.
    pub fn hinges<const P: usize>(&self, table: &mut Table<4, P>) -> Vec<u32> {
        let mut kept = Vec::new();
        for (row, &ids) in table.ids.iter().enumerate() {
            let [a, b, c, d] = ids;
            let wing = |tip: u32| self.before.along([a, b]).find(|&t| self.before.has(t, tip));
            match (self.is_near(&ids), wing(c), wing(d)) {
                (true, Some(t), Some(u)) => {
                    if self.joined([t, u], &[a, b]) {
                        kept.push((row, [self.now(t, a), self.now(t, b), self.now(t, c), self.now(u, d)]));
                    }
                }
                _ => kept.push((row, ids)),
            }
        }
        rewrite(table, &kept)
    }

    /// Follows a table of triangles: each stays what it is, with other corners.
    pub fn triangles<const P: usize>(&self, table: &mut Table<3, P>) {
        for ids in table.ids.iter_mut().filter(|ids| self.is_near(&ids[..])) {
            let [a, b, c] = *ids;
            if let Some(t) = self.before.along([a, b]).find(|&t| self.before.has(t, c)) {
                *ids = ids.map(|v| self.now(t, v));
            }
        }
    }
}

/// Replaces a table by rows of its own with new ids.
fn rewrite<const N: usize, const P: usize>(table: &mut Table<N, P>, rows: &[(usize, [u32; N])]) -> Vec<u32> {
    table.select(&rows.iter().map(|(row, _)| *row).collect::<Vec<_>>());
    table.ids = rows.iter().map(|(_, ids)| *ids).collect();
    rows.iter().map(|(row, _)| *row as u32).collect()
}
