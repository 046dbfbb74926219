//! What each kind of constraint and load does: wind, balloons, tets, tethers, ranges, attachments, moving pins.

use pliant::core::body::{Body, Role, Table};
use pliant::core::kinds::DistanceRange;
use pliant::core::mesh::{ClothGrid, Split, TriMesh, icosphere, tet_box};
use pliant::core::wind::Wind;

use crate::common::Random;
use crate::run::Run;
use crate::scenes::{Method, curtain, soft_curtain};

const XPBD: Method = Method::Xpbd { substeps: 4, iterations: 1 };
const PBD: Method = Method::Pbd { substeps: 4, iterations: 1, stiffness: 1.0 };
const JACOBI: Method = Method::Jacobi { substeps: 4, iterations: 2 };
const SYMPLECTIC: Method = Method::Symplectic { substeps: 4 };

fn wind(velocity: [f64; 3]) -> Option<Wind<f64>> {
    Some(Wind { velocity, density: 1.2, drag: 1.1, lift: 0.4 })
}

/// A plate across the wind: all its particles feel the same acceleration a = ½ρ C_D (W − v)²/σ, σ the mass per area.
#[test]
fn a_free_plate_follows_the_drag_equation_towards_the_wind_velocity() {
    let sigma = 0.3;
    let plate = Body::cloth(&ClothGrid::square(1.0, 7)).expect("a grid").with_mass(sigma);
    let roles = [Role::Stretch, Role::Shear, Role::Bend];
    let plate = roles.into_iter().fold(plate, |body, role| body.with_compliance(role, 0.1));
    for method in [XPBD, PBD, SYMPLECTIC] {
        let mut run = Run::<f64>::new(&[&plate], method);
        run.model.environment.gravity = [0.0; 3];
        run.model.environment.wind = wind([0.0, 5.0, 0.0]);
        let (mut v, mut y) = (0.0_f64, 0.0);
        for step in 0..600 {
            run.step(1.0 / 60.0);
            for _ in 0..4 {
                let h = 1.0 / 240.0;
                v += h * 0.5 * 1.2 * 1.1 * (5.0 - v).powi(2) / sigma;
                y += h * v;
            }
            let height = run.particles.x.y.iter().map(|found| (found - y).abs()).fold(0.0, f64::max);
            assert!(height < 1e-9, "{method:?}, step {step}: off by {height} m");
        }
        // u = u₀/(1 + k u₀ t), k = ½ρC_D/σ: after 10 s 99 % of the wind's speed, and never more.
        let u = 5.0 / (1.0 + 0.5 * 1.2 * 1.1 / sigma * 5.0 * 10.0);
        assert!((run.particles.v.y[24] - (5.0 - u)).abs() < 1e-3 && run.particles.v.y[24] < 5.0, "{method:?}");
    }
}

/// A falling plate stops accelerating at ½ρ C_D v² = σ g.
#[test]
fn a_falling_plate_reaches_its_terminal_speed() {
    let plate = Body::cloth(&ClothGrid::square(1.0, 5)).expect("a grid").with_mass(0.3);
    let mut run = Run::<f64>::new(&[&plate], XPBD);
    run.model.environment.wind = wind([0.0; 3]);
    for _ in 0..300 {
        run.step(1.0 / 60.0);
    }
    let terminal = (2.0 * 0.3 * 9.81 / (1.2 * 1.1_f64)).sqrt();
    for v in &run.particles.v.y {
        assert!((v + terminal).abs() < 1e-6, "{v} instead of {terminal}");
    }
}

/// A flag is blown down the wind, and the stronger wind blows it farther.
#[test]
fn a_flag_blows_down_the_wind() {
    let mut last = 0.0;
    for speed in [0.0, 1.0, 3.0] {
        let mut run = Run::<f64>::new(&[&soft_curtain(9)], Method::Xpbd { substeps: 10, iterations: 1 });
        run.model.environment.wind = wind([0.0, 0.0, -speed]);
        run.model.environment.damping = 1.0;
        let mut mean = 0.0;
        for step in 0..240 {
            run.step(1.0 / 60.0);
            if step >= 120 {
                mean -= run.particles.x.z.iter().sum::<f64>() / 81.0 / 120.0;
            }
        }
        assert!(speed == 0.0 || mean > last + 0.02, "{speed} m/s: {mean} m, less wind: {last} m");
        last = mean;
    }
}

