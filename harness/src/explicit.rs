//! Explicit methods are stable only on soft constraints: this softens a scene to what a substep can carry.
//!
//! Gershgorin: with stiffness k, gradients g, inverse masses w and at most d constraints on any of its particles, a
//! constraint adds at most k d Σ w|g|² to the largest eigenvalue ω² of M⁻¹K. Symplectic Euler is stable for h ω < 2; the
//! bound here keeps h ω ≤ 1, since gradients turn and stretch while time runs.

use pliant::core::body::{Body, Table, Tables};
use pliant::core::constraint::Constraint;
use pliant::core::kinds::{Attachment, Dihedral, Distance, DistanceRange, IsometricBending, TetVolume};
use pliant::core::vec3::Vec3;

/// Raises every compliance below what is stable at the substep `h` \[s\]; returns how many rows that changed.
pub fn soften(body: &mut Body, h: f64) -> usize {
    let mut degree = vec![0; body.particle_count()];
    let Tables { tet_volume, dihedral, isometric, range, distance, attachment } = body.tables();
    count(tet_volume, &mut degree);
    count(dihedral, &mut degree);
    count(isometric, &mut degree);
    count(range, &mut degree);
    count(distance, &mut degree);
    count(attachment, &mut degree);
    let points: Vec<Point> = (body.positions().iter().zip(body.masses()).zip(degree))
        .map(|((&x, &mass), degree)| Point { x: x.into(), w: 1.0 / mass, degree })
        .collect();
    let tables = body.tables_mut();
    raise::<TetVolume, 4, 1>(&mut tables.tet_volume, &points, h)
        + raise::<Dihedral, 4, 2>(&mut tables.dihedral, &points, h)
        + raise::<IsometricBending, 4, 4>(&mut tables.isometric, &points, h)
        + raise::<DistanceRange, 2, 3>(&mut tables.range, &points, h)
        + raise::<Distance, 2, 1>(&mut tables.distance, &points, h)
        + raise::<Attachment, 1, 3>(&mut tables.attachment, &points, h)
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
