//! The energies ½ C² of triangle strain and stretch limits.

use crate::constraint::Constraint;
use crate::energies::kinds::radial;
use crate::energy::{
    Curvature, Energy, half_square, half_square_gradient, lower_columns, outer_blocks, outer_proxy, scaled_blocks,
};
use crate::kinds::{StretchLimit, TriangleStrain};
use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

impl Energy<3, 7, 18> for TriangleStrain {
    const NAME: &'static str = <Self as Constraint<3, 7>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 7], x: &[Vec3<L>; 3]) -> L {
        half_square::<Self, L, 3, 7>(p, x)
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 7], x: &[Vec3<L>; 3]) -> [Vec3<L>; 3] {
        half_square_gradient::<Self, L, 3, 7>(p, x)
    }
    /// ∇C ∇Cᵀ + C [g_u g_v][a c; c b][g_u g_v]ᵀ ⊗ I₃; the convex form keeps the positive part of the 2×2 matrix C [a c; c b].
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 7], x: &[Vec3<L>; 3], curvature: Curvature) -> [Vec3<L>; 18] {
        let (value, grad) = Self::eval(p, x);
        let [mut a, mut b, mut c] = [value * p[4], value * p[5], value * p[6]];
        if curvature == Curvature::Convex {
            [a, b, c] = positive_part([a, b, c]);
        }
        let [u, v] = Self::shape(p);
        let mut blocks = outer_blocks(&grad);
        for i in 0..3 {
            for j in 0..=i {
                let second = a * (u[i] * u[j]) + b * (v[i] * v[j]) + c * (u[i] * v[j] + v[i] * u[j]);
                blocks[i][j] = blocks[i][j] + Mat3::diagonal(second);
            }
        }
        lower_columns(&blocks)
    }
    /// At rest ∇C = s F_u + t F_v with perpendicular unit vectors, so that ∇C ∇Cᵀ ⪯ 2 (s sᵀ + t tᵀ) ⊗ I₃; once is enough
    /// where one of them is missing.
    fn proxy(p: &[f64; 7], _: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let ([u, v], [a, b, c]) = (Self::shape(p), [p[4], p[5], p[6]]);
        let s: [f64; 3] = core::array::from_fn(|k| a * u[k] + c * v[k]);
        let t: [f64; 3] = core::array::from_fn(|k| b * v[k] + c * u[k]);
        let times = if c == 0.0 && (a == 0.0 || b == 0.0) { 1.0 } else { 2.0 };
        let (s, t) = (outer_proxy(s), outer_proxy(t));
        core::array::from_fn(|i| core::array::from_fn(|j| times * (s[i][j] + t[i][j])))
    }
}

/// The positive part of [a c; c b]: eigenvalues m ± r with m = (a + b)/2, r = √(((a − b)/2)² + c²); the matrix is
/// m I + r U with U² = I, so that its positive part is ½((m + r)⁺ (I + U) + (m − r)⁺ (I − U)).
#[inline(always)]
fn positive_part<L: Lane>([a, b, c]: [L; 3]) -> [L; 3] {
    let half = L::constant(0.5);
    let (middle, d) = (half * (a + b), half * (a - b));
    let r = (d * d + c * c).sqrt();
    let (high, low) = ((middle + r).max(L::zero()), (middle - r).max(L::zero()));
    let (mean, spread) = (half * (high + low), r.divide_or_zero(half * (high - low)));
    [mean + spread * d, mean - spread * d, spread * c]
}

impl Energy<3, 4, 18> for StretchLimit {
    const NAME: &'static str = <Self as Constraint<3, 4>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 3]) -> L {
        half_square::<Self, L, 3, 4>(p, x)
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 3]) -> [Vec3<L>; 3] {
        half_square_gradient::<Self, L, 3, 4>(p, x)
    }
    /// A spring of the vector F d: n nᵀ + (C/ℓ)(I − n nᵀ), nothing inside the range.
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 3], curvature: Curvature) -> [Vec3<L>; 18] {
        let (c, _) = Self::eval(p, x);
        let d = Self::direction(p, x);
        let length = d.length();
        let along = L::select(c.abs().gt(L::zero()), L::one(), L::zero());
        let n = d * length.divide_or_zero(L::one());
        let block = radial(n, along, length.divide_or_zero(c), curvature);
        lower_columns(&scaled_blocks(&Self::shape(p), block))
    }
    fn proxy(p: &[f64; 4], _: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        outer_proxy(Self::shape(p))
    }
}