/// A force on every particle is a load like gravity: f = m g up keeps it in place.
#[test]
fn forces_balance_gravity() {
    for method in [XPBD, PBD, JACOBI, SYMPLECTIC] {
        let mut run = Run::<f64>::new(&[&Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).with_masses([0.5, 2.0])], method);
        run.model.environment.forces = Some([[0.0, 0.5 * 9.81, 0.0], [0.0, 0.0, 2.0]].into_iter().collect());
        for _ in 0..60 {
            run.step(1.0 / 60.0);
        }
        assert!(run.at(0)[1].abs() < 1e-12, "{method:?}: held against gravity");
        // a = f/m = 1 m/s² for 1 s, 240 substeps of Euler: ½ a t² (1 + 1/240).
        assert!((run.at(1)[2] - 0.5 * (1.0 + 1.0 / 240.0)).abs() < 1e-12, "{method:?}: {:?}", run.at(1));
    }
}

fn enclosed(run: &Run<f64>, triangles: &[[u32; 3]]) -> f64 {
    let points: Vec<[f64; 3]> = run.particles.x.iter().collect();
    TriMesh::new(points, triangles.iter().copied()).and_then(|mesh| mesh.volume()).expect("still a closed surface")
}

/// The global constraint C = V − inflation · V₀ holds up to what the links, solved after it, take back.
#[test]
fn a_balloon_holds_its_volume() {
    for (inflation, squash) in [(1.0, 0.7), (1.3, 1.0), (0.8, 1.0)] {
        let mesh = icosphere(0.3, 2).expect("a ball");
        let target = inflation * mesh.volume().expect("closed");
        let body = Body::balloon(&mesh, inflation).expect("closed").with_mass(0.05);
        let body = body.with_compliance(Role::Stretch, 1e-2).with_compliance(Role::Bend, 1e-1);
        let mut run = Run::<f64>::new(&[&body], Method::Xpbd { substeps: 30, iterations: 3 });
        run.model.environment.gravity = [0.0; 3];
        run.model.environment.damping = 2.0;
        // Squeezed after the model was built: the rest volume stays that of the sphere.
        run.particles.x.y.iter_mut().for_each(|y| *y *= squash);
        for _ in 0..240 {
            run.step(1.0 / 60.0);
        }
        let ratio = enclosed(&run, body.triangles()) / target;
        assert!((ratio - 1.0).abs() < 1e-3, "inflated to {inflation}: {ratio} of its volume");
        let pressure = run.forces("balloon")[0];
        assert!(inflation == 1.0 || (pressure > 0.0) == (inflation > 1.0), "pressure {pressure} Pa");
    }
}

/// α in m³/Pa: a compliant balloon gives way, and its pressure is (V₀ − V)/α.
#[test]
fn a_compliant_balloon_obeys_its_gas_law() {
    let (mesh, alpha) = (icosphere(0.3, 2).expect("a ball"), 1e-5);
    let target = 1.5 * mesh.volume().expect("closed");
    let body = Body::balloon(&mesh, 1.5).expect("closed").with_mass(0.05).with_compliance(Role::Volume, alpha);
    let body = body.with_compliance(Role::Stretch, 0.1).with_compliance(Role::Bend, 1.0);
    let mut run = Run::<f64>::new(&[&body], Method::Xpbd { substeps: 4, iterations: 60 });
    run.model.environment.gravity = [0.0; 3];
    run.model.environment.damping = 5.0;
    for _ in 0..300 {
        run.step(1.0 / 60.0);
    }
    let volume = enclosed(&run, body.triangles());
    let pressure = run.forces("balloon")[0];
    assert!(volume < 0.999 * target, "the skin squeezes the gas: {}", volume / target);
    let law = (target - volume) / alpha;
    assert!((pressure / law - 1.0).abs() < 1e-3, "{pressure} Pa instead of {law}");
}

