//! Implicit methods and the sparse layer allocate nothing once they are set up.
//!
//! One test alone in this crate, so that nobody else allocates meanwhile.

#[path = "../harness/src/allocations.rs"]
mod allocations;

use allocations::Counting;
use pliant::backends::AnyBackend;
use pliant::prelude::*;
use pliant::solvers::linear::{
    Cholesky, Contribution, LinearMethod, Ordering as Elimination, Pattern, Pcg, PcgOptions, Refined, SlotMap, Tiles,
};
use pliant::{Acceleration, ColliderForm, Newton, NewtonOptions, Projective, ProjectiveOptions, SchurForm};
use pliant_harness::instances::Instances;

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn nothing_allocates_after_setting_up() {
    let before = allocations::count();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert!(allocations::count() > before, "allocations are counted");
    sparse_layer();
    methods();
}

fn sparse_layer() {
    // A 50 × 50 grid: large enough for branches, domains and panels wider than a piece.
    let side = 50_u32;
    let mut pairs = Vec::new();
    for i in 0..side * side {
        pairs.extend((i % side + 1 < side).then_some([i, i + 1]));
        pairs.extend((i + side < side * side).then_some([i, i + side]));
        pairs.extend((i % side + 1 < side && i + side < side * side).then_some([i, i + side + 1]));
    }
    let n = (side * side) as usize;
    let pattern = Pattern::new(n, pairs.iter(), Elimination::Amd);
    let blocks = pairs.iter().flat_map(|&[a, b]| [(a, a, false), (b, b, false), (a, b, true)]);
    let map =
        SlotMap::new(&pattern, blocks.map(|(row, column, negative)| Contribution { record: 0, row, column, negative }));
    let records = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    let mut values = vec![0.0_f64; pattern.entry_count() * 9];
    let mut single = vec![-1.0_f64; pattern.entry_count()];
    for node in 0..n as u32 {
        single[pattern.diagonal(node)] = 10.0;
    }
    let mut factor = Cholesky::<f64>::new(&pattern, 3).expect("a supported block");
    let mut plain = Cholesky::<f64>::new(&pattern, 1).expect("a supported block");
    let mut refined = Refined::new(&pattern).expect("a pattern of this size");
    let mut pcg = Pcg::<f64>::new(&pattern, PcgOptions::default());
    let inertia = vec![1.0; n];
    let mut x = vec![1.0; n * 3];

    let pick = |name, threads| AnyBackend::<f64>::by_name(name, threads).expect("built with default features");
    for on in [pick("scalar", None), pick("simd", None), pick("parallel", Some(2))] {
        plain.factor(&single, &on).expect("a dominant diagonal");
        let mut tiles = Tiles::new(&plain, &on).expect("blocks of one");
        let mut round = || {
            map.write(&inertia, &records, &mut values, &on).expect("lengths fit");
            factor.factor(&values, &on).expect("positive definite");
            factor.solve(&mut x, 1, &on).expect("lengths fit");
            plain.factor(&single, &on).expect("a dominant diagonal");
            tiles.refresh(&plain, &on).expect("the same pattern");
            tiles.solve(&mut x, &on).expect("lengths fit");
            refined.factor(&values, &on).expect("positive definite");
            refined.solve(&values, &mut x, 1, &on).expect("lengths fit");
            pcg.refresh(&values, &on).expect("positive definite");
            pcg.solve(&values, &mut x, &on).expect("positive definite");
        };
        // faer keeps packing buffers a thread: the first rounds make them.
        for _ in 0..20 {
            round();
        }
        let before = allocations::count();
        round();
        round();
        assert_eq!(allocations::count() - before, 0);
    }
}

/// Steps of every implicit method, with a change of the time step among them.
fn methods() {
    let cloth = Body::cloth(&ClothGrid::square(1.0, 20)).expect("a grid").with_mass(0.2).pinned([0, 19]);
    let cloth = cloth.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 1e-3);
    let (mut model, start) = Model::<f32>::build(&[&cloth.with_compliance(Role::Bend, 1e-2)]).expect("sound");
    model.environment.gravity = [0.0, -9.81, 0.0];
    let ball = Collider::sphere(0.3).at([0.5, -0.32, 0.6]).with_friction(0.4).with_restitution(0.1);
    model.colliders_mut().push(ball).expect("a sound collider");
    let projective = |acceleration| {
        let options = ProjectiveOptions { iterations: 4, acceleration, ..ProjectiveOptions::default() };
        f32::projective(Projective::new(options))
    };
    let schur = |form| {
        let options = XpbdOptions { substeps: 1, iterations: 2 };
        f32::schur(XpbdOn::new(options).with_form(form))
    };
    let newton = |linear, colliders| {
        let options = NewtonOptions { iterations: 5, linear, colliders, ..NewtonOptions::default() };
        f32::newton(Newton::new(options))
    };
    let energy = ColliderForm::Energy(Penalty::Buffered { stiffness: 1e3, buffer: 0.01 });
    let pick = |name, threads| AnyBackend::<f32>::by_name(name, threads).expect("built with default features");
    for on in [pick("scalar", None), pick("simd", None), pick("parallel", Some(2))] {
        for mut solver in [
            newton(LinearMethod::Direct, ColliderForm::Project),
            newton(LinearMethod::Direct, energy),
            newton(LinearMethod::Pcg(PcgOptions::default()), ColliderForm::Project),
            newton(LinearMethod::Pcg(PcgOptions::default()), energy),
            projective(Acceleration::None),
            projective(Acceleration::Chebyshev),
            projective(Acceleration::Anderson(3)),
            projective(Acceleration::Lbfgs(3)),
            schur(SchurForm::Position),
            schur(SchurForm::Accurate),
            schur(SchurForm::Velocity),
            schur(SchurForm::Kkt),
        ] {
            solver.prepare(&model).expect("springs");
            let mut particles = start.clone();
            let mut steps = |count: usize, dt: f32| {
                for _ in 0..count {
                    solver.step(&model, &mut particles, dt, &on).expect("a step");
                }
            };
            steps(10, 1.0 / 60.0);
            let before = allocations::count();
            steps(2, 1.0 / 60.0);
            steps(2, 1.0 / 90.0);
            let count = allocations::count() - before;
            assert_eq!(count, 0, "{} on {}: {count} allocations", solver.name(), on.name());
        }
    }
}
