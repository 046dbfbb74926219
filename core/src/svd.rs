//! Singular values of 3×3 matrices on lanes: A = U diag(σ) Vᵀ with rotations U and V.
//!
//! One-sided Jacobi: rotate the columns of A until they are orthogonal. It needs only + − × ÷ √, has no branches on data,
//! and keeps small singular values accurate where an eigenvalue method on AᵀA would lose half the digits.   \[Hestenes58\]

use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// Sweeps over the three column pairs. Convergence is quadratic: four reach single, six double precision.
const SWEEPS: usize = 6;

/// A = U diag(σ) Vᵀ, with det U = det V = +1 and σ₀ ≥ σ₁ ≥ |σ₂|; σ₂ carries the sign of det A.
#[derive(Clone, Copy, Debug)]
pub struct Svd<L> {
    /// Left singular vectors, a rotation.
    pub u: Mat3<L>,
    /// Singular values, the last one signed.
    pub sigma: [L; 3],
    /// Right singular vectors, a rotation.
    pub v: Mat3<L>,
}

/// Decomposes any finite matrix, singular and reflected ones included.
#[inline(always)]
pub fn svd<L: Lane>(a: Mat3<L>) -> Svd<L> {
    svd_from(a, Mat3::diagonal(L::one()), SWEEPS)
}

/// The same from a guess at V, which must be a rotation, with this many sweeps: the fewer the better the guess. Whatever the
/// guess and the sweeps, U and V are rotations.
#[inline(always)]
pub fn svd_from<L: Lane>(a: Mat3<L>, guess: Mat3<L>, sweeps: usize) -> Svd<L> {
    // To size 1 first: squares neither overflow nor vanish. Numbers so small that their reciprocals overflow are lifted.
    let mut size = L::zero();
    for c in a.columns {
        size = size.max(c.x.abs()).max(c.y.abs()).max(c.z.abs());
    }
    let lift = L::select(L::constant(1e-30).gt(size), L::constant(1e30), L::one());
    let scaled = (a * lift) * (size * lift).divide_or_zero(L::one());
    let mut b = scaled * guess;
    let mut v = guess;
    for _ in 0..sweeps {
        orthogonalise(&mut b, &mut v, 0, 1);
        orthogonalise(&mut b, &mut v, 0, 2);
        orthogonalise(&mut b, &mut v, 1, 2);
    }
    sort(&mut b, &mut v, 0, 1);
    sort(&mut b, &mut v, 0, 2);
    sort(&mut b, &mut v, 1, 2);

    // Eighteen rotations and their roundings later V is a rotation only nearly: put that right, and build U on it.
    let v0 = unit_or(v.columns[0], NOTHING, Vec3::new(L::one(), L::zero(), L::zero()));
    let v1 = unit_or(v.columns[1] - v0 * v0.dot(v.columns[1]), NOTHING, perpendicular(v0));
    let v = Mat3::from_columns(v0, v1, v0.cross(v1));
    let [b0, b1, b2] = (scaled * v).columns;
    let u0 = unit_or(b0, NOTHING, Vec3::new(L::one(), L::zero(), L::zero()));
    // What the columns still share is rounding; where nothing is left, any perpendicular direction serves. Where little is
    // left, its direction is rounding too: a second time makes it perpendicular, or finds that it was u₀ all along.
    let u1 = unit_or(b1 - u0 * u0.dot(b1), NOTHING, perpendicular(u0));
    let u1 = unit_or(u1 - u0 * u0.dot(u1), 0.5, perpendicular(u0));
    let u2 = u0.cross(u1);
    Svd { u: Mat3::from_columns(u0, u1, u2), sigma: [u0.dot(b0) * size, u1.dot(b1) * size, u2.dot(b2) * size], v }
}

/// The nearest positive semi-definite matrix of a symmetric one: ½ (A + |A|), with |A| = V |σ| Vᵀ.
#[inline(always)]
pub fn positive_part<L: Lane>(a: Mat3<L>) -> Mat3<L> {
    let Svd { sigma, v, .. } = svd(a);
    let mut sum = a;
    for k in 0..3 {
        sum = sum + Mat3::outer(v.columns[k], v.columns[k]) * sigma[k].abs();
    }
    sum * L::constant(0.5)
}

/// Rotates columns p and q of b (and v alike) so that they become orthogonal.
///
/// With α = |p|², β = |q|², γ = p·q:  τ = (β − α)/(2γ),  t = sign(τ)/(|τ| + √(1 + τ²)),  cos = 1/√(1 + t²),  sin = t cos.
#[inline(always)]
fn orthogonalise<L: Lane>(b: &mut Mat3<L>, v: &mut Mat3<L>, p: usize, q: usize) {
    let (x, y) = (b.columns[p], b.columns[q]);
    let gamma = x.dot(y);
    let coupled = gamma.abs().gt(L::zero());
    let tau = (y.length_sq() - x.length_sq()) / L::select(coupled, gamma + gamma, L::one());
    let t = L::one() / (tau.abs() + (L::one() + tau * tau).sqrt());
    let t = L::select(coupled, L::select(tau.ge(L::zero()), t, -t), L::zero());
    let cos = L::one() / (L::one() + t * t).sqrt();
    let sin = t * cos;
    b.columns[p] = x * cos - y * sin;
    b.columns[q] = x * sin + y * cos;
    let (x, y) = (v.columns[p], v.columns[q]);
    v.columns[p] = x * cos - y * sin;
    v.columns[q] = x * sin + y * cos;
}

