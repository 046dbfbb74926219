//! Surfaces among themselves: in real time, and with the promise that nothing ever passes through anything.
#![cfg(all(feature = "simd", feature = "parallel", feature = "xpbd-colored", feature = "collision"))]

use pliant::backends::{AnyBackend, Precision};
use pliant::core::collide::intersect::piercings;
use pliant::prelude::*;

const FRAME: f64 = 1.0 / 60.0;

/// Bodies, what holds them, and how their pins move.
struct Stage<S> {
    model: Model<S>,
    particles: Particles<S>,
    time: f64,
    pins: fn([f64; 3], f64) -> [f64; 3],
    rest: Vec<[f64; 3]>,
    bodies: Vec<Body>,
    colliders: Vec<Collider>,
}

impl<S: Precision> Stage<S> {
    fn new(bodies: &[Body], colliders: &[Collider], pins: fn([f64; 3], f64) -> [f64; 3]) -> Self {
        let all: Vec<&Body> = bodies.iter().collect();
        let (mut model, particles) = Model::build(&all).expect("valid bodies");
        colliders.iter().cloned().for_each(|c| model.colliders_mut().push(c).expect("a valid collider"));
        let rest = (0..particles.len()).map(|i| particles.x.get(i).map(S::to_f64)).collect();
        let (bodies, colliders) = (bodies.to_vec(), colliders.to_vec());
        Self { model, particles, time: 0.0, pins, rest, bodies, colliders }
    }
    fn step<B: Backend<Scalar = S>>(&mut self, solver: &mut dyn Solver<B>, on: &B) -> StepReport {
        self.time += FRAME;
        for pin in self.model.pins().to_vec() {
            let to = (self.pins)(self.rest[pin as usize], self.time).map(S::from_f64);
            self.model.move_pin(pin, to).expect("a pin");
        }
        solver.step(&self.model, &mut self.particles, S::from_f64(FRAME), on).expect("a step")
    }
    fn intersections(&self) -> usize {
        let surfaces = self.model.surfaces();
        let at = |&p: &u32| self.particles.x.get(p as usize).map(S::to_f64);
        let places = surfaces.particles.iter().map(at).collect();
        let found = piercings(&surfaces.edges, &surfaces.triangles, &places, None, &Scalar::<f64>::new());
        found.expect("finite positions").len()
    }
}

fn stay(at: [f64; 3], _: f64) -> [f64; 3] {
    at
}

fn contact(thickness: f64) -> SelfContact {
    SelfContact { thickness, friction: 0.3, ..SelfContact::default() }
}

/// A soft strip whose ends turn about its long axis against each other, one turn a second in all.
fn twist<S: Precision>(n: usize) -> Stage<S> {
    let columns = 3 * n;
    let mut body = Body::cloth(&ClothGrid::new(columns, n, 1.0, 0.3)).expect("a grid").with_mass(0.1);
    for role in [Role::Stretch, Role::Shear, Role::Bend] {
        body = body.with_compliance(role, 1e-2);
    }
    let centre = |p: [f64; 3]| [p[0] - 0.5, p[1], p[2] - 0.15];
    let ends = (0..columns * n).filter(|i| i % columns == 0 || i % columns == columns - 1).map(|i| i as u32);
    let body = body.posed(centre).pinned(ends).with_self_contact(contact(0.008));
    let turn = |[x, y, z]: [f64; 3], time: f64| {
        let angle = core::f64::consts::PI * time * x.signum();
        // The ends come closer as the strip gets shorter.
        let [sin, cos] = [angle.sin(), angle.cos()];
        [x * (1.0 - 0.05 * time), y * cos - z * sin, y * sin + z * cos]
    };
    let mut stage = Stage::new(&[body], &[], turn);
    stage.model.environment.damping = S::ONE;
    stage
}

/// Layers that fall on a ball, one onto the other.
fn stack<S: Precision>(layers: usize, n: usize) -> Stage<S> {
    let layer = |k: usize| {
        let sheet = Body::cloth(&ClothGrid::square(0.6, n)).expect("a grid").with_mass(0.05);
        // Turned a little against each other, as no two layers lie alike.
        let (sin, cos) = (0.1 * k as f64).sin_cos();
        let height = 0.02 * (k + 1) as f64;
        sheet
            .posed(move |[x, _, z]| {
                let (x, z) = (x - 0.3, z - 0.3);
                [x * cos - z * sin, height, x * sin + z * cos]
            })
            .with_thickness(0.004)
            .with_self_contact(contact(0.008))
    };
    let bodies: Vec<Body> = (0..layers).map(layer).collect();
    Stage::new(&bodies, &[Collider::sphere(0.2).at([0.0, -0.2, 0.0]).with_friction(0.3)], stay)
}

