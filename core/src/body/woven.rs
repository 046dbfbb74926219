//! Woven sheets: cloth with a warp and a weft, as a continuum, and limits to its stretch in either direction.

use super::{Bending, Body, Role};
use crate::error::BuildError;
use crate::kinds::{Orthotropic, TriangleStrain};
use crate::mesh::TriMesh;

/// How far cloth may be stretched or compressed along a direction of its material, as ratios of the rest length.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct StretchRange {
    /// Shortest, 0 to 1 \[1\].
    pub lower: f64,
    /// Longest, 1 or more \[1\].
    pub upper: f64,
}

impl Body {
    /// A sheet of woven triangles of this thickness \[m\] whose warp runs along `warp`, projected into each triangle; bending
    /// of the chosen kind, 0.2 kg/m² unless changed. For every method: triangles are constraints and energies at once.
    ///
    /// ```
    /// use pliant_core::body::{Bending, Body};
    /// use pliant_core::kinds::Orthotropic;
    /// use pliant_core::mesh::ClothGrid;
    ///
    /// let mesh = ClothGrid::square(1.0, 20).build()?.mesh;
    /// let twill = Orthotropic { young: [2.0e6, 0.8e6], poisson: 0.2, shear: 2.0e4 };
    /// let sheet = Body::woven_sheet(&mesh, &twill, 5e-4, [1.0, 0.0, 0.0], Bending::Isometric)?;
    /// assert_eq!(sheet.tables().triangle_strain.ids.len(), 3 * mesh.triangle_count());
    /// # Ok::<(), pliant_core::error::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// When a modulus or the thickness is outside its range, a triangle is perpendicular to the warp, or as for
    /// [`Body::surface`].
    pub fn woven_sheet(
        mesh: &TriMesh,
        stiffness: &Orthotropic,
        thickness: f64,
        warp: [f64; 3],
        bending: Bending,
    ) -> Result<Self, BuildError> {
        let rows = stiffness.rows()?;
        if !(thickness.is_finite() && thickness > 0.0) {
            let expected = "a finite number above 0";
            return Err(BuildError::BadOption { name: "thickness", value: thickness, expected });
        }
        let mut body = Self::surface(mesh, bending)?;
        // The triangles resist stretch in place of the links.
        body.tables.distance.keep(|role| role != Role::Stretch);
        for (row, triangle) in mesh.triangles().iter().enumerate() {
            let ([p0, p1, p2, p3], area) = body.frame(row, *triangle, warp)?;
            for [a, b, c] in rows {
                body.tables.triangle_strain.push_scaled(*triangle, [p0, p1, p2, p3, a, b, c], area * thickness);
            }
        }
        Ok(body)
    }

    /// Limits the stretch of every surface triangle along the warp, and along the weft perpendicular to it. The limits are
    /// rigid unless [`Role::Stretch`] is given a compliance afterwards \[m/N\].
    ///
    /// A limit is a ratio, not a length: with stiffness k of the role and the triangle's rest area A, stretch s beyond a bound b
    /// costs ½ k A (s − b)² \[J\], as a link of length √A does that is as much too long. One number then means the same for
    /// links and limits, whatever the size of the triangles.
    ///
    /// # Errors
    /// When a limit is outside its range, or a triangle is perpendicular to the warp.
    pub fn with_stretch_limits(
        mut self,
        direction: [f64; 3],
        warp: Option<StretchRange>,
        weft: Option<StretchRange>,
    ) -> Result<Self, BuildError> {
        for StretchRange { lower, upper } in [warp, weft].into_iter().flatten() {
            let bad = |name, value, expected| Err(BuildError::BadOption { name, value, expected });
            if !(0.0..=1.0).contains(&lower) {
                return bad("shortest stretch", lower, "0 to 1");
            }
            if !(upper.is_finite() && upper >= 1.0) {
                return bad("longest stretch", upper, "a finite number, 1 or more");
            }
        }
        for row in 0..self.triangles.len() {
            let triangle = self.triangles[row];
            let ([p0, p1, p2, p3], area) = self.frame(row, triangle, direction)?;
            for (order, (range, [a, b])) in [(warp, [p0, p1]), (weft, [p2, p3])].into_iter().enumerate() {
                if let Some(StretchRange { lower, upper }) = range {
                    let table = &mut self.tables.stretch_limit;
                    table.push(Role::Stretch, order as u8, triangle, [a, b, lower, upper]);
                    table.scale_last(area);
                }
            }
        }
        Ok(self)
    }

    fn frame(&self, row: usize, triangle: [u32; 3], warp: [f64; 3]) -> Result<([f64; 4], f64), BuildError> {
        let reason =
            "the warp has no direction in this triangle's plane; choose one that is perpendicular to no triangle";
        let refused = BuildError::Unsupported { what: "triangle", row, reason };
        TriangleStrain::frame(triangle.map(|p| self.rest[p as usize]), warp).ok_or(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::Constraint;
    use crate::kinds::StretchLimit;
    use crate::mesh::ClothGrid;
    use crate::vec3::Vec3;

    #[test]
    fn limits_cost_the_same_however_fine_the_mesh_is() {
        let range = Some(StretchRange { lower: 0.5, upper: 1.1 });
        for side in [3, 9] {
            let mesh = ClothGrid::square(0.5, side).build().expect("a grid").mesh;
            let body = Body::surface(&mesh, Bending::None).expect("a sheet");
            let body = body.with_stretch_limits([1.0, 0.0, 0.0], range, None).expect("limits");
            let body = body.with_compliance(Role::Stretch, 1e-3);
            let limits = &body.tables().stretch_limit;
            let rows = limits.ids.iter().zip(&limits.parameters).zip(&limits.compliance);
            let energy: f64 = rows
                .map(|((ids, p), alpha)| {
                    let x = ids.map(|i| Vec3::from(body.positions()[i as usize]) * 1.3);
                    0.5 * StretchLimit::eval(p, &x).0.powi(2) / alpha
                })
                .sum();
            // ½ k A (s − b)²
            let wanted = 0.5 * 1e3 * 0.25 * 0.2_f64.powi(2);
            assert!((energy / wanted - 1.0).abs() < 1e-9, "{side}: {energy} J, not {wanted} J");
        }
    }
}
