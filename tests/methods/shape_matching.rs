//! Shape matching: what it recovers, what it keeps, what it refuses, and that every backend agrees.

use pliant::backends::AnyBackend;
use pliant::core::body::Body;
use pliant::core::columns::Particles;
use pliant::core::error::BuildError;
use pliant::core::lane::Real;
use pliant::core::matching::{Deformation, Grouping, Matching, Plasticity};
use pliant::core::mesh::ClothGrid;
use pliant::core::model::Model;
use pliant::core::sdf::Collider;
use pliant::core::vec3::Vec3;
use pliant::{ShapeMatching, ShapeMatchingOptions, Symplectic};
use pliant_harness::instances::{Boxed, Instances};
use ultraviolet::{DRotor3, DVec3};

use crate::simd;

/// Moves every particle by up to so much in every direction \[m\].
fn crooked(body: Body, by: f64) -> Body {
    let next = core::cell::Cell::new(0);
    body.posed(|p| {
        next.set(next.get() + 1);
        [0, 1, 2].map(|k| p[k] + by * noise(next.get(), 20 + k))
    })
}

/// Numbers from −1 to 1.
fn noise(i: usize, k: usize) -> f64 {
    let mut n = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (k as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    n ^= n >> 29;
    n = n.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
}

fn cloud(count: usize) -> Vec<[f64; 3]> {
    (0..count).map(|i| [0.3 * noise(i, 0), 0.2 * noise(i, 1), 0.1 * noise(i, 2)]).collect()
}

/// Masses from 0.1 to 10 kg.
fn masses(count: usize) -> Vec<f64> {
    (0..count).map(|i| 10_f64.powf(noise(i, 7))).collect()
}

fn modes() -> [Matching; 5] {
    let plasticity = Plasticity { yields_at: 0.05, creep: 20.0, bound: 0.6 };
    [
        Matching::RIGID,
        Matching::soft(0.4),
        Matching::soft(0.8).with_deformation(Deformation::Linear { share: 0.6 }),
        Matching::RIGID.with_deformation(Deformation::Quadratic { share: 0.7 }),
        Matching::soft(0.9).with_plasticity(plasticity),
    ]
}

fn prepared<S: Instances>(model: &Model<S>, substeps: usize, iterations: usize) -> Boxed<S> {
    let mut solver = S::shape_matching(ShapeMatching::new(ShapeMatchingOptions { substeps, iterations }));
    solver.prepare(model).expect("a model of clusters");
    solver
}

/// A weightless model and its state.
fn afloat<S: Real>(bodies: &[&Body]) -> (Model<S>, Particles<S>) {
    let (mut model, particles) = Model::<S>::build(bodies).expect("a valid body");
    model.environment.gravity = [S::ZERO; 3];
    (model, particles)
}

fn at<S: Real>(particles: &Particles<S>, i: usize) -> Vec3<f64> {
    Vec3::from(particles.x.get(i).map(S::to_f64))
}

#[test]
fn a_turned_and_moved_rest_shape_is_recovered() {
    let turn = DRotor3::from_euler_angles(0.7, -1.9, 2.4);
    let pose = |p: [f64; 3]| {
        let q = turn * DVec3::from(p);
        [q.x + 0.9, q.y - 0.4, q.z + 0.2]
    };
    for (count, matching) in [3, 4, 50, 700].into_iter().flat_map(|n| modes().map(|m| (n, m))) {
        let body = Body::particles(cloud(count)).with_masses(masses(count)).with_cluster(0..count as u32, matching);
        let (model, mut particles) = afloat::<f32>(&[&body.posed(pose)]);
        let mut solver = prepared(&model, 2, 2);
        solver.step(&model, &mut particles, 1.0 / 60.0, &simd()).expect("at rest");
        for (i, p) in cloud(count).into_iter().enumerate() {
            let off = (at(&particles, i) - Vec3::from(pose(p))).length();
            assert!(off < 1e-6, "{count} particles, {matching:?}: particle {i} is off by {off:e} m");
        }
        if count > 3 {
            let found = model.clusters().placements(&particles)[0];
            let off = (found.turn * DVec3::new(0.3, 0.5, 0.8) - turn * DVec3::new(0.3, 0.5, 0.8)).mag();
            assert!(off < 3e-6, "{count} particles, {matching:?}: turned by {off:e} too much");
        }
    }
}

#[test]
fn a_rigid_cluster_is_congruent_to_its_rest_shape_after_every_pass() {
    let rest = cloud(60);
    let body = crooked(Body::particles(rest.clone()).with_rigid_cluster(0..60), 0.1);
    let (model, mut particles) = afloat::<f32>(&[&body]);
    prepared(&model, 1, 1).step(&model, &mut particles, 1.0 / 60.0, &simd()).expect("a step");
    for i in 0..60 {
        for j in 0..i {
            let now = (at(&particles, i) - at(&particles, j)).length();
            let then = (Vec3::from(rest[i]) - Vec3::from(rest[j])).length();
            assert!((now - then).abs() < 1e-6, "{i} and {j}: {now} instead of {then}");
        }
    }
}

/// Overlapping clusters of a crooked body in every mode, with masses of a ratio of up to 100.
fn muddle(matching: Matching) -> Body {
    let count = 90;
    let mut body = Body::particles(cloud(count)).with_masses(masses(count));
    for c in 0..4 {
        body = body.with_cluster((0..count as u32).filter(|p| (p + c) % 5 > 1), matching);
    }
    crooked(body.posed(|[x, y, z]| [1.2 * y, 1.2 * z, 1.2 * x]), 0.05)
}

/// Σ m Δx and Σ m x × Δx of one pass, over Σ m |x| |Δx|.
fn kept<S: Instances>(matching: Matching) -> [f64; 2] {
    let body = muddle(matching);
    let (model, mut particles) = afloat::<S>(&[&body]);
    let before = particles.clone();
    prepared(&model, 1, 1).step(&model, &mut particles, S::from_f64(1.0 / 60.0), &simd()).expect("a step");
    let (mut linear, mut angular, mut sizes) = (Vec3::zero(), Vec3::zero(), [0.0; 2]);
    for (i, &m) in body.masses().iter().enumerate() {
        let (x, moved) = (at(&before, i), at(&particles, i) - at(&before, i));
        linear = linear + moved * m;
        angular = angular + x.cross(moved) * m;
        sizes = [sizes[0] + m * moved.length(), sizes[1] + m * x.length() * moved.length()];
    }
    assert!(sizes[0] > 1.0, "nothing moved");
    [linear.length() / sizes[0], angular.length() / sizes[1]]
}

#[test]
fn goals_keep_linear_and_angular_momentum_in_every_mode() {
    for matching in modes() {
        let double = kept::<f64>(matching);
        assert!(double.iter().all(|k| *k < 1e-13), "{matching:?}: {double:?}");
        let single = kept::<f32>(matching);
        assert!(single.iter().all(|k| *k < 2e-6), "{matching:?}: {single:?}");
    }
}

/// How far the centre of mass of a spinning cluster with uneven masses goes in ten seconds \[m\].
fn drift<S: Instances>() -> f64 {
    let (places, masses) = (cloud(40), masses(40));
    let total: f64 = masses.iter().sum();
    let mean = |v: &[Vec3<f64>]| v.iter().zip(&masses).fold(Vec3::zero(), |sum, (v, m)| sum + *v * (m / total));
    let spin: Vec<_> = places.iter().map(|p| Vec3::new(-4.0 * p[1], 4.0 * p[0], 0.0)).collect();
    let rest = mean(&spin);
    let body = Body::particles(places)
        .with_masses(masses.clone())
        .with_velocities(spin.iter().map(|v| (*v - rest).into()))
        .with_cluster(0..40, Matching::soft(0.9));
    let (model, mut particles) = afloat::<S>(&[&body]);
    let centre = |particles: &Particles<S>| mean(&(0..40).map(|i| at(particles, i)).collect::<Vec<_>>());
    let start = centre(&particles);
    let mut solver = prepared(&model, 4, 1);
    for _ in 0..600 {
        solver.step(&model, &mut particles, S::from_f64(1.0 / 60.0), &simd()).expect("a step");
    }
    (centre(&particles) - start).length()
}

#[test]
fn uneven_masses_do_not_drift() {
    let double = drift::<f64>();
    assert!(double < 1e-11, "the centre of mass went {double:e} m in ten seconds");
    // A velocity is a difference of places over 4 ms: rounding alone is a random walk of about a millimetre in ten seconds.
    let single = drift::<f32>();
    assert!(single < 5e-3, "the centre of mass went {single:e} m in ten seconds");
}

/// Clusters of 1 to 900 particles, overlapping and not, in every mode, some of them pinned, over a floor.
fn zoo<S: Real>() -> (Model<S>, Particles<S>) {
    let mut bodies = vec![muddle(Matching::RIGID)];
    for (i, (count, matching)) in [1, 2, 3, 17, 130, 900].into_iter().zip(modes().into_iter().cycle()).enumerate() {
        let body = Body::particles(cloud(count)).with_masses(masses(count)).with_cluster(0..count as u32, matching);
        let body = if count == 17 { body.pinned([3]) } else { body };
        bodies.push(body.translated([0.7 * i as f64, 0.4, 0.0]));
    }
    for (i, matching) in modes().into_iter().enumerate() {
        let cube = (0..216).map(|n| [n % 6, n / 6 % 6, n / 36].map(|c| 0.05 * f64::from(c)));
        let grouping = if i % 2 == 0 {
            Grouping::Lattice { cell: 0.1, reach: 1 }
        } else {
            Grouping::Regions { spacing: 0.1, radius: 0.15 }
        };
        let body = Body::particles(cube).with_clusters(grouping, matching).expect("lengths above 0");
        bodies.push(body.translated([0.7 * i as f64, 0.3, 1.0]));
    }
    let (mut model, particles) = Model::<S>::build(&bodies.iter().collect::<Vec<_>>()).expect("valid bodies");
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.4);
    model.colliders_mut().push(floor).expect("a valid collider");
    (model, particles)
}

