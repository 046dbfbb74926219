//! The energies ½ C² of the constraint kinds.
//!
//! Values and gradients follow from the kind's own formula; what each kind adds here is its second derivative,
//! ∇²E = ∇C ∇Cᵀ + C ∇²C.

use crate::constraint::Constraint;
use crate::energies::{bending, dihedral, spring};
use crate::energy::{
    Curvature, Energy, bounding_proxy, half_square, half_square_gradient, lower_columns, outer_blocks, outer_proxy,
    scaled_blocks,
};
use crate::kinds::{Attachment, Dihedral, Distance, DistanceRange, IsometricBending, TetVolume, Tether};
use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// W of a pair: \[1 −1; −1 1\].
const PAIR: [[f64; 2]; 2] = [[1.0, -1.0], [-1.0, 1.0]];

impl Energy<2, 1, 3> for Distance {
    const NAME: &'static str = <Self as Constraint<2, 1>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 2]) -> L {
        spring::energy(L::one(), p[0], x[0] - x[1])
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 2]) -> [Vec3<L>; 2] {
        let g = spring::gradient(L::one(), p[0], x[0] - x[1]);
        [g, -g]
    }
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 2], curvature: Curvature) -> [Vec3<L>; 3] {
        let d = x[0] - x[1];
        let block = match curvature {
            Curvature::Exact => spring::hessian_exact(L::one(), p[0], d),
            Curvature::Convex => spring::hessian_projected(L::one(), p[0], d),
        };
        block.columns
    }
    fn proxy(_: &[f64; 1], _: &[[f64; 3]; 2]) -> [[f64; 2]; 2] {
        PAIR
    }
}

/// Along n the factor `along`, across it the factor `across`, clamped when it must be convex.
#[inline(always)]
pub(super) fn radial<L: Lane>(n: Vec3<L>, along: L, across: L, curvature: Curvature) -> Mat3<L> {
    let across = match curvature {
        Curvature::Exact => across,
        Curvature::Convex => across.max(L::zero()),
    };
    Mat3::diagonal(across) + Mat3::outer(n, n) * (along - across)
}

impl Energy<2, 3, 3> for DistanceRange {
    const NAME: &'static str = <Self as Constraint<2, 3>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 3], x: &[Vec3<L>; 2]) -> L {
        half_square::<Self, L, 2, 3>(p, x)
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 3], x: &[Vec3<L>; 2]) -> [Vec3<L>; 2] {
        half_square_gradient::<Self, L, 2, 3>(p, x)
    }
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 3], x: &[Vec3<L>; 2], curvature: Curvature) -> [Vec3<L>; 3] {
        // ∇C = s n with slope s:  H = s² n nᵀ + (C s/ℓ)(I − n nᵀ); nothing inside the range.
        let (c, [g, _]) = Self::eval(p, x);
        let (length, slope) = ((x[0] - x[1]).length(), g.length());
        let active = c.abs().gt(L::zero());
        let n = g * slope.divide_or_zero(L::one());
        let along = L::select(active, slope * slope, L::zero());
        radial(n, along, length.divide_or_zero(c * slope), curvature).columns
    }
    fn proxy(_: &[f64; 3], _: &[[f64; 3]; 2]) -> [[f64; 2]; 2] {
        PAIR
    }
}

impl Energy<1, 4, 3> for Tether {
    const NAME: &'static str = <Self as Constraint<1, 4>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 1]) -> L {
        half_square::<Self, L, 1, 4>(p, x)
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 1]) -> [Vec3<L>; 1] {
        half_square_gradient::<Self, L, 1, 4>(p, x)
    }
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 4], x: &[Vec3<L>; 1], curvature: Curvature) -> [Vec3<L>; 3] {
        // Taut: n nᵀ + (C/ℓ)(I − n nᵀ) with C = ℓ − L; the gradient is 0 when slack.
        let (c, [n]) = Self::eval(p, x);
        radial(n, n.length_sq(), (c + p[3]).divide_or_zero(c), curvature).columns
    }
    fn proxy(_: &[f64; 4], _: &[[f64; 3]; 1]) -> [[f64; 1]; 1] {
        [[1.0]]
    }
}

impl Energy<1, 3, 3> for Attachment {
    const NAME: &'static str = <Self as Constraint<1, 3>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 3], x: &[Vec3<L>; 1]) -> L {
        L::constant(0.5) * (x[0] - Vec3::new(p[0], p[1], p[2])).length_sq()
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 3], x: &[Vec3<L>; 1]) -> [Vec3<L>; 1] {
        [x[0] - Vec3::new(p[0], p[1], p[2])]
    }
    #[inline(always)]
    fn hessian<L: Lane>(_: &[L; 3], _: &[Vec3<L>; 1], _: Curvature) -> [Vec3<L>; 3] {
        Mat3::diagonal(L::one()).columns
    }
    fn proxy(_: &[f64; 3], _: &[[f64; 3]; 1]) -> [[f64; 1]; 1] {
        [[1.0]]
    }
}

