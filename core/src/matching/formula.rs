//! The formulas of shape matching, on lanes: sums over the members of a cluster, the shape they fit, the goal of a member.
//!
//! Places are differences d = x − a from an anchor a near the cluster (its first member), so that single precision is not
//! spent on where in the world the cluster is. r is a member's place in the rest shape, in its principal axes (`basis.rs`).

use crate::lane::Lane;
use crate::mat3::Mat3;
use crate::math::cube_root;
use crate::polar::rotation;
use crate::vec3::Vec3;

/// Σ f d, Σ f d rᵀ and Σ f d φₖ over the members of a cluster, with weights f that add up to 1.
#[derive(Clone, Copy, Debug)]
pub struct Sums<L, const Q: usize> {
    /// Σ f d: the centre of mass \[m\].
    pub centre: Vec3<L>,
    /// Σ f d rᵀ \[m²\].
    pub linear: Mat3<L>,
    /// Σ f d φₖ \[m\].
    pub bend: [Vec3<L>; Q],
}

impl<L: Lane, const Q: usize> Sums<L, Q> {
    /// Of no member.
    #[inline(always)]
    pub fn zero() -> Self {
        Self { centre: Vec3::zero(), linear: Mat3::diagonal(L::zero()), bend: [Vec3::zero(); Q] }
    }
    /// One member more. Places about the anchor instead of the centre do, since Σ f r = 0 and Σ f φₖ = 0.
    #[inline(always)]
    pub fn add(&mut self, weight: L, d: Vec3<L>, rest: Vec3<L>, bend: &[L; Q]) {
        let p = d * weight;
        self.centre = self.centre + p;
        let [a, b, c] = self.linear.columns;
        self.linear.columns = [a + p * rest.x, b + p * rest.y, c + p * rest.z];
        for k in 0..Q {
            self.bend[k] = self.bend[k] + p * bend[k];
        }
    }
}

/// How goals look and how the rest shape flows, cluster by cluster.
#[derive(Clone, Copy, Debug)]
pub struct Nature<L> {
    /// 1 over the principal moments, 0 where the rest shape is flat \[1/m²\].
    pub inv_moments: [L; 3],
    /// How much of the deformation goals take over \[1\].
    pub share: L,
    /// Deformation that springs back \[1\].
    pub yields_at: L,
    /// Share of the deformation that is kept in a second \[1/s\].
    pub creep: L,
    /// The largest plastic deformation \[1\].
    pub bound: L,
}

/// Where a cluster's rest shape went: goals are centre + T r + Σ Bₖ φₖ.
#[derive(Clone, Copy, Debug)]
pub struct Shape<L, const Q: usize> {
    /// Centre of mass about the anchor \[m\].
    pub centre: Vec3<L>,
    /// T: rotation, and as much of the deformation as goals take over.
    pub transform: Mat3<L>,
    /// Bₖ \[m\].
    pub bend: [Vec3<L>; Q],
}

