//! Elastic elements: tetrahedra and triangles whose energy depends on how their material is stretched.
//!
//! The deformation gradient F maps the rest shape to the current one; an isotropic material only sees its singular values σ,
//! E = Ψ(σ₀, σ₁, σ₂). Everything follows from Ψ and its derivatives in σ, for any such material:
//! ```text
//!   F = U diag(σ) Vᵀ = Σₐ xₐ gₐᵀ           gₐ: gradients of the shape functions, constant
//!   ∇ₐE = U (Ψᵢ ĝₐᵢ)                       ĝₐ = Vᵀ gₐ,  Ψᵢ = ∂Ψ/∂σᵢ
//!   ∂²E/∂xₐ∂xᵦ = U Mₐᵦ Uᵀ                  (M)ᵢᵢ = Aᵢᵢ ĝₐᵢ ĝᵦᵢ + Σⱼ ½(fᵢⱼ + tᵢⱼ) ĝₐⱼ ĝᵦⱼ
//!                                          (M)ᵢⱼ = Aᵢⱼ ĝₐᵢ ĝᵦⱼ + ½(fᵢⱼ − tᵢⱼ) ĝₐⱼ ĝᵦᵢ
//!   A = ∂²Ψ/∂σ²,  fᵢⱼ = (Ψᵢ − Ψⱼ)/(σᵢ − σⱼ),  tᵢⱼ = (Ψᵢ + Ψⱼ)/(σᵢ + σⱼ)
//! ```
//! f and t are the eigenvalues of the flip and twist modes, those of A the stretching modes: clamping them at 0 gives the
//! nearest positive semi-definite Hessian in closed form.   [Smith19, analytic eigensystems; METHODS 4]
//!
//! The stiffness k that scales an element is its rest volume \[m³\] (area × thickness for triangles); μ and λ are Lamé's
//! constants \[Pa\].

use core::marker::PhantomData;

use crate::constraint::Constraint;
use crate::energy::{Curvature, Energy, lower_columns};
use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::svd::{Svd, positive_part, svd};
use crate::vec3::Vec3;

/// What a material answers to singular values. Pairs are indexed by the axis they leave out: f₁₂, f₀₂, f₀₁.
#[derive(Clone, Copy, Debug)]
pub struct Response<L> {
    /// Ψ \[J/m³\].
    pub energy: L,
    /// Ψᵢ = ∂Ψ/∂σᵢ \[Pa\].
    pub slope: [L; 3],
    /// A = ∂²Ψ/∂σ² \[Pa\].
    pub stretch: Mat3<L>,
    /// (Ψᵢ − Ψⱼ)/(σᵢ − σⱼ) \[Pa\].
    pub flip: [L; 3],
    /// (Ψᵢ + Ψⱼ)/(σᵢ + σⱼ) \[Pa\].
    pub twist: [L; 3],
}

/// An isotropic hyperelastic material.
pub trait Material: Copy + Send + Sync + 'static {
    /// Name of its tetrahedra.
    const TET: &'static str;
    /// Name of its triangles.
    const TRIANGLE: &'static str;

    /// The response of a solid.
    fn solid<L: Lane>(mu: L, lambda: L, sigma: [L; 3]) -> Response<L>;
    /// The response of a sheet in plane stress: σ₂ = 0 is the direction out of the sheet and costs nothing.
    fn sheet<L: Lane>(mu: L, lambda: L, sigma: [L; 3]) -> Response<L>;
}

/// Corotated linear elasticity: Ψ = μ Σ(σᵢ − 1)² + λ/2 (Σσᵢ − n)², with n axes.
///
/// Hooke's law in the element's own rotated frame. A fully flattened element resists like a spring and may invert.
#[derive(Clone, Copy, Debug)]
pub struct Corotated;

/// Stable neo-Hookean elasticity: Ψ = μ/2 (Σσᵢ² − n) − μ (J − 1) + λ'/2 (J − 1)², with J = Πσᵢ and λ' = λ + μ.
///
/// Defined for every F, inverted ones included, and agrees with Hooke's law for small strains.   [Smith18, without the
/// logarithm]
#[derive(Clone, Copy, Debug)]
pub struct NeoHookean;

/// Sums of singular values below this count as this: the twist of a collapsed element has no finite stiffness.
const SMALLEST_SUM: f64 = 1e-4;

