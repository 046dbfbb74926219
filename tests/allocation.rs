//! A step allocates nothing once the solver is prepared and warm.
//!
//! Every allocation of the process is counted, whichever thread makes it. So this is a program and no test: the thread that runs
//! tests allocates when one takes longer than a minute. `Parallel::on_rayon` is left out: rayon allocates when a deque or its
//! injector grows, as documented.

mod scenes;
// The harness reports allocations too, and the facade cannot depend on it: one file serves both.
#[path = "../harness/src/allocations.rs"]
mod allocations;

use allocations::Counting;

use pliant::backends::AnyBackend;
use pliant::core::schedule::LayoutChoice;
use pliant::prelude::*;
use pliant::{ContactWatch, Newton, NewtonOptions, SurfaceBarrier};
use pliant_harness::instances::{Boxed, Instances};
use scenes::{Method, Stage, giants, zoo};

#[global_allocator]
static COUNTING: Counting = Counting;

const METHODS: [Method; 5] = [
    Method::Xpbd { substeps: 2, iterations: 2 },
    Method::Xpbd { substeps: 1, iterations: 1 },
    Method::Pbd { substeps: 2, iterations: 2, stiffness: 0.9 },
    Method::Jacobi { substeps: 2, iterations: 2 },
    Method::Symplectic { substeps: 2 },
];

/// Allocations in `steps` steps after two warm ones.
fn allocated(mut stage: Stage<f32>, method: Method, steps: usize, on: &AnyBackend<f32>) -> u64 {
    let mut solver = method.solver();
    solver.prepare(&stage.model).unwrap_or_else(|error| panic!("{}, {method:?}: {error}", stage.name));
    let dt = method.time_step() as f32;
    for _ in 0..2 {
        stage.advance(solver.as_mut(), dt, on);
    }
    let before = allocations::count();
    for step in 0..steps {
        // A new step size makes the solver refresh its constants: in place, too.
        stage.advance(solver.as_mut(), if step < steps / 2 { dt } else { 0.5 * dt }, on);
    }
    allocations::count() - before
}

/// Surfaces that fall on each other: buffers grow for a while, and then no more.
fn surfaces(crew: &[AnyBackend<f32>]) {
    let sheet = |height: f64| {
        let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
        let cloth = Body::cloth(&ClothGrid::square(0.6, 12)).expect("a grid");
        let roles = [Role::Stretch, Role::Shear, Role::Bend];
        let cloth = roles.into_iter().fold(cloth, |cloth, role| cloth.with_compliance(role, 1e-4));
        cloth.translated([-0.3, height, -0.3]).with_self_contact(contact)
    };
    let xpbd = || f32::xpbd(XpbdOn::with_substeps(4));
    let behind = |guard| f32::guarded(IntersectionFree::new(xpbd(), guard));
    let methods: [(&str, &dyn Fn() -> Boxed<f32>); 5] = [
        ("xpbd", &xpbd),
        ("truncation", &|| behind(Guard::Truncation { passes: 2 })),
        ("interior point", &|| behind(Guard::default())),
        ("impact zones", &|| behind(Guard::ImpactZones { rounds: 8 })),
        ("newton", &|| {
            let options = NewtonOptions { iterations: 6, ..NewtonOptions::default() };
            f32::newton(Newton::new(options).with_barrier(SurfaceBarrier::default()))
        }),
    ];
    // Scalar, portable lanes, two threads: the others walk the same code.
    for (on, (name, make)) in crew.iter().step_by(2).flat_map(|on| methods.map(|method| (on, method))) {
        let (mut model, start) = Model::<f32>::build(&[&sheet(0.05), &sheet(0.1)]).expect("valid bodies");
        model.colliders_mut().push(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5)).expect("a valid collider");
        let mut solver = make();
        solver.prepare(&model).expect("valid options");
        solver.account().expect("an account").open = true;
        let mut watch = ContactWatch::new(1e-3);
        // The same way again and again: what the others needed is there for the last. The first begins without a memory of who was
        // near whom and may look less often than the second, which begins with that of the end, as does the third.
        let mut count = 0;
        for _ in 0..3 {
            let mut particles = start.clone();
            // A state from outside is checked, which allocates.
            solver.step(&model, &mut particles, 1.0 / 60.0, on).expect("a step");
            let before = allocations::count();
            for _ in 0..30 {
                solver.step(&model, &mut particles, 1.0 / 60.0, on).expect("a step");
                let account = solver.account();
                watch.update(&model, &particles, account.as_deref(), 1.0 / 60.0, on).expect("finite positions");
            }
            count = allocations::count() - before;
        }
        assert!(!watch.events().is_empty(), "{name}: they met");
        assert_eq!(count, 0, "{name} on {}: {count} allocations", on.name());
    }
}