/// A spring of the curvature vector e = Σ q'ᵢ xᵢ with rest length c₀: ∇ᵢE = q'ᵢ ∇E(e), ∇ᵢ∇ⱼE = q'ᵢ q'ⱼ ∇²E(e).
impl Energy<4, 5, 30> for IsometricBending {
    const NAME: &'static str = <Self as Constraint<4, 5>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 5], x: &[Vec3<L>; 4]) -> L {
        spring::energy(L::one(), p[4], bending::curvature(&Self::coefficients(p), x))
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 5], x: &[Vec3<L>; 4]) -> [Vec3<L>; 4] {
        let g = spring::gradient(L::one(), p[4], bending::curvature(&Self::coefficients(p), x));
        [g * p[0], g * p[1], g * p[2], g * p[3]]
    }
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 5], x: &[Vec3<L>; 4], curvature: Curvature) -> [Vec3<L>; 30] {
        let q = Self::coefficients(p);
        let e = bending::curvature(&q, x);
        let block = match curvature {
            Curvature::Exact => spring::hessian_exact(L::one(), p[4], e),
            Curvature::Convex => spring::hessian_projected(L::one(), p[4], e),
        };
        lower_columns(&scaled_blocks(&q, block))
    }
    fn proxy(p: &[f64; 5], _: &[[f64; 3]; 4]) -> [[f64; 4]; 4] {
        outer_proxy(Self::coefficients(p))
    }
}

impl Energy<4, 2, 30> for Dihedral {
    const NAME: &'static str = <Self as Constraint<4, 2>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 2], x: &[Vec3<L>; 4]) -> L {
        half_square::<Self, L, 4, 2>(p, x)
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 2], x: &[Vec3<L>; 4]) -> [Vec3<L>; 4] {
        half_square_gradient::<Self, L, 4, 2>(p, x)
    }
    /// ∇θ ∇θᵀ + C ∇²θ; the convex form leaves out the second term, which vanishes at rest.
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 2], x: &[Vec3<L>; 4], curvature: Curvature) -> [Vec3<L>; 30] {
        let (c, grad) = Self::eval(p, x);
        let mut blocks = outer_blocks(&grad);
        if curvature == Curvature::Exact {
            dihedral::add_second_derivative(&mut blocks, x, c);
        }
        lower_columns(&blocks)
    }
    fn proxy(_: &[f64; 2], rest: &[[f64; 3]; 4]) -> [[f64; 4]; 4] {
        dihedral::proxy(&rest.map(Vec3::from))
    }
}

impl Energy<4, 1, 30> for TetVolume {
    const NAME: &'static str = <Self as Constraint<4, 1>>::NAME;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 4]) -> L {
        half_square::<Self, L, 4, 1>(p, x)
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 4]) -> [Vec3<L>; 4] {
        half_square_gradient::<Self, L, 4, 1>(p, x)
    }
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 1], x: &[Vec3<L>; 4], curvature: Curvature) -> [Vec3<L>; 30] {
        let (c, grad) = Self::eval(p, x);
        let mut blocks = outer_blocks(&grad);
        if curvature == Curvature::Exact {
            add_determinant_curvature(&mut blocks, x, c * L::constant(1.0 / 6.0));
        }
        lower_columns(&blocks)
    }
    fn proxy(p: &[f64; 1], rest: &[[f64; 3]; 4]) -> [[f64; 4]; 4] {
        bounding_proxy::<Self, 4, 1>(p, rest)
    }
}

/// Adds s ∇²T of T = (x₁ − x₀) × (x₂ − x₀) · (x₃ − x₀) to the lower triangle of blocks.
///
/// With edges a, b, c from x₀: ∇₁T = b × c, so ∂∇₁T/∂x₂ = −[c]ₓ, ∂∇₁T/∂x₃ = [b]ₓ, and cyclically; what concerns x₀ is
/// minus the sum of the rest, because T does not change under translation.
#[inline(always)]
pub(super) fn add_determinant_curvature<L: Lane>(blocks: &mut [[Mat3<L>; 4]; 4], x: &[Vec3<L>; 4], s: L) {
    let edge = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
    let second = [
        [Mat3::diagonal(L::zero()), cross(edge[2], -s), cross(edge[1], s)],
        [cross(edge[2], s), Mat3::diagonal(L::zero()), cross(edge[0], -s)],
        [cross(edge[1], -s), cross(edge[0], s), Mat3::diagonal(L::zero())],
    ];
    for a in 0..3 {
        for b in 0..3 {
            if b <= a {
                blocks[a + 1][b + 1] = blocks[a + 1][b + 1] + second[a][b];
            }
            blocks[a + 1][0] = blocks[a + 1][0] + second[a][b] * (-L::one());
            blocks[0][0] = blocks[0][0] + second[a][b];
        }
    }
}

/// s [v]ₓ, the matrix of u ↦ s v × u.
#[inline(always)]
fn cross<L: Lane>(v: Vec3<L>, s: L) -> Mat3<L> {
    let (v, o) = (v * s, L::zero());
    Mat3::from_columns(Vec3::new(o, v.z, -v.y), Vec3::new(-v.z, o, v.x), Vec3::new(v.y, -v.x, o))
}
