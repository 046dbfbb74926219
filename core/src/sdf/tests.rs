//! Distances against their gradients, against exact answers, and at every lane width.

use std::sync::Arc;

use super::*;
use crate::error::BuildError;
use crate::lane::{BLOCK, Lane, Octet};
use crate::mesh::{MeshError, TriMesh, icosphere, tet_box};
use crate::vec3::Vec3;

/// SplitMix64 numbers in [−1, 1).
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
    pub fn point(&mut self) -> [f64; 3] {
        std::array::from_fn(|_| self.next())
    }
}

pub(super) fn program(shape: &Shape) -> Program<f64> {
    shape.compile(0).unwrap_or_else(|error| panic!("{shape:?}: {error}")).0
}

fn ball_grid(cells: usize) -> Shape {
    let mesh = icosphere(0.5, 4).expect("a valid sphere");
    Shape::Grid(Arc::new(DistanceGrid::from_mesh(&mesh, cells).expect("closed")))
}

/// Every shape, every way to change and combine them.
pub(super) fn shapes() -> Vec<Shape> {
    let sphere = || Shape::Sphere { radius: 0.5 };
    let cuboid = || Shape::Cuboid { half: [0.3, 0.4, 0.5] };
    let cylinder = || Shape::Cylinder { radius: 0.4, half_height: 0.3 };
    let torus = || Shape::Torus { major: 0.5, minor: 0.2 };
    let tilt = Rotation::about([1.0, 2.0, -0.5], 0.7);
    vec![
        Shape::Plane { normal: [1.0, 2.0, -0.5] },
        sphere(),
        cuboid(),
        Shape::Capsule { radius: 0.3, half_length: 0.4 },
        cylinder(),
        torus(),
        cuboid().rounded(0.1),
        cylinder().rounded(0.05),
        torus().offset(0.1),
        cuboid().turned(tilt).translated([0.1, -0.2, 0.3]),
        sphere().union(cuboid().translated([0.3, 0.3, 0.0])),
        sphere().intersection(cuboid()),
        cuboid().difference(sphere().translated([0.2, 0.3, 0.1])),
        torus().turned(tilt).union(cylinder().difference(sphere())).intersection(cuboid().offset(0.2)),
        ball_grid(24).turned(tilt),
    ]
}

/// Those whose lanes go through code of others too.
fn all_shapes() -> Vec<Shape> {
    #[cfg_attr(not(feature = "parry"), allow(unused_mut, reason = "only shapes of parry3d are added"))]
    let mut shapes = shapes();
    #[cfg(feature = "parry")]
    {
        use parry3d::shape::SharedShape;
        let tilt = Rotation::about([1.0, 2.0, -0.5], 0.7);
        shapes.push(Collider::from_parry(SharedShape::cylinder(0.3, 0.4)).shape.turned(tilt));
        shapes.push(Collider::from_parry(SharedShape::round_cuboid(0.2, 0.3, 0.4, 0.05)).shape);
    }
    shapes
}

