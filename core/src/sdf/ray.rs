//! Rays against solids: steps as long as the parts of a solid allow.

use super::collider::Solid;
use super::judge::{Judge, Seen};
use super::program::{Leaf, Operation};
use crate::lane::Real;
use crate::vec3::Vec3;

/// Steps after which a ray that grazes a surface counts as passing. Where steps of φ are all there is, n of them take a ray at
/// angle θ to (1 − sin θ)ⁿ of its height: to a millionth at 0.2°.
const STEPS: usize = 4096;
/// A ray has arrived when this share of its own extent is left.
const ARRIVED: f64 = 1e-6;
/// Roundings by which the slope of a ray over a plane may be off.
const BLUR: f64 = 16.0;
/// Most doublings, and most halvings, on the way out of a convex part.
const SEARCH: usize = 64;
/// What is left of a cell that a ray may skip, as a share of it; more where places are rounded more coarsely.
const SLIVER: f64 = 1e-6;

/// What a ray knows of a solid, or of a part of it, from where it is.
#[derive(Clone, Copy)]
struct Ahead {
    /// φ and ∇φ.
    phi: f64,
    normal: Vec3<f64>,
    /// How far it meets nothing, if it is outside \[m\].
    free: f64,
    /// How far it does not leave, if it is inside \[m\].
    stay: f64,
}

/// A ray at a place on its way, in the collider's frame.
struct Ray {
    place: Vec3<f64>,
    direction: Vec3<f64>,
    /// How far it still may go \[m\].
    left: f64,
    /// How near counts as arrived \[m\].
    extent: f64,
    /// How uncertain slopes are.
    blur: f64,
    /// 1 over the largest slope of φ.
    scale: f64,
    /// Whether anything is cut off: nobody asks how long a ray stays inside otherwise.
    hollow: bool,
}

impl<S: Real> Judge<S> for Ray {
    type Mark = Ahead;
    /// φ changes no faster than the way is long, so that every step of φ is safe.   [Hart 1996]
    ///
    /// A convex part lies behind the plane through its nearest point, and the way to that plane is free too: φ/(−n·d), which
    /// is what lets shallow rays arrive; a ray that leads away from the plane never does. Sampled distances are followed from
    /// cell to cell.
    fn part(&self, seen: &Seen<'_, S>) -> Ahead {
        let Seen { leaf, phi, normal, .. } = *seen;
        let slope = 1.0 / leaf.lipschitz();
        let (mut free, mut stay) = (slope * phi.max(0.0), slope * (-phi).max(0.0));
        if leaf.is_supported() {
            if phi > 0.0 {
                // As much steeper as rounding may have it, and to well within what counts as arrived, not to the last digit.
                let approach = self.blur - normal.dot(self.direction);
                let way = (phi - 0.5 * self.extent).max(0.0) / approach.min(1.0);
                free = if approach > 0.0 { way } else { f64::INFINITY };
            } else if phi < 0.0 && self.hollow {
                stay = self.way_out(seen);
            }
        } else if let Leaf::Grid(samples) = leaf {
            let inner = seen.frame.inner(Vec3::<S>::from_double(self.place)).to_double();
            let along = seen.frame.unturn(Vec3::<S>::from_double(self.direction)).to_double();
            // Far away steps of φ are longer than cells.
            if phi.abs() * slope < samples.cell() {
                let blur = S::EPSILON.to_f64() * inner.length() / samples.cell();
                if let Some(cell) = samples.way_through(inner, along, SLIVER.max(8.0 * blur)) {
                    let at = |part: f64| seen.phi_at(inner + along * (cell * part));
                    let values = [phi, at(1.0 / 3.0), at(2.0 / 3.0), at(1.0)];
                    free = free.max(cell * above(values));
                    stay = stay.max(cell * above(values.map(|v| -v)));
                }
            }
            if seen.grown == S::ZERO {
                free = free.max(samples.way_to(inner, along));
            }
        }
        Ahead { phi, normal, free, stay }
    }
    fn grown(&self, of: Ahead, by: f64) -> Ahead {
        let phi = of.phi - by;
        let (free, stay) = (self.scale * phi.max(0.0), of.stay.max(self.scale * -phi));
        Ahead { phi, free, stay, ..of }
    }
    fn union(&self, a: Ahead, b: Ahead) -> Ahead {
        let nearer = if b.phi >= a.phi { a } else { b };
        Ahead { free: a.free.min(b.free), stay: a.stay.max(b.stay), ..nearer }
    }
    fn intersection(&self, a: Ahead, b: Ahead) -> Ahead {
        let farther = if a.phi >= b.phi { a } else { b };
        Ahead { free: a.free.max(b.free), stay: a.stay.min(b.stay), ..farther }
    }
    fn difference(&self, a: Ahead, b: Ahead) -> Ahead {
        let outside = Ahead { phi: -b.phi, normal: -b.normal, free: b.stay, stay: b.free };
        Judge::<S>::intersection(self, a, outside)
    }
}

