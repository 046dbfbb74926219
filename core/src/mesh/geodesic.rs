//! Shortest ways along the edges of a mesh, which tell how far a particle may stray from its nearest anchor.

use super::error::MeshError;
use super::validate::check_range;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What [`geodesic_distances`] finds for every vertex.
#[derive(Debug, Clone, PartialEq)]
pub struct Geodesics {
    /// The length of the shortest way to a source \[m\]; infinite where no way leads to one.
    pub distance: Vec<f64>,
    /// The source at the end of that way, the lowest id of several equally near; `u32::MAX` where there is none.
    pub nearest: Vec<u32>,
}

/// Distances along edges from each vertex to its nearest source (Dijkstra).
///
/// `length` holds one number an edge \[m\], `sources` are vertex ids. The order of edges and sources does not matter.
///
/// ```
/// use pliant_core::mesh::{Rope, geodesic_distances};
///
/// let rope = Rope::new(4, [0.0; 3], [2.0, 0.0, 0.0])?;
/// let found = geodesic_distances(5, &rope.edges, &[0.5; 4], &[0, 4])?;
/// assert_eq!(found.distance, [0.0, 0.5, 1.0, 0.5, 0.0]);
/// assert_eq!(found.nearest, [0, 0, 0, 4, 4]);
/// # Ok::<(), pliant_core::mesh::MeshError>(())
/// ```
///
/// # Errors
/// [`MeshError::IndexOutOfRange`] for a bad edge or source, [`MeshError::BadParameter`] unless there is one length an
/// edge and each is finite and not negative.
pub fn geodesic_distances(
    vertex_count: usize,
    edges: &[[u32; 2]],
    length: &[f64],
    sources: &[u32],
) -> Result<Geodesics, MeshError> {
    check_input(vertex_count, edges, length, sources)?;
    let graph = Graph::new(vertex_count, edges, length);
    let mut found = Geodesics { distance: vec![f64::INFINITY; vertex_count], nearest: vec![u32::MAX; vertex_count] };

    // Labels (distance, source) are compared in that order, so ties go to the lower source whatever the order of visits.
    // Distances are not negative, and such f64 order like their bits: the heap needs no wrapper for floats.
    let mut queue = BinaryHeap::new();
    for &source in sources {
        found.distance[source as usize] = 0.0;
        found.nearest[source as usize] = source;
        queue.push(Reverse((0.0_f64.to_bits(), source, source)));
    }
    while let Some(Reverse((bits, source, vertex))) = queue.pop() {
        let here = (f64::from_bits(bits), source);
        if (found.distance[vertex as usize], found.nearest[vertex as usize]) != here {
            continue; // Superseded by a nearer source since it was queued.
        }
        for &(neighbour, step) in graph.neighbours(vertex as usize) {
            let v = neighbour as usize;
            let there = (here.0 + step, source);
            if there < (found.distance[v], found.nearest[v]) {
                (found.distance[v], found.nearest[v]) = there;
                queue.push(Reverse((there.0.to_bits(), source, neighbour)));
            }
        }
    }
    Ok(found)
}

fn check_input(vertex_count: usize, edges: &[[u32; 2]], length: &[f64], sources: &[u32]) -> Result<(), MeshError> {
    for (row, edge) in edges.iter().enumerate() {
        check_range("edge", row, edge, vertex_count)?;
    }
    for (row, source) in sources.iter().enumerate() {
        check_range("source", row, &[*source], vertex_count)?;
    }
    if length.len() != edges.len() {
        return Err(MeshError::BadParameter {
            name: "number of lengths",
            value: length.len() as f64,
            expected: "the number of edges",
        });
    }
    match length.iter().find(|l| !(l.is_finite() && **l >= 0.0)) {
        Some(&value) => {
            Err(MeshError::BadParameter { name: "edge length", value, expected: "finite and not negative" })
        }
        None => Ok(()),
    }
}

/// The neighbours of each vertex, one list after another (CSR).
struct Graph {
    /// Where each vertex's list starts, and the end of the last.
    starts: Vec<usize>,
    /// Neighbour and edge length.
    links: Vec<(u32, f64)>,
}

