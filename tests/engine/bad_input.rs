//! Bad input: always a typed error that names the row and the value; never a panic, a NaN or a silent fix.

use pliant::core::body::{Bending, Body, Role};
use pliant::core::error::BuildError;
use pliant::core::kinds::DistanceRange;
use pliant::core::mesh::{ClothGrid, MeshError, Rope, TetMesh, TriMesh, icosphere, shuffled_sheet, tube};
use pliant::core::model::Model;
use pliant::solvers::{Iteration, Pbd, PbdOptions, Symplectic, XpbdOn, XpbdOptions};
use pliant_harness::instances::{Boxed, Instances};

use crate::run::free;
use crate::scenes::{Method, balloon, curtain, soft_curtain};

const NASTY: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

const SOLVERS: [Method; 4] = [
    Method::Xpbd { substeps: 2, iterations: 2 },
    Method::Pbd { substeps: 2, iterations: 2, stiffness: 1.0 },
    Method::Jacobi { substeps: 2, iterations: 2 },
    Method::Symplectic { substeps: 2 },
];

fn refused(body: &Body) -> BuildError {
    let double = Model::<f64>::build(&[body]).err();
    let single = Model::<f32>::build(&[body]).err();
    assert_eq!(format!("{double:?}"), format!("{single:?}"), "both precisions refuse alike");
    double.expect("refused")
}

/// The list, row and value an error names.
fn named(error: &BuildError) -> (&'static str, usize, f64) {
    match *error {
        BuildError::BadValue { what, row, value, .. } => (what, row, value),
        BuildError::OutOfRange { what, row, particle, .. } | BuildError::Repeated { what, row, particle } => {
            (what, row, f64::from(particle))
        }
        ref other => panic!("{other:?}"),
    }
}

fn assert_names(body: &Body, what: &str, row: usize, value: f64) {
    let error = refused(body);
    let (list, at, found) = named(&error);
    let same = found == value || found.is_nan() && value.is_nan();
    assert!(list == what && at == row && same, "{what} {row} = {value}: {error:?}");
    let message = error.to_string();
    assert!(message.contains(what) && message.contains(&row.to_string()), "{message}");
}

