//! Bodies that flow and tear while a world runs.

use pliant_core::backend::Backend;
use pliant_core::body::Body;
use pliant_core::error::{BuildError, StepError};
use pliant_core::lane::Real;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};
use pliant_core::tearing::{Overstretched, Seams, Tear, Torn, VertexSplit};

use super::rebuild::Heir;
use super::{BodyId, WorldOn};

/// An edge of a body that tore in the last step.
#[derive(Clone, Debug, PartialEq)]
pub struct TearEvent {
    /// The body.
    pub body: BodyId,
    /// What tore, by the body's own numbers.
    pub tear: Tear,
}

/// What a world knows about tears.
#[derive(Debug, Default)]
pub(super) struct Tears {
    events: Vec<TearEvent>,
    /// Fingerprint of the model before the first tear since it was built: snapshots go back and forth across tears.
    whole: Option<u64>,
    found: Vec<Overstretched>,
}

/// A member's tears since its model was built.
#[derive(Debug, Default)]
pub(super) struct Rips {
    /// The edges that may tear.
    seams: Option<Box<Seams>>,
    /// The body before the first tear.
    whole: Option<Box<Body>>,
    tears: Vec<Tear>,
}

impl Rips {
    /// The body before the first tear, if any.
    #[cfg(any(feature = "collision", feature = "serde"))]
    pub fn whole(&self) -> Option<&Body> {
        self.whole.as_deref()
    }
    pub fn of(body: &Body) -> Self {
        Self { seams: Seams::new(body).map(Box::new), whole: None, tears: Vec::new() }
    }
}

