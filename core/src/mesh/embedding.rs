//! Embeddings: a fine mesh that follows a coarse one, so that a few particles move a detailed picture.
//!
//! Each fine vertex hangs on one triangle or tetrahedron of the coarse rest shape by barycentric coordinates, which no affine
//! motion changes; beside a triangle also by its height over the triangle's plane, which no rigid motion changes.

use super::error::MeshError;
use super::{TetMesh, TriMesh};
use ultraviolet::DVec3;

/// Where fine vertices hang on a coarse mesh.
///
/// ```
/// use pliant_core::mesh::{ClothGrid, Embedding};
///
/// let coarse = ClothGrid::square(1.0, 5).build()?.mesh;
/// let fine = ClothGrid::square(1.0, 33).build()?.mesh;
/// let embedding = Embedding::in_triangles(&coarse, fine.positions().iter().map(|&p| p.into()))?;
///
/// // The coarse mesh moves (here it is lifted), and the fine one with it.
/// let moved: Vec<[f32; 3]> = coarse.positions().iter().map(|p| [p.x as f32, 2.0, p.z as f32]).collect();
/// let mut vertices = vec![[0.0; 3]; fine.vertex_count()];
/// embedding.drive(|p| moved[p], &mut vertices)?;
/// assert_eq!(vertices[500][1], 2.0);
/// # Ok::<(), pliant_core::mesh::MeshError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embedding {
    /// Corners; those of triangles repeat the first one, with weight 0.
    corners: Vec<[u32; 4]>,
    weights: Vec<[f32; 4]>,
    /// Height over the plane of the first three corners \[m\].
    height: Vec<f32>,
}

impl Embedding {
    /// Hangs points on the nearest triangle of a surface.
    ///
    /// # Errors
    /// [`MeshError::Empty`] without triangles, [`MeshError::BadParameter`] when a point is not finite.
    pub fn in_triangles(coarse: &TriMesh, points: impl IntoIterator<Item = [f64; 3]>) -> Result<Self, MeshError> {
        let x = coarse.positions();
        let elements: Vec<_> = coarse.triangles().iter().map(|&[a, b, c]| [a, b, c, a]).collect();
        Self::of(x, &elements, points, |corners, point| {
            let [a, b, c, _] = corners.map(|p| x[p as usize]);
            let distance = nearest(a, b, c, point);
            let n = (b - a).cross(c - a);
            let (v, w) = ((b - a).dot((c - a).cross(n)), (c - a).dot(n.cross(b - a)));
            let weight_b = (point - a).dot((c - a).cross(n)) / v;
            let weight_c = (point - a).dot(n.cross(b - a)) / w;
            (distance, [1.0 - weight_b - weight_c, weight_b, weight_c, 0.0], (point - a).dot(n) / n.mag())
        })
    }

    /// Hangs points on the tetrahedron they are in, or that they are least outside of.
    ///
    /// # Errors
    /// [`MeshError::Empty`] without tetrahedra, [`MeshError::BadParameter`] when a point is not finite.
    pub fn in_tets(coarse: &TetMesh, points: impl IntoIterator<Item = [f64; 3]>) -> Result<Self, MeshError> {
        let x = coarse.positions();
        Self::of(x, coarse.tets(), points, |corners, point| {
            let [a, b, c, d] = corners.map(|p| x[p as usize]);
            let (e, f, g, p) = (b - a, c - a, d - a, point - a);
            let whole = e.cross(f).dot(g);
            let (wb, wc, wd) = (p.cross(f).dot(g) / whole, e.cross(p).dot(g) / whole, e.cross(f).dot(p) / whole);
            let weights = [1.0 - wb - wc - wd, wb, wc, wd];
            let faces = [(a, b, c), (a, b, d), (a, c, d), (b, c, d)];
            let outside = faces.iter().map(|&(a, b, c)| nearest(a, b, c, point)).fold(f64::INFINITY, f64::min);
            (if weights.iter().all(|&w| w >= 0.0) { 0.0 } else { outside }, weights, 0.0)
        })
    }

    fn of(
        x: &[DVec3],
        elements: &[[u32; 4]],
        points: impl IntoIterator<Item = [f64; 3]>,
        measure: impl Fn([u32; 4], DVec3) -> (f64, [f64; 4], f64),
    ) -> Result<Self, MeshError> {
        if elements.is_empty() {
            return Err(MeshError::Empty { what: "elements" });
        }
        let boxes: Vec<[DVec3; 2]> = elements.iter().map(|corners| around(x, corners)).collect();
        let mut found = Self { corners: Vec::new(), weights: Vec::new(), height: Vec::new() };
        for point in points {
            if let Some(&value) = point.iter().find(|c| !c.is_finite()) {
                let (name, expected) = ("coordinate of a point", "a finite number");
                return Err(MeshError::BadParameter { name, value, expected });
            }
            let point = DVec3::from(point);
            // Every element is looked at; most are ruled out by the distance to the box around them.
            let mut best = (f64::INFINITY, elements[0], [1.0, 0.0, 0.0, 0.0], 0.0);
            for (&corners, &[low, high]) in elements.iter().zip(&boxes) {
                let outside = point - point.clamped(low, high);
                if outside.mag_sq() < best.0 {
                    let (distance, weights, height) = measure(corners, point);
                    if distance < best.0 {
                        best = (distance, corners, weights, height);
                    }
                }
            }
            let (_, corners, weights, height) = best;
            found.corners.push(corners);
            found.weights.push(weights.map(|w| w as f32));
            found.height.push(height as f32);
        }
        Ok(found)
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        self.corners.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// Writes where the fine vertices are when the coarse ones are at `position(vertex)` \[m\].
    ///
    /// # Errors
    /// [`MeshError::BufferLength`] unless `vertices` has one row a fine vertex.
    pub fn drive(&self, position: impl Fn(usize) -> [f32; 3], vertices: &mut [[f32; 3]]) -> Result<(), MeshError> {
        if vertices.len() != self.len() {
            return Err(MeshError::BufferLength { expected: self.len(), found: vertices.len() });
        }
        for (((corners, weights), &height), vertex) in
            self.corners.iter().zip(&self.weights).zip(&self.height).zip(vertices)
        {
            let x = corners.map(|p| position(p as usize));
            // From the first corner, which weights that add up to 1 allow: exact far from the origin.
            let edge = [1, 2, 3].map(|k| [x[k][0] - x[0][0], x[k][1] - x[0][1], x[k][2] - x[0][2]]);
            let mut place = x[0];
            for c in 0..3 {
                place[c] += weights[1] * edge[0][c] + weights[2] * edge[1][c] + weights[3] * edge[2][c];
            }
            if height != 0.0 {
                let [e, f, _] = edge;
                let n = [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]];
                let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                if length > 0.0 {
                    for c in 0..3 {
                        place[c] += n[c] / length * height;
                    }
                }
            }
            *vertex = place;
        }
        Ok(())
    }
}

