//! Softens a scene to what a method can carry: explicit methods are stable only on soft constraints, methods that minimise
//! an energy know no rigid ones, and all others know no elastic elements: [`trusses`] stand for those. Clusters and constraints
//! stand for each other ([`clusters`]) where a method knows only one of them.
//!
//! Gershgorin: with stiffness k, gradients g, inverse masses w and at most d constraints on any of its particles, a
//! constraint adds at most k d Σ w|g|² to the largest eigenvalue ω² of M⁻¹K. Symplectic Euler is stable for h ω < 2; the
//! bound here keeps h ω ≤ 1, since gradients turn and stretch while time runs.
//!
//! An implicit method sees a rigid constraint as a spring that outweighs inertia 10⁵ times over: α = 10⁻⁵ h² Σ w|g|². Links
//! that carry the weight of n particles then stretch by about n g h² 10⁻⁵, and matrices stay within what single precision
//! can factor.

use pliant::core::body::{Body, Table, Tables};
use pliant::core::constraint::Constraint;
use pliant::core::kinds::triangle_volume::corner_gradients;
use pliant::core::kinds::{
    Attachment, Dihedral, Distance, DistanceRange, IsometricBending, StretchLimit, TetVolume, TriangleStrain,
};
use pliant::core::vec3::Vec3;

use crate::clusters;
use crate::scene::Scene;
use crate::solvers::{Carries, SolverEntry, Work};
use crate::trusses;

/// Softens every body of a scene to what a method carries; returns how many constraints that changed.
pub fn soften_scene(scene: &mut Scene, solver: &SolverEntry, work: Work) -> usize {
    let linked = if solver.clusters { 0 } else { scene.bodies.iter_mut().map(clusters::link).sum() };
    let limit = match solver.carries {
        Carries::Rigid => return linked + scene.bodies.iter_mut().map(trusses::replace).sum::<usize>(),
        Carries::Clusters => return scene.bodies.iter_mut().map(clusters::cover).sum(),
        Carries::Compliant => Limit::Finite { h: scene.dt },
        Carries::Stable => {
            scene.bodies.iter_mut().for_each(|body| _ = trusses::replace(body));
            Limit::Stable { h: scene.dt / work.passes() as f64 }
        }
    };
    linked + scene.bodies.iter_mut().map(|body| soften(body, limit)).sum::<usize>()
}

/// Inertia over the compliance of a constraint that stands for a rigid one.
const NEARLY_RIGID: f64 = 1e-5;

/// The least compliance of a constraint.
#[derive(Clone, Copy)]
enum Limit {
    /// What is stable at the substep h \[s\].
    Stable { h: f64 },
    /// Nothing rigid, nothing else changed; h is the step \[s\].
    Finite { h: f64 },
}

impl Limit {
    /// The least that a constraint of this compliance may have, with d constraints on a particle and Σ w|g|².
    fn least(self, compliance: f64, degree: f64, weight: f64) -> f64 {
        match self {
            // h² k d Σ w|g|² ≤ 1
            Self::Stable { h } => h * h * degree * weight,
            Self::Finite { h } if compliance == 0.0 => NEARLY_RIGID * h * h * weight,
            Self::Finite { .. } => 0.0,
        }
    }
}