#[inline(always)]
fn bounded<L: Lane>(sum: L) -> L {
    sum.max(L::constant(SMALLEST_SUM))
}

/// λ of a sheet: it thins as it stretches, which softens λ to 2μλ/(λ + 2μ). Idle lanes have neither μ nor λ.
#[inline(always)]
fn plane_stress<L: Lane>(mu: L, lambda: L) -> L {
    let two_mu = mu + mu;
    (lambda + two_mu).divide_or_zero(two_mu * lambda)
}

/// A symmetric matrix from its diagonal and its entries 12, 02, 01.
#[inline(always)]
fn symmetric<L: Lane>(d: [L; 3], off: [L; 3]) -> Mat3<L> {
    Mat3::from_columns(
        Vec3::new(d[0], off[2], off[1]),
        Vec3::new(off[2], d[1], off[0]),
        Vec3::new(off[1], off[0], d[2]),
    )
}

impl Material for Corotated {
    const TET: &'static str = "corotated tet";
    const TRIANGLE: &'static str = "corotated triangle";

    #[inline(always)]
    fn solid<L: Lane>(mu: L, lambda: L, sigma: [L; 3]) -> Response<L> {
        let (one, two_mu) = (L::one(), mu + mu);
        let e = [sigma[0] - one, sigma[1] - one, sigma[2] - one];
        let pressure = lambda * (e[0] + e[1] + e[2]);
        let shear = mu * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
        // tᵢⱼ = 2μ + (2λ Σe − 4μ)/(σᵢ + σⱼ)
        let push = pressure + pressure - (two_mu + two_mu);
        let mut twist = [L::zero(); 3];
        for k in 0..3 {
            twist[k] = two_mu + push / bounded(sigma[(k + 1) % 3] + sigma[(k + 2) % 3]);
        }
        Response {
            energy: shear + L::constant(0.5) * pressure * (e[0] + e[1] + e[2]),
            slope: [two_mu * e[0] + pressure, two_mu * e[1] + pressure, two_mu * e[2] + pressure],
            stretch: symmetric([two_mu + lambda; 3], [lambda; 3]),
            flip: [two_mu; 3],
            twist,
        }
    }

    #[inline(always)]
    fn sheet<L: Lane>(mu: L, lambda: L, sigma: [L; 3]) -> Response<L> {
        let (zero, one, two_mu) = (L::zero(), L::one(), mu + mu);
        let lambda = plane_stress(mu, lambda);
        let e = [sigma[0] - one, sigma[1] - one];
        let pressure = lambda * (e[0] + e[1]);
        let slope = [two_mu * e[0] + pressure, two_mu * e[1] + pressure];
        let out = [slope[0] / bounded(sigma[0]), slope[1] / bounded(sigma[1])];
        let in_plane = two_mu + (pressure + pressure - (two_mu + two_mu)) / bounded(sigma[0] + sigma[1]);
        Response {
            energy: mu * (e[0] * e[0] + e[1] * e[1]) + L::constant(0.5) * pressure * (e[0] + e[1]),
            slope: [slope[0], slope[1], zero],
            stretch: symmetric([two_mu + lambda, two_mu + lambda, zero], [zero, zero, lambda]),
            flip: [out[1], out[0], two_mu],
            twist: [out[1], out[0], in_plane],
        }
    }
}

impl Material for NeoHookean {
    const TET: &'static str = "neo-Hookean tet";
    const TRIANGLE: &'static str = "neo-Hookean triangle";

