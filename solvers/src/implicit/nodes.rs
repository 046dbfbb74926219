//! Nodes: the particles that are free to move, numbered for linear systems. Pins are not among them: they are eliminated
//! exactly instead of being held by a large stiffness.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::field::Field;
use pliant_core::lane::{Lane, Real};
use pliant_core::model::Model;

/// No node: a pinned particle.
pub(crate) const PINNED: u32 = u32::MAX;
/// Nodes a task copies.
const CHUNK: usize = 2048;

/// Free particles in the user's order.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    /// By particle: its node, or [`PINNED`].
    pub of: Vec<u32>,
    /// By node: its particle.
    pub particles: Vec<u32>,
    slots: Vec<u32>,
}

impl Nodes {
    pub fn new<S: Real>(model: &Model<S>) -> Self {
        let mut of = vec![PINNED; model.particle_count()];
        let mut particles = Vec::new();
        for (particle, &w) in model.inv_mass().iter().enumerate() {
            if w > S::ZERO {
                of[particle] = particles.len() as u32;
                particles.push(particle as u32);
            }
        }
        let slots = particles.iter().map(|&p| model.plan().slots()[p as usize]).collect();
        Self { of, particles, slots }
    }

    /// By node: its slot.
    #[cfg(feature = "collision")]
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.particles.len()
    }

    /// The groups of nodes that elements couple, pins left out.
    pub fn group<const N: usize>(&self, ids: &[u32; N]) -> Vec<u32> {
        ids.iter().map(|&p| self.of[p as usize]).filter(|&node| node != PINNED).collect()
    }

    /// Field times `scale` into three numbers a node.
    pub fn read<S: Real, B: Backend<Scalar = S>>(&self, from: &Field<S>, scale: S, to: &mut [S], on: &B) {
        on.fork(&Read { slots: &self.slots, from, scale }, Cut::Every(3 * CHUNK), to);
    }

    /// Three numbers a node into a field; slots without a node are left alone.
    pub fn write<S: Real>(&self, from: &[S], to: &mut Field<S>) {
        let (vectors, _) = from.as_chunks::<3>();
        for (&slot, &v) in self.slots.iter().zip(vectors) {
            to.set_vector(slot as usize, v);
        }
    }
}

struct Read<'a, S> {
    slots: &'a [u32],
    from: &'a Field<S>,
    scale: S,
}

impl<S: Real> Task<S> for Read<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [S]) {
        let (vectors, _) = own.as_chunks_mut::<3>();
        for (&slot, to) in self.slots[index * CHUNK..].iter().zip(vectors) {
            let v = self.from.vector(slot as usize);
            *to = [v[0] * self.scale, v[1] * self.scale, v[2] * self.scale];
        }
    }
}
