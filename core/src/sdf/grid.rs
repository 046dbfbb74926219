//! Sampled distances: any closed mesh as a collider, trilinear between the nodes of a regular grid.

use crate::error::BuildError;
use crate::lane::{BLOCK, Lane, Octet, Real};
use crate::mesh::TriMesh;
use crate::vec3::Vec3;

/// Signed distances to a closed mesh at the nodes of a regular grid, in double precision.
#[derive(Clone, PartialEq)]
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
    /// When the mesh is not closed, its triangles do not agree on an outside, or `cells` is not within 4 to 256.
    pub fn from_mesh(mesh: &TriMesh, cells: usize) -> Result<Self, BuildError> {
        if !(4..=256).contains(&cells) {
            return Err(BuildError::BadOption { name: "cells", value: cells as f64, expected: "4 to 256" });
        }
        mesh.require_closed()?;
        Ok(super::sample::sample(mesh, cells))
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
        let mut octets = vec![Octet([S::ZERO; BLOCK]); self.values.len().div_ceil(2)];
        for (i, row) in rows.enumerate() {
            octets[i / 2].0[4 * (i % 2)..][..4].copy_from_slice(&row);
        }
        Samples {
            origin: self.origin.map(S::from_f64),
            inv_cell: S::from_f64(1.0 / self.cell),
            last: self.nodes.map(|n| S::from_f64((n - 1) as f64)),
            far: self.bounds()[1].map(S::from_f64),
            nodes: self.nodes,
            rows: octets,
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
    /// Number of the last node along each axis.
    last: [S; 3],
    nodes: [usize; 3],
    /// φ and ∇φ (by central differences) of every node, two nodes an octet: interpolated gradients vary smoothly from cell to cell, while the
    /// gradient of interpolated distances jumps.
    rows: Vec<Octet<S>>,
}

impl<S: Real> Samples<S> {
    /// φ and the direction of ∇φ, both interpolated between the eight nodes around a point.
    ///
    /// Outside the box, with c the box's nearest point: φ = √(|p − c|² + φ(c)²), which no surface point is closer than,
    /// because the box is convex and the surface inside it.
    #[inline(always)]
    pub fn eval<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        let (low, high) = (Vec3::splat(self.origin), Vec3::splat(self.far));
        let c = Vec3::new(p.x.min(high.x).max(low.x), p.y.min(high.y).max(low.y), p.z.min(high.z).max(low.z));
        let (phi, slope) = self.interpolate((c - low) * L::splat(self.inv_cell));
        let n = unit_or_up(slope);
        let away = p - c;
        let away_sq = away.length_sq();
        let outside = away_sq.gt(L::zero());
        if !L::any(outside) {
            return (phi, n);
        }
        let inner = phi.max(L::zero());
        let beyond = (away_sq + inner * inner).sqrt();
        (L::select(outside, beyond, phi), Vec3::select(outside, unit_or_up(away + n * inner), n))
    }

    /// The rows at grid coordinates u. Lane after lane: the rows of a node travel together, four numbers at a time.
    #[inline(always)]
    fn interpolate<L: Lane<Scalar = S>>(&self, u: Vec3<L>) -> (L, Vec3<L>) {
        let mut place = [Octet([S::ZERO; BLOCK]); 3];
        u.x.min(L::splat(self.last[0])).store(&mut place[0], 0);
        u.y.min(L::splat(self.last[1])).store(&mut place[1], 0);
        u.z.min(L::splat(self.last[2])).store(&mut place[2], 0);
        let mut found = [Octet([S::ZERO; BLOCK]); 4];
        let [nx, ny, _] = self.nodes;
        for lane in 0..L::WIDTH {
            let (mut at, mut f) = ([0; 3], [S::Quad::zero(); 3]);
            for k in 0..3 {
                // The cast cuts off the fraction, and turns NaN into 0.
                let cell = (place[k].0[lane].to_f64() as i32).min(self.nodes[k] as i32 - 2);
                f[k] = S::Quad::splat(place[k].0[lane] - S::from_f64(f64::from(cell)));
                at[k] = cell as usize;
            }
            let first = (at[2] * ny + at[1]) * nx + at[0];
            let near = mix(self.edge(first, f[0]), self.edge(first + nx, f[0]), f[1]);
            let far = mix(self.edge(first + nx * ny, f[0]), self.edge(first + nx * ny + nx, f[0]), f[1]);
            let mut row = Octet([S::ZERO; BLOCK]);
            mix(near, far, f[2]).store(&mut row, 0);
            for k in 0..4 {
                found[k].0[lane] = row.0[k];
            }
        }
        let phi = L::load(&found[0], 0);
        (phi, Vec3::new(L::load(&found[1], 0), L::load(&found[2], 0), L::load(&found[3], 0)))
    }

    /// The row between node `start` and the next along x.
    #[inline(always)]
    fn edge(&self, start: usize, t: S::Quad) -> S::Quad {
        let next = start + 1;
        let a = S::Quad::load(&self.rows[start / 2], 4 * (start % 2));
        mix(a, S::Quad::load(&self.rows[next / 2], 4 * (next % 2)), t)
    }
}

/// a + (b − a) t.
#[inline(always)]
fn mix<L: Lane>(a: L, b: L, t: L) -> L {
    a + (b - a) * t
}

/// v/|v|; up where v has no length.
#[inline(always)]
fn unit_or_up<L: Lane>(v: Vec3<L>) -> Vec3<L> {
    let length = v.length();
    let long = length.gt(L::zero());
    let inverse = L::one() / L::select(long, length, L::one());
    Vec3::select(long, v * inverse, Vec3::new(L::zero(), L::one(), L::zero()))
}
