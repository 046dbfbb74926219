//! Shapes of `parry3d` against the same shapes by formula, as walls, and broken.

use parry3d::math::{Pose as ParryPose, Vector};
use parry3d::shape::{SharedShape, TriMeshFlags};
use parry3d::utils::Array2;

use super::tests::{Random, program};
use super::*;
use crate::error::BuildError;
use crate::mesh::icosphere;
use crate::vec3::Vec3;

fn shape(shape: SharedShape) -> Shape {
    Collider::from_parry(shape).shape
}

fn ball_mesh(flags: TriMeshFlags) -> SharedShape {
    let ball = icosphere(0.5, 4).expect("a sphere");
    let vertices = ball.positions().iter().map(|p| Vector::new(p.x as f32, p.y as f32, p.z as f32)).collect();
    SharedShape::trimesh_with_flags(vertices, ball.triangles().to_vec(), flags).expect("a mesh")
}

/// Walls in the air, whose top side is at y = 0: a height field, a mesh without an inside, hulls, compounds, a disc.
fn sheets() -> Vec<Shape> {
    let flat = SharedShape::heightfield(Array2::repeat(5, 5, 0.0), Vector::new(4.0, 1.0, 4.0));
    let corners = [[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0], [-2.0, 2.0]].map(|[x, z]| Vector::new(x, 0.0, z));
    let mesh = SharedShape::trimesh(corners.to_vec(), vec![[0, 2, 1], [0, 3, 2]]).expect("a mesh");
    let hull = |thickness: f32| {
        let both: Vec<Vector> = corners.iter().flat_map(|&c| [c, c - Vector::new(0.0, thickness, 0.0)]).collect();
        SharedShape::convex_hull(&both).expect("a hull")
    };
    let half = |x| (ParryPose::translation(x, -0.001, 0.0), SharedShape::cuboid(1.1, 0.001, 2.0));
    let plates = SharedShape::compound(vec![half(-1.0), half(1.0)]);
    let below = |shape: SharedShape, by: f64| Collider::from_parry(shape).shape.translated([0.0, -by, 0.0]);
    let disc = || SharedShape::cylinder(0.001, 2.0);
    let pair = SharedShape::compound(vec![
        (ParryPose::translation(-0.1, -0.001, 0.0), disc()),
        (ParryPose::translation(0.1, -0.001, 0.0), disc()),
    ]);
    let mut sheets = [flat, mesh, hull(0.002), hull(0.05), plates, pair].map(shape).to_vec();
    sheets.push(below(disc(), 0.001));
    sheets
}

#[test]
fn parry_shapes_agree_with_formulas() {
    let side = |i: usize, k: usize| if i >> k & 1 == 0 { -1.0 } else { 1.0 };
    let hull: Vec<Vector> = (0..8).map(|i| Vector::new(0.3 * side(i, 0), 0.4 * side(i, 1), 0.5 * side(i, 2))).collect();
    let cuboid = || Shape::Cuboid { half: [0.3, 0.4, 0.5] };
    let shifted = |x: f32| (ParryPose::translation(x, 0.0, 0.0), SharedShape::cuboid(0.3, 0.4, 0.5));
    let boxy = || SharedShape::convex_hull(&hull).expect("a hull");
    let pairs = [
        (SharedShape::ball(0.5), Shape::Sphere { radius: 0.5 }, 1e-5),
        (SharedShape::cuboid(0.3, 0.4, 0.5), cuboid(), 1e-5),
        (SharedShape::cylinder(0.3, 0.4), Shape::Cylinder { radius: 0.4, half_height: 0.3 }, 1e-5),
        (SharedShape::capsule_y(0.4, 0.3), Shape::Capsule { radius: 0.3, half_length: 0.4 }, 1e-5),
        (SharedShape::halfspace(Vector::new(0.0, 1.0, 0.0)), Shape::Plane { normal: [0.0, 1.0, 0.0] }, 1e-5),
        // A normal of any length means the same.
        (SharedShape::halfspace(Vector::new(0.0, 3.0, 4.0)), Shape::Plane { normal: [0.0, 3.0, 4.0] }, 1e-5),
        (boxy(), cuboid(), 1e-4),
        (ball_mesh(TriMeshFlags::ORIENTED), Shape::Sphere { radius: 0.5 }, 2e-3),
        // Inside of both parts the deeper one counts, as in a union.
        (
            SharedShape::compound(vec![shifted(-0.2), shifted(0.2)]),
            cuboid().translated([-0.2, 0.0, 0.0]).union(cuboid().translated([0.2, 0.0, 0.0])),
            1e-5,
        ),
        // As convex decompositions come, and turned so that boxes around parts are wider than the parts.
        (
            SharedShape::compound(vec![
                (ParryPose::translation(-0.2, 0.0, 0.0), boxy()),
                (ParryPose::new(Vector::new(0.5, 0.1, 0.0), Vector::new(0.0, 0.7, 0.0)), boxy()),
                (ParryPose::translation(0.0, 0.9, 0.0), SharedShape::ball(0.2)),
            ]),
            (cuboid().translated([-0.2, 0.0, 0.0]))
                .union(cuboid().turned(Rotation::about([0.0, 1.0, 0.0], 0.7)).translated([0.5, 0.1, 0.0]))
                .union(Shape::Sphere { radius: 0.2 }.translated([0.0, 0.9, 0.0])),
            1e-4,
        ),
    ];
    let mut random = Random(9);
    for (parry, exact, tolerance) in pairs {
        let name = format!("{exact:?}");
        let (found, exact) = (program(&shape(parry)), program(&exact));
        for _ in 0..500 {
            let p = Vec3::from(random.point());
            let ((a, n), (b, m)) = (found.eval(p), exact.eval(p));
            assert!((a - b).abs() < tolerance, "{name} at {p:?}: {a} instead of {b}");
            assert!((n.length() - 1.0).abs() < 1e-9);
            // Medial axes have two nearest points, and next to the surface rounding turns the way to it.
            let smooth = (0..3).all(|k| {
                let mut q: [f64; 3] = p.into();
                q[k] += 1e-3;
                (exact.eval(Vec3::from(q)).1 - m).length() < 0.02
            });
            if smooth && b.abs() > 0.02 {
                assert!(n.dot(m) > 0.99, "{name} at {p:?}: {n:?} instead of {m:?}");
            }
        }
    }
}

