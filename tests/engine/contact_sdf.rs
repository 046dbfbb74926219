//! Contact with colliders: friction, restitution, tunnelling, moving colliders, and the same bits everywhere.

use std::f64::consts::FRAC_PI_6;

use pliant::backends::AnyBackend;
use pliant::core::backend::Backend;
use pliant::core::body::{Bending, Body, Role};
use pliant::core::columns::Particles;
use pliant::core::error::{BuildError, StepError};
use pliant::core::mesh::{ClothGrid, Split, TriMesh, icosphere, tet_box};
use pliant::core::model::Model;
use pliant::core::schedule::LayoutChoice;
use pliant::core::solver::Solver;
use pliant::{Collider, Penalty, Pose, Response, Rotation, Shape, Symplectic, World, WorldOn, XpbdOn};
use pliant_harness::instances::Instances;

use crate::common::Random;
use crate::run::{Run, free};
use crate::scenes::Method;

const XPBD: Method = Method::Xpbd { substeps: 10, iterations: 1 };
const METHODS: [Method; 5] = [
    XPBD,
    Method::Xpbd { substeps: 2, iterations: 4 },
    Method::Pbd { substeps: 4, iterations: 3, stiffness: 1.0 },
    Method::Jacobi { substeps: 4, iterations: 3 },
    Method::Symplectic { substeps: 10 },
];

/// Bodies among colliders.
fn run<S: Instances>(bodies: &[&Body], colliders: &[Collider], method: Method) -> Run<S> {
    let mut run = Run::<S>::new(bodies, method);
    colliders.iter().cloned().for_each(|c| run.model.colliders_mut().push(c).expect("a valid collider"));
    run.solver.prepare(&run.model).expect("prepared before");
    run
}

/// A plane tilted by 30° about z: downhill is −x.
fn slope(friction: f64) -> Collider {
    Collider::plane([-FRAC_PI_6.sin(), FRAC_PI_6.cos(), 0.0]).with_friction(friction)
}

/// How far the first particle slid downhill.
fn slid<S: Instances>(run: &Run<S>, from: [f64; 3]) -> f64 {
    let d: Vec<f64> = (0..3).map(|k| run.at(0)[k] - from[k]).collect();
    -(d[0] * FRAC_PI_6.cos() + d[1] * FRAC_PI_6.sin())
}

fn incline<S: Instances>(method: Method, body: &Body) {
    let dt = 1.0 / 60.0;
    for friction in [0.58, 0.8] {
        let mut still = run::<S>(&[body], &[slope(friction)], method);
        (0..6).for_each(|_| _ = still.step(dt));
        let start = still.at(0);
        (0..120).for_each(|_| _ = still.step(dt));
        let creep = slid(&still, start).abs() / 2.0;
        assert!(creep < 1e-3, "{method:?}, {}: creeps at {creep} m/s for μ = {friction}", S::NAME);
    }
    let mut sliding = run::<S>(&[body], &[slope(0.3)], method);
    let speed = |run: &Run<S>| run.particles.v.get(0).map(S::to_f64).iter().map(|c| c * c).sum::<f64>().sqrt();
    (0..30).for_each(|_| _ = sliding.step(dt));
    let before = speed(&sliding);
    (0..60).for_each(|_| _ = sliding.step(dt));
    let a = speed(&sliding) - before;
    assert!((a - 2.356_287).abs() < 0.01 * 2.356_287, "{method:?}, {}: slides at {a} m/s²", S::NAME);
}

#[test]
fn a_particle_sticks_to_a_slope_or_slides_as_coulomb_says() {
    let particle = free(1);
    for method in METHODS {
        incline::<f64>(method, &particle);
        incline::<f32>(method, &particle);
    }
}

#[test]
fn a_sheet_sticks_to_a_slope_or_slides_as_coulomb_says() {
    let tilt = |[x, _, z]: [f64; 3]| [x * FRAC_PI_6.cos(), x * FRAC_PI_6.sin(), z];
    let sheet = Body::cloth(&ClothGrid::square(0.5, 9)).expect("a grid").with_mass(0.1).posed(tilt);
    incline::<f64>(XPBD, &sheet);
    incline::<f64>(METHODS[1], &sheet);
    incline::<f64>(METHODS[2], &sheet);
    let soft = sheet.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 1e-3);
    incline::<f64>(Method::Symplectic { substeps: 40 }, &soft.with_compliance(Role::Bend, 1e-2));
}