fn agree<S: Instances>() {
    let run = |on: &AnyBackend<S>| {
        let (model, mut particles) = zoo::<S>();
        let mut solver = prepared(&model, 3, 2);
        for _ in 0..15 {
            solver.step(&model, &mut particles, S::from_f64(1.0 / 60.0), on).expect("a step");
        }
        particles.x.iter().chain(particles.v.iter()).flatten().map(Real::bits).collect::<Vec<_>>()
    };
    let expected = run(&AnyBackend::by_name("scalar", None).expect("always there"));
    for name in AnyBackend::<S>::names() {
        for threads in if name == "parallel" { &[1, 2, 3, 5][..] } else { &[1] } {
            let on = AnyBackend::by_name(name, Some(*threads)).expect("a name of this build");
            assert!(run(&on) == expected, "{name} with {threads} threads differs in {}", S::NAME);
        }
    }
}

#[test]
fn every_backend_and_thread_count_gives_the_same_bits() {
    agree::<f32>();
    agree::<f64>();
}

/// A cube of 6³ particles that falls 20 cm onto the floor.
fn dropped(matching: Matching) -> (Model<f32>, Particles<f32>) {
    let cube = (0..216).map(|n| [n % 6, n / 6 % 6, n / 36].map(|c| 0.06 * f64::from(c)));
    let body = Body::particles(cube).with_mass(1.0).with_clusters(Grouping::Lattice { cell: 0.12, reach: 1 }, matching);
    let body = body.expect("a cell above 0").translated([0.0, 0.2, 0.0]);
    let (mut model, particles) = Model::build(&[&body]).expect("a valid body");
    let floor = Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5);
    model.colliders_mut().push(floor).expect("a valid collider");
    (model, particles)
}