impl Graph {
    fn new(vertex_count: usize, edges: &[[u32; 2]], length: &[f64]) -> Self {
        let mut starts = vec![0; vertex_count + 1];
        for &v in edges.iter().flatten() {
            starts[v as usize + 1] += 1;
        }
        for v in 0..vertex_count {
            starts[v + 1] += starts[v];
        }
        let mut free = starts.clone();
        let mut links = vec![(0, 0.0); 2 * edges.len()];
        for (&[a, b], &step) in edges.iter().zip(length) {
            for (from, to) in [(a, b), (b, a)] {
                links[free[from as usize]] = (to, step);
                free[from as usize] += 1;
            }
        }
        Self { starts, links }
    }

    fn neighbours(&self, vertex: usize) -> &[(u32, f64)] {
        &self.links[self.starts[vertex]..self.starts[vertex + 1]]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::super::shuffled_sheet;
    use super::*;

    #[test]
    fn distances_agree_with_relaxing_until_nothing_changes() {
        let sheet = shuffled_sheet(12, 1.0, 11).unwrap();
        let edges = sheet.topology().unwrap().edges;
        let p = sheet.positions();
        let length: Vec<f64> = edges.iter().map(|e| (p[e[0] as usize] - p[e[1] as usize]).mag()).collect();
        let sources = [17, 3, 80];
        let found = geodesic_distances(p.len(), &edges, &length, &sources).unwrap();

        // Bellman–Ford, the slow way.
        let mut label = vec![(f64::INFINITY, u32::MAX); p.len()];
        for s in sources {
            label[s as usize] = (0.0, s);
        }
        for _ in 0..p.len() {
            for (&[a, b], step) in edges.iter().zip(&length) {
                for (from, to) in [(a as usize, b as usize), (b as usize, a as usize)] {
                    let offer = (label[from].0 + step, label[from].1);
                    if offer < label[to] {
                        label[to] = offer;
                    }
                }
            }
        }
        for (v, &(distance, nearest)) in label.iter().enumerate() {
            assert_eq!((found.distance[v], found.nearest[v]), (distance, nearest));
        }
    }

    #[test]
    fn ties_go_to_the_lower_source_in_any_order() {
        let edges = [[0, 1], [1, 2], [2, 3], [3, 4]];
        for sources in [[0, 4], [4, 0]] {
            let found = geodesic_distances(5, &edges, &[1.0; 4], &sources).unwrap();
            assert_eq!(found.nearest, [0, 0, 0, 4, 4]);
        }
        // Edges without length: both sources are everywhere.
        let found = geodesic_distances(3, &[[0, 1], [1, 2]], &[0.0; 2], &[2, 1]).unwrap();
        assert_eq!(found.nearest, [1, 1, 1]);
    }

    #[test]
    fn islands_are_out_of_reach() {
        let found = geodesic_distances(4, &[[0, 1], [2, 3]], &[1.0; 2], &[1]).unwrap();
        assert_eq!(found.distance, [1.0, 0.0, f64::INFINITY, f64::INFINITY]);
        assert_eq!(found.nearest, [1, 1, u32::MAX, u32::MAX]);
        let none = geodesic_distances(2, &[[0, 1]], &[1.0], &[]).unwrap();
        assert_eq!(none.nearest, [u32::MAX; 2]);
        assert!(geodesic_distances(0, &[], &[], &[]).unwrap().distance.is_empty());
    }

    #[test]
    fn bad_input_is_named() {
        let error = geodesic_distances(2, &[[0, 2]], &[1.0], &[0]).unwrap_err();
        assert!(matches!(error, MeshError::IndexOutOfRange { element: "edge", row: 0, corner: 1, .. }));
        let error = geodesic_distances(2, &[[0, 1]], &[1.0], &[0, 5]).unwrap_err();
        assert!(matches!(error, MeshError::IndexOutOfRange { element: "source", row: 1, index: 5, .. }));
        let error = geodesic_distances(2, &[[0, 1]], &[], &[0]).unwrap_err();
        assert!(matches!(error, MeshError::BadParameter { name: "number of lengths", .. }));
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let error = geodesic_distances(2, &[[0, 1]], &[bad], &[0]).unwrap_err();
            assert!(matches!(error, MeshError::BadParameter { name: "edge length", .. }));
        }
    }
}
