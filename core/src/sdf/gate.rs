//! Gates: who is out of a collider's reach, told from a few numbers.
//!
//! Most particles are out of reach of most colliders. Finding that out in the frame of each collider took most of what the capsules of
//! a character cost its clothes.

use super::collider::Solid;
use super::contact::Placed;
use crate::lane::{Lane, Real};
use crate::vec3::Vec3;

/// What a pass looks at first of a collider in a substep. Where it is closed, [`Solid::touch`] finds nothing.
///
/// Around every collider with an end there is a ball about c with radius r. A particle of thickness τ that goes by s and ends at x stays
/// outside if
/// ```text
///   |x − c| > r + k τ + |s| + m         m what the collider moves by there, k = √3 for a ball around a box
///   m ≤ Δ + θ (|x − c| + o + |s| + Δ)   Δ how far its frame moves, θ the turn, o from the frame's origin to c
/// ```
/// The sum of the components of s stands for |s|: it is no less, and takes no root.
#[derive(Clone, Copy, Debug)]
pub struct Gate<S> {
    /// Whether it ever closes.
    closes: bool,
    /// The centre c \[m\].
    at: [S; 3],
    /// How far from there it is open: this \[m\], and so many times the thickness and the way.
    reach: S,
    per_thickness: S,
    per_way: S,
}

/// Turns beyond this \[rad\] are too coarse for the bound above.
const TURN: f64 = 0.5;
/// How much farther a gate is open than it should, for rounding: as a share, and in roundings of the lengths around.
const WIDER: f64 = 1.0 + 1e-5;
const BLUR: f64 = 16.0;

impl<S: Real> Gate<S> {
    /// For a collider in a substep; bodies are in frames as far as `far` from its own \[m\].
    pub fn new(solid: &Solid<S>, placed: &Placed<S>, far: S) -> Self {
        let [step, turn] = placed.motion();
        // What has no end is within everybody's reach, and where frames cost nothing the box around a collider is as good.
        if !solid.bounded || turn > TURN || placed.is_level() {
            let none = S::ZERO;
            let reach = S::from_f64(f64::INFINITY);
            return Self { closes: false, at: [none; 3], reach, per_thickness: none, per_way: none };
        }
        let length = |v: [S; 3]| Vec3::from(v).to_double().length();
        let at: [S; 3] = placed.at_end(solid.centre.into()).into();
        let (radius, per_thickness) =
            if solid.round { (solid.half[0].to_f64(), 1.0) } else { (length(solid.half), 3.0_f64.sqrt()) };
        let blur = BLUR * S::EPSILON.to_f64() * (length(at) + length(solid.centre) + radius + step + far.to_f64());
        let reach = radius + (1.0 + turn) * step + turn * length(solid.centre) + blur;
        let scaled = |v: f64| S::from_f64(WIDER * v / (1.0 - turn));
        let (reach, per_thickness, per_way) = (scaled(reach), scaled(per_thickness), scaled(1.0 + turn));
        Self { closes: true, at, reach, per_thickness, per_way }
    }

    /// Whether it is ever closed.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// Whether any lane may touch the collider on its way from `start` to `x`.
    #[inline(always)]
    pub fn is_open<L: Lane<Scalar = S>>(&self, thickness: L, x: Vec3<L>, start: Vec3<L>, origin: Vec3<L>) -> bool {
        let (d, s) = (x - (Vec3::splat(self.at) - origin), x - start);
        let way = s.x.abs() + s.y.abs() + s.z.abs();
        let reach = L::splat(self.reach) + thickness * L::splat(self.per_thickness) + way * L::splat(self.per_way);
        L::any((reach * reach).ge(d.length_sq()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Random, shapes};
    use super::super::{Collider, Colliders, Pose, Rotation};
    use super::*;

    /// Particles of every speed around colliders that stand, move and turn, at all distances.
    fn closes_on_no_contact<S: Real>() {
        let mut random = Random(3);
        let (mut closed, mut touched) = (0, 0);
        for shape in shapes() {
            let set = Colliders::<S>::new([Collider::new(shape.clone())]).expect("valid");
            let solid = &set.solids()[0];
            for round in 0..4000 {
                let (at, axis, angle) = (random.point(), random.point(), 3.0 * random.next());
                let from = Pose::at(at).turned(Rotation::about(axis, angle));
                // From a thousandth of a metre and radian to 1, or not at all.
                let most = if round % 4 == 0 { 0.0 } else { 10.0_f64.powf(1.5 * random.next() - 1.5) };
                let (by, turn) = (random.point().map(|c| most * c), most * random.next());
                let to = Pose::at([0, 1, 2].map(|k| at[k] + by[k])).turned(Rotation::about(axis, angle + turn));
                let placed = Placed::<S>::new(from, to, [0.0, 1.0], [0.0; 3]);
                let gate = Gate::new(solid, &placed, S::ZERO);
                let far = 10.0_f64.powf(random.next());
                let start: [f64; 3] = random.point().map(|c| far * c);
                let speed = 10.0_f64.powf(2.0 * random.next() - 1.5);
                let way = random.point();
                let x: [f64; 3] = std::array::from_fn(|k| to.translation[k] + start[k] + speed * way[k]);
                let start: [f64; 3] = std::array::from_fn(|k| to.translation[k] + start[k]);
                let [x, start] = [x, start].map(|p| Vec3::<S>::from_double(p.into()));
                let thickness = S::from_f64(0.05 * (1.0 + random.next()));
                let (end, travel) = placed.enter(x, start, Vec3::zero());
                let depth = solid.touch(thickness, end, travel).map_or(S::ZERO, |contact| contact.depth);
                let touches = depth > S::ZERO;
                if gate.is_open(thickness, x, start, Vec3::zero()) {
                    touched += u32::from(touches);
                } else {
                    closed += 1;
                    assert!(!touches, "{shape:?}, from {from:?} to {to:?}: {start:?} to {x:?} is {depth:?} deep");
                }
            }
        }
        assert!(closed > 10_000 && touched > 10_000, "{closed} closed, {touched} touched");
    }

    #[test]
    fn a_closed_gate_hides_no_contact() {
        closes_on_no_contact::<f64>();
        closes_on_no_contact::<f32>();
    }
}
