//! How stiff a mesh makes bending: the plate stiffness that a hinge stiffness of 1 comes to on a given mesh.

use super::error::MeshError;
use super::tri::TriMesh;
use super::validate::check_size;
use crate::energies::bending::scaled_coefficients;
use crate::vec3::Vec3;

/// Most iterations of conjugate gradients, as a multiple of the number of vertices.
const ITERATIONS: usize = 40;

impl TriMesh {
    /// D/k_b \[1\]: the stiffness D \[J\] with which a flat sheet of this mesh resists bending along `direction`, over the
    /// bending stiffness k_b \[J\] of its hinges; the same for all hinge models, which agree on small angles.
    ///
    /// Hinges are no plate: on right triangles bending along an axis is up to three times stiffer than k_b, and how much
    /// stiffer depends on the diagonals and on how wide a strip is. To get a plate of stiffness D, divide by this factor.
    ///
    /// Measured, not derived: the mesh is bent to a parabola, held there near both ends (a tenth of its length each), and let
    /// go between; the energy in its middle half, over its area, is ½ D κ² of the parabola nearest to it there.
    ///
    /// # Errors
    /// When `direction` has no length, the mesh is not manifold, or too short to have a middle.
    pub fn bending_factor(&self, direction: [f64; 3]) -> Result<f64, MeshError> {
        let along = Vec3::from(direction);
        check_size("length of the direction", along.length())?;
        let along = along * (1.0 / along.length());
        let places: Vec<Vec3<f64>> = self.positions().iter().map(|&p| <[f64; 3]>::from(p).into()).collect();
        let u: Vec<f64> = places.iter().map(|p| p.dot(along)).collect();
        let (low, high) = u.iter().fold((f64::MAX, f64::MIN), |(low, high), &u| (low.min(u), high.max(u)));
        let within = |share: f64, u: f64| (low + high - 2.0 * u).abs() <= share * (high - low);
        let free: Vec<bool> = u.iter().map(|&u| within(0.8, u)).collect();

        let hinges = self.topology()?.hinges;
        let hinges: Vec<_> =
            hinges.iter().map(|ids| (*ids, scaled_coefficients(&ids.map(|p| places[p as usize])))).collect();
        let mut lift: Vec<f64> = u.iter().map(|u| 0.5 * (u - low) * (u - low)).collect();
        relax(&hinges, &free, &mut lift);

        let middle = |ids: &[u32]| within(0.5, ids.iter().map(|&p| u[p as usize]).sum::<f64>() / ids.len() as f64);
        let area: f64 = self.triangles().iter().zip(self.areas()).filter(|(t, _)| middle(*t)).map(|(_, a)| a).sum();
        // Half of a hinge's energy belongs to each of its triangles.
        let energy: f64 = (hinges.iter())
            .map(|(ids, q)| {
                let shares = [[ids[0], ids[1], ids[2]], [ids[0], ids[1], ids[3]]].iter().filter(|t| middle(*t)).count();
                let bent: f64 = (0..4).map(|k| q[k] * lift[ids[k] as usize]).sum();
                0.25 * shares as f64 * bent * bent
            })
            .sum();
        let bend = curvature(u.iter().zip(&lift).filter(|(u, _)| within(0.5, **u)).map(|(u, z)| (u - low, *z)));
        // Held by single rows, the mesh between them just becomes straight.
        if !(area > 0.0 && bend > LEAST && 2.0 * energy > LEAST * area * bend * bend) {
            let expected = "enough triangles along the direction to have a middle";
            return Err(MeshError::BadParameter { name: "bent area of the mesh", value: area, expected });
        }
        Ok(2.0 * energy / (area * bend * bend))
    }
}

/// κ of the parabola a + b u + ½ κ u² nearest to the points (u, z); 0 when they do not determine one.
fn curvature(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let count = points.clone().count() as f64;
    let mean = |f: &dyn Fn(f64, f64) -> f64| points.clone().map(|(u, z)| f(u, z)).sum::<f64>() / count;
    // Of u² only what is left when its own nearest line is taken away counts.
    let (u1, u2) = (mean(&|u, _| u), mean(&|u, _| u * u));
    let tilt = (mean(&|u, _| u * u * u) - u1 * u2) / (u2 - u1 * u1);
    let left = |u: f64| u * u - u2 - tilt * (u - u1);
    2.0 * mean(&|u, z| left(u) * z) / mean(&|u, _| left(u) * left(u))
}

/// The middle of the mesh keeps at least this share of the curvature it was bent to, and resists it at least by this share of a
/// plate's stiffness, unless its ends are too short to hold a slope \[1\].
const LEAST: f64 = 0.2;

/// Most triangles that [`TriMesh::mean_bending_factor`] looks at.
const PATCH: usize = 600;

