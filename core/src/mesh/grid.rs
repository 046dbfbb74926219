//! Rectangular cloth on a regular grid, with its three families of springs.

use super::error::MeshError;
use super::tri::TriMesh;
use super::validate::{check_at_least, check_size, check_vertex_count};
use ultraviolet::DVec3;

/// Which diagonals of the grid's cells resist shearing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Diagonals {
    /// Both diagonals of every cell.
    #[default]
    Both,
    /// One diagonal a cell, its direction alternating like a chequerboard. The triangles alternate too.
    Alternating,
    /// One diagonal a cell, all in the same direction: cheap, but the cloth shears unevenly.
    OneWay,
}

/// Settings of a rectangular cloth; [`build`](Self::build) makes it.
///
/// Vertex `j · columns + i` lies at `(i · width/(columns − 1), 0, j · height/(rows − 1))`:
///
/// ```text
///   o--------- x, columns       structural  (i,j)–(i+1,j), (i,j)–(i,j+1)
///   |  0 - 1 - 2                shear       (i,j)–(i+1,j+1), (i+1,j)–(i,j+1)
///   |  | \ | \ |                bending     (i,j)–(i+2,j), (i,j)–(i,j+2)
///   |  3 - 4 - 5
///   z, rows                     seen from above: normals point up, to +y
/// ```
///
/// ```
/// use pliant_core::mesh::{ClothGrid, Diagonals};
///
/// let flag = ClothGrid::new(31, 21, 1.5, 1.0)
///     .diagonals(Diagonals::Alternating)
///     .bending(false)
///     .build()?;
/// assert_eq!(flag.mesh.vertex_count(), 31 * 21);
/// assert_eq!(flag.shear.len(), 30 * 20);
/// # Ok::<(), pliant_core::mesh::MeshError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct ClothGrid {
    columns: usize,
    rows: usize,
    width: f64,
    height: f64,
    diagonals: Diagonals,
    bending: bool,
}

impl ClothGrid {
    /// A cloth of `columns` × `rows` vertices, `width` along x and `height` along z \[m\], with both diagonals and with
    /// bending springs.
    pub fn new(columns: usize, rows: usize, width: f64, height: f64) -> Self {
        Self { columns, rows, width, height, diagonals: Diagonals::default(), bending: true }
    }

    /// A square cloth of `n` × `n` vertices and side `side` \[m\].
    pub fn square(side: f64, n: usize) -> Self {
        Self::new(n, n, side, side)
    }

    /// Chooses the diagonals that resist shearing.
    #[must_use]
    pub fn diagonals(mut self, diagonals: Diagonals) -> Self {
        self.diagonals = diagonals;
        self
    }

    /// Turns the skip-one springs, which resist bending, on or off.
    #[must_use]
    pub fn bending(mut self, bending: bool) -> Self {
        self.bending = bending;
        self
    }

    /// Makes the cloth.
    ///
    /// # Errors
    /// [`MeshError::BadParameter`] for fewer than two columns or rows or a size that is not positive and finite,
    /// [`MeshError::TooManyVertices`] for more than 32-bit ids can name.
    pub fn build(&self) -> Result<Cloth, MeshError> {
        let (columns, rows) = (self.columns, self.rows);
        check_at_least("columns", columns, 2, "at least 2 vertices")?;
        check_at_least("rows", rows, 2, "at least 2 vertices")?;
        check_size("width", self.width)?;
        check_size("height", self.height)?;
        check_vertex_count(columns.checked_mul(rows))?;

        let place = |at: usize, count: usize, size: f64| size * at as f64 / (count - 1) as f64;
        let positions = cells(columns, rows).map(|(i, j)| {
            let (x, z) = (place(i, columns, self.width), place(j, rows, self.height));
            DVec3::new(x, 0.0, z)
        });
        let triangles = cells(columns - 1, rows - 1).flat_map(|cell| self.cell_triangles(cell));
        Ok(Cloth {
            mesh: TriMesh::new(positions, triangles)?,
            structural: self.structural(),
            shear: self.shear(),
            bending: self.bending_pairs(),
            columns,
            rows,
        })
    }

