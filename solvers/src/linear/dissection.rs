//! Nested dissection: split the nodes in two by a small separator, eliminate the halves first, the separator last; repeat.
//!
//! Solids fill in least this way. Splits are found from the graph alone: between two nodes far apart, by the difference of
//! their distances. Of several pairs the one with the smallest separator is taken, and thinned greedily.   [George 1973]

use std::collections::VecDeque;

use super::NONE;
use super::ordering::{Graph, minimum_degree};

/// Sets this small are ordered by minimum degree.
const LEAF: usize = 100;
/// Nodes far from each other, between which splits are tried.
///
/// Eight (the corners of a box) fill a cube of 21³ nodes 28 % less than minimum degree, four of them 5 % more.
const EXTREMES: usize = 8;
/// Passes over a separator to thin it.
const PASSES: usize = 6;

/// The nodes in elimination order.
pub(super) fn nested_dissection(graph: &Graph) -> Vec<u32> {
    let n = graph.len();
    let mut work =
        Work { graph, owner: vec![NONE; n], next: 0, side: vec![0; n], distance: core::array::from_fn(|_| vec![0; n]) };
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
    /// From every extreme.
    distance: [Vec<u32>; EXTREMES],
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

    /// Distances from a node inside its set.
    fn walk(&mut self, set: &[u32], from: u32, which: usize) {
        for &node in set {
            self.distance[which][node as usize] = NONE;
        }
        let name = self.owner[from as usize];
        let mut queue = VecDeque::from([from]);
        self.distance[which][from as usize] = 0;
        while let Some(node) = queue.pop_front() {
            let next = self.distance[which][node as usize] + 1;
            for &other in self.graph.of(node as usize) {
                if self.owner[other as usize] == name && self.distance[which][other as usize] == NONE {
                    self.distance[which][other as usize] = next;
                    queue.push_back(other);
                }
            }
        }
    }

    /// The node of a set whose nearest among the first extremes is farthest.
    fn farthest(&self, set: &[u32], extremes: usize) -> u32 {
        let nearest = |node: u32| (0..extremes).map(|e| self.distance[e][node as usize]).min();
        set.iter().copied().max_by_key(|&node| (nearest(node), core::cmp::Reverse(node))).unwrap_or(0)
    }

    /// Puts the half of a set that is nearer to extreme `a` on the lower side, the rest on the upper, and returns the upper
    /// nodes that touch the lower half.
    fn halve(&mut self, set: &[u32], [a, b]: [usize; 2], name: u32) -> Vec<u32> {
        let distance = |e: usize, node: u32| i64::from(self.distance[e][node as usize]);
        let mut sorted: Vec<(i64, u32)> =
            set.iter().map(|&node| (distance(a, node) - distance(b, node), node)).collect();
        sorted.sort_unstable();
        for (i, &(_, node)) in sorted.iter().enumerate() {
            self.side[node as usize] = u8::from(2 * i >= sorted.len());
        }
        let lower = |&other: &u32| self.owner[other as usize] == name && self.side[other as usize] == 0;
        let touches = |node: u32| self.graph.of(node as usize).iter().any(lower);
        let upper = sorted[sorted.len().div_ceil(2)..].iter().map(|&(_, node)| node);
        upper.filter(|&node| touches(node)).collect()
    }

    /// Lower half, upper half and separator of a connected set.
    fn split(&mut self, set: &[u32]) -> [Vec<u32>; 3] {
        let name = self.claim(set);
        self.walk(set, set[0], 0);
        for e in 0..EXTREMES {
            let from = self.farthest(set, e.max(1));
            self.walk(set, from, e);
        }
        let pairs = (0..EXTREMES).flat_map(|b| (0..b).map(move |a| [a, b]));
        let sizes = pairs.map(|pair| (self.halve(set, pair, name).len(), pair)).min();
        let mut separator = self.halve(set, sizes.map_or([0, 1], |(_, pair)| pair), name);
        let mut counts = [set.len().div_ceil(2), set.len() / 2 - separator.len()];
        for &node in &separator {
            self.side[node as usize] = 2;
        }
        let graph = self.graph;
        let inside = |owner: &[u32], node: u32| -> Vec<u32> {
            graph.of(node as usize).iter().filter(|&&o| owner[o as usize] == name).copied().collect()
        };
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
