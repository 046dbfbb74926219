//! Steps that cannot be taken: an error, and the state bit for bit as it was. And odd input that must work.

use pliant::core::body::{Body, Role};
use pliant::core::columns::{Columns, Particles};
use pliant::core::error::{BuildError, StepError};
use pliant::core::wind::Wind;

use crate::run::{Run, free};
use crate::scenes::{Method, curtain, dust, soft_curtain, weighted_rope};

const SOLVERS: [Method; 4] = [
    Method::Xpbd { substeps: 2, iterations: 2 },
    Method::Pbd { substeps: 2, iterations: 2, stiffness: 1.0 },
    Method::Jacobi { substeps: 2, iterations: 2 },
    Method::Symplectic { substeps: 2 },
];

fn bits(particles: &Particles<f64>) -> Vec<u64> {
    particles.x.axes().into_iter().chain(particles.v.axes()).flatten().map(|v| v.to_bits()).collect()
}

/// The step fails, and the state is as it was; then it works again once the cause is gone.
fn fails(run: &mut Run<f64>, dt: f64) -> StepError {
    let before = bits(&run.particles);
    let error = run.try_step(dt).expect_err("the step must fail");
    assert_eq!(bits(&run.particles), before, "{error}: the state changed");
    error
}

#[test]
fn time_steps_are_checked() {
    for method in SOLVERS {
        let mut run = Run::<f64>::new(&[&soft_curtain(4)], method);
        for dt in [0.0, -0.0, -1e-3, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-12, 1.5, 1e6, f64::MAX] {
            let StepError::BadTimeStep { dt: named, .. } = fails(&mut run, dt) else { panic!("{method:?}, {dt}") };
            assert!(named == dt || named.is_nan() && dt.is_nan());
        }
        let text = fails(&mut run, 1e-12).to_string();
        assert_eq!(text, "the time step is 0.000000000001 s; expected more than 0.000000001 s and at most 1 s");
        run.step(1e-4);
    }
}

#[test]
fn a_solver_must_be_prepared_for_the_model_it_steps() {
    for method in SOLVERS {
        let mut run = Run::<f64>::new(&[&soft_curtain(4)], method);
        run.solver = method.solver();
        assert_eq!(fails(&mut run, 1e-4), StepError::NotPrepared);

        // Another number of particles.
        let mut run = Run::<f64>::new(&[&soft_curtain(4)], method);
        let other = Run::<f64>::new(&[&soft_curtain(5)], method);
        (run.model, run.particles) = (other.model, other.particles);
        assert_eq!(fails(&mut run, 1e-4), StepError::NotPrepared);

        // A state of another size.
        let mut run = Run::<f64>::new(&[&soft_curtain(4)], method);
        run.particles.v.push([0.0; 3]);
        assert!(matches!(fails(&mut run, 1e-4), StepError::WrongState { expected: 16, .. }));
        run.particles.x.push([0.0; 3]);
        assert_eq!(fails(&mut run, 1e-4), StepError::WrongState { found: 17, expected: 16 });
    }
}

/// As many particles but other constraints: still another model, and never a panic.
#[test]
fn a_solver_prepared_for_another_model_of_the_same_size_says_so() {
    let rope = || weighted_rope(15).with_compliance(Role::Stretch, 1e-4);
    let longer = || rope().attached(3, [0.0; 3], 1e-3);
    let mut wrong = Vec::new();
    for method in SOLVERS {
        for (case, prepared, stepped) in [
            ("without constraints", rope(), free(16)),
            ("with more constraints", rope(), longer()),
            ("with other masses", rope(), rope().with_masses([1.0; 16])),
        ] {
            let mut run = Run::<f64>::new(&[&prepared], method);
            let other = Run::<f64>::new(&[&stepped], method);
            (run.model, run.particles) = (other.model, other.particles);
            let step = std::panic::AssertUnwindSafe(|| run.try_step(1e-4));
            match std::panic::catch_unwind(step) {
                Ok(Err(StepError::NotPrepared)) => {}
                Ok(result) => wrong.push(format!("{method:?}, a model {case}: {result:?}")),
                Err(_) => wrong.push(format!("{method:?}, a model {case}: panicked")),
            }
        }
    }
    assert!(wrong.is_empty(), "instead of NotPrepared:\n{}", wrong.join("\n"));
}