/// Three particles, two links, one of every kind that fits.
fn triple() -> Body {
    let mut body = Body::particles([[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    body.tables_mut().distance.push(Role::Stretch, 0, [1, 2], [1.0]);
    body
}

fn edited(edit: impl Fn(&mut Body)) -> Body {
    let mut body = triple();
    edit(&mut body);
    body
}

#[test]
fn indices_out_of_range_and_repeats_are_named() {
    assert_names(&edited(|b| b.tables_mut().distance.ids[1] = [1, 3]), "distance", 1, 3.0);
    assert_names(&edited(|b| b.tables_mut().distance.ids[1] = [u32::MAX, 1]), "distance", 1, f64::from(u32::MAX));
    assert_names(&edited(|b| b.tables_mut().distance.ids[1] = [2, 2]), "distance", 1, 2.0);
    assert_names(&triple().pinned([0, 7]), "pin", 1, 7.0);
    assert_names(&triple().attached(9, [0.0; 3], 0.0), "attachment", 0, 9.0);
    let range = |ids| edited(|b| b.tables_mut().range.push(Role::Stretch, 0, ids, DistanceRange::range(0.5, 1.0)));
    assert_names(&range([0, 5]), "distance range", 0, 5.0);
    let tet = |ids| edited(|b| b.tables_mut().tet_volume.push(Role::Volume, 0, ids, [1.0]));
    assert_names(&tet([0, 1, 2, 3]), "tet volume", 0, 3.0);
    assert_names(&tet([0, 1, 2, 1]), "tet volume", 0, 1.0);
    let hinge = |ids| edited(|b| b.tables_mut().dihedral.push(Role::Bend, 0, ids, [1.0, 0.0]));
    assert_names(&hinge([0, 1, 2, 0]), "dihedral", 0, 0.0);
    let flat = |ids| edited(|b| b.tables_mut().isometric.push(Role::Bend, 0, ids, [1.0; 5]));
    assert_names(&flat([0, 1, 2, 4]), "isometric bending", 0, 4.0);
}

#[test]
fn numbers_that_are_not_finite_or_negative_are_named() {
    for bad in NASTY.into_iter().chain([-1.0]) {
        assert_names(&triple().with_masses([1.0, bad, 1.0]), "particle", 1, bad);
        assert_names(&edited(|b| b.tables_mut().distance.parameters[1] = [bad]), "distance", 1, bad);
        assert_names(&edited(|b| b.tables_mut().distance.compliance[1] = bad), "distance", 1, bad);
        assert_names(&edited(|b| b.tables_mut().distance.damping[0] = bad), "distance", 0, bad);
        let tet = |volume| {
            edited(|b| {
                *b = Body::particles([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
                b.tables_mut().tet_volume.push(Role::Volume, 0, [0, 1, 2, 3], [volume]);
            })
        };
        assert_names(&tet(bad), "tet volume", 0, bad);
        let range = |bounds| edited(|b| b.tables_mut().range.push(Role::Stretch, 0, [0, 1], bounds));
        assert_names(&range([bad, 1.0, 1.0]), "distance range", 0, bad);
        assert_names(&range([0.5, 1.0, bad]), "distance range", 0, bad);
        assert_names(&triple().attached(0, [0.0; 3], bad), "attachment", 0, bad);
    }
    assert_names(&triple().with_masses([1.0, 1.0, 0.0]), "particle", 2, 0.0);
    for bad in NASTY {
        assert_names(&triple().posed(|p| if p[0] > 1.5 { [0.0, bad, 0.0] } else { p }), "position", 2, bad);
        assert_names(&triple().with_velocities([[0.0; 3], [bad, 0.0, 0.0], [0.0; 3]]), "velocity", 1, bad);
        assert_names(&triple().attached(0, [0.0, 0.0, bad], 0.0), "attachment", 0, bad);
    }
    assert_names(
        &edited(|b| b.tables_mut().range.push(Role::Stretch, 0, [0, 1], [2.0, 1.0, 1.0])),
        "distance range",
        0,
        2.0,
    );
    assert_names(
        &edited(|b| b.tables_mut().range.push(Role::Stretch, 0, [0, 1], [0.5, 1.0, 1.5])),
        "distance range",
        0,
        1.5,
    );
    // Zero volume at rest is as bad as a negative one.
    let flat = edited(|b| {
        *b = free(4);
        b.tables_mut().tet_volume.push(Role::Volume, 0, [0, 1, 2, 3], [0.0]);
    });
    assert_names(&flat, "tet volume", 0, 0.0);
}

/// Numbers that are fine in double precision but not in single: an error there, not an infinity or a zero.
#[test]
fn what_single_precision_cannot_hold_is_refused_by_it() {
    let cases = [
        ("rest length", edited(|b| b.tables_mut().distance.parameters[1] = [1e39])),
        ("compliance", edited(|b| b.tables_mut().distance.compliance[1] = 1e39)),
        ("damping", edited(|b| b.tables_mut().distance.damping[1] = 1e39)),
        ("mass without an inverse", triple().with_masses([1.0, 1e-60, 1.0])),
        ("mass with an inverse of zero: a silent pin", triple().with_masses([1.0, 1e60, 1.0])),
    ];
    let named = |body: &Body| matches!(Model::<f32>::build(&[body]), Err(BuildError::BadValue { row: 1, .. }));
    let accepted: Vec<_> = cases.iter().filter(|(_, body)| !named(body)).map(|(what, _)| what).collect();
    assert!(accepted.is_empty(), "accepted in single precision: {accepted:?}");
}

#[test]
fn lists_of_the_wrong_length_and_empty_bodies_are_refused() {
    assert_eq!(refused(&Body::particles([])), BuildError::Empty);
    let is_length = |body: &Body, name: &str| match refused(body) {
        BuildError::Length { what, .. } => assert_eq!(what, name),
        other => panic!("{other:?}"),
    };
    is_length(&triple().with_masses([1.0]), "mass");
    is_length(&triple().with_velocities([[0.0; 3]; 4]), "velocity");
    is_length(&edited(|b| b.tables_mut().distance.parameters.truncate(1)), "distance");
    is_length(&edited(|b| b.tables_mut().distance.compliance.push(0.0)), "distance");
    is_length(&edited(|b| b.tables_mut().distance.role.truncate(1)), "distance");
    for bad in [f64::NAN, -0.1, f64::INFINITY] {
        let error = refused(&curtain(4).with_tethers(bad));
        assert!(matches!(error, BuildError::BadOption { name: "tether slack", .. }), "{error:?}");
        let mesh = icosphere(1.0, 0).expect("a ball");
        let error = refused(&Body::balloon(&mesh, bad).expect("closed"));
        assert!(matches!(error, BuildError::BadValue { what: "balloon", row: 0, .. }), "{error:?}");
    }
    for total in [f64::NAN, -1.0, 0.0, f64::INFINITY] {
        assert!(matches!(refused(&triple().with_mass(total)), BuildError::BadValue { quantity: "mass", row: 0, .. }));
    }
}

#[test]
fn meshes_are_checked_completely() {
    let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let tri = |triangles: &[[u32; 3]]| TriMesh::new(square, triangles.iter().copied()).expect_err("refused");
    assert_eq!(TriMesh::new([[0.0; 3]; 0], []).expect_err("empty"), MeshError::Empty { what: "vertices" });
    assert_eq!(tri(&[]), MeshError::Empty { what: "triangles" });
    assert!(matches!(tri(&[[0, 1, 2], [0, 2, 4]]), MeshError::IndexOutOfRange { row: 1, corner: 2, index: 4, .. }));
    assert!(matches!(tri(&[[0, 1, 2], [3, 3, 0]]), MeshError::RepeatedVertex { row: 1, vertex: 3, .. }));
    for bad in NASTY {
        let error = TriMesh::new([[0.0; 3], [1.0, bad, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]]).expect_err("not finite");
        assert!(matches!(error, MeshError::NotFinite { vertex: 1, axis: 'y', .. }), "{error:?}");
    }
    let line = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]];
    assert!(matches!(TriMesh::new(line, [[0, 1, 2]]), Err(MeshError::ZeroArea { triangle: 0, .. })));
    assert!(matches!(TriMesh::new(line, [[0, 1, 3]]), Err(MeshError::ZeroLengthEdge { row: 0, a: 0, b: 3, .. })));

    let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]];
    let tet = |tets: &[[u32; 4]]| TetMesh::new(corners, tets.iter().copied()).expect_err("refused");
    assert_eq!(tet(&[]), MeshError::Empty { what: "tets" });
    assert!(matches!(tet(&[[0, 1, 2, 3], [0, 2, 1, 3]]), MeshError::InvertedTet { tet: 1, volume } if volume < 0.0));
    assert!(matches!(tet(&[[0, 1, 2, 4]]), MeshError::ZeroVolume { tet: 0, .. }));
    assert!(matches!(tet(&[[0, 1, 2, 9]]), MeshError::IndexOutOfRange { row: 0, corner: 3, index: 9, .. }));
    assert!(matches!(tet(&[[0, 1, 1, 3]]), MeshError::RepeatedVertex { row: 0, vertex: 1, .. }));
    assert!(matches!(Rope::new(3, [1.0; 3], [1.0; 3]), Err(MeshError::ZeroLengthEdge { .. })));

    let open = shuffled_sheet(3, 1.0, 1).expect("a sheet");
    assert!(matches!(Body::balloon(&open, 1.0), Err(BuildError::Mesh(MeshError::OpenSurface { .. }))));
    let curved = tube(0.2, 1.0, 6, 2).expect("a tube");
    assert!(matches!(Body::surface(&curved, Bending::Isometric), Err(BuildError::CurvedRest { .. })));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Body::cloth(&ClothGrid::new(3, 3, bad, 1.0)), Err(BuildError::Mesh(_))));
    }
    assert!(Body::cloth(&ClothGrid::square(1.0, 1)).is_err());
}

