//! Fast paths at combined shapes: nothing gets through thin walls, and nothing is slowed down that slides along.

use super::tests::Random;
use super::*;
use crate::lane::Real;
use crate::vec3::Vec3;

fn solids<S: Real>(shape: Shape) -> Colliders<S> {
    Colliders::new([Collider::new(shape)]).expect("a valid shape")
}

/// Falls and slides for so many substeps of h, with friction: visits every place.
fn run<S: Real>(
    solid: &Solid<S>,
    (h, gravity, friction): (f64, f64, f64),
    [x, v]: [[f64; 3]; 2],
    steps: usize,
    mut visit: impl FnMut(Vec3<S>),
) -> [Vec3<S>; 2] {
    let (h, friction) = (S::from_f64(h), S::from_f64(friction));
    let (mut x, mut v) = (Vec3::from(x.map(S::from_f64)), Vec3::from(v.map(S::from_f64)));
    for _ in 0..steps {
        v.y = v.y - S::from_f64(gravity) * h;
        let (start, mut end) = (x, x + v * h);
        if let Some(contact) = solid.touch(S::ZERO, end, end - start).filter(|contact| contact.depth > S::ZERO) {
            end = end + solid.project(S::ZERO, &contact, friction * contact.depth).0;
        }
        (x, v) = (end, (end - start) * (S::ONE / h));
        visit(x);
    }
    [x, v]
}

/// Particles in a closed box and a closed drum, in corners and along edges for most of the time.
fn stays_inside<S: Real>(walls: [f64; 3], speeds: [f64; 3]) {
    let mut random = Random(7);
    for (wall, speed) in walls.into_iter().flat_map(|wall| speeds.map(|speed| (wall, speed))) {
        let hollow_box = Shape::Cuboid { half: [1.0; 3] }.difference(Shape::Cuboid { half: [1.0 - wall; 3] });
        let can = |r: f64| Shape::Cylinder { radius: r, half_height: r };
        for (name, shape) in [("box", hollow_box), ("drum", can(1.0).difference(can(1.0 - wall)))] {
            let set = solids::<S>(shape);
            for (k, h) in (0..40).zip([1.0 / 600.0, 1.0 / 60.0].into_iter().cycle()) {
                let start = [random.point().map(|c| 0.3 * c), random.point().map(|c| speed * c)];
                run(&set.solids()[0], (h, 9.81, 0.1), start, 200, |x| {
                    let [x, y, z] = [x.x, x.y, x.z].map(S::to_f64);
                    let across = if name == "box" { x.abs().max(z.abs()) } else { x.hypot(z) };
                    let out = across.max(y.abs()) - (1.0 - wall);
                    assert!(out < 0.5 * wall, "particle {k}, {name}, wall {wall}, {speed} m/s: {out} m inside it");
                });
            }
        }
    }
}

#[test]
fn nothing_leaves_hollow_shapes_through_their_walls() {
    stays_inside::<f64>([0.0005, 0.003, 0.02], [1.0, 6.0, 30.0]);
    stays_inside::<f32>([0.0005, 0.003, 0.02], [1.0, 6.0, 30.0]);
}

/// A particle that lands on a long floor and slides without friction.
fn keeps_going<S: Real>(shape: Shape, name: &str) {
    let set = solids::<S>(shape);
    for speed in [0.5, 1.0, 2.0, 3.0, 5.0, 10.0] {
        for h in [1.0_f64 / 600.0, 1.0 / 60.0] {
            let steps = (1.0 / h).round() as usize;
            let [x, v] = run(&set.solids()[0], (h, 9.81, 0.0), [[-8.0, 0.003, 0.3], [speed, 0.0, 0.0]], steps, |_| {});
            let (share, height) = ((x.x.to_f64() + 8.0) / speed, x.y.to_f64());
            assert!((share - 1.0).abs() < 1e-3, "{name}, {speed} m/s, h {h}: {share} of the way");
            assert!((v.x.to_f64() / speed - 1.0).abs() < 1e-3, "{name}, {speed} m/s, h {h}: {v:?}");
            assert!(height.abs() < 1e-3, "{name}, {speed} m/s, h {h}: at {height} m");
        }
    }
}

#[test]
fn combined_floors_slow_nothing_down() {
    let floor = || Shape::Cuboid { half: [20.0, 0.5, 5.0] }.translated([0.0, -0.5, 0.0]);
    let ball = |radius: f64, x: f64| Shape::Sphere { radius }.translated([x, 0.0, 4.0]);
    let shapes = [
        ("a floor with a ball", floor().union(ball(0.02, 4.0))),
        ("a floor with a hole", floor().difference(ball(0.1, 4.0))),
        ("a floor with both", floor().union(ball(0.02, 4.0)).difference(ball(0.1, -4.0))),
        ("two floors", floor().intersection(Shape::Cuboid { half: [19.0, 0.6, 5.0] }.translated([0.0, -0.5, 0.0]))),
        ("a cut floor", floor().difference(Shape::Cuboid { half: [19.0, 0.3, 4.0] }.translated([0.0, -0.5, 0.0]))),
    ];
    for (name, shape) in shapes {
        keeps_going::<f64>(shape.clone(), name);
        keeps_going::<f32>(shape, name);
    }
}

#[test]
fn drums_turn_what_slides_around_in_them() {
    for wall in [0.002, 0.05] {
        let drum = Shape::Cylinder { radius: 0.5, half_height: 0.5 }
            .difference(Shape::Cylinder { radius: 0.5 - wall, half_height: 0.6 });
        let set = solids::<f64>(drum);
        for (speed, least) in [(1.0, 0.97), (3.0, 0.9), (10.0, 0.5)] {
            let start = [[0.5 - wall - 1e-4, 0.0, 0.0], [0.0, 0.0, speed]];
            let [_, v] = run(&set.solids()[0], (1.0 / 600.0, 0.0, 0.0), start, 600, |_| {});
            // A substep goes straight on and is brought back along the radius: it loses (v h/r)²/2 of its speed.
            assert!(v.length() > least * speed, "wall {wall}, {speed} m/s: {} m/s left", v.length());
        }
    }
}
