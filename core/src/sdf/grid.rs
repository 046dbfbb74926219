//! Sampled distances: any closed mesh as a collider, trilinear between the nodes of a regular grid.

use super::round::unit_or_up;
use crate::error::BuildError;
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::mesh::{MeshError, TriMesh};
use crate::vec3::Vec3;

/// A mesh that encloses less than this share of a cube around it is flat but for rounding.
const FLAT: f64 = 1e-12;
/// Squares of coordinates must leave this much room for sums of them.
const ROOM: f64 = 16.0;
/// Roundings of the largest coordinate that a cell must be wide.
const COARSE: f64 = 4.0;

/// Signed distances to a closed mesh at the nodes of a regular grid, in double precision.
#[derive(Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(remote = "Self", deny_unknown_fields)
)]
pub struct DistanceGrid {
    pub(super) origin: [f64; 3],
    pub(super) cell: f64,
    pub(super) nodes: [usize; 3],
    /// x fastest, then y, then z.
    pub(super) values: Vec<f64>,
}

impl DistanceGrid {
    /// Samples the distance to a mesh with `cells` cells along its longest side and two cells of margin.
    ///
    /// Details smaller than a cell are lost: a plate needs a thickness of two cells. Where a mesh intersects itself, what any
    /// of its sheets encloses counts as inside.
    ///
    /// # Errors
    /// When the mesh is not closed, its triangles do not agree on an outside, or `cells` is not within 4 to 256; when the mesh
    /// is flat, or so thin that no node of the grid is inside of it. A mesh that is too large, too small or too far from the
    /// origin for the precision of a solver is refused when a collider is made of it.
    pub fn from_mesh(mesh: &TriMesh, cells: usize) -> Result<Self, BuildError> {
        if !(4..=256).contains(&cells) {
            return Err(BuildError::BadOption { name: "cells", value: cells as f64, expected: "4 to 256" });
        }
        mesh.require_closed()?;
        let grid = super::sample::sample(mesh, cells);
        if grid.values.iter().any(|&value| value < 0.0) {
            return Ok(grid);
        }
        let (volume, size) = (mesh.volume()?, cells as f64 * grid.cell);
        if volume.abs() <= FLAT * size * size * size {
            return Err(MeshError::Flat { volume }.into());
        }
        let expected = "more: no node of the grid is inside the mesh, so thin is it";
        Err(BuildError::BadOption { name: "cells", value: cells as f64, expected })
    }

    /// Whether precision `S` can tell its cells apart, and square its numbers.
    pub(super) fn check_range<S: Real>(&self, row: usize) -> Result<(), BuildError> {
        let refused =
            |quantity, value, expected| Err(BuildError::BadValue { what: "collider", row, quantity, value, expected });
        let farthest = self.bounds().as_flattened().iter().fold(0.0, |farthest: f64, c| farthest.max(c.abs()));
        if !S::from_f64(ROOM * farthest * farthest).is_finite() {
            return refused(
                "largest coordinate of its mesh",
                farthest,
                "a number whose square is finite (scale the mesh)",
            );
        }
        if S::from_f64((self.cell * S::EPSILON.to_f64()).powi(2)) <= S::ZERO {
            return refused("cell of its mesh", self.cell, "a number whose square is above 0 (scale the mesh)");
        }
        if self.cell < COARSE * S::EPSILON.to_f64() * farthest {
            let expected =
                "nearer to 0, where the precision holds its cells (move the mesh there, and the collider by its pose)";
            return refused("largest coordinate of its mesh", farthest, expected);
        }
        Ok(())
    }

