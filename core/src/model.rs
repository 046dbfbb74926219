//! Models: bodies checked, joined and made ready for solvers.

mod compiled;
mod flow;
mod identity;
mod join;
mod memory;

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

use crate::body::{Body, Table};
use crate::columns::{Columns, Particles};
use crate::constraints::{Balloon, Constraints, Elastic, Set};
use crate::energies::CubicShell;
use crate::energies::elastic::{Corotated, Material, NeoHookean};
use crate::energy::Energy;
use crate::environment::Environment;
use crate::error::BuildError;
use crate::lane::Real;
use crate::precision;
use crate::schedule::{Graph, Lattice, LayoutChoice, Plan, PlanInput, Stencil};
use crate::tethers;
use crate::warning::Warning;
pub(crate) use compiled::Joins;
use join::{Joined, accept_any, check_element, check_not_negative, check_slots, check_vectors};

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

/// Counts the models built by this process.
static BUILT: AtomicU64 = AtomicU64::new(0);

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

    fn join(bodies: &[&Body], layout: LayoutChoice, like: Option<&Self>) -> Result<(Self, Particles<S>), BuildError> {
        let mut particles = Particles::at_rest(Columns::zeros(0));
        let (mut inv_mass, mut pins, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lattices, mut first, mut thickness) = (Vec::new(), Vec::new(), Vec::new());
        let mut tet_volume = Joined::new::<crate::kinds::TetVolume>();
        let mut dihedral = Joined::new::<crate::kinds::Dihedral>();
        let mut isometric = Joined::new::<crate::kinds::IsometricBending>();
        let mut range = Joined::new::<crate::kinds::DistanceRange>();
        let mut distance = Joined::new::<crate::kinds::Distance>();
        let mut attachment = Joined::new::<crate::kinds::Attachment>();
        let mut tether = Joined::new::<crate::kinds::Tether>();
        let mut triangle_strain = Joined::new::<crate::kinds::TriangleStrain>();
        let mut stretch_limit = Joined::new::<crate::kinds::StretchLimit>();
        let mut cubic_shell = Joined::of(<CubicShell as Energy<4, 12, 30>>::NAME);
        let mut corotated_tet = Joined::of(Corotated::TET);
        let mut neo_hookean_tet = Joined::of(NeoHookean::TET);
        let mut corotated_triangle = Joined::of(Corotated::TRIANGLE);
        let mut neo_hookean_triangle = Joined::of(NeoHookean::TRIANGLE);
        let mut rest = Vec::new();
        let mut tether_anchors = Vec::new();
        let mut balloons = Vec::new();
        #[cfg(feature = "collision")]
        let mut surfaces = crate::collide::Surfaces::default();
        #[cfg(feature = "rigid")]
        let mut cluster_count = 0;
        #[cfg(feature = "collision")]
        let mut warnings = Vec::new();

        for body in bodies {
            let start = inv_mass.len() as u32;
            let count = body.particle_count();
            if count == 0 {
                return Err(BuildError::Empty);
            }
            check_slots(inv_mass.len() + count)?;
            body.tables.check()?;
            check_vectors("position", &body.positions, count)?;
            check_vectors("rest position", &body.rest, count)?;
            check_vectors("velocity", &body.velocities, count)?;
            if body.masses.len() != count {
                return Err(BuildError::Length { what: "mass", found: body.masses.len(), expected: count });
            }
            let mut held = vec![false; count];
            for (row, &particle) in body.pins.iter().enumerate() {
                check_element("pin", row, &[particle], count)?;
                held[particle as usize] = true;
            }
            for (row, &m) in body.masses.iter().enumerate() {
                let pinned = held[row];
                let inverse = S::from_f64(1.0 / m);
                let usable = pinned && m >= 0.0 || m > 0.0 && inverse.is_finite() && inverse > S::ZERO;
                if !(m.is_finite() && usable) {
                    let expected = "a finite number above 0 (pin a particle to hold it in place)";
                    return Err(BuildError::BadValue { what: "particle", row, quantity: "mass", value: m, expected });
                }
                inv_mass.push(if pinned { S::ZERO } else { inverse });
                particles.x.push(body.positions[row].map(S::from_f64));
                particles.v.push(if pinned { [S::ZERO; 3] } else { body.velocities[row].map(S::from_f64) });
            }
            for row in 0..count {
                let value = body.thickness_of(row).ok_or(BuildError::Length {
                    what: "thickness",
                    found: body.thickness.len(),
                    expected: count,
                })?;
                let (what, quantity) = ("particle", "thickness");
                let bad = |expected| BuildError::BadValue { what, row, quantity, value, expected };
                thickness.push(precision::length::<S>(value).map_err(bad)?);
            }
            for (row, triangle) in body.triangles.iter().enumerate() {
                check_element("triangle", row, triangle, count)?;
                triangles.push(triangle.map(|p| p + start));
            }
            pins.extend(body.pins.iter().map(|&p| p + start));
            if let Some([columns, rows]) = body.grid {
                let found = (columns as usize).saturating_mul(rows as usize);
                if found != count {
                    return Err(BuildError::Length { what: "grid", found, expected: count });
                }
                lattices.push(Lattice { first: start, columns, rows });
            }

            let tables = &body.tables;
            tet_volume.append::<S>(&tables.tet_volume, start, count, |p| {
                if p[0] > 0.0 {
                    Ok(())
                } else {
                    Err(("rest volume", p[0], "a number above 0 (check the corner order)"))
                }
            })?;
            dihedral.append::<S>(&tables.dihedral, start, count, accept_any)?;
            isometric.append::<S>(&tables.isometric, start, count, accept_any)?;
            range.append::<S>(&tables.range, start, count, |p| {
                if p[0] < 0.0 || p[1] < p[0] {
                    Err(("lower bound", p[0], "at least 0 and at most the upper bound"))
                } else if !(0.0..=1.0).contains(&p[2]) {
                    Err(("compression scale", p[2], "0 to 1"))
                } else {
                    Ok(())
                }
            })?;
            distance.append::<S>(&tables.distance, start, count, |p| {
                if p[0] >= 0.0 { Ok(()) } else { Err(("rest length", p[0], "0 or more")) }
            })?;
            attachment.append::<S>(&tables.attachment, start, count, accept_any)?;
            triangle_strain.append::<S>(&tables.triangle_strain, start, count, accept_any)?;
            stretch_limit.append::<S>(&tables.stretch_limit, start, count, |p| {
                if (0.0..=p[3]).contains(&p[2]) {
                    Ok(())
                } else {
                    Err(("lower bound", p[2], "at least 0 and at most the upper bound"))
                }
            })?;
            cubic_shell.append::<S>(&tables.cubic_shell, start, count, accept_any)?;
            corotated_tet.append::<S>(&tables.corotated_tet, start, count, accept_any)?;
            neo_hookean_tet.append::<S>(&tables.neo_hookean_tet, start, count, accept_any)?;
            corotated_triangle.append::<S>(&tables.corotated_triangle, start, count, accept_any)?;
            neo_hookean_triangle.append::<S>(&tables.neo_hookean_triangle, start, count, accept_any)?;
            crate::tearing::check(body)?;
            let laws = &body.plasticity;
            laws.iter().try_for_each(|(_, law)| law.check())?;
            let flows = distance.mark_plastic(laws, &tables.distance)
                + dihedral.mark_plastic(laws, &tables.dihedral)
                + corotated_tet.mark_plastic(laws, &tables.corotated_tet)
                + neo_hookean_tet.mark_plastic(laws, &tables.neo_hookean_tet);
            tet_volume.refuse_plastic(laws, &tables.tet_volume)?;
            isometric.refuse_plastic(laws, &tables.isometric)?;
            range.refuse_plastic(laws, &tables.range)?;
            cubic_shell.refuse_plastic(laws, &tables.cubic_shell)?;
            triangle_strain.refuse_plastic(laws, &tables.triangle_strain)?;
            stretch_limit.refuse_plastic(laws, &tables.stretch_limit)?;
            corotated_triangle.refuse_plastic(laws, &tables.corotated_triangle)?;
            neo_hookean_triangle.refuse_plastic(laws, &tables.neo_hookean_triangle)?;
            if flows == 0 && !laws.is_empty() {
                let reason = "the body has no element of such a role that could flow";
                return Err(BuildError::Unsupported { what: "plasticity of body", row: first.len(), reason });
            }
            rest.extend_from_slice(&body.rest);
            if let Some(slack) = body.tethers.slack {
                let found = tethers::find(body, slack)?;
                tether_anchors.extend(found.anchors.iter().map(|&p| p + start));
                tether.append::<S>(&found.table, start, count, accept_any)?;
            }
            if let Some(inflation) = body.inflation {
                check_not_negative::<S>("balloon", balloons.len(), "compliance", inflation.compliance)?;
                check_not_negative::<S>("balloon", balloons.len(), "inflation", inflation.factor)?;
                check_not_negative::<S>("balloon", balloons.len(), "rest volume", inflation.rest)?;
                let renumbered: Vec<_> = body.triangles.iter().map(|t| t.map(|p| p + start)).collect();
                balloons.push((renumbered, inflation.rest * inflation.factor, inflation.compliance));
            }
            #[cfg(feature = "collision")]
            warnings.extend(crate::warning::thick_particles(body, first.len()));
            #[cfg(feature = "collision")]
            if let Some(contact) = &body.self_contact {
                let links = tables.distance.ids.iter().zip(&tables.distance.role);
                let links: Vec<_> =
                    links.filter(|(_, role)| **role == crate::body::Role::Stretch).map(|(ids, _)| *ids).collect();
                let edge = surfaces.append(contact, &body.triangles, &links, start, &body.rest)?;
                let thickness = contact.thickness;
                if thickness > edge {
                    warnings.push(Warning::ThickSurface { body: first.len(), thickness, edge });
                }
            }
            #[cfg(feature = "rigid")]
            {
                crate::matching::check(body, cluster_count)?;
                cluster_count += body.clusters.len();
            }
            first.push(start);
        }
        first.push(inv_mass.len() as u32);
        // Passes over clusters read particles as rows.
        #[cfg(feature = "rigid")]
        let layout = if cluster_count > 0 { LayoutChoice::Rows } else { layout };
        pins.sort_unstable();
        pins.dedup();

        let count = inv_mass.len();
        // The plan depends on nothing else.
        let like = like.filter(|like| {
            let (old, elastic) = (&like.constraints, &like.constraints.elastic);
            (like.particle_count(), like.layout, &like.pins) == (count, layout, &pins)
                && like.plan.is_on(&lattices)
                && tet_volume.is_like(&old.tet_volume)
                && dihedral.is_like(&old.dihedral)
                && isometric.is_like(&old.isometric)
                && triangle_strain.is_like(&old.triangle_strain)
                && stretch_limit.is_like(&old.stretch_limit)
                && cubic_shell.is_like(&elastic.cubic_shell)
                && range.is_like(&old.range)
                && corotated_tet.is_like(&elastic.corotated_tet)
                && neo_hookean_tet.is_like(&elastic.neo_hookean_tet)
                && corotated_triangle.is_like(&elastic.corotated_triangle)
                && neo_hookean_triangle.is_like(&elastic.neo_hookean_triangle)
                && distance.is_like(&old.distance)
        });
        check_slots(lattices.iter().map(Lattice::slot_count).sum())?;
        let plan = like.map(|like| like.plan.clone()).unwrap_or_else(|| {
            let graph = Graph::from_elements(
                count,
                (tet_volume.table.ids.iter().map(|e| e.as_slice()))
                    .chain(dihedral.table.ids.iter().map(|e| e.as_slice()))
                    .chain(isometric.table.ids.iter().map(|e| e.as_slice()))
                    .chain(triangle_strain.table.ids.iter().map(|e| e.as_slice()))
                    .chain(stretch_limit.table.ids.iter().map(|e| e.as_slice()))
                    .chain(cubic_shell.table.ids.iter().map(|e| e.as_slice()))
                    .chain(range.table.ids.iter().map(|e| e.as_slice()))
                    .chain(corotated_tet.table.ids.iter().map(|e| e.as_slice()))
                    .chain(neo_hookean_tet.table.ids.iter().map(|e| e.as_slice()))
                    .chain(corotated_triangle.table.ids.iter().map(|e| e.as_slice()))
                    .chain(neo_hookean_triangle.table.ids.iter().map(|e| e.as_slice()))
                    .chain(distance.table.ids.iter().map(|e| e.as_slice())),
            );
            let stiffest = distance.table.role.iter().max().copied();
            let stiff_links: Vec<[u32; 2]> = (distance.table.ids.iter().zip(&distance.table.role))
                .filter(|(_, role)| Some(**role) == stiffest)
                .map(|(ids, _)| *ids)
                .collect();
            let links = if stiff_links.is_empty() {
                graph.clone()
            } else {
                Graph::from_elements(count, stiff_links.iter().map(|e| e.as_slice()))
            };
            Plan::new(PlanInput { graph: &graph, pinned: &pins, links: &links, lattices: &lattices, layout })
        });
        check_slots(plan.slot_count())?;

        let old = like.map(|like| &like.constraints);
        let elastic = old.map(|old| &old.elastic);
        let constraints = Constraints {
            tet_volume: tet_volume.into_set(&plan, old.map(|old| &old.tet_volume)),
            dihedral: dihedral.into_set(&plan, old.map(|old| &old.dihedral)),
            isometric: isometric.into_set(&plan, old.map(|old| &old.isometric)),
            triangle_strain: triangle_strain.into_set(&plan, old.map(|old| &old.triangle_strain)),
            stretch_limit: stretch_limit.into_set(&plan, old.map(|old| &old.stretch_limit)),
            tether: tether.into_set(&plan, old.map(|old| &old.tether)),
            range: range.into_set(&plan, old.map(|old| &old.range)),
            distance: distance.into_set(&plan, old.map(|old| &old.distance)),
            attachment: attachment.into_set(&plan, old.map(|old| &old.attachment)),
            balloons: balloons
                .into_iter()
                .map(|(triangles, volume, compliance)| Balloon {
                    stencil: Stencil::new(&plan, &triangles, &vec![0; triangles.len()]),
                    triangles,
                    volume: S::from_f64(volume),
                    compliance: S::from_f64(compliance),
                })
                .collect(),
            elastic: Elastic {
                corotated_tet: corotated_tet.into_set(&plan, elastic.map(|old| &old.corotated_tet)),
                neo_hookean_tet: neo_hookean_tet.into_set(&plan, elastic.map(|old| &old.neo_hookean_tet)),
                corotated_triangle: corotated_triangle.into_set(&plan, elastic.map(|old| &old.corotated_triangle)),
                neo_hookean_triangle: neo_hookean_triangle
                    .into_set(&plan, elastic.map(|old| &old.neo_hookean_triangle)),
                cubic_shell: cubic_shell.into_set(&plan, elastic.map(|old| &old.cubic_shell)),
            },
        };
        let pin_targets = pins.iter().map(|&p| particles.x.get(p as usize)).collect();
        let attachment_targets = {
            let [x, y, z] = constraints.attachment.parameters.clone();
            Columns { x, y, z }
        };
        let surface = match like.filter(|like| like.triangles == triangles) {
            Some(like) => like.surface.clone(),
            None => Stencil::new(&plan, &triangles, &vec![0; triangles.len()]),
        };
        #[cfg(feature = "rigid")]
        let clusters = crate::matching::Clusters::new(bodies, &first, &inv_mass, &plan);
        let model = Self {
            environment: Environment::default(),
            inv_mass,
            rest,
            pins,
            pin_targets,
            attachment_targets,
            tether_anchors,
            constraints,
            triangles,
            surface,
            plan,
            layout,
            first,
            thickness,
            #[cfg(feature = "collision")]
            colliders: Default::default(),
            #[cfg(feature = "collision")]
            collider_groups: bodies.iter().map(|body| body.collider_groups).collect(),
            #[cfg(feature = "collision")]
            skin: None,
            #[cfg(feature = "collision")]
            surfaces,
            #[cfg(feature = "rigid")]
            clusters,
            #[cfg(feature = "collision")]
            warnings,
            #[cfg(not(feature = "collision"))]
            warnings: Vec::new(),
            id: BUILT.fetch_add(1, Ordering::Relaxed),
            rest_revision: 0,
            fingerprint: OnceLock::new(),
        };
        Ok((model, particles))
    }

    /// Checks rows against this model's particles and makes them ready.
    pub(crate) fn set_of<K, const N: usize, const P: usize>(
        &self,
        what: &'static str,
        rows: &Table<N, P>,
    ) -> Result<Set<S, K, N, P>, BuildError> {
        let mut joined = Joined::of(what);
        joined.append::<S>(rows, 0, self.particle_count(), accept_any)?;
        Ok(joined.into_set(&self.plan, None))
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