fn xpbd<S: Precision>() -> pliant::XpbdOn<Colored, S> {
    pliant::XpbdOn::with_substeps(10)
}

/// Runs a stage; returns the intersections after each step, and how far targets were missed.
fn run<S: Precision>(stage: &mut Stage<S>, guard: Option<Guard>, steps: usize) -> (Vec<usize>, f64) {
    let on = AnyBackend::<S>::by_name("simd", None).expect("built");
    let mut missed: f64 = 0.0;
    let mut counts = Vec::new();
    if let Some(guard) = guard {
        let mut solver = IntersectionFree::<_, S>::new(xpbd::<S>(), guard);
        Solver::<AnyBackend<S>>::prepare(&mut solver, &stage.model).expect("valid options");
        for _ in 0..steps {
            stage.step(&mut solver, &on);
            missed = missed.max(solver.remaining());
            counts.push(stage.intersections());
        }
    } else {
        let mut solver = xpbd::<S>();
        Solver::<AnyBackend<S>>::prepare(&mut solver, &stage.model).expect("valid options");
        for _ in 0..steps {
            stage.step(&mut solver, &on);
            counts.push(stage.intersections());
        }
    }
    (counts, missed)
}

const GUARDS: [Guard; 2] = [
    Guard::InteriorPoint(InteriorPoint { reach: 1.0, stiffness: 1.0, iterations: 20, tolerance: 0.01 }),
    Guard::Truncation { passes: 3 },
];

#[test]
fn twisted_cloth_never_passes_through_itself_behind_a_guard() {
    for guard in GUARDS {
        let started = std::time::Instant::now();
        let (counts, missed) = run(&mut twist::<f32>(8), Some(guard), 150);
        println!("twist, {guard:?}: farthest miss {missed:.4} m, {:.1} s", started.elapsed().as_secs_f64());
        assert!(counts.iter().all(|&c| c == 0), "{guard:?}: {counts:?}");
    }
}

#[test]
fn a_stack_of_ten_layers_stays_apart_behind_a_guard() {
    for guard in GUARDS {
        let started = std::time::Instant::now();
        let (counts, missed) = run(&mut stack::<f32>(10, 8), Some(guard), 90);
        println!("stack, {guard:?}: farthest miss {missed:.4} m, {:.1} s", started.elapsed().as_secs_f64());
        assert!(counts.iter().all(|&c| c == 0), "{guard:?}: {counts:?}");
    }
}

/// The cheap mode promises nothing; what it leaves is told, and compared with no contact at all.
#[test]
fn in_real_time_fewer_intersections_remain_than_without_contact() {
    let sum = |name: &str, counts: &[usize]| {
        let steps = counts.iter().filter(|&&c| c > 0).count();
        let most = counts.iter().max().copied().unwrap_or_default();
        println!("{name}: {steps} of {} steps with intersections, at most {most}", counts.len());
        counts.iter().sum::<usize>()
    };
    for (name, stage, steps) in [
        ("twist", (|| twist::<f32>(8)) as fn() -> Stage<f32>, 150),
        ("stack", || stack::<f32>(10, 8), 90),
        ("two sheets", || stack::<f32>(2, 12), 90),
    ] {
        let with = sum(&format!("{name} in real time"), &run(&mut stage(), None, steps).0);
        let without = sum(&format!("{name} without contact"), &run_blind(stage(), steps));
        assert!(without > 0 && with < without / 2, "{name}: {with} against {without}");
    }
}

/// The same bodies with all surfaces in groups that touch nothing.
fn run_blind(stage: Stage<f32>, steps: usize) -> Vec<usize> {
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built");
    let mut blind = Stage::new(&stage.bodies, &stage.colliders, stage.pins);
    blind.model = {
        let nobody = SelfContact { groups: Groups { member: 1, touches: 0 }, ..contact(0.008) };
        let bodies: Vec<Body> = stage.bodies.iter().map(|b| b.clone().with_self_contact(nobody)).collect();
        let mut model = Stage::<f32>::new(&bodies, &stage.colliders, stage.pins).model;
        model.environment = stage.model.environment.clone();
        model
    };
    let mut solver = xpbd::<f32>();
    Solver::<AnyBackend<f32>>::prepare(&mut solver, &blind.model).expect("valid options");
    let count = |_| {
        blind.step(&mut solver, &on);
        blind.intersections()
    };
    (0..steps).map(count).collect()
}

