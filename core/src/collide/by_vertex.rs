//! Lists by vertex, one after the other in memory.

/// Numbers that belong to vertices: a list for each.
#[derive(Clone, Debug, Default)]
pub(super) struct ByVertex {
    numbers: Vec<u32>,
    /// Where lists begin, and where the last one ends.
    starts: Vec<u32>,
}

impl ByVertex {
    /// From pairs of a vertex and a number; lists are in the order of the pairs.
    pub fn new(vertex_count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; vertex_count + 1];
        pairs.clone().for_each(|(vertex, _)| starts[vertex as usize + 1] += 1);
        for v in 0..vertex_count {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut numbers = vec![0; starts[vertex_count] as usize];
        pairs.for_each(|(vertex, number)| {
            numbers[next[vertex as usize] as usize] = number;
            next[vertex as usize] += 1;
        });
        Self { numbers, starts }
    }

    /// The list of a vertex.
    pub fn of(&self, vertex: u32) -> &[u32] {
        &self.numbers[self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize]
    }
}
