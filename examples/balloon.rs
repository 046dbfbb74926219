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
            .with_compliance(Role::Stretch, 1e-2)
            .with_compliance(Role::Bend, 1.0)
            .translated([place as f64, 0.0, 0.0]);
        balloons.push((inflation, world.add(rubber)?));
    }
    for _ in 0..60 {
        world.step(1.0 / 60.0)?;
    }
    for (inflation, id) in balloons {
        let radius = mean_radius(world.positions(id)?);
        let expected = 0.15 * inflation.cbrt();
        println!("{inflation} times the volume: mean radius {radius:.4} m, a ball would have {expected:.4} m");
    }
    Ok(())
}

/// The mean distance to the centre \[m\].
fn mean_radius(points: VectorsView<'_, f32>) -> f32 {
    let count = points.len() as f32;
    let centre = [points.x(), points.y(), points.z()].map(|axis| axis.iter().sum::<f32>() / count);
    let distance = |p: [f32; 3]| (0..3).map(|k| (p[k] - centre[k]).powi(2)).sum::<f32>().sqrt();
    points.iter().map(distance).sum::<f32>() / count
}