#[test]
fn gradients_are_unit_and_match_central_differences() {
    let mut random = Random(1);
    for shape in shapes() {
        let program = program(&shape);
        let phi = |p: [f64; 3]| program.eval(Vec3::from(p)).0;
        let h = 1e-6;
        let (mut checked, mut smooth) = (0, 0);
        let sampled = matches!(&shape, Shape::Posed(inner, _) if matches!(**inner, Shape::Grid(_)));
        for _ in 0..2000 {
            // A grid interpolates its gradient by itself; outside its box it has a bound of the distance only.
            let p = random.point().map(|c| if sampled { 0.3 * c } else { c });
            let (_, n) = program.eval(Vec3::from(p));
            assert!((n.length() - 1.0).abs() < 1e-12, "{shape:?} at {p:?}: |n| = {}", n.length());
            let moved = |k: usize, by: f64| phi(std::array::from_fn(|i| p[i] + if i == k { by } else { 0.0 }));
            // Distances have kinks (medial axes, cell faces); there the two one-sided differences disagree.
            let sides = |k: usize| [moved(k, h) - phi(p), phi(p) - moved(k, -h)].map(|d| d / h);
            if sampled && p.iter().map(|c| c * c).sum::<f64>() < 0.04 {
                // A few cells around a sphere's centre no interpolation is right.
                continue;
            }
            checked += 1;
            if (0..3).any(|k| (sides(k)[0] - sides(k)[1]).abs() > 1e-3) {
                continue;
            }
            smooth += 1;
            let d: [f64; 3] = std::array::from_fn(|k| (moved(k, h) - moved(k, -h)) / (2.0 * h));
            let length = d.iter().map(|c| c * c).sum::<f64>().sqrt();
            if !sampled {
                assert!((length - 1.0).abs() < 1e-3, "{shape:?} at {p:?}: a slope of {length}");
            }
            for k in 0..3 {
                let found = [n.x, n.y, n.z][k];
                let tolerance = if sampled { 0.15 } else { 1e-4 };
                assert!((found - d[k] / length).abs() < tolerance, "{shape:?} at {p:?}: {n:?} against {d:?}");
            }
        }
        assert!(smooth * 10 > checked * 9, "{shape:?}: only {smooth} of {checked} points are smooth");
    }
}

#[test]
fn distances_of_known_points() {
    let at = |shape: Shape, p: [f64; 3]| program(&shape).eval(Vec3::from(p));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} against {b}");
    near(at(Shape::Plane { normal: [0.0, 2.0, 0.0] }, [7.0, 3.0, 1.0]).0, 3.0);
    near(at(Shape::Sphere { radius: 2.0 }, [3.0, 4.0, 0.0]).0, 3.0);
    let cuboid = Shape::Cuboid { half: [1.0, 2.0, 3.0] };
    near(at(cuboid.clone(), [4.0, 6.0, 0.0]).0, 5.0);
    near(at(cuboid.clone(), [0.5, 0.0, 0.0]).0, -0.5);
    near(at(cuboid.clone().rounded(0.5), [1.0, 0.0, 0.0]).0, 0.0);
    near(at(cuboid.clone().offset(0.5), [1.0, 0.0, 0.0]).0, -0.5);
    near(at(Shape::Capsule { radius: 1.0, half_length: 2.0 }, [3.0, 6.0, 0.0]).0, 4.0);
    near(at(Shape::Cylinder { radius: 1.0, half_height: 2.0 }, [4.0, 6.0, 0.0]).0, 5.0);
    near(at(Shape::Torus { major: 3.0, minor: 1.0 }, [0.0, 4.0, 0.0]).0, 4.0);
    let hole = cuboid.difference(Shape::Sphere { radius: 0.5 });
    near(at(hole.clone(), [0.0; 3]).0, 0.5);
    near(at(hole.turned(Rotation::about([0.0, 0.0, 1.0], 1.0)).translated([9.0, 0.0, 0.0]), [9.0, 0.0, 0.0]).0, 0.5);
}

#[test]
fn degenerate_points_have_a_way_out() {
    for shape in all_shapes() {
        for p in [[0.0; 3], [0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, -0.3, 0.0], [1e30_f64, 0.0, 0.0]] {
            let (phi, n) = program(&shape).eval(Vec3::from(p));
            assert!(phi.is_finite() && (n.length() - 1.0).abs() < 1e-9, "{shape:?} at {p:?}: {phi}, {n:?}");
        }
    }
}

fn agree<L: Lane<Scalar = f32>>() {
    let mut random = Random(3);
    for shape in all_shapes() {
        let program = shape.compile::<f32>(0).expect("valid").0;
        for _ in 0..50 {
            let mut x = [Octet([0.0_f32; BLOCK]); 3];
            x.iter_mut().flat_map(|o| &mut o.0).for_each(|v| *v = 1.2 * random.next() as f32);
            for at in (0..BLOCK).step_by(L::WIDTH) {
                let (phi, n) = program.eval(Vec3::new(L::load(&x[0], at), L::load(&x[1], at), L::load(&x[2], at)));
                let mut out = [Octet([0.0; BLOCK]); 4];
                for (value, out) in [phi, n.x, n.y, n.z].into_iter().zip(&mut out) {
                    value.store(out, at);
                }
                for i in at..at + L::WIDTH {
                    let (phi, n) = program.eval(Vec3::new(x[0].0[i], x[1].0[i], x[2].0[i]));
                    let same = [phi, n.x, n.y, n.z].iter().zip(&out).all(|(a, b)| a.to_bits() == b.0[i].to_bits());
                    assert!(same, "{shape:?}, lane {i}");
                }
            }
        }
    }
}