#[test]
fn penalties_hold_on_a_slope_and_let_slide() {
    let weight = 9.81 * FRAC_PI_6.cos();
    let buffered = Penalty::Buffered { stiffness: 1e4, buffer: 0.01 };
    let barrier = Penalty::LogBarrier { strength: 0.1, buffer: 0.01 };
    // Begin where the force balances the weight.
    let gaps = [
        (Penalty::Linear { stiffness: 1e4 }, -weight / 1e4),
        (buffered, 0.01 - weight / 1e4),
        (barrier, 1.0 / (weight / 0.1 + 1.0 / 0.01)),
    ];
    for (penalty, gap) in gaps {
        let normal = [-FRAC_PI_6.sin(), FRAC_PI_6.cos(), 0.0];
        for (friction, expected) in [(0.6, 0.0), (0.3, 2.356_287)] {
            let body = Body::particles([normal.map(|c| c * gap)]);
            let mut run = run::<f64>(&[&body], &[slope(friction)], XPBD);
            run.solver = f64::symplectic(Symplectic::new(100).with_response(Response::Penalty(penalty)));
            run.solver.prepare(&run.model).expect("valid");
            let start = run.at(0);
            (0..60).for_each(|_| _ = run.step(1.0 / 60.0));
            let way = slid(&run, start);
            assert!((way - 0.5 * expected).abs() < 0.01 * 0.5 * expected + 1e-5, "{penalty:?}, μ {friction}: {way} m");
        }
    }
    let bad = Symplectic::new(1).with_response(Response::Penalty(Penalty::Linear { stiffness: -1.0 }));
    let (model, _) = Model::<f32>::build(&[&free(1)]).expect("valid");
    let error = f32::symplectic(bad).prepare(&model).expect_err("a negative stiffness");
    assert!(matches!(error, BuildError::BadOption { name: "penalty stiffness", .. }), "{error}");
}

/// The first three apexes of a ball that falls from 1 m onto a floor.
fn apexes<S: Instances>(method: Method, collider: Collider, base: f64) -> [f64; 3] {
    let ball = Body::particles([[0.0, 1.0 + base, 0.0]]);
    let mut run = run::<S>(&[&ball], &[collider], method);
    let (mut last, mut rising, mut found) = (run.at(0)[1], false, Vec::new());
    while found.len() < 3 {
        run.step(1.0 / 240.0);
        let y = run.at(0)[1];
        if rising && y < last {
            found.push(last - base);
        }
        rising = y > last;
        last = y;
    }
    [found[0], found[1], found[2]]
}

#[test]
fn bounces_reach_the_heights_that_restitution_leaves() {
    let floor = || Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.8);
    let ball = || Collider::sphere(0.5).with_restitution(0.8);
    let block = || Collider::cuboid([1.0, 1.0, 1.0]).with_restitution(0.8);
    for method in METHODS {
        for (collider, base) in [(floor(), 0.0), (ball(), 0.5), (block(), 0.5)] {
            for found in [apexes::<f64>(method, collider.clone(), base), apexes::<f32>(method, collider, base)] {
                for (height, expected) in found.into_iter().zip([0.64, 0.4096, 0.262_144]) {
                    assert!((height / expected - 1.0).abs() < 0.02, "{method:?}: {height} m instead of {expected} m");
                }
            }
        }
    }
}

#[test]
fn without_restitution_nothing_bounces_and_rest_is_rest() {
    for method in METHODS {
        let body = Body::particles([[0.0, 0.3, 0.0], [1.0, 0.3, 0.0]]).with_thickness(0.05);
        let floors = [Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5)];
        let mut run = run::<f32>(&[&body], &floors, method);
        (0..120).for_each(|_| _ = run.step(1.0 / 60.0));
        for particle in 0..2 {
            assert!((run.at(particle)[1] - 0.05).abs() < 1e-6, "{method:?}: {:?}", run.at(particle));
            assert!(run.particles.v.get(particle).iter().all(|c| c.abs() < 1e-4), "{method:?}");
        }
    }
}