/// The shape that fits the sums of a cluster, and its plastic deformation after `h` \[s\] more.
///
/// The rest shape is P r with the plastic deformation P (1 at first). R is the rotation nearest to Σ f d (P r)ᵀ: of all it makes
/// Σ f |goal − x|² least, and Σ f (goal − c) × (x − c) = 0, so that matching keeps angular momentum. (The rotation of the best
/// linear map A itself would not.)
#[inline(always)]
pub fn fit<L: Lane, const Q: usize>(
    sums: &Sums<L, Q>,
    nature: &Nature<L>,
    plastic: Mat3<L>,
    h: L,
) -> (Shape<L, Q>, Mat3<L>) {
    let r = rotation(sums.linear * plastic.transpose());
    let rigid = r * plastic;
    let mut shape = Shape { centre: sums.centre, transform: rigid, bend: [Vec3::zero(); Q] };
    let deforms = nature.share.gt(L::zero());
    let flows = nature.creep.gt(L::zero());
    if !L::any(deforms) && !L::any(flows) {
        return (shape, plastic);
    }

    // A = (Σ f d rᵀ)(Σ f r rᵀ)⁻¹, and along directions the rest shape does not have: no deformation.   [R 20]
    let mut a = rigid;
    let mut solid = L::one();
    for k in 0..3 {
        let present = nature.inv_moments[k].gt(L::zero());
        a.columns[k] = Vec3::select(present, sums.linear.columns[k] * nature.inv_moments[k], rigid.columns[k]);
        solid = L::select(present, solid, L::zero());
    }
    if L::any(deforms) {
        // Volume kept: A/∛det A, as far as a halving or doubling of lengths.
        let volume = a.determinant().max(L::constant(0.125)).min(L::constant(8.0));
        let scale = L::select(solid.gt(L::zero()), L::one() / cube_root(volume), L::one());
        // T = β A/∛det A + (1 − β) R P
        let (take, leave) = (nature.share * scale, L::one() - nature.share);
        for k in 0..3 {
            let blend = a.columns[k] * take + rigid.columns[k] * leave;
            shape.transform.columns[k] = Vec3::select(deforms, blend, rigid.columns[k]);
        }
        for k in 0..Q {
            shape.bend[k] = sums.bend[k] * nature.share;
        }
    }
    let flowed = if L::any(flows) { flow(r, a, nature, plastic, h) } else { plastic };
    (shape, flowed)
}

/// The plastic deformation after `h` more: P ← (1 + h creep (S − 1)) P where |S − 1| is beyond the yield, its volume kept and
/// |P − 1| bounded; S = Rᵀ A P⁻¹ is the stretch of the rest shape P r.   [Müller05, 4.5]
#[inline(always)]
fn flow<L: Lane>(r: Mat3<L>, a: Mat3<L>, nature: &Nature<L>, plastic: Mat3<L>, h: L) -> Mat3<L> {
    let unit = Mat3::diagonal(L::one());
    // |P − 1| < 1 keeps P invertible.
    let inverse = plastic.cofactor().transpose() * (L::one() / plastic.determinant());
    let strain = minus(r.transpose() * (a * inverse), unit);
    let rate = (nature.creep * h).min(L::one());
    let next = (unit + strain * rate) * plastic;
    let volume = next.determinant();
    let next = next * (L::one() / cube_root(volume.max(L::constant(0.125)).min(L::constant(8.0))));
    let off = minus(next, unit);
    let size = size(off);
    let bounded = unit + off * L::select(size.gt(nature.bound), size.divide_or_zero(nature.bound), L::one());
    // A cluster that was crushed or turned inside out has no stretch to keep.
    let sound = L::both(size_beyond(strain, nature.yields_at), volume.gt(L::constant(0.125)));
    let yields = L::both(sound, nature.creep.gt(L::zero()));
    let mut kept = plastic;
    for k in 0..3 {
        kept.columns[k] = Vec3::select(yields, bounded.columns[k], plastic.columns[k]);
    }
    kept
}

#[inline(always)]
fn minus<L: Lane>(a: Mat3<L>, b: Mat3<L>) -> Mat3<L> {
    let ([a, b, c], [d, e, f]) = (a.columns, b.columns);
    Mat3::from_columns(a - d, b - e, c - f)
}

/// Frobenius norm.
#[inline(always)]
fn size<L: Lane>(a: Mat3<L>) -> L {
    let [a, b, c] = a.columns;
    (a.length_sq() + b.length_sq() + c.length_sq()).sqrt()
}

#[inline(always)]
fn size_beyond<L: Lane>(a: Mat3<L>, limit: L) -> L::Mask {
    size(a).gt(limit)
}

impl<L: Lane, const Q: usize> Shape<L, Q> {
    /// How far a member at d is from its goal: centre + T r + Σ Bₖ φₖ − d.
    #[inline(always)]
    pub fn pull(&self, d: Vec3<L>, rest: Vec3<L>, bend: &[L; Q]) -> Vec3<L> {
        let mut goal = self.centre + self.transform * rest;
        for k in 0..Q {
            goal = goal + self.bend[k] * bend[k];
        }
        goal - d
    }
}