    #[inline(always)]
    fn solid<L: Lane>(mu: L, lambda: L, s: [L; 3]) -> Response<L> {
        let (half, lambda) = (L::constant(0.5), lambda + mu);
        let cofactor = [s[1] * s[2], s[0] * s[2], s[0] * s[1]];
        let grown = cofactor[0] * s[0] - L::one();
        // Ψᵢ = μσᵢ + c J/σᵢ with c = λ'(J − 1) − μ
        let c = lambda * grown - mu;
        let (mut slope, mut flip, mut twist) = ([L::zero(); 3], [L::zero(); 3], [L::zero(); 3]);
        let (mut diagonal, mut off) = ([L::zero(); 3], [L::zero(); 3]);
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            slope[k] = mu * s[k] + c * cofactor[k];
            flip[k] = mu - c * s[k];
            twist[k] = mu + c * s[k];
            diagonal[k] = mu + lambda * cofactor[k] * cofactor[k];
            off[k] = lambda * cofactor[i] * cofactor[j] + c * s[k];
        }
        // With e = σ − 1: ½(Σσ² − 3) − (J − 1) = ½Σe² − Σ eᵢeⱼ − Πe. What is of first order has cancelled.
        let e = [s[0] - L::one(), s[1] - L::one(), s[2] - L::one()];
        let squares = half * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
        let shear = squares - (e[0] * e[1] + (e[0] + e[1]) * e[2]) - e[0] * e[1] * e[2];
        Response {
            energy: mu * shear + half * lambda * grown * grown,
            slope,
            stretch: symmetric(diagonal, off),
            flip,
            twist,
        }
    }

    #[inline(always)]
    fn sheet<L: Lane>(mu: L, lambda: L, s: [L; 3]) -> Response<L> {
        let (zero, one, half) = (L::zero(), L::one(), L::constant(0.5));
        let lambda = plane_stress(mu, lambda) + mu;
        let area = s[0] * s[1];
        let grown = area - one;
        let c = lambda * grown - mu;
        let slope = [mu * s[0] + c * s[1], mu * s[1] + c * s[0]];
        let out = [slope[0] / bounded(s[0]), slope[1] / bounded(s[1])];
        // ½(Σσ² − 2) − (σ₀σ₁ − 1) = ½(σ₀ − σ₁)²
        let uneven = s[0] - s[1];
        Response {
            energy: half * mu * uneven * uneven + half * lambda * grown * grown,
            slope: [slope[0], slope[1], zero],
            stretch: symmetric(
                [mu + lambda * s[1] * s[1], mu + lambda * s[0] * s[0], zero],
                [zero, zero, lambda * area + c],
            ),
            flip: [out[1], out[0], mu - c],
            twist: [out[1], out[0], mu + c],
        }
    }
}

/// ∇ₐE of every corner, for the gradients gₐ of the shape functions.
#[inline(always)]
fn gradients<L: Lane, const N: usize>(of: &Svd<L>, response: &Response<L>, g: &[Vec3<L>; N]) -> [Vec3<L>; N] {
    let to_v = of.v.transpose();
    let [a, b, c] = response.slope;
    let mut out = [Vec3::zero(); N];
    for k in 0..N {
        let h = to_v * g[k];
        out[k] = of.u * Vec3::new(h.x * a, h.y * b, h.z * c);
    }
    out
}

/// The blocks U Mₐᵦ Uᵀ of the lower triangle.
#[inline(always)]
fn blocks<L: Lane, const N: usize>(
    of: &Svd<L>,
    response: Response<L>,
    g: &[Vec3<L>; N],
    curvature: Curvature,
) -> [[Mat3<L>; N]; N] {
    let Response { mut stretch, mut flip, mut twist, .. } = response;
    if curvature == Curvature::Convex {
        stretch = positive_part(stretch);
        for k in 0..3 {
            flip[k] = flip[k].max(L::zero());
            twist[k] = twist[k].max(L::zero());
        }
    }
    let (to_v, to_u) = (of.v.transpose(), of.u.transpose());
    let (mut even, mut odd) = ([L::zero(); 3], [L::zero(); 3]);
    for k in 0..3 {
        even[k] = L::constant(0.5) * (flip[k] + twist[k]);
        odd[k] = L::constant(0.5) * (flip[k] - twist[k]);
    }
    let mut h = [Vec3::zero(); N];
    for k in 0..N {
        h[k] = to_v * g[k];
    }
    let [a0, a1, a2] = stretch.columns;
    let mut out = [[Mat3::diagonal(L::zero()); N]; N];
    for a in 0..N {
        for b in 0..=a {
            let (p, q) = (h[a], h[b]);
            let (xx, yy, zz) = (p.x * q.x, p.y * q.y, p.z * q.z);
            let inner = Mat3::from_columns(
                Vec3::new(
                    a0.x * xx + even[2] * yy + even[1] * zz,
                    a0.y * (p.y * q.x) + odd[2] * (p.x * q.y),
                    a0.z * (p.z * q.x) + odd[1] * (p.x * q.z),
                ),
                Vec3::new(
                    a1.x * (p.x * q.y) + odd[2] * (p.y * q.x),
                    a1.y * yy + even[2] * xx + even[0] * zz,
                    a1.z * (p.z * q.y) + odd[0] * (p.y * q.z),
                ),
                Vec3::new(
                    a2.x * (p.x * q.z) + odd[1] * (p.z * q.x),
                    a2.y * (p.y * q.z) + odd[0] * (p.z * q.y),
                    a2.z * zz + even[1] * xx + even[0] * yy,
                ),
            );
            out[a][b] = of.u * inner * to_u;
        }
    }
    out
}