/// Two free sheets fly into each other.
fn crash<S: Precision>() -> Stage<S> {
    let sheet = |height: f64, speed: f64, turn: f64| {
        let count = 100;
        let lie = move |[x, _, z]: [f64; 3]| [x + turn * z, height + 0.1 * turn * x, z - turn * x];
        Body::cloth(&ClothGrid::square(0.5, 10))
            .expect("a grid")
            .posed(lie)
            .with_velocities((0..count).map(|_| [0.1 * speed, speed, 0.0]))
            .with_self_contact(contact(0.01))
    };
    let mut stage = Stage::new(&[sheet(0.0, 1.0, 0.0), sheet(0.05, -0.5, 0.2)], &[], stay);
    stage.model.environment.gravity = [S::ZERO; 3];
    stage
}

/// Linear momentum and mean height of each half.
fn momentum<S: Precision>(stage: &Stage<S>) -> ([f64; 3], [f64; 2]) {
    let (mut sum, mut heights) = ([0.0; 3], [0.0; 2]);
    let count = stage.particles.len();
    for i in 0..count {
        let m = 1.0 / stage.model.inv_mass()[i].to_f64();
        let v = stage.particles.v.get(i).map(S::to_f64);
        (0..3).for_each(|k| sum[k] += m * v[k]);
        heights[2 * i / count] += stage.particles.x.get(i)[1].to_f64() / (count / 2) as f64;
    }
    (sum, heights)
}

#[test]
fn sheets_that_meet_keep_their_momentum_and_their_order() {
    let on = AnyBackend::<f64>::by_name("scalar", None).expect("built");
    let solvers: [(&str, Box<dyn Solver<AnyBackend<f64>>>); 3] = [
        ("xpbd", Box::new(xpbd::<f64>())),
        ("pbd", Box::new(Pbd::<f64>::new(PbdOptions { substeps: 4, iterations: 3, ..PbdOptions::default() }))),
        ("behind a barrier", Box::new(IntersectionFree::<_, f64>::new(xpbd::<f64>(), Guard::default()))),
    ];
    for (name, mut solver) in solvers {
        let mut stage = crash::<f64>();
        solver.prepare(&stage.model).expect("valid options");
        let (before, _) = momentum(&stage);
        let start = stage.particles.v.clone();
        (0..30).for_each(|_| _ = stage.step(&mut *solver, &on));
        let (after, [lower, upper]) = momentum(&stage);
        assert_ne!(stage.particles.v, start, "{name}: they met");
        // The barrier stops at its tolerance; constraints are exact to rounding.
        let tolerance = if name == "behind a barrier" { 0.02 } else { 1e-9 };
        for k in 0..3 {
            assert!((after[k] - before[k]).abs() < tolerance * before[1].abs(), "{name}: {before:?}, then {after:?}");
        }
        assert!(lower < upper, "{name}: the lower sheet stays below, {lower} and {upper}");
    }
}

#[test]
fn explicit_and_elastic_methods_keep_surfaces_apart_too() {
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built");
    let mut stage = crash::<f32>();
    let mut bodies = stage.bodies.clone();
    for role in [Role::Stretch, Role::Shear, Role::Bend] {
        bodies = bodies.into_iter().map(|b| b.with_compliance(role, 1e-2)).collect();
    }
    let environment = stage.model.environment.clone();
    stage = Stage::new(&bodies, &[], stay);
    stage.model.environment = environment;
    let mut solver = Symplectic::<f32>::new(20);
    Solver::<AnyBackend<f32>>::prepare(&mut solver, &stage.model).expect("valid options");
    (0..30).for_each(|_| _ = stage.step(&mut solver, &on));
    let (_, [lower, upper]) = momentum(&stage);
    assert!(lower < upper, "the lower sheet stays below: {lower} and {upper}");
}

/// A flat sheet whose neighbours are closer than the thickness stays as it is.
#[test]
fn neighbours_closer_than_the_thickness_at_rest_do_not_push() {
    for guard in [None, Some(GUARDS[0])] {
        let sheet = Body::cloth(&ClothGrid::square(0.1, 12)).expect("a grid").with_self_contact(contact(0.03));
        let mut stage = Stage::<f64>::new(&[sheet], &[], stay);
        stage.model.environment.gravity = [0.0; 3];
        run(&mut stage, guard, 20);
        for (i, rest) in stage.rest.iter().enumerate() {
            let at = stage.particles.x.get(i);
            assert!((0..3).all(|k| (at[k] - rest[k]).abs() < 1e-9), "particle {i} went from {rest:?} to {at:?}");
        }
    }
}

