//! Surfaces among themselves: in real time, and with the promise that nothing ever passes through anything.
#![cfg(all(feature = "simd", feature = "parallel", feature = "xpbd-colored", feature = "collision"))]

use pliant::backends::{AnyBackend, Precision};
use pliant::core::collide::intersect::piercings;
use pliant::core::schedule::LayoutChoice;
use pliant::prelude::*;

const FRAME: f64 = 1.0 / 60.0;

/// Bodies, what holds them, and how their pins move.
struct Stage<S> {
    model: Model<S>,
    particles: Particles<S>,
    time: f64,
    pins: fn([f64; 3], f64) -> [f64; 3],
    rest: Vec<[f64; 3]>,
}

impl<S: Precision> Stage<S> {
    fn new(bodies: &[Body], colliders: &[Collider], pins: fn([f64; 3], f64) -> [f64; 3]) -> Self {
        let bodies: Vec<&Body> = bodies.iter().collect();
        let (mut model, particles) = Model::build_with(&bodies, LayoutChoice::Auto).expect("valid bodies");
        colliders.iter().cloned().for_each(|c| model.colliders_mut().push(c).expect("a valid collider"));
        let rest = (0..particles.len()).map(|i| particles.x.get(i).map(S::to_f64)).collect();
        Self { model, particles, time: 0.0, pins, rest }
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

/// A strip whose ends turn about its long axis against each other, one turn a second in all, for `turns` turns.
fn twist<S: Precision>(n: usize) -> Stage<S> {
    let grid = ClothGrid::new(2 * n, n, 1.0, 0.4);
    let body = Body::cloth(&grid).expect("a grid").with_mass(0.1);
    let centre = |p: [f64; 3]| [p[0] - 0.5, p[1], p[2] - 0.2];
    let ends = (0..2 * n * n).filter(|i| i % (2 * n) == 0 || i % (2 * n) == 2 * n - 1).map(|i| i as u32);
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

fn xpbd<S: Precision>() -> XpbdOn<Colored, S> {
    XpbdOn::with_substeps(10)
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

#[test]
fn in_real_time_few_intersections_remain_and_without_contact_many() {
    let figure = |name: &str, counts: &[usize]| {
        let steps = counts.iter().filter(|&&c| c > 0).count();
        println!(
            "{name}: {steps} of {} steps with intersections, at most {}",
            counts.len(),
            counts.iter().max().expect("steps were taken")
        );
    };
    let (counts, _) = run(&mut twist::<f32>(8), None, 150);
    figure("twist in real time", &counts);
    let (counts, _) = run(&mut stack::<f32>(10, 8), None, 90);
    figure("stack in real time", &counts);
}
