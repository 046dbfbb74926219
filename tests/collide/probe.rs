//! Questions about colliders, against exact answers.

use pliant::backends::{AnyBackend, Precision};
use pliant::core::body::Body;
use pliant::core::collide::{Hit, Probe, ProbeTree, Target};
use pliant::core::mesh::{ClothGrid, TriMesh};
use pliant::core::model::Model;
use pliant::core::sdf::{Collider, Rotation, Shape};
use pliant::core::vec3::Vec3;

use crate::common::Random;

/// Asks a world of these colliders, and of one particle far away.
fn ask<S: Precision, T>(colliders: &[Collider], question: impl FnOnce(&Probe<'_, S>) -> T) -> T {
    let (mut model, particles) = Model::<S>::build(&[&Body::particles([[1e4; 3]])]).expect("a particle");
    colliders.iter().for_each(|c| model.colliders_mut().push(c.clone()).expect("valid"));
    let mut tree = ProbeTree::new();
    question(&tree.look(&model, &particles.x, &AnyBackend::<S>::scalar()).expect("finite"))
}

fn closest(shape: &Shape, point: [f64; 3]) -> Hit {
    ask::<f64, _>(&[Collider::new(shape.clone())], |probe| probe.closest(point, 100.0)).expect("within reach")
}

fn found(collider: &Collider, question: impl FnOnce(&Probe<'_, f64>, &mut Vec<Target>)) -> bool {
    let mut found = Vec::new();
    ask::<f64, _>(std::slice::from_ref(collider), |probe| question(probe, &mut found));
    found.contains(&Target::Collider(0))
}

fn mesh(points: &[[f64; 3]], triangles: &[[u32; 3]], cells: usize) -> Shape {
    Collider::mesh(&TriMesh::new(points.to_vec(), triangles.to_vec()).expect("a mesh"), cells).expect("closed").shape
}

/// The corner of a cube, cut off by x + y + z = 1.
fn tetrahedron() -> Shape {
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    mesh(&points, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], 64)
}

fn box_mesh(half: [f64; 3]) -> Shape {
    let corner = |i: u32| std::array::from_fn(|k| if i >> k & 1 == 0 { -half[k] } else { half[k] });
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles: Vec<_> = quads.iter().flat_map(|q: &[u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
    mesh(&(0..8).map(corner).collect::<Vec<_>>(), &triangles, 48)
}

#[test]
fn closest_places_of_combined_and_sampled_shapes_are_on_them() {
    let plane = |normal| Shape::Plane { normal };
    let quarter = plane([1.0, 0.0, 0.0]).intersection(plane([0.0, 1.0, 0.0]));
    let slanted = plane([1.0, 0.0, 0.0]).intersection(plane([-0.6, 0.8, 0.0]));
    let cube = Shape::Cuboid { half: [1.0; 3] };
    let lens = cube.clone().intersection(Shape::Sphere { radius: 1.2 });
    // A bar with a notch: from above the notch its floor is nearest, or one of its rims.
    let notch = Shape::Cuboid { half: [2.0, 0.5, 2.0] }
        .difference(Shape::Cuboid { half: [0.5, 0.3, 9.0] }.translated([0.0, 0.5, 0.0]));
    let cell = 1.0 / 64.0;
    let root = f64::sqrt;
    let cases = [
        ("tetrahedron", tetrahedron(), [2.0; 3], 5.0 / root(3.0), cell),
        ("tetrahedron, corner", tetrahedron(), [3.0, -0.5, -0.5], root(4.5), 3.0 * cell),
        ("box mesh", box_mesh([0.5, 0.2, 0.3]), [0.1, 3.0, 0.1], 2.8, 0.021),
        ("box mesh, edge", box_mesh([0.5, 0.2, 0.3]), [1.5, 1.2, 0.1], root(2.0), 0.021),
        ("quarter space", quarter.clone(), [1.0, 1.0, 0.0], root(2.0), 1e-8),
        ("quarter space, uneven", quarter, [1.0, 3.0, 7.0], root(10.0), 1e-8),
        ("slanted", slanted, [1.0, 3.0, 0.0], root(1.0 + 9.0), 1e-6),
        ("lens", lens, [3.0; 3], root(27.0) - 1.2, 1e-6),
        ("notch", notch.clone(), [0.0, 0.9, 0.0], root(0.5 * 0.5 + 0.4 * 0.4), 0.061),
        ("notch, beside", notch, [0.45, 1.5, 0.0], root(0.05 * 0.05 + 1.0), 1e-3),
        ("cube, inside of a union", cube.clone().union(cube.translated([1.5, 0.0, 0.0])), [0.75, 0.0, 0.0], -1.0, 1e-6),
    ];
    for (what, shape, point, expected, tolerance) in cases {
        let hit = closest(&shape, point);
        assert!((hit.distance - expected).abs() <= tolerance, "{what}: {hit:?}, not {expected}");
        // It is on the surface, as far away as it says.
        let there = closest(&shape, hit.point);
        assert!(there.distance.abs() < 1e-6, "{what}: {hit:?} is {} off the surface", there.distance);
        let gap = (Vec3::from(point) - Vec3::from(hit.point)).length();
        assert!((gap - hit.distance.abs()).abs() < 1e-9, "{what}: {hit:?}");
        // Balls that end before it hold nothing of it, those that do not do.
        if expected > 0.0 {
            let collider = Collider::new(shape);
            assert!(
                !found(&collider, |probe, found| probe.in_sphere(point, expected - tolerance - 1e-9, found)),
                "{what}"
            );
            assert!(
                found(&collider, |probe, found| probe.in_sphere(point, expected + tolerance + 1e-9, found)),
                "{what}"
            );
        }
    }
}

/// Where a box mesh is asked from everywhere: within a cell of the box.
#[test]
fn closest_places_of_a_sampled_box_are_those_of_the_box() {
    let half = [0.5, 0.2, 0.3];
    let (sampled, exact) = (box_mesh(half), Shape::Cuboid { half });
    let colliders = [sampled, exact].map(|shape| [Collider::new(shape).turned(Rotation::about([0.3, 0.5, -0.8], 1.1))]);
    let mut random = Random::new(11);
    let mut worst = 0.0_f64;
    for far in [1.0, 4.0, 30.0] {
        for _ in 0..200 {
            let point = random.point(far);
            let [a, b] =
                colliders.each_ref().map(|c| ask::<f64, _>(c, |probe| probe.closest(point, 1e3)).expect("one"));
            worst = worst.max((a.distance - b.distance).abs());
            let on = ask::<f64, _>(&colliders[1], |probe| probe.closest(a.point, 1e3)).expect("one");
            assert!(on.distance.abs() < 1.0 / 48.0, "{point:?}: {a:?} is {} off the box", on.distance);
        }
    }
    assert!(worst < 1.0 / 48.0, "{worst}");
}

#[test]
fn the_nearer_collider_wins_by_its_distance_and_not_by_its_bound() {
    let quarter = Shape::Plane { normal: [1.0, 0.0, 0.0] }.intersection(Shape::Plane { normal: [0.0, 1.0, 0.0] });
    // 1.2 m away, where the quarter space says 1 and is √2.
    let ball = Collider::sphere(0.5).at([1.0, 1.0, 1.7]);
    let hit = ask::<f32, _>(&[Collider::new(quarter), ball], |probe| probe.closest([1.0, 1.0, 0.0], 9.0)).expect("one");
    assert!(hit.target == Target::Collider(1) && (hit.distance - 1.2).abs() < 1e-6, "{hit:?}");
}

#[test]
fn flat_boxes_are_judged_as_finely_as_they_are_flat() {
    let zone =
        |probe: &Probe<'_, f64>, found: &mut Vec<Target>| probe.in_box([-50.0, 0.0, -50.0], [50.0, 0.1, 50.0], found);
    for shape in [
        Shape::Sphere { radius: 0.5 },
        Shape::Sphere { radius: 0.5 }.difference(Shape::Cuboid { half: [0.1, 9.0, 0.1] }),
        box_mesh([0.5; 3]),
        Shape::Torus { major: 2.0, minor: 0.5 },
    ] {
        for (y, meets) in [(1.2, false), (0.9, false), (0.55, true), (0.0, true), (-0.45, true), (-0.9, false)] {
            let collider = Collider::new(shape.clone()).at([3.0, y, 7.0]);
            assert_eq!(found(&collider, zone), meets, "{shape:?} at {y}");
        }
    }
    // Planes a hair above and below it, and one that it rests on.
    let up = [0.0, 1.0, 0.0];
    for (y, meets) in [(-1e-6, false), (0.0, true), (1e-6, true)] {
        assert_eq!(found(&Collider::plane(up).at([0.0, y, 0.0]), zone), meets, "{y}");
    }
}

/// Single precision rounds places to 0.06 mm at 1 km from the origin, and to 8 mm at 100 km.
#[test]
fn boxes_far_away_that_touch_a_collider_meet_it() {
    let mut random = Random::new(5);
    for far in [10.0, 1e3, 1e5] {
        for _ in 0..100 {
            let at = random.point(far);
            let collider = [Collider::cuboid([1.0, 1.0, 1.0]).at(at)];
            let (low, high) = ([at[0] + 0.5, at[1] - 3.0, at[2] - 3.0], [at[0] + 4.0, at[1] + 3.0, at[2] + 3.0]);
            let mut found = Vec::new();
            ask::<f32, _>(&collider, |probe| probe.in_box(low, high, &mut found));
            assert_eq!(found, [Target::Collider(0)], "beside {at:?}");
        }
    }
}

#[test]
fn boxes_without_end_hold_what_is_there() {
    let ball = Collider::sphere(0.5).at([1.0, 2.0, 3.0]);
    let floor = Collider::plane([0.0, 1.0, 0.0]).at([0.0, -1.0, 0.0]);
    let (inf, far) = (f64::INFINITY, 1e300);
    for (low, high, of_ball, of_floor) in [
        ([-inf; 3], [inf; 3], true, true),
        ([-far; 3], [far; 3], true, true),
        ([-inf, 0.0, -inf], [inf, inf, inf], true, false),
        ([-inf, -inf, -inf], [inf, 1.4, inf], false, true),
        ([-inf, 1.6, 3.4], [inf, inf, inf], true, false),
        ([inf; 3], [-inf; 3], false, false),
        ([f64::NAN; 3], [inf; 3], false, false),
    ] {
        for (collider, meets) in [(&ball, of_ball), (&floor, of_floor)] {
            let there = found(collider, |probe, found| probe.in_box(low, high, found));
            assert_eq!(there, meets, "{low:?} to {high:?}");
        }
    }
    // Triangles and particles as well.
    let sheet = Body::cloth(&ClothGrid::square(1.0, 3)).expect("a grid");
    let (model, particles) = Model::<f64>::build(&[&sheet, &Body::particles([[0.0, 5.0, 0.0]])]).expect("valid");
    let (mut tree, mut found) = (ProbeTree::new(), Vec::new());
    let probe = tree.look(&model, &particles.x, &AnyBackend::scalar()).expect("finite");
    probe.in_box([-inf; 3], [inf; 3], &mut found);
    assert_eq!(found.len(), 9);
    found.clear();
    probe.in_box([-inf, 0.001, -inf], [inf; 3], &mut found);
    assert_eq!(found, [Target::Particle(9)]);
}
