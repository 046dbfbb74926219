//! A block of jelly hangs by its top face, is shaken loose, and keeps its volume all the while.
use pliant::prelude::*;

fn main() -> Result<(), Error> {
    // 4 × 4 × 4 cells of five tetrahedra: edges that give, volumes that do not.
    let mesh = tet_box([4, 4, 4], [0.4, 0.4, 0.4], Split::Five)?;
    let top: Vec<u32> = (0_u32..).zip(mesh.positions()).filter(|(_, p)| p.y > 0.399).map(|(i, _)| i).collect();
    let jelly = Body::solid(&mesh)?.with_compliance(Role::Stretch, 2e-3).pinned(top.iter().copied());

    let mut world = World::new();
    let jelly = world.add(jelly)?;
    for step in 0..120 {
        // After a second let the top go, one particle after the other: pins come and go while time runs.
        if step >= 60
            && let Some(&particle) = top.get(step - 60)
        {
            world.release(jelly, particle)?;
        }
        world.step(1.0 / 60.0)?;
        if step % 20 == 19 {
            let y = world.positions(jelly)?.y();
            let (low, high) = y.iter().fold((f32::MAX, f32::MIN), |(low, high), &y| (low.min(y), high.max(y)));
            let volume: f64 = mesh.tets().iter().map(|&tet| volume(&world, jelly, tet)).sum();
            println!(
                "{:.2} s: from {high:6.3} m down to {low:6.3} m, {:5.1} % of its volume, {} pins left",
                world.time(),
                100.0 * volume / mesh.volume(),
                world.body(jelly)?.pins().len(),
            );
        }
    }
    Ok(())
}

/// (b − a) × (c − a) · (d − a)/6.
fn volume(world: &World, body: BodyId, tet: [u32; 4]) -> f64 {
    let Ok(positions) = world.positions(body) else { return 0.0 };
    let [a, b, c, d] = tet.map(|i| positions.get(i as usize).map(f64::from));
    let [u, v, w]: [[f64; 3]; 3] = [b, c, d].map(|p| [p[0] - a[0], p[1] - a[1], p[2] - a[2]]);
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    (cross[0] * w[0] + cross[1] * w[1] + cross[2] * w[2]) / 6.0
}
