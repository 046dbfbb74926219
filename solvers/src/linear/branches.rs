//! Branches: subtrees of the elimination tree that threads factor and solve side by side, and the top that joins them.
//!
//! ```text
//!            top            factored last, from what the branches pass up
//!          /  |  \
//!     branch branch branch  share no column; each knows its rows of the top as its outer rows
//! ```
//!
//! The cut depends on the matrix alone, never on the number of threads: that is why any number gives the same bits.

use super::NONE;
use super::error::LinearError;
use super::pattern::Pattern;
use super::supernodes::Supernodes;

/// A subtree heavier than this share of all work is cut open. Finer cuts balance more threads but leave more to the top: on
/// cloth of 100² vertices 0.4 leaves 20 % of the work, 0.08 leaves 58 %.
const SHARE: f64 = 0.4;
/// Subtrees are gathered into at most so many branches: enough to balance a handful of threads.
const BRANCHES: usize = 16;
/// Below this much work (eliminations times block³) a fork costs more than it saves.
const WORTH: f64 = 2e6;
/// Marks the first entry of a column: the one on the diagonal.
pub(super) const FIRST: u32 = 1 << 31;

/// A supernode inside its part; places are local: own columns first, then outer rows.
#[derive(Clone, Debug)]
pub(super) struct Front {
    /// First own column.
    pub start: usize,
    /// Own columns.
    pub columns: usize,
    /// Range of `Part::rows`, the rows below.
    pub rows: core::ops::Range<usize>,
    /// First number of the panel: (columns + rows) × columns blocks, by scalar columns.
    pub panel: usize,
    /// First number of the update matrix, rows × rows blocks, that the parent takes up.
    pub update: usize,
    /// First entry of the pattern in these columns.
    pub entries: core::ops::Range<usize>,
    /// Range of `Part::children`.
    pub children: core::ops::Range<usize>,
}

/// Where a child's update matrix lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    /// The branch, or [`NONE`] for the same part.
    pub branch: u32,
    /// Front inside that part.
    pub front: u32,
}

/// A branch or the top.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Node of every own column.
    pub nodes: Vec<u32>,
    /// Own column of the top for every outer row.
    pub outer: Vec<u32>,
    pub fronts: Vec<Front>,
    /// Local rows below every front.
    pub rows: Vec<u32>,
    /// Beside `rows`: the same row counted in the parent's front.
    pub relative: Vec<u32>,
    pub children: Vec<Child>,
    /// Row inside its front, for the entries of the part's fronts in order; [`FIRST`] marks the first of a column.
    pub entry_rows: Vec<u32>,
    /// Numbers in all panels.
    pub panel_size: usize,
    /// Numbers in all update matrices alive at once.
    pub update_size: usize,
}

impl Part {
    /// Own columns and outer rows.
    pub fn width(&self) -> usize {
        self.nodes.len() + self.outer.len()
    }
    /// Most columns of a front.
    pub fn widest(&self) -> usize {
        self.fronts.iter().map(|f| f.columns).max().unwrap_or(0)
    }
    /// Most rows of a front, own columns included.
    pub fn tallest(&self) -> usize {
        self.fronts.iter().map(|f| f.columns + f.rows.len()).max().unwrap_or(0)
    }
}

/// The cut elimination tree.
#[derive(Clone, Debug)]
pub(super) struct Branches {
    pub branches: Vec<Part>,
    pub top: Part,
    /// Part (the number of branches stands for the top) and own column of every node.
    pub homes: Vec<[u32; 2]>,
}

