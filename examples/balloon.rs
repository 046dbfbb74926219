//! Closed surfaces that hold a volume: balloons of one rubber, blown up more and more.
use pliant::prelude::*;

fn main() -> Result<(), Error> {
    let sphere = icosphere(0.15, 3)?;
    let mut world = World::new();
    world.environment_mut().gravity = [0.0; 3];
    world.environment_mut().damping = 2.0;

    // The rubber gives, the air inside does not. They float side by side in one world.
    let mut balloons = Vec::new();
    for (place, inflation) in [0.5, 1.0, 2.0, 4.0].into_iter().enumerate() {
        let rubber = Body::balloon(&sphere, inflation)?
            .with_compliance(Role::Stretch, 0.1)
            .with_compliance(Role::Bend, 1.0)
            .translated([place as f64, 0.0, 0.0]);
        balloons.push((inflation, world.add(rubber)?));
    }
    for _ in 0..60 {
        world.step(1.0 / 60.0)?;
    }
    // One sweep a substep leaves a few percent to the pull of the rubber; more sweeps come closer.
    for (inflation, id) in balloons {
        let positions = world.positions(id)?.iter().map(|p| p.map(f64::from));
        let shape = TriMesh::new(positions, world.triangles(id)?.iter().copied())?;
        let volume = shape.volume()? / sphere.volume()?;
        println!("blown up to {inflation} times its volume: reached {volume:.3} times, area {:.3} m²", shape.area());
    }
    Ok(())
}