/// A pose changes where a body starts, not what it wants to be: a balloon posed flat swells to the sphere's volume.
#[test]
fn posing_a_balloon_does_not_change_its_rest_volume() {
    let mesh = icosphere(0.3, 1).expect("a ball");
    let target = mesh.volume().expect("closed");
    let body = Body::balloon(&mesh, 1.0).expect("closed").posed(|[x, y, z]| [x, 0.5 * y, z]);
    let run = Run::<f64>::new(&[&body], XPBD);
    let held = run.model.constraints().balloons[0].volume;
    assert!((held / target - 1.0).abs() < 1e-12, "holds {held} m³, the rest shape has {target}");
}

/// PBD projects every tet back to its rest volume.
#[test]
fn tets_keep_their_volumes() {
    let mesh = tet_box([3, 2, 2], [0.3, 0.2, 0.2], Split::Five).expect("a box");
    let mut random = Random::new(31);
    let mut body = Body::solid(&mesh).expect("positive volumes");
    body.tables_mut().distance = Table::default();
    let rest: Vec<f64> = body.tables().tet_volume.parameters.iter().map(|p| p[0]).collect();
    let tets = body.tables().tet_volume.ids.clone();
    let mut run = Run::<f64>::new(&[&body], Method::Pbd { substeps: 1, iterations: 60, stiffness: 1.0 });
    let count = run.particles.len();
    for i in 0..count {
        let shift = random.point(0.02);
        let at = run.particles.x.get(i);
        run.particles.x.set(i, [at[0] + shift[0], at[1] + shift[1], at[2] + shift[2]]);
    }
    let worst = |run: &Run<f64>| {
        let error = |(tet, rest): (&[u32; 4], &f64)| {
            let [o, a, b, c] = tet.map(|p| run.at(p as usize));
            let edge = |p: [f64; 3]| [p[0] - o[0], p[1] - o[1], p[2] - o[2]];
            let (a, b, c) = (edge(a), edge(b), edge(c));
            let n = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
            ((n[0] * c[0] + n[1] * c[1] + n[2] * c[2]) / 6.0 / rest - 1.0).abs()
        };
        tets.iter().zip(&rest).map(error).fold(0.0, f64::max)
    };
    assert!(worst(&run) > 0.2, "shaken out of shape");
    for _ in 0..60 {
        run.step(1.0 / 240.0);
    }
    assert!(worst(&run) < 5e-3, "a tet is off by {}", worst(&run));
}

/// No particle may be farther from a pin than its way along the cloth at rest, times 1 + slack.
#[test]
fn tethers_limit_the_reach() {
    let n = 20;
    let reach = |body: &Body| {
        let mut run = Run::<f64>::new(&[body], Method::Xpbd { substeps: 2, iterations: 1 });
        let mut worst: f64 = 0.0;
        for step in 0..240 {
            run.step(1.0 / 60.0);
            for i in (0..n * n).filter(|_| step > 60) {
                let rest = |pin: usize| {
                    let (a, b) = (body.positions()[i], body.positions()[pin]);
                    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
                };
                for pin in [0, n - 1].into_iter().filter(|&pin| pin != i) {
                    worst = worst.max(run.distance(i, pin) / rest(pin));
                }
            }
        }
        worst
    };
    let (loose, tight) = (reach(&curtain(n)), reach(&curtain(n).with_tethers(0.02)));
    // Links are solved after tethers and take a little of their work back.
    assert!(loose > 1.15 && tight < 1.07, "reach {loose} without tethers, {tight} with tethers of 2 % slack");
}

/// The rest distance, not the pose, limits the reach: a cloth posed wider or narrower has the same tethers.
#[test]
fn tethers_do_not_depend_on_the_pose() {
    let lengths = |scale: f64| {
        let body = curtain(6).with_tethers(0.0).posed(|p| p.map(|c| scale * c));
        Run::<f64>::new(&[&body], XPBD).model.constraints().tether.parameters()[3].clone()
    };
    let rest = lengths(1.0);
    assert!(rest.len() > 30);
    for scale in [0.95, 1.5] {
        for (found, rest) in lengths(scale).into_iter().zip(&rest) {
            // Paths along links are up to 8.2 % longer than the straight line, never shorter.
            assert!((0.999..1.09).contains(&(found / rest)), "posed {scale} times as wide: {found} instead of {rest}");
        }
    }
}