#[test]
fn every_width_gives_the_scalar_bits() {
    agree::<wide::f32x4>();
    agree::<wide::f32x8>();
}

/// The grid of a sphere within one cell of the exact distance everywhere in its box, at any resolution; its gradient within a few
/// degrees, fewer near the surface.
#[test]
fn a_sampled_sphere_is_a_sphere() {
    for (cells, near, far) in [(16, 4.0, 8.0), (32, 2.0, 4.0), (64, 2.0, 4.0)] {
        let shape = ball_grid(cells);
        let Shape::Grid(grid) = &shape else { unreachable!() };
        let (cell, program) = (grid.cell(), program(&shape));
        let mut random = Random(5);
        let (mut worst, mut angles) = (0.0_f64, [0.0_f64; 2]);
        for _ in 0..20_000 {
            // The grid has two cells more on every side; beyond them it only has a bound.
            let p = random.point().map(|c| (0.5 + 1.9 * cell) * c);
            let length = p.iter().map(|c| c * c).sum::<f64>().sqrt();
            let (phi, n) = program.eval(Vec3::from(p));
            worst = worst.max((phi - (length - 0.5)).abs());
            let cos = n.dot(Vec3::from(p)) / length;
            let angle = cos.min(1.0).acos().to_degrees();
            // Within a quarter of the radius of the surface, and within half of it; at the centre no direction is right.
            for (band, most) in [0.125, 0.25].into_iter().zip(&mut angles) {
                *most = if (length - 0.5).abs() < band { most.max(angle) } else { *most };
            }
        }
        assert!(worst < cell, "{cells} cells: off by {worst} m, a cell is {cell} m");
        assert!(angles[0] < near && angles[1] < far, "{cells} cells: gradient off by {angles:?}°");
    }
}

/// Distances of a box mesh, whose sides, edges and corners fall on grid lines: ties in the inside test.
#[test]
fn a_sampled_box_is_a_box() {
    let (mesh, _) = tet_box([2, 2, 2], [1.0, 1.0, 1.0], crate::mesh::Split::Five).expect("a box").surface_mesh();
    let low = mesh.positions().iter().fold([f64::MAX; 3], |l, p| [l[0].min(p.x), l[1].min(p.y), l[2].min(p.z)]);
    let grid = DistanceGrid::from_mesh(&mesh, 16).expect("closed");
    let cuboid = Shape::Cuboid { half: [0.5; 3] }.translated(low.map(|c| c + 0.5));
    let (sampled, exact) = (program(&Shape::Grid(Arc::new(grid.clone()))), program(&cuboid));
    let mut random = Random(7);
    for _ in 0..5000 {
        let p = random.point().map(|c| 1.2 * c + 0.3);
        let (a, b) = (sampled.eval(Vec3::from(p)).0, exact.eval(Vec3::from(p)).0);
        // Outside the grid the value is a lower bound.
        assert!((a - b).abs() < grid.cell() || a < b && b > 0.1, "{a} against {b} at {p:?}");
    }
}

