//! A flag on a pole: wind that comes in gusts, and normals for drawing it.
use pliant::prelude::*;

/// Vertices along the flag and up the pole.
const COLUMNS: usize = 45;
const ROWS: usize = 30;

fn main() -> Result<(), Error> {
    // A grid lies in the x–z plane; stand it up so that z becomes height, and pin the column at the pole.
    let flag = Body::cloth(&ClothGrid::new(COLUMNS, ROWS, 1.5, 1.0))?
        .posed(|[x, _, z]| [x, z, 0.0])
        .with_compliance(Role::Bend, 1e-3)
        .pinned((0..ROWS).map(|row| (row * COLUMNS) as u32));

    let mut world = World::new();
    let flag = world.add(flag)?;
    world.environment_mut().damping = 0.2;

    let free_corner = COLUMNS - 1;
    let mut normals = vec![[0.0; 3]; COLUMNS * ROWS];
    for step in 0..240 {
        // The environment may change before every step: here the wind swells and turns a little.
        let t = world.time() as f32;
        let speed = 7.0 + 3.0 * (1.7 * t).sin();
        let velocity = [speed, 0.0, 2.0 * (2.9 * t).sin()];
        world.environment_mut().wind = Some(Wind { velocity, density: 1.2, drag: 1.2, lift: 0.6 });
        world.step(1.0 / 60.0)?;

        if step % 40 == 39 {
            world.normals(flag, &mut normals)?;
            let turned = normals.iter().filter(|n| n[2].abs() < 0.5_f32.sqrt()).count();
            let [x, y, z] = world.positions(flag)?.get(free_corner);
            println!(
                "{:.1} s, wind {speed:4.1} m/s: corner at ({x:5.2}, {y:5.2}, {z:5.2}) m, {:2} % turned by over 45°",
                world.time(),
                100 * turned / normals.len(),
            );
        }
    }
    Ok(())
}