/// Two particles of 1 kg, the first pinned, joined by one range; the force λ/h² on the second at this distance \[N\].
fn range_force(bounds: [f64; 3], distance: f64, iterations: usize) -> f64 {
    let mut body = Body::particles([[0.0; 3], [distance, 0.0, 0.0]]).with_masses([0.0, 1e6]).pinned([0]);
    body.tables_mut().range.push(Role::Stretch, 0, [0, 1], bounds);
    // So heavy that it hardly moves in a step: λ/h² is the force −C ∇C/α at the distance given.
    let body = body.with_compliance(Role::Stretch, 1e-3);
    let mut run = Run::<f64>::new(&[&body], Method::Xpbd { substeps: 1, iterations });
    run.model.environment.gravity = [0.0; 3];
    run.step(1e-3);
    let scale = if distance < bounds[0] { bounds[2] } else { 1.0 };
    run.forces("distance range")[0] * scale
}

#[test]
fn range_variants_pull_and_push_as_named() {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-3 * b.abs().max(1.0);
    for iterations in [1, 5] {
        let force = |bounds, distance| range_force(bounds, distance, iterations);
        // k = 1000 N/m throughout; tension is negative.
        assert!(close(force(DistanceRange::equality(1.0), 1.1), -100.0));
        assert!(close(force(DistanceRange::equality(1.0), 0.9), 100.0));
        assert!(close(force(DistanceRange::tension_only(1.0), 1.1), -100.0));
        assert_eq!(force(DistanceRange::tension_only(1.0), 0.9), 0.0, "a rope goes slack");
        assert!(close(force(DistanceRange::soft_compression(1.0, 0.25), 1.1), -100.0));
        assert!(close(force(DistanceRange::soft_compression(1.0, 0.25), 0.9), 25.0), "a quarter of the stiffness");
        for inside in [0.91, 1.0, 1.09] {
            assert_eq!(force(DistanceRange::dead_zone(1.0, 0.1), inside), 0.0, "no force inside the dead zone");
        }
        assert!(close(force(DistanceRange::dead_zone(1.0, 0.1), 1.3), -200.0));
        assert!(close(force(DistanceRange::range(0.8, 1.2), 0.7), 100.0));
    }
}

/// A ball on a tension-only link falls freely until the link is taut, then hangs on it.
#[test]
fn a_slack_rope_lets_fall_and_then_holds() {
    for method in [XPBD, PBD, JACOBI] {
        let mut body = Body::particles([[0.0; 3], [0.0, -0.2, 0.0]]).pinned([0]);
        body.tables_mut().range.push(Role::Stretch, 0, [0, 1], DistanceRange::tension_only(1.0));
        let mut run = Run::<f64>::new(&[&body], method);
        for step in 1..=18 {
            run.step(1.0 / 60.0);
            let k = f64::from(4 * step);
            let fallen = 9.81 / (240.0 * 240.0) * 0.5 * k * (k + 1.0);
            assert!((run.at(1)[1] + 0.2 + fallen).abs() < 1e-12, "{method:?}: falls freely at step {step}");
        }
        for _ in 0..600 {
            run.step(1.0 / 60.0);
        }
        assert!((run.at(1)[1] + 1.0).abs() < 1e-3, "{method:?}: hangs at {:?}", run.at(1));
    }
}

/// An attachment pulls its particle after its target: at rest it lags m g α below it, on every solver.
fn lag_behind_target(method: Method) -> [f64; 3] {
    let body = Body::particles([[0.0; 3]]).with_masses([0.5]).attached(0, [0.0; 3], 1e-3);
    let mut run = Run::<f64>::new(&[&body], method);
    run.model.environment.damping = 5.0;
    for step in 0..1200 {
        let t = f64::from(step.min(120)) / 120.0;
        run.model.move_attachment(0, [t, 2.0 * t, -t]).expect("finite");
        run.step(1.0 / 120.0);
    }
    let at = run.at(0);
    [at[0] - 1.0, at[1] - 2.0, at[2] + 1.0]
}

