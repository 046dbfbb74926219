//! Grouping: overlapping clusters all over a body, from the places of its particles alone.

use std::collections::BTreeMap;

use crate::error::BuildError;

/// How particles are put into clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Grouping {
    /// One cluster around every occupied cell of a cubic lattice.   \[Rivers07\]
    Lattice {
        /// Side of a cell \[m\].
        cell: f64,
        /// How many cells a cluster reaches beyond its own, in every direction; 0 for clusters that do not overlap.
        reach: u32,
    },
    /// Balls around particles that keep a distance from each other.
    Regions {
        /// Distance between the centres of regions, at least \[m\].
        spacing: f64,
        /// Radius of a region, at least the spacing: then every particle is in one \[m\].
        radius: f64,
    },
}

type Cell = [i64; 3];

impl Grouping {
    /// The particles of every cluster, sorted.
    pub(super) fn groups(&self, places: &[[f64; 3]]) -> Result<Vec<Vec<u32>>, BuildError> {
        let bad = |name, value, expected| Err(BuildError::BadOption { name, value, expected });
        let positive = |value: f64| value.is_finite() && value > 0.0;
        match *self {
            Self::Lattice { cell, .. } if !positive(cell) => bad("cell", cell, "a finite number above 0"),
            Self::Lattice { cell, reach } => {
                let cells = Cells::new(places, cell);
                Ok(cells.occupied.keys().map(|&middle| cells.around(middle, i64::from(reach))).collect())
            }
            Self::Regions { spacing, .. } if !positive(spacing) => bad("spacing", spacing, "a finite number above 0"),
            Self::Regions { spacing, radius } if !(radius.is_finite() && radius >= spacing) => {
                bad("radius", radius, "a finite number, the spacing or more")
            }
            Self::Regions { spacing, radius } => {
                let cells = Cells::new(places, radius);
                let near = |p: u32, reach: f64| {
                    let middle = places[p as usize];
                    let apart = move |q: &u32| {
                        (0..3).map(|k| (places[*q as usize][k] - middle[k]).powi(2)).sum::<f64>() <= reach * reach
                    };
                    cells.around(cells.of(middle), 1).into_iter().filter(apart).collect::<Vec<_>>()
                };
                let mut taken = vec![false; places.len()];
                let mut groups = Vec::new();
                for p in 0..places.len() as u32 {
                    if !taken[p as usize] {
                        near(p, spacing).into_iter().for_each(|q| taken[q as usize] = true);
                        groups.push(near(p, radius));
                    }
                }
                Ok(groups)
            }
        }
    }
}

/// Particles by cell, in a fixed order.
struct Cells {
    occupied: BTreeMap<Cell, Vec<u32>>,
    origin: [f64; 3],
    side: f64,
}

impl Cells {
    fn new(places: &[[f64; 3]], side: f64) -> Self {
        let low = |k: usize| places.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min);
        // Half a cell of room: particles on a lattice of the same spacing do not sit on the walls between cells.
        let origin = core::array::from_fn(|k| low(k) - 0.5 * side);
        let mut cells = Self { occupied: BTreeMap::new(), origin, side };
        for (p, &place) in (0..).zip(places) {
            cells.occupied.entry(cells.of(place)).or_default().push(p);
        }
        cells
    }
    fn of(&self, place: [f64; 3]) -> Cell {
        core::array::from_fn(|k| ((place[k] - self.origin[k]) / self.side).floor() as i64)
    }
    fn around(&self, [x, y, z]: Cell, reach: i64) -> Vec<u32> {
        let mut found = Vec::new();
        for i in x.saturating_sub(reach)..=x.saturating_add(reach) {
            for j in y.saturating_sub(reach)..=y.saturating_add(reach) {
                let row = [i, j, z.saturating_sub(reach)]..=[i, j, z.saturating_add(reach)];
                found.extend(self.occupied.range(row).flat_map(|(_, particles)| particles));
            }
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(n: i32) -> Vec<[f64; 3]> {
        (0..n * n * n).map(|i| [i % n, i / n % n, i / n / n].map(|c| 0.1 * f64::from(c))).collect()
    }

    #[test]
    fn a_lattice_of_the_particles_own_spacing_has_a_cluster_around_each() {
        let groups = Grouping::Lattice { cell: 0.1, reach: 1 }.groups(&cube(4)).expect("a cell above 0");
        assert_eq!(groups.len(), 64);
        let mut sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        sizes.dedup();
        assert_eq!(sizes, [8, 12, 18, 27], "corners, edges, faces, inside");
        let apart = Grouping::Lattice { cell: 0.2, reach: 0 }.groups(&cube(4)).expect("a cell above 0");
        assert_eq!(apart.iter().map(Vec::len).sum::<usize>(), 64, "every particle once");
    }

    #[test]
    fn regions_cover_every_particle_and_overlap() {
        let places = cube(6);
        let groups =
            Grouping::Regions { spacing: 0.15, radius: 0.2 }.groups(&places).expect("a radius above the spacing");
        let mut count = vec![0; places.len()];
        for &p in groups.iter().flatten() {
            count[p as usize] += 1;
        }
        assert!(count.iter().all(|&c| c > 0), "{count:?}");
        assert!(count.iter().any(|&c| c > 1) && groups.len() < places.len() / 2);
    }

    #[test]
    fn lengths_that_mean_nothing_are_refused() {
        for grouping in [
            Grouping::Lattice { cell: 0.0, reach: 1 },
            Grouping::Lattice { cell: f64::NAN, reach: 1 },
            Grouping::Regions { spacing: -1.0, radius: 1.0 },
            Grouping::Regions { spacing: 0.2, radius: 0.1 },
            Grouping::Regions { spacing: 0.2, radius: f64::INFINITY },
        ] {
            assert!(matches!(grouping.groups(&cube(2)), Err(BuildError::BadOption { .. })), "{grouping:?}");
        }
    }
}
