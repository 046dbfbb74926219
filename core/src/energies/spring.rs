//! The spring: energy, force and stiffness of one edge.
//!
//! Everything depends on the difference d = xᵢ − xⱼ only. With ℓ = |d|, n = d/ℓ, rest length L \[m\], stiffness k \[N/m\]:
//! ```text
//!   E = k/2 (ℓ − L)²      ∇ᵢE = k (ℓ − L) n = −∇ⱼE      H = k n nᵀ + k (1 − L/ℓ)(I − n nᵀ)   [METHODS 1; C 1–4]
//! ```
//! The Hessian of the pair is laid out \[H −H; −H H\]. H has the eigenvalue k along the spring and k (1 − L/ℓ) twice
//! across it: a compressed spring is indefinite. Coincident ends have no direction: no force, and H = k I.

use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// E = k/2 (ℓ − L)² \[J\].
#[inline(always)]
pub fn energy<L: Lane>(stiffness: L, rest: L, d: Vec3<L>) -> L {
    let stretch = d.length() - rest;
    L::constant(0.5) * stiffness * stretch * stretch
}

/// ∇ᵢE = k (ℓ − L) n \[N\]; the gradient of the other end is its negative, the force on i too.
#[inline(always)]
pub fn gradient<L: Lane>(stiffness: L, rest: L, d: Vec3<L>) -> Vec3<L> {
    let length = d.length();
    d * length.divide_or_zero(stiffness * (length - rest))
}

/// The exact block H \[N/m\], indefinite when the spring is compressed.
#[inline(always)]
pub fn hessian_exact<L: Lane>(stiffness: L, rest: L, d: Vec3<L>) -> Mat3<L> {
    let length = d.length();
    block(stiffness, length, L::one() - length.divide_or_zero(rest), d)
}

/// The block with its factor across the spring clamped, max(0, 1 − L/ℓ) \[N/m\]: always positive semi-definite, and equal
/// to the exact one when ℓ ≥ L.
#[inline(always)]
pub fn hessian_projected<L: Lane>(stiffness: L, rest: L, d: Vec3<L>) -> Mat3<L> {
    let length = d.length();
    block(stiffness, length, (L::one() - length.divide_or_zero(rest)).max(L::zero()), d)
}

/// k [c I + (1 − c) n nᵀ], where c = 1 − L/ℓ is the factor across the spring; coincident ends come with c = 1.
#[inline(always)]
fn block<L: Lane>(stiffness: L, length: L, across: L, d: Vec3<L>) -> Mat3<L> {
    let n = d * length.divide_or_zero(L::one());
    // The outer product first, scaled after: the block is then symmetric to the last bit.
    Mat3::diagonal(stiffness * across) + Mat3::outer(n, n) * (stiffness * (L::one() - across))
}