/// Ten thousand particles and sheets, shot at a thin plate from everywhere at any speed: nothing gets through.
fn shower<S: Instances>(collider: Collider, pose: Pose, fastest: f64, method: Method, thickness: f64) {
    let mut random = Random::new(11);
    let count = 10_000;
    let (mut places, mut speeds) = (Vec::new(), Vec::new());
    for _ in 0..count {
        // Above the plate, aimed at a place on it well away from its rim.
        let from = [random.between(-1.0, 1.0), random.between(0.01, 1.5), random.between(-1.0, 1.0)];
        let aim = [random.between(-0.8, 0.8), 0.0, random.between(-0.8, 0.8)];
        let speed = fastest * random.between(0.0, 1.0).powi(3) + 0.1;
        let d: [f64; 3] = std::array::from_fn(|k| aim[k] - from[k]);
        let length = d.iter().map(|c| c * c).sum::<f64>().sqrt();
        places.push(from);
        speeds.push(d.map(|c| c / length * speed));
    }
    let velocities = speeds.clone();
    let body = Body::particles(places).with_velocities(speeds).with_thickness(thickness);
    let mut run = run::<S>(&[&body], &[collider.with_friction(0.9)], method);
    run.model.environment.gravity = [S::ZERO; 3];
    for step in 0..4 {
        // The plate moves and turns while it is hit.
        let t = 0.25 * (step + 1) as f64;
        let way = pose.translation.map(|c| c * t);
        let turned = Rotation(std::array::from_fn(|k| Rotation::IDENTITY.0[k] * (1.0 - t) + pose.rotation.0[k] * t));
        run.model.colliders_mut().send(0, Pose::at(way).turned(turned)).expect("a pose");
        run.step(1.0 / 60.0);
    }
    let mut stopped = 0;
    let length = pose.rotation.0.iter().map(|c| c * c).sum::<f64>().sqrt();
    let [qx, qy, qz, qw] = pose.rotation.0.map(|c| c / length);
    for particle in 0..count {
        let x = run.at(particle);
        let d: [f64; 3] = std::array::from_fn(|k| x[k] - pose.translation[k]);
        // The plate's own axes in the world: the height above it, and how far from its middle.
        let up = [2.0 * (qx * qy - qw * qz), 1.0 - 2.0 * (qx * qx + qz * qz), 2.0 * (qy * qz + qw * qx)];
        let height = (0..3).map(|k| d[k] * up[k]).sum::<f64>();
        let off: f64 = (0..3).map(|k| (d[k] - height * up[k]).powi(2)).sum::<f64>().sqrt();
        if off < 0.99 {
            let (from, speed) = (body.positions()[particle], velocities[particle]);
            assert!(
                height > 0.0,
                "{method:?}, {}: particle {particle} from {from:?} at {speed:?} is at {x:?}, {height} m through",
                S::NAME
            );
            stopped += usize::from(height < 0.01);
        }
    }
    assert!(stopped > count / 4, "{method:?}: only {stopped} particles were stopped");
}

#[test]
fn nothing_tunnels_through_a_thin_plate() {
    let plate = || Collider::cuboid([2.0, 0.001, 2.0]);
    let still = Pose::IDENTITY;
    let moving = Pose::at([0.02, 0.05, 0.0]).turned(Rotation::about([1.0, 0.0, 0.4], 0.05));
    for pose in [still, moving] {
        for method in [XPBD, METHODS[1], METHODS[2], METHODS[3], Method::Symplectic { substeps: 1 }] {
            shower::<f64>(plate(), pose, 1e5, method, 0.0);
        }
        shower::<f32>(plate(), pose, 1e3, XPBD, 0.0);
        shower::<f32>(plate(), pose, 1e3, Method::Xpbd { substeps: 1, iterations: 1 }, 0.001);
    }
    // Thin parts of combined shapes: a box with a hollow under a lid of 1 mm.
    let hollow = Shape::Cuboid { half: [1.0, 0.05, 1.0] }
        .difference(Shape::Cuboid { half: [0.95, 0.049, 0.95] })
        .translated([0.0, -0.0495, 0.0]);
    shower::<f64>(Collider::new(hollow), still, 1e3, XPBD, 0.0);
}