#[test]
fn meshes_without_an_inside_are_refused() {
    let ball = icosphere(0.5, 1).expect("a valid sphere");
    let open = TriMesh::new(ball.positions().iter().copied(), ball.triangles()[1..].iter().copied()).expect("a mesh");
    let error = Collider::mesh(&open, 16).expect_err("an open mesh");
    assert!(matches!(error, BuildError::Mesh(MeshError::OpenSurface { .. })), "{error}");
    let flipped = ball.triangles().iter().enumerate().map(|(i, &[a, b, c])| if i == 3 { [a, c, b] } else { [a, b, c] });
    let twisted = TriMesh::new(ball.positions().iter().copied(), flipped).expect("a mesh");
    let error = Collider::mesh(&twisted, 16).expect_err("a twisted mesh");
    assert!(matches!(error, BuildError::Mesh(MeshError::InconsistentWinding { .. })), "{error}");
    for cells in [0, 3, 257] {
        assert!(matches!(Collider::mesh(&ball, cells), Err(BuildError::BadOption { name: "cells", .. })));
    }
}

/// Meshes that would be accepted and stop nothing: flat ones, thin ones, and those that a precision cannot hold.
#[test]
fn meshes_that_would_stop_nothing_are_refused() {
    for axis in 0..3 {
        let error = Collider::mesh(&pillow(axis, 0.0), 16).expect_err("a flat mesh");
        assert!(matches!(error, BuildError::Mesh(MeshError::Flat { volume: 0.0 })), "{error}");
        assert!(matches!(
            Collider::mesh(&pillow(axis, 0.01), 16),
            Err(BuildError::BadOption { name: "cells", value: 16.0, .. })
        ));
        Collider::mesh(&pillow(axis, 0.5), 16).expect("thick enough");
    }
    let ball = icosphere(0.5, 2).expect("a valid sphere");
    let moved = |by: f64| {
        Collider::mesh(&ball.transformed(|p| p + ultraviolet::DVec3::broadcast(by)).expect("a mesh"), 16)
            .expect("closed")
    };
    let scaled = |by: f64| Collider::mesh(&ball.transformed(|p| p * by).expect("a mesh"), 16).expect("closed");
    for (collider, quantity, value) in [
        (moved(1e8), "largest coordinate of its mesh", 1e8),
        (moved(-1e8), "largest coordinate of its mesh", 1e8),
        (scaled(1e20), "largest coordinate of its mesh", 0.625e20),
        (scaled(1e-20), "cell of its mesh", 0.0625e-20),
    ] {
        let inside = Collider::new(collider.shape.clone().translated([0.1; 3]).union(Shape::Sphere { radius: 0.1 }));
        for single in [collider.clone(), inside] {
            match Colliders::<f32>::new([single]) {
                Err(BuildError::BadValue { what: "collider", row: 0, quantity: found, value: told, .. }) => {
                    assert_eq!(found, quantity);
                    assert!((told - value).abs() < 0.1 * value, "{told} instead of {value}");
                }
                other => panic!("{quantity}: {other:?}"),
            }
        }
        Colliders::<f64>::new([collider]).expect("double precision holds it");
    }
    for usable in [moved(1e3), scaled(1e6), scaled(1e-6)] {
        Colliders::<f32>::new([usable]).expect("single precision holds it");
    }
}

/// A closed surface of two sheets with a common rim, a square of 1 m that bulges by so much on either side.
fn pillow(axis: usize, bulge: f64) -> TriMesh {
    let rim = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]].map(|[u, v]| [u, v, 0.0]);
    let corners = rim.into_iter().chain([[0.0, 0.0, bulge], [0.1, 0.1, -bulge]]);
    let sides = (0..4).flat_map(|k| [[k, (k + 1) % 4, 4], [(k + 1) % 4, k, 5]]);
    let turned = corners.map(|c| std::array::from_fn::<f64, 3, _>(|k| c[(k + 2 + 3 - axis) % 3]));
    TriMesh::new(turned, sides).expect("a mesh")
}