#[test]
fn environments_are_checked() {
    for method in SOLVERS {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut run = Run::<f64>::new(&[&soft_curtain(4)], method);
            run.model.environment.gravity[2] = bad;
            assert!(matches!(fails(&mut run, 1e-4), StepError::NotFinite { what: "gravity axis", row: 2, .. }));
            run.model.environment.gravity[2] = 0.0;

            run.model.environment.damping = bad;
            assert!(matches!(fails(&mut run, 1e-4), StepError::NotFinite { what: "damping", .. }));
            run.model.environment.damping = 0.0;

            let calm = Wind { velocity: [0.0; 3], density: 1.2, drag: 1.0, lift: 0.0 };
            for wind in [
                Wind { velocity: [0.0, bad, 0.0], ..calm },
                Wind { density: bad, ..calm },
                Wind { drag: bad, ..calm },
                Wind { lift: bad, ..calm },
            ] {
                run.model.environment.wind = Some(wind);
                assert!(matches!(fails(&mut run, 1e-4), StepError::NotFinite { what: "wind value", .. }));
            }
            run.model.environment.wind = None;

            let mut forces = Columns::zeros(16);
            forces.set(5, [0.0, bad, 0.0]);
            run.model.environment.forces = Some(forces);
            assert!(matches!(fails(&mut run, 1e-4), StepError::NotFinite { what: "force", row: 5, .. }));
            run.model.environment.forces = None;
            run.step(1e-4);
        }
        let mut run = Run::<f64>::new(&[&soft_curtain(4)], method);
        run.model.environment.damping = -1.0;
        assert_eq!(fails(&mut run, 1e-4).to_string(), "damping is -1; it must be 0 or more");
        run.model.environment.damping = 0.0;
        run.model.environment.forces = Some(Columns::zeros(15));
        assert_eq!(fails(&mut run, 1e-4), StepError::WrongState { found: 15, expected: 16 });
        // One component is missing; lists are public.
        let mut forces = Columns::zeros(16);
        forces.z.pop();
        run.model.environment.forces = Some(forces);
        let (axis, found, expected) = ('z', 15, 16);
        assert_eq!(fails(&mut run, 1e-4), StepError::Ragged { what: "force", axis, found, expected });
        run.model.environment.forces = None;
        run.particles.v.y.push(0.0);
        let (axis, found) = ('y', 17);
        assert_eq!(fails(&mut run, 1e-4), StepError::Ragged { what: "velocity", axis, found, expected });
        run.particles.v.y.pop();
        run.particles.x.z.pop();
        let (axis, found) = ('z', 15);
        assert_eq!(fails(&mut run, 1e-4), StepError::Ragged { what: "position", axis, found, expected });
    }
}

/// Every way to put a number that is not finite into a particle's state, and what came of it if not an error naming it.
fn accepted_states(particle: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    for method in SOLVERS {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for what in ["position", "velocity"] {
                let mut run = Run::<f64>::new(&[&soft_curtain(4)], method);
                let sound = run.particles.clone();
                let columns = if what == "position" { &mut run.particles.x } else { &mut run.particles.v };
                columns.y[particle] = bad;
                let before = bits(&run.particles);
                match run.try_step(1e-4) {
                    Err(StepError::NotFinite { what: named, row, .. }) if named == what && row == particle => {
                        assert_eq!(bits(&run.particles), before, "{method:?}: the state changed");
                    }
                    other => wrong.push(format!("{method:?}, {what} {particle} = {bad}: {other:?}")),
                }
                run.particles = sound;
                run.step(1e-4);
            }
        }
    }
    wrong
}

