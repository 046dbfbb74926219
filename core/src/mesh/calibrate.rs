//! How stiff a mesh makes bending: the plate stiffness that a hinge stiffness of 1 comes to on a given mesh.

use super::error::MeshError;
use super::tri::TriMesh;
use super::validate::check_size;
use crate::energies::bending::scaled_coefficients;
use crate::vec3::Vec3;
use ultraviolet::DVec3;

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
        if !(area > 0.0 && energy > 0.0 && bend > 0.0) {
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

/// Most triangles that [`TriMesh::mean_bending_factor`] looks at.
const PATCH: usize = 600;

impl TriMesh {
    /// The mean of [`TriMesh::bending_factor`] along two perpendicular directions, of a patch in the middle of the mesh laid
    /// flat: good for meshes that are woven alike everywhere. 1 for those too small to have a middle.
    pub fn mean_bending_factor(&self) -> f64 {
        let positions = self.positions();
        let centre_of = |t: &[u32; 3]| t.iter().fold(DVec3::zero(), |sum, &p| sum + positions[p as usize]) / 3.0;
        let (low, high) = (positions.iter())
            .fold((DVec3::broadcast(f64::MAX), DVec3::broadcast(f64::MIN)), |(low, high), &p| {
                (low.min_by_component(p), high.max_by_component(p))
            });
        let middle = 0.5 * (low + high);
        let mut order: Vec<usize> = (0..self.triangle_count()).collect();
        let away = |t: usize| (centre_of(&self.triangles()[t]) - middle).mag_sq();
        order.sort_by(|&a, &b| away(a).total_cmp(&away(b)).then(a.cmp(&b)));
        // Curved meshes have nothing in their middle: the triangle nearest to it becomes the middle of a patch.
        let Some(seed) = order.first().map(|&t| centre_of(&self.triangles()[t])) else { return 1.0 };
        let away = |t: usize| (centre_of(&self.triangles()[t]) - seed).mag_sq();
        order.sort_by(|&a, &b| away(a).total_cmp(&away(b)).then(a.cmp(&b)));
        order.truncate(PATCH);

        let [a, b, c] = self.triangles()[order[0]].map(|p| positions[p as usize]);
        let (along, normal) = (b - a, (b - a).cross(c - a));
        if normal.mag_sq() == 0.0 {
            return 1.0;
        }
        let across = normal.cross(along);
        let triangles = order.iter().map(|&t| self.triangles()[t]);
        let Ok(patch) = Self::new(positions.to_vec(), triangles.collect::<Vec<_>>()) else { return 1.0 };
        let patch = patch.compacted().0;
        let found = [along, across].map(|direction| patch.bending_factor(direction.into()));
        match found {
            [Ok(first), Ok(second)] => 0.5 * (first + second),
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