#[test]
fn a_jelly_cube_dropped_on_a_floor_settles() {
    for matching in [Matching::soft(0.6), Matching::soft(0.6).with_deformation(Deformation::Linear { share: 0.5 })] {
        let (mut model, mut particles) = dropped(matching);
        model.environment.damping = 0.5;
        let mut solver = prepared(&model, 4, 1);
        let mut lowest = f32::INFINITY;
        for _ in 0..300 {
            solver.step(&model, &mut particles, 1.0 / 60.0, &simd()).expect("a stable step");
            lowest = particles.x.y.iter().fold(lowest, |low, y| low.min(*y));
        }
        let fastest = particles.v.iter().map(|v| Vec3::from(v).length()).fold(0.0, f32::max);
        let top = particles.x.y.iter().fold(0.0, |high: f32, y| high.max(*y));
        assert!(lowest > -1e-6, "{matching:?}: {lowest} m below the floor");
        assert!(fastest < 0.01, "{matching:?}: still moves at {fastest} m/s");
        assert!((0.2..0.31).contains(&top), "{matching:?}: 30 cm high at rest, now {top} m");
    }
}

#[test]
fn plastic_clusters_keep_what_elastic_ones_give_back_and_stay_bounded() {
    let bound = 0.3;
    let plasticity = Plasticity { yields_at: 0.02, creep: 30.0, bound };
    let extent = |matching: Matching, squeeze: f64| {
        let body = Body::particles(cloud(120)).with_cluster(0..120, matching).posed(|[x, y, z]| [squeeze * x, y, z]);
        let (mut model, mut particles) = afloat::<f32>(&[&body]);
        model.environment.damping = 200.0;
        let mut solver = prepared(&model, 2, 1);
        for _ in 0..300 {
            solver.step(&model, &mut particles, 1.0 / 60.0, &simd()).expect("a stable step");
        }
        let (low, high) =
            particles.x.x.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        let rest = cloud(120).iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p[0]), h.max(p[0])));
        f64::from(high - low) / (rest.1 - rest.0)
    };
    let soft = Matching::soft(0.05).with_deformation(Deformation::Linear { share: 0.3 });
    let elastic = extent(soft, 1.6);
    assert!((elastic - 1.0).abs() < 0.02, "an elastic cluster is {elastic} times as long as it was");
    for squeeze in [1.6, 4.0, 0.3] {
        let plastic = extent(soft.with_plasticity(plasticity), squeeze);
        assert!((plastic - 1.0).abs() > 0.08, "{squeeze}: sprang back to {plastic}");
        assert!((plastic - 1.0).abs() < bound + 0.02, "{squeeze}: went to {plastic}, beyond the bound");
    }
}

