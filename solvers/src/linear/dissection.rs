//! Nested dissection: split the nodes in two by a small separator, eliminate the halves first, the separator last; repeat.
//!
//! Solids fill in least this way. The split is found from the graph alone: between two nodes far apart, by the difference of
//! their distances, then thinned greedily.   [George 1973]

use std::collections::VecDeque;

use super::NONE;
use super::ordering::{Graph, minimum_degree};

/// Sets this small are ordered by minimum degree.
const LEAF: usize = 100;
/// Passes over a separator to thin it.
const PASSES: usize = 6;

/// The nodes in elimination order.
pub(super) fn nested_dissection(graph: &Graph) -> Vec<u32> {
    let n = graph.len();
    let mut work = Work { graph, owner: vec![NONE; n], next: 0, side: vec![0; n], distance: [vec![0; n], vec![0; n]] };
    // Filled from the back: a separator comes after everything it separates.
    let mut reversed: Vec<u32> = Vec::with_capacity(n);
    let mut sets = work.components((0..n as u32).collect());
    while let Some(set) = sets.pop() {
        if set.len() <= LEAF {
            reversed.extend(leaf(graph, &set).into_iter().rev());
            continue;
        }
        let [lower, upper, separator] = work.split(&set);
        // A set without two sides, such as nodes that all meet each other.
        if lower.is_empty() || upper.is_empty() {
            reversed.extend(leaf(graph, &set).into_iter().rev());
            continue;
        }
        reversed.extend(separator.iter().rev());
        for half in [lower, upper] {
            sets.extend(work.components(half));
        }
    }
    reversed.reverse();
    reversed
}

/// Orders a set by minimum degree inside it.
fn leaf(graph: &Graph, set: &[u32]) -> Vec<u32> {
    let mut sorted = set.to_vec();
    sorted.sort_unstable();
    let (mut starts, mut neighbours) = (vec![0], Vec::new());
    for &node in &sorted {
        neighbours
            .extend(graph.of(node as usize).iter().filter_map(|n| sorted.binary_search(n).ok().map(|i| i as u32)));
        starts.push(neighbours.len() as u32);
    }
    minimum_degree(&Graph { starts, neighbours }).into_iter().map(|i| sorted[i as usize]).collect()
}

struct Work<'a> {
    graph: &'a Graph,
    /// The set every node is in.
    owner: Vec<u32>,
    next: u32,
    /// 0 lower, 1 upper, 2 separator.
    side: Vec<u8>,
    distance: [Vec<u32>; 2],
}

impl Work<'_> {
    fn claim(&mut self, set: &[u32]) -> u32 {
        let name = self.next;
        self.next += 1;
        for &node in set {
            self.owner[node as usize] = name;
        }
        name
    }

    /// The connected pieces of a set.
    fn components(&mut self, set: Vec<u32>) -> Vec<Vec<u32>> {
        let name = self.claim(&set);
        let mut pieces = Vec::new();
        for &node in &set {
            if self.owner[node as usize] == name {
                let mut piece = vec![node];
                self.owner[node as usize] = NONE;
                let mut at = 0;
                while at < piece.len() {
                    for &next in self.graph.of(piece[at] as usize) {
                        if self.owner[next as usize] == name {
                            self.owner[next as usize] = NONE;
                            piece.push(next);
                        }
                    }
                    at += 1;
                }
                pieces.push(piece);
            }
        }
        pieces
    }

    /// Distances from a node inside its set; returns the node reached last.
    fn walk(&mut self, from: u32, which: usize) -> u32 {
        let name = self.owner[from as usize];
        let mut queue = VecDeque::from([from]);
        self.distance[which][from as usize] = 0;
        let mut last = from;
        while let Some(node) = queue.pop_front() {
            last = node;
            let next = self.distance[which][node as usize] + 1;
            for &other in self.graph.of(node as usize) {
                if self.owner[other as usize] == name && self.distance[which][other as usize] == NONE {
                    self.distance[which][other as usize] = next;
                    queue.push_back(other);
                }
            }
        }
        last
    }

    fn forget(&mut self, set: &[u32], which: usize) {
        for &node in set {
            self.distance[which][node as usize] = NONE;
        }
    }

    /// Lower half, upper half and separator of a connected set.
    fn split(&mut self, set: &[u32]) -> [Vec<u32>; 3] {
        let name = self.claim(set);
        self.forget(set, 0);
        let first = self.walk(set[0], 0);
        self.forget(set, 0);
        let second = self.walk(first, 0);
        self.forget(set, 1);
        self.walk(second, 1);
        let score = |node: u32| i64::from(self.distance[0][node as usize]) - i64::from(self.distance[1][node as usize]);
        let mut sorted: Vec<(i64, u32)> = set.iter().map(|&node| (score(node), node)).collect();
        sorted.sort_unstable();
        for (i, &(_, node)) in sorted.iter().enumerate() {
            self.side[node as usize] = u8::from(2 * i >= sorted.len());
        }
        let mut counts = [sorted.len() / 2, sorted.len() - sorted.len() / 2];
        let graph = self.graph;
        let inside = |owner: &[u32], node: u32| {
            graph.of(node as usize).iter().filter(|&&o| owner[o as usize] == name).copied().collect::<Vec<_>>()
        };
        // The upper nodes that touch the lower half separate the two.
        let mut separator: Vec<u32> = Vec::new();
        for &(_, node) in &sorted {
            if self.side[node as usize] == 1 && inside(&self.owner, node).iter().any(|&o| self.side[o as usize] == 0) {
                separator.push(node);
            }
        }
        for &node in &separator {
            self.side[node as usize] = 2;
            counts[1] -= 1;
        }
        // A separator node may join a side when that drags fewer nodes of the other side in than it frees.
        for _ in 0..PASSES {
            let mut moved = false;
            let mut kept = Vec::new();
            let mut dragged = Vec::new();
            for &node in &separator {
                let near = inside(&self.owner, node);
                let drag = [1, 0].map(|other| near.iter().filter(|&&o| self.side[o as usize] == other).count());
                // `drag[s]`: nodes that must leave the other side if this one joins side s.
                let lighter = usize::from(counts[1] < counts[0]);
                let joins = [lighter, 1 - lighter]
                    .into_iter()
                    .find(|&s| drag[s] == 0 || (drag[s] == 1 && s == lighter && counts[1 - s] > counts[s] + 1));
                let Some(side) = joins else {
                    kept.push(node);
                    continue;
                };
                moved = true;
                self.side[node as usize] = side as u8;
                counts[side] += 1;
                for &o in &near {
                    if self.side[o as usize] == 1 - side as u8 {
                        self.side[o as usize] = 2;
                        counts[1 - side] -= 1;
                        dragged.push(o);
                    }
                }
            }
            kept.append(&mut dragged);
            separator = kept;
            if !moved {
                break;
            }
        }
        let pick = |side: u8| set.iter().copied().filter(|&node| self.side[node as usize] == side).collect();
        [pick(0), pick(1), pick(2)]
    }
}