fn prepared(mut solver: Boxed<f64>) -> Option<(&'static str, f64)> {
    let (model, _) = Model::<f64>::build(&[&triple().with_compliance(Role::Stretch, 1e-3)]).expect("sound");
    match solver.prepare(&model).err()? {
        BuildError::BadOption { name, value, .. } => Some((name, value)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn solver_options_are_checked() {
    let xpbd = |substeps, iterations| prepared(f64::xpbd(XpbdOn::new(XpbdOptions { substeps, iterations })));
    assert_eq!((xpbd(0, 1), xpbd(1, 0), xpbd(1, 1)), (Some(("substeps", 0.0)), Some(("iterations", 0.0)), None));
    assert_eq!(prepared(f64::symplectic(Symplectic::new(0))), Some(("substeps", 0.0)));
    let pbd = |edit: fn(&mut PbdOptions)| {
        let mut options = PbdOptions::default();
        edit(&mut options);
        prepared(f64::pbd(Pbd::new(options)))
    };
    assert_eq!(pbd(|o| o.substeps = 0), Some(("substeps", 0.0)));
    assert_eq!(pbd(|o| o.iterations = 0), Some(("iterations", 0.0)));
    assert_eq!(pbd(|o| o.stiffness = -0.5), Some(("stiffness", -0.5)));
    assert_eq!(pbd(|o| o.stiffness = 1.5), Some(("stiffness", 1.5)));
    assert_eq!(pbd(|o| o.stiffness = f64::NAN).map(|(name, _)| name), Some("stiffness"));
    assert_eq!(pbd(|o| o.iteration = Iteration::Jacobi { relaxation: 0.0 }), Some(("relaxation", 0.0)));
    assert_eq!(pbd(|o| o.iteration = Iteration::Jacobi { relaxation: 2.5 }), Some(("relaxation", 2.5)));
    let nan = pbd(|o| o.iteration = Iteration::Jacobi { relaxation: f64::NAN });
    assert_eq!(nan.map(|(name, _)| name), Some("relaxation"));
}

#[test]
fn constraints_a_solver_cannot_carry_are_refused_by_name() {
    let refused = |body: &Body, method: Method| {
        let (model, _) = Model::<f64>::build(&[body]).expect("sound");
        method.solver::<f64>().prepare(&model).expect_err("unsupported")
    };
    let symplectic = SOLVERS[3];
    let rigid_tethers = soft_curtain(4).with_tethers(0.0);
    assert!(matches!(refused(&rigid_tethers, symplectic), BuildError::Unsupported { what: "tether", row: 0, .. }));
    assert!(matches!(refused(&balloon(0), symplectic), BuildError::Unsupported { what: "balloon", row: 0, .. }));
    let mut links = triple().with_compliance(Role::Stretch, 1e-3);
    links.tables_mut().distance.compliance[1] = 0.0;
    assert!(matches!(refused(&links, symplectic), BuildError::Unsupported { what: "distance", row: 1, .. }));
}
