//! Cloth over shapes with several parts: links pull it into the seams between them, and it stays out.

use pliant::backends::AnyBackend;
use pliant::prelude::*;

/// Two balls stuck into a box: seams that bend inwards.
fn shape() -> Shape {
    let ball = |x: f64| Shape::Sphere { radius: 0.2 }.translated([x, 0.0, 0.0]);
    ball(-0.2).union(ball(0.2)).union(Shape::Cuboid { half: [0.25, 0.2, 0.15] })
}

/// How far a place is outside of all parts \[m\]; of places inside, no farther from 0 than they are deep.
fn outside([x, y, z]: [f32; 3]) -> f32 {
    let ball = |c: f32| ((x - c).powi(2) + y * y + z * z).sqrt() - 0.2;
    let side = (x.abs() - 0.25).max(y.abs() - 0.2).max(z.abs() - 0.15);
    ball(-0.2).min(ball(0.2)).min(side)
}

#[test]
fn cloth_stays_out_of_seams() -> Result<(), Error> {
    for (method, side, friction) in [("pbd", 16, 0.0), ("pbd", 24, 0.4), ("xpbd-colored", 40, 0.0)] {
        let mut world = World::with_method(Method::by_name(method)?, Best::new());
        let cloth = Body::cloth(&ClothGrid::square(1.0, side))?.translated([-0.5, 0.6, -0.5]).with_mass(0.2);
        let cloth = world.add(cloth)?;
        world.add_collider(Collider::new(shape()).with_friction(friction))?;
        let mut touched = false;
        for step in 0..60 {
            world.step(1.0 / 60.0)?;
            for (particle, place) in world.positions(cloth)?.iter().enumerate() {
                let gap = outside(place);
                touched |= gap < 1e-4;
                assert!(gap > -1e-5, "{method}, step {step}: particle {particle} is at {gap} m");
            }
        }
        assert!(touched, "{method}: it fell on the shape");
    }
    Ok(())
}

/// Slow particles begin in a seam, fast ones beside them on the same lanes: whoever is followed must not change what others do.
#[test]
fn neighbours_on_lanes_do_not_matter_in_seams() -> Result<(), Error> {
    for continuous in [true, false] {
        let run = |name: &str, pace: f32| -> Result<Vec<[f32; 3]>, Error> {
            let on = AnyBackend::by_name(name, Some(2)).expect("a name of this build");
            let mut world = World::with_method(Method::by_name("xpbd-colored")?, on);
            let places = (0..40).map(|k| [-0.25 - 1e-4 * f64::from(k), 0.1908, -0.022]);
            let body = world.add(Body::particles(places))?;
            // Not the first one, by which the body's frame is chosen.
            for particle in (0..40).filter(|k| k % 3 == 1) {
                world.set_velocity(body, particle, [0.0, -pace, 0.0])?;
            }
            world.add_collider(Collider::new(shape()).with_friction(0.4).with_continuous(continuous))?;
            (0..5).try_for_each(|_| world.step(1.0 / 60.0).map(|_| ()))?;
            Ok(world.positions(body)?.iter().collect())
        };
        let alone = run("scalar", 0.0)?;
        for name in AnyBackend::<f32>::names() {
            let (fast, expected) = (run(name, 200.0)?, run("scalar", 200.0)?);
            assert_eq!(fast, expected, "{name}");
            for (particle, (place, alone)) in fast.iter().zip(&alone).enumerate().filter(|(k, _)| k % 3 != 1) {
                assert_eq!(place, alone, "{name}: particle {particle}");
            }
        }
    }
    Ok(())
}