#[test]
fn a_cluster_hangs_on_its_pins() {
    let bar = (0..44).map(|i| [0.05 * f64::from(i / 4), 0.05 * f64::from(i % 2), 0.05 * f64::from(i / 2 % 2)]);
    let body = Body::particles(bar).with_rigid_cluster(0..44).pinned([0, 1, 2, 3]);
    let rest = body.positions().to_vec();
    let (model, mut particles) = Model::<f32>::build(&[&body]).expect("a valid body");
    let mut solver = prepared(&model, 4, 1);
    for _ in 0..120 {
        solver.step(&model, &mut particles, 1.0 / 60.0, &simd()).expect("a stable step");
    }
    for (i, p) in rest.iter().enumerate() {
        let off = (at(&particles, i) - Vec3::from(*p)).length();
        assert!(off < if i < 4 { 1e-8 } else { 0.02 }, "particle {i} of a clamped bar sank by {off} m");
    }
}

#[test]
fn clusters_without_extent_stay_finite() {
    let places = [
        vec![[0.0; 3]],
        vec![[1.0; 3]; 5],
        vec![[0.0; 3], [1.0, 0.0, 0.0]],
        (0..9).map(|i| [f64::from(i); 3]).collect(),
    ];
    for (place, matching) in places.iter().flat_map(|p| modes().map(|m| (p, m))) {
        let count = place.len() as u32;
        let body = Body::particles(place.clone()).with_cluster(0..count, matching);
        let velocities = (0..count as usize).map(|i| [noise(i, 1), noise(i, 2), noise(i, 3)]);
        let (model, mut particles) = Model::<f32>::build(&[&body.with_velocities(velocities)]).expect("valid");
        let mut solver = prepared(&model, 2, 2);
        for _ in 0..30 {
            solver.step(&model, &mut particles, 1.0 / 60.0, &simd()).expect("a finite step");
        }
        assert!(particles.x.iter().flatten().all(f32::is_finite), "{place:?}, {matching:?}");
    }
}

