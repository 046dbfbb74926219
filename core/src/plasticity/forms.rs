//! What yields, kind by kind: the elastic strain of an element, and the rest shape after some of it has become plastic.

use core::f64::consts::PI;

use super::Plasticity;
use crate::constraint::{Constraint, Radial};
use crate::energies::elastic::{ElasticTet, Material};
use crate::kinds::{Dihedral, Distance};
use crate::mat3::Mat3;
use crate::math::{atan2, ln};
use crate::svd::{Svd, svd};
use crate::vec3::Vec3;

/// A kind of element whose rest shape can flow.
pub trait Yields<const N: usize, const P: usize> {
    /// The parameters after a flow that leaves the share `left` of the strain beyond the yield, from those of the rest shape
    /// it began with, the present ones, and where the corners are \[m\]. The present ones when nothing flows.
    fn flow(law: &Plasticity, left: f64, start: &[f64; P], now: &[f64; P], x: &[Vec3<f64>; N]) -> [f64; P];
}

/// The strain is C/L. Held at ℓ, the rest length goes to the one at which ℓ is just elastic, ℓ/(1 ± y).
impl Yields<2, 1> for Distance {
    fn flow(law: &Plasticity, left: f64, start: &[f64; 1], now: &[f64; 1], x: &[Vec3<f64>; 2]) -> [f64; 1] {
        let ([rest_0], [rest], y) = (*start, *now, law.yields_at);
        let length = (x[0] - x[1]).length();
        let strain = Self::value(rest, length) / rest;
        if !(strain.abs() > y) {
            return *now;
        }
        let target = if strain > 0.0 { length / (1.0 + y) } else { length / (1.0 - y) };
        let flowed = target + (rest - target) * left;
        [flowed.clamp(rest_0 / (1.0 + law.bound), rest_0 * (1.0 + law.bound))]
    }
}

/// The strain is C = θ − θ₀ \[rad\]. The rest angle is kept as an angle against the one it began with, at most π.
impl Yields<4, 2> for Dihedral {
    fn flow(law: &Plasticity, left: f64, start: &[f64; 2], now: &[f64; 2], x: &[Vec3<f64>; 4]) -> [f64; 2] {
        let (angle, _) = Self::eval(now, x);
        let excess = angle.abs() - law.yields_at;
        if !(excess > 0.0) {
            return *now;
        }
        let ([cos_0, sin_0], [cos, sin]) = (*start, *now);
        let before = atan2(sin * cos_0 - cos * sin_0, cos * cos_0 + sin * sin_0);
        let most = law.bound.min(PI);
        let flowed = (before + (excess * (1.0 - left)).copysign(angle)).clamp(-most, most);
        let (sin, cos) = libm::sincos(flowed);
        [cos_0 * cos - sin_0 * sin, sin_0 * cos + cos_0 * sin]
    }
}

/// The strain is the norm of the deviatoric Hencky strain, e = |dev ln σ(F)|. With F = U diag(σ) Vᵀ the flow
/// ```text
///   D⁻¹ ← D⁻¹ V diag(exp((s − 1) dev ln σ)) Vᵀ,      s = (y + (e − y) left)/e
/// ```
/// leaves F with the strain s e and its volume as it was: metals and clay flow, they do not shrink.   [Irving04; Bargteil07]
impl<M: Material> Yields<4, 11> for ElasticTet<M> {
    fn flow(law: &Plasticity, left: f64, start: &[f64; 11], now: &[f64; 11], x: &[Vec3<f64>; 4]) -> [f64; 11] {
        let deformation = Self::deformation(now, x);
        if surely_below(deformation, law.yields_at) {
            return *now;
        }
        let Svd { sigma, v, .. } = svd(deformation);
        let Some(strain) = shear(sigma) else { return *now };
        let e = strain.length();
        if !(e > law.yields_at) {
            return *now;
        }
        let share = (law.yields_at + (e - law.yields_at) * left) / e;
        let inverse = inverse_of(now) * (v * stretched(strain * (share - 1.0)) * v.transpose());

        // F_total = F_elastic F_plastic with F_plastic = D D₀⁻¹: what flowed in all.
        let Svd { u, sigma, v } = svd(inverted(inverse) * inverse_of(start));
        let Some(flowed) = shear(sigma) else { return *now };
        let all = flowed.length();
        let inverse = if all > law.bound {
            // D⁻¹ = D₀⁻¹ F_plastic⁻¹, with the logarithm of F_plastic cut to the bound.
            inverse_of(start) * (v * stretched(flowed * (-law.bound / all)) * u.transpose())
        } else {
            inverse
        };
        let [a, b, c] = inverse.columns;
        [a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, now[9], now[10]]
    }
}

/// Whether the strain of a deformation is certainly below the yield, without singular values.
///
/// With C = FᵀF, c = tr C/3 and r = |C/c − 1| the eigenvalues of C/c are within 1 ± r, so |ln λ| ≤ |λ − 1|/(1 − r), and
/// e = |dev ½ ln C| ≤ r/(2 (1 − r)).
fn surely_below(deformation: Mat3<f64>, yields_at: f64) -> bool {
    let c = deformation.transpose() * deformation;
    let [x, y, z] = c.columns;
    let mean = (x.x + y.y + z.z) / 3.0;
    let rest = [x - Vec3::new(mean, 0.0, 0.0), y - Vec3::new(0.0, mean, 0.0), z - Vec3::new(0.0, 0.0, mean)];
    let r = (rest[0].length_sq() + rest[1].length_sq() + rest[2].length_sq()).sqrt() / mean;
    r < 1.0 && r <= 2.0 * yields_at * (1.0 - r)
}

/// dev ln σ; nothing for elements that are flat or inside out, which have no logarithm.
fn shear(sigma: [f64; 3]) -> Option<Vec3<f64>> {
    const FLAT: f64 = 1e-6;
    if !(sigma[2] > FLAT * sigma[0]) {
        return None;
    }
    let [a, b, c] = sigma.map(ln);
    let mean = (a + b + c) / 3.0;
    Some(Vec3::new(a - mean, b - mean, c - mean))
}

/// diag(exp h).
fn stretched(h: Vec3<f64>) -> Mat3<f64> {
    let zero = 0.0;
    Mat3::from_columns(
        Vec3::new(libm::exp(h.x), zero, zero),
        Vec3::new(zero, libm::exp(h.y), zero),
        Vec3::new(zero, zero, libm::exp(h.z)),
    )
}

/// D⁻¹ of an element's parameters.
fn inverse_of(p: &[f64; 11]) -> Mat3<f64> {
    Mat3::from_columns(Vec3::new(p[0], p[1], p[2]), Vec3::new(p[3], p[4], p[5]), Vec3::new(p[6], p[7], p[8]))
}

/// A⁻¹ = cofactor(A)ᵀ/det A.
fn inverted(a: Mat3<f64>) -> Mat3<f64> {
    a.cofactor().transpose() * (1.0 / a.determinant())
}