impl Ray {
    /// How far the ray stays inside a convex part that it is inside of: what is between two places inside is inside.
    fn way_out<S: Real>(&self, seen: &Seen<'_, S>) -> f64 {
        let inner = seen.frame.inner(Vec3::<S>::from_double(self.place)).to_double();
        let along = seen.frame.unturn(Vec3::<S>::from_double(self.direction)).to_double();
        let inside = |way: f64| seen.phi_at(inner + along * way) <= 0.0;
        let (mut near, mut far) = (-seen.phi, f64::INFINITY);
        for _ in 0..SEARCH {
            if !inside(2.0 * near) {
                far = 2.0 * near;
                break;
            }
            near *= 2.0;
            if near > self.left {
                return near;
            }
        }
        for _ in 0..SEARCH {
            if far - near <= 0.25 * self.extent || !far.is_finite() {
                break;
            }
            let middle = 0.5 * (near + far);
            if inside(middle) { near = middle } else { far = middle }
        }
        near
    }
}

/// The share of a stretch, 0 to 1, over which a cubic stays above 0, from its values at 0, 1/3, 2/3 and 1.
///
/// It lies within the hull of its control points (k/3, bₖ): before the hull reaches 0, the cubic does not.   [Sederberg 1990]
fn above([p, q, r, s]: [f64; 4]) -> f64 {
    let b = [p, (-5.0 * p + 18.0 * q - 9.0 * r + 2.0 * s) / 6.0, (2.0 * p - 9.0 * q + 18.0 * r - 5.0 * s) / 6.0, s];
    if p <= 0.0 {
        return 0.0;
    }
    let mut share = 1.0_f64;
    for (i, &high) in b.iter().enumerate().filter(|(_, high)| **high > 0.0) {
        for (j, &low) in b.iter().enumerate().filter(|(_, low)| **low <= 0.0) {
            let (i, j) = (i as f64 / 3.0, j as f64 / 3.0);
            share = share.min(i + (j - i) * (high / (high - low)));
        }
    }
    share
}