/// A tetrahedron of material `M`; parameters: the inverse of the rest edge matrix by columns (9) \[1/m\], μ, λ \[Pa\].
#[derive(Clone, Copy, Debug)]
pub struct ElasticTet<M>(PhantomData<M>);

impl<M> ElasticTet<M> {
    /// The parameters of a rest shape \[m\] and its volume \[m³\], which becomes the element's stiffness k.
    pub fn rest(x: [[f64; 3]; 4], mu: f64, lambda: f64) -> ([f64; 11], f64) {
        let [x0, x1, x2, x3] = x.map(Vec3::from);
        let edges = Mat3::from_columns(x1 - x0, x2 - x0, x3 - x0);
        let six_volumes = edges.determinant();
        // D⁻¹ = cofactor(D)ᵀ/det D
        let [a, b, c] = edges.cofactor().transpose().columns.map(|c| c * (1.0 / six_volumes));
        ([a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, mu, lambda], six_volumes / 6.0)
    }

    /// gₐ: the rows of D⁻¹ for corners 1–3, minus their sum for corner 0.
    #[inline(always)]
    fn shape<L: Lane>(p: &[L; 11]) -> [Vec3<L>; 4] {
        let (a, b, c) = (Vec3::new(p[0], p[3], p[6]), Vec3::new(p[1], p[4], p[7]), Vec3::new(p[2], p[5], p[8]));
        [-(a + b + c), a, b, c]
    }

    /// F = [x₁ − x₀, x₂ − x₀, x₃ − x₀] D⁻¹.
    #[inline(always)]
    pub(crate) fn deformation<L: Lane>(p: &[L; 11], x: &[Vec3<L>; 4]) -> Mat3<L> {
        let edges = Mat3::from_columns(x[1] - x[0], x[2] - x[0], x[3] - x[0]);
        let inverse =
            Mat3::from_columns(Vec3::new(p[0], p[1], p[2]), Vec3::new(p[3], p[4], p[5]), Vec3::new(p[6], p[7], p[8]));
        edges * inverse
    }

    #[inline(always)]
    fn stretch<L: Lane>(p: &[L; 11], x: &[Vec3<L>; 4]) -> Svd<L> {
        svd(Self::deformation(p, x))
    }
}

impl<M: Material> Energy<4, 11, 30> for ElasticTet<M> {
    const NAME: &'static str = M::TET;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 11], x: &[Vec3<L>; 4]) -> L {
        M::solid(p[9], p[10], Self::stretch(p, x).sigma).energy
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 11], x: &[Vec3<L>; 4]) -> [Vec3<L>; 4] {
        let of = Self::stretch(p, x);
        gradients(&of, &M::solid(p[9], p[10], of.sigma), &Self::shape(p))
    }
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 11], x: &[Vec3<L>; 4], curvature: Curvature) -> [Vec3<L>; 30] {
        let of = Self::stretch(p, x);
        lower_columns(&blocks(&of, M::solid(p[9], p[10], of.sigma), &Self::shape(p), curvature))
    }
    fn proxy(p: &[f64; 11], _: &[[f64; 3]; 4]) -> [[f64; 4]; 4] {
        // The largest curvature near rest is that of swelling, F ∝ I: 2μ + 3λ. With less, plain iterations overshoot.
        shape_proxy(&Self::shape(p), 2.0 * p[9] + 3.0 * p[10])
    }
}

/// A triangle of material `M`; parameters: the inverse of its 2×2 rest edge matrix by columns (4) \[1/m\], μ, λ \[Pa\].
#[derive(Clone, Copy, Debug)]
pub struct ElasticTriangle<M>(PhantomData<M>);

