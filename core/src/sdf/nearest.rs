//! The nearest place of a surface, for shapes that know only a bound of their distance as well.

use super::collider::Solid;
use crate::lane::Real;
use crate::vec3::Vec3;

/// A place is on the surface when φ is this share of the lengths around.
const TOUCHED: f64 = 1e-9;
/// Or this many roundings of them.
const BLUR: f64 = 32.0;
/// What is left of φ where steps end without arriving counts as nothing below this share of where they began.
const NEARLY: f64 = 1e-3;
/// Most steps of φ onto the surface.
const STEPS: usize = 64;
/// Most tries to come nearer along it.
const SLIDES: usize = 32;

/// A place in the collider's frame, with what the program says of it.
#[derive(Clone, Copy)]
struct Spot {
    place: Vec3<f64>,
    phi: f64,
    normal: Vec3<f64>,
}

impl<S: Real> Solid<S> {
    /// How far a place in the collider's frame is from the surface \[m\], negative inside, and the unit vector n that leads
    /// there: p − φ n is on the surface.
    ///
    /// Where φ is the distance, these are φ and ∇φ. Where it is a bound alone, that place may hang in the air: then steps of φ
    /// go on until they arrive, and the place is moved along the surface as long as that brings it nearer. It is on the surface
    /// then, and near the nearest one, if not it.
    pub fn nearest(&self, place: Vec3<f64>) -> (f64, Vec3<f64>) {
        let start = self.spot(place);
        let Spot { phi, normal, .. } = start;
        let known = (phi, normal);
        if self.exact[usize::from(phi < 0.0)] {
            return known;
        }
        let near = TOUCHED.max(BLUR * S::EPSILON.to_f64()) * (place.length() + phi.abs());
        let first = self.spot(place - normal * phi);
        // Nothing is nearer than a bound that is reached.
        if first.phi.abs() <= near || !first.phi.is_finite() {
            return known;
        }
        let mut best = self.land(first, near);
        if phi < 0.0 || best.phi.abs() > near {
            match self.search(start, best, near) {
                Some(found) => best = found,
                // As near as a sampled corner lets it come; or there is no surface, as where nothing is shared.
                None if best.phi.abs() <= NEARLY * phi.abs() => {}
                None => return known,
            }
        }
        let mut share = 1.0;
        for _ in 0..SLIDES {
            let away = place - best.place;
            let along = away - best.normal * best.normal.dot(away);
            if along.length() * share <= near || away.length() <= phi.abs() + near {
                break;
            }
            let next = self.land(self.spot(best.place + along * share), near);
            if next.phi.abs() <= near.max(best.phi.abs()) && (place - next.place).length() < away.length() - near {
                (best, share) = (next, (2.0 * share).min(1.0));
            } else {
                share *= 0.5;
            }
        }
        let away = place - best.place;
        let length = away.length();
        if length <= near {
            return known;
        }
        let distance = if phi < 0.0 { -length } else { length };
        (distance, away * (1.0 / distance))
    }

    /// The nearest of a place, if it is on the surface, and of those where straight ways in many directions meet it: parts
    /// that overlap, and rims of cuts, may send a place from one to the other for good.
    fn search(&self, start: Spot, landed: Spot, near: f64) -> Option<Spot> {
        let away = |spot: Spot| (spot.place - start.place).length();
        let mut best = Some(landed).filter(|spot| spot.phi.abs() <= near);
        for way in 0..27_u32 {
            let way = Vec3::from([way % 3, way / 3 % 3, way / 9].map(|c| f64::from(c) - 1.0));
            // In the middle of all of them: to the middle of the solid.
            let to_middle = Vec3::from(self.centre.map(S::to_f64)) - start.place;
            let way = if way.length_sq() > 0.0 { way } else { to_middle };
            let length = way.length();
            if length.is_finite() && length > 0.0 {
                let reach = best.map_or(f64::INFINITY, away);
                let met = self.meet(start, way * (1.0 / length), reach, near);
                best = met.filter(|met| met.phi.abs() <= near && away(*met) < reach).or(best);
            }
        }
        best
    }

    /// Where a straight way from a place meets the surface within `reach` \[m\], from either side.
    fn meet(&self, start: Spot, way: Vec3<f64>, reach: f64, near: f64) -> Option<Spot> {
        if start.phi > 0.0 {
            let (t, _) = self.ray(start.place, way, reach)?;
            return Some(self.land(self.spot(start.place + way * t), near));
        }
        let (mut spot, mut gone) = (start, 0.0);
        for _ in 0..STEPS {
            if spot.phi >= -near {
                return Some(self.land(spot, near));
            }
            gone -= spot.phi * self.inv_lipschitz.to_f64();
            if gone > reach {
                return None;
            }
            spot = self.spot(start.place + way * gone);
        }
        None
    }

    fn spot(&self, place: Vec3<f64>) -> Spot {
        let (phi, normal) = self.program.eval(Vec3::<S>::from_double(place));
        Spot { place, phi: phi.to_f64(), normal: normal.to_double() }
    }

    /// Onto the surface by steps of φ, or as near as they come. A step that crosses the surface is halved down to it: sampled
    /// slopes are not those of φ, and next to corners steps along them may go to and fro.
    fn land(&self, from: Spot, near: f64) -> Spot {
        let (mut spot, mut across) = (from, None::<Spot>);
        for _ in 0..STEPS {
            if spot.phi.abs() <= near {
                break;
            }
            let next = match across {
                Some(other) => self.spot((spot.place + other.place) * 0.5),
                None => self.spot(spot.place - spot.normal * spot.phi),
            };
            let crossed = (next.phi < 0.0) != (spot.phi < 0.0);
            // The new place and the one of both that it is opposite to.
            across = if crossed { Some(spot) } else { across };
            spot = next;
        }
        spot
    }
}
