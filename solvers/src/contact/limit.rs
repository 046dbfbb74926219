//! Limits: particles with a skin are kept in reach of their places and out of their backstops. The last word of a substep.

use pliant_core::backend::{Backend, Map};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;
use pliant_core::skin::{FREE, hold};
use pliant_core::vec3::Vec3;

/// A model's skin by slot.
#[derive(Clone, Debug)]
pub(super) struct Limits<S> {
    /// Places, the reach as the weight, and centres, the radius as the weight; where they were, and where they go.
    fields: Option<Box<[Field<S>; 4]>>,
    t: S,
}

impl<S: Real> Limits<S> {
    pub fn new(model: &Model<S>) -> Self {
        let fields = model.skin().map(|_| Box::new([0; 4].map(|_| Field::zeros(model.plan()))));
        let mut this = Self { fields, t: S::ONE };
        if let Some(fields) = &mut this.fields {
            // Whoever has no skin is free.
            for &slot in model.plan().slots() {
                fields[0].set(slot as usize, 3, S::from_f64(FREE));
            }
        }
        this
    }

    /// Takes places and centres as the bodies' frames see them.
    pub fn begin(&mut self, model: &Model<S>, origins: &[[S; 3]]) {
        let Some(skin) = model.skin() else {
            self.fields = None;
            return;
        };
        if self.fields.is_none() {
            *self = Self::new(model);
        }
        let Some(fields) = &mut self.fields else { return };
        let [places, centres, next_places, next_centres] = &mut **fields;
        for (row, &particle) in skin.particles().iter().enumerate() {
            let slot = model.plan().slots()[particle as usize] as usize;
            let origin = origins.get(model.body_of(particle)).copied().unwrap_or([S::ZERO; 3]);
            let local = |p: [S; 3]| core::array::from_fn(|k| p[k] - origin[k]);
            let [reach, radius] = skin.limits(row);
            let ([place, centre], [next_place, next_centre]) = (skin.from(row), skin.to(row));
            places.set_vector(slot, local(place));
            centres.set_vector(slot, local(centre));
            next_places.set_vector(slot, local(next_place));
            next_centres.set_vector(slot, local(next_centre));
            places.set(slot, 3, reach);
            centres.set(slot, 3, radius);
        }
    }

    /// Goes on to substep `k` of `n`.
    pub fn place(&mut self, (k, n): (usize, usize)) {
        self.t = if k + 1 == n { S::ONE } else { S::from_f64((k + 1) as f64 / n as f64) };
    }

    /// Moves positions to where they may be.
    pub fn project<B: Backend<Scalar = S>>(&mut self, x: &mut Field<S>, on: &B) {
        if let Some(fields) = &mut self.fields {
            let [a, b, c, d] = &mut **fields;
            on.map(&Limit { t: self.t, inv_h: S::ZERO }, [x, a, b, c, d]);
        }
    }
    /// The same, and velocities with them, after positions have advanced by h v.
    pub fn strike<B: Backend<Scalar = S>>(&mut self, h: S, [x, v]: [&mut Field<S>; 2], on: &B) {
        if let Some(fields) = &mut self.fields {
            let [a, b, c, d] = &mut **fields;
            on.map(&Limit { t: self.t, inv_h: S::ONE / h }, [x, v, a, b, c, d]);
        }
    }
}

struct Limit<S> {
    t: S,
    inv_h: S,
}

impl<S: Real> Limit<S> {
    #[inline(always)]
    fn held<L: Lane<Scalar = S>>(&self, w: L, x: Vec3<L>, [reach, radius]: [L; 2], at: [Vec3<L>; 4]) -> Vec3<L> {
        let last = self.t == S::ONE;
        let t = L::splat(self.t);
        let place = if last { at[2] } else { at[0] + (at[2] - at[0]) * t };
        let centre = if last { at[3] } else { at[1] + (at[3] - at[1]) * t };
        Vec3::select(w.gt(L::zero()), hold(x, (place, reach), (centre, radius)), x)
    }
}

/// Fields x, places, centres, next places, next centres.
impl<S: Real> Map<5> for Limit<S> {
    type Scalar = S;
    const WRITES: [bool; 5] = [true, false, false, false, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; 5]) -> [Vec3<L>; 5] {
        self.apply_weighted([w; 5], fields)
    }
    #[inline(always)]
    fn apply_weighted<L: Lane<Scalar = S>>(&self, w: [L; 5], [x, a, b, c, d]: [Vec3<L>; 5]) -> [Vec3<L>; 5] {
        [self.held(w[0], x, [w[1], w[2]], [a, b, c, d]), a, b, c, d]
    }
}

/// Fields x, v, places, centres, next places, next centres.
impl<S: Real> Map<6> for Limit<S> {
    type Scalar = S;
    const WRITES: [bool; 6] = [true, true, false, false, false, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, fields: [Vec3<L>; 6]) -> [Vec3<L>; 6] {
        self.apply_weighted([w; 6], fields)
    }
    #[inline(always)]
    fn apply_weighted<L: Lane<Scalar = S>>(&self, w: [L; 6], [x, v, a, b, c, d]: [Vec3<L>; 6]) -> [Vec3<L>; 6] {
        let held = self.held(w[0], x, [w[2], w[3]], [a, b, c, d]);
        [held, v + (held - x) * L::splat(self.inv_h), a, b, c, d]
    }
}
