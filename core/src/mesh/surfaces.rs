//! Ready-made surfaces: a ball and a sleeve.

use super::error::MeshError;
use super::topology::Topology;
use super::tri::TriMesh;
use super::validate::{check_at_least, check_size, check_vertex_count};
use std::f64::consts::FRAC_PI_2;
use ultraviolet::DVec3;

/// The finest ball: 10 · 4¹⁰ + 2 vertices, about ten million.
const MAX_SUBDIVISIONS: u32 = 10;

/// A ball's surface around the origin, radius in \[m\], normals outward: an icosahedron whose triangles are cut into four
/// `subdivisions` times, with every vertex on the sphere.
///
/// It has 10 · 4ⁿ + 2 vertices and 20 · 4ⁿ triangles; the first 12 vertices are the icosahedron's, whatever n.
///
/// # Errors
/// [`MeshError::BadParameter`] unless the radius is positive and finite and there are at most 10 subdivisions.
pub fn icosphere(radius: f64, subdivisions: u32) -> Result<TriMesh, MeshError> {
    check_size("radius", radius)?;
    if subdivisions > MAX_SUBDIVISIONS {
        return Err(MeshError::BadParameter {
            name: "subdivisions",
            value: f64::from(subdivisions),
            expected: "at most 10",
        });
    }
    let (mut directions, mut triangles) = icosahedron();
    for _ in 0..subdivisions {
        let edges = Topology::new(&triangles).edges;
        let first_new = directions.len() as u32;
        let middle = |a: u32, b: u32| {
            let edge = edges.binary_search(&[a.min(b), a.max(b)]).expect("a triangle's side is one of the edges");
            first_new + edge as u32
        };
        triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
        for [a, b] in edges {
            directions.push((directions[a as usize] + directions[b as usize]).normalized());
        }
    }
    TriMesh::new(directions.into_iter().map(|d| d * radius), triangles)
}

/// The regular icosahedron on the unit sphere.
fn icosahedron() -> (Vec<DVec3>, Vec<[u32; 3]>) {
    // Three golden rectangles, one in each coordinate plane.
    let golden = (1.0 + 5.0_f64.sqrt()) / 2.0;
    let planes: [fn(f64, f64) -> DVec3; 3] = [
        |short, long| DVec3::new(short, long, 0.0),
        |short, long| DVec3::new(0.0, short, long),
        |short, long| DVec3::new(long, 0.0, short),
    ];
    let corners = [(-1.0, golden), (1.0, golden), (-1.0, -golden), (1.0, -golden)];
    let directions =
        planes.iter().flat_map(|place| corners.map(|(short, long)| place(short, long).normalized())).collect();
    #[rustfmt::skip]
    let triangles = vec![
        [0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11],  // around vertex 0
        [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6], [7, 1, 8],  // the neighbours of those
        [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9],      // around vertex 3, opposite to 0
        [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1],    // the neighbours of those
    ];
    (directions, triangles)
}

/// An open cylinder around the y axis from y = 0 to y = `length`, without caps, normals outward; sizes in \[m\].
///
/// `around` vertices make a ring and `along` segments its length. Vertex `k · around + i` is the i-th of ring k,
/// counted from +x towards +z.
///
/// # Errors
/// [`MeshError::BadParameter`] for sizes that are not positive and finite, fewer than 3 vertices around or no segment
/// along, [`MeshError::TooManyVertices`] for more than 32-bit ids can name.
pub fn tube(radius: f64, length: f64, around: usize, along: usize) -> Result<TriMesh, MeshError> {
    check_size("radius", radius)?;
    check_size("length", length)?;
    check_at_least("around", around, 3, "at least 3 vertices")?;
    check_at_least("along", along, 1, "at least 1 segment")?;
    let ring_count = along.checked_add(1);
    check_vertex_count(ring_count.and_then(|rings| rings.checked_mul(around)))?;

    let positions = (0..=along).flat_map(|k| {
        let y = length * k as f64 / along as f64;
        (0..around).map(move |i| {
            let (x, z) = unit_circle(i, around);
            DVec3::new(radius * x, y, radius * z)
        })
    });
    let id = |i: usize, k: usize| (k * around + i % around) as u32;
    let triangles = (0..along).flat_map(|k| {
        (0..around).flat_map(move |i| {
            let [a, b] = [id(i, k), id(i + 1, k)];
            let [c, d] = [id(i, k + 1), id(i + 1, k + 1)];
            [[a, c, d], [a, d, b]]
        })
    });
    TriMesh::new(positions, triangles)
}

