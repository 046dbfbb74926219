//! The rest shape of a cluster in its principal axes, and functions over it that make sums simple.
//!
//! With weights fᵢ that add up to 1 and rest places r about their centre of mass, turned into the principal axes, the moments
//! Σ f r rᵀ are diagonal: their inverse, which the best linear map A = (Σ f d rᵀ)(Σ f r rᵀ)⁻¹ needs, is three numbers. The
//! products x², y², z², xy, yz, zx of the quadratic mode are made orthonormal to each other, to the coordinates and to 1, which
//! turns Müller's 9 × 9 inverse into nothing at all: the best quadratic map is Σₖ (Σ f d φₖ) φₖ. Being orthogonal to 1 and to
//! the coordinates they also keep momentum, which the plain products do not.

use crate::mat3::Mat3;
use crate::svd::svd;
use crate::vec3::Vec3;

/// Functions of the quadratic mode beside the coordinates.
pub(super) const QUADRATIC: usize = 6;

/// Moments below this share of the largest count as none: the cluster is flat or straight there.
const FLAT: f64 = 1e-6;

/// A cluster's rest shape.
pub(super) struct Basis {
    /// Places in the principal axes about the centre of mass \[m\].
    pub rest: Vec<Vec3<f64>>,
    /// 1 over the principal moments, 0 where the cluster is flat \[1/m²\].
    pub inv_moments: [f64; 3],
    /// The principal axes, as columns.
    pub axes: Mat3<f64>,
    /// Functions of the quadratic mode, by member; 0 where the particles do not determine one.
    pub bend: Vec<[f64; QUADRATIC]>,
}

impl Basis {
    /// Of particles at these places with weights that add up to 1.
    pub fn new(places: &[[f64; 3]], weights: &[f64], quadratic: bool) -> Self {
        let mut centre = Vec3::zero();
        for (&p, &f) in places.iter().zip(weights) {
            centre = centre + Vec3::from(p) * f;
        }
        let mut moments = Mat3::diagonal(0.0);
        for (&p, &f) in places.iter().zip(weights) {
            let r = Vec3::from(p) - centre;
            moments = moments + Mat3::outer(r, r * f);
        }
        // Symmetric and positive: its singular vectors are its axes, its singular values the moments along them.
        let (axes, turn) = {
            let v = svd(moments).v;
            (v, v.transpose())
        };
        let rest: Vec<_> = places.iter().map(|&p| turn * (Vec3::from(p) - centre)).collect();
        let mean = |g: &dyn Fn(&Vec3<f64>) -> f64| rest.iter().zip(weights).map(|(r, f)| f * g(r)).sum::<f64>();
        let along = [mean(&|r| r.x * r.x), mean(&|r| r.y * r.y), mean(&|r| r.z * r.z)];
        let least = FLAT * along.iter().fold(0.0, |m: f64, &l| m.max(l));
        let inv_moments = along.map(|l| if l > least { 1.0 / l } else { 0.0 });
        let bend = if quadratic { products(&rest, weights, inv_moments) } else { Vec::new() };
        Self { rest, inv_moments, axes, bend }
    }
}

/// The products of coordinates, orthonormal: Gram–Schmidt, twice because once leaves rounding.
fn products(rest: &[Vec3<f64>], weights: &[f64], inv_moments: [f64; 3]) -> Vec<[f64; QUADRATIC]> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).zip(weights).map(|((a, b), f)| a * b * f).sum::<f64>();
    // Coordinates of size 1; flat directions vanish.
    let unit = |r: &Vec3<f64>| [r.x * inv_moments[0].sqrt(), r.y * inv_moments[1].sqrt(), r.z * inv_moments[2].sqrt()];
    let column = |g: &dyn Fn([f64; 3]) -> f64| rest.iter().map(|r| g(unit(r))).collect::<Vec<f64>>();
    let mut known = vec![column(&|_| 1.0), column(&|u| u[0]), column(&|u| u[1]), column(&|u| u[2])];
    let mut bend = vec![[0.0; QUADRATIC]; rest.len()];
    for (k, [i, j]) in [[0, 0], [1, 1], [2, 2], [0, 1], [1, 2], [2, 0]].into_iter().enumerate() {
        let mut phi = column(&|u| u[i] * u[j]);
        let before = dot(&phi, &phi);
        for _ in 0..2 {
            for other in &known {
                let shared = dot(&phi, other);
                phi.iter_mut().zip(other).for_each(|(a, b)| *a -= shared * b);
            }
        }
        let size = dot(&phi, &phi);
        // What is left of a function that the others determine is rounding.
        if size > FLAT * before && size > 0.0 {
            phi.iter_mut().for_each(|a| *a /= size.sqrt());
            bend.iter_mut().zip(&phi).for_each(|(row, a)| row[k] = *a);
            known.push(phi);
        }
    }
    bend
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lumps(count: usize) -> (Vec<[f64; 3]>, Vec<f64>) {
        let at = |i: usize, k: usize| {
            let n = ((5 * i + k) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1_u64 << 24) as f64
        };
        let places = (0..count).map(|i| [2.0 * at(i, 1), at(i, 2), 0.3 * at(i, 3)]).collect();
        let weights: Vec<f64> = (0..count).map(|i| 0.2 + at(i, 4)).collect();
        let sum: f64 = weights.iter().sum();
        (places, weights.iter().map(|w| w / sum).collect())
    }

    #[test]
    fn functions_are_orthonormal_to_each_other_and_to_rigid_motion() {
        let (places, weights) = lumps(60);
        let Basis { rest, inv_moments, bend, .. } = Basis::new(&places, &weights, true);
        let mut functions: Vec<Vec<f64>> = vec![vec![1.0; 60]];
        for k in 0..3 {
            functions.push(rest.iter().map(|r| <[f64; 3]>::from(*r)[k] * inv_moments[k].sqrt()).collect());
        }
        for k in 0..QUADRATIC {
            functions.push(bend.iter().map(|row| row[k]).collect());
        }
        for (i, a) in functions.iter().enumerate() {
            for (j, b) in functions.iter().enumerate() {
                let dot: f64 = (0..60).map(|p| weights[p] * a[p] * b[p]).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12, "{i}·{j} = {dot}");
            }
        }
    }

    #[test]
    fn flat_straight_and_single_clusters_have_no_directions_they_lack() {
        let flat: Vec<_> = (0..9).map(|i| [f64::from(i % 3), 1.0, f64::from(i / 3)]).collect();
        let basis = Basis::new(&flat, &[1.0 / 9.0; 9], true);
        assert_eq!(basis.inv_moments.iter().filter(|m| **m == 0.0).count(), 1);
        assert!(basis.bend.iter().flatten().all(|b| b.is_finite() && b.abs() < 10.0));
        let straight: Vec<_> = (0..4).map(|i| [f64::from(i); 3]).collect();
        assert_eq!(Basis::new(&straight, &[0.25; 4], true).inv_moments.iter().filter(|m| **m == 0.0).count(), 2);
        let single = Basis::new(&[[3.0, 1.0, 2.0]], &[1.0], true);
        assert_eq!((single.inv_moments, single.bend[0]), ([0.0; 3], [0.0; QUADRATIC]));
    }
}