#[test]
fn bad_clusters_are_refused_by_name_and_row() {
    let body = || Body::particles(cloud(6)).with_rigid_cluster(0..6);
    let refusal = |body: Body| Model::<f32>::build(&[&body]).map(|_| ()).expect_err("a bad cluster");
    assert!(matches!(
        refusal(body().with_rigid_cluster([])),
        BuildError::BadValue { what: "cluster", row: 1, quantity: "number of particles", .. }
    ));
    assert!(matches!(
        refusal(body().with_rigid_cluster([0, 3, 0])),
        BuildError::Repeated { what: "cluster", row: 1, particle: 0 }
    ));
    assert!(matches!(
        refusal(body().with_rigid_cluster([5, 6])),
        BuildError::OutOfRange { what: "cluster", row: 1, corner: 1, particle: 6, count: 6 }
    ));
    let plastic = |p: Plasticity| Matching::RIGID.with_plasticity(p);
    let sound = Plasticity { yields_at: 0.1, creep: 1.0, bound: 0.5 };
    for matching in [
        Matching::soft(0.0),
        Matching::soft(1.5),
        Matching::soft(f64::NAN),
        Matching::RIGID.with_deformation(Deformation::Linear { share: -0.1 }),
        Matching::RIGID.with_deformation(Deformation::Quadratic { share: f64::NAN }),
        plastic(Plasticity { yields_at: -1.0, ..sound }),
        plastic(Plasticity { creep: f64::INFINITY, ..sound }),
        plastic(Plasticity { bound: 1.0, ..sound }),
        plastic(Plasticity { bound: f64::NAN, ..sound }),
    ] {
        let found = refusal(body().with_cluster(0..6, matching));
        assert!(matches!(found, BuildError::BadValue { what: "cluster", row: 1, .. }), "{matching:?}: {found}");
    }
}

#[test]
fn methods_say_what_they_cannot_carry() {
    let cloth = Body::cloth(&ClothGrid::square(1.0, 5)).expect("a grid");
    let (loose, _) = Model::<f32>::build(&[&cloth]).expect("a valid body");
    let mut solver = f32::shape_matching(ShapeMatching::default());
    let refusal = solver.prepare(&loose).expect_err("links without clusters");
    assert!(matches!(refusal, BuildError::Unsupported { row: 0, .. }), "{refusal}");
    let held = cloth.clone().with_rigid_cluster(0..25).attached(0, [0.0; 3], 0.0);
    let (held, _) = Model::<f32>::build(&[&held]).expect("a valid body");
    let refusal = solver.prepare(&held).expect_err("an attachment");
    assert!(matches!(refusal, BuildError::Unsupported { what: "attachment", .. }), "{refusal}");
    let (clustered, _) = Model::<f32>::build(&[&Body::particles(cloud(6)).with_rigid_cluster(0..6)]).expect("valid");
    let refusal = f32::symplectic(Symplectic::new(1)).prepare(&clustered).expect_err("clusters");
    assert!(matches!(refusal, BuildError::Unsupported { what: "cluster", .. }), "{refusal}");
    for (substeps, iterations) in [(0, 1), (1, 0)] {
        let mut solver = f32::shape_matching(ShapeMatching::new(ShapeMatchingOptions { substeps, iterations }));
        assert!(matches!(solver.prepare(&clustered), Err(BuildError::BadOption { .. })));
    }
}

#[test]
fn a_step_that_fails_takes_its_plastic_flow_back() {
    let plasticity = Plasticity { yields_at: 0.01, creep: 60.0, bound: 0.5 };
    let body = Body::particles(cloud(30)).with_cluster(0..30, Matching::soft(0.3).with_plasticity(plasticity));
    let (model, start) = afloat::<f32>(&[&body.posed(|[x, y, z]| [1.5 * x, y, z])]);
    let run = |disturb: bool| {
        let mut particles = start.clone();
        let mut solver = prepared(&model, 2, 1);
        if disturb {
            let mut wrong = particles.clone();
            wrong.v.set(3, [1e12, 0.0, 0.0]);
            let before = wrong.clone();
            assert!(solver.step(&model, &mut wrong, 1.0 / 60.0, &simd()).is_err());
            assert!(wrong.x.iter().eq(before.x.iter()) && wrong.v.iter().eq(before.v.iter()));
        }
        for _ in 0..20 {
            solver.step(&model, &mut particles, 1.0 / 60.0, &simd()).expect("a stable step");
        }
        particles.x.iter().collect::<Vec<_>>()
    };
    assert_eq!(run(true), run(false));
}
