//! The second derivative of the dihedral angle, and the quadratic that stands for it.
//!
//! ∇θ is a sum over the two triangles of a hinge, and each share depends on its own triangle alone. With the edge direction ê,
//! the triangle's normal n̂, its in-plane direction m̂ from the edge to the opposite corner, its height h and the foot point t
//! of that corner along the edge, corners ordered x₀, x₁, opposite:
//! ```text
//!   ∇ₐθ = cₐ n̂/h                                              c = [1 − t, t, −1]
//!   ∇ₐ∇ᵦθ = (cₐ cᵦ/h² + sₐ sᵦ/2)(m̂ n̂ᵀ + n̂ m̂ᵀ)                 s = [−1, 1, 0]/|e|
//!           − (cₐ sᵦ ê n̂ᵀ + sₐ cᵦ n̂ êᵀ)/h
//! ```
//! because the opposite corner, seen from its foot point, moves by −Σ cₐ dxₐ and the edge turns by Σ sₐ dxₐ. (One triangle's
//! share of the last term of the first line is n̂ m̂ᵀ sₐ sᵦ; over both triangles its skew parts cancel.)   [METHODS 5]

use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// One triangle of a hinge.
struct Wing<L> {
    normal: Vec3<L>,
    /// From the edge to the opposite corner, perpendicular to the edge.
    outward: Vec3<L>,
    inv_height: L,
    /// c of x₀, x₁ and the opposite corner.
    lever: [L; 3],
}

/// `side` is the opposite corner minus x₀; the normal is e × side times `sign`. Without area everything is 0.
#[inline(always)]
fn wing<L: Lane>(e: Vec3<L>, side: Vec3<L>, sign: L) -> Wing<L> {
    let inv_edge = e.length().divide_or_zero(L::one());
    let along = e * inv_edge;
    let foot = side.dot(along);
    let across = side - along * foot;
    let inv_height = across.length().divide_or_zero(L::one());
    let outward = across * inv_height;
    let t = foot * inv_edge;
    Wing { normal: along.cross(outward) * sign, outward, inv_height, lever: [L::one() - t, t, -L::one()] }
}

#[inline(always)]
fn wings<L: Lane>(x: &[Vec3<L>; 4]) -> [Wing<L>; 2] {
    let e = x[1] - x[0];
    [wing(e, x[2] - x[0], L::one()), wing(e, x[3] - x[0], -L::one())]
}

/// Adds s ∇²θ to the lower triangle of blocks.
#[inline(always)]
pub(super) fn add_second_derivative<L: Lane>(blocks: &mut [[Mat3<L>; 4]; 4], x: &[Vec3<L>; 4], s: L) {
    let e = x[1] - x[0];
    let inv_edge = e.length().divide_or_zero(L::one());
    let along = e * inv_edge;
    let turn = [-inv_edge, inv_edge, L::zero()];
    let half = L::constant(0.5);
    let both = wings(x);
    for (k, Wing { normal, outward, inv_height, lever }) in both.into_iter().enumerate() {
        // A wing without area has no angle to change.
        let s = L::select(inv_height.gt(L::zero()), s, L::zero());
        let even = Mat3::outer(outward, normal) + Mat3::outer(normal, outward);
        let (skew, weight) = (Mat3::outer(along, normal), inv_height * inv_height);
        let back = skew.transpose();
        let corner = [0, 1, 2 + k];
        for a in 0..3 {
            for b in 0..=a {
                let block = even * (s * (lever[a] * lever[b] * weight + half * turn[a] * turn[b]))
                    + skew * (-(s * inv_height * lever[a] * turn[b]))
                    + back * (-(s * inv_height * turn[a] * lever[b]));
                blocks[corner[a]][corner[b]] = blocks[corner[a]][corner[b]] + block;
            }
        }
    }
}

/// W ⊗ I₃ ⪰ ∇θ ∇θᵀ at the rest shape, with equality in the direction of a flat hinge's normal.
///
/// ∇θ = p n̂₁ + r n̂₂ = (p + r)(n̂₁ + n̂₂)/2 + (p − r)(n̂₁ − n̂₂)/2, the halves being perpendicular and of lengths cos(θ/2) and
/// |sin(θ/2)|; (u + v)(u + v)ᵀ ⪯ (1 + t) u uᵀ + (1 + 1/t) v vᵀ with t = |tan(θ/2)|.
pub(super) fn proxy(rest: &[Vec3<f64>; 4]) -> [[f64; 4]; 4] {
    let [one, two] = wings(rest);
    let mut p = [0.0; 4];
    let mut r = [0.0; 4];
    for (a, corner) in [0, 1, 2].into_iter().enumerate() {
        p[corner] = one.lever[a] * one.inv_height;
    }
    for (a, corner) in [0, 1, 3].into_iter().enumerate() {
        r[corner] = two.lever[a] * two.inv_height;
    }
    let (cos, sin) = (0.5 * (one.normal + two.normal).length(), 0.5 * (one.normal - two.normal).length());
    let (even, odd) = (cos * cos + cos * sin, sin * sin + cos * sin);
    core::array::from_fn(|a| {
        core::array::from_fn(|b| even * (p[a] + r[a]) * (p[b] + r[b]) + odd * (p[a] - r[a]) * (p[b] - r[b]))
    })
}
