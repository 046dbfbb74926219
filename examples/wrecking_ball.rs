//! A ball on a rope swings through a door on a hinge into a tower of boxes: rigid bodies, a joint, and particles fastened to a body.

use pliant::prelude::*;

fn main() -> Result<(), Error> {
    let mut world = World::new();
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6))?;

    // A rope from a crane, stretched out to the side, and a ball of 80 kg at its end. It is heavier than what it hangs on: tethers
    // carry it straight to the crane.
    let (crane, start) = ([0.0, 4.0, 0.0], [-3.0, 3.0, 0.0]);
    let rope = Body::rope(&Rope::new(12, crane, start)?, false)?.with_mass(6.0).pinned([0]).with_tethers(0.0);
    let rope = world.add(rope)?;
    let ball = world.add_rigid(&RigidBody::sphere(0.3, 700.0).at(start))?;
    world.fasten(rope, 12, ball)?;

    // A door in its way, on a post.
    let post = world.add_rigid(&RigidBody::cuboid([0.1, 2.0, 0.1], 1000.0).at([-0.6, 1.0, -0.56]).held())?;
    let door = world.add_rigid(&RigidBody::cuboid([0.06, 1.6, 1.0], 300.0).at([-0.6, 0.9, 0.0]))?;
    world.join([post, door], Joint::hinge([0, 1], [-0.6, 0.0, -0.5], [0.0, 1.0, 0.0]).with_limits(-2.0, 2.0))?;

    let boxes: Vec<RigidId> = (0..4)
        .map(|k| {
            let height = 0.15 + 0.3 * f64::from(k);
            world.add_rigid(&RigidBody::cuboid([0.3; 3], 200.0).at([0.5, height, 0.0]).with_friction(0.6))
        })
        .collect::<Result<_, _>>()?;

    for step in 1..=180 {
        world.step(1.0 / 60.0)?;
        if step % 30 == 0 {
            let [x, y, _] = world.rigid_pose(ball)?.translation;
            let [_, top, _] = world.rigid_pose(boxes[3])?.translation;
            println!("{:.1} s: ball at x {x:5.2} m, y {y:4.2} m; topmost box at a height of {top:.2} m", world.time());
        }
    }
    Ok(())
}