fn check_attachment(method: Method) {
    let sag = if matches!(method, Method::Xpbd { .. } | Method::Symplectic { .. }) { 0.5 * 9.81 * 1e-3 } else { 0.0 };
    let [x, y, z] = lag_behind_target(method);
    // PBD hangs g h² below a rigid attachment that it projects once and then lets fall.
    assert!(x.abs() < 1e-3 && (y + sag).abs() < 1e-3 && z.abs() < 1e-3, "{method:?}: {x} {y} {z} off its target");
}

#[test]
fn xpbd_attachments_follow_their_targets() {
    check_attachment(XPBD);
}

#[test]
fn pbd_attachments_follow_their_targets() {
    check_attachment(PBD);
}

#[test]
fn jacobi_attachments_follow_their_targets() {
    check_attachment(JACOBI);
}

#[test]
fn symplectic_attachments_follow_their_targets() {
    check_attachment(SYMPLECTIC);
}

/// A pin arrives exactly and in a straight line: its velocity in the last substep is the whole way over the whole step.
#[test]
fn pins_travel_straight_and_arrive_exactly() {
    for method in [XPBD, PBD, JACOBI, SYMPLECTIC] {
        let mut run = Run::<f64>::new(&[&soft_curtain(5)], method);
        let home = run.at(0);
        let (dt, targets) = (1.0 / 2048.0, [[0.001, 0.0007, -0.0003], [0.0003, -0.0001, 0.0002], [0.0; 3]]);
        let mut from = home;
        for shift in targets {
            let to = [home[0] + shift[0], home[1] + shift[1], home[2] + shift[2]];
            run.model.move_pin(0, to).expect("a pin");
            run.step(dt);
            assert_eq!(run.at(0), to, "{method:?}: arrives to the bit");
            assert_eq!(run.at(4), [1.0, 0.0, 0.0], "{method:?}: the other pin stays");
            for k in 0..3 {
                let speed = (to[k] - from[k]) / dt;
                let found = run.particles.v.get(0)[k];
                assert!(
                    (found - speed).abs() < 1e-9 * (1.0 + speed.abs()),
                    "{method:?}: moves at {found}, not {speed}"
                );
            }
            from = to;
        }
    }
}

/// A mass that travels along with its pin at rest length stretches nothing: damping −β Ċ must not act.
#[test]
fn damping_knows_that_pins_move() {
    for method in [XPBD, SYMPLECTIC] {
        let mut body = Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).with_masses([0.0, 1.0]).pinned([0]);
        body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
        let body = body.with_compliance(Role::Stretch, 1e-2).with_damping(Role::Stretch, 5.0);
        let mut run = Run::<f64>::new(&[&body.with_velocities([[0.0; 3], [2.0, 0.0, 0.0]])], method);
        run.model.environment.gravity = [0.0; 3];
        for step in 1..=50 {
            let x = 2.0 * f64::from(step) / 60.0;
            run.model.move_pin(0, [x, 0.0, 0.0]).expect("a pin");
            run.step(1.0 / 60.0);
            let length = run.distance(0, 1);
            // The explicit method sees the pin half a substep late at most: v h/2 of stretch.
            assert!((length - 1.0).abs() < 0.01, "{method:?}, step {step}: {length} m apart");
        }
    }
}

/// Force on every particle: what one explicit step from rest makes of the velocities, f = m v/h.
fn forces(body: &Body, h: f64) -> Vec<[f64; 3]> {
    let mut run = Run::<f64>::new(&[body], Method::Symplectic { substeps: 1 });
    run.model.environment.gravity = [0.0; 3];
    run.step(h);
    run.particles.v.iter().zip(run.model.inv_mass()).map(|(v, w)| v.map(|c| c / (w * h))).collect()
}