impl<B: Backend> WorldOn<B> {
    /// The edges that tore in the last step, of bodies with [`Tearing`](pliant_core::tearing::Tearing), in order.
    ///
    /// Vertices and triangles keep their numbers; copies of divided vertices are behind the last one. To update a mesh of your
    /// own, append a vertex for every copy and let the named triangles point to it. A step in which something tears rebuilds the
    /// model; the state of everything else is kept bit for bit.
    ///
    /// Empty after a world was restored: bodies may be mended then, so read [`triangles`](Self::triangles) again.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let cloth = Body::cloth(&ClothGrid::square(1.0, 8))?.pinned([0, 7, 56, 63]).with_tearing(Tearing::at_strain(0.4));
    /// let cloth = world.add(cloth)?;
    /// let mut indices = world.triangles(cloth)?.to_vec();
    /// for step in 1..=60 {
    ///     world.move_pin(cloth, 7, [1.0 + 0.02 * step as f32, 0.0, 0.0])?;
    ///     world.move_pin(cloth, 63, [1.0 + 0.02 * step as f32, 0.0, 1.0])?;
    ///     world.step(1.0 / 60.0)?;
    ///     for event in world.tears() {
    ///         for split in &event.tear.splits {
    ///             for &t in &split.triangles {
    ///                 let corners = &mut indices[t as usize];
    ///                 corners.iter_mut().filter(|v| **v == split.vertex).for_each(|v| *v = split.copy);
    ///             }
    ///         }
    ///     }
    /// }
    /// assert!(world.body(cloth)?.particle_count() > 64, "it is torn");
    /// assert_eq!(indices, world.triangles(cloth)?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn tears(&self) -> &[TearEvent] {
        &self.tears.events
    }

    /// Tears an edge of a body's surface now, whatever its load; returns what was divided.
    ///
    /// The model is rebuilt; the state of everything else is kept bit for bit.
    ///
    /// # Errors
    /// When there is no such body or edge, or nothing to tear it from, or the body is a rope, a solid or made of clusters, which
    /// do not tear; the world is then as it was.
    pub fn tear(&mut self, id: BodyId, edge: [u32; 2]) -> Result<Tear, BuildError> {
        let index = self.handles.find(id)?;
        let first = self.range_of(index).start;
        let mut torn = Torn::new(&self.members[index].body);
        let tear = torn.tear(edge, |v| self.particles.x.get(first + v as usize).map(Real::to_f64))?.clone();
        self.adopt_torn(vec![(index, torn)])?;
        Ok(tear)
    }

    /// Lets rest shapes flow and overloaded edges tear, after a step of `dt` \[s\].
    pub(super) fn flow_and_tear(&mut self, dt: B::Scalar) -> Result<(), StepError> {
        self.tears.events.clear();
        self.model.flow(&self.particles, dt);
        let mut torn = Vec::new();
        for (index, member) in self.members.iter().enumerate() {
            let Some(seams) = &member.rips.seams else { continue };
            let (found, x) = (&mut self.tears.found, &self.particles.x);
            seams.find(&self.model, index, x, found);
            let first = self.model.body(index).unwrap_or_default().start;
            torn.extend(seams.tear(&member.body, found, x, first).map(|torn| (index, torn)));
        }
        if torn.is_empty() {
            return Ok(());
        }
        let event = |(index, torn): &(usize, Torn)| {
            let body = self.members[*index].id;
            torn.tears().iter().map(move |tear| TearEvent { body, tear: tear.clone() }).collect::<Vec<_>>()
        };
        let events = torn.iter().flat_map(event).collect();
        self.adopt_torn(torn).map_err(StepError::NotTorn)?;
        self.tears.events = events;
        Ok(())
    }

    /// Replaces bodies by what is torn of them; on an error nothing has changed.
    fn adopt_torn(&mut self, torn: Vec<(usize, Torn)>) -> Result<(), BuildError> {
        let whole = self.tears.whole.unwrap_or_else(|| self.model.fingerprint());
        #[cfg(feature = "collision")]
        for (index, torn) in &torn {
            self.skins.divide(self.members[*index].id, torn);
        }
        let torn_of = |index: usize| torn.iter().find(|(of, _)| *of == index).map(|(_, torn)| torn);
        let heirs = self.heirs().enumerate();
        let heirs = heirs.map(|(index, heir)| torn_of(index).map_or(heir, |torn| Heir::torn(torn, index)));
        if let Err(error) = self.draft(&heirs.collect::<Vec<_>>()).and_then(|draft| self.replace(draft)) {
            #[cfg(feature = "collision")]
            for member in &self.members {
                self.skins.trim(member.id, member.body.particle_count());
            }
            return Err(error);
        }
        for (index, torn) in torn {
            let member = &mut self.members[index];
            let (body, tears) = torn.into_parts();
            let old = core::mem::replace(&mut member.body, body);
            member.rips.whole.get_or_insert_with(|| Box::new(old));
            member.rips.tears.extend(tears);
            member.rips.seams = Seams::new(&member.body).map(Box::new);
        }
        self.tears.whole = Some(whole);
        #[cfg(feature = "rigid")]
        self.refasten();
        Ok(())
    }

    /// From now on the bodies are what they are: snapshots from before no longer fit.
    pub(super) fn settle_tears(&mut self) {
        self.tears.whole = None;
        for member in &mut self.members {
            (member.rips.whole, member.rips.tears) = (None, Vec::new());
        }
    }

    /// The fingerprint of the model as it was built, before anything tore.
    pub(super) fn whole_fingerprint(&self) -> u64 {
        self.tears.whole.unwrap_or_else(|| self.model.fingerprint())
    }

    /// Writes down what tore since the model was built.
    pub(super) fn remember_tears(&self, to: &mut Writer) {
        to.flag(self.tears.whole.is_some());
        for member in self.members.iter().filter(|_| self.tears.whole.is_some()) {
            to.count(member.rips.tears.len());
            for Tear { edge, strain, splits } in &member.rips.tears {
                edge.iter().for_each(|&v| to.u32(v));
                to.f64(*strain);
                to.count(splits.len());
                for VertexSplit { vertex, copy, triangles } in splits {
                    to.u32(*vertex);
                    to.u32(*copy);
                    to.count(triangles.len());
                    triangles.iter().for_each(|&t| to.u32(t));
                }
            }
        }
    }

    /// Mends and tears bodies until they are torn as they were then; their state is still to be read.
    pub(super) fn recall_tears(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        // What tore in a step before belongs to a state that is gone.
        self.tears.events.clear();
        let any = from.flag()?;
        let mut tears = Vec::new();
        for _ in 0..self.members.len() {
            tears.push(if any { read_tears(from)? } else { Vec::new() });
        }
        if self.members.iter().zip(&tears).all(|(member, tears)| member.rips.tears == *tears) {
            return Ok(());
        }
        self.tear_again(tears).map_err(|_| SnapshotError::Foreign { what: "tears" })
    }

    fn tear_again(&mut self, tears: Vec<Vec<Tear>>) -> Result<(), BuildError> {
        let whole = self.whole_fingerprint();
        let mut torn = Vec::new();
        for (member, tears) in self.members.iter().zip(&tears) {
            let mut body = Torn::new(member.rips.whole.as_deref().unwrap_or(&member.body));
            tears.iter().try_for_each(|tear| body.tear_again(tear))?;
            torn.push(body);
        }
        #[cfg(feature = "collision")]
        let worn = self.skins.worn();
        #[cfg(feature = "collision")]
        for (member, torn) in self.members.iter().zip(&torn) {
            self.skins.trim(member.id, torn.whole());
            self.skins.divide(member.id, torn);
        }
        // Everything that moves is about to be read: what stands where for now does not matter.
        let heirs: Vec<_> = torn.iter().enumerate().map(|(index, torn)| Heir::kept(torn.body(), index)).collect();
        if let Err(error) = self.draft(&heirs).and_then(|draft| self.replace(draft)) {
            #[cfg(feature = "collision")]
            self.skins.wear(worn);
            return Err(error);
        }
        for (member, (torn, tears)) in self.members.iter_mut().zip(torn.into_iter().zip(tears)) {
            let was_whole = member.rips.whole.take();
            let body = torn.into_parts().0;
            let old = core::mem::replace(&mut member.body, body);
            let seams = Seams::new(&member.body).map(Box::new);
            let whole = (!tears.is_empty()).then(|| was_whole.unwrap_or_else(|| Box::new(old)));
            member.rips = Rips { seams, whole, tears };
        }
        self.tears.whole = self.members.iter().any(|member| !member.rips.tears.is_empty()).then_some(whole);
        #[cfg(feature = "rigid")]
        self.refasten();
        Ok(())
    }
}

fn read_tears(from: &mut Reader<'_>) -> Result<Vec<Tear>, SnapshotError> {
    let mut tears = Vec::new();
    for _ in 0..from.count(24)? {
        let (edge, strain) = ([from.u32()?, from.u32()?], from.f64()?);
        let mut splits = Vec::new();
        for _ in 0..from.count(16)? {
            let (vertex, copy) = (from.u32()?, from.u32()?);
            let count = from.count(4)?;
            let triangles = (0..count).map(|_| from.u32()).collect::<Result<_, _>>()?;
            splits.push(VertexSplit { vertex, copy, triangles });
        }
        tears.push(Tear { edge, strain, splits });
    }
    Ok(tears)
}