    /// Whether it is what sampling could have made.
    #[cfg(feature = "serde")]
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let Self { origin, cell, nodes, values } = self;
        // Four cells at least and 256 at most along the longest side, and two of margin at either end.
        if nodes.iter().any(|&n| !(2..=300).contains(&n)) {
            return Err("a distance grid has 2 to 300 nodes along each axis");
        }
        if nodes.iter().product::<usize>() != values.len() {
            return Err("a distance grid has one value a node");
        }
        if !(cell.is_finite() && *cell > 0.0 && origin.iter().chain(values).all(|number| number.is_finite())) {
            return Err("numbers of a distance grid are finite, and its cells have a size");
        }
        Ok(())
    }

    /// Side of a cell \[m\].
    pub fn cell(&self) -> f64 {
        self.cell
    }
    /// Nodes along each axis.
    pub fn nodes(&self) -> [usize; 3] {
        self.nodes
    }
    /// The corners of the sampled box \[m\].
    pub fn bounds(&self) -> [[f64; 3]; 2] {
        let far = |k: usize| self.origin[k] + self.cell * (self.nodes[k] - 1) as f64;
        [self.origin, [far(0), far(1), far(2)]]
    }

    /// The same samples for lanes of one precision.
    pub(super) fn rounded<S: Real>(&self) -> Samples<S> {
        let [nx, ny, _] = self.nodes;
        let stride = [1, nx, nx * ny];
        let rows = (self.values.iter().enumerate()).map(|(i, &value)| {
            let at = [i % nx, i / nx % ny, i / (nx * ny)];
            let slope = |k: usize| {
                let (back, on) = (usize::from(at[k] > 0), usize::from(at[k] + 1 < self.nodes[k]));
                let apart = (back + on) as f64 * self.cell;
                (self.values[i + on * stride[k]] - self.values[i - back * stride[k]]) / apart
            };
            [value, slope(0), slope(1), slope(2)].map(S::from_f64)
        });
        Samples {
            origin: self.origin.map(S::from_f64),
            inv_cell: S::from_f64(1.0 / self.cell),
            last_cell: self.nodes.map(|n| S::from_f64((n - 2) as f64)),
            far: self.bounds()[1].map(S::from_f64),
            columns: S::from_f64(ny as f64),
            stride: [nx, nx * ny],
            rows: rows.collect(),
        }
    }
}

impl core::fmt::Debug for DistanceGrid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { origin, cell, nodes, .. } = self;
        f.debug_struct("DistanceGrid")
            .field("origin", origin)
            .field("cell", cell)
            .field("nodes", nodes)
            .finish_non_exhaustive()
    }
}

/// A distance grid in the precision of a solver.
#[derive(Clone, Debug)]
pub(super) struct Samples<S> {
    origin: [S; 3],
    far: [S; 3],
    inv_cell: S,
    /// Number of the last cell along each axis.
    last_cell: [S; 3],
    /// Rows of nodes from a node to the next along z.
    columns: S,
    /// Nodes from a node to the next along y, and along z.
    stride: [usize; 2],
    /// φ and ∇φ (by central differences) of every node: interpolated gradients vary smoothly from cell to cell, while the
    /// gradient of interpolated distances jumps.
    rows: Vec<[S; 4]>,
}

impl<S: Real> Samples<S> {
    /// Side of a cell \[m\].
    pub fn cell(&self) -> f64 {
        1.0 / self.inv_cell.to_f64()
    }

    /// How far a ray is from the border of the cell it is in \[m\], if it is inside the box; `sliver` of a cell counts as
    /// the next one already. φ along that way is a cubic.
    pub fn way_through(&self, place: Vec3<f64>, direction: Vec3<f64>, sliver: f64) -> Option<f64> {
        let (p, d): ([f64; 3], [f64; 3]) = (place.into(), direction.into());
        let mut way = f64::INFINITY;
        for k in 0..3 {
            let u = (p[k] - self.origin[k].to_f64()) * self.inv_cell.to_f64();
            if !(u >= -sliver && u <= self.last_cell[k].to_f64() + 1.0 + sliver) {
                return None;
            }
            let border = if d[k] > 0.0 { (u + sliver).floor() + 1.0 } else { (u - sliver).ceil() - 1.0 };
            if d[k] != 0.0 {
                way = way.min((border - u) / d[k]);
            }
        }
        Some(way * self.cell())
    }

    /// How far a ray is from the box \[m\], around which there is nothing: 0 inside, infinite where it passes.
    pub fn way_to(&self, place: Vec3<f64>, direction: Vec3<f64>) -> f64 {
        let (p, d): ([f64; 3], [f64; 3]) = (place.into(), direction.into());
        let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
        for k in 0..3 {
            let (low, high) = (self.origin[k].to_f64() - p[k], self.far[k].to_f64() - p[k]);
            if d[k] != 0.0 {
                let (a, b) = (low / d[k], high / d[k]);
                (enter, leave) = (enter.max(a.min(b)), leave.min(a.max(b)));
            } else if low > 0.0 || high < 0.0 {
                return f64::INFINITY;
            }
        }
        if enter > leave || leave < 0.0 { f64::INFINITY } else { enter }
    }