    /// The two triangles of a cell, on either side of its diagonal.
    fn cell_triangles(&self, cell @ (i, j): (usize, usize)) -> [[u32; 3]; 2] {
        let [a, b] = [self.id(i, j), self.id(i + 1, j)];
        let [c, d] = [self.id(i, j + 1), self.id(i + 1, j + 1)];
        if self.diagonals == Diagonals::Alternating && !is_even(cell) {
            [[a, c, b], [b, c, d]]
        } else {
            [[a, c, d], [a, d, b]]
        }
    }

    fn structural(&self) -> Vec<[u32; 2]> {
        let along_x = cells(self.columns - 1, self.rows).map(|(i, j)| [self.id(i, j), self.id(i + 1, j)]);
        let along_z = cells(self.columns, self.rows - 1).map(|(i, j)| [self.id(i, j), self.id(i, j + 1)]);
        along_x.chain(along_z).collect()
    }

    fn shear(&self) -> Vec<[u32; 2]> {
        let cells = || cells(self.columns - 1, self.rows - 1);
        let first = cells()
            .filter(|&cell| self.diagonals != Diagonals::Alternating || is_even(cell))
            .map(|(i, j)| [self.id(i, j), self.id(i + 1, j + 1)]);
        let second = cells()
            .filter(|&cell| match self.diagonals {
                Diagonals::Both => true,
                Diagonals::Alternating => !is_even(cell),
                Diagonals::OneWay => false,
            })
            .map(|(i, j)| [self.id(i + 1, j), self.id(i, j + 1)]);
        first.chain(second).collect()
    }

    fn bending_pairs(&self) -> Vec<[u32; 2]> {
        if !self.bending {
            return Vec::new();
        }
        let along_x = cells(self.columns - 2, self.rows).map(|(i, j)| [self.id(i, j), self.id(i + 2, j)]);
        let along_z = cells(self.columns, self.rows - 2).map(|(i, j)| [self.id(i, j), self.id(i, j + 2)]);
        along_x.chain(along_z).collect()
    }

    /// The id of vertex (i, j); `build` has checked that it fits.
    fn id(&self, i: usize, j: usize) -> u32 {
        (j * self.columns + i) as u32
    }
}

/// All (i, j) row by row.
fn cells(columns: usize, rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).flat_map(move |j| (0..columns).map(move |i| (i, j)))
}

/// The chequerboard: whether a cell's diagonal runs the first way, (i, j) to (i+1, j+1).
fn is_even((i, j): (usize, usize)) -> bool {
    (i + j).is_multiple_of(2)
}

/// A rectangular cloth made by [`ClothGrid`]: a mesh and pairs of vertices to connect by springs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloth {
    /// The surface; normals point to +y.
    pub mesh: TriMesh,
    /// Neighbours: all pairs along x row by row, then all along z row by row.
    pub structural: Vec<[u32; 2]>,
    /// Diagonals: all (i, j)–(i+1, j+1) row by row, then all (i+1, j)–(i, j+1).
    pub shear: Vec<[u32; 2]>,
    /// Next but one: all along x row by row, then all along z. Empty if bending was turned off.
    pub bending: Vec<[u32; 2]>,
    /// How many vertices there are along x.
    pub columns: usize,
    /// How many vertices there are along z.
    pub rows: usize,
}

