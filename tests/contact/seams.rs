//! Cloth over shapes with several parts: links pull it into the seams between them, and it stays out.

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
