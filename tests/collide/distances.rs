//! Distances and the barrier: against tables, central differences, sampling, and on degenerate shapes.

use pliant::core::collide::barrier::barrier;
use pliant::core::collide::distance::{Feature, Pair};
use pliant::core::vec3::Vec3;

use crate::common::{Random, Table};

const PAIRS: [Pair; 2] = [Pair::VertexTriangle, Pair::EdgeEdge];

fn corners(random: &mut Random, half: f64) -> [Vec3<f64>; 4] {
    std::array::from_fn(|_| Vec3::from(random.point(half)))
}

/// Points of the two primitives, weighted like [`Closest::weights`].
fn sample(pair: Pair, u: f64, v: f64) -> [f64; 4] {
    match pair {
        // The upper half of the square is folded back.
        Pair::VertexTriangle if u + v > 1.0 => [1.0, 1.0 - u - v, u - 1.0, v - 1.0],
        Pair::VertexTriangle => [1.0, u + v - 1.0, -u, -v],
        Pair::EdgeEdge => [1.0 - u, u, v - 1.0, -v],
    }
}

fn weighted(w: &[f64; 4], x: &[Vec3<f64>; 4]) -> Vec3<f64> {
    x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3]
}

#[test]
fn no_sampled_points_are_nearer_and_the_weights_reach_the_distance() {
    let mut random = Random::new(7);
    for case in 0..2000 {
        let mut x = corners(&mut random, 1.0);
        match case % 5 {
            1 => x[3] = x[2] + (x[1] - x[0]) * random.between(-1.0, 1.0),
            2 => x[3] = x[2],
            3 => x[3] = x[1] + (x[2] - x[1]) * random.between(-0.5, 1.5),
            4 => x[1] = x[2] + (x[3] - x[2]) * 0.5,
            _ => {}
        }
        for pair in PAIRS {
            let closest = pair.closest(&x);
            let d = closest.distance_sq.sqrt();
            assert!((weighted(&closest.weights, &x) - closest.between).length() < 1e-7, "{pair:?}, case {case}");
            let (first, second): (f64, f64) = match pair {
                Pair::VertexTriangle => (closest.weights[0], closest.weights[1..].iter().sum()),
                Pair::EdgeEdge => (closest.weights[..2].iter().sum(), closest.weights[2..].iter().sum()),
            };
            assert!((first - 1.0).abs() < 1e-12 && (second + 1.0).abs() < 1e-12);
            for i in 0..=20 {
                for j in 0..=20 {
                    let there = weighted(&sample(pair, f64::from(i) / 20.0, f64::from(j) / 20.0), &x).length();
                    assert!(there >= d - 1e-9, "{pair:?}, case {case}: {there} below {d}");
                }
            }
        }
    }
}

#[test]
fn gradients_match_central_differences() {
    let mut random = Random::new(11);
    let h = 1e-6;
    for _ in 0..500 {
        let x = corners(&mut random, 1.0);
        for pair in PAIRS {
            let gradient = pair.closest(&x).gradient();
            for corner in 0..4 {
                for axis in 0..3 {
                    let at = |step: f64| {
                        let mut x = x.map(<[f64; 3]>::from);
                        x[corner][axis] += step;
                        pair.closest(&x.map(Vec3::from)).distance_sq
                    };
                    let slope = (at(h) - at(-h)) / (2.0 * h);
                    let exact = <[f64; 3]>::from(gradient[corner])[axis];
                    // d² is once differentiable: at a change of features the difference has an error of order h.
                    assert!((slope - exact).abs() < 2e-5, "{pair:?}: {slope} against {exact}");
                }
            }
        }
    }
}

#[test]
fn features_are_named() {
    let triangle = |p: [f64; 3]| {
        Pair::VertexTriangle.closest(&[p, [0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].map(Vec3::from)).feature()
    };
    assert_eq!(triangle([0.2, 0.2, 1.0]), Feature::PointTriangle);
    assert_eq!(triangle([0.5, -1.0, 1.0]), Feature::PointEdge);
    assert_eq!(triangle([-1.0, -1.0, 1.0]), Feature::PointPoint);
    let edges = |b0: [f64; 3], b1: [f64; 3]| {
        Pair::EdgeEdge.closest(&[[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], b0, b1].map(Vec3::from)).feature()
    };
    assert_eq!(edges([0.0, -1.0, 1.0], [0.0, 1.0, 1.0]), Feature::EdgeEdge);
    assert_eq!(edges([0.0, 1.0, 1.0], [0.0, 2.0, 1.0]), Feature::PointEdge);
    assert_eq!(edges([2.0, 1.0, 1.0], [3.0, 2.0, 1.0]), Feature::PointPoint);
}

#[test]
fn the_table_of_distances_holds() {
    for row in Table::read("distance_ref.csv").rows() {
        let x: [f64; 12] = row.numbers("x");
        let x: [Vec3<f64>; 4] = std::array::from_fn(|i| Vec3::from([x[3 * i], x[3 * i + 1], x[3 * i + 2]]));
        let pair = if row.text("kind") == "pt" { Pair::VertexTriangle } else { Pair::EdgeEdge };
        let expected = row.number("dist2");
        if expected == 0.0 && pair.closest(&x).distance_sq == 0.25 {
            // The table is wrong here: an edge from z = ½ to z = 0 and a point (an edge without length) at z = −½ are
            // ½ apart, not 0.
            let z = x.map(|c| c.z);
            assert_eq!(z, [0.5, 0.0, -0.5, -0.5]);
            continue;
        }
        let actual = pair.closest(&x).distance_sq;
        assert!((actual - expected).abs() <= 1e-12 * expected + 1e-30, "{actual:e} against {expected:e}");
    }
}

#[test]
fn the_table_of_the_barrier_holds_and_contact_is_infinite() {
    for row in Table::read("barrier_ref.csv").rows() {
        let b = barrier(row.number("d"), row.number("dhat"));
        for (actual, column) in [(b.value, "b"), (b.slope, "b1"), (b.curvature, "b2")] {
            let expected = row.number(column);
            assert!((actual - expected).abs() <= 1e-12 * expected.abs(), "{column}: {actual:e} against {expected:e}");
        }
    }
    for d in [0.0, -1e-9, -1.0] {
        let b = barrier(d, 0.1);
        assert_eq!((b.value, b.slope, b.curvature), (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY));
    }
}