/// Particles at any speed, in both precisions: nothing gets through a sheet, whatever it is made of.
#[test]
fn parry_sheets_hold() {
    for sheet in sheets() {
        let set = Colliders::<f64>::new([Collider::new(sheet.clone())]).expect("valid");
        let (solid, h) = (&set.solids()[0], 1.0 / 60.0);
        let mut random = Random(5);
        for particle in 0..300 {
            let mut x = Vec3::new(random.next(), 0.5 + 0.45 * random.next(), random.next());
            let mut v = Vec3::new(random.next(), -(10.0_f64.powf(1.5 + 1.5 * random.next())), random.next());
            for substep in 0..6 {
                let (start, mut end) = (x, x + v * h);
                if let Some(contact) = solid.touch(0.0, end, end - start) {
                    end = end + solid.project(0.0, &contact, 0.0).0;
                }
                assert!(
                    end.y > -5e-4,
                    "{sheet:?}: particle {particle} at {end:?} after substep {substep}, from {start:?}"
                );
                (x, v) = (end, (end - start) * (1.0 / h) + Vec3::new(0.0, -9.81 * h, 0.0));
            }
        }
    }
}

#[test]
fn parry_shapes_that_cannot_be_are_refused() {
    let nan = f32::NAN;
    let corners = |c: f32| vec![Vector::new(0.0, 0.0, 0.0), Vector::new(1.0, c, 0.0), Vector::new(0.0, 0.0, 1.0)];
    let at = |pose| SharedShape::compound(vec![(pose, SharedShape::ball(1.0))]);
    let wrong = [
        ("radius", SharedShape::ball(0.0)),
        ("radius", SharedShape::ball(nan)),
        ("half side", SharedShape::cuboid(1.0, 0.0, 1.0)),
        ("half height", SharedShape::cylinder(0.0, 1.0)),
        ("radius", SharedShape::cone(1.0, 0.0)),
        ("radius", SharedShape::capsule_y(1.0, 0.0)),
        ("length of its normal", SharedShape::halfspace(Vector::new(0.0, 0.0, 0.0))),
        ("a vertex of its parry shape", SharedShape::trimesh(corners(nan), vec![[0, 1, 2]]).expect("not looked at")),
        ("a vertex of its parry shape", at(ParryPose::translation(nan, 0.0, 0.0))),
        ("size of its parry shape", SharedShape::triangle(Vector::ZERO, Vector::ZERO, Vector::ZERO)),
        ("a height of its parry shape", SharedShape::heightfield(Array2::repeat(3, 3, nan), Vector::ONE)),
    ];
    for (expected, bad) in wrong {
        let name = format!("{:?}", bad.shape_type());
        match Colliders::<f32>::new([Collider::sphere(1.0), Collider::from_parry(bad)]) {
            Err(BuildError::BadValue { what: "collider", row: 1, quantity, .. }) => assert_eq!(quantity, expected),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// One wrong number among good ones, alone and as a part of a compound.
#[test]
fn one_wrong_number_of_a_parry_shape_is_refused() {
    let (vertex, border) = ("a vertex of its parry shape", "border radius");
    for nan in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let [a, b, c] = [Vector::ZERO, Vector::new(1.0, nan, 0.0), Vector::new(0.0, 0.0, 1.0)];
        let heights = |at: usize| Array2::from_fn(3, 3, |i, j| if 3 * i + j == at { nan } else { 0.0 });
        let up = |y: f32| Vector::new(1.0, y, 1.0);
        let hull = |y: f32| {
            let sides = vec![[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]];
            SharedShape::convex_mesh(vec![Vector::ZERO, Vector::X, Vector::Z, up(y)], &sides)
        };
        let flat = |scale| SharedShape::heightfield(Array2::repeat(3, 3, 0.0), scale);
        let turned =
            ParryPose { rotation: parry3d::math::Rotation::from_xyzw(0.0, nan, 0.0, 1.0), ..ParryPose::IDENTITY };
        let wrong = [
            (vertex, SharedShape::triangle(a, c, b)),
            (vertex, SharedShape::segment(a, b)),
            (vertex, SharedShape::polyline(vec![c, a, b], None)),
            (vertex, SharedShape::capsule(a, b, 0.1)),
            (vertex, SharedShape::capsule(b, a, 0.1)),
            (vertex, SharedShape::trimesh(vec![a, b, c], vec![[0, 1, 2]]).expect("not looked at")),
            (vertex, SharedShape::round_triangle(a, b, c, 0.1)),
            ("a height of its parry shape", SharedShape::heightfield(heights(0), up(1.0))),
            ("a height of its parry shape", SharedShape::heightfield(heights(4), up(1.0))),
            ("scale of its heights", flat(up(nan))),
            ("width of its parry shape", flat(Vector::new(1.0, 1.0, nan))),
            (border, SharedShape::round_cuboid(0.1, 0.1, 0.1, nan)),
            (border, SharedShape::round_cylinder(0.1, 0.1, nan)),
            (border, SharedShape::round_cone(0.1, 0.1, nan)),
            (border, SharedShape::round_triangle(a, Vector::X, c, nan)),
            (vertex, hull(nan).expect("not looked at")),
            ("the rotation of a part", SharedShape::compound(vec![(turned, SharedShape::ball(1.0))])),
        ];
        for (quantity, bad) in wrong {
            refused(quantity, nan, bad.clone());
            // Compounds hold no meshes and lines, and `parry3d` itself makes none with such a border.
            if bad.as_composite_shape().is_none() && quantity != border {
                let ball = (ParryPose::IDENTITY, SharedShape::ball(1.0));
                let part = (ParryPose::translation(0.5, 0.0, 0.0), bad);
                refused(quantity, nan, SharedShape::compound(vec![ball, part]));
            }
        }
    }
    for below in [-0.5, -f32::MIN_POSITIVE] {
        refused(border, below, SharedShape::round_cuboid(0.1, 0.1, 0.1, below));
        refused(border, below, SharedShape::round_cylinder(0.1, 0.1, below));
        refused(border, below, SharedShape::round_cone(0.1, 0.1, below));
    }
    // Corners need not be round.
    shape_is_taken(SharedShape::round_cuboid(0.1, 0.1, 0.1, 0.0));
    shape_is_taken(SharedShape::round_cylinder(0.1, 0.1, 0.0));
}

fn shape_is_taken(shape: SharedShape) {
    Colliders::<f32>::new([Collider::from_parry(shape)]).expect("usable");
}

fn refused(expected: &str, number: f32, bad: SharedShape) {
    let name = format!("{:?} with {number}", bad.shape_type());
    match Colliders::<f32>::new([Collider::from_parry(bad)]) {
        Err(BuildError::BadValue { what: "collider", row: 0, quantity, value, .. }) => {
            assert_eq!(quantity, expected, "{name}");
            assert!(value == f64::from(number) || value.is_nan() && number.is_nan(), "{name}: told as {value}");
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn parry_poses_become_poses() {
    let pose = Pose::from(ParryPose::translation(1.0, 2.0, 3.0));
    assert_eq!(pose, Pose::at([1.0, 2.0, 3.0]));
}
