//! A banner carried by two hands that move, let go, and catch it again; a second body joins while time runs.
use pliant::prelude::*;

fn main() -> Result<(), Error> {
    let mut world = World::new();
    // Tethers keep the banner from stretching when the hands pull.
    let banner = Body::cloth(&ClothGrid::new(30, 15, 1.0, 0.5))?.pinned([0, 29]).with_tethers(0.02);
    let banner = world.add(banner)?;

    for step in 1..=120_u32 {
        // Hands walk along z at 0.5 m/s. A pin arrives at its target at the end of the step, over all substeps.
        let z = 0.5 * step as f32 / 60.0;
        world.move_pin(banner, 0, [0.0, 0.0, z])?;
        if step < 60 {
            world.move_pin(banner, 29, [1.0, 0.0, z])?;
        }
        match step {
            // The right hand lets go ...
            60 => world.release(banner, 29)?,
            // ... and a rope appears beside the banner. The banner's motion goes on undisturbed.
            80 => {
                let before = world.positions(banner)?.get(200);
                world.add(Body::rope(&Rope::new(20, [2.0, 0.0, 0.0], [3.0, 0.0, 0.0])?, false)?.pinned([0]))?;
                assert_eq!(before, world.positions(banner)?.get(200));
            }
            // Catching pins the corner where it is at that moment.
            100 => world.pin(banner, 29)?,
            _ => {}
        }
        world.step(1.0 / 60.0)?;
        if step % 20 == 0 {
            let [left, right] = [0, 29].map(|i| world.positions(banner).map(|p| p.get(i)));
            println!(
                "{:.2} s: left {:.2?}, right {:.2?}, {} bodies",
                world.time(),
                left?,
                right?,
                world.bodies().len()
            );
        }
    }
    Ok(())
}
