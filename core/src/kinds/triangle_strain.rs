//! Triangle strain: a piece of woven cloth that resists stretch along warp and weft, and shear between them.

use crate::constraint::Constraint;
use crate::error::BuildError;
use crate::lane::Lane;
use crate::vec3::Vec3;

/// C = a ε_uu + b ε_vv + c γ_uv of Green's strain, with u along the warp and v along the weft.
///
/// ```text
///   F_u = e p₀ + f p₁      ε_uu = ½ (F_u·F_u − 1)        e = x₁ − x₀, f = x₂ − x₀
///   F_v = e p₂ + f p₃      ε_vv = ½ (F_v·F_v − 1)        p₀ … p₃: inverse of the rest edge matrix by columns [1/m]
///                          γ_uv = F_u·F_v                p₄ … p₆: a, b, c [√Pa]
/// ```
/// Three rows carry one triangle. With the plane stress moduli K of an orthotropic sheet, factored K = L Lᵀ, they are the
/// components of Lᵀε, so that ½ Σ C² = ½ εᵀ K ε \[J/m³\], and the compliance of each is 1 over area × thickness. No row has
/// a kink or a root: they are polynomials of degree two, zero and with a full gradient at rest.   [METHODS 5]
#[derive(Clone, Copy, Debug)]
pub struct TriangleStrain;

/// How a woven sheet resists strain in its plane.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Orthotropic {
    /// Young's moduli along warp and weft \[Pa\].
    pub young: [f64; 2],
    /// How much the weft shrinks when the warp is stretched, over that stretch; below √(E_warp/E_weft) \[1\].
    pub poisson: f64,
    /// Shear modulus between warp and weft \[Pa\].
    pub shear: f64,
}

impl Orthotropic {
    /// The same in every direction: G = E/(2(1 + ν)).
    pub fn isotropic(young: f64, poisson: f64) -> Self {
        Self { young: [young; 2], poisson, shear: young / (2.0 * (1.0 + poisson)) }
    }

    /// The coefficients a, b, c of the three rows \[√Pa\].
    ///
    /// K = [E₁ ν₁E₂ 0; ν₁E₂ E₂ 0; 0 0 (1 − ν₁ν₂)G]/(1 − ν₁ν₂) with ν₂ = ν₁E₂/E₁; the rows are those of Lᵀ.
    ///
    /// # Errors
    /// When a modulus is not above 0, or Poisson's ratio leaves K without positive determinant.
    pub fn rows(&self) -> Result<[[f64; 3]; 3], BuildError> {
        let Self { young: [warp, weft], poisson, shear } = *self;
        let bad = |name, value, expected| Err(BuildError::BadOption { name, value, expected });
        for (name, value) in [("Young's modulus of the warp", warp), ("Young's modulus of the weft", weft)] {
            if !(value.is_finite() && value > 0.0) {
                return bad(name, value, "a finite number above 0");
            }
        }
        if !(shear.is_finite() && shear > 0.0) {
            return bad("shear modulus", shear, "a finite number above 0");
        }
        let left = 1.0 - poisson * poisson * weft / warp;
        if !(poisson >= 0.0 && left > 0.0) {
            return bad("Poisson's ratio", poisson, "at least 0 and below √(E_warp/E_weft)");
        }
        let (k_11, k_12) = (warp / left, poisson * weft / left);
        // K₂₂ − K₁₂²/K₁₁ = E₂: what is left of the weft when the warp is free to shrink.
        Ok([[k_11.sqrt(), k_12 / k_11.sqrt(), 0.0], [0.0, weft.sqrt(), 0.0], [0.0, 0.0, shear.sqrt()]])
    }
}

impl TriangleStrain {
    /// The inverse of the rest edge matrix by columns \[1/m\] and the area \[m²\] of a rest shape \[m\], with u along the
    /// part of `warp` in the triangle's plane; nothing when the triangle has no area or the warp is perpendicular to it.
    pub fn frame(x: [[f64; 3]; 3], warp: [f64; 3]) -> Option<([f64; 4], f64)> {
        let [x0, x1, x2] = x.map(Vec3::from);
        let (e, f, warp) = (x1 - x0, x2 - x0, Vec3::from(warp));
        let normal = e.cross(f);
        let (twice_area, length) = (normal.length(), warp.length());
        let normal = normal * (1.0 / twice_area);
        let across = normal.cross(warp);
        if !(twice_area > 0.0 && across.length() > 1e-6 * length) {
            return None;
        }
        let v = across * (1.0 / across.length());
        let u = v.cross(normal);
        // D = [e·u f·u; e·v f·v], det D = twice the area.
        let inverse = [f.dot(v), -e.dot(v), -f.dot(u), e.dot(u)].map(|c| c / twice_area);
        Some((inverse, 0.5 * twice_area))
    }

    /// F_u and F_v.
    #[inline(always)]
    pub(crate) fn stretches<L: Lane>(p: &[L; 7], x: &[Vec3<L>; 3]) -> [Vec3<L>; 2] {
        let (e, f) = (x[1] - x[0], x[2] - x[0]);
        [e * p[0] + f * p[1], e * p[2] + f * p[3]]
    }

    /// ∂F_u/∂x and ∂F_v/∂x by corner.
    #[inline(always)]
    pub(crate) fn shape<L: Lane>(p: &[L; 7]) -> [[L; 3]; 2] {
        [[-(p[0] + p[1]), p[0], p[1]], [-(p[2] + p[3]), p[2], p[3]]]
    }
}

impl Constraint<3, 7> for TriangleStrain {
    const NAME: &'static str = "triangle strain";

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 7], x: &[Vec3<L>; 3]) -> (L, [Vec3<L>; 3]) {
        let [u, v] = Self::stretches(p, x);
        let [a, b, c] = [p[4], p[5], p[6]];
        let half = L::constant(0.5);
        let strain_u = half * (u.length_sq() - L::one());
        let strain_v = half * (v.length_sq() - L::one());
        let by_u = u * a + v * c;
        let by_v = v * b + u * c;
        let (grad_1, grad_2) = (by_u * p[0] + by_v * p[2], by_u * p[1] + by_v * p[3]);
        (a * strain_u + b * strain_v + c * u.dot(v), [-(grad_1 + grad_2), grad_1, grad_2])
    }
}
