//! The graph of particles that meet in a constraint, and breadth-first levels on it.

use std::collections::VecDeque;

/// Neighbours of every particle, each list sorted and without repeats (compressed rows).
#[derive(Clone, Debug, Default)]
pub struct Graph {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

/// Breadth-first levels: how many links each particle is away from the nearest source.
pub(super) struct Levels {
    /// Level by particle.
    pub level: Vec<u32>,
    /// Particles in the order they were reached (Cuthill–McKee order).
    pub order: Vec<u32>,
}

impl Graph {
    /// Joins every two members of every element; ids must be below `count`.
    pub fn from_elements<'a>(count: usize, elements: impl Iterator<Item = &'a [u32]> + Clone) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for element in elements.clone() {
            for &a in element {
                starts[a as usize + 1] += element.len() as u32 - 1;
            }
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut cursor = starts.clone();
        let mut all = vec![0_u32; starts[count] as usize];
        for element in elements {
            for (i, &a) in element.iter().enumerate() {
                for (j, &b) in element.iter().enumerate() {
                    if i != j {
                        all[cursor[a as usize] as usize] = b;
                        cursor[a as usize] += 1;
                    }
                }
            }
        }
        let mut graph = Self { starts: vec![0], neighbours: Vec::with_capacity(all.len()) };
        for i in 0..count {
            let list = &mut all[starts[i] as usize..starts[i + 1] as usize];
            list.sort_unstable();
            let before = graph.neighbours.len();
            for &b in list.iter() {
                if graph.neighbours.len() == before || graph.neighbours.last() != Some(&b) {
                    graph.neighbours.push(b);
                }
            }
            graph.starts.push(graph.neighbours.len() as u32);
        }
        graph
    }

    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
    /// Whether there is no particle.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The particles that meet `i` in a constraint.
    pub fn neighbours(&self, i: usize) -> &[u32] {
        &self.neighbours[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// Levels from the sources outward; a piece without a source starts at one of its own ends.
    pub(super) fn levels(&self, sources: &[u32]) -> Levels {
        let mut found = Levels { level: vec![u32::MAX; self.len()], order: Vec::with_capacity(self.len()) };
        self.flood(sources, &mut found);
        for i in 0..self.len() {
            if found.level[i] == u32::MAX {
                // The particle farthest from any start is at an end of its piece: long thin levels, short interfaces.
                let before = found.order.len();
                self.flood(&[i as u32], &mut found);
                let end = found.order.last().copied().unwrap_or(i as u32);
                for &p in &found.order[before..] {
                    found.level[p as usize] = u32::MAX;
                }
                found.order.truncate(before);
                self.flood(&[end], &mut found);
            }
        }
        found
    }

    fn flood(&self, sources: &[u32], found: &mut Levels) {
        let mut queue = VecDeque::with_capacity(sources.len());
        for &s in sources {
            if found.level[s as usize] == u32::MAX {
                found.level[s as usize] = 0;
                queue.push_back(s);
            }
        }
        while let Some(a) = queue.pop_front() {
            found.order.push(a);
            for &b in self.neighbours(a as usize) {
                if found.level[b as usize] == u32::MAX {
                    found.level[b as usize] = found.level[a as usize] + 1;
                    queue.push_back(b);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_links_from_the_nearest_source() {
        let edges = [[0_u32, 1], [1, 2], [2, 3], [3, 4], [5, 6], [1, 2]];
        let graph = Graph::from_elements(8, edges.iter().map(|e| e.as_slice()));
        assert_eq!(graph.neighbours(2), [1, 3]);
        let levels = graph.levels(&[0, 4]);
        assert_eq!(levels.level[..5], [0, 1, 2, 1, 0]);
        // The other pieces start at an end of their own, and nobody is forgotten.
        assert_eq!(levels.level[7], 0);
        assert_eq!(levels.level[5] + levels.level[6], 1);
        let mut order = levels.order.clone();
        order.sort_unstable();
        assert_eq!(order, (0..8).collect::<Vec<_>>());
    }
}
