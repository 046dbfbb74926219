//! First contacts are never called too late: on the way that is called safe, samples of the distance stay above the separation.

use pliant_core::collide::ccd::{CcdOptions, Corners, first_contact};
use pliant_core::collide::distance::Pair;
use pliant_core::vec3::Vec3;

use crate::input::Input;

/// Places on the way at which the distance is measured.
const SAMPLES: usize = 24;

/// A random query, with every kind of degeneracy.
pub fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let pair = if input.byte().is_multiple_of(2) { Pair::VertexTriangle } else { Pair::EdgeEdge };
    let shape = input.byte();
    let scale = [1.0, 1e-6, 1e6, 1e-150][usize::from(shape) % 4];
    let offset = [0.0, 1e3, 1e7][usize::from(shape / 4) % 3] * scale;
    // Coarse coordinates coincide often: parallel, flat and touching pairs.
    let coarse = (shape / 16).is_multiple_of(2);
    let mut corners = || -> Corners {
        std::array::from_fn(|_| {
            std::array::from_fn(|_| {
                let c = if coarse { f64::from(input.byte() % 8) / 4.0 - 1.0 } else { input.within(1.0) };
                scale * c + offset
            })
        })
    };
    let (start, mut end) = (corners(), corners());
    if shape >= 192 {
        // Only the first corner moves.
        end[1..].copy_from_slice(&start[1..]);
    }
    let separation = if input.byte().is_multiple_of(2) { 0.0 } else { 0.1 * scale * f64::from(input.byte()) / 255.0 };
    let keep = [0.0, 0.1, 0.5][input.below(3)];
    let max_evaluations = if input.byte() < 16 { 1 } else { 256 };
    let options = CcdOptions { min_separation: separation, keep, max_evaluations, ..CcdOptions::default() };
    let impact = first_contact(pair, &start, &end, &options);

    let distance = |s: f64| {
        let x: [Vec3<f64>; 4] = std::array::from_fn(|i| {
            let at = |k: usize| (1.0 - s) * (start[i][k] - start[0][k]) + s * (end[i][k] - start[0][k]);
            Vec3::new(at(0), at(1), at(2)) * (1.0 / scale)
        });
        pair.closest(&x).distance_sq.sqrt()
    };
    // Samples are rounded, at offsets of 10⁷ scales as coarsely as the corners themselves.
    let slack = 1e-11 * (1.0 + offset / scale);
    let free = |until: f64| {
        for i in 0..=SAMPLES {
            let s = until * i as f64 / SAMPLES as f64;
            let d = distance(s);
            assert!(d + slack >= separation / scale, "at {s} of the way {d} is left of {}", separation / scale);
        }
    };
    match impact {
        None => free(1.0),
        Some(impact) => {
            assert!((0.0..=1.0).contains(&impact.time), "a time of {}", impact.time);
            assert!(impact.evaluations <= max_evaluations + 1, "{} evaluations", impact.evaluations);
            if impact.time > 0.0 {
                free(impact.time);
            }
        }
    }
    // Numbers that are not finite are a contact now, never a way through.
    if input.byte() >= 250 {
        let mut broken = start;
        broken[input.below(4)][input.below(3)] = f64::NAN;
        assert!(first_contact(pair, &broken, &end, &options).is_some_and(|impact| impact.time == 0.0));
    }
}
