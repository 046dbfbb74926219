//! What colliders hold off: how it sticks, what contacts tell of it, and what a precision cannot hold.

use pliant::backends::AnyBackend;
use pliant::core::model::Model;
use pliant::core::sdf::Colliders;
use pliant::prelude::*;
#[cfg(all(feature = "newton", feature = "projective"))]
use pliant::{ColliderForm, Newton, NewtonOptions, Projective, ProjectiveOptions};
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

#[cfg(all(feature = "newton", feature = "projective"))]
fn newton<S: Instances>(colliders: ColliderForm) -> Boxed<S> {
    S::newton(Newton::new(NewtonOptions { substeps: 4, colliders, ..NewtonOptions::default() }))
}

#[cfg(all(feature = "newton", feature = "projective"))]
fn projective<S: Instances>(collider_weight: f64, iterations: usize) -> Boxed<S> {
    let collider_weight = Some(collider_weight);
    S::projective(Projective::new(ProjectiveOptions {
        substeps: 4,
        iterations,
        collider_weight,
        ..ProjectiveOptions::default()
    }))
}

/// Every form that colliders act in inside a method, with the gap at which a stone of 2 kg rests \[m\].
#[cfg(all(feature = "newton", feature = "projective"))]
fn forms<S: Instances>() -> Vec<(&'static str, Boxed<S>, f64)> {
    let load = 2.0 * G;
    let spring = Penalty::Linear { stiffness: 2e4 };
    let barrier = 1.0 / (load / 0.05 + 1.0 / 0.01);
    vec![
        ("linear forces", explicit(20, spring), -load / 2e4),
        ("buffered forces", explicit(20, BUFFERED), 0.005 - load / 2e4),
        ("barrier forces", explicit(40, BARRIER), barrier),
        ("linear energies", newton(ColliderForm::Energy(spring)), 0.0),
        ("buffered energies", newton(ColliderForm::Energy(BUFFERED)), 0.005 - load / 2e4),
        ("barrier energies", newton(ColliderForm::Energy(BARRIER)), barrier),
        ("weighed energies", newton(ColliderForm::Weighed { weight: 1000.0, buffer: 0.005 }), 0.005),
        ("projection", newton(ColliderForm::Project), 0.0),
        ("light targets", projective(1.0, 10), 0.0),
        ("targets", projective(10.0, 10), 0.0),
        ("targets, iterated", projective(10.0, 50), 0.0),
        ("heavy targets", projective(1000.0, 50), 0.0),
    ]
}

/// At rest contacts carry the weight in every step, and when it falls they tell of all momentum that a step gave: of each force once,
/// however often a method looked at it.
#[cfg(all(feature = "newton", feature = "projective"))]
#[test]
fn contacts_carry_a_stone_in_every_form() -> Result<(), Error> {
    for (drop, share) in [(0.0, 1e-3), (0.05, 0.02)] {
        for (name, solver, gap) in forms::<f64>() {
            let mut world = world(solver, "simd", None);
            world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5))?;
            let stone = world.add(Body::particles([[0.0, gap + drop, 0.0]]).with_mass(2.0))?;
            world.watch_contacts(true);
            let (mut total, mut speed) = (0.0, 0.0);
            for step in 0..60 {
                world.step(DT)?;
                let told: f64 = world.contacts().iter().map(|contact| contact.impulse).sum();
                let before = std::mem::replace(&mut speed, world.velocities(stone)?.get(0)[1]);
                let given = 2.0 * (speed - before + G * DT);
                assert!((told - given).abs() < share * (given + 2.0 * G * DT), "{name}, {step}: {told} of {given} N s");
                total += told;
            }
            let expected = 2.0 * (G + speed);
            assert!((total - expected).abs() < share * 2.0 * G, "{name}: {total} of {expected} N s");
            if drop == 0.0 {
                let [contact] = world.contacts() else { panic!("{name}: {:?}", world.contacts()) };
                assert_eq!(contact.phase, ContactPhase::Persist, "{name}");
                assert!((contact.gap - gap).abs() < 1e-5, "{name}: {} m", contact.gap);
            }
        }
    }
    Ok(())
}

