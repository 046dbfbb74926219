//! Joining: bodies checked one after the other, gathered, and made a model.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

use super::Model;
use super::check::{check_element, check_not_negative, check_slots, check_vectors};
use super::rows::Rows;
use crate::body::Body;
use crate::columns::{Columns, Particles};
use crate::constraints::Balloon;
use crate::environment::Environment;
use crate::error::BuildError;
use crate::lane::Real;
use crate::precision;
use crate::schedule::{Lattice, LayoutChoice, Plan, PlanInput, Stencil};
use crate::tethers;
use crate::warning::Warning;

/// Counts the models built by this process.
static BUILT: AtomicU64 = AtomicU64::new(0);

/// What bodies were found to be made of, with the particles of all numbered one after the other.
struct Gathered<S> {
    particles: Particles<S>,
    inv_mass: Vec<S>,
    thickness: Vec<S>,
    rest: Vec<[f64; 3]>,
    pins: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    lattices: Vec<Lattice>,
    rows: Rows,
    tether_anchors: Vec<u32>,
    inflated: Vec<Inflated>,
    /// First particle of every body.
    first: Vec<u32>,
    #[cfg(feature = "collision")]
    surfaces: crate::collide::Surfaces<S>,
    #[cfg(feature = "rigid")]
    cluster_count: usize,
    warnings: Vec<Warning>,
}

/// A balloon without a schedule.
struct Inflated {
    triangles: Vec<[u32; 3]>,
    /// Volume to hold \[m³\].
    volume: f64,
    compliance: f64,
}

impl<S: Real> Gathered<S> {
    fn new() -> Self {
        Self {
            particles: Particles::at_rest(Columns::zeros(0)),
            inv_mass: Vec::new(),
            thickness: Vec::new(),
            rest: Vec::new(),
            pins: Vec::new(),
            triangles: Vec::new(),
            lattices: Vec::new(),
            rows: Rows::default(),
            tether_anchors: Vec::new(),
            inflated: Vec::new(),
            first: Vec::new(),
            #[cfg(feature = "collision")]
            surfaces: crate::collide::Surfaces::default(),
            #[cfg(feature = "rigid")]
            cluster_count: 0,
            warnings: Vec::new(),
        }
    }

    /// Checks a body and appends it.
    fn add(&mut self, body: &Body) -> Result<(), BuildError> {
        let (start, number) = (self.inv_mass.len() as u32, self.first.len());
        let count = body.particle_count();
        if count == 0 {
            return Err(BuildError::Empty);
        }
        check_slots(self.inv_mass.len() + count)?;
        body.tables.check()?;
        self.add_particles(body)?;
        for (row, triangle) in body.triangles.iter().enumerate() {
            check_element("triangle", row, triangle, count)?;
            self.triangles.push(triangle.map(|p| p + start));
        }
        self.pins.extend(body.pins.iter().map(|&p| p + start));
        if let Some([columns, rows]) = body.grid {
            let found = (columns as usize).saturating_mul(rows as usize);
            if found != count {
                return Err(BuildError::Length { what: "grid", found, expected: count });
            }
            self.lattices.push(Lattice { first: start, columns, rows });
        }
        self.rows.append::<S>(body, number, start)?;
        if let Some(slack) = body.tethers.slack {
            let found = tethers::find(body, slack)?;
            self.tether_anchors.extend(found.anchors.iter().map(|&p| p + start));
            self.rows.append_tethers::<S>(&found.table, count, start)?;
        }
        if let Some(inflation) = body.inflation {
            let number = self.inflated.len();
            check_not_negative::<S>("balloon", number, "compliance", inflation.compliance)?;
            check_not_negative::<S>("balloon", number, "inflation", inflation.factor)?;
            check_not_negative::<S>("balloon", number, "rest volume", inflation.rest)?;
            self.inflated.push(Inflated {
                triangles: body.triangles.iter().map(|t| t.map(|p| p + start)).collect(),
                volume: inflation.rest * inflation.factor,
                compliance: inflation.compliance,
            });
        }
        #[cfg(feature = "collision")]
        self.add_surface(body, start, number)?;
        #[cfg(feature = "rigid")]
        {
            crate::matching::check(body, self.cluster_count)?;
            self.cluster_count += body.clusters.len();
        }
        self.first.push(start);
        Ok(())
    }

