//! Continuum cloth and solids: the same stretch at every resolution and in every method that carries them.

use pliant::core::body::{Bending, Body, Elasticity, Law, Role, StretchRange};
use pliant::core::columns::Particles;
use pliant::core::kinds::Orthotropic;
use pliant::core::mesh::{ClothGrid, Diagonals, Split, TriMesh, tet_box};
use pliant::core::model::Model;
use pliant::{Acceleration, Iteration, Newton, Pbd, PbdOptions, Projective, ProjectiveOptions, XpbdOn, XpbdOptions};
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;

/// Young's modulus \[Pa\]: 0.2 kg/m² of 1 mm hanging 1 m stretch by ρ g L²/(2 E t) = 4.9 %.
const MODULUS: f64 = 2.0e4;
const THICKNESS: f64 = 1e-3;
const DAMPING: f64 = 12.0;

fn grid(n: usize) -> TriMesh {
    ClothGrid::square(1.0, n).diagonals(Diagonals::Alternating).build().expect("a grid").mesh
}

/// A square of n × n vertices on its upper edge, z down at the start so that it only has to stretch.
fn hanging(n: usize, sheet: impl Fn(&TriMesh) -> Body) -> (Model<f64>, Particles<f64>) {
    let body = sheet(&grid(n)).posed(|[x, _, z]| [x, -z, 0.0]).pinned(0..n as u32);
    Model::build(&[&body]).expect("a sheet")
}

/// How much longer than 1 m the middle of the sheet is.
fn extension(x: &Particles<f64>, n: usize) -> f64 {
    -x.x.get(n * (n - 1) + n / 2)[1] - 1.0
}

fn rest(
    mut solver: Boxed<f64>,
    (mut model, mut x): (Model<f64>, Particles<f64>),
    (steps, dt): (usize, f64),
) -> Particles<f64> {
    let on = simd();
    model.environment.damping = DAMPING;
    solver.prepare(&model).expect("prepared");
    for _ in 0..steps {
        solver.step(&model, &mut x, dt, &on).expect("a step");
    }
    x
}

fn newton(state: (Model<f64>, Particles<f64>)) -> Particles<f64> {
    rest(f64::newton(Newton::default()), state, (3, 1.0))
}

fn projective(state: (Model<f64>, Particles<f64>)) -> Particles<f64> {
    let (acceleration, tolerance) = (Acceleration::Lbfgs(6), 1e-7);
    let options = ProjectiveOptions { iterations: 400, acceleration, tolerance, ..ProjectiveOptions::default() };
    rest(f64::projective(Projective::new(options)), state, (3, 1.0))
}

/// Substeps so small that sound does not cross a cell in one: a single sweep then is stiff enough.
fn xpbd(state: (Model<f64>, Particles<f64>), substeps: usize) -> Particles<f64> {
    rest(f64::xpbd(XpbdOn::new(XpbdOptions { substeps, iterations: 1 })), state, (45, 1.0 / 60.0))
}

fn woven(mesh: &TriMesh) -> Body {
    let cloth = Orthotropic::isotropic(MODULUS, 0.3);
    Body::woven_sheet(mesh, &cloth, THICKNESS, [0.0, 0.0, 1.0], Bending::None).expect("a sheet")
}

fn rubber(law: Law) -> impl Fn(&TriMesh) -> Body {
    move |mesh| {
        let elasticity = Elasticity { law, young: MODULUS, poisson: 0.3 };
        Body::elastic_sheet(mesh, elasticity, THICKNESS, Bending::None).expect("a sheet")
    }
}

fn alike(name: &str, found: [f64; 3]) {
    println!("{name}: {found:?}");
    let (low, high) = found.iter().fold((f64::MAX, 0.0_f64), |(low, high), &e| (low.min(e), high.max(e)));
    assert!(high / low < 1.02, "{name}: {found:?} at 16², 32², 64²");
}

#[test]
fn resolution_does_not_change_a_hanging_sheet() {
    let sizes = [16, 32, 64];
    alike("Newton, woven", sizes.map(|n| extension(&newton(hanging(n, woven)), n)));
    alike("Newton, corotated", sizes.map(|n| extension(&newton(hanging(n, rubber(Law::Corotated))), n)));
    alike("Projective Dynamics, woven", sizes.map(|n| extension(&projective(hanging(n, woven)), n)));
    alike("XPBD, woven", sizes.map(|n| extension(&xpbd(hanging(n, woven), 5 * n / 4), n)));
}