impl<S: Real> Solid<S> {
    /// Where a ray in the collider's frame enters the solid within `reach` \[m\], and the normal there; `direction` is a unit
    /// vector. Every step is as long as the parts of the solid allow.
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
        let (blur, scale) = (BLUR * S::EPSILON.to_f64(), self.inv_lipschitz.to_f64());
        let hollow = self.program.operations.iter().any(|operation| matches!(operation, Operation::Difference));
        for _ in 0..STEPS {
            if t > reach || !t.is_finite() {
                return None;
            }
            let place = origin + direction * t;
            let extent = ARRIVED * (1e-3 + place.length());
            let ray = Ray { place, direction, left: reach - t, extent, blur, scale, hollow };
            let ahead = self.program.judge(&ray, place)?;
            if ahead.phi <= extent {
                return Some((t, ahead.normal));
            }
            if radius.is_finite()
                && t > 0.0
                && (place - centre).length() > radius
                && (place - centre).dot(direction) > 0.0
            {
                return None;
            }
            t += ahead.free;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::super::{Collider, Colliders, Shape};
    use super::*;
    use crate::mesh::TriMesh;

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

    /// A box as a mesh.
    fn plate(half: [f64; 3], cells: usize) -> Shape {
        let corner = |i: u32| std::array::from_fn(|k| if i >> k & 1 == 0 { -half[k] } else { half[k] });
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = quads.iter().flat_map(|q: &[u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]);
        let mesh = TriMesh::new((0..8).map(corner).collect::<Vec<[f64; 3]>>(), triangles.collect::<Vec<_>>());
        Collider::mesh(&mesh.expect("a mesh"), cells).expect("closed").shape
    }

    /// Combined shapes and sampled ones end at their surface at any angle.
    #[test]
    fn shallow_rays_reach_combined_floors() {
        let slab = Shape::Cuboid { half: [2000.0, 0.5, 2000.0] }.translated([0.0, -0.5, 0.0]);
        let kerb = Shape::Cuboid { half: [2000.0, 0.2, 0.1] }.translated([0.0, 0.0, 5.0]);
        let hole = Shape::Sphere { radius: 0.2 }.translated([0.0, 0.0, 50.0]);
        let round = slab.clone().rounded(0.1).union(kerb.clone());
        // From within: the floor of a tunnel.
        let tunnel = Shape::Cuboid { half: [3000.0, 50.0, 50.0] }
            .difference(Shape::Cuboid { half: [1500.0, 2.0, 2.0] }.translated([0.0, 2.0, 0.0]));
        let shapes = [
            slab.clone().union(kerb.clone()),
            slab.clone().difference(hole.clone()),
            slab.union(kerb).difference(hole),
            round,
            tunnel,
            plate([500.0, 50.0, 500.0], 64).translated([0.0, -50.0, 0.0]),
        ];
        for (at, shape) in shapes.iter().enumerate() {
            for degrees in [0.2_f64, 0.5, 1.0, 2.0, 10.0] {
                let (sin, cos) = degrees.to_radians().sin_cos();
                let expected = 1.0 / sin;
                for found in [
                    ray::<f64>(shape, [0.0, 1.0, 0.0], [cos, -sin, 0.0], 1000.0),
                    ray::<f32>(shape, [0.0, 1.0, 0.0], [cos, -sin, 0.0], 1000.0),
                ] {
                    let (t, n) = found.unwrap_or_else(|| panic!("shape {at} at {degrees}°: passed"));
                    assert!((t - expected).abs() * sin < 4e-6 * expected + 4e-6, "shape {at}, {degrees}°: {t}");
                    assert!(n.y > 0.99, "shape {at}, {degrees}°: {n:?}");
                }
            }
        }
        // What passes it at a shallow angle does not end at the surface of nothing.
        assert!(ray::<f64>(&shapes[1], [0.0, 0.01, 0.0], [1.0, 1e-6, 0.0], 1000.0).is_none());
        assert!(ray::<f64>(&shapes[5], [0.0, 0.01, 0.0], [1.0, 1e-6, 0.0], 450.0).is_none());
    }

    /// Many rays at shapes of every kind, against looking closely along the way: nothing in front is skipped.
    #[test]
    fn rays_stop_where_the_distance_does() {
        let cuboid = Shape::Cuboid { half: [0.4, 0.1, 0.3] };
        let ball = Shape::Sphere { radius: 0.2 }.translated([0.2, 0.1, 0.0]);
        let rod = Shape::Cylinder { radius: 0.05, half_height: 0.5 }.translated([-0.2, 0.0, 0.1]);
        let ring = Shape::Torus { major: 0.3, minor: 0.06 };
        let shapes = [
            cuboid.clone().union(ball.clone()).union(ring.clone()),
            cuboid.clone().difference(ball.clone()).difference(rod.clone()),
            cuboid.clone().intersection(ball.clone().union(rod.clone())),
            cuboid.clone().rounded(0.04).difference(ring.union(rod.clone())),
            cuboid.clone().difference(ball.difference(rod.clone())).offset(0.03),
            plate([0.4, 0.1, 0.3], 32).difference(rod.clone()),
            cuboid.difference(plate([0.3, 0.2, 0.05], 24)).union(rod),
            plate([0.4, 0.02, 0.3], 48).offset(0.05),
        ];
        let mut random = Random(5);
        for (at, shape) in shapes.iter().enumerate() {
            let set = Colliders::<f64>::new([Collider::new(shape.clone())]).expect("valid");
            let solid = &set.solids()[0];
            let (mut hits, mut passes) = (0, 0);
            for _ in 0..150 {
                let from = Vec3::from(random.point());
                let aim = Vec3::from(random.point()) * 0.4 - from;
                let along = aim * (1.0 / aim.length());
                let phi = |t: f64| solid.program.eval(from + along * t).0;
                let (found, step) = (solid.ray(from, along, 3.0), 2e-4);
                let first = (0..15_000).map(|i| step * f64::from(i)).find(|&t| phi(t) <= 0.0);
                match (found, first) {
                    (Some((t, _)), _) => {
                        assert!(phi(t) < 1e-5, "shape {at}: ends in the air");
                        assert!(first.is_none_or(|first| t <= first + 1e-9), "shape {at}: {t}, not {first:?}");
                        hits += 1;
                    }
                    (None, Some(first)) => panic!("shape {at}, from {from:?} along {along:?}: passed {first}"),
                    (None, None) => passes += 1,
                }
            }
            assert!(hits > 15 && passes > 15, "shape {at}: {hits} hits, {passes} passes");
        }
    }
}