/// Raises every compliance below its limit; returns how many rows that changed.
fn soften(body: &mut Body, limit: Limit) -> usize {
    let mut degree = vec![0; body.particle_count()];
    // Elastic elements have a finite stiffness, and explicit methods have trusses instead.
    let Tables { tet_volume, dihedral, isometric, cubic_shell, triangle_strain, stretch_limit, .. } = body.tables();
    let Tables { range, distance, attachment, .. } = body.tables();
    count(tet_volume, &mut degree);
    count(dihedral, &mut degree);
    count(isometric, &mut degree);
    count(cubic_shell, &mut degree);
    count(triangle_strain, &mut degree);
    count(stretch_limit, &mut degree);
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
    let others = usize::from(raise_volume(body, &points, limit)) + raise_tethers(body, &points, limit);
    let tables = body.tables_mut();
    others
        + raise::<TetVolume, 4, 1>(&mut tables.tet_volume, &points, limit)
        + raise::<Dihedral, 4, 2>(&mut tables.dihedral, &points, limit)
        + raise::<IsometricBending, 4, 5>(&mut tables.isometric, &points, limit)
        + raise_by(&mut tables.cubic_shell, &points, limit, |&[q0, q1, q2, q3, ..], x| {
            // Its quadratic part, which is all of it around a flat rest shape.
            IsometricBending::eval(&[q0, q1, q2, q3, 0.0], x).1
        })
        + raise::<TriangleStrain, 3, 7>(&mut tables.triangle_strain, &points, limit)
        + raise::<StretchLimit, 3, 4>(&mut tables.stretch_limit, &points, limit)
        + raise::<DistanceRange, 2, 3>(&mut tables.range, &points, limit)
        + raise::<Distance, 2, 1>(&mut tables.distance, &points, limit)
        + raise::<Attachment, 1, 3>(&mut tables.attachment, &points, limit)
}

/// Tethers on a particle, at most: it hangs on its two nearest pins.
const TETHERS_EACH: usize = 2;

/// The volume of a balloon: one constraint whose gradient is the sum of its triangles' shares.
///
/// Its pressure p = −C/α also has a geometric stiffness p ∇²V, which bulges the surface where nothing holds it. The links
/// that hold it were softened to k ≈ 1/(2 h² d w); p ∇²V stays below that when α ≥ 2 h² d w |C| |∇²V|.
fn raise_volume(body: &mut Body, points: &[Point], limit: Limit) -> bool {
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
    let least = limit.least(inflation.compliance, degree, weight.max(2.0 * bulge * missing));
    let stiff = inflation.compliance < least;
    if stiff {
        inflation.compliance = least;
    }
    stiff
}

/// Tethers share one compliance: the least that the lightest particle carries. Returns how many there may be.
fn raise_tethers(body: &mut Body, points: &[Point], limit: Limit) -> usize {
    let each = TETHERS_EACH.min(body.pins().len());
    let tethers = body.tethers_mut();
    let least = points.iter().map(|p| limit.least(tethers.compliance, p.degree as f64, p.w)).fold(0.0, f64::max);
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
    limit: Limit,
) -> usize {
    raise_by(table, points, limit, |parameters, x| K::eval(parameters, x).1)
}

/// The same by the gradient of a constraint that is as stiff as a row.
fn raise_by<const N: usize, const P: usize>(
    table: &mut Table<N, P>,
    points: &[Point],
    limit: Limit,
    gradient: impl Fn(&[f64; P], &[Vec3<f64>; N]) -> [Vec3<f64>; N],
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
        let grad = gradient(parameters, &x);
        let weight: f64 = corners.iter().zip(&grad).map(|(p, g)| p.w * g.length_sq()).sum();
        let degree = corners.iter().map(|p| p.degree).max().unwrap_or(1);
        let least = limit.least(*compliance, degree as f64, weight);
        if *compliance < least {
            *compliance = least;
            changed += 1;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant::core::body::{Bending, Role};
    use pliant::core::mesh::tube;

    #[test]
    fn no_hinge_stays_rigid_for_methods_that_minimise() {
        let mesh = tube(0.1, 0.3, 8, 4).expect("a tube");
        let hinges = |bending| {
            let mut body = Body::surface(&mesh, bending).expect("a surface").with_compliance(Role::Stretch, 1e-3);
            let changed = soften(&mut body, Limit::Finite { h: 1.0 / 60.0 });
            let Tables { dihedral, cubic_shell, .. } = body.tables();
            assert!(dihedral.compliance.iter().chain(&cubic_shell.compliance).all(|alpha| *alpha > 0.0));
            changed
        };
        assert_eq!(hinges(Bending::CubicShell), hinges(Bending::Dihedral));
    }
}
