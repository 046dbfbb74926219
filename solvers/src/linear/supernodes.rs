//! Supernodes: neighbouring columns of a factor with (nearly) the same rows, computed together as a dense panel.

use super::NONE;
use super::pattern::Pattern;

/// How much padding a merged supernode may have: up to this many scalar columns, this share of zeros.
///
/// Narrow panels waste the dense kernels more than zeros do; figures measured for cloth and tets.
const RELAX: [(usize, f64); 4] = [(4, 1.0), (16, 0.8), (48, 0.1), (usize::MAX, 0.05)];

/// The columns of a factor, gathered into supernodes in postorder.
#[derive(Clone, Debug)]
pub(super) struct Supernodes {
    /// First place of every supernode, and the number of places.
    pub starts: Vec<u32>,
    /// Supernode that holds the first row below; [`NONE`] for a root.
    pub parents: Vec<u32>,
    row_starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Supernodes {
    /// Finds the supernodes of a factor whose entries are blocks of `block` numbers a side.
    pub fn new(pattern: &Pattern, block: usize) -> Self {
        let starts = merge(pattern, maximal(pattern), block);
        let count = starts.len() - 1;
        let mut home = vec![0_u32; pattern.node_count()];
        for s in 0..count {
            home[starts[s] as usize..starts[s + 1] as usize].fill(s as u32);
        }
        // Rows of a supernode: those of its entries and of its children, below its own columns.
        let mut parents = vec![NONE; count];
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut row_starts = vec![0];
        let mut rows: Vec<u32> = Vec::new();
        let mut mark = vec![NONE; pattern.node_count()];
        for s in 0..count {
            let end = starts[s + 1];
            let first = rows.len();
            let mut add = |row: u32, rows: &mut Vec<u32>| {
                if row >= end && mark[row as usize] != s as u32 {
                    mark[row as usize] = s as u32;
                    rows.push(row);
                }
            };
            for place in starts[s]..end {
                for entry in pattern.column(place as usize) {
                    add(pattern.rows()[entry], &mut rows);
                }
            }
            for &child in &children[s] {
                for at in row_starts[child as usize]..row_starts[child as usize + 1] {
                    let row = rows[at];
                    add(row, &mut rows);
                }
            }
            rows[first..].sort_unstable();
            row_starts.push(rows.len());
            if let Some(&row) = rows.get(first) {
                parents[s] = home[row as usize];
                children[parents[s] as usize].push(s as u32);
            }
        }
        Self { starts, parents, row_starts, rows }
    }

    pub fn len(&self) -> usize {
        self.parents.len()
    }
    /// The places of a supernode.
    pub fn columns(&self, s: usize) -> core::ops::Range<u32> {
        self.starts[s]..self.starts[s + 1]
    }
    /// The rows below its columns, rising.
    pub fn rows(&self, s: usize) -> &[u32] {
        &self.rows[self.row_starts[s]..self.row_starts[s + 1]]
    }
    /// Work of factoring a supernode: one for every entry an elimination touches.
    pub fn work(&self, s: usize) -> f64 {
        let (columns, rows) = (self.columns(s).len(), self.rows(s).len());
        (0..columns).map(|k| ((columns + rows - k) as f64).powi(2)).sum()
    }
}

/// First places of the largest groups of columns that share their rows exactly.
fn maximal(pattern: &Pattern) -> Vec<u32> {
    let (parents, counts) = (pattern.parents(), pattern.counts());
    let n = pattern.node_count();
    let joins = |j: usize| parents[j - 1] == j as u32 && counts[j - 1] == counts[j] + 1;
    let mut starts: Vec<u32> = (0..n).filter(|&j| j == 0 || !joins(j)).map(|j| j as u32).collect();
    starts.push(n as u32);
    starts
}

/// Merges a supernode with the parent that follows it while the padding stays within [`RELAX`].
///
/// A child's rows are among its parent's columns and rows, so the merged rows are the parent's.   [Ashcraft, Grimes 1989]
fn merge(pattern: &Pattern, starts: Vec<u32>, block: usize) -> Vec<u32> {
    let count = starts.len() - 1;
    let n = pattern.node_count();
    let mut home = vec![0_u32; n];
    for s in 0..count {
        home[starts[s] as usize..starts[s + 1] as usize].fill(s as u32);
    }
    // Columns, length of the first column, and zeros of every group; a group is known by its first supernode.
    let mut columns: Vec<usize> = (0..count).map(|s| (starts[s + 1] - starts[s]) as usize).collect();
    let mut lengths: Vec<usize> = (0..count).map(|s| pattern.counts()[starts[s] as usize] as usize).collect();
    let mut zeros = vec![0_usize; count];
    let mut head: Vec<u32> = (0..count as u32).collect();
    for s in (0..count.saturating_sub(1)).rev() {
        let last = starts[s + 1] as usize - 1;
        let parent = pattern.parents()[last];
        if parent == NONE {
            continue;
        }
        let mut group = home[parent as usize];
        while head[group as usize] != group {
            group = head[group as usize];
        }
        head[home[parent as usize] as usize] = group;
        let next = s + 1;
        if group as usize != next {
            continue;
        }
        let joined = columns[s] + columns[next];
        let length = columns[s] + lengths[next];
        let padded = zeros[next] + columns[s] * (length - lengths[s]);
        let size = joined * (joined + 1) / 2 + joined * (length - joined);
        let share = padded as f64 / size as f64;
        if RELAX.iter().any(|&(widest, most)| joined * block <= widest && share <= most) {
            head[next] = s as u32;
            (columns[s], lengths[s], zeros[s]) = (joined, length, padded);
        }
    }
    let mut merged: Vec<u32> = (0..count).filter(|&s| head[s] == s as u32).map(|s| starts[s]).collect();
    merged.push(n as u32);
    merged
}
