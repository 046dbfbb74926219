//! Models: bodies checked, joined and made ready for solvers.

mod check;
mod compiled;
mod flow;
mod identity;
mod join;
mod memory;
mod rows;

use std::sync::OnceLock;

use crate::body::{Body, Table};
use crate::columns::{Columns, Particles};
use crate::constraints::{Constraints, Set};
use crate::environment::Environment;
use crate::error::BuildError;
use crate::lane::Real;
use crate::schedule::{LayoutChoice, Plan, Stencil};
use crate::warning::Warning;
#[cfg(feature = "collision")]
use check::check_element;
pub(crate) use compiled::Joins;

/// Everything that stays fixed while time runs (masses, constraints, schedules), and what may change every frame (the
/// environment, targets of pins and attachments).
#[derive(Clone, Debug)]
pub struct Model<S> {
    /// Gravity, damping, wind, forces: free to change between steps.
    pub environment: Environment<S>,
    inv_mass: Vec<S>,
    rest: Vec<[f64; 3]>,
    pins: Vec<u32>,
    pin_targets: Columns<S>,
    attachment_targets: Columns<S>,
    tether_anchors: Vec<u32>,
    constraints: Constraints<S>,
    triangles: Vec<[u32; 3]>,
    surface: Stencil<3>,
    plan: Plan,
    /// The layout that the plan was asked for.
    layout: LayoutChoice,
    first: Vec<u32>,
    thickness: Vec<S>,
    #[cfg(feature = "collision")]
    colliders: crate::sdf::Colliders<S>,
    /// By body.
    #[cfg(feature = "collision")]
    collider_groups: Vec<crate::collide::Groups>,
    #[cfg(feature = "collision")]
    skin: Option<crate::skin::Skin<S>>,
    #[cfg(feature = "collision")]
    surfaces: crate::collide::Surfaces<S>,
    #[cfg(feature = "rigid")]
    clusters: crate::matching::Clusters<S>,
    warnings: Vec<Warning>,
    id: u64,
    rest_revision: u64,
    fingerprint: OnceLock<u64>,
}

impl<S: Real> Model<S> {
    /// Checks the bodies completely, joins them, and chooses memory order and schedules.
    ///
    /// Particle ids of the model are those of the bodies, one body after the other.
    ///
    /// # Errors
    /// The first thing that is wrong: which list, which row, what value, what was expected.
    pub fn build(bodies: &[&Body]) -> Result<(Self, Particles<S>), BuildError> {
        Self::build_with(bodies, LayoutChoice::Auto)
    }

    /// The same with a chosen memory layout: for comparing layouts.
    ///
    /// # Errors
    /// As for [`Model::build`].
    pub fn build_with(bodies: &[&Body], layout: LayoutChoice) -> Result<(Self, Particles<S>), BuildError> {
        S::join(bodies, layout, None)
    }

    /// The same as [`Model::build`], bit for bit, for bodies much like those of another model: where constraints join the same
    /// particles and the same particles are pinned, memory order and schedules are copied from there, which is most of the work.
    ///
    /// # Errors
    /// As for [`Model::build`].
    pub fn build_like(bodies: &[&Body], like: &Self) -> Result<(Self, Particles<S>), BuildError> {
        S::join(bodies, LayoutChoice::Auto, Some(like))
    }

    /// Checks rows of a kind of the user's own against this model's particles and makes them ready.
    pub(crate) fn set_of<K, const N: usize, const P: usize>(
        &self,
        what: &'static str,
        rows: Table<N, P>,
    ) -> Result<Set<S, K, N, P>, BuildError> {
        rows::own(what, rows, (self.particle_count(), &self.plan))
    }