/// f = −∇E of E = (V − V₀)²/(2α), against central differences of the volume.
#[test]
fn explicit_pressure_is_the_gradient_of_its_energy() {
    let mesh = icosphere(0.3, 1).expect("few subdivisions");
    let alpha = 2e-3;
    let mut body = Body::balloon(&mesh, 1.4).expect("closed").with_compliance(Role::Volume, alpha);
    body.tables_mut().distance = Table::default();
    let energy = |points: &[[f64; 3]]| {
        let moved = TriMesh::new(points.iter().copied(), mesh.triangles().to_vec()).expect("sound");
        let c = moved.volume().expect("closed") - 1.4 * mesh.volume().expect("closed");
        c * c / (2.0 * alpha)
    };
    let found = forces(&body, 1e-3);
    for (i, force) in found.iter().enumerate() {
        for k in 0..3 {
            let at = |shift: f64| {
                let mut points = body.positions().to_vec();
                points[i][k] += shift;
                energy(&points)
            };
            let expected = (at(-1e-5) - at(1e-5)) / 2e-5;
            assert!((force[k] - expected).abs() < 1e-7, "vertex {i}, axis {k}: {} N, not {expected} N", force[k]);
        }
    }
    // Pressure has no net force, and it is not nothing.
    for k in 0..3 {
        assert!(found.iter().map(|f| f[k]).sum::<f64>().abs() < 1e-12);
    }
    assert!(found.iter().flatten().any(|c| c.abs() > 0.1));
}

/// A tether pulls with (ℓ − L)/α towards its anchor when taut, and not at all when slack.
#[test]
fn explicit_tethers_pull_and_never_push() {
    let pair = |length: f64| {
        let mut body = Body::particles([[0.0; 3], [1.0, 0.0, 0.0]]).pinned([0]);
        body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [1.0]);
        body.tables_mut().distance.compliance[0] = 1e9;
        body.with_tethers(0.1).with_compliance(Role::Tether, 0.02).posed(|[x, y, z]| [x * length, y, z])
    };
    for (length, expected) in [(0.5, 0.0), (1.09, 0.0), (1.2, -0.1 / 0.02), (2.0, -0.9 / 0.02)] {
        let [x, y, z] = forces(&pair(length), 1e-3)[1];
        assert!((x - expected).abs() < 1e-8 && y == 0.0 && z == 0.0, "{length} m: {x} N instead of {expected} N");
    }
    // The anchor is the pin, also when it moves: a mass at rest hangs m g α below the end of its tether.
    let mut run = Run::<f64>::new(&[&pair(1.0)], Method::Symplectic { substeps: 20 });
    run.model.environment.damping = 5.0;
    for step in 1..=600 {
        let height = 0.5 * f64::from(step.min(60)) / 60.0;
        run.model.move_pin(0, [0.0, height, 0.0]).expect("a pin");
        run.step(1.0 / 60.0);
    }
    let (length, expected) = (run.distance(0, 1), 1.1 + 9.81 * 0.02);
    assert!((length - expected).abs() < 1e-4, "hangs {length} m below, not {expected} m");
}

/// Jacobi passes reach the volume of a balloon and the length of a tether that sweeps reach.
#[test]
fn jacobi_inflates_balloons_and_keeps_tethers_short() {
    let method = Method::Jacobi { substeps: 4, iterations: 30 };
    let ball = icosphere(0.3, 2).expect("few subdivisions");
    let body = Body::balloon(&ball, 1.0).expect("closed").with_mass(0.1).posed(|p| p.map(|c| 0.9 * c));
    let mut run = Run::<f64>::new(&[&body], method);
    run.model.environment.gravity = [0.0; 3];
    run.model.environment.damping = 2.0;
    for _ in 0..60 {
        run.step(1.0 / 60.0);
    }
    let moved = TriMesh::new(run.particles.x.iter(), ball.triangles().to_vec()).expect("sound");
    let ratio = moved.volume().expect("closed") / ball.volume().expect("closed");
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio} of the volume");

    let curtain = curtain(9);
    let lowest = |body: &Body| {
        let mut run = Run::<f64>::new(&[body], Method::Jacobi { substeps: 2, iterations: 3 });
        for _ in 0..120 {
            run.step(1.0 / 60.0);
        }
        run.particles.x.y.iter().copied().fold(f64::MAX, f64::min)
    };
    let (without, with) = (lowest(&curtain), lowest(&curtain.clone().with_tethers(0.0)));
    assert!(with > 0.9 * without && with > -1.25, "{with} m with tethers, {without} m without");
}
