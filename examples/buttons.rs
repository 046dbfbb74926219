//! A shirt front in the wind: five rigid buttons among the links of a cloth.

use pliant::prelude::*;

fn main() -> Result<(), Error> {
    let (columns, rows) = (21_u32, 31_u32);
    let mut shirt = Body::cloth(&ClothGrid::new(columns as usize, rows as usize, 0.4, 0.6))?.with_mass(0.05);
    for button in 0..5 {
        // Three by three particles that keep their places among each other.
        let corner = (3 + 5 * button) * columns + columns / 2 - 1;
        shirt = shirt.with_rigid_cluster((0..9).map(|k| corner + k / 3 * columns + k % 3));
    }
    let shirt = shirt.posed(|[x, _, z]| [x, -z, 0.0]).pinned(0..columns);

    let mut world = World::new();
    world.environment_mut().wind = Some(Wind { velocity: [0.5, 0.0, 3.0], density: 1.2, drag: 0.6, lift: 0.4 });
    let id = world.add(shirt)?;
    for _ in 0..120 {
        world.step(1.0 / 60.0)?;
    }
    // Where somebody would draw the buttons.
    let middle = |button: u32| (4 + 5 * button) * columns + columns / 2;
    for button in 0..5 {
        println!("button {button} at {:?}", world.positions(id)?.get(middle(button) as usize));
    }
    Ok(())
}