/// Ten thousand sheets of nine vertices, turned at random, shot at a plate of 1 mm at up to ten thousand metres a second: no
/// vertex gets through.
fn sheets<S: Instances>(method: Method, fastest: f64) {
    let mut random = Random::new(29);
    let (mut places, mut speeds, mut triangles) = (Vec::new(), Vec::new(), Vec::<[u32; 3]>::new());
    for sheet in 0..10_000_u32 {
        let mut draw = |low, high| [random.between(low, high), random.between(low, high), random.between(low, high)];
        let ([u, v, spread], way, [x, y, z]) = (draw(-1.0, 1.0), draw(-1.0, 1.0), draw(0.0, 1.0));
        // Two directions at right angles, nearly: the rest shape is what it starts with.
        let along = [u, v, spread].map(|c| 0.02 * c);
        let across = [along[1], along[2], along[0]];
        let middle = [4.0 * x, 0.05 + y, 4.0 * z];
        let speed = fastest * random.between(0.0, 1.0).powi(3) + 0.1;
        for (i, j) in (0..9).map(|k| (f64::from(k % 3) - 1.0, f64::from(k / 3) - 1.0)) {
            places.push(std::array::from_fn(|k| middle[k] + i * along[k] + j * across[k]));
            // Down and sideways, and spinning: vertices of a sheet have speeds of their own.
            speeds.push([speed * way[0], -speed * (0.1 + way[1].abs()), speed * (way[2] + 0.2 * i)]);
        }
        for cell in [0, 1, 3, 4].map(|k| 9 * sheet + k) {
            triangles.extend([[cell, cell + 1, cell + 3], [cell + 1, cell + 4, cell + 3]]);
        }
    }
    let mesh = TriMesh::new(places, triangles).expect("sheets");
    let body = Body::surface(&mesh, Bending::None).expect("manifold").with_velocities(speeds);
    let plate = Collider::cuboid([1e4, 0.001, 1e4]).at([0.0, -0.0005, 0.0]).with_friction(0.5);
    let mut run = run::<S>(&[&body], &[plate], method);
    run.on = AnyBackend::by_name("simd", None).expect("built with default features");
    for step in 0..3 {
        run.step(1.0 / 60.0);
        for vertex in 0..body.particle_count() {
            let [x, y, z] = run.at(vertex);
            let over = x.abs() < 4.9e3 && z.abs() < 4.9e3;
            assert!(
                !over || y > -1e-4,
                "{method:?}, {}: vertex {vertex} at {:?} after step {step}",
                S::NAME,
                [x, y, z]
            );
        }
    }
    let low = (0..body.particle_count()).filter(|&vertex| run.at(vertex)[1] < 0.01).count();
    assert!(low > body.particle_count() / 10, "{method:?}: only {low} vertices reached the plate");
}

#[test]
fn no_sheet_gets_through_a_thin_plate() {
    sheets::<f64>(XPBD, 1e4);
    sheets::<f32>(XPBD, 1e3);
    sheets::<f64>(METHODS[2], 1e4);
}

/// The test above can fail: judged at the ends of substeps alone, a fast particle is on the other side.
#[test]
fn without_following_paths_particles_tunnel() {
    let body = Body::particles([[0.0, 0.5, 0.0]]).with_velocities([[0.0, -100.0, 0.0]]);
    for (continuous, through) in [(true, false), (false, true)] {
        let plate = Collider::cuboid([2.0, 0.001, 2.0]).with_continuous(continuous);
        let mut run = run::<f64>(&[&body], &[plate], XPBD);
        run.step(1.0 / 60.0);
        assert_eq!(run.at(0)[1] < 0.0, through, "continuous: {continuous}");
    }
}

#[test]
fn a_moving_collider_carries_what_lies_on_it() {
    for method in [XPBD, Method::Symplectic { substeps: 10 }] {
        let body = Body::particles([[0.3, 0.05, 0.0]]);
        let table = Collider::cuboid([2.0, 0.1, 2.0]).with_friction(0.9);
        let mut run = run::<f64>(&[&body], &[table], method);
        let mut angle = 0.0;
        for step in 0..240 {
            // Speeds up slowly enough for friction to hold, turning and rising.
            angle += 1e-4 * f64::from(step.min(60));
            let pose = Pose::at([0.0, 2e-3 * f64::from(step), 0.0]).turned(Rotation::about([0.0, 1.0, 0.0], angle));
            run.model.colliders_mut().send(0, pose).expect("a pose");
            run.step(1.0 / 60.0);
        }
        let [x, y, z] = run.at(0);
        let expected = [0.3 * angle.cos(), 0.05 + 2e-3 * 239.0, -0.3 * angle.sin()];
        for (found, expected) in [x, y, z].into_iter().zip(expected) {
            assert!((found - expected).abs() < 2e-3, "{method:?}: {:?} instead of {expected:?}", run.at(0));
        }
    }
}