    /// φ and the direction of ∇φ, both interpolated between the eight nodes around a point.
    ///
    /// Outside the box, with c the box's nearest point: φ = √(|p − c|² + φ(c)²), which no surface point is closer than,
    /// because the box is convex and the surface inside it.
    #[inline(always)]
    pub fn eval<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        let (low, high) = (Vec3::splat(self.origin), Vec3::splat(self.far));
        let c = Vec3::new(p.x.min(high.x).max(low.x), p.y.min(high.y).max(low.y), p.z.min(high.z).max(low.z));
        let (phi, slope) = self.interpolate((c - low) * L::splat(self.inv_cell));
        let away = p - c;
        let away_sq = away.length_sq();
        let outside = away_sq.gt(L::zero());
        // Sampled slopes are of length 1, nearly: the way to the nearest point seen from c, after the way to c.
        let inner = phi.max(L::zero());
        let (_, n) = unit_or_up(Vec3::select(outside, away + slope * inner, slope));
        if !L::any(outside) {
            return (phi, n);
        }
        (L::select(outside, (away_sq + inner * inner).sqrt(), phi), n)
    }

    /// φ and ∇φ at grid coordinates u. Cells and fractions on lanes; then lane after lane, because the numbers of a node
    /// travel together, four at a time.
    #[inline(always)]
    fn interpolate<L: Lane<Scalar = S>>(&self, u: Vec3<L>) -> (L, Vec3<L>) {
        // Numbers of 2ⁿ and more, n the digits of the precision, have no fraction: adding it rounds to a whole number, and
        // leaves that number in the low bits.
        let whole = S::ONE / S::EPSILON;
        let (x, y, z) = (self.cell_of(u.x, 0), self.cell_of(u.y, 1), self.cell_of(u.z, 2));
        let (t, s, r, one) = (u.x - x, u.y - y, u.z - z, L::one());
        let mut place = [Octet([S::ZERO; BLOCK]); 7];
        (x + L::splat(whole)).store(&mut place[0], 0);
        (y + z * L::splat(self.columns) + L::splat(whole)).store(&mut place[1], 0);
        // Shares of the cell's four edges along x: sums of products wait for less than lines between lines do.
        t.store(&mut place[2], 0);
        ((one - s) * (one - r)).store(&mut place[3], 0);
        (s * (one - r)).store(&mut place[4], 0);
        ((one - s) * r).store(&mut place[5], 0);
        (s * r).store(&mut place[6], 0);
        let mut found = [Octet([S::ZERO; BLOCK]); 4];
        let ([to_y, to_z], bits) = (self.stride, whole.bits());
        for lane in 0..L::WIDTH {
            let [i, row] = [place[0].0[lane].bits() - bits, place[1].0[lane].bits() - bits];
            let first = row as usize * to_y + i as usize;
            let a = self.edge(first, place[3].0[lane]);
            let b = self.edge(first + to_y, place[4].0[lane]);
            let c = self.edge(first + to_z, place[5].0[lane]);
            let d = self.edge(first + to_z + to_y, place[6].0[lane]);
            let near = (a[0] + b[0]) + (c[0] + d[0]);
            let far = (a[1] + b[1]) + (c[1] + d[1]);
            let row = near + (far - near) * S::Quad::splat(place[2].0[lane]);
            row.store(&mut found[lane / 2], 4 * (lane % 2));
        }
        let [phi, x, y, z] = L::from_rows(&found, &[0, 1, 2, 3, 4, 5, 6, 7], 0);
        (phi, Vec3::new(x, y, z))
    }

    /// The cell that holds coordinate u of an axis, 0 where u is no number. On the border of two cells either will do.
    #[inline(always)]
    fn cell_of<L: Lane<Scalar = S>>(&self, u: L, axis: usize) -> L {
        let whole = L::splat(S::ONE / S::EPSILON);
        let inside = (u - L::constant(0.5)).max(L::zero()).min(L::splat(self.last_cell[axis]));
        (inside + whole) - whole
    }

    /// The rows of node `start` and of the next along x, times a share.
    #[inline(always)]
    fn edge(&self, start: usize, share: S) -> [S::Quad; 2] {
        let (rows, share) = (&self.rows[start..start + 2], S::Quad::splat(share));
        [S::Quad::from(rows[0]) * share, S::Quad::from(rows[1]) * share]
    }
}
