//! Explicit methods are stable only on soft constraints: this softens a scene to what a substep can carry.
//!
//! Gershgorin: with stiffness k, gradients g, inverse masses w and at most d constraints on any of its particles, a
//! constraint adds at most k d Σ w|g|² to the largest eigenvalue ω² of M⁻¹K. Symplectic Euler is stable for h ω < 2; the
//! bound here keeps h ω ≤ 1, since gradients turn and stretch while time runs.

use pliant::core::body::{Body, Table, Tables};
use pliant::core::constraint::Constraint;
use pliant::core::kinds::triangle_volume::corner_gradients;
use pliant::core::kinds::{Attachment, Dihedral, Distance, DistanceRange, IsometricBending, TetVolume};
use pliant::core::vec3::Vec3;

use crate::scene::Scene;

/// Softens every body of a scene for so many substeps a frame; returns how many constraints that changed.
pub fn soften_scene(scene: &mut Scene, substeps: usize) -> usize {
    let h = scene.dt / substeps as f64;
    scene.bodies.iter_mut().map(|body| soften(body, h)).sum()
}

/// Raises every compliance below what is stable at the substep `h` \[s\]; returns how many rows that changed.
fn soften(body: &mut Body, h: f64) -> usize {
    let mut degree = vec![0; body.particle_count()];
    let Tables { tet_volume, dihedral, isometric, range, distance, attachment } = body.tables();
    count(tet_volume, &mut degree);
    count(dihedral, &mut degree);
    count(isometric, &mut degree);
    count(range, &mut degree);
    count(distance, &mut degree);
    count(attachment, &mut degree);
    if body.inflation().is_some() {
        // The volume is one more constraint on every vertex of the surface.
        degree.iter_mut().for_each(|degree| *degree += 1);
    }
    if body.tethers().slack.is_some() {
        degree.iter_mut().for_each(|degree| *degree += TETHERS_EACH);
    }
    let points: Vec<Point> = (body.positions().iter().zip(body.masses()).zip(degree))
        .map(|((&x, &mass), degree)| Point { x: x.into(), w: 1.0 / mass, degree })
        .collect();
    let others = usize::from(raise_volume(body, &points, h)) + raise_tethers(body, &points, h);
    let tables = body.tables_mut();
    others
        + raise::<TetVolume, 4, 1>(&mut tables.tet_volume, &points, h)
        + raise::<Dihedral, 4, 2>(&mut tables.dihedral, &points, h)
        + raise::<IsometricBending, 4, 4>(&mut tables.isometric, &points, h)
        + raise::<DistanceRange, 2, 3>(&mut tables.range, &points, h)
        + raise::<Distance, 2, 1>(&mut tables.distance, &points, h)
        + raise::<Attachment, 1, 3>(&mut tables.attachment, &points, h)
}

/// Tethers on a particle, at most: it hangs on its two nearest pins.
const TETHERS_EACH: usize = 2;

/// The volume of a balloon: one constraint whose gradient is the sum of its triangles' shares.
///
/// Its pressure p = −C/α also has a geometric stiffness p ∇²V, which bulges the surface where nothing holds it. The links
/// that hold it were softened to k ≈ 1/(2 h² d w); p ∇²V stays below that when α ≥ 2 h² d w |C| |∇²V|.
fn raise_volume(body: &mut Body, points: &[Point], h: f64) -> bool {
    let mut grad = vec![Vec3::zero(); points.len()];
    let mut curvature = vec![0.0; points.len()];
    let mut volume = 0.0;
    let inside = |ids: &&[u32; 3]| ids.iter().all(|&i| (i as usize) < points.len());
    for ids in body.triangles().iter().filter(inside) {
        let x = ids.map(|i| points[i as usize].x);
        let origin = points[0].x;
        let shares = corner_gradients(&x, origin);
        volume += (x[0] - origin).dot(shares[0]);
        for (k, &i) in ids.iter().enumerate() {
            grad[i as usize] = grad[i as usize] + shares[k];
            // ∂²V/∂xᵢ∂xⱼ = [xₖ − xₗ]×/6 with k and l opposite the edge ij, and |xₖ − xₗ| ≤ |xₖ − xᵢ| + |xₗ − xᵢ|: every
            // triangle at i adds its two sides there to the row's bound.
            let (next, last) = (x[(k + 1) % 3] - x[k], x[(k + 2) % 3] - x[k]);
            curvature[i as usize] += (next.length() + last.length()) / 6.0;
        }
    }
    let weight: f64 = points.iter().zip(&grad).map(|(p, g)| p.w * g.length_sq()).sum();
    let degree = points.iter().map(|p| p.degree).max().unwrap_or(1) as f64;
    let bulge = points.iter().zip(&curvature).map(|(p, c)| p.w * c).fold(0.0, f64::max);
    let Some(inflation) = body.inflation_mut() else { return false };
    let missing = (inflation.factor * inflation.rest - volume).abs();
    let least = h * h * degree * weight.max(2.0 * bulge * missing);
    let stiff = inflation.compliance < least;
    if stiff {
        inflation.compliance = least;
    }
    stiff
}

/// Tethers share one compliance: the least that the lightest particle carries. Returns how many there may be.
fn raise_tethers(body: &mut Body, points: &[Point], h: f64) -> usize {
    let least = points.iter().map(|p| h * h * p.degree as f64 * p.w).fold(0.0, f64::max);
    let each = TETHERS_EACH.min(body.pins().len());
    let tethers = body.tethers_mut();
    if tethers.slack.is_none() || tethers.compliance >= least {
        return 0;
    }
    tethers.compliance = least;
    points.len() * each
}

/// Directions without a plane in common \[m\].
const NUDGES: [[f64; 3]; 4] = [[1.0, 2.0, -1.0], [-2.0, 1.0, 1.0], [1.0, 3.0, 2.0], [2.0, -3.0, 1.0]];

struct Point {
    x: Vec3<f64>,
    w: f64,
    degree: usize,
}

fn count<const N: usize, const P: usize>(table: &Table<N, P>, degree: &mut [usize]) {
    for &i in table.ids.iter().flatten() {
        if let Some(degree) = degree.get_mut(i as usize) {
            *degree += 1;
        }
    }
}

fn raise<K: Constraint<N, P>, const N: usize, const P: usize>(
    table: &mut Table<N, P>,
    points: &[Point],
    h: f64,
) -> usize {
    let mut changed = 0;
    for ((ids, parameters), compliance) in table.ids.iter().zip(&table.parameters).zip(&mut table.compliance) {
        // A row that names a particle that does not exist is refused, with its name, when the model is built.
        if ids.iter().any(|&i| i as usize >= points.len()) {
            continue;
        }
        let corners = ids.map(|i| &points[i as usize]);
        // A little out of place: bending has no gradient where it is exactly flat.
        let mut x = corners.map(|p| p.x);
        for (k, x) in x.iter_mut().enumerate() {
            let nudge = NUDGES[k % NUDGES.len()].map(|c| c * 1e-6);
            *x = *x + Vec3::from(nudge);
        }
        let (_, grad) = K::eval(parameters, &x);
        let weight: f64 = corners.iter().zip(&grad).map(|(p, g)| p.w * g.length_sq()).sum();
        let degree = corners.iter().map(|p| p.degree).max().unwrap_or(1);
        // h² k d Σ w|g|² ≤ 1
        let least = h * h * degree as f64 * weight;
        if *compliance < least {
            *compliance = least;
            changed += 1;
        }
    }
    changed
}
