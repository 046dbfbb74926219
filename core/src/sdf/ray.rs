//! Rays against solids: steps as long as the distance allows.

use super::collider::Solid;
use crate::lane::Real;
use crate::vec3::Vec3;

/// Steps after which a ray that grazes a surface counts as passing.
const STEPS: usize = 256;
/// A ray has arrived when this share of its own extent is left.
const ARRIVED: f64 = 1e-6;
/// Roundings by which the slope of a ray over a plane may be off.
const BLUR: f64 = 16.0;

impl<S: Real> Solid<S> {
    /// Where a ray in the collider's frame enters the solid within `reach` \[m\], and the normal there; `direction` is a unit
    /// vector. φ changes no faster than the way is long, so that every step of φ is safe.   [Hart 1996]
    ///
    /// A convex solid lies behind the plane through its nearest point, and the way to that plane is free too: φ/(−n·d), which
    /// is what lets shallow rays arrive; a ray that leads away from the plane never does.
    pub fn ray(&self, origin: Vec3<f64>, direction: Vec3<f64>, reach: f64) -> Option<(f64, Vec3<f64>)> {
        let centre = Vec3::from(self.centre.map(S::to_f64));
        let (radius, from) = (Vec3::from(self.half.map(S::to_f64)).length(), origin - centre);
        // A ray far away begins where it enters the ball around the solid.
        let mut t = 0.0;
        if radius.is_finite() && from.length() > radius {
            let along = -from.dot(direction);
            let aside_sq = (from + direction * along).length_sq();
            if along < 0.0 || aside_sq > radius * radius {
                return None;
            }
            t = (along - (radius * radius - aside_sq).sqrt() * (1.0 + ARRIVED)).max(0.0);
        }
        let scale = self.inv_lipschitz.to_f64();
        for _ in 0..STEPS {
            if t > reach {
                return None;
            }
            let place = origin + direction * t;
            let (phi, normal) = self.program.eval(Vec3::from([place.x, place.y, place.z].map(S::from_f64)));
            let phi = phi.to_f64();
            let extent = ARRIVED * (1e-3 + place.length());
            if phi <= extent {
                let normal: [S; 3] = normal.into();
                return Some((t, normal.map(S::to_f64).into()));
            }
            if radius.is_finite()
                && t > 0.0
                && (place - centre).length() > radius
                && (place - centre).dot(direction) > 0.0
            {
                return None;
            }
            if self.supported {
                let normal = Vec3::from(<[S; 3]>::from(normal).map(S::to_f64));
                // As much steeper as rounding may have it.
                let approach = BLUR * S::EPSILON.to_f64() - normal.dot(direction);
                if approach <= 0.0 {
                    return None;
                }
                // To well within what counts as arrived, and not to the last digit.
                t += (phi - 0.5 * extent) / approach.min(1.0);
            } else {
                t += phi * scale;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::super::{Collider, Colliders, Shape};
    use super::*;

    fn ray<S: Real>(shape: &Shape, from: [f64; 3], along: [f64; 3], reach: f64) -> Option<(f64, Vec3<f64>)> {
        let set = Colliders::<S>::new([Collider::new(shape.clone())]).expect("valid");
        let along = Vec3::from(along);
        set.solids()[0].ray(from.into(), along * (1.0 / along.length()), reach)
    }

    /// Steps of φ alone lose a part of the height each and never come down.
    #[test]
    fn shallow_rays_reach_the_floor() {
        let floor = Shape::Plane { normal: [0.0, 1.0, 0.0] };
        let slab = Shape::Cuboid { half: [2000.0, 0.5, 2000.0] }.translated([0.0, -0.5, 0.0]);
        let wedge = floor.clone().intersection(Shape::Plane { normal: [0.0, 0.0, 1.0] }.translated([0.0, 0.0, 50.0]));
        for shape in [floor, slab, wedge] {
            for degrees in [0.1_f64, 1.0, 30.0, 90.0] {
                let (sin, cos) = degrees.to_radians().sin_cos();
                let expected = 1.0 / sin;
                for found in [
                    ray::<f64>(&shape, [0.0, 1.0, 0.0], [cos, -sin, 0.0], 1000.0),
                    ray::<f32>(&shape, [0.0, 1.0, 0.0], [cos, -sin, 0.0], 1000.0),
                ] {
                    let (t, n) = found.unwrap_or_else(|| panic!("{shape:?} at {degrees}°: passed"));
                    // It has arrived within a millionth of its extent above the floor.
                    assert!((t - expected).abs() * sin < 2e-6 * expected + 2e-6, "{shape:?}, {degrees}°: {t}");
                    assert!(n.y > 0.999);
                }
                assert!(ray::<f64>(&shape, [0.0, 1.0, 0.0], [cos, sin, 0.0], 1000.0).is_none(), "away from it");
                assert!(
                    ray::<f64>(&shape, [0.0, 1.0, 0.0], [cos, -sin, 0.0], 0.9 * expected).is_none(),
                    "beyond reach"
                );
            }
        }
    }

    /// Rays at boxes and past them, many of them grazing: as the slabs of the box say.
    #[test]
    fn rays_hit_boxes_where_their_slabs_do() {
        let half = [0.3, 0.02, 0.5];
        let shape = Shape::Cuboid { half };
        let (mut random, mut hits, mut passes) = (Random(21), 0, 0);
        for _ in 0..4000 {
            let from: [f64; 3] = random.point().map(|c| 3.0 * c);
            let aim: [f64; 3] = std::array::from_fn(|k| 1.4 * half[k] * random.next() - from[k]);
            if (0..3).all(|k| from[k].abs() < 1.1 * half[k]) {
                continue;
            }
            let length = aim.iter().map(|c| c * c).sum::<f64>().sqrt();
            let d = aim.map(|c| c / length);
            // When it is between all pairs of sides, with the sides moved out by a margin.
            let span = |margin: f64| {
                let mut span = [0.0_f64, f64::INFINITY];
                for k in 0..3 {
                    let ends = [-half[k] - margin, half[k] + margin].map(|side| (side - from[k]) / d[k]);
                    span = [span[0].max(ends[0].min(ends[1])), span[1].min(ends[0].max(ends[1]))];
                }
                (span[0] <= span[1]).then_some(span[0])
            };
            match (ray::<f64>(&shape, from, d, 100.0), span(1e-5), span(-1e-5)) {
                (Some((t, _)), Some(early), Some(late)) => {
                    assert!(t >= early - 1e-6 && t <= late + 1e-6, "{from:?}, {d:?}: {t}, not {early} to {late}");
                    hits += 1;
                }
                (Some(_), None, _) => panic!("{from:?}, {d:?}: hit what it passes"),
                (None, _, Some(_)) => panic!("{from:?}, {d:?}: passed what it hits"),
                _ => passes += 1,
            }
        }
        assert!(hits > 1000 && passes > 1000, "{hits} hits, {passes} passes");
    }
}
