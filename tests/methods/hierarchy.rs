//! Coarse layers: stiff cloth converges in few sweeps, every backend to the same bits, and slack leaves soft cloth alone.

use pliant::backends::AnyBackend;
use pliant::core::body::{Bending, Body, Role};
use pliant::core::columns::Particles;
use pliant::core::error::BuildError;
use pliant::core::mesh::{ClothGrid, shuffled_sheet};
use pliant::core::model::Model;
use pliant::core::plasticity::Plasticity;
use pliant::{Colored, Iteration, LayerOptions, Pbd, PbdOptions, XpbdOn};
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;

/// Sweeps, with layers or without.
fn xpbd(substeps: usize, layers: Option<LayerOptions>) -> Boxed<f32> {
    let solver = XpbdOn::<Colored, f32>::with_substeps(substeps);
    f32::xpbd(match layers {
        Some(layers) => solver.with_layers(layers),
        None => solver,
    })
}

fn curtain(n: u32) -> Body {
    Body::cloth(&ClothGrid::square(1.0, n as usize)).expect("a grid").with_mass(0.2).pinned([0, n - 1])
}

fn run(body: &Body, mut solver: Boxed<f32>, steps: usize, on: &AnyBackend) -> Particles<f32> {
    let (mut model, mut particles) = Model::<f32>::build(&[body]).expect("a body");
    model.environment.damping = 0.5;
    solver.prepare(&model).expect("options");
    for _ in 0..steps {
        solver.step(&model, &mut particles, 1.0 / 60.0, on).expect("a stable step");
    }
    particles
}

