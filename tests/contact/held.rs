//! What colliders hold off: how it sticks.

use pliant::backends::AnyBackend;
use pliant::prelude::*;
use pliant::{Penalty, Response, Rotation, Symplectic};
use pliant_harness::instances::{Boxed, Instances};

const DT: f64 = 1.0 / 60.0;
const G: f64 = 9.81;

const BUFFERED: Penalty = Penalty::Buffered { stiffness: 2e4, buffer: 0.005 };

fn explicit<S: Instances>(substeps: usize, penalty: Penalty) -> Boxed<S> {
    S::symplectic(Symplectic::new(substeps).with_response(Response::Penalty(penalty)))
}

fn world<S: Instances>(solver: Boxed<S>, backend: &str, threads: Option<usize>) -> WorldOn<AnyBackend<S>> {
    S::world(solver, AnyBackend::by_name(backend, threads).expect("built"))
}

/// Friction goes by where the surface takes a particle, not by what arrives where it was: that would be ω² r h of creep a second.
#[test]
fn what_sticks_on_a_turntable_stays_on_its_circle() -> Result<(), Error> {
    let (omega, load) = (2.0, G / 2e4);
    for substeps in [5, 20, 80] {
        for (penalty, height) in [(Penalty::Linear { stiffness: 2e4 }, -load), (BUFFERED, 0.005 - load)] {
            let mut world = world::<f64>(explicit(substeps, penalty), "simd", None);
            let axis = [0.0, -0.1, 0.0];
            let disc = world.add_collider(Collider::cylinder(3.0, 0.2).at(axis).with_friction(1.0))?;
            let stone = Body::particles([[1.0, height, 0.0]]).with_mass(1.0).with_velocities([[0.0, 0.0, -omega]]);
            let stone = world.add(stone)?;
            for frame in 1..=120 {
                let turned = Rotation::about([0.0, 1.0, 0.0], omega * DT * f64::from(frame));
                world.move_collider(disc, Pose::at(axis).turned(turned))?;
                world.step(DT)?;
            }
            let [x, _, z] = world.positions(stone)?.get(0);
            let creep = (x.hypot(z) - 1.0) / 2.0;
            assert!(creep.abs() < 1e-5, "{penalty:?}, {substeps} substeps: {creep} m/s outwards");
        }
    }
    Ok(())
}
