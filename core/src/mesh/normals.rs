//! Normals of a moving surface, for vertex buffers and wind: computed in place, without allocation.
//!
//! Positions are whatever `position(vertex)` returns, so columns, rows and vertex buffers all serve. A triangle or
//! vertex without a direction (no area, or a coordinate that is not finite) gets the zero vector, never a NaN.

use super::error::MeshError;
use super::validate::check_range;

/// Writes the unit normal of each triangle, counter-clockwise corners facing the viewer.
///
/// ```
/// use pliant_core::mesh::triangle_normals;
///
/// let positions = [[0.0_f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let mut normals = [[0.0; 3]];
/// triangle_normals(&[[0, 1, 2]], |v| positions[v], &mut normals)?;
/// assert_eq!(normals, [[0.0, 0.0, 1.0]]);
/// # Ok::<(), pliant_core::mesh::MeshError>(())
/// ```
///
/// # Errors
/// [`MeshError::BufferLength`] unless `normals` has one row a triangle.
pub fn triangle_normals(
    triangles: &[[u32; 3]],
    position: impl Fn(usize) -> [f32; 3],
    normals: &mut [[f32; 3]],
) -> Result<(), MeshError> {
    if normals.len() != triangles.len() {
        return Err(MeshError::BufferLength { expected: triangles.len(), found: normals.len() });
    }
    for (triangle, normal) in triangles.iter().zip(normals) {
        *normal = unit(area_vector(triangle.map(|v| position(v as usize))));
    }
    Ok(())
}

/// Writes the unit normal of each vertex: the mean of its triangles' normals, weighted by their areas.
///
/// `normals` has one row a vertex; a vertex without triangles gets the zero vector.
///
/// # Errors
/// [`MeshError::IndexOutOfRange`] for a triangle with a vertex that `normals` has no row for; nothing is written then.
pub fn vertex_normals(
    triangles: &[[u32; 3]],
    position: impl Fn(usize) -> [f32; 3],
    normals: &mut [[f32; 3]],
) -> Result<(), MeshError> {
    for (row, triangle) in triangles.iter().enumerate() {
        check_range("triangle", row, triangle, normals.len())?;
    }
    normals.fill([0.0; 3]);
    for triangle in triangles {
        let twice_area = area_vector(triangle.map(|v| position(v as usize)));
        // One bad corner must not spoil the neighbours.
        if twice_area.iter().all(|c| c.is_finite()) {
            for &v in triangle {
                let normal = &mut normals[v as usize];
                *normal = std::array::from_fn(|axis| normal[axis] + twice_area[axis]);
            }
        }
    }
    for normal in normals {
        *normal = unit(*normal);
    }
    Ok(())
}

/// (b − a) × (c − a): along the normal, twice the area long \[m²\].
fn area_vector([a, b, c]: [[f32; 3]; 3]) -> [f32; 3] {
    let [ux, uy, uz] = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    let [vx, vy, vz] = [c[0] - a[0], c[1] - a[1], c[2] - a[2]];
    [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx]
}

/// The vector at unit length, or zero if it has no direction.
fn unit(v: [f32; 3]) -> [f32; 3] {
    // Scaled by its largest component first: squares of small areas would underflow.
    let largest = v.iter().fold(0.0_f32, |m, c| m.max(c.abs()));
    let [x, y, z] = v.map(|c| c / largest);
    let length = (x * x + y * y + z * z).sqrt();
    if length.is_finite() { [x / length, y / length, z / length] } else { [0.0; 3] }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::super::icosphere;
    use super::*;

    const SQUARE: [[f32; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]];

    #[test]
    fn vertex_normals_of_a_ball_point_outward() {
        let ball = icosphere(0.02, 3).unwrap();
        let position = |v: usize| <[f64; 3]>::from(ball.positions()[v]).map(|x| x as f32);
        let mut normals = vec![[7.0; 3]; ball.vertex_count()];
        vertex_normals(ball.triangles(), position, &mut normals).unwrap();
        for (v, normal) in normals.iter().enumerate() {
            let outward = position(v).map(|x| x / 0.02);
            let cosine: f32 = (0..3).map(|k| normal[k] * outward[k]).sum();
            assert!(cosine > 0.999, "{cosine}");
        }
    }

    #[test]
    fn larger_triangles_weigh_more() {
        // Vertex 0 has a triangle of area 2 facing z and one of area 1/2 facing x.
        let positions = [[0.0; 3], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut normals = [[0.0; 3]; 5];
        vertex_normals(&[[0, 1, 2], [0, 3, 4]], |v| positions[v], &mut normals).unwrap();
        let length = 17.0_f32.sqrt();
        assert!((normals[0][0] - 1.0 / length).abs() < 1e-6);
        assert!((normals[0][2] - 4.0 / length).abs() < 1e-6);
        assert_eq!(normals[4], [1.0, 0.0, 0.0]);
    }

    #[test]
    fn no_direction_is_zero_and_never_nan() {
        let mut normals = [[9.0; 3]; 2];
        let line = [[0.0; 3], [1.0; 3], [2.0; 3], [f32::NAN; 3]];
        triangle_normals(&[[0, 1, 2], [0, 1, 3]], |v| line[v], &mut normals).unwrap();
        assert_eq!(normals, [[0.0; 3]; 2]);

        let mut broken = SQUARE;
        broken[3][1] = f32::INFINITY;
        let mut normals = [[9.0; 3]; 5];
        vertex_normals(&[[0, 2, 1], [1, 2, 3]], |v| broken[v], &mut normals).unwrap();
        assert_eq!(normals[..3], [[0.0, 1.0, 0.0]; 3], "the good triangle decides");
        assert_eq!(normals[3..], [[0.0; 3]; 2], "a bad corner, and no triangle");
    }

    #[test]
    fn small_triangles_have_normals_too() {
        let tiny = SQUARE.map(|p| p.map(|x| x * 1e-15));
        let mut normals = [[0.0; 3]];
        triangle_normals(&[[0, 2, 1]], |v| tiny[v], &mut normals).unwrap();
        assert_eq!(normals, [[0.0, 1.0, 0.0]]);
    }

    #[test]
    fn wrong_buffers_are_refused() {
        let error = triangle_normals(&[[0, 2, 1]], |v| SQUARE[v], &mut []).unwrap_err();
        let expected = MeshError::BufferLength { expected: 1, found: 0 };
        assert_eq!(error, expected);

        let mut normals = [[5.0; 3]; 3];
        let error = vertex_normals(&[[0, 2, 1], [1, 2, 3]], |v| SQUARE[v], &mut normals).unwrap_err();
        assert!(matches!(error, MeshError::IndexOutOfRange { row: 1, corner: 2, index: 3, .. }));
        assert_eq!(normals, [[5.0; 3]; 3]);
    }
}