#[cfg(all(feature = "newton", feature = "projective"))]
#[test]
fn contacts_carry_a_cloth_in_every_form() -> Result<(), Error> {
    fn carried<S: Instances>(solver: Boxed<S>, height: f64, gap: f64) -> Result<f64, Error> {
        let mut world = world::<S>(solver, "simd", None);
        world.environment_mut().damping = S::from_f64(5.0);
        world.add_collider(Collider::plane([0.0, 1.0, 0.0]).at([0.0, height, 0.0]).with_friction(0.5))?;
        let cloth = Body::cloth(&ClothGrid::square(0.5, 8))?.with_compliance(Role::Stretch, 1e-3);
        let cloth = cloth.with_compliance(Role::Shear, 1e-3).with_compliance(Role::Bend, 1.0).with_mass(128.0);
        world.add(cloth.translated([0.0, height + gap, 0.0]))?;
        world.watch_contacts(true);
        let mut total = 0.0;
        for step in 0..90 {
            world.step(S::from_f64(DT))?;
            let told: f64 = world.contacts().iter().map(|contact| contact.impulse.to_f64()).sum();
            total += if step < 60 { 0.0 } else { told };
        }
        Ok(total / (30.0 * 128.0 * G * DT))
    }
    // Forces are read off positions: those of colliders that outweigh inertia a thousand times feel the rounding of single precision
    // 0.9 m from the origin, 6e-8 m.
    let rounded = ["weighed energies", "heavy targets"];
    for height in [0.0, 0.9] {
        for ((name, double, gap), (_, single, _)) in forms::<f64>().into_iter().zip(forms::<f32>()) {
            let [double, single] = [carried(double, height, gap)?, carried(single, height, gap)?];
            assert!((double - 1.0).abs() < 1e-3, "{name} at {height} m: {double} of the weight");
            let share = if height > 0.0 && rounded.contains(&name) { 0.15 } else { 2e-3 };
            assert!((single - 1.0).abs() < share, "{name} at {height} m: {single} of the weight in single precision");
        }
    }
    Ok(())
}

#[cfg(all(feature = "newton", feature = "projective"))]
#[test]
fn every_backend_tells_the_same_of_what_is_held_off() -> Result<(), Error> {
    let mut backends = vec![("scalar", None), ("simd", None), ("simd-portable", None)];
    backends.extend([1, 2, 5].map(|threads| ("parallel", Some(threads))));
    for form in 0..forms::<f32>().len() {
        let mut told = Vec::new();
        for &(backend, threads) in &backends {
            let (name, solver, _) = forms::<f32>().swap_remove(form);
            let mut world = world(solver, backend, threads);
            world.add_collider(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.3))?;
            world.add_collider(Collider::sphere(0.2).at([0.3, 0.0, 0.3]).with_friction(0.3))?;
            let cloth = Body::cloth(&ClothGrid::square(0.6, 9))?.with_compliance(Role::Stretch, 1e-2);
            let cloth = cloth.with_compliance(Role::Shear, 1e-2).with_compliance(Role::Bend, 1.0).with_mass(4.0);
            world.add(cloth.translated([0.0, 0.21, 0.0]))?;
            world.watch_contacts(true);
            let mut events = Vec::new();
            for _ in 0..12 {
                world.step(DT as f32)?;
                events.extend_from_slice(world.contacts());
            }
            assert!(events.iter().any(|event| event.impulse > 0.0), "{name} tells of something");
            told.push((name, world.state_hash(), events));
        }
        assert!(told.iter().all(|t| *t == told[0]), "{}", told[0].0);
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
    for thickness in [0.0, -1.0, f64::NAN] {
        let refused = build(cloth().with_self_contact(SelfContact { thickness, ..SelfContact::default() }));
        assert!(refused.as_ref().is_err_and(|error| error.ends_with("a finite number above 0")), "{refused:?}");
    }
    for contact in [
        SelfContact { thickness: 1e-300, ..SelfContact::default() },
        SelfContact { friction: 1e39, ..SelfContact::default() },
        SelfContact { recovery: 1e39, ..SelfContact::default() },
    ] {
        let refused = build(cloth().with_self_contact(contact));
        assert!(refused.as_ref().is_err_and(|error| error.contains("single precision")), "{contact:?}: {refused:?}");
    }
    let slick = Collider::plane([0.0, 1.0, 0.0]).with_friction(1e39);
    assert!(Colliders::<f32>::new([slick.clone()]).is_err_and(|error| error.to_string().contains("single precision")));
    assert!(Colliders::<f64>::new([slick]).is_ok());
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
