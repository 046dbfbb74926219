//! Quadratic bending under a small load: the discrete answers, which are not those of plate theory.

use pliant::Newton;
use pliant::core::body::{Bending, Table};
use pliant::core::columns::Columns;
use pliant::prelude::*;
use pliant_harness::instances::Instances;

/// A grid of `columns` × `rows` cells of side h, its first vertex at (x, 0, 0); the diagonals all run the same way, or
/// alternate like a chequerboard.
fn grid(columns: usize, rows: usize, h: f64, x: f64, alternating: bool) -> TriMesh {
    let at = |i: usize, j: usize| (j * (columns + 1) + i) as u32;
    let places = (0..=rows).flat_map(|j| (0..=columns).map(move |i| [x + i as f64 * h, 0.0, j as f64 * h]));
    let mut triangles = Vec::new();
    for j in 0..rows {
        for i in 0..columns {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)];
            let cut = if alternating && (i + j) % 2 == 1 { [[a, b, c], [b, d, c]] } else { [[a, b, d], [a, d, c]] };
            triangles.extend(cut);
        }
    }
    TriMesh::new(places.collect::<Vec<_>>(), triangles).expect("a grid")
}

/// How far every vertex sinks under a load of 1 N/m², bending stiffness 1, the vertices of `held` fixed.
fn sink(mesh: &TriMesh, held: impl Fn([f64; 3]) -> bool) -> Vec<f64> {
    let mut body = Body::surface(mesh, Bending::Isometric).expect("flat").with_compliance(Role::Bend, 1.0);
    // Bending alone: the load is vertical and nothing else moves.
    body.tables_mut().distance = Table::default();
    let places = body.positions().to_vec();
    let pins: Vec<u32> = (0..places.len() as u32).filter(|&p| held(places[p as usize])).collect();
    // So light that inertia does not count within a step of a second.
    let body = body.with_masses(vec![1e-9; places.len()]).pinned(pins);
    let (mut model, mut particles) = Model::<f64>::build(&[&body]).expect("sound");
    model.environment.gravity = [0.0; 3];
    let shares = mesh.vertex_masses(1.0).expect("areas");
    model.environment.forces = Some(shares.iter().map(|a| [0.0, -a, 0.0]).collect::<Columns<f64>>());
    let mut newton = f64::newton(Newton::default());
    newton.prepare(&model).expect("hinges");
    newton.step(&model, &mut particles, 1.0, &AnyBackend::scalar()).expect("a step");
    particles.x.y.iter().map(|y| -y).collect()
}

#[test]
fn a_cantilever_strip_sinks_as_its_mesh_must() {
    for (n, known) in [(16, 0.056_276_8), (64, 0.051_817_8)] {
        let h = 1.0 / n as f64;
        let mesh = grid(n + 1, n / 4, h, -h, false);
        let sunk = sink(&mesh, |[x, _, _]| x < 0.5 * h);
        let tips: Vec<f64> = (0..=n / 4).map(|j| sunk[j * (n + 2) + n + 1]).collect();
        let mean = tips.iter().sum::<f64>() / tips.len() as f64;
        assert!((mean / known - 1.0).abs() < 1e-3, "{n} columns: {mean} (from {tips:?}), known {known}");
    }
}

#[test]
fn a_supported_square_sinks_as_its_mesh_must() {
    let n = 32;
    for (alternating, known) in [(false, 0.000_754_921), (true, 0.001_008_69)] {
        let mesh = grid(n, n, 1.0 / n as f64, 0.0, alternating);
        let edge = |c: f64| !(1e-9..=1.0 - 1e-9).contains(&c);
        let sunk = sink(&mesh, |[x, _, z]| edge(x) || edge(z));
        let middle = sunk[(n / 2) * (n + 1) + n / 2];
        assert!((middle / known - 1.0).abs() < 1e-3, "alternating {alternating}: {middle}, known {known}");
    }
}
