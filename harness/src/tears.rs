//! Scenes whose bodies tear while they run: which edges part after a frame, and the scene that is left.

use pliant::core::columns::{Columns, Particles};
use pliant::core::lane::Real;
use pliant::core::model::Model;
use pliant::core::tearing::{Overstretched, Seams, Torn};

use crate::scene::Scene;

/// The edges that may tear, body by body.
pub struct Tears {
    seams: Vec<Option<Seams>>,
    found: Vec<Overstretched>,
}

/// What tore, body by body; `None` where nothing did.
pub struct Rent(Vec<Option<Torn>>);

impl Tears {
    /// Of the bodies of a scene as it is now.
    pub fn of(scene: &Scene) -> Self {
        Self { seams: scene.bodies.iter().map(Seams::new).collect(), found: Vec::new() }
    }

    /// What tears in this state of a scene; nothing most of the time.
    pub fn find<S: Real>(&mut self, scene: &Scene, model: &Model<S>, x: &Columns<S>) -> Option<Rent> {
        let mut torn = Vec::new();
        for (body, seams) in self.seams.iter().enumerate().filter_map(|(body, seams)| Some((body, seams.as_ref()?))) {
            seams.find(model, body, x, &mut self.found);
            let first = model.body(body).unwrap_or_default().start;
            if let Some(piece) = seams.tear(&scene.bodies[body], &self.found, x, first) {
                torn.resize_with(scene.bodies.len(), || None);
                torn[body] = Some(piece);
            }
        }
        (!torn.is_empty()).then_some(Rent(torn))
    }
}

impl Rent {
    /// The scene with its torn bodies; pins that move and particles that are fastened keep their vertices.
    pub fn scene(&self, whole: &Scene) -> Scene {
        let mut scene = whole.clone();
        for (body, torn) in scene.bodies.iter_mut().zip(&self.0) {
            if let Some(torn) = torn {
                *body = torn.body().clone();
            }
        }
        let shifts: Vec<(u32, u32)> = whole.placed().zip(scene.placed()).map(|(old, new)| (old.0, new.0)).collect();
        // Copies are behind the last vertex of their body: whoever stands in a later one moves back.
        let renumbered = |particle: u32| {
            let (old, new) = shifts[shifts.partition_point(|(old, _)| *old <= particle).saturating_sub(1)];
            particle - old + new
        };
        scene.motions.iter_mut().for_each(|motion| motion.particle = renumbered(motion.particle));
        scene.fastened.iter_mut().for_each(|(particle, _)| *particle = renumbered(*particle));
        scene
    }

    /// The state of a whole model for the torn one, whose own start becomes where its particles began.
    pub fn carry<S: Real>(
        &self,
        (model, particles, start): (&Model<S>, &Particles<S>, &Particles<S>),
        (new_model, new_start): (&mut Model<S>, &mut Particles<S>),
    ) -> Particles<S> {
        let mut carried = new_start.clone();
        for (body, torn) in self.0.iter().enumerate() {
            let (from, to) = (model.body(body).unwrap_or_default(), new_model.body(body).unwrap_or_default());
            for (vertex, at) in (0_u32..).zip(to) {
                let origin = from.start + torn.as_ref().map_or(vertex, |torn| torn.origin(vertex)) as usize;
                for (to, from) in [(&mut carried, particles), (&mut *new_start, start)] {
                    to.x.set(at, from.x.get(origin));
                    to.v.set(at, from.v.get(origin));
                }
            }
            match torn {
                Some(torn) => torn.carry((model, particles, body), (new_model, &mut carried, body)),
                None => new_model.inherit(body, model, body),
            }
        }
        carried
    }
}
