//! Bounds of φ over a box.

use super::collider::Solid;
use super::judge::{Judge, Seen};
use crate::lane::Real;
use crate::vec3::Vec3;

/// What is known of φ over a box \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Nothing of the box is nearer than this: below 0 where something may be inside.
    pub low: f64,
    /// φ in its middle.
    pub phi: f64,
    /// Nothing of it is farther.
    pub high: f64,
}

/// A box by the halves of its edges.
struct Over([Vec3<f64>; 3]);

impl<S: Real> Judge<S> for Over {
    type Mark = Extent;
    /// φ of a convex shape lies above its tangents: over a box with half edges e it is at least φ − Σ |∇φ · eₖ|. Any other
    /// changes by no more than the way is long, times its largest slope.
    fn part(&self, seen: &Seen<'_, S>) -> Extent {
        let Seen { phi, normal, leaf, .. } = *seen;
        let corner = self.0.iter().map(|e| e.length_sq()).sum::<f64>().sqrt();
        let tangent = self.0.iter().map(|e| e.dot(normal).abs()).sum::<f64>();
        let most = corner * leaf.lipschitz();
        let fall = if leaf.is_supported() { tangent.min(most) } else { most };
        Extent { low: phi - fall, phi, high: phi + most }
    }
    fn grown(&self, of: Extent, by: f64) -> Extent {
        Extent { low: of.low - by, phi: of.phi - by, high: of.high - by }
    }
    fn union(&self, a: Extent, b: Extent) -> Extent {
        Extent { low: a.low.min(b.low), phi: a.phi.min(b.phi), high: a.high.min(b.high) }
    }
    fn intersection(&self, a: Extent, b: Extent) -> Extent {
        Extent { low: a.low.max(b.low), phi: a.phi.max(b.phi), high: a.high.max(b.high) }
    }
    fn difference(&self, a: Extent, b: Extent) -> Extent {
        Extent { low: a.low.max(-b.high), phi: a.phi.max(-b.phi), high: a.high.max(-b.low) }
    }
}

impl<S: Real> Solid<S> {
    /// What is known of φ over a box about `middle` with half edges `half`, in the collider's frame.
    pub fn extent(&self, middle: Vec3<f64>, half: [Vec3<f64>; 3]) -> Extent {
        let everywhere = Extent { low: f64::INFINITY, phi: f64::INFINITY, high: f64::INFINITY };
        self.program.judge(&Over(half), middle).unwrap_or(everywhere)
    }

    /// Centre and half sides of a box around it in its own frame \[m\]; none for a solid without end.
    pub fn around(&self) -> Option<[[f64; 3]; 2]> {
        self.bounded.then(|| [self.centre.map(S::to_f64), self.half.map(S::to_f64)])
    }
}