impl TriMesh {
    /// The mean of [`TriMesh::bending_factor`] along `warp` and across it, of a patch in the middle of the mesh, unfolded into a
    /// plane: good for meshes that are woven alike everywhere. 1 for those too small to have a middle, and where the warp is
    /// perpendicular to the surface.
    pub fn mean_bending_factor(&self, warp: [f64; 3]) -> f64 {
        let Some(patch) = self.unfolded(warp, PATCH) else { return 1.0 };
        match [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].map(|direction| patch.bending_factor(direction)) {
            [Ok(along), Ok(across)] => 0.5 * (along + across),
            [Ok(one), _] | [_, Ok(one)] => one,
            _ => 1.0,
        }
    }
}

/// Minimises ½ Σ (Σ q'ᵢ zᵢ)² over the free heights z, by conjugate gradients.
fn relax(hinges: &[([u32; 4], [f64; 4])], free: &[bool], z: &mut [f64]) {
    let gradient = |z: &[f64], to: &mut [f64]| {
        to.fill(0.0);
        for (ids, q) in hinges {
            let bent: f64 = (0..4).map(|k| q[k] * z[ids[k] as usize]).sum();
            for k in 0..4 {
                to[ids[k] as usize] += q[k] * bent;
            }
        }
        for (value, _) in to.iter_mut().zip(free).filter(|(_, free)| !**free) {
            *value = 0.0;
        }
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut residual = vec![0.0; z.len()];
    gradient(z, &mut residual);
    let mut step = residual.clone();
    let mut product = vec![0.0; z.len()];
    let mut size = dot(&residual, &residual);
    let enough = 1e-20 * size;
    for _ in 0..ITERATIONS * z.len() {
        gradient(&step, &mut product);
        let bent = dot(&step, &product);
        if size <= enough || bent <= 0.0 {
            break;
        }
        let length = size / bent;
        for k in 0..z.len() {
            z[k] -= length * step[k];
            residual[k] -= length * product[k];
        }
        let before = core::mem::replace(&mut size, dot(&residual, &residual));
        for k in 0..z.len() {
            step[k] = residual[k] + size / before * step[k];
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::mesh::{ClothGrid, Diagonals, tube};
    use ultraviolet::DVec3;

    const X: [f64; 3] = [1.0, 0.0, 0.0];

    #[test]
    fn numbers_of_corners_do_not_matter() {
        let mesh = ClothGrid::square(1.0, 24).diagonals(Diagonals::OneWay).build().unwrap().mesh;
        let wanted = mesh.mean_bending_factor(X);
        for turn in 1..3 {
            let turned = mesh.triangles().iter().map(|t| [0, 1, 2].map(|k: usize| t[(k + turn) % 3]));
            let turned = TriMesh::new(mesh.positions().to_vec(), turned.collect::<Vec<_>>()).unwrap();
            let found = turned.mean_bending_factor(X);
            assert!((found / wanted - 1.0).abs() < 1e-6, "{found} for {wanted}");
        }
        // One diagonal a cell: three times as stiff along the axes.
        assert!((wanted / 3.0 - 1.0).abs() < 0.04, "{wanted}");
    }

    #[test]
    fn a_tube_is_as_stiff_as_its_sheet() {
        let (around, along, radius) = (40, 30, 0.033);
        let rolled = tube(radius, 0.11, around, along).unwrap();
        let side = 2.0 * radius * (core::f64::consts::PI / around as f64).sin();
        let flat = |k: usize, i: usize| DVec3::new(side * i as f64, 0.11 * k as f64 / along as f64, 0.0);
        // The same triangles, cut along one line.
        let places: Vec<DVec3> = (0..=along).flat_map(|k| (0..=around).map(move |i| flat(k, i))).collect();
        let triangles = rolled.triangles().iter().map(|t| {
            let last = t.iter().any(|&p| p as usize % around == around - 1);
            t.map(|p| {
                let (k, i) = (p as usize / around, p as usize % around);
                (k * (around + 1) + if last && i == 0 { around } else { i }) as u32
            })
        });
        let sheet = TriMesh::new(places, triangles.collect::<Vec<_>>()).unwrap();
        let up = [0.0, 1.0, 0.0];
        let (found, wanted) = (rolled.mean_bending_factor(up), sheet.mean_bending_factor(up));
        assert!((found / wanted - 1.0).abs() < 0.03, "{found} for {wanted}");
    }

    #[test]
    fn small_meshes_count_as_plates() {
        let mesh = ClothGrid::square(1.0, 2).build().unwrap().mesh;
        assert_eq!(mesh.mean_bending_factor(X), 1.0);
        assert_eq!(mesh.mean_bending_factor([0.0, 1.0, 0.0]), 1.0, "no direction in the surface");
        // A strip has a middle along its length alone.
        for (columns, rows) in [(13, 3), (25, 3), (25, 4), (49, 7)] {
            let strip =
                ClothGrid::new(columns, rows, 1.0, 0.08).diagonals(Diagonals::Alternating).build().unwrap().mesh;
            let found = strip.mean_bending_factor([0.0, 0.0, 1.0]);
            assert!((1.0..4.0).contains(&found), "{columns} x {rows}: {found}");
        }
    }
}
