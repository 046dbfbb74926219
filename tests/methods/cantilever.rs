//! A sheet held at one end sags under its own weight as elastic plates do, whatever the model, the mesh and the method.

use pliant::core::body::{Bending, Body, Role};
use pliant::core::columns::Particles;
use pliant::core::mesh::TriMesh;
use pliant::core::model::Model;
use pliant::{Acceleration, Newton, NewtonOptions, Projective, ProjectiveOptions, XpbdOn, XpbdOptions};
use pliant_harness::instances::Instances;

use crate::simd;

/// Γ = weight per area · L³/D, and drop over reach of the tip.
const KNOWN: [(f64, f64); 3] = [(1.0, 0.124_562), (10.0, 1.066_802), (100.0, 5.888_105)];
/// Areal density \[kg/m²\]; with 9.81 m/s² and L = 1 m the weight per area.
const DENSITY: f64 = 0.2;
/// Compliance of the links along edges \[m/N\]: a strip stretches by less than a thousandth.
const LINKS: f64 = 1e-3;
/// Substeps of XPBD over the time scale of its fastest hinge.
const SMALLNESS: f64 = 0.12;

/// A strip of length 1 m and two cells wide, a cell being four times as long as wide: near the clamp a strip cannot curve
/// across, over about its width, and a narrow one does not notice. The clamp is the middle of the first cell: the hinges at its far end then
/// stand for the first cell of the free length as the others do for theirs, and errors are of second order.
fn strip(cells: usize) -> TriMesh {
    let h = 1.0 / (cells as f64 - 0.5);
    let at = |i: usize, j: usize| (3 * i + j) as u32;
    let places = (0..=cells).flat_map(|i| (0..3).map(move |j| [(i as f64 - 0.5) * h, 0.0, 0.25 * j as f64 * h]));
    let mut triangles = Vec::new();
    for i in 0..cells {
        for j in 0..2 {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)];
            // Alternating diagonals: the strip is its own mirror image, and does not twist.
            triangles.extend(if (i + j) % 2 == 1 { [[a, b, c], [b, d, c]] } else { [[a, b, d], [a, d, c]] });
        }
    }
    TriMesh::new(places.collect::<Vec<_>>(), triangles).expect("a strip")
}

fn cantilever(cells: usize, gamma: f64, bending: Bending) -> (Model<f64>, Particles<f64>) {
    let mesh = strip(cells);
    // Calibrated on a longer piece of the same weave, so that its middle is free of its ends.
    let factor = strip(100).bending_factor([1.0, 0.0, 0.0]).expect("a strip");
    let stiffness = DENSITY * 9.81 / gamma / factor;
    let body = Body::surface(&mesh, bending).expect("a strip");
    let body = body.with_masses(mesh.vertex_masses(DENSITY).expect("areas"));
    let body = body.with_compliance(Role::Stretch, LINKS).with_compliance(Role::Bend, 1.0 / stiffness);
    Model::build(&[&body.pinned(0..6)]).expect("a model")
}

/// Drop over reach of the tip's middle.
fn slope(x: &Particles<f64>) -> f64 {
    let [reach, drop, _] = x.x.get(x.x.len() - 2);
    -drop / reach
}

fn newton(cells: usize, gamma: f64, bending: Bending) -> f64 {
    let (model, mut x) = cantilever(cells, gamma, bending);
    settle(&model, &mut x);
    slope(&x)
}

fn settle(model: &Model<f64>, x: &mut Particles<f64>) {
    let on = simd();
    let mut solver = f64::newton(Newton::new(NewtonOptions { iterations: 200, ..NewtonOptions::default() }));
    solver.prepare(model).expect("prepared");
    // Implicit Euler with steps as long as the slowest motion takes: at rest after some of them.
    for _ in 0..12 {
        solver.step(model, x, 1.0, &on).expect("a step");
    }
}

#[test]
fn newton_finds_the_elastica() {
    for (gamma, known) in KNOWN {
        let found = newton(50, gamma, Bending::Dihedral);
        println!("Γ {gamma}: {found:.6}, known {known}, off {:+.3} %", 100.0 * (found / known - 1.0));
        assert!((found / known - 1.0).abs() < 0.02, "Γ {gamma}: {found}, known {known}");
    }
}