#[test]
fn pins_are_not_moved_and_thickness_is_a_particle_s_own() {
    let body = Body::particles([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, -0.5, 0.0]])
        .with_thicknesses([0.1, 0.25, 0.3])
        .pinned([2]);
    let mut run = run::<f32>(&[&body], &[Collider::plane([0.0, 1.0, 0.0])], XPBD);
    (0..90).for_each(|_| _ = run.step(1.0 / 60.0));
    for (particle, height) in [(0, 0.1), (1, 0.25), (2, -0.5)] {
        assert!((run.at(particle)[1] - height).abs() < 1e-6, "{particle}: {:?}", run.at(particle));
    }
}

/// Bodies that live in different frames during a step meet the same collider in the same place.
#[test]
fn far_bodies_rest_where_near_ones_do() {
    let near = Body::particles([[0.0, 0.7, 0.0]]);
    let far = Body::particles([[900.0, 0.7, -700.0]]);
    let floor = Collider::plane([0.0, 1.0, 0.0]);
    let mut both = run::<f32>(&[&near, &far], &[floor, Collider::sphere(0.5).at([900.0, 0.0, -700.0])], XPBD);
    (0..60).for_each(|_| _ = both.step(1.0 / 60.0));
    assert!(both.at(0)[1].abs() < 1e-6 && (both.at(1)[1] - 0.5).abs() < 1e-4, "{:?} {:?}", both.at(0), both.at(1));
}

/// What the parity test runs: cloth, a shuffled solid and dust among every kind of collider, some of them moving.
fn crowd() -> (Vec<Body>, Vec<Collider>) {
    let cloth = Body::cloth(&ClothGrid::square(1.0, 19)).expect("a grid").with_mass(0.2);
    let cloth = cloth.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 1e-3);
    let cloth = cloth.with_compliance(Role::Bend, 1e-2).translated([-0.5, 0.62, -0.5]).with_thickness(0.01);
    let jelly = Body::solid(&tet_box([3, 2, 2], [0.3, 0.2, 0.2], Split::Five).expect("a box")).expect("a solid");
    let jelly = jelly.with_compliance(Role::Stretch, 1e-4).with_compliance(Role::Volume, 1e-9);
    let mut random = Random::new(3);
    let dust: Vec<_> =
        (0..203).map(|_| [random.between(-1.0, 1.0), random.between(0.7, 1.0), random.between(-1.0, 1.0)]).collect();
    let dust = Body::particles(dust).with_velocities((0..203).map(|i| [0.0, -0.5 * f64::from(i), 0.0]));
    let tilt = Rotation::about([1.0, 0.3, 0.2], 0.4);
    let ball = icosphere(0.2, 2).expect("a sphere");
    let colliders = vec![
        Collider::plane([0.0, 1.0, 0.0]).with_friction(0.4).with_restitution(0.3),
        Collider::sphere(0.3).at([0.0, 0.3, 0.0]).with_friction(0.6),
        Collider::torus(0.4, 0.1).at([0.3, 0.4, 0.2]).turned(tilt).with_restitution(0.5),
        Collider::cuboid([0.4, 0.002, 0.4]).at([-0.3, 0.5, 0.3]).turned(tilt).with_friction(0.2),
        Collider::capsule(0.1, 0.3).at([0.4, 0.3, -0.4]),
        Collider::cylinder(0.2, 0.3).at([-0.4, 0.3, -0.3]).with_friction(1.0),
        Collider::mesh(&ball, 12).expect("closed").at([0.0, 0.5, -0.4]),
        Collider::new(Shape::Sphere { radius: 0.2 }.difference(Shape::Cuboid { half: [0.1; 3] }.rounded(0.02)))
            .at([0.5, 0.4, 0.5]),
    ];
    (
        vec![cloth, jelly.translated([0.1, 0.9, -0.3]), dust.translated([2.0, 0.0, 0.0]).translated([-2.0, 0.0, 0.0])],
        colliders,
    )
}

