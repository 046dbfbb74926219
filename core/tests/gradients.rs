//! Every constraint kind against central differences, rigid motion, degenerate input and hand-computed values.

#[path = "../../tests/common/mod.rs"]
mod common;
mod differences;

use common::Random;
use differences::{Points, slope};
use pliant_core::constraint::Constraint;
use pliant_core::energies::spring;
use pliant_core::energy::Energy;
use pliant_core::kinds::{
    Attachment, Dihedral, Distance, DistanceRange, IsometricBending, TetVolume, Tether, triangle_volume,
};
use pliant_core::vec3::Vec3;
use pliant_core::wind::Wind;
use std::f64::consts::PI;

fn v(x: f64, y: f64, z: f64) -> Vec3<f64> {
    Vec3::new(x, y, z)
}

fn random_points<const N: usize>(random: &mut Random) -> Points<N> {
    std::array::from_fn(|_| random.point(1.0).into())
}

/// ∇C against differences of C, relative to the larger of 1 and the largest slope.
fn check_gradient<K: Constraint<N, P>, const N: usize, const P: usize>(p: &[f64; P], x: &Points<N>) {
    let (c, grad) = K::eval(p, x);
    let size = grad.iter().fold(1.0, |m: f64, g| m.max(g.length()));
    for (k, g) in grad.iter().enumerate() {
        for (axis, exact) in <[f64; 3]>::from(*g).into_iter().enumerate() {
            let measured = slope(x, k, axis, |x| K::eval(p, x).0);
            assert!(
                (measured - exact).abs() < 1e-8 * size,
                "{}, point {k}, axis {axis}: {exact}, measured {measured}; C = {c}, x = {x:?}",
                K::NAME
            );
        }
    }
}

/// A random rigid motion.
fn rigid_motion(random: &mut Random) -> impl Fn(Vec3<f64>) -> Vec3<f64> + use<> {
    let axis = Vec3::from(random.direction());
    let (sin, cos) = random.between(-PI, PI).sin_cos();
    let shift = Vec3::from(random.point(3.0));
    // Rodrigues: R p = p cos + (a × p) sin + a (a·p)(1 − cos).
    move |p| p * cos + axis.cross(p) * sin + axis * (axis.dot(p) * (1.0 - cos)) + shift
}

/// C does not change when the points move rigidly, and the gradients then sum to no force and no torque.
fn check_invariance<K: Constraint<N, P>, const N: usize, const P: usize>(
    random: &mut Random,
    p: &[f64; P],
    x: &Points<N>,
) {
    let (c, grad) = K::eval(p, x);
    let (moved, _) = K::eval(p, &x.map(rigid_motion(random)));
    let size = grad.iter().fold(1.0, |m: f64, g| m.max(g.length()));
    assert!((c - moved).abs() < 1e-12 * size * (1.0 + c.abs()), "{}: {c} moved to {moved}", K::NAME);
    let force = grad.iter().fold(Vec3::zero(), |sum, g| sum + *g);
    let torque = grad.iter().zip(x).fold(Vec3::zero(), |sum, (g, x)| sum + x.cross(*g));
    assert!(force.length() < 1e-12 * size, "{}: net force {force:?}", K::NAME);
    assert!(torque.length() < 1e-12 * size, "{}: net torque {torque:?}", K::NAME);
}

/// Finite everywhere, in both precisions.
fn check_finite<K: Constraint<N, P>, const N: usize, const P: usize>(p: &[f64; P], x: &Points<N>) {
    let (c, grad) = K::eval(p, x);
    let finite = |g: &Vec3<f64>| g.x.is_finite() && g.y.is_finite() && g.z.is_finite();
    assert!(c.is_finite() && grad.iter().all(finite), "{} in f64 at {x:?}: {c} {grad:?}", K::NAME);

    let single = x.map(|q| Vec3::new(q.x as f32, q.y as f32, q.z as f32));
    let (c, grad) = K::eval(&p.map(|v| v as f32), &single);
    let finite = |g: &Vec3<f32>| g.x.is_finite() && g.y.is_finite() && g.z.is_finite();
    assert!(c.is_finite() && grad.iter().all(finite), "{} in f32 at {x:?}: {c} {grad:?}", K::NAME);
}

