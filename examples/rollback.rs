//! Rollback networking: simulate on with a guess, and when the truth arrives late, go back and do it again, to the bit.
//!
//! Two players shake a cloth, each at a corner. My input is known at once; the other player's arrives some frames late, and until then
//! the last known one is assumed. `cargo run --release --example rollback` compares with a machine that knew everything in time.

use std::collections::VecDeque;

use pliant::prelude::*;

const SIDE: u32 = 20;
const DT: f32 = 1.0 / 60.0;
const FRAMES: usize = 240;

/// Where a player pulls a corner \[m\].
type Input = [f32; 3];

/// What the players really did: one in slow circles, the other in jerks.
fn mine(frame: usize) -> Input {
    let t = frame as f32 * DT;
    [0.2 * (2.0 * t).sin(), 0.1 * (3.0 * t).cos() - 0.1, 0.0]
}
fn theirs(frame: usize) -> Input {
    [1.0 - 0.2 * ((frame / 20) % 2) as f32, 0.0, 0.15 * ((frame / 30) % 3) as f32]
}
/// How many frames the other's input of a frame is under way.
fn delay(frame: usize) -> usize {
    3 + frame * 7 % 5
}

fn table_cloth() -> Result<(World, BodyId), Error> {
    let mut world = World::new();
    world.add_collider(Collider::sphere(0.25).at([0.5, -0.5, 0.5]).with_friction(0.4))?;
    let cloth = Body::cloth(&ClothGrid::square(1.0, SIDE as usize))?.with_mass(0.3).with_thickness(0.005);
    let cloth = world.add(cloth.pinned([0, SIDE - 1]))?;
    Ok((world, cloth))
}

fn advance(world: &mut World, cloth: BodyId, [mine, theirs]: [Input; 2]) -> Result<(), Error> {
    world.move_pin(cloth, 0, mine)?;
    world.move_pin(cloth, SIDE - 1, theirs)?;
    world.step(DT)?;
    Ok(())
}

fn main() -> Result<(), Error> {
    let (mut server, cloth) = table_cloth()?;
    let (mut client, _) = table_cloth()?;
    // Frames whose input from the other side is still a guess, with the state each began with.
    let mut guessed: VecDeque<(usize, Input, Snapshot)> = VecDeque::new();
    let (mut last_known, mut rollbacks, mut again) = (theirs(0), 0, 0);

    // A few frames more than there are, so that the last input arrives as well.
    for now in 0..FRAMES + 10 {
        // Inputs are taken in order, as a reliable channel delivers them.
        let mut arrived = 0;
        while let Some((frame, ..)) = guessed.get(arrived)
            && frame + delay(*frame) <= now
        {
            arrived += 1;
        }
        let wrong = guessed.iter().take(arrived).position(|(frame, guess, _)| *guess != theirs(*frame));
        if let Some(first) = wrong {
            rollbacks += 1;
            client.restore(&guessed[first].2)?;
            for k in first..guessed.len() {
                let frame = guessed[k].0;
                let guess = theirs(if k < arrived { frame } else { guessed[arrived - 1].0 });
                guessed[k] = (frame, guess, client.snapshot());
                advance(&mut client, cloth, [mine(frame), guess])?;
                again += 1;
            }
        }
        for (frame, ..) in guessed.drain(..arrived) {
            last_known = theirs(frame);
        }
        if now < FRAMES {
            guessed.push_back((now, last_known, client.snapshot()));
            advance(&mut client, cloth, [mine(now), last_known])?;
            advance(&mut server, cloth, [mine(now), theirs(now)])?;
        }
    }

    let bytes = client.snapshot().as_bytes().len();
    println!("{FRAMES} frames: {rollbacks} rollbacks, {again} frames simulated again, snapshots of {bytes} bytes");
    println!("server {:016x}", server.state_hash());
    println!("client {:016x}", client.state_hash());
    assert_eq!(client.state_hash(), server.state_hash(), "both machines agree to the bit");
    Ok(())
}