#[test]
fn states_that_are_not_finite_are_named() {
    let wrong = accepted_states(5);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A pin's state is input like any other: no silent fix.
#[test]
fn states_of_pins_that_are_not_finite_are_named() {
    let wrong = accepted_states(0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn targets_are_checked() {
    let mut run = Run::<f64>::new(&[&soft_curtain(4).attached(9, [0.0; 3], 1e-3)], SOLVERS[0]);
    for bad in [f64::NAN, f64::INFINITY] {
        let error = run.model.move_pin(3, [0.0, bad, 0.0]).expect_err("not finite");
        assert!(matches!(error, BuildError::BadValue { what: "pin", row: 1, .. }), "{error:?}");
        let error = run.model.move_attachment(0, [bad, 0.0, 0.0]).expect_err("not finite");
        assert!(matches!(error, BuildError::BadValue { what: "attachment", row: 0, .. }), "{error:?}");
    }
    assert_eq!(run.model.move_pin(5, [0.0; 3]), Err(BuildError::NotPinned { particle: 5 }));
    assert_eq!(run.model.move_pin(99, [0.0; 3]), Err(BuildError::NotPinned { particle: 99 }));
    let (what, row, count) = ("attachment", 1, 1);
    assert_eq!(run.model.move_attachment(row, [0.0; 3]), Err(BuildError::NoSuchRow { what, row, count }));
    run.step(1.0 / 60.0);
    // Finite, but out of all proportion.
    run.model.move_pin(3, [0.0, 1e30, 0.0]).expect("finite");
    assert!(matches!(fails(&mut run, 1.0 / 60.0), StepError::Diverged { .. }));
    run.model.move_pin(3, [1.0, 0.0, 0.0]).expect("finite");
    run.step(1.0 / 60.0);
}

/// A push too strong for anything: every method reports divergence, names the particle, and hands the state back untouched.
#[test]
fn divergence_leaves_the_state_bit_identical_on_every_solver() {
    for method in SOLVERS {
        let mut run = Run::<f64>::new(&[&soft_curtain(7), &dust(2)], method);
        for _ in 0..3 {
            run.step(1.0 / 2048.0);
        }
        let mut forces = Columns::zeros(51);
        forces.set(50, [0.0, 1e16, 0.0]);
        run.model.environment.forces = Some(forces);
        let error = fails(&mut run, 1.0 / 2048.0);
        let named = matches!(error, StepError::Diverged { particle: 50, value, .. } if value >= 1e9);
        assert!(named, "{method:?}: {error:?}");
        // The same solver goes on as if nothing had happened: the bits of one that never saw the push.
        run.model.environment.forces = None;
        let mut calm = Run::<f64>::new(&[&soft_curtain(7), &dust(2)], method);
        for _ in 0..3 {
            calm.step(1.0 / 2048.0);
        }
        for _ in 0..3 {
            run.step(1.0 / 2048.0);
            calm.step(1.0 / 2048.0);
        }
        assert_eq!(bits(&run.particles), bits(&calm.particles), "{method:?}: the failed step left a trace");
    }
}

#[test]
fn everything_pinned_stays_where_it_is() {
    for method in SOLVERS {
        let body = soft_curtain(5).pinned(0..25).posed(|[x, y, z]| [1.2 * x, y + 0.1 * x, z]);
        let mut run = Run::<f64>::new(&[&body], method);
        run.model.environment.wind = Some(Wind { velocity: [3.0; 3], density: 1.2, drag: 1.0, lift: 0.5 });
        let before = bits(&run.particles);
        for _ in 0..20 {
            run.step(1.0 / 60.0);
        }
        assert_eq!(bits(&run.particles), before, "{method:?}");
    }
}

/// A spring of rest length zero pulls its ends together, also when they already are.
#[test]
fn a_spring_of_rest_length_zero_works() {
    for method in SOLVERS {
        for apart in [0.3, 0.0] {
            let mut body = Body::particles([[0.0; 3], [apart, 0.0, 0.0]]);
            body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [0.0]);
            let mut run = Run::<f64>::new(&[&body.with_compliance(Role::Stretch, 1e-2)], method);
            run.model.environment.damping = 10.0;
            for _ in 0..600 {
                run.step(1.0 / 120.0);
            }
            assert!(run.distance(0, 1) < 1e-3, "{method:?}: still {} m apart", run.distance(0, 1));
        }
    }
}

/// Ends so close that the square of their distance underflows have no direction: nothing may be kicked away.
#[test]
fn nearly_coincident_ends_are_not_kicked_away() {
    for gap in [0.0_f64, 1e-45, 1e-38, 1e-30, 1e-26, 1e-24, 1e-23, 1e-22, 1e-20, 1e-10] {
        // One pass: a second one would bring back what the first threw away.
        let pbd = Method::Pbd { substeps: 1, iterations: 1, stiffness: 1.0 };
        for method in [Method::Xpbd { substeps: 1, iterations: 1 }, pbd] {
            let mut body = Body::particles([[0.0; 3], [gap, 0.0, 0.0]]);
            body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [0.1]);
            let mut run = Run::<f32>::new(&[&body], method);
            run.model.environment.gravity = [0.0; 3];
            run.step(1.0 / 60.0);
            let reach = run.particles.x.iter().flatten().fold(0.0_f32, |m, c| m.max(c.abs()));
            assert!(reach <= 0.11, "{method:?}: ends {gap} m apart were thrown {reach} m far");
        }
    }
}

#[test]
fn particles_without_constraints_and_single_particles_fall() {
    for method in SOLVERS {
        let mut run = Run::<f64>::new(&[&free(1)], method);
        run.step(1.0 / 60.0);
        assert!(run.at(0)[1] < 0.0);
        // In company: the curtain does not care.
        let mut pair = Run::<f64>::new(&[&soft_curtain(5), &free(1)], method);
        let mut alone = Run::<f64>::new(&[&soft_curtain(5)], method);
        for _ in 0..30 {
            pair.step(1.0 / 2048.0);
            alone.step(1.0 / 2048.0);
        }
        assert!(pair.at(25)[1] < -1e-4);
        for i in 0..25 {
            let gap = (0..3).map(|k| (pair.at(i)[k] - alone.at(i)[k]).abs()).fold(0.0, f64::max);
            assert!(gap < 1e-3, "{method:?}: particle {i} is {gap} m off");
        }
    }
}

#[test]
fn two_disconnected_pieces_do_not_feel_each_other() {
    for method in [SOLVERS[0], SOLVERS[1]] {
        let mut body = curtain(4);
        // The same body twice in one table: ids 0–15 and 16–31.
        let copies: Vec<[f64; 3]> = body.positions().iter().chain(body.positions()).copied().collect();
        let masses: Vec<f64> = body.masses().iter().chain(body.masses()).copied().collect();
        let mut twice = Body::particles(copies).with_masses(masses).pinned([0, 3]);
        let rows = std::mem::take(&mut body.tables_mut().distance);
        for shift in [0, 16] {
            for (ids, rest) in rows.ids.iter().zip(&rows.parameters) {
                twice.tables_mut().distance.push(Role::Stretch, 0, ids.map(|p| p + shift), *rest);
            }
        }
        let mut run = Run::<f64>::new(&[&twice], method);
        for _ in 0..60 {
            run.step(1.0 / 60.0);
        }
        // The first hangs on its pins, the second falls freely and keeps its shape.
        assert!(run.at(5)[1] > -1.2 && run.at(16)[1] < -4.5, "{method:?}: {:?} {:?}", run.at(5), run.at(16));
        assert!((run.distance(16, 19) - 1.0).abs() < 1e-9, "{method:?}: {}", run.distance(16, 19));
    }
}