/// A hinge of edge 0 1 along z with wings of the given spread, folded to the angle θ.
fn hinge(theta: f64, wing_2: f64, wing_3: f64) -> Points<4> {
    // Flat: n₁ = e × (x₂ − x₀) = ẑ × (−wing x̂) = −wing ŷ. Wing 3 then turns by θ > 0 against the normals, to +ŷ.
    [v(0.0, 0.0, 0.0), v(0.0, 0.0, 1.0), v(-wing_2, 0.0, 0.4), v(wing_3 * theta.cos(), wing_3 * theta.sin(), 0.7)]
}

#[test]
fn distance() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let (x, p) = (random_points::<2>(&mut random), [random.between(0.1, 2.0)]);
        if (x[0] - x[1]).length() > 0.1 {
            check_gradient::<Distance, 2, 1>(&p, &x);
            check_invariance::<Distance, 2, 1>(&mut random, &p, &x);
        }
    }
    let (c, grad) = Distance::eval(&[1.0], &[v(3.0, 0.0, 0.0), v(0.0, 0.0, 0.0)]);
    assert_eq!((c, grad[0]), (2.0, v(1.0, 0.0, 0.0)), "stretched is positive");
    check_finite::<Distance, 2, 1>(&[1.0], &[Vec3::zero(); 2]);
}

#[test]
fn distance_range() {
    let mut random = Random::new(2);
    let mut visits = [0; 3];
    for _ in 0..600 {
        let (a, b) = (random.between(0.3, 0.8), random.between(0.8, 1.3));
        let p = [a, b, random.between(0.0, 1.0)];
        let start = Vec3::from(random.point(1.0));
        let length = random.between(0.1, 2.0);
        if (length - a).abs() < 1e-3 || (length - b).abs() < 1e-3 {
            continue;
        }
        let x = [start, start + Vec3::from(random.direction()) * length];
        check_invariance::<DistanceRange, 2, 3>(&mut random, &p, &x);
        let (c, grad) = DistanceRange::eval(&p, &x);
        if length < b && length > a {
            // Inside, C is flat but the direction stays, so that a multiplier can relax.
            assert_eq!(c, 0.0);
            assert!((grad[0].length() - 1.0).abs() < 1e-14);
            visits[1] += 1;
        } else {
            check_gradient::<DistanceRange, 2, 3>(&p, &x);
            assert_eq!(c > 0.0, length > b, "stretched is positive, compressed negative");
            visits[if length > b { 2 } else { 0 }] += 1;
        }
    }
    assert!(visits.iter().all(|&n| n > 50), "{visits:?}");
    check_finite::<DistanceRange, 2, 3>(&DistanceRange::range(0.5, 1.0), &[Vec3::zero(); 2]);
}

#[test]
fn distance_range_parameters_mean_what_their_names_say() {
    let at = |p: [f64; 3], length: f64| DistanceRange::eval(&p, &[v(length, 0.0, 0.0), Vec3::zero()]);
    let energy = |p, length| 0.5 * at(p, length).0.powi(2);

    for length in [0.25, 1.0, 1.75] {
        assert_eq!(at(DistanceRange::equality(1.0), length).0, length - 1.0);
    }
    let rope = DistanceRange::tension_only(1.0);
    assert_eq!((at(rope, 0.5).0, at(rope, 0.0).0, at(rope, 1.5).0), (0.0, 0.0, 0.5));
    assert_eq!(at(rope, 0.5).1[0], v(1.0, 0.0, 0.0), "a slack rope keeps its direction");

    let soft = DistanceRange::soft_compression(1.0, 0.25);
    assert_eq!(energy(soft, 0.5), 0.25 * energy(soft, 1.5), "a quarter of the stiffness in compression");
    assert_eq!(at(soft, 0.5).1[0], v(0.5, 0.0, 0.0));

    let lazy = DistanceRange::dead_zone(1.0, 0.25);
    assert_eq!((at(lazy, 0.875).0, at(lazy, 1.125).0), (0.0, 0.0));
    assert_eq!((at(lazy, 0.5).0, at(lazy, 1.5).0), (-0.25, 0.25));
    assert_eq!(DistanceRange::range(0.75, 1.25), lazy);
}

