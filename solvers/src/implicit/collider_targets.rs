//! Colliders as targets that contact would move particles to: see `collider_energy`.

use pliant_core::backend::Backend;
use pliant_core::field::Field;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

use super::collider_energy::Around;
use super::descent::Copy;
use super::nodes::Nodes;
use crate::flight::Flight;

/// Particles drawn to where contact would move them: the constraints of Projective Dynamics for colliders.
#[derive(Clone, Debug)]
pub(crate) struct Targets<S> {
    /// w over a particle's own stiffness.
    weight: S,
    /// p(x) after projection.
    places: Field<S>,
    slots: Vec<u32>,
    /// By node: w where it is in contact, else 0 \[N/m\].
    pull: Vec<S>,
    active: Vec<bool>,
    pub changed: bool,
}

impl<S: Real> Targets<S> {
    pub fn new(flight: &Flight<S>, nodes: &Nodes, weight: f64) -> Self {
        Self {
            weight: S::from_f64(weight),
            places: flight.x.clone(),
            slots: nodes.slots().to_vec(),
            pull: vec![S::ZERO; nodes.len()],
            active: vec![false; nodes.len()],
            changed: false,
        }
    }

    /// w of a node \[N/m\], given what it weighs without contact; 0 where it has none.
    pub fn weigh(&mut self, node: usize, own: S) -> S {
        self.pull[node] = if self.active[node] { own * self.weight } else { S::ZERO };
        self.pull[node]
    }

    /// Which nodes are in contact at the prediction, or begin close to it: where gravity would take them in two substeps.
    pub fn begin(&mut self, model: &Model<S>, flight: &Flight<S>, h: S) {
        let g = Vec3::from(model.environment.gravity).length();
        let near = S::from_f64(2.0) * h * h * g;
        let around = Around::new(model, flight);
        self.changed = false;
        for (node, &slot) in self.slots.iter().enumerate() {
            let (x, start, thickness, origin) = around.particle(slot);
            let mut active = false;
            for (c, (solid, placed)) in around.solids.iter().zip(around.placed).enumerate() {
                if !around.strata.meets(slot, c) {
                    continue;
                }
                let (end, travel) = placed.enter(x, start, origin);
                for place in [end, end - travel] {
                    let found = solid.distance(thickness + near, place);
                    active |= found.is_some_and(|(phi, _)| thickness + near > phi);
                }
            }
            self.changed |= active != self.active[node];
            self.active[node] = active;
        }
    }

    fn project<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &mut Flight<S>, on: &B) {
        on.map(&Copy(core::marker::PhantomData), [&mut flight.x, &mut self.places]);
        flight.contacts.project_colliders(model, [&mut self.places, &mut flight.start], (0, 1), on);
    }

    pub fn value<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &mut Flight<S>, on: &B) -> f64 {
        self.project(model, flight, on);
        let energy = |(&slot, &pull): (&u32, &S)| {
            let d = Vec3::from(flight.x.vector(slot as usize)) - Vec3::from(self.places.vector(slot as usize));
            0.5 * (pull * d.length_sq()).to_f64()
        };
        self.slots.iter().zip(&self.pull).map(energy).sum()
    }

    pub fn gradient<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        flight: &mut Flight<S>,
        to: &mut Field<S>,
        on: &B,
    ) {
        self.project(model, flight, on);
        for (&slot, &pull) in self.slots.iter().zip(&self.pull).filter(|(_, pull)| **pull > S::ZERO) {
            let slot = slot as usize;
            let d = Vec3::from(flight.x.vector(slot)) - Vec3::from(self.places.vector(slot));
            to.set_vector(slot, (Vec3::from(to.vector(slot)) + d * pull).into());
        }
    }

    /// Notes the pulls w (p(x) − x) at the current positions \[N\].
    pub fn tell<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, flight: &mut Flight<S>, on: &B) {
        self.project(model, flight, on);
        for (&slot, &pull) in self.slots.iter().zip(&self.pull).filter(|(_, pull)| **pull > S::ZERO) {
            let d = Vec3::from(self.places.vector(slot as usize)) - Vec3::from(flight.x.vector(slot as usize));
            flight.contacts.note_force(slot, d * pull);
        }
    }
}