/// Flattening goes down a tree by calls: one that is deeper than the stack must not end the program.
#[test]
fn shapes_that_nest_too_deeply_are_refused() {
    let ball = || Shape::Sphere { radius: 0.1 };
    let nested = |levels: usize, around: &dyn Fn(Shape) -> Shape| (0..levels).fold(ball(), |shape, _| around(shape));
    let ways: [&dyn Fn(Shape) -> Shape; 5] = [
        &|shape| shape.translated([0.0, 1e-6, 0.0]),
        &|shape| shape.offset(1e-6),
        &|shape| shape.union(ball()),
        &|shape| ball().intersection(shape),
        &|shape| shape.difference(ball()),
    ];
    for (way, around) in ways.into_iter().enumerate() {
        for levels in [257, 20_000, 300_000] {
            let mut set = Colliders::<f32>::new([Collider::sphere(1.0)]).expect("valid");
            let refused = [
                set.push(Collider::new(nested(levels, around)).with_friction(f64::NAN).at([f64::NAN; 3])),
                set.replace(0, Collider::new(nested(levels, around))),
            ];
            for (row, refused) in [1, 0].into_iter().zip(refused) {
                let Err(BuildError::BadValue { what: "collider", row: at, quantity, value, .. }) = refused else {
                    panic!("{way}: {refused:?}")
                };
                assert_eq!((at, quantity, value), (row, "depth of its nested shapes", levels as f64), "{way}");
            }
            assert_eq!(set.len(), 1);
        }
    }
    for around in &ways[..3] {
        Colliders::<f32>::new([Collider::new(nested(256, around))]).expect("deep enough");
    }
}

/// A mesh that intersects itself is no error: what any of its sheets encloses is inside.
#[test]
fn meshes_that_intersect_themselves_enclose_what_their_parts_do() {
    let ball = icosphere(0.5, 3).expect("a valid sphere");
    let (count, shift) = (ball.positions().len() as u32, 0.5);
    let moved = ball.positions().iter().map(|&p| p + ultraviolet::DVec3::new(shift, 0.0, 0.0));
    let both = ball.triangles().iter().map(|t| t.map(|v| v + count));
    let mesh =
        TriMesh::new(ball.positions().iter().copied().chain(moved), ball.triangles().iter().copied().chain(both));
    let grid = DistanceGrid::from_mesh(&mesh.expect("two spheres"), 40).expect("closed");
    let cell = grid.cell();
    let program = program(&Shape::Grid(Arc::new(grid)));
    let mut random = Random(13);
    for _ in 0..5000 {
        let p = random.point();
        let (phi, n) = program.eval(Vec3::from(p));
        let exact = [0.0, shift].map(|x| ((p[0] - x).powi(2) + p[1] * p[1] + p[2] * p[2]).sqrt() - 0.5);
        let outside = exact[0].min(exact[1]);
        assert!(phi.is_finite() && (n.length() - 1.0).abs() < 1e-9, "{phi}, {n:?} at {p:?}");
        // Deep inside the nearest sheet is one that the other part covers: the distance is shorter, its sign is right.
        assert!(outside.abs() < cell || (phi > 0.0) == (outside > 0.0), "{phi} instead of {outside} at {p:?}");
    }
}

#[test]
fn colliders_that_cannot_be_are_refused() {
    let nan = f64::NAN;
    let ball = || Collider::sphere(0.5);
    let wrong = [
        ("radius", Collider::sphere(0.0)),
        ("radius", Collider::sphere(-1.0)),
        ("radius", Collider::sphere(nan)),
        ("radius", Collider::sphere(1e-60)),
        ("half side", Collider::cuboid([1.0, 0.0, 1.0])),
        ("half length", Collider::capsule(1.0, 0.0)),
        ("half height", Collider::cylinder(1.0, -1.0)),
        ("minor radius", Collider::torus(1.0, f64::INFINITY)),
        ("length of its normal", Collider::plane([0.0; 3])),
        ("half side", Collider::new(Shape::Cuboid { half: [0.1; 3] }.rounded(0.1))),
        ("offset", Collider::new(Shape::Sphere { radius: 1.0 }.offset(-0.1))),
        ("friction", ball().with_friction(-0.1)),
        ("friction", ball().with_friction(nan)),
        ("restitution", ball().with_restitution(1.1)),
        ("restitution", ball().with_restitution(-0.1)),
        ("restitution", ball().with_restitution(nan)),
        ("translation", ball().at([0.0, nan, 0.0])),
        ("rotation", ball().turned([nan, 0.0, 0.0, 1.0])),
        ("rotation", ball().turned(Rotation::about([0.0; 3], 1.0))),
        ("length of the rotation's quaternion", ball().turned([0.0; 4])),
        ("translation", Collider::new(Shape::Sphere { radius: 1.0 }.translated([nan; 3]))),
    ];
    for (expected, collider) in wrong {
        match Colliders::<f32>::new([ball(), collider.clone()]) {
            Err(BuildError::BadValue { what: "collider", row: 1, quantity, .. }) => assert_eq!(quantity, expected),
            other => panic!("{collider:?}: {other:?}"),
        }
    }
    let mut nested = Shape::Sphere { radius: 1.0 };
    for _ in 0..9 {
        nested = Shape::Sphere { radius: 1.0 }.difference(nested);
    }
    let error = Colliders::<f32>::new([Collider::new(nested)]).expect_err("nested too deep");
    assert!(error.to_string().contains("nesting"), "{error}");
}