/// The box around an element.
fn around(x: &[DVec3], corners: &[u32; 4]) -> [DVec3; 2] {
    let [a, b, c, d] = corners.map(|p| x[p as usize]);
    let low = a.min_by_component(b).min_by_component(c).min_by_component(d);
    [low, a.max_by_component(b).max_by_component(c).max_by_component(d)]
}

/// Squared distance of a point to a triangle with area \[m²\].
fn nearest(a: DVec3, b: DVec3, c: DVec3, p: DVec3) -> f64 {
    let n = (b - a).cross(c - a);
    let sides = [(a, b), (b, c), (c, a)];
    if sides.iter().all(|&(s, t)| n.cross(t - s).dot(p - s) >= 0.0) {
        let height = (p - a).dot(n);
        return height * height / n.mag_sq();
    }
    let from = |&(s, t): &(DVec3, DVec3)| {
        let along = ((p - s).dot(t - s) / (t - s).mag_sq()).clamp(0.0, 1.0);
        (p - s - (t - s) * along).mag_sq()
    };
    sides.iter().map(from).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::mesh::{ClothGrid, Split, icosphere, tet_box};

    fn check(embedding: &Embedding, coarse: &[DVec3], fine: &[DVec3], place: impl Fn(DVec3) -> DVec3) {
        let moved: Vec<[f32; 3]> = coarse.iter().map(|&p| <[f64; 3]>::from(place(p)).map(|c| c as f32)).collect();
        let mut vertices = vec![[0.0; 3]; fine.len()];
        embedding.drive(|p| moved[p], &mut vertices).unwrap();
        for (found, &p) in vertices.iter().zip(fine) {
            let wanted = <[f64; 3]>::from(place(p));
            for c in 0..3 {
                assert!((f64::from(found[c]) - wanted[c]).abs() < 2e-6, "{found:?} for {wanted:?}");
            }
        }
    }

    /// Any affine motion: a shear, a stretch and a shift.
    fn affine(p: DVec3) -> DVec3 {
        DVec3::new(1.3 * p.x + 0.4 * p.y - 0.1 * p.z + 0.5, 0.7 * p.y - 0.2 * p.x, 0.9 * p.z + 0.3 * p.x - 1.0)
    }

    #[test]
    fn a_sheet_follows_any_affine_motion() {
        let coarse = ClothGrid::square(1.0, 6).build().unwrap().mesh;
        // No multiple of the coarse cells, so that points fall anywhere in triangles.
        let fine = ClothGrid::square(1.0, 38).build().unwrap().mesh;
        let embedding = Embedding::in_triangles(&coarse, fine.positions().iter().map(|&p| p.into())).unwrap();
        check(&embedding, coarse.positions(), fine.positions(), affine);
    }

    #[test]
    fn a_solid_takes_all_points_along_in_any_affine_motion() {
        let coarse = tet_box([2, 3, 2], [1.0, 1.5, 1.0], Split::Five).unwrap();
        let fine = icosphere(1.0, 2).unwrap();
        let embedding = Embedding::in_tets(&coarse, fine.positions().iter().map(|&p| p.into())).unwrap();
        check(&embedding, coarse.positions(), fine.positions(), affine);
    }

    #[test]
    fn points_beside_a_surface_follow_rigid_motions() {
        let coarse = icosphere(1.0, 1).unwrap();
        let fine = icosphere(1.1, 3).unwrap();
        let embedding = Embedding::in_triangles(&coarse, fine.positions().iter().map(|&p| p.into())).unwrap();
        let (sin, cos) = 1.1_f64.sin_cos();
        check(&embedding, coarse.positions(), fine.positions(), |p| {
            DVec3::new(cos * p.x - sin * p.z + 0.3, p.y - 2.0, sin * p.x + cos * p.z)
        });
    }

    #[test]
    fn bad_input_is_named() {
        let sheet = ClothGrid::square(1.0, 3).build().unwrap().mesh;
        assert!(Embedding::in_triangles(&sheet, [[f64::NAN, 0.0, 0.0]]).is_err());
        let one = Embedding::in_triangles(&sheet, [[0.5; 3]]).unwrap();
        assert!(one.drive(|_| [0.0; 3], &mut []).is_err());
    }
}
