//! Laws that hold for any scene: momentum, energy, limits of compliance, static loads that damping must not change.

use pliant::core::body::{Bending, Body, Role, Table};
use pliant::core::mesh::{ClothGrid, Split, icosphere, shuffled_sheet, tet_box};
use pliant_harness::instances::Instances;

use crate::common::Random;
use crate::run::Run;
use crate::scenes::{Method, range_net, soft_curtain};

const XPBD: Method = Method::Xpbd { substeps: 2, iterations: 2 };
const PBD: Method = Method::Pbd { substeps: 2, iterations: 2, stiffness: 1.0 };
const SYMPLECTIC: Method = Method::Symplectic { substeps: 2 };

type V = [f64; 3];

fn add(a: V, b: V) -> V {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn cross(a: V, b: V) -> V {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn norm(a: V) -> f64 {
    a.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// A free, compliant body for every internal kind: with nothing but that kind, where it can stand alone. Rigid hinges need
/// links beside them: a projection turns a wing along its tangent and so makes it longer.
fn internal_kinds() -> Vec<(&'static str, Body)> {
    let only = |mut body: Body, keep: fn(&mut Body)| {
        keep(&mut body);
        body
    };
    let cloth = Body::cloth(&ClothGrid::square(1.0, 6)).expect("a grid");
    let solid = Body::solid(&tet_box([2, 2, 1], [0.4, 0.4, 0.2], Split::Six).expect("a box")).expect("positive");
    let sheet = shuffled_sheet(6, 1.0, 3).expect("a sheet");
    let ball = icosphere(0.4, 1).expect("a ball");
    let hinged = |bending| Body::surface(&sheet, bending).expect("flat and manifold");
    let without_links: fn(&mut Body) = |body| body.tables_mut().distance = Table::default();
    let mut net = range_net(6);
    net = Body::particles(net.positions().to_vec()).with_masses(net.masses().to_vec()).with_range_rows_of(&mut net);
    vec![
        ("distance", cloth.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 1e-2)),
        ("distance range", net),
        ("tet volume", only(solid.with_compliance(Role::Volume, 1e-9), without_links)),
        ("dihedral", hinged(Bending::Dihedral).with_compliance(Role::Bend, 10.0)),
        ("isometric bending", hinged(Bending::Isometric).with_compliance(Role::Bend, 10.0)),
        (
            "balloon",
            only(Body::balloon(&ball, 1.0).expect("closed").with_compliance(Role::Volume, 1e-7), without_links),
        ),
    ]
    .into_iter()
    .map(|(kind, body)| (kind, soften(body)))
    .collect()
}

trait RangeRows {
    fn with_range_rows_of(self, other: &mut Body) -> Self;
}

impl RangeRows for Body {
    fn with_range_rows_of(mut self, other: &mut Body) -> Self {
        self.tables_mut().range = std::mem::take(&mut other.tables_mut().range);
        self
    }
}

/// Compliance for whatever is still rigid, so that explicit forces can carry it too.
fn soften(mut body: Body) -> Body {
    for alpha in &mut body.tables_mut().distance.compliance {
        *alpha = alpha.max(1e-3);
    }
    body
}

/// Spinning, drifting and shaken out of its rest shape.
fn disturbed(body: Body, seed: u64, shake: f64) -> Body {
    let mut random = Random::new(seed);
    let spin = [0.7, -0.4, 1.1];
    let velocities: Vec<V> =
        body.positions().iter().map(|&p| add(add(cross(spin, p), [0.3, -0.2, 0.5]), random.point(shake))).collect();
    let shifts: Vec<V> = body.positions().iter().map(|_| random.point(0.1 * shake)).collect();
    let places: Vec<(V, V)> = body.positions().iter().copied().zip(shifts).collect();
    let moved = move |p: V| places.iter().find(|(q, _)| *q == p).map_or(p, |(_, shift)| add(p, *shift));
    body.posed(moved).with_velocities(velocities)
}

/// Σ m v \[kg m/s\] and Σ x × m v \[kg m²/s\].
fn momenta<S: Instances>(run: &Run<S>, masses: &[f64]) -> (V, V) {
    let mut sums = ([0.0; 3], [0.0; 3]);
    for (i, m) in masses.iter().enumerate() {
        let p = run.particles.v.get(i).map(|v| v.to_f64() * m);
        sums = (add(sums.0, p), add(sums.1, cross(run.at(i), p)));
    }
    sums
}

fn weightless<S: Instances>(body: &Body, method: Method) -> Run<S> {
    let mut run = Run::new(&[body], method);
    run.model.environment.gravity = [S::ZERO; 3];
    run
}

/// A constraint's corrections add up to no momentum. What remains is rounding: a velocity is a difference of positions
/// over the substep h, so each particle errs by a few ε|x|/h a step.
fn keeps_linear_momentum<S: Instances>() {
    for (kind, body) in internal_kinds() {
        let body = disturbed(body, 11, 0.2);
        let mass: f64 = body.masses().iter().sum();
        for method in [XPBD, PBD, SYMPLECTIC] {
            if kind == "balloon" && method == SYMPLECTIC {
                continue;
            }
            let (steps, dt) = (100, if method == SYMPLECTIC { 1.0 / 4096.0 } else { 1.0 / 240.0 });
            let mut run = weightless::<S>(&body, method);
            let (start, _) = momenta(&run, body.masses());
            let mut extent: f64 = 1.0;
            for _ in 0..steps {
                let taken = run.try_step(dt);
                assert!(taken.is_ok(), "{kind}, {method:?}: {taken:?}");
                extent = run.particles.x.iter().flatten().fold(extent, |m, c| m.max(c.to_f64().abs()));
            }
            let (end, _) = momenta(&run, body.masses());
            let drift = norm([end[0] - start[0], end[1] - start[1], end[2] - start[2]]);
            // Ten roundings of a position a substep.
            let rounding = 10.0 * S::EPSILON.to_f64() * extent / (0.5 * dt);
            // Independent errors of n particles and k steps add up like √(n k), and mass/n each.
            let bound = rounding * mass * (f64::from(steps) / body.masses().len() as f64).sqrt() * 2.0;
            assert!(drift < bound, "{kind}, {method:?}, {}: drift {drift:e}, bound {bound:e}", S::NAME);
            assert!(norm(start) > 1e3 * bound || S::NAME == "f32", "the bound means something");
            let begun = weightless::<S>(&body, method);
            let bent = (1..body.masses().len()).map(|i| (run.distance(0, i) - begun.distance(0, i)).abs());
            assert!(bent.fold(0.0, f64::max) > 1e-4, "{kind}, {method:?}: nothing happened");
        }
    }
}

#[test]
fn linear_momentum_is_kept_in_double_precision() {
    keeps_linear_momentum::<f64>();
}

#[test]
fn linear_momentum_is_kept_in_single_precision() {
    keeps_linear_momentum::<f32>();
}

/// Jacobi divides every particle's correction by its own number of constraints, which keeps momentum only where all
/// particles have equally many: here a ring.
#[test]
fn jacobi_keeps_momentum_on_a_ring() {
    let count = 12_u32;
    let place = |i: u32| {
        let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / f64::from(count)).sin_cos();
        [cos, sin, 0.0]
    };
    let mut body = Body::particles((0..count).map(place)).with_masses((0..count).map(|i| 1.0 + f64::from(i % 3)));
    for i in 0..count {
        body.tables_mut().distance.push(Role::Stretch, 0, [i, (i + 1) % count], [0.4]);
    }
    let body = disturbed(body, 5, 0.3);
    let mut run = weightless::<f64>(&body, Method::Jacobi { substeps: 1, iterations: 5 });
    let (start, _) = momenta(&run, body.masses());
    for _ in 0..100 {
        run.step(1.0 / 60.0);
    }
    let (end, _) = momenta(&run, body.masses());
    assert!(norm(add(end, start.map(|c| -c))) < 1e-11 * norm(start), "{start:?} became {end:?}");
}

fn angular_drift(body: &Body, method: Method, dt: f64, seconds: f64) -> f64 {
    let mut run = weightless::<f64>(body, method);
    let (_, start) = momenta(&run, body.masses());
    for _ in 0..(seconds / dt).round() as usize {
        run.step(dt);
    }
    let (_, end) = momenta(&run, body.masses());
    norm(add(end, start.map(|c| -c))) / norm(start)
}

/// x⁺ × v⁺ = x × v⁺ and Σ x × f(x) = 0: symplectic Euler keeps angular momentum exactly.
#[test]
fn symplectic_euler_keeps_angular_momentum() {
    for (kind, body) in internal_kinds().into_iter().filter(|(kind, _)| *kind != "balloon") {
        let drift = angular_drift(&disturbed(body, 17, 0.2), SYMPLECTIC, 1.0 / 4096.0, 0.05);
        assert!(drift < 1e-11, "{kind}: {drift:e}");
    }
}

/// A projection exerts no torque about the positions it sees, but v = (x⁺ − x)/h mixes positions of two moments: like
/// backward Euler, L⁺ = L + h Σ m v⁺ × v. The loss is of first order: it halves with the step.
#[test]
fn angular_momentum_of_projections_is_kept_to_first_order() {
    for (kind, body) in internal_kinds() {
        // A smooth start: the rest shape in rigid rotation.
        let body = disturbed(body, 17, 0.0);
        for method in [XPBD, PBD] {
            let drift = [120.0, 480.0, 1920.0].map(|rate| angular_drift(&body, method, 1.0 / rate, 0.25));
            assert!(drift[0] < 0.05, "{kind}, {method:?}: {drift:?}");
            // A flat sheet of hinges alone stays flat: nothing pulls, and only rounding is left.
            let exact = drift.iter().all(|&d| d < 1e-10);
            assert!(exact || drift[2] < 0.35 * drift[1] && drift[1] < 0.35 * drift[0], "{kind}, {method:?}: {drift:?}");
        }
    }
}

/// A rigid dumbbell, one step: |x̂|² = r² + h²v², projected back to r, so L⁺/L = r/√(r² + h²v²), exactly.
#[test]
fn a_spinning_dumbbell_loses_what_theory_says() {
    let mut body = Body::particles([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    let body = body.with_velocities([[0.0, -2.0, 0.0], [0.0, 2.0, 0.0]]);
    let (h, r, v) = (0.01, 0.5_f64, 2.0);
    for method in
        [Method::Xpbd { substeps: 1, iterations: 1 }, Method::Pbd { substeps: 1, iterations: 1, stiffness: 1.0 }]
    {
        let mut run = weightless::<f64>(&body, method);
        let (_, start) = momenta(&run, body.masses());
        run.step(h);
        let (_, end) = momenta(&run, body.masses());
        let expected = r / (r * r + h * h * v * v).sqrt();
        assert!((end[2] / start[2] - expected).abs() < 1e-13, "{} instead of {expected}", end[2] / start[2]);
    }
}

/// C²/(2α) summed over the links plus ½ m v² \[J\].
fn energy(run: &Run<f64>, body: &Body) -> f64 {
    let links = &body.tables().distance;
    let stored: f64 = (links.ids.iter().zip(&links.parameters).zip(&links.compliance))
        .map(|((ids, rest), alpha)| (run.distance(ids[0] as usize, ids[1] as usize) - rest[0]).powi(2) / (2.0 * alpha))
        .sum();
    let moving = run.particles.v.iter().zip(body.masses()).map(|(v, m)| 0.5 * m * norm(v).powi(2));
    stored + moving.sum::<f64>()
}

/// XPBD dissipates like backward Euler: a shaken cloth without loads never has more energy than it began with.
#[test]
fn xpbd_does_not_create_energy() {
    let body = soft_curtain(10);
    let free = Body::cloth(&ClothGrid::square(1.0, 10)).expect("a grid").with_mass(0.2);
    let free =
        free.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 2e-3).with_compliance(Role::Bend, 1e-2);
    for (name, body) in [("pinned", &body), ("free", &free)] {
        let body = disturbed(body.clone().posed(|[x, y, z]| [1.1 * x, y, 0.95 * z]), 23, 0.5);
        for (substeps, iterations) in [(1, 1), (1, 10), (10, 1), (4, 4)] {
            let mut run = weightless::<f64>(&body, Method::Xpbd { substeps, iterations });
            let start = energy(&run, &body);
            let mut most: f64 = 0.0;
            for _ in 0..300 {
                run.step(1.0 / 60.0);
                most = most.max(energy(&run, &body) / start);
            }
            assert!(most < 1.0 + 1e-9, "{name}, {substeps} × {iterations}: {most} of the energy it began with");
            assert!(start > 1e-3 && energy(&run, &body) > 0.0, "it began with something and still moves");
        }
    }
}

/// α̃ = 0 makes XPBD's formula PBD's, bit by bit; and the difference falls in proportion to α.
#[test]
fn xpbd_becomes_pbd_as_compliance_vanishes() {
    let state = |alpha: f64, method: Method| {
        let mut body = soft_curtain(9);
        for role in [Role::Stretch, Role::Shear, Role::Bend] {
            body = body.with_compliance(role, alpha);
        }
        let mut run = Run::<f64>::new(&[&body], method);
        for _ in 0..20 {
            run.step(1.0 / 60.0);
        }
        run.particles
    };
    let counts = (3, 4);
    let pbd = state(1e-3, Method::Pbd { substeps: counts.0, iterations: counts.1, stiffness: 1.0 });
    let xpbd = |alpha| state(alpha, Method::Xpbd { substeps: counts.0, iterations: counts.1 });
    assert_eq!(xpbd(0.0).state_hash(), pbd.state_hash(), "PBD ignores compliance, XPBD without it is PBD");
    let apart = |alpha: f64| {
        let found = xpbd(alpha);
        found.x.iter().flatten().zip(pbd.x.iter().flatten()).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
    };
    let gaps = [1e-6, 1e-8, 1e-10].map(apart);
    assert!(gaps[0] > 1e-6, "compliance matters: {gaps:?}");
    assert!(gaps[1] < 0.05 * gaps[0] && gaps[2] < 0.05 * gaps[1] && gaps[2] < 1e-9, "{gaps:?}");
}

/// A mass on a spring hangs mg/k below its rest length, whatever damps it on the way. Damping applied after gravity would
/// scale the load.
#[test]
fn damping_does_not_change_static_loads() {
    let mut hung = Body::particles([[0.0; 3], [0.0, -1.0, 0.0]]).with_masses([0.0, 2.0]).pinned([0]);
    hung.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    let hung = hung.with_compliance(Role::Stretch, 1.0 / 400.0);
    let extension = 2.0 * 9.81 / 400.0;
    for method in [Method::Xpbd { substeps: 1, iterations: 1 }, Method::Xpbd { substeps: 5, iterations: 3 }, SYMPLECTIC]
    {
        for (drag, damping) in [(0.0, 10.0), (3.0, 0.0), (8.0, 20.0), (0.0, 60.0)] {
            let body = hung.clone().with_damping(Role::Stretch, damping);
            let mut run = Run::<f64>::new(&[&body], method);
            run.model.environment.damping = drag;
            let mut lowest: f64 = 0.0;
            for _ in 0..4000 {
                run.step(1.0 / 120.0);
                lowest = lowest.max(-run.particles.x.y[1] - 1.0);
            }
            let found = -run.particles.x.y[1] - 1.0;
            assert!((found - extension).abs() < 1e-9, "{method:?}, drag {drag}, damping {damping}: {found}");
        }
    }
}

/// Damping does damp: each kind of it takes energy out of a swing faster than the method alone.
#[test]
fn damping_takes_energy_out() {
    let mut body = Body::particles([[0.0; 3], [1.3, 0.0, 0.0]]).with_masses([0.0, 1.0]).pinned([0]);
    body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
    let body = body.with_compliance(Role::Stretch, 0.01);
    for method in [Method::Xpbd { substeps: 20, iterations: 1 }, Method::Symplectic { substeps: 20 }] {
        let left = |drag: f64, damping: f64| {
            let body = body.clone().with_damping(Role::Stretch, damping);
            let mut run = weightless::<f64>(&body, method);
            run.model.environment.damping = drag;
            let mut late: f64 = 0.0;
            for step in 0..120 {
                run.step(1.0 / 60.0);
                late = if step > 80 { late.max((run.particles.x.x[1] - 1.0).abs()) } else { 0.0 };
            }
            late
        };
        let (none, drag, damped) = (left(0.0, 0.0), left(2.0, 0.0), left(0.0, 2.0));
        // x ~ e^(−βt/2m): at t ≈ 1.4 to 2 s a rate of 2/s leaves about a quarter to an eighth.
        assert!(drag < 0.4 * none && damped < 0.4 * none, "{method:?}: {none}, {drag}, {damped}");
        assert!((drag / damped - 1.0).abs() < 0.1, "both rates are 2/s: {drag}, {damped}");
    }
}
