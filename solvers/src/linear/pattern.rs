//! Patterns: which entries of a symmetric matrix over the nodes of a mesh may differ from zero.

use sprs::TriMat;

use super::NONE;
use super::dissection::nested_dissection;
use super::ordering::{Graph, Ordering, Tree, minimum_degree};

/// A symmetric pattern: its lower triangle with the diagonal, by columns, in elimination order.
///
/// A node is whatever the matrix couples: a particle that is free to move, or a constraint. Its *place* is its position in
/// the elimination order; an *entry* is a pair of places, row ≥ column. Values of a matrix with this pattern are stored entry
/// by entry: one number each, or nine (a 3 × 3 block by columns).
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Place of every node.
    places: Vec<u32>,
    /// Node at every place.
    nodes: Vec<u32>,
    /// First entry of every column.
    starts: Vec<u32>,
    /// Row of every entry; rises within a column, the diagonal first.
    rows: Vec<u32>,
    /// The same triangle by rows: first item of every row, then column and entry of every item, the diagonal last.
    row_starts: Vec<u32>,
    row_items: Vec<[u32; 2]>,
    /// Elimination tree and length of every column of the factor.
    tree: (Vec<u32>, Vec<u32>),
}

impl Pattern {
    /// The pattern in which all nodes of a group couple with each other; every node couples with itself.
    ///
    /// # Panics
    /// When a group names a node that does not exist: models are checked long before.
    pub fn new<G: AsRef<[u32]>>(node_count: usize, groups: impl Iterator<Item = G>, ordering: Ordering) -> Self {
        let mut pairs = TriMat::<u8>::new((node_count, node_count));
        for group in groups {
            let group = group.as_ref();
            for (i, &a) in group.iter().enumerate() {
                for &b in &group[..i] {
                    if a != b {
                        pairs.add_triplet(a as usize, b as usize, 0);
                        pairs.add_triplet(b as usize, a as usize, 0);
                    }
                }
            }
        }
        // Compressing sorts rows and joins repeated pairs. Only places matter, so all values are 0.
        let compressed: sprs::CsMat<u8> = pairs.to_csr();
        let graph = Graph {
            starts: compressed.indptr().raw_storage().iter().map(|&s| s as u32).collect(),
            neighbours: compressed.indices().iter().map(|&j| j as u32).collect(),
        };
        let (first, tree) = order(&graph, ordering);
        // Postordering keeps the fill and makes every subtree a range of places.
        let post = tree.postorder();
        let nodes: Vec<u32> = post.iter().map(|&p| first[p as usize]).collect();
        let renamed = invert(&post);
        let parents = post.iter().map(|&p| tree.parents[p as usize]).map(|q| rename(&renamed, q)).collect();
        let counts = post.iter().map(|&p| tree.counts[p as usize]).collect();
        Self::lower(&graph, nodes, (parents, counts))
    }

    fn lower(graph: &Graph, nodes: Vec<u32>, tree: (Vec<u32>, Vec<u32>)) -> Self {
        let places = invert(&nodes);
        let mut starts = vec![0];
        let mut rows: Vec<u32> = Vec::with_capacity(graph.neighbours.len() / 2 + nodes.len());
        for (place, &node) in nodes.iter().enumerate() {
            let first = rows.len();
            rows.push(place as u32);
            let below = graph.of(node as usize).iter().map(|&other| places[other as usize]);
            rows.extend(below.filter(|&other| other as usize > place));
            rows[first..].sort_unstable();
            starts.push(rows.len() as u32);
        }
        let mut row_starts = vec![0_u32; nodes.len() + 1];
        for &row in &rows {
            row_starts[row as usize + 1] += 1;
        }
        for i in 0..nodes.len() {
            row_starts[i + 1] += row_starts[i];
        }
        let mut cursor = row_starts.clone();
        let mut row_items = vec![[0; 2]; rows.len()];
        for column in 0..nodes.len() {
            for entry in starts[column]..starts[column + 1] {
                let at = &mut cursor[rows[entry as usize] as usize];
                row_items[*at as usize] = [column as u32, entry];
                *at += 1;
            }
        }
        Self { places, nodes, starts, rows, row_starts, row_items, tree }
    }

    /// Nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }
    /// Entries of the lower triangle, diagonal included.
    pub fn entry_count(&self) -> usize {
        self.rows.len()
    }
    /// Position of a node in the elimination order.
    pub fn place(&self, node: u32) -> usize {
        self.places[node as usize] as usize
    }
    /// The node at a place of the elimination order.
    pub fn node(&self, place: usize) -> u32 {
        self.nodes[place]
    }
    /// The entry of a pair of nodes, and whether it is stored transposed (the row's place comes before the column's).
    pub fn slot(&self, row_node: u32, column_node: u32) -> Option<(usize, bool)> {
        let (row, column) = (self.places[row_node as usize], self.places[column_node as usize]);
        let (low, high) = (row.max(column), row.min(column));
        let range = self.column(high as usize);
        self.rows[range.clone()].binary_search(&low).ok().map(|at| (range.start + at, row < column))
    }
    /// The entry on the diagonal of a node.
    pub fn diagonal(&self, node: u32) -> usize {
        self.starts[self.place(node)] as usize
    }
    /// Entries a factor of this pattern has, before supernodes are padded.
    pub fn fill(&self) -> usize {
        self.tree.1.iter().map(|&c| c as usize).sum()
    }

    /// Row places and entries of the column at a place, rising; the first is on the diagonal.
    pub fn column_entries(&self, place: usize) -> impl Iterator<Item = (usize, usize)> {
        self.column(place).map(|entry| (self.rows[entry] as usize, entry))
    }

    /// The entries of the column at a place; the first is on the diagonal.
    pub(super) fn column(&self, place: usize) -> core::ops::Range<usize> {
        self.starts[place] as usize..self.starts[place + 1] as usize
    }
    /// Row place of every entry.
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }
    /// Column place and entry of the items of a row, rising; the last is on the diagonal.
    pub(super) fn row(&self, place: usize) -> &[[u32; 2]] {
        &self.row_items[self.row_starts[place] as usize..self.row_starts[place + 1] as usize]
    }
    /// Parent of every place in the elimination tree.
    pub(super) fn parents(&self) -> &[u32] {
        &self.tree.0
    }
    /// Length of every column of the factor.
    pub(super) fn counts(&self) -> &[u32] {
        &self.tree.1
    }
}

/// Nodes in elimination order, and their tree.
fn order(graph: &Graph, ordering: Ordering) -> (Vec<u32>, Tree) {
    let with_tree = |order: Vec<u32>| {
        let tree = Tree::new(graph, &order, &invert(&order));
        (order, tree)
    };
    match ordering {
        Ordering::Natural => with_tree((0..graph.len() as u32).collect()),
        Ordering::Amd => with_tree(minimum_degree(graph)),
        Ordering::NestedDissection => {
            let (plain, cut) = (with_tree(minimum_degree(graph)), with_tree(nested_dissection(graph)));
            if cut.1.fill() < plain.1.fill() { cut } else { plain }
        }
    }
}

fn invert(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    for (place, &node) in order.iter().enumerate() {
        inverse[node as usize] = place as u32;
    }
    inverse
}

fn rename(names: &[u32], place: u32) -> u32 {
    if place == NONE { NONE } else { names[place as usize] }
}