#[test]
fn models_agree_on_a_flat_rest_shape() {
    for (bending, cases) in [(Bending::Isometric, 0..3), (Bending::Cotangent, 2..3), (Bending::CubicShell, 2..3)] {
        for (gamma, known) in KNOWN[cases].iter().copied() {
            let found = newton(50, gamma, bending);
            println!("{bending:?} Γ {gamma}: {found:.6}, off {:+.3} %", 100.0 * (found / known - 1.0));
            assert!((found / known - 1.0).abs() < 0.02, "{bending:?}, Γ {gamma}: {found}, known {known}");
        }
    }
}

#[test]
fn finer_strips_come_nearer() {
    for (gamma, _) in KNOWN {
        let [a, b, c] = [10, 20, 40].map(|cells| newton(cells, gamma, Bending::Dihedral));
        println!("Γ {gamma}: {a:.6} {b:.6} {c:.6}, order {:.2}", ((a - b) / (b - c)).abs().log2());
        // Halved cells at least halve what is left: first order or better.
        assert!((b - c).abs() <= 0.5 * (a - b).abs(), "Γ {gamma}: {a}, {b}, {c}");
    }
}

#[test]
fn projective_dynamics_finds_the_same() {
    for (gamma, _) in KNOWN {
        let wanted = newton(50, gamma, Bending::Dihedral);
        let (model, mut x) = cantilever(50, gamma, Bending::Dihedral);
        let on = simd();
        let options = ProjectiveOptions {
            iterations: 3000,
            acceleration: Acceleration::Lbfgs(8),
            tolerance: 1e-8,
            ..ProjectiveOptions::default()
        };
        let mut solver = f64::projective(Projective::new(options));
        solver.prepare(&model).expect("prepared");
        let mut iterations = 0;
        for _ in 0..12 {
            iterations += solver.step(&model, &mut x, 1.0, &on).expect("a step").iterations;
        }
        let found = slope(&x);
        println!(
            "Γ {gamma}: {found:.6} after {iterations}, Newton {wanted:.6}, {:+.3} %",
            100.0 * (found / wanted - 1.0)
        );
        assert!((found / wanted - 1.0).abs() < 0.01, "Γ {gamma}: {found}, Newton {wanted}");
    }
}

/// Sweeps of one iteration, so small that they are converged: from flat to rest, over eight time constants of the slowest motion.
#[test]
fn converged_xpbd_comes_to_rest_at_the_same() {
    let cells = 25;
    for (gamma, _) in KNOWN {
        let wanted = newton(cells, gamma, Bending::Isometric);
        let (mut model, mut x) = cantilever(cells, gamma, Bending::Isometric);
        let on = simd();
        // Damped about critically: the slowest motion is ω² = 12.4 D/(ρ L⁴) for stiff strips, a pendulum's for soft ones.
        let rate = (12.4 * 9.81 / gamma + 9.81_f64).sqrt();
        model.environment.damping = 2.0 * rate;
        // A sweep softens a hinge by (ω h)² with ω its own frequency, ω² ≈ 16 D/(ρ cell⁴).
        let fastest = (16.0 * 9.81 / gamma).sqrt() * (cells * cells) as f64;
        let substeps = 1000;
        let h = SMALLNESS / fastest;
        let mut solver = f64::xpbd(XpbdOn::new(XpbdOptions { substeps, iterations: 1 }));
        solver.prepare(&model).expect("prepared");
        let steps = (8.0 / rate / (h * substeps as f64)).ceil() as usize;
        for _ in 0..steps {
            solver.step(&model, &mut x, h * substeps as f64, &on).expect("a step");
        }
        let found = slope(&x);
        println!("Γ {gamma}: {found:.6}, Newton {wanted:.6}, {:+.3} %", 100.0 * (found / wanted - 1.0));
        assert!((found / wanted - 1.0).abs() < 0.01, "Γ {gamma}: {found}, Newton {wanted}");
    }
}
