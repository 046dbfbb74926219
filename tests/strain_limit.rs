//! Strain limiting behind any solver: limits hold, momentum stays, errors change nothing.

use pliant::prelude::*;
use pliant_harness::instances::Instances;

const DT: f32 = 1.0 / 60.0;

/// Soft links everywhere: without limits they stretch several times their length.
fn soft_cloth(n: usize) -> Result<Body, BuildError> {
    let cloth = Body::cloth(&ClothGrid::square(1.0, n))?;
    Ok([Role::Stretch, Role::Shear, Role::Bend].into_iter().fold(cloth, |body, role| body.with_compliance(role, 0.5)))
}

fn limited(limits: StrainLimits) -> World {
    let solver = StrainLimited::new(f32::symplectic(Symplectic::new(8)), limits);
    World::with_method(f32::limited(solver), Best::new())
}

/// Shortest and longest link as ratios of the rest length.
fn strain(world: &World) -> (f32, f32) {
    let (links, x) = (&world.model().constraints().distance, &world.particles().x);
    let ratios = links.ids().iter().zip(&links.parameters()[0]).map(|(ids, rest)| {
        let [a, b] = ids.map(|p| x.get(p as usize));
        (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt() / rest
    });
    ratios.fold((f32::MAX, 0.0), |(low, high), ratio| (low.min(ratio), high.max(ratio)))
}

/// Σ m v in double precision \[kg m/s\].
fn momentum(world: &World) -> [f64; 3] {
    let (w, v) = (world.model().inv_mass(), &world.particles().v);
    (0..w.len()).fold([0.0; 3], |sum, i| {
        let [x, y, z] = v.get(i).map(|c| f64::from(c) / f64::from(w[i]));
        [sum[0] + x, sum[1] + y, sum[2] + z]
    })
}

#[test]
fn a_hanging_cloth_stays_within_its_limits() -> Result<(), Error> {
    let mut free = World::with_method(f32::symplectic(Symplectic::new(8)), Best::new());
    let mut held = limited(StrainLimits { stretch: 1.1, compression: 0.0, iterations: 100 });
    for world in [&mut free, &mut held] {
        world.add(soft_cloth(10)?.pinned([0, 9]))?;
    }
    for _ in 0..120 {
        free.step(DT)?;
        held.step(DT)?;
        let (_, longest) = strain(&held);
        assert!(longest < 1.1 * 1.02, "{longest} at {} s", held.time());
    }
    assert!(strain(&free).1 > 2.0, "without limits it stretches: {}", strain(&free).1);
    Ok(())
}

#[test]
fn links_keep_their_shortest_length() -> Result<(), Error> {
    let mut world = limited(StrainLimits { stretch: 2.0, compression: 0.8, iterations: 50 });
    world.environment_mut().gravity = [0.0; 3];
    // A rope squeezed to half its length.
    let rope = Body::rope(&Rope::new(12, [0.0, 0.0, 0.0], [1.2, 0.0, 0.0])?, false)?;
    world.add(rope.with_compliance(Role::Stretch, 10.0).posed(|[x, y, z]| [0.5 * x, y, z]))?;
    assert!(strain(&world).0 < 0.51);
    for _ in 0..20 {
        world.step(DT)?;
    }
    assert!(strain(&world).0 > 0.8 * 0.98, "{}", strain(&world).0);
    Ok(())
}

#[test]
fn limits_do_not_change_momentum() -> Result<(), Error> {
    let mut world = limited(StrainLimits { stretch: 1.05, compression: 0.5, iterations: 10 });
    world.environment_mut().gravity = [0.0; 3];
    let count = 8 * 8;
    // Two halves fly apart, and the whole drifts.
    let velocities = (0..count).map(|i| if i % 8 < 4 { [-3.0, 0.5, 0.2] } else { [3.0, 0.5, 0.2] });
    world.add(soft_cloth(8)?.with_velocities(velocities))?;
    let before = momentum(&world);
    for _ in 0..60 {
        world.step(DT)?;
    }
    let after = momentum(&world);
    for axis in 0..3 {
        assert!((after[axis] - before[axis]).abs() < 1e-4, "{before:?} became {after:?}");
    }
    Ok(())
}

#[test]
fn links_inside_their_limits_are_left_alone() -> Result<(), Error> {
    let mut plain = World::with_method(f32::symplectic(Symplectic::new(8)), Best::new());
    let mut loose = limited(StrainLimits { stretch: 100.0, compression: 0.0, iterations: 5 });
    for world in [&mut plain, &mut loose] {
        world.add(soft_cloth(6)?.pinned([0, 5]))?;
        for _ in 0..10 {
            world.step(DT)?;
        }
    }
    // Equal as numbers; −0 may have become 0.
    assert_eq!(plain.particles(), loose.particles());
    Ok(())
}

#[test]
fn pins_and_links_without_length_stay_as_they_are() -> Result<(), Error> {
    let mut world = limited(StrainLimits { stretch: 1.0, compression: 1.0, iterations: 20 });
    world.environment_mut().gravity = [0.0; 3];
    let mut body = Body::particles([[0.0; 3], [2.0, 0.0, 0.0], [5.0, 0.0, 0.0], [6.0, 0.0, 0.0]]).pinned([0]);
    let links = &mut body.tables_mut().distance;
    links.push(Role::Stretch, 0, [0, 1], [1.0]);
    links.push(Role::Stretch, 0, [2, 3], [0.0]);
    links.compliance.fill(1e9);
    let id = world.add(body)?;
    world.step(DT)?;
    let x = world.positions(id)?;
    assert_eq!(x.get(0), [0.0; 3]);
    assert!((x.get(1)[0] - 1.0).abs() < 1e-6);
    assert!((x.get(3)[0] - x.get(2)[0] - 1.0).abs() < 1e-6);
    // The correction is motion: v = Δx/dt.
    assert!((world.velocities(id)?.get(1)[0] + 1.0 / DT).abs() < 1e-2);
    Ok(())
}

#[test]
fn every_backend_limits_alike() -> Result<(), Error> {
    let mut hashes = Vec::new();
    for name in AnyBackend::<f32>::names() {
        let Some(backend) = AnyBackend::<f32>::by_name(name, Some(3)) else { continue };
        let solver =
            StrainLimited::new(f32::pbd(Pbd::default()), StrainLimits { stretch: 1.01, ..StrainLimits::default() });
        let mut world = f32::world(f32::limited(solver), backend);
        world.add(soft_cloth(30)?.pinned([0, 29]))?;
        world.add(Body::solid(&tet_box([3, 3, 3], [0.3, 0.3, 0.3], Split::Six)?)?)?;
        for _ in 0..10 {
            world.step(DT)?;
        }
        hashes.push(world.state_hash());
    }
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{hashes:x?}");
    Ok(())
}

#[test]
fn bad_options_and_failed_steps_change_nothing() -> Result<(), Error> {
    for (limits, bad) in [
        (StrainLimits { stretch: 0.9, ..StrainLimits::default() }, "stretch"),
        (StrainLimits { stretch: f64::NAN, ..StrainLimits::default() }, "stretch"),
        (StrainLimits { compression: 1.1, ..StrainLimits::default() }, "compression"),
        (StrainLimits { compression: -0.1, ..StrainLimits::default() }, "compression"),
        (StrainLimits { iterations: 0, ..StrainLimits::default() }, "iterations"),
    ] {
        let refused = limited(limits).add(soft_cloth(4)?);
        assert!(matches!(refused, Err(BuildError::BadOption { name, .. }) if name == bad), "{refused:?}");
    }

    // Two particles of very different weight, torn apart: the correction of the light one is beyond all bounds.
    let mut world = limited(StrainLimits::default());
    let mut body = Body::particles([[0.0; 3], [9e8, 0.0, 0.0]]).with_masses([1e6, 1.0]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    world.add(body.with_compliance(Role::Stretch, 1e9))?;
    let hash = world.state_hash();
    assert!(matches!(world.step(DT), Err(StepError::Diverged { quantity: "velocity", .. })));
    assert_eq!(world.state_hash(), hash);
    assert_eq!(world.time(), 0.0);
    Ok(())
}

#[test]
fn a_step_counts_the_work_of_both() -> Result<(), Error> {
    let mut world = limited(StrainLimits { iterations: 3, ..StrainLimits::default() });
    world.add(soft_cloth(4)?)?;
    let report = world.step(DT)?;
    assert_eq!((report.substeps, report.iterations), (8, 11));
    assert_eq!(report.projections, 11 * world.model().constraints().len());
    Ok(())
}

#[test]
fn a_step_that_fails_behind_the_solver_is_taken_back_in_the_solver_too() -> Result<(), Error> {
    let mut world = limited(StrainLimits::default());
    // Drawn out to fifty times its length: within its limits at once, in no time, is too fast for any number.
    let rope = Body::rope(&Rope::new(12, [0.0, 0.0, 0.0], [1.2, 0.0, 0.0])?, false)?;
    world.add(rope.with_compliance(Role::Stretch, 10.0).posed(|[x, y, z]| [50.0 * x, y, z]))?;
    let ball = world.add_collider(Collider::sphere(1.0).at([0.0, -5.0, 0.0]))?;
    world.move_collider(ball, Pose::at([0.0, -4.0, 0.0]))?;
    let before = world.snapshot();
    let failed = world.step(2e-9);
    assert!(matches!(failed, Err(StepError::Diverged { quantity: "velocity", .. })), "{failed:?}");
    assert!(world.snapshot() == before, "the inner solver remembers where colliders were");
    Ok(())
}