#[test]
fn tet_volume() {
    let mut random = Random::new(3);
    for _ in 0..200 {
        let (x, p) = (random_points::<4>(&mut random), [random.between(-0.2, 0.2)]);
        check_gradient::<TetVolume, 4, 1>(&p, &x);
        check_invariance::<TetVolume, 4, 1>(&mut random, &p, &x);
    }
    let unit = [Vec3::zero(), v(1.0, 0.0, 0.0), v(0.0, 1.0, 0.0), v(0.0, 0.0, 1.0)];
    let (volume, grad) = TetVolume::eval(&[0.0], &unit);
    assert!((volume - 1.0 / 6.0).abs() < 1e-12);
    assert!((grad[0] + grad[1] + grad[2] + grad[3]).length() < 1e-12);
    assert!((grad[3] - v(0.0, 0.0, 1.0 / 6.0)).length() < 1e-15);
    let inverted = [unit[0], unit[2], unit[1], unit[3]];
    assert!((TetVolume::eval(&[0.0], &inverted).0 + 1.0 / 6.0).abs() < 1e-12, "inverted is negative");
    check_finite::<TetVolume, 4, 1>(&[1.0], &[Vec3::zero(); 4]);
}

#[test]
fn dihedral() {
    let mut random = Random::new(4);
    let mut count = 0;
    for _ in 0..1000 {
        let x = random_points::<4>(&mut random);
        let rest = random.between(-PI, PI);
        let p = [rest.cos(), rest.sin()];
        let e = x[1] - x[0];
        let height = |k: usize| e.cross(x[k] - x[0]).length() / e.length();
        let (c, _) = Dihedral::eval(&p, &x);
        // Stay off the half turn, where C jumps, and off thin triangles, where differences are inaccurate.
        if c.abs() < 3.0 && e.length() > 0.3 && height(2) > 0.3 && height(3) > 0.3 {
            check_gradient::<Dihedral, 4, 2>(&p, &x);
            check_invariance::<Dihedral, 4, 2>(&mut random, &p, &x);
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn dihedral_is_continuous_and_accurate_through_flat() {
    for power in -14..=0 {
        for sign in [-1.0, 1.0] {
            let theta = sign * 10.0_f64.powi(power);
            let x = hinge(theta, 0.8, 0.6);
            let (c, _) = Dihedral::eval(&[1.0, 0.0], &x);
            assert!((c - theta).abs() <= 1e-14 * theta.abs() + 1e-300, "{c} at {theta}");
            check_gradient::<Dihedral, 4, 2>(&[1.0, 0.0], &x);
        }
    }
    let (c, grad) = Dihedral::eval(&[1.0, 0.0], &hinge(0.0, 0.8, 0.6));
    assert_eq!(c, 0.0);
    // Lifting a wing tip by dy turns it by dy/height: against the normals −ŷ, so upwards is positive.
    assert!((grad[2] - v(0.0, 1.0 / 0.8, 0.0)).length() < 1e-14);
    assert!((grad[3] - v(0.0, 1.0 / 0.6, 0.0)).length() < 1e-14);
}

#[test]
fn dihedral_covers_the_full_turn_and_wraps() {
    for i in -179..=179 {
        let theta = f64::from(i).to_radians();
        let x = hinge(theta, 0.8, 0.6);
        let (c, _) = Dihedral::eval(&[1.0, 0.0], &x);
        assert!((c - theta).abs() < 1e-14, "{c} at {theta}");
        // Its own shape is at rest.
        let p = Dihedral::rest(x.map(<[f64; 3]>::from));
        assert!(Dihedral::eval(&p, &x).0.abs() < 1e-15);
        // From a rest angle of 170° the short way to −170° is +20°; at −10° both ways are as long.
        let rest = 170.0_f64.to_radians();
        let (c, _) = Dihedral::eval(&[rest.cos(), rest.sin()], &x);
        let short_way = (theta - rest + PI).rem_euclid(2.0 * PI) - PI;
        assert!((c - short_way).abs() < 1e-13 || i == -10, "{c} instead of {short_way}");
    }
}

#[test]
fn dihedral_without_an_angle_is_zero() {
    let flat = hinge(0.3, 0.8, 0.6);
    let on_edge = [flat[0], flat[1], v(0.0, 0.0, 0.4), flat[3]];
    let beyond_edge = [flat[0], flat[1], flat[2], v(0.0, 0.0, -3.0)];
    let no_edge = [flat[0], flat[0], flat[2], flat[3]];
    let point = [flat[0]; 4];
    // Collinear up to rounding, in no axis direction.
    let third = v(0.1, 0.7, -0.3);
    let rounded = [third * 0.1, third * 0.3, third * 0.7, v(1.0, 0.0, 0.0)];
    let p = [0.5_f64.cos(), 0.5_f64.sin()];
    for x in [on_edge, beyond_edge, no_edge, point, rounded] {
        let (c, grad) = Dihedral::eval(&p, &x);
        assert_eq!(c, 0.0);
        assert!(grad.iter().all(|g| g.length() == 0.0), "{grad:?} at {x:?}");
        check_finite::<Dihedral, 4, 2>(&p, &x);
    }
    assert_eq!(Dihedral::rest([[0.0; 3]; 4]), [1.0, 0.0]);
    // Slivers and tiny shapes stay finite in f32, down to sizes where squares underflow.
    for power in -30..=0 {
        let small = 10.0_f64.powi(power);
        check_finite::<Dihedral, 4, 2>(&p, &hinge(0.3, small, 0.6));
        check_finite::<Dihedral, 4, 2>(&p, &hinge(0.3, small, small));
        check_finite::<Dihedral, 4, 2>(&p, &flat.map(|x| x * small));
        check_finite::<Dihedral, 4, 2>(&p, &[flat[0], flat[1] * small, flat[2], flat[3]]);
    }
}

#[test]
fn isometric_bending() {
    let mut random = Random::new(5);
    for _ in 0..300 {
        let wings = [random.between(0.4, 1.0), random.between(0.4, 1.0)];
        let rest = hinge(0.0, wings[0], wings[1]);
        let p = IsometricBending::rest(rest.map(<[f64; 3]>::from));
        assert!(IsometricBending::eval(&p, &rest).0 < 1e-14, "flat is at rest");
        let x = random_points::<4>(&mut random);
        if IsometricBending::eval(&p, &x).0 > 0.1 {
            check_gradient::<IsometricBending, 4, 5>(&p, &x);
        }
        // Invariant with the usual rounding of coefficients of size |q'|; e rotates with the body, so there is no torque.
        check_invariance::<IsometricBending, 4, 5>(&mut random, &p, &x);
        let energy = 2.0 * IsometricBending::value(&p, &x);
        assert!((IsometricBending::eval(&p, &x).0.powi(2) - energy).abs() < 1e-13 * energy, "φ²/(2α) is the energy");
        let grad = IsometricBending::gradient(&p, &x).map(|g| g * 2.0);
        for (k, g) in grad.iter().enumerate() {
            for (axis, exact) in <[f64; 3]>::from(*g).into_iter().enumerate() {
                let measured = slope(&x, k, axis, |x| 2.0 * IsometricBending::value(&p, x));
                assert!((measured - exact).abs() < 1e-8 * (1.0 + energy), "energy gradient: {exact}, {measured}");
            }
        }
    }
    assert_eq!(IsometricBending::rest([[0.0; 3]; 4]), [0.0; 5]);
    let p = IsometricBending::rest(hinge(0.0, 0.8, 0.6).map(<[f64; 3]>::from));
    let (c, grad) = IsometricBending::eval(&p, &[v(0.5, 0.5, 0.5); 4]);
    assert!(c == 0.0 && grad.iter().all(|g| g.length() == 0.0), "all points in one place is flat");
    check_finite::<IsometricBending, 4, 5>(&p, &[Vec3::zero(); 4]);
}

#[test]
fn attachment() {
    let mut random = Random::new(6);
    for _ in 0..100 {
        let (x, p) = (random_points::<1>(&mut random), random.point(1.0));
        if (x[0] - Vec3::from(p)).length() > 0.1 {
            check_gradient::<Attachment, 1, 3>(&p, &x);
        }
    }
    let (c, grad) = Attachment::eval(&[1.0, 2.0, 3.0], &[v(1.0, 2.0, 3.0)]);
    assert_eq!((c, grad[0]), (0.0, Vec3::zero()));
}

#[test]
fn tether() {
    let mut random = Random::new(7);
    let (mut taut, mut slack) = (0, 0);
    for _ in 0..300 {
        let x = random_points::<1>(&mut random);
        let [a, b, c] = random.point(1.0);
        let p = [a, b, c, random.between(0.2, 1.5)];
        let excess = (x[0] - v(a, b, c)).length() - p[3];
        if excess.abs() > 1e-3 {
            check_gradient::<Tether, 1, 4>(&p, &x);
            let (value, grad) = Tether::eval(&p, &x);
            if excess > 0.0 {
                taut += 1;
                assert!((value - excess).abs() < 1e-15);
            } else {
                slack += 1;
                assert_eq!((value, grad[0]), (0.0, Vec3::zero()));
            }
        }
    }
    assert!(taut > 50 && slack > 50, "{taut} taut, {slack} slack");
    check_finite::<Tether, 1, 4>(&[0.0; 4], &[Vec3::zero()]);
}

#[test]
fn enclosed_volume_gradient_does_not_depend_on_the_origin() {
    // An octahedron, counter-clockwise from outside, pulled out of shape.
    let mut random = Random::new(8);
    let axes = [v(1.0, 0.0, 0.0), v(0.0, 1.0, 0.0), v(0.0, 0.0, 1.0)];
    let corners = [axes[0], -axes[0], axes[1], -axes[1], axes[2], -axes[2]];
    let x: Points<6> = corners.map(|c| c + Vec3::from(random.point(0.2)));
    let faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    let volume = |x: &Points<6>| -> f64 { faces.map(|[a, b, c]| x[a].cross(x[b]).dot(x[c]) / 6.0).iter().sum() };
    assert!((volume(&corners) - 4.0 / 3.0).abs() < 1e-14);

    let gradients = |origin: Vec3<f64>| {
        let mut sum: Points<6> = [Vec3::zero(); 6];
        for face in faces {
            let shares = triangle_volume::corner_gradients(&face.map(|k| x[k]), origin);
            for (k, share) in face.into_iter().zip(shares) {
                sum[k] = sum[k] + share;
            }
        }
        sum
    };
    let (near, far) = (gradients(x[0]), gradients(v(5.0, -7.0, 3.0)));
    for k in 0..6 {
        assert!((near[k] - far[k]).length() < 1e-13);
        for (axis, exact) in <[f64; 3]>::from(near[k]).into_iter().enumerate() {
            assert!((slope(&x, k, axis, volume) - exact).abs() < 1e-9);
        }
    }
    assert!(near.iter().fold(Vec3::zero(), |sum, g| sum + *g).length() < 1e-14);
}

#[test]
fn spring_derivatives() {
    let mut random = Random::new(9);
    for _ in 0..200 {
        let d = Vec3::from(random.direction()) * random.between(0.3, 2.0);
        let (k, rest) = (random.between(1.0, 10.0), random.between(0.1, 2.0));
        let (grad, block) = (spring::gradient(k, rest, d), spring::hessian_exact(k, rest, d));
        for axis in 0..3 {
            let measured = slope(&[d], 0, axis, |x| spring::energy(k, rest, x[0]));
            assert!((measured - <[f64; 3]>::from(grad)[axis]).abs() < 1e-7);
            for row in 0..3 {
                let measured = slope(&[d], 0, axis, |x| <[f64; 3]>::from(spring::gradient(k, rest, x[0]))[row]);
                assert!((measured - <[f64; 3]>::from(block.columns[axis])[row]).abs() < 1e-6);
            }
        }
    }
    // Coincident ends: energy as it is, no force, H = k I in both forms.
    let zero = Vec3::zero();
    assert_eq!((spring::energy(3.0, 2.0, zero), spring::gradient(3.0, 2.0, zero)), (6.0, zero));
    for block in [spring::hessian_exact(3.0, 2.0, zero), spring::hessian_projected(3.0, 2.0, zero)] {
        assert_eq!(block, pliant_core::mat3::Mat3::diagonal(3.0));
    }
}

#[test]
fn wind_pushes_along_and_lifts_across() {
    let mut random = Random::new(10);
    for _ in 0..300 {
        let (x, velocity) = (random_points::<3>(&mut random), random.point(10.0));
        let v: Points<3> = random_points(&mut random);
        let (drag, lift) = (random.between(0.0, 2.0), random.between(0.0, 2.0));
        let wind = Wind { velocity, density: 1.2, drag, lift };
        let force = wind.triangle_force(&x, &v);

        let u = Vec3::from(velocity) - (v[0] + v[1] + v[2]) * (1.0 / 3.0);
        let m = (x[1] - x[0]).cross(x[2] - x[0]);
        let (area, cosine) = (0.5 * m.length(), u.dot(m).abs() / (u.length() * m.length()));
        let dynamic = 0.5 * 1.2 * area * u.length_sq();
        let along = force.dot(u) / u.length();
        let across = (force - u * (along / u.length())).length();
        // Drag is C_D cos, never negative; lift is C_L sin, towards the lee side of the triangle.
        assert!((along - dynamic * drag * cosine).abs() < 1e-12 * dynamic);
        assert!((across - dynamic * lift * (1.0 - cosine * cosine).max(0.0).sqrt()).abs() < 1e-6 * dynamic);
        assert!(force.dot(u) >= 0.0 && force.dot(m) * u.dot(m) >= -1e-12 * dynamic);

        let flipped = wind.triangle_force(&[x[0], x[2], x[1]], &[v[0], v[2], v[1]]);
        assert!((force - flipped).length() <= 1e-12 * dynamic, "winding does not matter");
        let carried = [Vec3::from(velocity); 3];
        assert!(wind.triangle_force(&x, &carried).length() < 1e-12, "no force on what moves with the air");
        assert_eq!(wind.triangle_force(&[x[0]; 3], &v).length(), 0.0, "no force without area");
    }
    // Head wind on 1 m² at 10 m/s with C_D = 1: ½ · 1.2 · 100 N.
    let x = [Vec3::zero(), Vec3::new(2.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0)];
    let wind = Wind { velocity: [0.0, 0.0, -10.0], density: 1.2, drag: 1.0, lift: 0.5 };
    assert!((wind.triangle_force(&x, &[Vec3::zero(); 3]) - Vec3::new(0.0, 0.0, -60.0)).length() < 1e-12);
    let grazing = Wind { velocity: [10.0, 0.0, 0.0], ..wind };
    assert_eq!(grazing.triangle_force(&x, &[Vec3::zero(); 3]).length(), 0.0, "grazing wind has no side");
}