#[test]
fn sweeps_carry_the_elements_of_the_minimisers() {
    let n = 16;
    for law in [Law::Corotated, Law::NeoHookean] {
        let wanted = extension(&newton(hanging(n, rubber(law))), n);
        let found = extension(&xpbd(hanging(n, rubber(law)), 40), n);
        println!("{law:?} sheet: XPBD {found:.6}, Newton {wanted:.6}, {:+.3} %", 100.0 * (found / wanted - 1.0));
        assert!((found / wanted - 1.0).abs() < 0.02, "{law:?}: {found}, Newton {wanted}");
    }
}

/// A bar of 4 × 1 × 1 cells that hangs from one end.
fn bar(law: Law) -> (Model<f64>, Particles<f64>) {
    let mesh = tet_box([4, 2, 2], [1.0, 0.4, 0.4], Split::Six).expect("a box");
    let ends: Vec<u32> = (0_u32..).zip(mesh.positions()).filter(|(_, p)| p.x < 1e-9).map(|(i, _)| i).collect();
    let body = Body::elastic_solid(&mesh, Elasticity { law, young: 1e5, poisson: 0.35 }).expect("a solid");
    let body = body.posed(|[x, y, z]| [y, -x, z]).pinned(ends);
    Model::build(&[&body]).expect("a bar")
}

#[test]
fn sweeps_carry_solids() {
    let lowest = |x: Particles<f64>| -x.x.y.iter().copied().fold(f64::MAX, f64::min) - 1.0;
    for law in [Law::Corotated, Law::NeoHookean] {
        let (wanted, found) = (lowest(newton(bar(law))), lowest(xpbd(bar(law), 60)));
        println!("{law:?} bar: XPBD {found:.6}, Newton {wanted:.6}, {:+.3} %", 100.0 * (found / wanted - 1.0));
        assert!(wanted > 0.02 && (found / wanted - 1.0).abs() < 0.02, "{law:?}: {found}, Newton {wanted}");
        // PBD knows no compliance: as stiff as its passes make it, and at rest it keeps the shape.
        let options = PbdOptions { iterations: 50, iteration: Iteration::GaussSeidel, ..PbdOptions::default() };
        let stiff = lowest(rest(f64::pbd(Pbd::new(options)), bar(law), (60, 1.0 / 60.0)));
        assert!(stiff.abs() < 0.2 * wanted, "{law:?}: PBD stretches by {stiff}");
    }
}

#[test]
fn warp_and_weft_stretch_by_their_own_moduli_and_limits() {
    let n = 16;
    let cloth = |warp: [f64; 3]| {
        move |mesh: &TriMesh| {
            let twill = Orthotropic { young: [8.0e4, 2.0e4], poisson: 0.0, shear: 1e4 };
            Body::woven_sheet(mesh, &twill, THICKNESS, warp, Bending::None).expect("a sheet")
        }
    };
    let (along, across) = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]);
    let (stiff, soft) =
        (extension(&newton(hanging(n, cloth(along))), n), extension(&newton(hanging(n, cloth(across))), n));
    println!("along the warp {stiff:.5}, along the weft {soft:.5}");
    assert!((soft / stiff / 4.0 - 1.0).abs() < 0.1, "four times softer: {stiff} {soft}");

    // Hanging along a weft that may stretch by 1 %: the limit holds it, in sweeps and, made compliant, in Newton.
    let range = Some(StretchRange { lower: 0.0, upper: 1.01 });
    let limited = |mesh: &TriMesh| cloth(across)(mesh).with_stretch_limits(across, None, range).expect("limits");
    let sweeps = f64::xpbd(XpbdOn::new(XpbdOptions { substeps: 40, iterations: 4 }));
    let held = extension(&rest(sweeps, hanging(n, limited), (45, 1.0 / 60.0)), n);
    // Of triangles of 1/450 m²: 45 kN/m.
    let softly = |mesh: &TriMesh| limited(mesh).with_compliance(Role::Stretch, 1e-2 / 450.0);
    let minimised = extension(&newton(hanging(n, softly)), n);
    println!("limited to 1 %: {held:.5}, by Newton {minimised:.5}, free {soft:.5}");
    assert!(held < 0.0115 && minimised < 0.0115, "{held} {minimised}");
    let warp_only = |mesh: &TriMesh| {
        let body = cloth(across)(mesh).with_stretch_limits(across, range, None).expect("limits");
        body.with_compliance(Role::Stretch, 1e-2 / 450.0)
    };
    let free = extension(&newton(hanging(n, warp_only)), n);
    assert!((free / soft - 1.0).abs() < 0.05, "a limit of the warp does not hold the weft: {free} {soft}");
}
