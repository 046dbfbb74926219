//! A square cloth falls and hangs from two of its corners.
use pliant::prelude::*;

fn main() -> Result<(), Error> {
    let mut world = World::new();
    let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 30))?.pinned([0, 29]))?;
    for step in 1..=180 {
        world.step(1.0 / 60.0)?;
        if step % 30 == 0 {
            let lowest = world.positions(cloth)?.y().iter().copied().fold(f32::MAX, f32::min);
            println!("{:.1} s: lowest point at {lowest:.3} m", world.time());
        }
    }
    Ok(())
}
