//! A cape on a character that walks, turns and stops: bones moved by the application, a capsule for the torso, a limit per particle.
//!
//! `cargo run --release --example cape` prints where the hem is, and how far the cape is from its limits.

use pliant::prelude::*;

const COLUMNS: usize = 16;
const ROWS: usize = 24;

/// Hip and shoulders at a time \[s\]: two seconds of walking, a quarter turn, a stop.
fn pose(t: f64, height: f64) -> Pose {
    let walked = 1.4 * t.min(2.0);
    let bob = 0.03 * (12.0 * t.min(2.0)).sin().abs();
    let turn = 0.5 * std::f64::consts::PI * (t - 1.0).clamp(0.0, 1.0);
    Pose::at([0.0, height + bob, walked]).turned(Rotation::about([0.0, 1.0, 0.0], turn))
}

fn main() -> Result<(), Error> {
    let mut world = World::new();
    // The cape hangs behind the back, from the shoulders down.
    let grid = ClothGrid::new(COLUMNS, ROWS, 0.6, 1.1);
    let hang = |[x, _, z]: [f64; 3]| [x - 0.3, 1.45 - z, -0.16];
    let cape = world.add(Body::cloth(&grid)?.with_mass(0.6).with_thickness(0.01).posed(hang))?;

    let [hip, shoulders] = [world.add_bone(pose(0.0, 1.0))?, world.add_bone(pose(0.0, 1.45))?];
    let (torso_at, torso) = (1.15, Collider::capsule(0.14, 0.5));
    let torso = world.add_collider(Collider { pose: pose(0.0, torso_at), ..torso }.with_friction(0.3))?;

    // The first row follows the shoulders exactly; the farther down, the farther a particle may swing.
    let down = |i: usize| (i / COLUMNS) as f64 / (ROWS - 1) as f64;
    let particles = 0..COLUMNS * ROWS;
    let skinning = Skinning {
        bones: vec![shoulders.into(), hip.into()],
        weights: particles.clone().map(|i| vec![(0, 1.0 - down(i)), (1, down(i))]).collect(),
        max_distance: particles.clone().map(|i| 0.9 * down(i)).collect(),
        backstop: Vec::new(),
    };
    world.skin(cape, &skinning)?;
    let bind: Vec<[f64; 3]> = world.positions(cape)?.iter().map(|p| p.map(f64::from)).collect();

    let mut worst = f64::MIN;
    for frame in 1..=180 {
        let t = f64::from(frame) / 60.0;
        world.move_bone(hip, pose(t, 1.0))?;
        world.move_bone(shoulders, pose(t, 1.45))?;
        world.move_collider(torso, pose(t, torso_at))?;
        world.step(1.0 / 60.0)?;

        // How much farther than allowed is any particle from its skinned place?
        for (i, x) in world.positions(cape)?.iter().enumerate() {
            let [a, b] = [(1.45, shoulders), (1.0, hip)]
                .map(|(height, bone)| Ok::<_, Error>(world.bone(bone)?.place(pose(0.0, height).unplace(bind[i]))));
            let (a, b) = (a?, b?);
            let off: f64 = (0..3).map(|k| (f64::from(x[k]) - a[k] - (b[k] - a[k]) * down(i)).powi(2)).sum();
            worst = worst.max(off.sqrt() - skinning.max_distance[i]);
        }
        if frame % 30 == 0 {
            let hem = world.positions(cape)?.get(COLUMNS * ROWS - COLUMNS / 2);
            println!("{t:.1} s: middle of the hem at [{:.2}, {:.2}, {:.2}] m", hem[0], hem[1], hem[2]);
        }
    }
    println!("no particle left its limit by more than {:.1e} m", worst.max(0.0));
    assert!(worst < 1e-5, "limits hold");
    Ok(())
}