impl Branches {
    pub fn new(pattern: &Pattern, block: usize) -> Result<Self, LinearError> {
        let supernodes = Supernodes::new(pattern, block);
        let owner = cut(&supernodes, block);
        let branch_count = owner.iter().filter(|&&o| o != NONE).max().map_or(0, |&o| o as usize + 1);
        let mut build = Build {
            pattern,
            block,
            supernodes: &supernodes,
            part: owner.iter().map(|&o| if o == NONE { branch_count } else { o as usize }).collect(),
            front: vec![0; supernodes.len()],
            column: vec![0; pattern.node_count()],
            parts: vec![Part::default(); branch_count + 1],
        };
        build.number();
        build.fill();
        let mut homes = vec![[0; 2]; pattern.node_count()];
        for (p, part) in build.parts.iter().enumerate() {
            for (column, &node) in part.nodes.iter().enumerate() {
                homes[node as usize] = [p as u32, column as u32];
            }
        }
        let mut branches = build.parts;
        let top = branches.pop().unwrap_or_default();
        let largest = branches.iter().chain([&top]).map(|p| p.panel_size.max(p.update_size)).max();
        if largest > Some(isize::MAX as usize / 64) || pattern.node_count() >= FIRST as usize {
            return Err(LinearError::TooLarge { nodes: pattern.node_count() });
        }
        Ok(Self { branches, top, homes })
    }

    /// Numbers in all panels.
    pub fn size(&self) -> usize {
        self.branches.iter().chain([&self.top]).map(|part| part.panel_size).sum()
    }
}

/// The branch of every supernode, [`NONE`] for the top.
fn cut(supernodes: &Supernodes, block: usize) -> Vec<u32> {
    let count = supernodes.len();
    let mut work: Vec<f64> = (0..count).map(|s| supernodes.work(s)).collect();
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut open: Vec<u32> = Vec::new();
    for s in 0..count {
        match supernodes.parents[s] {
            NONE => open.push(s as u32),
            parent => {
                work[parent as usize] += work[s];
                children[parent as usize].push(s as u32);
            }
        }
    }
    let total: f64 = open.iter().map(|&s| work[s as usize]).sum();
    let mut owner = vec![NONE; count];
    if total * (block as f64).powi(3) < WORTH {
        return owner;
    }
    // Cut subtrees open until none is too heavy.
    let mut roots: Vec<u32> = Vec::new();
    while let Some(s) = open.pop() {
        if work[s as usize] > SHARE * total {
            open.extend(&children[s as usize]);
        } else {
            roots.push(s);
        }
    }
    // Heaviest first, each to the lightest branch so far: ties go to the lower index.
    roots.sort_by(|&a, &b| work[b as usize].total_cmp(&work[a as usize]).then(a.cmp(&b)));
    let mut load = [0.0_f64; BRANCHES];
    for &root in &roots {
        let lightest = (0..BRANCHES).fold(0, |best, b| if load[b] < load[best] { b } else { best });
        load[lightest] += work[root as usize];
        owner[root as usize] = lightest as u32;
    }
    // In postorder a parent comes after its children.
    for s in (0..count).rev() {
        let parent = supernodes.parents[s];
        if parent != NONE && owner[parent as usize] != NONE {
            owner[s] = owner[parent as usize];
        }
    }
    owner
}

struct Build<'a> {
    pattern: &'a Pattern,
    block: usize,
    supernodes: &'a Supernodes,
    /// Part of every supernode.
    part: Vec<usize>,
    /// Front of every supernode in its part.
    front: Vec<u32>,
    /// Own column of every place in its part.
    column: Vec<u32>,
    parts: Vec<Part>,
}

