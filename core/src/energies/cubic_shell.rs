//! Cubic shells: bending of a hinge around a curved rest shape, as a polynomial of degree three.   [Garg07; METHODS 5]
//!
//! While edges keep their lengths, E = k_b · s² (1 − cos(θ − θ̄)) with s² = 3 |ē|²/(A₀ + A₁) is a polynomial in positions, since
//! both parts of cos(θ − θ̄) = cos θ̄ cos θ + sin θ̄ sin θ are:
//! ```text
//!   s² (1 − cos θ) = ½ |Σ q'ᵢ xᵢ|²              quadratic bending
//!   sin θ = −|ē| T/(|n̄₁||n̄₂|)                   T = (x₁ − x₀) × (x₂ − x₀) · (x₃ − x₀)
//!   E/k_b = s² (1 − cos θ̄) + ½ cos θ̄ |Σ q'ᵢ xᵢ|² + c T − Σⱼ μⱼ/2 (ℓⱼ² − ℓ̄ⱼ²),      c = s² sin θ̄ |ē|/(|n̄₁||n̄₂|)
//! ```
//! The last sum, over the hinge's five edges, is ours: it is zero while edges keep their lengths, and without it the polynomial
//! pulls at the edges of the rest shape itself. The μⱼ are those that leave no force there.
//!
//! E is quadratic bending when θ̄ = 0, and the dihedral energy to second order at any rest shape. It is an energy for methods
//! that minimise and no constraint: stretched edges can make it negative, so that it is no square.

use crate::energies::bending;
use crate::energies::kinds::add_determinant_curvature;
use crate::energy::{Curvature, Energy, lower_columns, outer_proxy};
use crate::kinds::Dihedral;
use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// A hinge; parameters: q' (4) \[1/m\], cos θ̄, c \[1/m³\], μ of the five edges \[1/m²\], E/k_b with all positions at 0.
/// Its stiffness is k_b \[J\].
#[derive(Clone, Copy, Debug)]
pub struct CubicShell;

/// The edges of a hinge: the common one, those of triangle 012, those of triangle 013.
const EDGES: [[usize; 2]; 5] = [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3]];

impl CubicShell {
    /// The parameters of a rest shape \[m\]; without area, zeros: such a hinge does nothing.
    pub fn rest(x: [[f64; 3]; 4]) -> [f64; 12] {
        let [cos, sin] = Dihedral::rest(x);
        let rest = x.map(Vec3::from);
        let (e, a, b) = (rest[1] - rest[0], rest[2] - rest[0], rest[3] - rest[0]);
        let (n1, n2) = (e.cross(a).length(), e.cross(b).length());
        if !(n1 > 0.0 && n2 > 0.0) {
            return [0.0; 12];
        }
        let [q0, q1, q2, q3] = bending::scaled_coefficients(&rest);
        let cubic = Dihedral::stiffness(x) * sin * e.length() / (n1 * n2);
        let mut p = [q0, q1, q2, q3, cos, cubic, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let multipliers = balance(&rest, &Self::gradient(&p, &rest));
        p[6..11].copy_from_slice(&multipliers);
        p[11] = -Self::value(&p, &rest);
        p
    }
}

/// μ with Σ μⱼ ∇(ℓⱼ²/2) = g. The gradient g of what does not change when a hinge only folds is such a sum; least squares find it.
fn balance(x: &[Vec3<f64>; 4], g: &[Vec3<f64>; 4]) -> [f64; 5] {
    let gradient = |[a, b]: [usize; 2]| {
        let mut of = [Vec3::zero(); 4];
        (of[a], of[b]) = (x[a] - x[b], x[b] - x[a]);
        of
    };
    let dot = |a: &[Vec3<f64>; 4], b: &[Vec3<f64>; 4]| (0..4).map(|k| a[k].dot(b[k])).sum::<f64>();
    let columns = EDGES.map(gradient);
    let mut matrix = columns.map(|a| columns.map(|b| dot(&a, &b)));
    let mut right = columns.map(|a| dot(&a, g));
    // Positive definite, because five edges hold a hinge of two proper triangles up to folding: no pivoting.
    for i in 0..5 {
        for j in i + 1..5 {
            let factor = matrix[j][i] / matrix[i][i];
            for k in i..5 {
                matrix[j][k] -= factor * matrix[i][k];
            }
            right[j] -= factor * right[i];
        }
    }
    for i in (0..5).rev() {
        for k in i + 1..5 {
            right[i] -= matrix[i][k] * right[k];
        }
        right[i] /= matrix[i][i];
    }
    right
}

/// T and its gradients at x₁, x₂, x₃.
#[inline(always)]
fn determinant<L: Lane>(x: &[Vec3<L>; 4]) -> (L, [Vec3<L>; 3]) {
    let edges = Mat3::from_columns(x[1] - x[0], x[2] - x[0], x[3] - x[0]);
    (edges.determinant(), edges.cofactor().columns)
}

#[inline(always)]
fn coefficients<L: Lane>(p: &[L; 12]) -> [L; 4] {
    [p[0], p[1], p[2], p[3]]
}

impl Energy<4, 12, 30> for CubicShell {
    const NAME: &'static str = "cubic shell";

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 12], x: &[Vec3<L>; 4]) -> L {
        let half = L::constant(0.5);
        let mut sum =
            p[11] + half * p[4] * bending::curvature(&coefficients(p), x).length_sq() + p[5] * determinant(x).0;
        for k in 0..5 {
            let [a, b] = EDGES[k];
            sum = sum - half * p[6 + k] * (x[a] - x[b]).length_sq();
        }
        sum
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 12], x: &[Vec3<L>; 4]) -> [Vec3<L>; 4] {
        let e = bending::curvature(&coefficients(p), x) * p[4];
        let [t1, t2, t3] = determinant(x).1;
        let [t1, t2, t3] = [t1 * p[5], t2 * p[5], t3 * p[5]];
        let mut out = [e * p[0] - (t1 + t2 + t3), e * p[1] + t1, e * p[2] + t2, e * p[3] + t3];
        for k in 0..5 {
            let [a, b] = EDGES[k];
            let pull = (x[a] - x[b]) * p[6 + k];
            out[a] = out[a] - pull;
            out[b] = out[b] + pull;
        }
        out
    }
    /// The convex form is that of quadratic bending: what the rest shape adds to it is of either sign.
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 12], x: &[Vec3<L>; 4], curvature: Curvature) -> [Vec3<L>; 30] {
        let cos = match curvature {
            Curvature::Exact => p[4],
            Curvature::Convex => L::one(),
        };
        let mut scale = bending::hessian(cos, &coefficients(p));
        if curvature == Curvature::Exact {
            for k in 0..5 {
                let [a, b] = EDGES[k];
                scale[a][a] = scale[a][a] - p[6 + k];
                scale[b][b] = scale[b][b] - p[6 + k];
                scale[b][a] = scale[b][a] + p[6 + k];
            }
        }
        let mut blocks = [[Mat3::diagonal(L::zero()); 4]; 4];
        for a in 0..4 {
            for b in 0..=a {
                blocks[a][b] = Mat3::diagonal(scale[a][b]);
            }
        }
        if curvature == Curvature::Exact {
            add_determinant_curvature(&mut blocks, x, p[5]);
        }
        lower_columns(&blocks)
    }
    fn proxy(p: &[f64; 12], _: &[[f64; 3]; 4]) -> [[f64; 4]; 4] {
        outer_proxy(coefficients(p))
    }
}