/// Mean stretch of the links that are stretched \[1\].
fn stretch(body: &Body, particles: &Particles<f32>) -> f64 {
    let links = &body.tables().distance;
    let (mut sum, mut count) = (0.0, 0);
    for (i, ids) in links.ids.iter().enumerate().filter(|(i, _)| links.role[*i] == Role::Stretch) {
        let [a, b] = ids.map(|p| particles.x.get(p as usize).map(f64::from));
        let length = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
        if length > links.parameters[i][0] {
            sum += length / links.parameters[i][0] - 1.0;
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
}

#[test]
fn layers_shorten_what_sweeps_cannot() {
    let body = curtain(48);
    let on = simd();
    let plain = stretch(&body, &run(&body, xpbd(4, None), 120, &on));
    let layered = stretch(&body, &run(&body, xpbd(4, Some(LayerOptions::default())), 120, &on));
    println!("mean stretch {:.3} % without layers, {:.3} % with", 100.0 * plain, 100.0 * layered);
    assert!(layered < 0.5 * plain, "{layered} with layers, {plain} without");

    let options = PbdOptions { substeps: 4, iterations: 2, ..PbdOptions::default() };
    let plain = stretch(&body, &run(&body, f32::pbd(Pbd::new(options)), 120, &on));
    let layered = f32::pbd(Pbd::new(options).with_layers(LayerOptions::default()));
    let layered = stretch(&body, &run(&body, layered, 120, &on));
    assert!(layered < 0.7 * plain, "PBD: {layered} with layers, {plain} without");
}

#[test]
fn every_backend_gives_the_same_bits() {
    let sheet = shuffled_sheet(24, 1.0, 5).expect("a sheet");
    let sheet = Body::surface(&sheet, Bending::CrossLinks).expect("a surface").pinned([0]);
    let far = curtain(40).translated([300.0, 0.0, -70.0]);
    for body in [curtain(40), sheet, far] {
        let hash = |on: &AnyBackend| run(&body, xpbd(3, Some(LayerOptions::default())), 20, on).state_hash();
        let wanted = hash(&AnyBackend::scalar());
        assert_eq!(hash(&simd()), wanted);
        for threads in [1, 2, 3] {
            let on = AnyBackend::by_name("parallel", Some(threads)).expect("built");
            assert_eq!(hash(&on), wanted, "{threads} threads");
        }
    }
}

#[test]
fn slack_leaves_soft_cloth_alone() {
    let body = curtain(24).with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 1e-3);
    let on = simd();
    let plain = run(&body, xpbd(20, None), 30, &on);
    let loose = LayerOptions { slack: 3.0, ..LayerOptions::default() };
    // Within its slack a layer moves nobody; adding zero changes no bit but the sign of a zero.
    let layered = run(&body, xpbd(20, Some(loose)), 30, &on);
    for p in 0..plain.len() {
        assert_eq!(plain.x.get(p), layered.x.get(p), "particle {p}");
    }
    let tight = run(&body, xpbd(20, Some(LayerOptions::default())), 30, &on);
    assert!(stretch(&body, &tight) < stretch(&body, &plain));
}

#[test]
fn soft_shear_stays_soft() {
    // Pulled along a diagonal, cloth with stiff threads and soft shear changes its angles: layers must not mind.
    let body = |n: u32| {
        let cloth = Body::cloth(&ClothGrid::square(1.0, n as usize)).expect("a grid").with_mass(0.2);
        let cloth = cloth.with_compliance(Role::Stretch, 1e-6).with_compliance(Role::Shear, 1e-2);
        cloth.with_compliance(Role::Bend, 1e-2).pinned([0]).posed(|[x, _, z]| [x, -z, 0.0])
    };
    let body = body(24);
    let on = simd();
    let plain = run(&body, xpbd(60, None), 120, &on);
    let layered = run(&body, xpbd(60, Some(LayerOptions::default())), 120, &on);
    let reach = |p: &Particles<f32>| p.x.get(p.len() - 1)[1];
    let (plain, layered) = (reach(&plain), reach(&layered));
    println!("lowest corner at {plain} m without layers, {layered} m with");
    assert!((layered / plain - 1.0).abs() < 0.02, "{layered} with layers, {plain} without");
}

#[test]
fn a_free_body_keeps_its_momentum() {
    let body = Body::cloth(&ClothGrid::square(1.0, 30)).expect("a grid").posed(|[x, y, z]| [1.2 * x, y, 1.1 * z]);
    let (mut model, mut particles) = Model::<f64>::build(&[&body]).expect("a body");
    model.environment.gravity = [0.0; 3];
    let mut solver = f64::xpbd(XpbdOn::<Colored, f64>::with_substeps(2).with_layers(LayerOptions::default()));
    let on = simd();
    solver.prepare(&model).expect("options");
    solver.step(&model, &mut particles, 1.0 / 60.0, &on).expect("a step");
    let masses = body.masses();
    let (mut momentum, mut size) = ([0.0; 3], 0.0);
    for p in 0..particles.len() {
        let v = particles.v.get(p);
        (0..3).for_each(|k| momentum[k] += masses[p] * v[k]);
        size += masses[p] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    }
    assert!(size > 1e-3, "the sheet contracts");
    assert!(momentum.iter().all(|p| p.abs() < 1e-9 * size), "{momentum:?} of {size}");
}

#[test]
fn bad_options_are_named() {
    let (model, _) = Model::<f32>::build(&[&curtain(8)]).expect("a body");
    let good = LayerOptions::default();
    for (options, wanted) in [
        (LayerOptions { layers: 0, ..good }, "layers"),
        (LayerOptions { sweeps: 0, ..good }, "sweeps of a layer"),
        (LayerOptions { slack: -0.1, ..good }, "slack of layers"),
        (LayerOptions { slack: f64::NAN, ..good }, "slack of layers"),
    ] {
        let error = xpbd(1, Some(options)).prepare(&model).expect_err("refused");
        assert!(matches!(error, BuildError::BadOption { name, .. } if name == wanted), "{error}");
    }
    let jacobi = PbdOptions { iteration: Iteration::Jacobi { relaxation: 1.0 }, ..PbdOptions::default() };
    let error = f32::pbd(Pbd::new(jacobi).with_layers(good)).prepare(&model).expect_err("refused");
    assert!(matches!(error, BuildError::Unsupported { what: "layers", .. }), "{error}");

    let law = Plasticity { yields_at: 0.1, creep: 1.0, bound: 1.0 };
    let (model, _) = Model::<f32>::build(&[&curtain(8).with_plasticity(Role::Stretch, law)]).expect("a body");
    let error = xpbd(1, Some(good)).prepare(&model).expect_err("refused");
    assert!(matches!(error, BuildError::Unsupported { what: "plastic link", .. }), "{error}");
}
