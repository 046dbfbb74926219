//! Blocks of contacts: eight manifolds side by side, as the sweeps of sequential impulses read them.

use pliant_core::backend::Task;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::vec3::Vec3;

use super::flight::Moving;
use super::manifold::{Manifold, POINTS};

/// The idle lane of a block.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Eight manifolds side by side.
#[derive(Clone, Debug)]
pub(crate) struct Block<S> {
    /// Places of the bodies among those in flight.
    pub bodies: [[u32; BLOCK]; 2],
    /// Places of the manifolds in their list.
    pub manifolds: [u32; BLOCK],
    pub n: [Octet<S>; 3],
    /// From the centre of the second body to that of the first when the step began.
    pub between: [Octet<S>; 3],
    pub friction: Octet<S>,
    pub restitution: Octet<S>,
    /// 1 where one of the bodies is immovable.
    pub hard: Octet<S>,
    /// Points of the fullest manifold.
    pub count: usize,
    pub points: [Spot<S>; POINTS],
    /// New velocities of the bodies; what is added to them in a warm start.
    pub result: [[Octet<S>; BLOCK]; 2],
}

/// A contact point of each of eight manifolds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<S> {
    pub ra: [Octet<S>; 3],
    pub gap: Octet<S>,
    /// Effective masses along the normal and across it.
    pub mass: [Octet<S>; 2],
    /// Impulses along the normal and two tangents.
    pub impulse: [Octet<S>; 3],
    /// How far the bodies had crept along the tangents when the step began, less what they slid since.
    pub anchor: [Octet<S>; 2],
    /// The same now.
    pub crept: [Octet<S>; 2],
    /// Speed along the normal before the contact acted in this substep.
    pub approach: Octet<S>,
}

impl<S: Real> Block<S> {
    pub fn idle() -> Self {
        let zero = Octet([S::ZERO; BLOCK]);
        let three = [zero; 3];
        let (gap, approach, two) = (zero, zero, [zero; 2]);
        let spot = Spot { ra: three, gap, mass: two, impulse: three, anchor: two, crept: two, approach };
        Self {
            bodies: [[NOBODY; BLOCK]; 2],
            manifolds: [NOBODY; BLOCK],
            n: three,
            between: three,
            friction: zero,
            restitution: zero,
            hard: zero,
            count: 0,
            points: [spot; POINTS],
            result: [[zero; BLOCK]; 2],
        }
    }

    /// Adds what a warm start gives to the bodies.
    pub fn add(&self, moving: &mut [Moving<S>]) {
        for side in 0..2 {
            for (&slot, change) in self.bodies[side].iter().zip(&self.result[side]) {
                let Some(body) = moving.get_mut(slot as usize) else { continue };
                for (number, change) in body.motion.0.iter_mut().zip(change.0) {
                    *number = *number + change;
                }
            }
        }
    }
    /// Copies the new velocities to the bodies.
    #[inline(always)]
    pub fn deliver(&self, moving: &mut [Moving<S>]) {
        for side in 0..2 {
            for (&slot, motion) in self.bodies[side].iter().zip(&self.result[side]) {
                let Some(body) = moving.get_mut(slot as usize) else { continue };
                if body.inverse.0[6] > S::ZERO {
                    body.motion = *motion;
                }
            }
        }
    }
}

/// Two unit vectors across a unit vector (Duff et al. 2017).
#[inline(always)]
pub(crate) fn tangents<L: Lane>(n: Vec3<L>) -> (Vec3<L>, Vec3<L>) {
    let one = L::one();
    let sign = L::select(n.z.ge(L::zero()), one, -one);
    let a = -one / (sign + n.z);
    let b = n.x * n.y * a;
    (Vec3::new(one + sign * n.x * n.x * a, sign * b, -(sign * n.x)), Vec3::new(b, sign + n.y * n.y * a, -n.y))
}

/// Fills blocks from manifolds.
pub(crate) struct Fill<'a, S> {
    pub manifolds: &'a [Manifold<S>],
    pub slots: &'a [u32],
    pub moving: &'a [Moving<S>],
}

impl<S: Real> Task<Block<S>> for Fill<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, _: usize, own: &mut [Block<S>]) {
        for block in own {
            let numbers = block.manifolds;
            *block = Block { manifolds: numbers, ..Block::idle() };
            for (lane, &number) in numbers.iter().enumerate() {
                let Some(manifold) = self.manifolds.get(number as usize) else { continue };
                let places = manifold.bodies.map(|row| self.slots[row as usize]);
                let [a, b] = places.map(|slot| &self.moving[slot as usize]);
                block.bodies[0][lane] = places[0];
                block.bodies[1][lane] = places[1];
                let n = manifold.n;
                let (t1, t2) = tangents(n);
                put(&mut block.n, lane, n);
                block.friction.0[lane] = manifold.friction;
                block.restitution.0[lane] = manifold.restitution;
                let immovable = !(a.inv_mass() > S::ZERO && b.inv_mass() > S::ZERO);
                block.hard.0[lane] = if immovable { S::ONE } else { S::ZERO };
                block.count = block.count.max(manifold.count);
                put(&mut block.between, lane, a.x() - b.x());
                for (point, spot) in manifold.points[..manifold.count].iter().zip(&mut block.points) {
                    put(&mut spot.ra, lane, point.ra);
                    spot.gap.0[lane] = point.gap;
                    let [along, first, second] = [n, t1, t2].map(|direction| {
                        // 1/(n · K n), K = K_a + K_b   (R 36).
                        let (ca, cb) = (point.ra.cross(direction), point.rb.cross(direction));
                        let k_n = (a.inv_mass() + b.inv_mass()) + (ca.dot(a.turn(ca)) + cb.dot(b.turn(cb)));
                        k_n.divide_or_zero(S::ONE)
                    });
                    // One mass for both tangents: friction then points against the motion, not along the softer tangent.
                    (spot.mass[0].0[lane], spot.mass[1].0[lane]) = (along, Lane::min(first, second));
                    spot.impulse[0].0[lane] = point.normal;
                    for (k, t) in [t1, t2].into_iter().enumerate() {
                        spot.impulse[k + 1].0[lane] = point.tangent.dot(t);
                        spot.anchor[k].0[lane] = point.crept.dot(t);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn put<S: Real>(columns: &mut [Octet<S>; 3], lane: usize, v: Vec3<S>) {
    columns[0].0[lane] = v.x;
    columns[1].0[lane] = v.y;
    columns[2].0[lane] = v.z;
}

#[inline(always)]
pub(crate) fn get<L: Lane>(columns: &[Octet<L::Scalar>; 3], at: usize) -> Vec3<L> {
    Vec3::new(L::load(&columns[0], at), L::load(&columns[1], at), L::load(&columns[2], at))
}