    /// Places, velocities, masses and thickness; particles that are held have neither mass nor velocity.
    fn add_particles(&mut self, body: &Body) -> Result<(), BuildError> {
        let count = body.particle_count();
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
            self.inv_mass.push(if pinned { S::ZERO } else { inverse });
            self.particles.x.push(body.positions[row].map(S::from_f64));
            self.particles.v.push(if pinned { [S::ZERO; 3] } else { body.velocities[row].map(S::from_f64) });
        }
        for row in 0..count {
            let found = body.thickness.len();
            let value =
                body.thickness_of(row).ok_or(BuildError::Length { what: "thickness", found, expected: count })?;
            let (what, quantity) = ("particle", "thickness");
            let bad = |expected| BuildError::BadValue { what, row, quantity, value, expected };
            self.thickness.push(precision::length::<S>(value).map_err(bad)?);
        }
        self.rest.extend_from_slice(&body.rest);
        Ok(())
    }

    /// How the surface meets itself and others, and what looks odd about its thickness.
    #[cfg(feature = "collision")]
    fn add_surface(&mut self, body: &Body, start: u32, number: usize) -> Result<(), BuildError> {
        self.warnings.extend(crate::warning::thick_particles(body, number));
        if let Some(contact) = &body.self_contact {
            let links = &body.tables.distance;
            let stretch = links.ids.iter().zip(&links.role).filter(|(_, role)| **role == crate::body::Role::Stretch);
            let stretch: Vec<_> = stretch.map(|(ids, _)| *ids).collect();
            let edge = self.surfaces.append(contact, &body.triangles, &stretch, (number, start), &body.rest)?;
            let thickness = contact.thickness;
            if thickness > edge {
                self.warnings.push(Warning::ThickSurface { body: number, thickness, edge });
            }
        }
        Ok(())
    }

    /// The plan of another model, where it would be the plan of this one: it depends on nothing else.
    fn plan_like<'a>(&self, layout: LayoutChoice, like: Option<&'a Model<S>>) -> Option<&'a Model<S>> {
        like.filter(|like| {
            (like.particle_count(), like.layout, &like.pins) == (self.inv_mass.len(), layout, &self.pins)
                && like.plan.is_on(&self.lattices)
                && self.rows.are_like(&like.constraints)
        })
    }
}

impl<S: Real> Model<S> {
    /// What is behind [`Model::build`] and its sisters.
    pub(super) fn join(
        bodies: &[&Body],
        layout: LayoutChoice,
        like: Option<&Self>,
    ) -> Result<(Self, Particles<S>), BuildError> {
        let mut all = Gathered::new();
        bodies.iter().try_for_each(|body| all.add(body))?;
        all.first.push(all.inv_mass.len() as u32);
        all.pins.sort_unstable();
        all.pins.dedup();
        // Passes over clusters read particles as rows.
        #[cfg(feature = "rigid")]
        let layout = if all.cluster_count > 0 { LayoutChoice::Rows } else { layout };

        let like = all.plan_like(layout, like);
        check_slots(all.lattices.iter().map(Lattice::slot_count).sum())?;
        let plan = like.map(|like| like.plan.clone()).unwrap_or_else(|| {
            let [graph, links] = all.rows.graphs(all.inv_mass.len());
            let (pinned, lattices) = (&all.pins, &all.lattices);
            Plan::new(PlanInput { graph: &graph, pinned, links: &links, lattices, layout })
        });
        check_slots(plan.slot_count())?;

        let in_one_class = |triangles: &[[u32; 3]]| Stencil::new(&plan, triangles, &vec![0; triangles.len()]);
        let balloons = all.inflated.into_iter().map(|Inflated { triangles, volume, compliance }| Balloon {
            stencil: in_one_class(&triangles),
            triangles,
            volume: S::from_f64(volume),
            compliance: S::from_f64(compliance),
        });
        let constraints = all.rows.into_constraints(&plan, like.map(|like| &like.constraints), balloons.collect());
        let surface = match like.filter(|like| like.triangles == all.triangles) {
            Some(like) => like.surface.clone(),
            None => in_one_class(&all.triangles),
        };
        let [x, y, z] = constraints.attachment.parameters.clone();
        let model = Self {
            environment: Environment::default(),
            rest: all.rest,
            pin_targets: all.pins.iter().map(|&p| all.particles.x.get(p as usize)).collect(),
            pins: all.pins,
            attachment_targets: Columns { x, y, z },
            tether_anchors: all.tether_anchors,
            constraints,
            triangles: all.triangles,
            surface,
            layout,
            thickness: all.thickness,
            #[cfg(feature = "collision")]
            colliders: Default::default(),
            #[cfg(feature = "collision")]
            collider_groups: bodies.iter().map(|body| body.collider_groups).collect(),
            #[cfg(feature = "collision")]
            skin: None,
            #[cfg(feature = "collision")]
            surfaces: all.surfaces,
            #[cfg(feature = "rigid")]
            clusters: crate::matching::Clusters::new(bodies, &all.first, &all.inv_mass, &plan),
            inv_mass: all.inv_mass,
            first: all.first,
            plan,
            warnings: all.warnings,
            id: BUILT.fetch_add(1, Ordering::Relaxed),
            rest_revision: 0,
            fingerprint: OnceLock::new(),
        };
        Ok((model, all.particles))
    }
}