fn outcome<S: Instances>(
    bodies: &[Body],
    method: Method,
    on: &AnyBackend<S>,
    response: Option<Response>,
) -> Particles<S> {
    let (_, colliders) = crowd();
    let (mut model, mut particles) =
        Model::<S>::build_with(&bodies.iter().collect::<Vec<_>>(), LayoutChoice::Auto).expect("valid");
    colliders.into_iter().for_each(|c| model.colliders_mut().push(c).expect("valid"));
    let mut solver: Box<dyn Solver<AnyBackend<S>>> = match (response, method) {
        (Some(response), Method::Symplectic { substeps }) => {
            S::symplectic(Symplectic::new(substeps).with_response(response))
        }
        _ => method.solver(),
    };
    solver.prepare(&model).expect("valid");
    for step in 0..40 {
        let angle = 0.03 * f64::from(step);
        let pose = Pose::at([0.1 * angle, 0.3 + 0.05 * angle, 0.0]).turned(Rotation::about([0.2, 1.0, 0.0], angle));
        model.colliders_mut().send(1, pose).expect("a pose");
        model.colliders_mut().send(3, Pose { translation: [-0.3, 0.5 + 0.1 * angle, 0.3], ..pose }).expect("a pose");
        let dt = if matches!(method, Method::Symplectic { .. }) { 1.0 / 600.0 } else { 1.0 / 60.0 };
        solver.step(&model, &mut particles, S::from_f64(dt), on).expect("a step");
    }
    particles
}

fn agrees<S: Instances>(methods: &[(Method, Option<Response>)]) {
    let pick = |name, threads| AnyBackend::<S>::by_name(name, threads).expect("built with default features");
    let mut others = vec![pick("simd", None), pick("simd-portable", None)];
    others.extend([1, 2, 3, 5, 8].map(|threads| pick("parallel", Some(threads))));
    // Cloth alone: columns, one frame, one thickness. All: rows, shells.
    let (bodies, _) = crowd();
    for bodies in [&bodies[..1], &bodies[..]] {
        for &(method, response) in methods {
            let expected = outcome(bodies, method, &pick("scalar", None), response);
            for on in &others {
                let found = outcome(bodies, method, on, response);
                let same = expected.state_hash() == found.state_hash();
                assert!(same, "{method:?}, {response:?}, {} of {}, {} threads", on.name(), on.isa(), on.threads());
            }
        }
    }
}

#[test]
fn every_backend_computes_the_same_contacts() {
    let symplectic = Method::Symplectic { substeps: 10 };
    let penalty = |penalty| Some(Response::Penalty(penalty));
    agrees::<f32>(&METHODS.map(|method| (method, None)));
    agrees::<f32>(&[
        (symplectic, penalty(Penalty::Linear { stiffness: 50.0 })),
        (symplectic, penalty(Penalty::Buffered { stiffness: 50.0, buffer: 0.02 })),
        (symplectic, penalty(Penalty::LogBarrier { strength: 0.01, buffer: 0.02 })),
    ]);
    agrees::<f64>(&[(XPBD, None), (METHODS[2], None), (symplectic, None)]);
}

#[test]
fn worlds_hold_colliders_by_handle() {
    let mut world = f64::world(f64::xpbd(XpbdOn::with_substeps(10)), AnyBackend::new());
    let floor = world.add_collider(Collider::plane([0.0, 1.0, 0.0])).expect("a floor");
    let stone = world.add(Body::particles([[0.0, 0.2, 0.0]])).expect("a stone");
    let lid = world.add_collider(Collider::sphere(0.1).at([5.0, 0.0, 0.0])).expect("a ball");
    assert!(world.add_collider(Collider::sphere(-1.0)).is_err());
    let other = world.add(Body::particles([[0.0, 0.2, 1.0]])).expect("adding a body keeps colliders");
    let advance =
        |world: &mut WorldOn<AnyBackend<f64>>, n| (0..n).for_each(|_| _ = world.step(1.0 / 60.0).expect("a step"));
    advance(&mut world, 60);
    assert_eq!(world.positions(stone).expect("there").get(0)[1], 0.0);
    assert_eq!(world.positions(other).expect("there").get(0)[1], 0.0);
    // A lift of 1 m over 60 steps; rebuilding in the middle does not lose the motion.
    for step in 1..=60 {
        world.move_collider(floor, Pose::at([0.0, f64::from(step) / 60.0, 0.0])).expect("a pose");
        if step == 30 {
            world.pin(other, 0).expect("a particle");
            world.remove_collider(lid).expect("there");
        }
        world.step(1.0 / 60.0).expect("a step");
    }
    let [_, y, _] = world.positions(stone).expect("there").get(0);
    assert!((y - 1.0).abs() < 1e-9, "{y}");
    assert!((world.velocities(stone).expect("there").get(0)[1] - 1.0).abs() < 1e-6);
    assert!(world.move_collider(floor, Pose::at([f64::NAN, 0.0, 0.0])).is_err());
    assert_eq!(world.remove_collider(lid), Err(BuildError::NotFound { what: "collider" }));
    assert_eq!(world.move_collider(lid, Pose::IDENTITY), Err(BuildError::NotFound { what: "collider" }));
    assert_eq!(world.collider(floor).expect("there").pose.translation[1], 1.0);
    world.remove_collider(floor).expect("there");
    advance(&mut world, 60);
    assert!(world.positions(stone).expect("there").get(0)[1] < 0.0, "it falls again");
}

