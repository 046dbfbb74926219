//! Domains: the nodes of a pattern in an order that suits iteration, cut into runs that threads work on side by side.
//!
//! Breadth-first order keeps neighbours close (and suits incomplete factors, which elimination orders do not). The cut
//! depends on the pattern alone.

use std::collections::VecDeque;

use super::NONE;
use super::pattern::Pattern;

/// Nodes of a domain: few enough to balance a handful of threads, many enough that a preconditioner which stays inside them
/// loses little.
const NODES: usize = 1024;

/// One block of a row of the full matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Column, counted in domain order.
    pub column: u32,
    /// Entry of the pattern.
    pub entry: u32,
}

/// The full rows of a symmetric pattern in domain order.
#[derive(Clone, Debug)]
pub(super) struct Domains {
    /// Node of every row.
    pub nodes: Vec<u32>,
    /// Row of every node.
    pub places: Vec<u32>,
    /// First row of every domain, and the number of rows.
    pub cuts: Vec<usize>,
    /// For every row: where its stored blocks begin, and where its transposed ones do; ends where the next row begins.
    pub starts: Vec<[u32; 2]>,
    pub items: Vec<Item>,
    /// Entry on the diagonal of every row.
    pub diagonal: Vec<u32>,
}

impl Domains {
    /// Breadth first.
    pub fn new(pattern: &Pattern) -> Self {
        Self::in_order(pattern, breadth_first(pattern))
    }

    /// In a given order of the nodes.
    pub fn in_order(pattern: &Pattern, nodes: Vec<u32>) -> Self {
        let mut places = vec![0; nodes.len()];
        for (row, &node) in nodes.iter().enumerate() {
            places[node as usize] = row as u32;
        }
        let (mut starts, mut items, mut diagonal) = (Vec::new(), Vec::new(), Vec::new());
        let at = |place: u32| places[pattern.node(place as usize) as usize];
        for &node in &nodes {
            let place = pattern.place(node);
            let stored = items.len();
            items.extend(pattern.row(place).iter().map(|&[column, entry]| Item { column: at(column), entry }));
            items[stored..].sort_unstable_by_key(|item| item.column);
            let transposed = items.len();
            let below = pattern.column(place).skip(1);
            items.extend(below.map(|entry| Item { column: at(pattern.rows()[entry]), entry: entry as u32 }));
            items[transposed..].sort_unstable_by_key(|item| item.column);
            starts.push([stored as u32, transposed as u32]);
            diagonal.push(pattern.diagonal(node) as u32);
        }
        starts.push([items.len() as u32; 2]);
        let count = nodes.len().div_ceil(NODES);
        let cuts = (0..=count).map(|d| d * nodes.len() / count.max(1)).collect();
        Self { nodes, places, cuts, starts, items, diagonal }
    }

    /// Stored blocks of a row (diagonal included), then transposed ones.
    #[inline(always)]
    pub fn row(&self, row: usize) -> [&[Item]; 2] {
        let ([stored, transposed], [end, _]) = (self.starts[row], self.starts[row + 1]);
        [&self.items[stored as usize..transposed as usize], &self.items[transposed as usize..end as usize]]
    }
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// Nodes level by level, piece by piece, each piece from a node far out.
fn breadth_first(pattern: &Pattern) -> Vec<u32> {
    let n = pattern.node_count();
    let mut seen = vec![NONE; n];
    let mut order = Vec::with_capacity(n);
    for node in 0..n as u32 {
        if seen[node as usize] == NONE {
            // The last node of one walk is far from everything: a good start for the second.
            let mut walked = Vec::new();
            walk(pattern, node, &mut seen, 1, &mut walked);
            let far = walked[walked.len() - 1];
            walk(pattern, far, &mut seen, 2, &mut order);
        }
    }
    order
}

fn walk(pattern: &Pattern, from: u32, seen: &mut [u32], round: u32, order: &mut Vec<u32>) {
    let mut queue = VecDeque::from([from]);
    seen[from as usize] = round;
    while let Some(node) = queue.pop_front() {
        order.push(node);
        let place = pattern.place(node);
        let before = pattern.row(place).iter().map(|item| item[0]);
        let after = pattern.column(place).map(|entry| pattern.rows()[entry]);
        for next in before.chain(after).map(|place| pattern.node(place as usize)) {
            if seen[next as usize] != round {
                seen[next as usize] = round;
                queue.push_back(next);
            }
        }
    }
}