/// Clusters of every kind, by the method of their own: inside PBD and XPBD they are in the zoo.
#[cfg(feature = "rigid")]
fn shapes(crew: &[AnyBackend<f32>]) {
    let plastic = Plasticity { yields_at: 0.01, creep: 5.0, bound: 0.5 };
    let matching = Matching::soft(0.5).with_plasticity(plastic);
    let places = (0..512).map(|i| [i % 8, i / 8 % 8, i / 64].map(|c| 0.05 * f64::from(c)));
    let cube = Body::particles(places)
        .with_clusters(Grouping::Lattice { cell: 0.1, reach: 1 }, matching)
        .expect("a cell above 0")
        .with_cluster(0..512, Matching::RIGID.with_deformation(Deformation::Quadratic { share: 0.5 }));
    for on in crew {
        let (mut model, mut particles) = Model::<f32>::build(&[&cube]).expect("a valid body");
        model.colliders_mut().push(Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5)).expect("a valid collider");
        let mut solver = f32::shape_matching(ShapeMatching::new(ShapeMatchingOptions { substeps: 3, iterations: 2 }));
        solver.prepare(&model).expect("clusters");
        solver.step(&model, &mut particles, 1.0 / 60.0, on).expect("a step");
        let before = allocations::count();
        for step in 0..10 {
            let dt = if step < 5 { 1.0 / 60.0 } else { 1.0 / 90.0 };
            solver.step(&model, &mut particles, dt, on).expect("a step");
        }
        let count = allocations::count() - before;
        assert_eq!(count, 0, "shape matching on {}: {count} allocations", on.name());
    }
}

/// Rest shapes that flow and edges that may tear, in a world.
fn flowing() {
    for name in Best::<f32>::names() {
        let mut world = World::on(Best::by_name(name, Some(2)).expect("a backend of this build"));
        let law = Plasticity { yields_at: 0.001, creep: 1.0, bound: 10.0 };
        let mesh = tube(0.2, 1.0, 16, 12).expect("a tube");
        let sleeve = Body::surface(&mesh, Bending::Dihedral).expect("a manifold").pinned([0]);
        let roles = [Role::Stretch, Role::Bend];
        let sleeve = roles.into_iter().fold(sleeve, |b, r| b.with_compliance(r, 1e-3).with_plasticity(r, law));
        world.add(sleeve.with_tearing(Tearing::at_strain(50.0))).expect("a sleeve");
        let flowed = |world: &World| world.model().rest_revision();
        // Threads of the backend start when they get round to it, and allocate then: the least of three windows counts.
        let mut least = u64::MAX;
        for _ in 0..3 {
            let before = allocations::count();
            for step in 0..10 {
                let last = flowed(&world);
                world.step(1.0 / 60.0).expect("a step");
                assert!(step < 2 || flowed(&world) != last, "it flows");
            }
            least = least.min(allocations::count() - before);
        }
        assert_eq!(least, 0, "{least} allocations while flowing on {name}");
    }
}

/// Whether the command line asks for this test: what the usual main function of tests would find out.
fn is_wanted() -> bool {
    let name = "no_step_allocates";
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        println!("{name}: test");
        return false;
    }
    let mut names = words.iter().filter(|word| !word.starts_with('-')).peekable();
    names.peek().is_none() || names.any(|part| name.contains(part.as_str()))
}

fn main() {
    if !is_wanted() {
        return;
    }
    let before = allocations::count();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert!(allocations::count() > before, "allocations are counted");

    let pick = |name, threads| AnyBackend::<f32>::by_name(name, threads).expect("built with default features");
    let mut crew = vec![pick("scalar", None), pick("simd", None), pick("simd-portable", None)];
    crew.extend([1, 2, 3].map(|threads| pick("parallel", Some(threads))));

    surfaces(&crew);
    flowing();
    #[cfg(feature = "rigid")]
    shapes(&crew);

    // Colliders, wind, forces, moving pins and targets, balloons, tethers: all in the zoo. The giants put every thread to work.
    let scenes = zoo().into_iter().map(|scene| (scene, 10)).chain(giants().into_iter().map(|scene| (scene, 2)));
    for (scene, steps) in scenes {
        let mut stage = scene.stage::<f32>(LayoutChoice::Auto);
        let floor = Collider::plane([0.0, 1.0, 0.0]).at([0.0, -0.1, 0.0]).with_friction(0.4).with_restitution(0.5);
        for collider in [floor, Collider::torus(0.3, 0.1).at([0.5, -0.2, 0.5])] {
            stage.model.colliders_mut().push(collider).expect("a valid collider");
        }
        for method in METHODS.into_iter().filter(|method| method.carries(&scene)) {
            for (place, on) in crew.iter().enumerate() {
                let count = allocated(stage.clone(), method, steps, on);
                assert_eq!(
                    count, 0,
                    "{}, {method:?}, backend {place}: {count} allocations in {steps} steps",
                    scene.name
                );
            }
        }
    }
    println!("test no_step_allocates ... ok");
}
