//! Elimination orders: in which order the nodes are eliminated decides how much a factor fills in.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

use super::NONE;

/// How the elimination order is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ordering {
    /// Approximate minimum degree: best for cloth.
    #[default]
    Amd,
    /// Nested dissection by graph bisection, or minimum degree where that fills in less: best for solids.
    NestedDissection,
    /// The order of the nodes as they are.
    Natural,
}

/// Neighbours of every node, without the node itself, sorted (compressed rows).
pub(super) struct Graph {
    pub starts: Vec<u32>,
    pub neighbours: Vec<u32>,
}

impl Graph {
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }
    pub fn of(&self, node: usize) -> &[u32] {
        &self.neighbours[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

pub(super) fn minimum_degree(graph: &Graph) -> Vec<u32> {
    let n = graph.len();
    let natural = || (0..n as u32).collect::<Vec<_>>();
    // AMD wants one triangle.
    let mut starts = vec![0_u32];
    let mut rows = Vec::with_capacity(graph.neighbours.len() / 2);
    for node in 0..n {
        rows.extend(graph.of(node).iter().filter(|&&other| (other as usize) < node));
        starts.push(rows.len() as u32);
    }
    let (mut order, mut inverse) = (natural(), natural());
    let mut memory = MemBuffer::new(amd::order_scratch::<u32>(n, rows.len()));
    let upper = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
    let found = amd::order(&mut order, &mut inverse, upper, amd::Control::default(), MemStack::new(&mut memory));
    // AMD fails only when indices overflow, which a pattern with 32-bit entries rules out; any order is a correct one.
    if found.is_err() { natural() } else { order }
}

/// The elimination tree: `parent[j]` is the first row below the diagonal of column j of the factor.   [Liu 1990]
pub(super) struct Tree {
    pub parents: Vec<u32>,
    /// Entries of every column of the factor, diagonal included.
    pub counts: Vec<u32>,
}

impl Tree {
    /// Of a graph whose nodes are eliminated in this order.
    pub fn new(graph: &Graph, order: &[u32], places: &[u32]) -> Self {
        let n = order.len();
        let before = |i: usize| {
            let near = graph.of(order[i] as usize).iter().map(|&other| places[other as usize]);
            near.filter(move |&k| (k as usize) < i)
        };
        let mut parents = vec![NONE; n];
        let mut ancestors = vec![NONE; n];
        for i in 0..n {
            for k in before(i) {
                let mut j = k as usize;
                // Climb to the root, shortening the path on the way.
                while ancestors[j] != i as u32 {
                    let next = ancestors[j];
                    ancestors[j] = i as u32;
                    if next == NONE {
                        parents[j] = i as u32;
                        break;
                    }
                    j = next as usize;
                }
            }
        }
        // Row i of the factor is the part of the tree between its neighbours and i.
        let mut counts = vec![1_u32; n];
        let mut mark = vec![NONE; n];
        for i in 0..n {
            mark[i] = i as u32;
            for k in before(i) {
                let mut j = k as usize;
                while mark[j] != i as u32 {
                    mark[j] = i as u32;
                    counts[j] += 1;
                    j = parents[j] as usize;
                }
            }
        }
        Self { parents, counts }
    }

    /// Entries of the factor.
    pub fn fill(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).sum()
    }

    /// The places in postorder: every subtree stands together, its root last, and the fullest child next to its parent, so
    /// that both can share a supernode.
    pub fn postorder(&self) -> Vec<u32> {
        let n = self.parents.len();
        let mut children: Vec<u32> = (0..n as u32).collect();
        children.sort_by_key(|&j| (self.parents[j as usize], self.counts[j as usize], j));
        let mut starts = vec![0_usize; n + 2];
        for &p in &self.parents {
            starts[if p == NONE { n } else { p as usize } + 1] += 1;
        }
        for i in 0..=n {
            starts[i + 1] += starts[i];
        }
        let mut order = Vec::with_capacity(n);
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in starts[n]..starts[n + 1] {
            path.push((children[root], 0));
            while let Some((node, seen)) = path.last_mut() {
                let own = starts[*node as usize]..starts[*node as usize + 1];
                if own.start + *seen < own.end {
                    let child = children[own.start + *seen];
                    *seen += 1;
                    path.push((child, 0));
                } else {
                    order.push(*node);
                    path.pop();
                }
            }
        }
        order
    }
}