#[test]
fn quaternions_are_normalised_and_take_the_shorter_arc() {
    let set = Colliders::<f64>::new([Collider::sphere(1.0).turned([0.0, 0.0, 3.0, 3.0])]).expect("valid");
    let half = core::f64::consts::FRAC_1_SQRT_2;
    assert!((set.described()[0].pose.rotation.0[3] - half).abs() < 1e-15);
    let from = Pose::IDENTITY;
    let to = Pose::at([2.0, 0.0, 0.0]).turned([0.0, 0.0, -half, -half]);
    let middle = from.towards(to, 0.5);
    assert_eq!(middle.translation, [1.0, 0.0, 0.0]);
    let eighth = Rotation::about([0.0, 0.0, 1.0], core::f64::consts::FRAC_PI_4).0;
    assert!(middle.rotation.0.iter().zip(&eighth).all(|(a, b)| (a - b).abs() < 1e-12), "{middle:?}");
}

#[test]
fn penalties_push_as_their_energies_say() {
    type Energy = fn(f64) -> f64;
    let energies: [(Penalty, Energy); 3] = [
        (Penalty::Linear { stiffness: 200.0 }, |d| if d < 0.0 { 100.0 * d * d } else { 0.0 }),
        (Penalty::Buffered { stiffness: 200.0, buffer: 0.1 }, |d| 100.0 * (d - 0.1).min(0.0).powi(2)),
        (Penalty::LogBarrier { strength: 3.0, buffer: 0.1 }, |d| {
            if d < 0.1 { 3.0 * (d / 0.1 - 1.0 - (d / 0.1).ln()) } else { 0.0 }
        }),
    ];
    for (penalty, energy) in energies {
        for gap in [-0.05, -0.01, 0.02, 0.05, 0.09, 0.11, 0.5] {
            if matches!(penalty, Penalty::LogBarrier { .. }) && gap < 0.0 {
                continue;
            }
            let h = 1e-6;
            let (force, stiffness) = penalty.push(gap);
            assert!((penalty.energy(gap) - energy(gap)).abs() < 1e-12 * (1.0 + energy(gap)), "{penalty:?} at {gap}");
            let slope = -(energy(gap + h) - energy(gap - h)) / (2.0 * h);
            assert!((force - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{penalty:?} at {gap}: {force}, {slope}");
            let bend = -(penalty.push(gap + h).0 - penalty.push(gap - h).0) / (2.0 * h);
            assert!((stiffness - bend).abs() < 1e-4 * (1.0 + bend.abs()), "{penalty:?} at {gap}: {stiffness}, {bend}");
        }
        assert!(penalty.push(penalty.reach()).0.abs() < 1e-9);
        assert!(penalty.push(-1e6_f64).0.is_finite());
    }
    assert!(Penalty::Linear { stiffness: 0.0 }.check::<f64>().is_err());
    assert!(Penalty::Buffered { stiffness: 1.0, buffer: f64::NAN }.check::<f64>().is_err());
}

/// Two walls as one shape: a particle that slides along the first at high speed is stopped by the second.
#[test]
fn a_corner_of_thin_walls_holds() {
    let wall = |at: [f64; 3], half: [f64; 3]| Shape::Cuboid { half }.translated(at);
    let corner = wall([0.0, 0.0, 0.0], [2.0, 0.001, 2.0]).union(wall([1.0, 1.0, 0.0], [0.001, 1.0, 2.0]));
    let set = Colliders::<f64>::new([Collider::new(corner)]).expect("valid");
    let (solid, h) = (&set.solids()[0], 1.0 / 600.0);
    let mut random = Random(5);
    for particle in 0..2000 {
        let mut x = Vec3::new(0.75 * random.next() - 0.25, 0.11 + 0.1 * random.next(), 0.0);
        let mut v = Vec3::new(155.0 + 145.0 * random.next(), -50.0 + 49.0 * random.next(), 0.0);
        for substep in 0..50 {
            v = v + Vec3::new(0.0, -9.81 * h, 0.0);
            let (start, mut end) = (x, x + v * h);
            if let Some(contact) = solid.touch(0.0, end, end - start) {
                end = end + solid.project(0.0, &contact, 0.0).0;
            }
            assert!(
                end.x < 1.0 && end.y > 0.0,
                "particle {particle}, substep {substep}: {start:?} to {:?} became {end:?}",
                start + v * h
            );
            (x, v) = (end, (end - start) * (1.0 / h));
        }
    }
}

/// Planes cut by planes have no size of their own: particles still stop at them, or pass beside them.
#[test]
fn planes_cut_by_planes_stop_what_is_fast() {
    let half_space = |normal: [f64; 3], at: [f64; 3]| Shape::Plane { normal }.translated(at);
    let floor = || half_space([0.0, 1.0, 0.0], [0.0; 3]);
    // A slab of 2 mm whose top is at y = 0, both ways; and a corner whose edge is at x = 0, y = 0.
    let slabs = [
        floor().difference(half_space([0.0, 1.0, 0.0], [0.0, -0.002, 0.0])),
        floor().intersection(half_space([0.0, -1.0, 0.0], [0.0, -0.002, 0.0])),
    ];
    let corners = [
        floor().difference(half_space([-1.0, 0.0, 0.0], [0.0; 3])),
        floor().intersection(half_space([1.0, 0.0, 0.0], [0.0; 3])),
    ];
    let land = |shape: &Shape, start: [f64; 3], end: [f64; 3]| {
        let set = Colliders::<f64>::new([Collider::new(shape.clone())]).expect("valid");
        let (start, end) = (Vec3::from(start), Vec3::from(end));
        match set.solids()[0].touch(0.0, end, end - start) {
            Some(contact) if contact.depth > 0.0 => end + set.solids()[0].project(0.0, &contact, 0.0).0,
            _ => end,
        }
    };
    let mut random = Random(17);
    for _ in 0..500 {
        let [x, y, z] = random.point();
        let (from, travel) = (1.1 + y, 10.0_f64.powf(1.0 + z));
        for slab in &slabs {
            let landed = land(slab, [x, from, z], [x + 0.3 * z, from - travel, z]);
            let expected = (from - travel).max(0.0);
            assert!((landed.y - expected).abs() < 1e-3, "{slab:?}: from {from} by {travel} to {landed:?}");
        }
        for corner in &corners {
            let inside = -0.05 - x.abs();
            let landed = land(corner, [inside, from, z], [inside, from - travel, z]);
            assert!((landed.y - (from - travel).max(0.0)).abs() < 1e-3, "{corner:?}: {landed:?}");
            // Beside the corner nothing is in the way. Not too close: long paths along a shape that is not convex are not seen to
            // their end, and stop there.
            let beside = 0.05 + 0.1 * travel;
            let landed = land(corner, [beside, from, z], [beside, from - travel, z]);
            assert!((landed.y - (from - travel)).abs() < 1e-12, "{corner:?}: {landed:?}");
        }
    }
}