impl Cloth {
    /// The id of the vertex in column `i` and row `j`, or `None` outside the grid.
    ///
    /// ```
    /// use pliant_core::mesh::ClothGrid;
    ///
    /// let cloth = ClothGrid::square(1.0, 10).build()?;
    /// let corners = [cloth.vertex(0, 0), cloth.vertex(9, 0)];
    /// assert_eq!(corners, [Some(0), Some(9)]);
    /// assert_eq!(cloth.vertex(10, 0), None);
    /// # Ok::<(), pliant_core::mesh::MeshError>(())
    /// ```
    pub fn vertex(&self, i: usize, j: usize) -> Option<u32> {
        (i < self.columns && j < self.rows).then(|| (j * self.columns + i) as u32)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_by_a_hundred_has_59002_springs() {
        let cloth = ClothGrid::square(1.0, 100).build().unwrap();
        assert_eq!(cloth.structural.len(), 19_800);
        assert_eq!(cloth.shear.len(), 19_602);
        assert_eq!(cloth.bending.len(), 19_600);
        let total = cloth.structural.len() + cloth.shear.len() + cloth.bending.len();
        assert_eq!(total, 59_002);
        assert_eq!(cloth.mesh.triangle_count(), 2 * 99 * 99);
    }

    #[test]
    fn lists_come_in_the_documented_order() {
        let cloth = ClothGrid::new(3, 2, 2.0, 1.0).build().unwrap();
        assert_eq!(cloth.structural, [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]);
        assert_eq!(cloth.shear, [[0, 4], [1, 5], [1, 3], [2, 4]]);
        assert_eq!(cloth.bending, [[0, 2], [3, 5]]);
        assert_eq!(cloth.mesh.positions()[5], DVec3::new(2.0, 0.0, 1.0));
    }

    #[test]
    fn diagonals_follow_the_choice() {
        let shear = |diagonals| {
            let cloth = ClothGrid::square(1.0, 3).diagonals(diagonals).build();
            cloth.unwrap().shear
        };
        assert_eq!(shear(Diagonals::OneWay), [[0, 4], [1, 5], [3, 7], [4, 8]]);
        assert_eq!(shear(Diagonals::Alternating), [[0, 4], [4, 8], [2, 4], [4, 6]]);
        let off = ClothGrid::square(1.0, 3).bending(false).build().unwrap();
        assert!(off.bending.is_empty());
    }

    #[test]
    fn triangles_face_up_and_use_the_single_diagonals() {
        for diagonals in [Diagonals::Both, Diagonals::Alternating, Diagonals::OneWay] {
            let grid = ClothGrid::new(4, 5, 3.0, 2.0).diagonals(diagonals);
            let cloth = grid.build().unwrap();
            let p = cloth.mesh.positions();
            for &[a, b, c] in cloth.mesh.triangles() {
                let [a, b, c] = [a, b, c].map(|v| p[v as usize]);
                assert!((b - a).cross(c - a).y > 0.0);
            }
            assert!((cloth.mesh.area() - 6.0).abs() < 1e-12);

            let edges = cloth.mesh.topology().unwrap().edges;
            let structural_and_diagonals = cloth.structural.len() + 3 * 4;
            assert_eq!(edges.len(), structural_and_diagonals);
            if diagonals != Diagonals::Both {
                for &[a, b] in &cloth.shear {
                    assert!(edges.contains(&[a.min(b), a.max(b)]));
                }
            }
        }
    }

    #[test]
    fn bad_settings_are_named() {
        let refused = |grid: ClothGrid| match grid.build() {
            Err(MeshError::BadParameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(ClothGrid::new(1, 5, 1.0, 1.0)), "columns");
        assert_eq!(refused(ClothGrid::new(5, 0, 1.0, 1.0)), "rows");
        assert_eq!(refused(ClothGrid::new(5, 5, -1.0, 1.0)), "width");
        assert_eq!(refused(ClothGrid::new(5, 5, 1.0, f64::NAN)), "height");
        for huge in [1 << 17, usize::MAX] {
            let error = ClothGrid::square(1.0, huge).build().unwrap_err();
            assert!(matches!(error, MeshError::TooManyVertices { .. }));
        }
    }
}