/// Swaps columns p < q where q is longer, with a sign that keeps the determinant.
#[inline(always)]
fn sort<L: Lane>(b: &mut Mat3<L>, v: &mut Mat3<L>, p: usize, q: usize) {
    let (x, y) = (b.columns[p], b.columns[q]);
    let swap = y.length_sq().gt(x.length_sq());
    b.columns[p] = Vec3::select(swap, y, x);
    b.columns[q] = Vec3::select(swap, -x, y);
    let (x, y) = (v.columns[p], v.columns[q]);
    v.columns[p] = Vec3::select(swap, y, x);
    v.columns[q] = Vec3::select(swap, -x, y);
}

/// A length not worth speaking of, for matrices of size 1.
const NOTHING: f64 = 1e-18;

/// x/|x|, or `other` where x is not longer than `least`.
#[inline(always)]
fn unit_or<L: Lane>(x: Vec3<L>, least: f64, other: Vec3<L>) -> Vec3<L> {
    let length = x.length();
    let sound = length.gt(L::constant(least));
    Vec3::select(sound, x * (L::one() / L::select(sound, length, L::one())), other)
}

/// A unit vector perpendicular to a unit vector.
#[inline(always)]
fn perpendicular<L: Lane>(u: Vec3<L>) -> Vec3<L> {
    let (zero, one) = (L::zero(), L::one());
    // The axis that is not nearly parallel.
    let along_x = u.x.abs().gt(L::constant(0.6));
    let axis = Vec3::new(L::select(along_x, zero, one), L::select(along_x, one, zero), zero);
    let across = axis - u * u.dot(axis);
    across * (one / across.length())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::{BLOCK, Octet, Real};

    fn sample<S: Real>(seed: usize) -> Mat3<S> {
        let at = |k: usize| {
            let i = seed * 9 + k;
            S::from_f64(((i * 40_503 + 7 * seed * seed) % 65_536) as f64 / 32_768.0 - 1.0)
        };
        let column = |c: usize| Vec3::new(at(3 * c), at(3 * c + 1), at(3 * c + 2));
        let mut a = Mat3::from_columns(column(0), column(1), column(2));
        match seed % 8 {
            1 => a.columns[2] = a.columns[1],
            2 => a.columns = [a.columns[0], a.columns[0] * S::from_f64(-2.0), Vec3::zero()],
            3 => a.columns = [Vec3::zero(); 3],
            4 => a = Mat3::diagonal(S::from_f64(-1.0)),
            5 => a = a * S::from_f64(1e-25),
            6 => a = a * S::from_f64(1e25),
            _ => {}
        }
        a
    }

    fn largest<S: Real>(a: Mat3<S>) -> f64 {
        a.columns.iter().flat_map(|&c| <[S; 3]>::from(c)).fold(0.0, |m: f64, c| m.max(c.to_f64().abs()))
    }

    fn check<S: Real>(tolerance: f64) {
        for seed in 0..4000 {
            let a = sample::<S>(seed);
            let Svd { u, sigma, v } = svd(a);
            let minus = |m: Mat3<S>, n: Mat3<S>| m + n * S::from_f64(-1.0);
            for r in [u, v] {
                let error = largest(minus(r.transpose() * r, Mat3::diagonal(S::ONE)));
                assert!(error < tolerance, "{seed}: not orthogonal by {error}");
                assert!((r.determinant().to_f64() - 1.0).abs() < tolerance, "{seed}: a reflection");
            }
            let mut scaled = u;
            for k in 0..3 {
                scaled.columns[k] = scaled.columns[k] * sigma[k];
            }
            let error = largest(minus(scaled * v.transpose(), a));
            assert!(error <= tolerance * largest(a), "{seed}: off by {error}");
            assert!(sigma[0] >= sigma[1] && sigma[1].to_f64() >= sigma[2].to_f64().abs() - tolerance * largest(a));
        }
    }

    #[test]
    fn factors_are_rotations_whose_product_is_the_matrix() {
        check::<f64>(1e-14);
        check::<f32>(3e-6);
    }

    #[test]
    fn positive_part_keeps_the_positive_and_drops_the_negative() {
        let axes = svd(sample::<f64>(8)).u;
        let with = |values: [f64; 3]| {
            (0..3).fold(Mat3::diagonal(0.0), |sum, k| sum + Mat3::outer(axes.columns[k], axes.columns[k]) * values[k])
        };
        let found = positive_part(with([3.0, -2.0, 0.5]));
        assert!(largest(found + with([-3.0, 0.0, -0.5])) < 1e-14);
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        for round in 0..200 {
            let mut columns = [[Octet([0.0_f32; BLOCK]); 3]; 3];
            for lane in 0..BLOCK {
                let a = sample::<f32>(round * BLOCK + lane);
                for c in 0..3 {
                    let entries = <[f32; 3]>::from(a.columns[c]);
                    for r in 0..3 {
                        columns[c][r].0[lane] = entries[r];
                    }
                }
            }
            let load = |o: &Octet<f32>| wide::f32x8::load(o, 0);
            let column = |c: usize| Vec3::new(load(&columns[c][0]), load(&columns[c][1]), load(&columns[c][2]));
            let r = svd(Mat3::from_columns(column(0), column(1), column(2))).u;
            for lane in 0..BLOCK {
                let one = svd(sample::<f32>(round * BLOCK + lane)).u;
                for c in 0..3 {
                    let (wide, one) = (r.columns[c], one.columns[c]);
                    assert_eq!(wide.x.to_array()[lane].to_bits(), one.x.to_bits());
                    assert_eq!(wide.z.to_array()[lane].to_bits(), one.z.to_bits());
                }
            }
        }
    }
}
