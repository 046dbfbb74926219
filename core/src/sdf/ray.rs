//! Rays against solids: steps as long as the distance allows.

use super::collider::Solid;
use crate::lane::Real;
use crate::vec3::Vec3;

/// Steps after which a ray that grazes a surface counts as passing.
const STEPS: usize = 256;
/// A ray has arrived when this share of its own extent is left.
const ARRIVED: f64 = 1e-6;

impl<S: Real> Solid<S> {
    /// Where a ray in the collider's frame enters the solid within `reach` \[m\], and the normal there; `direction` is a unit
    /// vector. φ changes no faster than the way is long, so that every step is safe.   [Hart 1996]
    pub fn ray(&self, origin: Vec3<f64>, direction: Vec3<f64>, reach: f64) -> Option<(f64, Vec3<f64>)> {
        let centre = Vec3::from(self.centre.map(S::to_f64));
        let (radius, from) = (Vec3::from(self.half.map(S::to_f64)).length(), origin - centre);
        // A ray far away begins where it enters the ball around the solid.
        let mut t = 0.0;
        if radius.is_finite() && from.length() > radius {
            let along = -from.dot(direction);
            let aside_sq = (from + direction * along).length_sq();
            if along < 0.0 || aside_sq > radius * radius {
                return None;
            }
            t = (along - (radius * radius - aside_sq).sqrt() * (1.0 + ARRIVED)).max(0.0);
        }
        let scale = self.inv_lipschitz.to_f64();
        for _ in 0..STEPS {
            if t > reach {
                return None;
            }
            let place = origin + direction * t;
            let (phi, normal) = self.program.eval(Vec3::from([place.x, place.y, place.z].map(S::from_f64)));
            let phi = phi.to_f64();
            let extent = ARRIVED * (1e-3 + place.length());
            if phi <= extent {
                let normal: [S; 3] = normal.into();
                return Some((t, normal.map(S::to_f64).into()));
            }
            if radius.is_finite()
                && t > 0.0
                && (place - centre).length() > radius
                && (place - centre).dot(direction) > 0.0
            {
                return None;
            }
            t += phi * scale;
        }
        None
    }
}
