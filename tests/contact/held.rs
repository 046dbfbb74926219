//! What colliders hold off: how it sticks, and what a precision cannot hold.

use pliant::backends::AnyBackend;
use pliant::core::model::Model;
use pliant::prelude::*;
use pliant::{Penalty, Response, Rotation, Symplectic};
use pliant_harness::instances::{Boxed, Instances};

const DT: f64 = 1.0 / 60.0;
const G: f64 = 9.81;

const BUFFERED: Penalty = Penalty::Buffered { stiffness: 2e4, buffer: 0.005 };
const BARRIER: Penalty = Penalty::LogBarrier { strength: 0.05, buffer: 0.01 };

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

#[test]
fn numbers_that_a_precision_cannot_hold_are_refused() {
    fn prepare<S: Instances>(penalty: Penalty) -> Result<(), String> {
        let (model, _) = Model::<S>::build(&[&Body::particles([[0.0; 3]])]).expect("a particle");
        explicit::<S>(5, penalty).prepare(&model).map_err(|error| error.to_string())
    }
    let [stiff, flat] = [Penalty::Linear { stiffness: 1e39 }, Penalty::LogBarrier { strength: 1.0, buffer: 1e-300 }];
    let error = prepare::<f32>(stiff).expect_err("too large");
    assert!(error.contains("penalty stiffness is 1000000000") && error.contains("at most 3.4e38"), "{error}");
    let error = prepare::<f32>(flat).expect_err("too small");
    assert!(error.contains("penalty buffer is 0.000") && error.contains("at least 1.4e-45"), "{error}");
    assert!(prepare::<f64>(flat).expect_err("too steep").contains("a longer one"));
    assert!(prepare::<f32>(Penalty::LogBarrier { strength: 1.0, buffer: 1e-17 }).is_err(), "a stiffness of 1e40 N/m");
    for fine in [BUFFERED, BARRIER, Penalty::Linear { stiffness: 1e30 }] {
        assert_eq!(prepare::<f32>(fine), Ok(()));
    }
    assert_eq!(prepare::<f64>(stiff), Ok(()));

    let build = |body: Body| Model::<f32>::build(&[&body]).map(|_| ()).map_err(|error| error.to_string());
    let cloth = || Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid");
    for thickness in [1e10, 1e39, 1e300] {
        let contact = SelfContact { thickness, ..SelfContact::default() };
        for refused in [build(cloth().with_self_contact(contact)), build(cloth().with_thickness(thickness))] {
            assert!(refused.as_ref().is_err_and(|error| error.ends_with("expected at most 1e9 m")), "{refused:?}");
        }
    }
    for contact in [
        SelfContact { thickness: 1e-300, ..SelfContact::default() },
        SelfContact { friction: 1e39, ..SelfContact::default() },
        SelfContact { recovery: 1e39, ..SelfContact::default() },
    ] {
        let refused = build(cloth().with_self_contact(contact));
        assert!(refused.as_ref().is_err_and(|error| error.contains("single precision")), "{contact:?}: {refused:?}");
    }
}

/// A method that accepts what no other does.
struct Astray;

impl Solver<AnyBackend<f32>> for Astray {
    fn name(&self) -> &'static str {
        "astray"
    }
    fn prepare(&mut self, _: &Model<f32>) -> Result<(), BuildError> {
        Ok(())
    }
    fn step(
        &mut self,
        _: &Model<f32>,
        particles: &mut Particles<f32>,
        _: f32,
        _: &AnyBackend<f32>,
    ) -> Result<StepReport, StepError> {
        particles.x.set(3, [f32::NAN; 3]);
        Ok(StepReport::default())
    }
}

#[test]
fn a_step_that_was_taken_counts_even_if_its_contacts_cannot_be_listed() -> Result<(), Error> {
    let mut world = world::<f32>(Box::new(Astray), "simd", None);
    world.add(Body::cloth(&ClothGrid::square(0.5, 4))?.with_self_contact(SelfContact::default()))?;
    world.watch_contacts(true);
    world.step(DT as f32)?;
    assert!(world.contacts().is_empty());
    assert!((world.time() - DT).abs() < 1e-6, "{}", world.time());
    Ok(())
}