impl Build<'_> {
    /// Numbers the fronts and own columns of every part.
    fn number(&mut self) {
        let mut fronts = vec![0_u32; self.parts.len()];
        for s in 0..self.supernodes.len() {
            let p = self.part[s];
            self.front[s] = fronts[p];
            fronts[p] += 1;
            for place in self.supernodes.columns(s) {
                self.column[place as usize] = self.parts[p].nodes.len() as u32;
                self.parts[p].nodes.push(self.pattern.node(place as usize));
            }
        }
        let top = self.parts.len() - 1;
        for s in 0..self.supernodes.len() {
            let (p, parent) = (self.part[s], self.supernodes.parents[s]);
            if p != top && parent != NONE && self.part[parent as usize] == top {
                let outer = self.supernodes.rows(s).iter().map(|&row| self.column[row as usize]);
                self.parts[p].outer.extend(outer);
            }
        }
        for part in &mut self.parts {
            part.outer.sort_unstable();
            part.outer.dedup();
        }
    }

    fn fill(&mut self) {
        let count = self.supernodes.len();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
        for s in 0..count {
            if self.supernodes.parents[s] != NONE {
                children[self.supernodes.parents[s] as usize].push(s as u32);
            }
        }
        let mut homes = vec![0_usize; self.pattern.node_count()];
        for s in 0..count {
            for place in self.supernodes.columns(s) {
                homes[place as usize] = s;
            }
        }
        let mut memory: Vec<Shelf> = (0..self.parts.len()).map(|_| Shelf::default()).collect();
        let square = self.block * self.block;
        for s in 0..count {
            let p = self.part[s];
            let columns = self.supernodes.columns(s);
            let rows = self.supernodes.rows(s);
            let width = columns.len();
            let inside = |row: u32, columns: &core::ops::Range<u32>, rows: &[u32]| {
                if row < columns.end {
                    row - columns.start
                } else {
                    (columns.len() + rows.partition_point(|&r| r < row)) as u32
                }
            };
            let entries =
                self.pattern.column(columns.start as usize).start..self.pattern.column(columns.end as usize - 1).end;
            let part = &mut self.parts[p];
            for place in columns.clone() {
                let column = &self.pattern.rows()[self.pattern.column(place as usize)];
                let marks = core::iter::once(FIRST).chain(core::iter::repeat(0));
                part.entry_rows.extend(column.iter().zip(marks).map(|(&row, mark)| inside(row, &columns, rows) | mark));
            }
            let first = part.rows.len();
            for &row in rows {
                let local = if self.part[homes[row as usize]] == p {
                    self.column[row as usize]
                } else {
                    let top = self.column[row as usize];
                    (part.nodes.len() + part.outer.partition_point(|&o| o < top)) as u32
                };
                part.rows.push(local);
            }
            let parent = self.supernodes.parents[s];
            if parent != NONE {
                let (columns, below) =
                    (self.supernodes.columns(parent as usize), self.supernodes.rows(parent as usize));
                part.relative.extend(rows.iter().map(|&row| inside(row, &columns, below)));
            }
            let first_child = part.children.len();
            part.children.extend(children[s].iter().map(|&c| {
                let home = self.part[c as usize];
                Child { branch: if home == p { NONE } else { home as u32 }, front: self.front[c as usize] }
            }));
            let update = memory[p].take(rows.len() * rows.len() * square);
            for child in &part.children[first_child..] {
                if child.branch == NONE {
                    let f: &Front = &part.fronts[child.front as usize];
                    memory[p].give(f.update, f.rows.len() * f.rows.len() * square);
                }
            }
            part.fronts.push(Front {
                start: self.column[columns.start as usize] as usize,
                columns: width,
                rows: first..part.rows.len(),
                panel: part.panel_size,
                update,
                entries,
                children: first_child..part.children.len(),
            });
            part.panel_size += (width + rows.len()) * width * square;
            part.update_size = memory[p].size;
        }
    }
}

/// Places update matrices in one buffer: the lowest gap that is large enough.
#[derive(Default)]
struct Shelf {
    /// Taken ranges, rising.
    taken: Vec<(usize, usize)>,
    size: usize,
}

impl Shelf {
    fn take(&mut self, size: usize) -> usize {
        if size == 0 {
            return 0;
        }
        let (mut start, mut at) = (0, 0);
        while at < self.taken.len() && self.taken[at].0 < start + size {
            start = self.taken[at].1;
            at += 1;
        }
        self.taken.insert(at, (start, start + size));
        self.size = self.size.max(start + size);
        start
    }
    fn give(&mut self, start: usize, size: usize) {
        self.taken.retain(|&range| range != (start, start + size));
    }
}