impl<M> ElasticTriangle<M> {
    /// The parameters of a rest shape \[m\] and its area \[m²\]; times the thickness it is the element's stiffness k.
    pub fn rest(x: [[f64; 3]; 3], mu: f64, lambda: f64) -> ([f64; 6], f64) {
        let [x0, x1, x2] = x.map(Vec3::from);
        let (e, f) = (x1 - x0, x2 - x0);
        // In the triangle's own plane: e = (|e|, 0), f = (f·ê, height).
        let along = e.length();
        let (f_along, height) = (f.dot(e) / along, e.cross(f).length() / along);
        ([1.0 / along, 0.0, -f_along / (along * height), 1.0 / height, mu, lambda], 0.5 * along * height)
    }

    #[inline(always)]
    fn shape<L: Lane>(p: &[L; 6]) -> [Vec3<L>; 3] {
        let (a, b) = (Vec3::new(p[0], p[2], L::zero()), Vec3::new(p[1], p[3], L::zero()));
        [-(a + b), a, b]
    }

    #[inline(always)]
    fn stretch<L: Lane>(p: &[L; 6], x: &[Vec3<L>; 3]) -> Svd<L> {
        let (e, f) = (x[1] - x[0], x[2] - x[0]);
        svd(Mat3::from_columns(e * p[0] + f * p[1], e * p[2] + f * p[3], Vec3::zero()))
    }
}

impl<M: Material> Energy<3, 6, 18> for ElasticTriangle<M> {
    const NAME: &'static str = M::TRIANGLE;

    #[inline(always)]
    fn value<L: Lane>(p: &[L; 6], x: &[Vec3<L>; 3]) -> L {
        M::sheet(p[4], p[5], Self::stretch(p, x).sigma).energy
    }
    #[inline(always)]
    fn gradient<L: Lane>(p: &[L; 6], x: &[Vec3<L>; 3]) -> [Vec3<L>; 3] {
        let of = Self::stretch(p, x);
        gradients(&of, &M::sheet(p[4], p[5], of.sigma), &Self::shape(p))
    }
    #[inline(always)]
    fn hessian<L: Lane>(p: &[L; 6], x: &[Vec3<L>; 3], curvature: Curvature) -> [Vec3<L>; 18] {
        let of = Self::stretch(p, x);
        lower_columns(&blocks(&of, M::sheet(p[4], p[5], of.sigma), &Self::shape(p), curvature))
    }
    fn proxy(p: &[f64; 6], _: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        // As for tetrahedra, in two directions.
        shape_proxy(&Self::shape(p), 2.0 * p[4] + 2.0 * p[5])
    }
}

/// C = √(2Ψ) and ∇C = ∇Ψ/C, so that C²/(2α) with α = 1/volume is the energy of the element. Nothing at rest, where C has
/// its kink.
///
/// One constraint carries the whole element, and it shares Ψ with the methods that minimise. (The split of a neo-Hookean
/// tetrahedron into √(tr FᵀF) and J − 1 − μ/λ' has the same energy up to a constant, but neither part is zero at rest: they
/// cancel only once a sweep has converged, and a second formula would stand beside Ψ.)   [METHODS 8; Macklin21]
#[inline(always)]
fn root<L: Lane, const N: usize>(response: &Response<L>, mut grad: [Vec3<L>; N]) -> (L, [Vec3<L>; N]) {
    let c = (response.energy + response.energy).max(L::zero()).sqrt();
    let inverse = c.divide_or_zero(L::one());
    for g in &mut grad {
        *g = *g * inverse;
    }
    (c, grad)
}

impl<M: Material> Constraint<4, 11> for ElasticTet<M> {
    const NAME: &'static str = M::TET;

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 11], x: &[Vec3<L>; 4]) -> (L, [Vec3<L>; 4]) {
        let of = Self::stretch(p, x);
        let response = M::solid(p[9], p[10], of.sigma);
        root(&response, gradients(&of, &response, &Self::shape(p)))
    }
}

impl<M: Material> Constraint<3, 6> for ElasticTriangle<M> {
    const NAME: &'static str = M::TRIANGLE;

    #[inline(always)]
    fn eval<L: Lane>(p: &[L; 6], x: &[Vec3<L>; 3]) -> (L, [Vec3<L>; 3]) {
        let of = Self::stretch(p, x);
        let response = M::sheet(p[4], p[5], of.sigma);
        root(&response, gradients(&of, &response, &Self::shape(p)))
    }
}

/// W = w gₐ·gᵦ.
fn shape_proxy<const N: usize>(g: &[Vec3<f64>; N], weight: f64) -> [[f64; N]; N] {
    g.map(|a| g.map(|b| weight * a.dot(b)))
}
