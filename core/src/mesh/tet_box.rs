//! Solid boxes cut into tets.

use super::error::MeshError;
use super::tet::TetMesh;
use super::validate::{check_at_least, check_size, check_vertex_count};
use ultraviolet::DVec3;

/// How each cell of a box is cut into tets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Split {
    /// Five: one regular tet inside and one at each of four corners. Neighbouring cells are mirror images, so that
    /// the diagonals on their common face agree. The fewest tets, and no preferred direction on the whole.
    #[default]
    Five,
    /// Six around the cell's long diagonal (Kuhn). All cells are alike and all tets congruent in a cube, but every
    /// diagonal leans the same way.
    Six,
}

/// A cell's corners are numbered by bits: x = 1, y = 2, z = 4.
///
/// ```text
///       2 ------ 3         y
///      /|       /|         |
///     6 ------ 7 |         |
///     | 0 -----|-1         o---- x
///     |/       |/         /
///     4 ------ 5         z
/// ```
///
/// Even cells cut off corners 1, 2, 4 and 7, odd ones 0, 3, 5 and 6.
const FIVE: [[[usize; 4]; 5]; 2] = [
    [[0, 5, 3, 6], [1, 3, 0, 5], [2, 0, 3, 6], [4, 5, 0, 6], [7, 5, 6, 3]],
    [[1, 2, 4, 7], [0, 1, 2, 4], [3, 2, 1, 7], [5, 1, 4, 7], [6, 4, 2, 7]],
];

/// The six paths 0 → one axis → two axes → 7; where the axes are an odd permutation, the middle corners are swapped.
const SIX: [[usize; 4]; 6] = [
    [0, 1, 3, 7], // x y z
    [0, 2, 6, 7], // y z x
    [0, 4, 5, 7], // z x y
    [0, 5, 1, 7], // x z y
    [0, 3, 2, 7], // y x z
    [0, 6, 4, 7], // z y x
];

/// A solid box with one corner at the origin and the opposite one at `size` \[m\], of `cells` cells along x, y and z.
///
/// Vertex `(k · (ny + 1) + j) · (nx + 1) + i` is the i-th along x, j-th along y and k-th along z.
///
/// ```
/// use pliant_core::mesh::{Split, tet_box};
///
/// let beam = tet_box([8, 2, 2], [1.0, 0.2, 0.2], Split::Five)?;
/// assert_eq!(beam.tet_count(), 8 * 2 * 2 * 5);
/// assert!((beam.volume() - 0.04).abs() < 1e-12);
/// # Ok::<(), pliant_core::mesh::MeshError>(())
/// ```
///
/// # Errors
/// [`MeshError::BadParameter`] for a direction without cells or a size that is not positive and finite,
/// [`MeshError::TooManyVertices`] for more than 32-bit ids can name.
pub fn tet_box(cells: [usize; 3], size: impl Into<[f64; 3]>, split: Split) -> Result<TetMesh, MeshError> {
    let size = DVec3::from(size.into());
    for (name, count) in ["cells along x", "cells along y", "cells along z"].into_iter().zip(cells) {
        check_at_least(name, count, 1, "at least 1")?;
    }
    check_size("size along x", size.x)?;
    check_size("size along y", size.y)?;
    check_size("size along z", size.z)?;
    let vertex_count = cells.iter().try_fold(1_usize, |product, n| product.checked_mul(n.checked_add(1)?));
    check_vertex_count(vertex_count)?;

    let [nx, ny, nz] = cells;
    let positions = lattice([nx + 1, ny + 1, nz + 1]).map(|[i, j, k]| {
        let share = |at: usize, count: usize| at as f64 / count as f64;
        size * DVec3::new(share(i, nx), share(j, ny), share(k, nz))
    });
    let id = |i: usize, j: usize, k: usize| ((k * (ny + 1) + j) * (nx + 1) + i) as u32;
    let tets = lattice(cells).flat_map(|[i, j, k]| {
        let pattern: &[[usize; 4]] = match split {
            Split::Five => &FIVE[(i + j + k) % 2],
            Split::Six => &SIX,
        };
        let corner = move |bits: usize| id(i + (bits & 1), j + (bits >> 1 & 1), k + (bits >> 2));
        pattern.iter().map(move |tet| tet.map(corner))
    });
    TetMesh::new(positions, tets)
}

/// All (i, j, k), i fastest.
fn lattice([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nz).flat_map(move |k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    #[test]
    fn both_splits_fill_the_box_and_fit_together() {
        for (split, per_cell) in [(Split::Five, 5), (Split::Six, 6)] {
            for cells in [[1, 1, 1], [2, 1, 1], [3, 4, 2]] {
                let [nx, ny, nz] = cells;
                let solid = tet_box(cells, [3.0, 2.0, 1.5], split).unwrap();
                assert_eq!(solid.tet_count(), per_cell * nx * ny * nz);
                assert_eq!(solid.vertex_count(), (nx + 1) * (ny + 1) * (nz + 1));
                assert!((solid.volume() - 9.0).abs() < 1e-12);

                // Were a diagonal to differ between neighbours, faces inside the box would count as surface.
                let (surface, _) = solid.surface_mesh();
                assert_eq!(surface.triangle_count(), 4 * (nx * ny + ny * nz + nz * nx));
                assert!((surface.area() - 2.0 * (6.0 + 3.0 + 4.5)).abs() < 1e-12);
                assert!((surface.volume().unwrap() - 9.0).abs() < 1e-12);
                // V − E + F − K = 1 for a ball.
                let (e, f) = (solid.edges().len(), solid.faces().len());
                assert_eq!(solid.vertex_count() + f, 1 + e + solid.tet_count());
            }
        }
    }

    #[test]
    fn vertices_are_numbered_x_first() {
        let solid = tet_box([2, 3, 4], [2.0, 3.0, 4.0], Split::Six).unwrap();
        assert_eq!(solid.positions()[1], DVec3::new(1.0, 0.0, 0.0));
        assert_eq!(solid.positions()[3], DVec3::new(0.0, 1.0, 0.0));
        assert_eq!(solid.positions()[12], DVec3::new(0.0, 0.0, 1.0));
        assert_eq!(solid.positions()[59], DVec3::new(2.0, 3.0, 4.0));
    }

    #[test]
    fn bad_boxes_are_named() {
        let error = tet_box([1, 0, 1], [1.0; 3], Split::Five).unwrap_err();
        let expected = MeshError::BadParameter { name: "cells along y", value: 0.0, expected: "at least 1" };
        assert_eq!(error, expected);
        let error = tet_box([1, 1, 1], [1.0, 1.0, 0.0], Split::Six).unwrap_err();
        assert!(matches!(error, MeshError::BadParameter { name: "size along z", .. }));
        for huge in [2000, usize::MAX] {
            let error = tet_box([huge; 3], [1.0; 3], Split::Five).unwrap_err();
            assert!(matches!(error, MeshError::TooManyVertices { .. }));
        }
    }
}