/// (cos φ, sin φ) for φ = 2π i/n, i < n, correct to a few units in the last place.
///
/// The platform's sine differs between platforms; this one uses exactly rounded operations only, so a mesh has the same
/// bits everywhere. Points a quarter turn apart are exact rotations of one another.
fn unit_circle(i: usize, n: usize) -> (f64, f64) {
    // The nearest quarter turn, in whole numbers; what is left is an angle t in [−π/4, π/4].
    let (i, n) = (i as i64, n as i64);
    let quarter = (8 * i + n) / (2 * n);
    let t = FRAC_PI_2 * (4 * i - quarter * n) as f64 / n as f64;
    // Taylor series up to t¹⁷: the next term is below (π/4)¹⁸/18! = 2e-18.
    let series = |first: i32| {
        (0..8).rev().fold(1.0, |sum, k| {
            let m = f64::from(first + 2 * k);
            1.0 - sum * t * t / (m * (m + 1.0))
        })
    };
    let (cos, sin) = (series(1), t * series(2));
    match quarter % 4 {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use std::f64::consts::{PI, TAU};

    #[test]
    fn an_icosphere_approaches_the_sphere() {
        for n in 0..5 {
            let ball = icosphere(2.0, n).unwrap();
            assert_eq!(ball.vertex_count(), 10 * 4_usize.pow(n) + 2);
            assert_eq!(ball.triangle_count(), 20 * 4_usize.pow(n));
            for p in ball.positions() {
                assert!((p.mag() - 2.0).abs() < 1e-14);
            }
            let missing = 1.0 - ball.volume().unwrap() / (PI * 32.0 / 3.0);
            let bound = 0.6 * 0.25_f64.powi(n as i32);
            assert!(missing > 0.0 && missing < bound, "{n}: {missing}");
        }
    }

    #[test]
    fn a_tube_is_an_open_cylinder_facing_outward() {
        let sleeve = tube(0.5, 2.0, 64, 10).unwrap();
        assert_eq!(sleeve.vertex_count(), 64 * 11);
        assert_eq!(sleeve.triangle_count(), 2 * 64 * 10);
        assert_eq!(sleeve.topology().unwrap().boundary.len(), 2 * 64);
        assert!((sleeve.area() / (TAU * 0.5 * 2.0) - 1.0).abs() < 1e-3);
        for t in sleeve.triangles() {
            let [a, b, c] = t.map(|v| sleeve.positions()[v as usize]);
            let middle = (a + b + c) / 3.0;
            let outward = DVec3::new(middle.x, 0.0, middle.z);
            assert!((b - a).cross(c - a).dot(outward) > 0.0);
        }
    }

    #[test]
    fn the_unit_circle_agrees_with_the_platform() {
        for n in [3, 4, 5, 7, 8, 12, 100, 1023] {
            for i in 0..n {
                let (cos, sin) = unit_circle(i, n);
                let angle = TAU * i as f64 / n as f64;
                assert!((cos - angle.cos()).abs() < 1e-14, "{i}/{n}");
                assert!((sin - angle.sin()).abs() < 1e-14, "{i}/{n}");
                assert!((cos * cos + sin * sin - 1.0).abs() < 1e-15);
            }
        }
        assert_eq!(unit_circle(1, 4), (0.0, 1.0));
        assert_eq!(unit_circle(2, 4), (-1.0, 0.0));
    }

    #[test]
    fn bad_parameters_are_named() {
        let refused = |mesh: Result<TriMesh, MeshError>| match mesh {
            Err(MeshError::BadParameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(icosphere(0.0, 1)), "radius");
        assert_eq!(refused(icosphere(1.0, 11)), "subdivisions");
        assert_eq!(refused(tube(f64::NAN, 1.0, 8, 1)), "radius");
        assert_eq!(refused(tube(1.0, -1.0, 8, 1)), "length");
        assert_eq!(refused(tube(1.0, 1.0, 2, 1)), "around");
        assert_eq!(refused(tube(1.0, 1.0, 8, 0)), "along");
        let error = tube(1.0, 1.0, usize::MAX, usize::MAX).unwrap_err();
        assert!(matches!(error, MeshError::TooManyVertices { .. }));
    }
}
