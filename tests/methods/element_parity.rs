//! Sweeps over triangle strain, stretch limits, curved hinges and elastic elements give the bits of the scalar backend on
//! every backend, lane width and thread count.

use pliant::backends::AnyBackend;
use pliant::core::backend::Backend;
use pliant::core::body::{Bending, Body, Elasticity, Law, Role, StretchRange};
use pliant::core::kinds::Orthotropic;
use pliant::core::mesh::{ClothGrid, Split, TriMesh, tet_box};
use pliant::core::model::Model;
use pliant::{XpbdOn, XpbdOptions};
use pliant_harness::instances::Instances;

/// Curved at rest, with a number of vertices that fills no lanes.
fn shell() -> TriMesh {
    let flat = ClothGrid::new(11, 9, 0.5, 0.4).build().expect("a grid").mesh;
    flat.transformed(|p| [0.3 * (3.0 * p.x).sin(), 0.3 * (3.0 * p.x).cos(), p.z].into()).expect("a shell")
}

fn bodies() -> Vec<(&'static str, Body)> {
    let (cloth, warp) = (Orthotropic { young: [1e5, 5e4], poisson: 0.2, shear: 2e4 }, [0.0, 0.0, 1.0]);
    let woven = |bending| Body::woven_sheet(&shell(), &cloth, 1e-3, warp, bending).expect("sound").pinned([0, 10]);
    let range = Some(StretchRange { lower: 0.999, upper: 1.001 });
    let limited = woven(Bending::Cotangent).with_stretch_limits(warp, range, range).expect("sound");
    let sheet = |law| {
        let elasticity = Elasticity { law, young: 1e5, poisson: 0.25 };
        Body::elastic_sheet(&shell(), elasticity, 1e-3, Bending::Flatten).expect("sound").pinned([0, 10])
    };
    let bar = |law| {
        let mesh = tet_box([5, 2, 1], [0.5, 0.2, 0.1], Split::Six).expect("a box");
        Body::elastic_solid(&mesh, Elasticity { law, young: 1e4, poisson: 0.35 }).expect("sound").pinned(0..3)
    };
    [
        ("woven shell with limits", limited),
        ("woven shell with angles", woven(Bending::Dihedral)),
        ("corotated sheet", sheet(Law::Corotated)),
        ("neo-Hookean sheet", sheet(Law::NeoHookean)),
        ("corotated bar", bar(Law::Corotated)),
        ("neo-Hookean bar", bar(Law::NeoHookean)),
    ]
    .map(|(name, body)| (name, body.with_compliance(Role::Bend, 10.0)))
    .into()
}

/// All bits of positions, velocities and multipliers after some steps, and the kinds that pulled.
fn run<S: Instances>(name: &str, body: &Body, on: &AnyBackend<S>) -> (Vec<u64>, Vec<&'static str>) {
    let (model, mut particles) = Model::<S>::build(&[body]).expect("sound");
    let mut solver = S::xpbd(XpbdOn::new(XpbdOptions { substeps: 2, iterations: 2 }));
    solver.prepare(&model).expect("prepared");
    for step in 0..40 {
        let done = solver.step(&model, &mut particles, S::from_f64(1.0 / 60.0), on);
        done.unwrap_or_else(|error| panic!("{name} on {}, step {step}: {error}", on.name()));
    }
    let forces = solver.forces(&model);
    let pulled = forces.iter().filter(|(_, list)| list.iter().any(|f| f.abs() > S::ZERO)).map(|(kind, _)| *kind);
    let pulled = pulled.collect();
    let columns = particles.x.axes().into_iter().chain(particles.v.axes()).flatten();
    (columns.chain(forces.iter().flat_map(|(_, list)| list)).map(|v| v.bits()).collect(), pulled)
}

fn everywhere<S: Instances>() {
    let mut seen = Vec::new();
    for (name, body) in bodies() {
        let pick = |name, threads| AnyBackend::<S>::by_name(name, threads).expect("a backend");
        let (expected, pulled) = run(name, &body, &pick("scalar", None));
        seen.extend(pulled);
        for (kind, threads) in [("simd", None), ("simd-portable", None), ("parallel", Some(2)), ("parallel", Some(5))] {
            assert!(run(name, &body, &pick(kind, threads)).0 == expected, "{name} on {kind}, {threads:?} threads");
        }
    }
    for kind in [
        "triangle strain",
        "stretch limit",
        "isometric bending",
        "dihedral",
        "corotated tet",
        "neo-Hookean tet",
        "corotated triangle",
        "neo-Hookean triangle",
    ] {
        assert!(seen.contains(&kind), "no {kind} ever pulled: {seen:?}");
    }
}

#[test]
fn in_single_precision() {
    everywhere::<f32>();
}

#[test]
fn in_double_precision() {
    everywhere::<f64>();
}
