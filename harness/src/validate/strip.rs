//! A strip that is pushed onto the floor until its tip slips, against the elastica's friction.

use std::path::Path;

use pliant::backends::AnyBackend;
use pliant::core::body::{Bending, Body, Role};
use pliant::core::mesh::TriMesh;
use pliant::core::model::Model;
use pliant::core::solver::Solver as _;
use pliant::{Collider, ColliderForm, Newton, NewtonOptions, Penalty};

use super::Check;
use super::table::Table;
use crate::failure::Failure;
use crate::instances::Instances as _;
use crate::solvers::backend;

/// The shortenings at which the strip is asked to slip: a gentle bow to a loop.
const SHORTENINGS: [f64; 4] = [0.05, 0.13, 0.21, 0.33];
/// Segments of the strip.
const SEGMENTS: usize = 40;

/// `stickslip_curve`: rows of ε and μ*, the friction below which a tip slips at a relative shortening ε.
///
/// The friction of a row is given, and the ε of the slip is looked for; the figure is how far μ* is off there.
pub fn slips(path: &Path) -> Result<Vec<Check>, Failure> {
    let table = Table::read(path)?;
    let rows: Vec<[f64; 2]> = (0..table.len())
        .map(|row| Ok([table.number(row, "eps")?, table.number(row, "mu_crit")?]))
        .collect::<Result<_, Failure>>()?;
    if rows.len() < 2 || !rows.is_sorted_by(|a, b| a[0] < b[0]) {
        return Err(Failure::at(path, "needs two rows or more, ordered by eps"));
    }
    let within = |epsilon: &f64| (rows[0][0]..=rows[rows.len() - 1][0]).contains(epsilon);
    let checks = SHORTENINGS.into_iter().filter(within).map(|epsilon| {
        let friction = critical_friction(&rows, epsilon);
        let found = shortening_at_slip(friction)?;
        let off = (critical_friction(&rows, found) / friction - 1.0).abs();
        Ok(Check::measured(format!("slip at a shortening of {epsilon}: friction, newton"), off, 0.05))
    });
    checks.collect()
}

/// μ* at a shortening, between the rows of the table.
fn critical_friction(rows: &[[f64; 2]], epsilon: f64) -> f64 {
    let after = rows.iter().position(|row| row[0] >= epsilon).unwrap_or(rows.len() - 1).max(1);
    let [[a, low], [b, high]] = [rows[after - 1], rows[after]];
    low + (high - low) * (epsilon - a) / (b - a)
}

/// A strip of length 1 clamped upright at its top, its tip on the floor: the top is pushed down until the tip slips.
///
/// The tip holds as long as its reaction stays in the friction cone: the clamped and pinned elastica says until when.
fn shortening_at_slip(friction: f64) -> Result<f64, Failure> {
    let clamp = 3 * SEGMENTS as u32..3 * SEGMENTS as u32 + 6;
    // Bending moves the tip by the slightest stretch otherwise.
    let body = Body::surface(&strip()?, Bending::Isometric)?.with_mass(1e-3);
    let body = body.with_compliance(Role::Stretch, 1e-6).with_compliance(Role::Bend, 1.0).pinned(clamp.clone());
    // Bent a little, so that it knows where to go.
    let body = body.posed(|[_, y, z]| [1e-3 * (y.min(1.0) * (1.0 - y.min(1.0)).powi(2) * 6.75), y, z]);
    let (mut model, mut particles) = Model::<f64>::build(&[&body])?;
    model.colliders_mut().push(Collider::plane([0.0, 1.0, 0.0]).at([0.0, -1e-3, 0.0]).with_friction(friction))?;
    (model.environment.gravity, model.environment.damping) = ([0.0; 3], 10.0);
    let stiff = ColliderForm::Energy(Penalty::Buffered { stiffness: 1e5, buffer: 1e-3 });
    let options = NewtonOptions { colliders: stiff, iterations: 100, tolerance: 1e-9, ..NewtonOptions::default() };
    let mut solver = f64::newton(Newton::new(options));
    let on: AnyBackend<f64> = backend("scalar", None)?;
    solver.prepare(&model)?;
    let (push, dt) = (1e-3, 0.05);
    let mut epsilon = 0.0;
    // A tip that moved by this much \[m\] has slipped.
    while particles.x.x[0].abs() <= 5e-3 && epsilon < 0.5 {
        epsilon += push;
        for pin in clamp.clone() {
            let [x, y, z] = particles.x.get(pin as usize);
            model.move_pin(pin, [x, y - push, z])?;
        }
        solver.step(&model, &mut particles, dt, &on)?;
    }
    Ok(epsilon)
}

/// Three columns with mirrored diagonals: a strip that is its own mirror image does not twist when it bends. One row more than
/// segments, for the clamp.
fn strip() -> Result<TriMesh, Failure> {
    let h = 1.0 / SEGMENTS as f64;
    let place = |i: usize| [0.0, h, 2.0 * h].map(|z| [0.0, i as f64 * h, z]);
    let positions: Vec<[f64; 3]> = (0..=SEGMENTS + 1).flat_map(place).collect();
    let triangles = (0..=SEGMENTS as u32).flat_map(|i| {
        let [a, b, c] = [0, 1, 2].map(|j| 3 * i + j);
        [[a, b, a + 3], [b, b + 3, a + 3], [b, c, c + 3], [b, c + 3, b + 3]]
    });
    TriMesh::new(positions, triangles).map_err(|error| Failure::Input(error.to_string()))
}