#[test]
fn bad_thickness_and_unprepared_colliders_are_refused() {
    let thin = |t| Model::<f32>::build(&[&free(2).with_thickness(t)]).map(|_| ());
    assert!(matches!(thin(-0.1), Err(BuildError::BadValue { quantity: "thickness", row: 0, .. })));
    assert!(matches!(thin(f64::NAN), Err(BuildError::BadValue { quantity: "thickness", .. })));
    let short = Model::<f32>::build(&[&free(2).with_thicknesses([0.1])]).map(|_| ());
    assert_eq!(short, Err(BuildError::Length { what: "thickness", found: 1, expected: 2 }));
    let mut run = Run::<f32>::new(&[&free(1)], XPBD);
    run.model.colliders_mut().push(Collider::sphere(1.0)).expect("valid");
    assert_eq!(run.try_step(0.01), Err(StepError::NotPrepared));
}

/// Particles in the middle of things: at a centre, on an axis, deep inside. Out, and finite.
#[test]
fn particles_that_start_inside_come_out() {
    let (_, colliders) = crowd();
    for method in METHODS {
        // Without the floor, and without the shape that is hollow in the middle.
        for collider in &colliders[1..7] {
            let start = collider.pose.translation;
            let mut run = run::<f32>(&[&Body::particles([start])], std::slice::from_ref(collider), method);
            run.model.environment.gravity = [0.0; 3];
            for _ in 0..3 {
                run.step(1.0 / 60.0);
            }
            let moved = (0..3).map(|k| (run.at(0)[k] - start[k]).powi(2)).sum::<f64>().sqrt();
            // A torus is empty in its middle.
            let inside = !matches!(collider.shape, Shape::Torus { .. });
            assert!(moved.is_finite() && (moved > 5e-4) == inside, "{method:?}, {collider:?}: {moved} m");
        }
    }
}

/// Deep inside there is no way out at once that would not be a shot.
#[test]
fn particles_that_start_deep_inside_come_out_slowly() {
    for method in METHODS {
        let mut run = run::<f32>(&[&Body::particles([[0.01, 0.02, 0.0]])], &[Collider::sphere(0.5)], method);
        run.model.environment.gravity = [0.0; 3];
        let mut fastest = 0.0_f64;
        for _ in 0..30 {
            run.step(1.0 / 60.0);
            let v = run.particles.v.get(0).map(f64::from);
            fastest = fastest.max(v.iter().map(|c| c * c).sum::<f64>().sqrt());
        }
        let away = run.at(0).iter().map(|c| c * c).sum::<f64>().sqrt();
        assert!(away > 0.499, "{method:?}: {away} m from the middle");
        assert!(fastest < 10.1, "{method:?}: {fastest} m/s");
    }
}

/// The facade's own way in.
#[test]
fn a_cloth_drapes_over_a_ball() {
    let mut world = World::on(AnyBackend::by_name("simd", None).expect("built"));
    world.add_collider(Collider::sphere(0.3).with_friction(0.5)).expect("a ball");
    let cloth = Body::cloth(&ClothGrid::square(1.0, 30)).expect("a grid").with_thickness(0.01);
    let id = world.add(cloth.translated([-0.5, 0.35, -0.5])).expect("a cloth");
    (0..120).for_each(|_| _ = world.step(1.0 / 60.0).expect("a step"));
    let positions = world.positions(id).expect("there");
    let length = |p: [f32; 3]| p.iter().map(|c| c * c).sum::<f32>().sqrt();
    assert!(positions.iter().all(|p| length(p) > 0.31 - 1e-5), "nothing is inside");
    assert!(positions.iter().filter(|&p| length(p) < 0.311).count() > 100, "it lies on the ball");
    assert!(positions.iter().any(|p| p[1] < 0.0), "and hangs down");
}
