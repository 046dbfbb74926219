//! A banner between two poles that a storm tears: edges part at a strain, and the world tells which.
//!
//! `cargo run --release --example tear` prints when it tears and how many pieces it is in.

use pliant::prelude::*;

const COLUMNS: u32 = 30;
const ROWS: u32 = 16;

/// How many pieces the triangles make: those that share a vertex belong together.
fn pieces(triangles: &[[u32; 3]], vertices: usize) -> usize {
    let mut piece: Vec<usize> = (0..vertices).collect();
    fn root(piece: &mut [usize], mut v: usize) -> usize {
        while piece[v] != v {
            piece[v] = piece[piece[v]];
            v = piece[v];
        }
        v
    }
    for t in triangles {
        for k in 1..3 {
            let (a, b) = (root(&mut piece, t[0] as usize), root(&mut piece, t[k] as usize));
            piece[a.max(b)] = a.min(b);
        }
    }
    (0..vertices).filter(|&v| piece[v] == v).count()
}

fn main() -> Result<(), Error> {
    let mut world = World::new();
    let poles = (0..ROWS).flat_map(|row| [row * COLUMNS, row * COLUMNS + COLUMNS - 1]);
    let cloth = Body::cloth(&ClothGrid::new(COLUMNS as usize, ROWS as usize, 3.0, 1.5))?
        .with_mass(0.9)
        .with_compliance(Role::Stretch, 2e-4)
        .with_compliance(Role::Shear, 1e-3)
        .with_compliance(Role::Bend, 1e-2)
        .posed(|[x, _, z]| [x, 1.5 - z, 0.0])
        .pinned(poles)
        .with_tearing(Tearing::at_strain(0.25));
    let banner = world.add(cloth)?;
    world.environment_mut().damping = 0.2;

    for frame in 0..180_u16 {
        // The storm rises to 35 m/s within two seconds.
        let speed = 35.0 * (f32::from(frame) / 120.0).min(1.0);
        world.environment_mut().wind = Some(Wind { velocity: [2.0, 0.0, speed], density: 1.2, drag: 1.0, lift: 0.3 });
        world.step(1.0 / 60.0)?;
        let torn = world.tears().len();
        if torn > 0 {
            let (triangles, vertices) = (world.triangles(banner)?, world.positions(banner)?.len());
            println!("{:.2} s: {torn} edges tear, {} piece(s)", world.time(), pieces(triangles, vertices));
        }
    }
    let grown = world.positions(banner)?.len() - (COLUMNS * ROWS) as usize;
    println!("{grown} vertices were split");
    Ok(())
}