#[test]
fn groups_that_do_not_touch_pass_through_each_other() {
    let lonely = SelfContact { groups: Groups { member: 1, touches: 2 }, ..contact(0.01) };
    let mut stage = crash::<f64>();
    let bodies: Vec<Body> = stage.bodies.iter().map(|b| b.clone().with_self_contact(lonely)).collect();
    stage = Stage::new(&bodies, &[], stay);
    stage.model.environment.gravity = [0.0; 3];
    run(&mut stage, None, 30);
    let (_, [lower, upper]) = momentum(&stage);
    assert!(lower > upper, "they went through: {lower} and {upper}");
}

#[test]
fn every_backend_gives_the_same_bits() {
    let mut backends = vec![("scalar", None), ("simd", None), ("simd-portable", None)];
    backends.extend([1, 2, 5].map(|threads| ("parallel", Some(threads))));
    for guard in [None, Some(GUARDS[0]), Some(GUARDS[1])] {
        let mut hashes = Vec::new();
        for &(name, threads) in &backends {
            let on = AnyBackend::<f32>::by_name(name, threads).expect("built");
            let mut solver: Box<dyn Solver<AnyBackend<f32>>> = match guard {
                None => Box::new(xpbd::<f32>()),
                Some(guard) => Box::new(IntersectionFree::<_, f32>::new(xpbd::<f32>(), guard)),
            };
            let mut stage = stack::<f32>(3, 10);
            solver.prepare(&stage.model).expect("valid options");
            (0..20).for_each(|_| _ = stage.step(&mut *solver, &on));
            hashes.push(stage.particles.state_hash());
        }
        assert!(hashes.iter().all(|h| *h == hashes[0]), "{guard:?}: {hashes:x?}");
    }
}

#[test]
fn a_start_state_that_intersects_is_refused_with_a_pair() {
    let flat = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_self_contact(contact(0.01));
    let upright = flat.clone().posed(|[x, _, z]| [x, z - 0.25, 0.21]);
    let mut stage = Stage::<f32>::new(&[flat, upright], &[], stay);
    let mut solver = IntersectionFree::<_, f32>::new(xpbd::<f32>(), Guard::default());
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built");
    Solver::<AnyBackend<f32>>::prepare(&mut solver, &stage.model).expect("valid options");
    let before = stage.particles.clone();
    match solver.step(&stage.model, &mut stage.particles, 0.01, &on) {
        Err(StepError::Intersecting { edge, triangle, count }) => {
            assert!(count > 0 && count == stage.intersections());
            assert!(edge.iter().all(|e| !triangle.contains(e)), "{edge:?} and {triangle:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(stage.particles, before, "nothing has changed");
}

#[test]
fn options_that_cannot_be_are_refused() {
    let build = |contact: SelfContact| {
        let body = Body::cloth(&ClothGrid::square(0.5, 4)).expect("a grid").with_self_contact(contact);
        Model::<f32>::build(&[&body]).map(|_| ())
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(build(contact(bad)), Err(BuildError::BadOption { .. })), "thickness {bad}");
    }
    assert!(build(SelfContact { friction: -0.1, ..contact(0.01) }).is_err());
    assert!(build(SelfContact { recovery: f64::NAN, ..contact(0.01) }).is_err());
    assert_eq!(build(contact(0.01)), Ok(()));
    let (model, _) = Model::<f32>::build(&[&Body::particles([[0.0; 3]])]).expect("a particle");
    for guard in [
        Guard::Truncation { passes: 0 },
        Guard::InteriorPoint(InteriorPoint { reach: 0.0, ..InteriorPoint::default() }),
        Guard::InteriorPoint(InteriorPoint { iterations: 0, ..InteriorPoint::default() }),
        Guard::InteriorPoint(InteriorPoint { tolerance: f64::NAN, ..InteriorPoint::default() }),
    ] {
        let mut solver = IntersectionFree::<_, f32>::new(xpbd::<f32>(), guard);
        let prepared = Solver::<AnyBackend<f32>>::prepare(&mut solver, &model);
        assert!(matches!(prepared, Err(BuildError::BadOption { .. })), "{guard:?}");
    }
}