    /// Tells models apart: solvers keep it to notice that they were prepared for another one. Clones share it.
    pub fn id(&self) -> u64 {
        self.id
    }
    /// Tells topologies apart: models of equal bodies have equal ones, on every machine. Colliders, skins and the environment,
    /// which may change, do not count.
    pub fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| identity::of(self))
    }
    /// What is allowed but probably not meant.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
    /// How many particles there are.
    pub fn particle_count(&self) -> usize {
        self.inv_mass.len()
    }
    /// Inverse mass of every particle, 0 for pins \[1/kg\].
    pub fn inv_mass(&self) -> &[S] {
        &self.inv_mass
    }
    /// The rest shape: where particles were when their body was made \[m\].
    pub fn rest(&self) -> &[[f64; 3]] {
        &self.rest
    }
    /// How far every particle keeps from colliders \[m\].
    pub fn thickness(&self) -> &[S] {
        &self.thickness
    }
    /// What particles cannot enter.
    #[cfg(feature = "collision")]
    pub fn colliders(&self) -> &crate::sdf::Colliders<S> {
        &self.colliders
    }
    /// The groups that decide which colliders stop a body's particles; all of them for a body that does not exist.
    #[cfg(feature = "collision")]
    pub fn collider_groups(&self, body: usize) -> crate::collide::Groups {
        self.collider_groups.get(body).copied().unwrap_or_default()
    }
    /// How far particles may leave the places that bones give them, for those that have any.
    #[cfg(feature = "collision")]
    pub fn skin(&self) -> Option<&crate::skin::Skin<S>> {
        self.skin.as_ref()
    }
    /// The same, to be moved.
    #[cfg(feature = "collision")]
    pub fn skin_mut(&mut self) -> Option<&mut crate::skin::Skin<S>> {
        self.skin.as_mut()
    }
    /// Gives particles a skin, or takes it away; a solver must be prepared again.
    ///
    /// # Errors
    /// When a row names a particle that does not exist; the skin is then as it was.
    #[cfg(feature = "collision")]
    pub fn set_skin(&mut self, skin: Option<crate::skin::Skin<S>>) -> Result<(), BuildError> {
        for (row, &particle) in skin.iter().flat_map(|skin| skin.particles().iter().enumerate()) {
            check_element("skinned particle", row, &[particle], self.particle_count())?;
        }
        self.skin = skin;
        Ok(())
    }
    /// The surfaces that keep clear of themselves and of each other.
    #[cfg(feature = "collision")]
    pub fn surfaces(&self) -> &crate::collide::Surfaces<S> {
        &self.surfaces
    }
    /// The groups of particles that hold their shape.
    #[cfg(feature = "rigid")]
    pub fn clusters(&self) -> &crate::matching::Clusters<S> {
        &self.clusters
    }
    /// What particles cannot enter, to be added to, moved and taken from. A solver must be prepared again when their number
    /// changes; poses may change between any two steps, and arrive at the end of the next one.
    #[cfg(feature = "collision")]
    pub fn colliders_mut(&mut self) -> &mut crate::sdf::Colliders<S> {
        &mut self.colliders
    }
    /// Particles that do not move by themselves, sorted.
    pub fn pins(&self) -> &[u32] {
        &self.pins
    }
    /// Where each pin will be at the end of the next step \[m\], in the order of [`Model::pins`].
    pub fn pin_targets(&self) -> &Columns<S> {
        &self.pin_targets
    }
    /// Where each attachment's target will be at the end of the next step \[m\].
    pub fn attachment_targets(&self) -> &Columns<S> {
        &self.attachment_targets
    }
    /// The pin each tether hangs on.
    pub fn tether_anchors(&self) -> &[u32] {
        &self.tether_anchors
    }
    /// All constraints.
    pub fn constraints(&self) -> &Constraints<S> {
        &self.constraints
    }
    /// Surface triangles of all bodies.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }
    /// How sweeps run over the surface triangles.
    pub fn surface(&self) -> &Stencil<3> {
        &self.surface
    }
    /// Where particles stand while a step runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// Particle ids of a body, by its place in the list the model was built from.
    pub fn body(&self, index: usize) -> Option<core::ops::Range<usize>> {
        Some(*self.first.get(index)? as usize..*self.first.get(index + 1)? as usize)
    }

    /// How many bodies the model was built from.
    pub fn body_count(&self) -> usize {
        self.first.len() - 1
    }
    /// The body a particle belongs to, by its place in the list the model was built from.
    pub fn body_of(&self, particle: u32) -> usize {
        self.first.partition_point(|&first| first <= particle).saturating_sub(1)
    }

    /// Sends a pin to a new place \[m\]; it arrives at the end of the next step, in a straight line over the substeps.
    ///
    /// # Errors
    /// When the particle is not a pin or the target is not finite.
    pub fn move_pin(&mut self, particle: u32, to: [S; 3]) -> Result<(), BuildError> {
        let at = self.pins.binary_search(&particle).map_err(|_| BuildError::NotPinned { particle })?;
        check_target("pin", at, to)?;
        self.pin_targets.set(at, to);
        Ok(())
    }
    /// Sends the target of attachment `row` to a new place \[m\].
    ///
    /// # Errors
    /// When there is no such attachment or the target is not finite.
    pub fn move_attachment(&mut self, row: usize, to: [S; 3]) -> Result<(), BuildError> {
        let count = self.attachment_targets.len();
        if row >= count {
            return Err(BuildError::NoSuchRow { what: "attachment", row, count });
        }
        check_target("attachment", row, to)?;
        self.attachment_targets.set(row, to);
        Ok(())
    }
}

fn check_target<S: Real>(what: &'static str, row: usize, to: [S; 3]) -> Result<(), BuildError> {
    match to.iter().find(|c| !c.is_finite()) {
        Some(value) => {
            let (quantity, value, expected) = ("target", value.to_f64(), "a finite number");
            Err(BuildError::BadValue { what, row, quantity, value, expected })
        }
        None => Ok(()),
    }
}
