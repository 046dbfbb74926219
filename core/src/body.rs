//! Bodies: what a user describes, in double precision and SI units, before a model is built from it.

mod merge;
mod tables;
mod unlock;
mod woven;

pub(crate) use tables::{Kind, TableVisitor, Unfit};
pub use tables::{Role, Table, Tables};
pub use woven::StretchRange;

use crate::energies::CubicShell;
use crate::energies::elastic::{Corotated, ElasticTet, ElasticTriangle};
use crate::error::BuildError;
use crate::kinds::{Dihedral, IsometricBending};
use crate::mesh::{Cloth, ClothGrid, Rope, TetMesh, TriMesh};
use crate::plasticity::Plasticity;
use crate::tearing::Tearing;

/// How a surface resists bending. All but the cross links understand the compliance of [`Role::Bend`] as 1/k_b with the same
/// bending stiffness k_b \[J\], and agree to second order around a flat rest shape; `Dihedral` and `CubicShell` around any.
/// `Cotangent` is softer at folds, by cos²(θ₀/2).
///
/// | | rest shape | PBD, XPBD | Newton, Projective Dynamics |
/// | --- | --- | --- | --- |
/// | `Isometric` | flat | yes | constant Hessian: the fastest |
/// | `Cotangent` | any | yes | constant matrix in Projective Dynamics; blind to the side of a fold |
/// | `CubicShell` | any | no | nearly constant Hessian |
/// | `Dihedral` | any | yes | any fold, to the right side |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Bending {
    /// Not at all.
    None,
    /// A link between the two vertices opposite an edge: cheap, and blind to small angles.
    #[default]
    CrossLinks,
    /// The angle between the two triangles: any rest shape.
    Dihedral,
    /// Quadratic bending: cheap and accurate for surfaces that are flat at rest, and refused for others.
    Isometric,
    /// Quadratic bending whatever the rest shape: a curved one is pulled flat.
    Flatten,
    /// Quadratic bending with a rest curvature, as in Projective Dynamics: any rest shape.
    Cotangent,
    /// Quadratic bending with a cubic term, for methods that minimise energies: any rest shape.
    CubicShell,
}

/// How an elastic material answers to strain; the same for small strains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Law {
    /// Hooke's law in a frame that turns with the element.
    #[default]
    Corotated,
    /// Rubber: resists collapse ever more, and recovers from inversion.
    NeoHookean,
}

/// An isotropic elastic material.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Elasticity {
    /// How stress follows strain.
    pub law: Law,
    /// Young's modulus \[Pa\].
    pub young: f64,
    /// Poisson's ratio, 0 to below 0.5 \[1\].
    pub poisson: f64,
}

impl Elasticity {
    /// Lamé's constants μ and λ \[Pa\]: μ = E/(2(1 + ν)), λ = Eν/((1 + ν)(1 − 2ν)).
    fn lame(&self) -> Result<[f64; 2], BuildError> {
        let Self { young, poisson, .. } = *self;
        let bad = |name, value, expected| Err(BuildError::BadOption { name, value, expected });
        if !(young.is_finite() && young > 0.0) {
            return bad("Young's modulus", young, "a finite number above 0");
        }
        if !(0.0..0.5).contains(&poisson) {
            return bad("Poisson's ratio", poisson, "at least 0 and below 0.5");
        }
        Ok([young / (2.0 * (1.0 + poisson)), young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))])
    }
}

/// Keeps the volume inside a closed surface.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Inflation {
    /// Times the rest volume.
    pub factor: f64,
    /// Rest volume \[m³\].
    pub rest: f64,
    /// Compliance α of the volume, 0 for incompressible \[m³/Pa\].
    pub compliance: f64,
}

/// How a body hangs on its pins by tethers. They are not damped: the rate of a tether's length would need the velocity of
/// its anchor, which a constraint on one particle does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Tethers {
    /// How much longer than the rest distance they are \[1\]; nothing when there are none.
    pub slack: Option<f64>,
    /// Compliance α of every tether, 0 for rigid \[m/N\].
    pub compliance: f64,
}

/// Particles, constraints and pins of one thing: a cloth, a rope, a jelly. Checked when a model is built from it.
///
/// ```
/// use pliant_core::body::{Body, Role};
/// use pliant_core::mesh::ClothGrid;
///
/// let curtain = Body::cloth(&ClothGrid::square(1.0, 40))?
///     .with_mass(0.2)
///     .with_compliance(Role::Bend, 1e-4)
///     .pinned([0, 39]);
/// assert_eq!(curtain.particle_count(), 1600);
/// # Ok::<(), pliant_core::error::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(remote = "Self", deny_unknown_fields)
)]
#[must_use]
pub struct Body {
    pub(crate) positions: Vec<[f64; 3]>,
    /// Where the particles were when the body was made: what rest lengths and volumes refer to.
    pub(crate) rest: Vec<[f64; 3]>,
    pub(crate) velocities: Vec<[f64; 3]>,
    pub(crate) masses: Vec<f64>,
    pub(crate) pins: Vec<u32>,
    pub(crate) tables: Tables,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) grid: Option<[u32; 2]>,
    pub(crate) inflation: Option<Inflation>,
    pub(crate) tethers: Tethers,
    /// How the elements of a role flow; of several for one role the last counts.
    pub(crate) plasticity: Vec<(Role, Plasticity)>,
    pub(crate) tearing: Option<Tearing>,
    /// By particle; empty for none.
    pub(crate) thickness: Vec<f64>,
    #[cfg(feature = "collision")]
    pub(crate) self_contact: Option<crate::collide::SelfContact>,
    #[cfg(feature = "collision")]
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) collider_groups: crate::collide::Groups,
    #[cfg(feature = "rigid")]
    pub(crate) clusters: Vec<crate::matching::Cluster>,
}

impl Body {
    /// Free particles of 1 kg each, without constraints. Vectors of other crates become arrays by `.map(Into::into)`: a list that took
    /// both could not be empty without a type.
    pub fn particles(positions: impl IntoIterator<Item = [f64; 3]>) -> Self {
        let positions: Vec<_> = positions.into_iter().collect();
        let count = positions.len();
        let (rest, velocities, masses) = (positions.clone(), vec![[0.0; 3]; count], vec![1.0; count]);
        Self { positions, rest, velocities, masses, ..Self::default() }
    }

    /// A rectangular cloth with structural, shear and bending links; 0.2 kg/m² and rigid unless changed.
    ///
    /// # Errors
    /// When the grid's parameters are not usable.
    pub fn cloth(grid: &ClothGrid) -> Result<Self, BuildError> {
        let Cloth { mesh, structural, shear, bending, columns, rows } = grid.build()?;
        let mut body = Self::of_surface(&mesh, 0.2)?;
        let (columns, rows) = (columns as u32, rows as u32);
        body.grid = Some([columns, rows]);
        let straight = |pair: &[u32; 2]| u8::from(pair[0] / columns != pair[1] / columns);
        let leaning = |pair: &[u32; 2]| u8::from(pair[0] % columns > pair[1] % columns);
        for (role, links, direction) in [
            (Role::Bend, &bending, &straight as &dyn Fn(&[u32; 2]) -> u8),
            (Role::Shear, &shear, &leaning),
            (Role::Stretch, &structural, &straight),
        ] {
            for pair in links {
                body.link(role, direction(pair), *pair);
            }
        }
        Ok(body)
    }

    /// A cloth of any triangle mesh: its edges as links, and bending of the chosen kind; 0.2 kg/m² unless changed.
    ///
    /// # Errors
    /// When the mesh has an edge with more than two triangles, or quadratic bending is asked of a curved rest shape.
    pub fn surface(mesh: &TriMesh, bending: Bending) -> Result<Self, BuildError> {
        let mut body = Self::of_surface(mesh, 0.2)?;
        let topology = mesh.topology()?;
        for edge in &topology.edges {
            body.link(Role::Stretch, 0, *edge);
        }
        for (row, hinge) in topology.hinges.iter().enumerate() {
            let x = hinge.map(|p| body.positions[p as usize]);
            match bending {
                Bending::None => {}
                Bending::CrossLinks => body.link(Role::Bend, 0, [hinge[2], hinge[3]]),
                Bending::Dihedral => {
                    body.tables.dihedral.push_hinge(*hinge, Dihedral::rest(x), Dihedral::stiffness(x));
                }
                Bending::Isometric | Bending::Flatten => {
                    // E = 0 at rest only when flat.   [METHODS 5]
                    let [cos, sin] = Dihedral::rest(x);
                    let angle = sin.atan2(cos);
                    if bending == Bending::Isometric && angle.abs() > 1e-6 {
                        return Err(BuildError::CurvedRest { hinge: row, edge: [hinge[0], hinge[1]], angle });
                    }
                    body.tables.isometric.push(Role::Bend, 0, *hinge, IsometricBending::rest(x));
                }
                Bending::Cotangent => {
                    body.tables.isometric.push(Role::Bend, 0, *hinge, IsometricBending::curved_rest(x));
                }
                Bending::CubicShell => body.tables.cubic_shell.push(Role::Bend, 0, *hinge, CubicShell::rest(x)),
            }
        }
        Ok(body)
    }

    /// A rope: links between neighbours, and softer links over two segments if it is to resist bending; 0.1 kg/m.
    ///
    /// # Errors
    /// When the rope's points or pairs are not usable.
    pub fn rope(rope: &Rope, bends: bool) -> Result<Self, BuildError> {
        rope.check()?;
        let mut body = Self::particles(rope.points.iter().map(|&p| p.into()));
        body.masses = rope.vertex_masses(0.1)?;
        for pair in rope.bending.iter().filter(|_| bends) {
            body.link(Role::Bend, 0, *pair);
        }
        for pair in &rope.edges {
            body.link(Role::Stretch, 0, *pair);
        }
        Ok(body)
    }

    /// A solid of tetrahedra: edges as links, and the volume of every tetrahedron; 1000 kg/m³ unless changed.
    ///
    /// # Errors
    /// When the mesh's masses cannot be computed.
    pub fn solid(mesh: &TetMesh) -> Result<Self, BuildError> {
        let mut body = Self::particles(mesh.positions().iter().map(|&p| p.into()));
        body.masses = mesh.vertex_masses(1000.0)?;
        body.triangles = mesh.surface();
        for (tet, volume) in mesh.tets().iter().zip(mesh.rest_volumes()) {
            body.tables.tet_volume.push(Role::Volume, 0, *tet, [volume]);
        }
        for pair in mesh.edges() {
            body.link(Role::Stretch, 0, pair);
        }
        Ok(body)
    }

    /// A solid of elastic tetrahedra, for methods that minimise energies and for sweeps; 1000 kg/m³ unless changed.
    ///
    /// # Errors
    /// When a modulus is outside its range or the mesh's masses cannot be computed.
    pub fn elastic_solid(mesh: &TetMesh, elasticity: Elasticity) -> Result<Self, BuildError> {
        let [mu, lambda] = elasticity.lame()?;
        let mut body = Self::particles(mesh.positions().iter().map(|&p| p.into()));
        body.masses = mesh.vertex_masses(1000.0)?;
        body.triangles = mesh.surface();
        let table = match elasticity.law {
            Law::Corotated => &mut body.tables.corotated_tet,
            Law::NeoHookean => &mut body.tables.neo_hookean_tet,
        };
        for tet in mesh.tets() {
            let (row, volume) = ElasticTet::<Corotated>::rest(tet.map(|p| body.positions[p as usize]), mu, lambda);
            table.push_scaled(*tet, row, volume);
        }
        Ok(body)
    }

    /// A sheet of elastic triangles of this thickness \[m\], for methods that minimise energies and for sweeps; bending of the
    /// chosen kind, 0.2 kg/m² unless changed. [`Body::woven_sheet`] has directions.
    ///
    /// # Errors
    /// When a modulus or the thickness is outside its range, or as for [`Body::surface`].
    pub fn elastic_sheet(
        mesh: &TriMesh,
        elasticity: Elasticity,
        thickness: f64,
        bending: Bending,
    ) -> Result<Self, BuildError> {
        let [mu, lambda] = elasticity.lame()?;
        if !(thickness.is_finite() && thickness > 0.0) {
            let expected = "a finite number above 0";
            return Err(BuildError::BadOption { name: "thickness", value: thickness, expected });
        }
        let mut body = Self::surface(mesh, bending)?;
        // The triangles resist stretch in place of the links.
        body.tables.distance.keep(|role| role != Role::Stretch);
        let table = match elasticity.law {
            Law::Corotated => &mut body.tables.corotated_triangle,
            Law::NeoHookean => &mut body.tables.neo_hookean_triangle,
        };
        for triangle in mesh.triangles() {
            let rest = triangle.map(|p| body.positions[p as usize]);
            let (row, area) = ElasticTriangle::<Corotated>::rest(rest, mu, lambda);
            table.push_scaled(*triangle, row, area * thickness);
        }
        Ok(body)
    }

    /// A closed surface filled with something that holds `inflation` times its rest volume.
    ///
    /// # Errors
    /// When the surface is open or its triangles are wound inconsistently.
    pub fn balloon(mesh: &TriMesh, inflation: f64) -> Result<Self, BuildError> {
        mesh.require_closed()?;
        let mut body = Self::surface(mesh, Bending::CrossLinks)?;
        body.inflation = Some(Inflation { factor: inflation, rest: mesh.volume()?, compliance: 0.0 });
        Ok(body)
    }

    fn of_surface(mesh: &TriMesh, areal_density: f64) -> Result<Self, BuildError> {
        let mut body = Self::particles(mesh.positions().iter().map(|&p| p.into()));
        body.masses = mesh.vertex_masses(areal_density)?;
        body.triangles = mesh.triangles().to_vec();
        Ok(body)
    }

    fn link(&mut self, role: Role, direction: u8, pair: [u32; 2]) {
        let [a, b] = pair.map(|p| self.positions[p as usize]);
        let length = (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt();
        self.tables.distance.push(role, direction, pair, [length]);
    }

    /// How many particles there are.
    pub fn particle_count(&self) -> usize {
        self.positions.len()
    }
    /// Start positions \[m\].
    pub fn positions(&self) -> &[[f64; 3]] {
        &self.positions
    }
    /// Masses \[kg\].
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }
    /// Particles held in place, in the order they were pinned.
    pub fn pins(&self) -> &[u32] {
        &self.pins
    }
    /// Holds one more particle in place; nothing happens when it is held already.
    pub fn pin(&mut self, particle: u32) {
        if !self.pins.contains(&particle) {
            self.pins.push(particle);
        }
    }
    /// Lets a pinned particle go; returns whether it was held.
    pub fn release(&mut self, particle: u32) -> bool {
        let before = self.pins.len();
        self.pins.retain(|&pin| pin != particle);
        self.pins.len() < before
    }
    /// Surface triangles, for wind, normals and drawing.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }
    /// The constraint rows.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
    /// The constraint rows, to be edited: every row is checked when a model is built.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
    /// The volume the body holds, if it is a balloon.
    pub fn inflation(&self) -> Option<&Inflation> {
        self.inflation.as_ref()
    }
    /// The volume the body holds, to be edited: checked when a model is built.
    pub fn inflation_mut(&mut self) -> Option<&mut Inflation> {
        self.inflation.as_mut()
    }
    /// How the body hangs on its pins.
    pub fn tethers(&self) -> &Tethers {
        &self.tethers
    }
    /// How the body hangs on its pins, to be edited: checked when a model is built.
    pub fn tethers_mut(&mut self) -> &mut Tethers {
        &mut self.tethers
    }

    /// Scales all masses to a total \[kg\].
    pub fn with_mass(mut self, total: f64) -> Self {
        let sum: f64 = self.masses.iter().sum();
        for m in &mut self.masses {
            *m *= total / sum;
        }
        self
    }
    /// Sets the mass of every particle \[kg\].
    pub fn with_masses(mut self, masses: impl IntoIterator<Item = f64>) -> Self {
        self.masses = masses.into_iter().collect();
        self
    }
    /// Keeps every particle this far from colliders \[m\]; 0 unless set. More than an edge is long is a
    /// [warning](crate::warning::Warning::ThickParticles).
    pub fn with_thickness(mut self, thickness: f64) -> Self {
        self.thickness = vec![thickness; self.particle_count()];
        self
    }
    /// Sets how far each particle keeps from colliders \[m\].
    pub fn with_thicknesses(mut self, thicknesses: impl IntoIterator<Item = f64>) -> Self {
        self.thickness = thicknesses.into_iter().collect();
        self
    }
    /// Keeps the surface clear of itself and of the surfaces of other bodies that ask for it: triangles and their edges, or
    /// the links of a body without triangles.
    #[cfg(feature = "collision")]
    pub fn with_self_contact(mut self, contact: crate::collide::SelfContact) -> Self {
        self.self_contact = Some(contact);
        self
    }
    /// Which colliders stop its particles: those whose groups meet these; all of them unless set. Surfaces among themselves have
    /// groups of their own, in [`SelfContact`](crate::collide::SelfContact).
    #[cfg(feature = "collision")]
    pub fn with_collider_groups(mut self, groups: crate::collide::Groups) -> Self {
        self.collider_groups = groups;
        self
    }
    /// The groups that decide which colliders stop its particles.
    #[cfg(feature = "collision")]
    pub fn collider_groups(&self) -> crate::collide::Groups {
        self.collider_groups
    }
    /// How the surface meets itself and others, if it does.
    #[cfg(feature = "collision")]
    pub fn self_contact(&self) -> Option<&crate::collide::SelfContact> {
        self.self_contact.as_ref()
    }
    /// How far a particle keeps from colliders; nothing when the list has another length than the body.
    pub(crate) fn thickness_of(&self, particle: usize) -> Option<f64> {
        match self.thickness.len() {
            0 => Some(0.0),
            count => (count == self.particle_count()).then(|| self.thickness[particle]),
        }
    }
    /// Sets start velocities \[m/s\].
    pub fn with_velocities(mut self, velocities: impl IntoIterator<Item = [f64; 3]>) -> Self {
        self.velocities = velocities.into_iter().collect();
        self
    }
    /// Sets the compliance α of every constraint of a role, 0 for rigid \[m/N for lengths\].
    pub fn with_compliance(mut self, role: Role, compliance: f64) -> Self {
        self.tables.set_role(role, Some(compliance), None);
        if let (Role::Volume, Some(inflation)) = (role, &mut self.inflation) {
            inflation.compliance = compliance;
        }
        if role == Role::Tether {
            self.tethers.compliance = compliance;
        }
        self
    }
    /// Sets the damping β of every constraint of a role; it acts on compliant constraints only \[N·s/m for lengths\].
    pub fn with_damping(mut self, role: Role, damping: f64) -> Self {
        self.tables.set_role(role, None, Some(damping));
        self
    }
    /// Lets the elements of a role keep deformations beyond their yield: links, dihedral hinges, elastic tetrahedra.
    ///
    /// ```
    /// use pliant_core::body::{Bending, Body, Role};
    /// use pliant_core::mesh::tube;
    /// use pliant_core::plasticity::Plasticity;
    ///
    /// // A can that springs back from bends up to 0.05 rad, and keeps most of what goes beyond within a second.
    /// let tin = Plasticity { yields_at: 0.05, creep: 3.0, bound: 2.0 };
    /// let can = Body::surface(&tube(0.03, 0.1, 24, 16)?, Bending::Dihedral)?.with_plasticity(Role::Bend, tin);
    /// # Ok::<(), pliant_core::error::BuildError>(())
    /// ```
    pub fn with_plasticity(mut self, role: Role, plasticity: Plasticity) -> Self {
        self.plasticity.push((role, plasticity));
        self
    }
    /// Lets the edges of the surface tear; worlds do so after every step that overloads one.
    pub fn with_tearing(mut self, tearing: Tearing) -> Self {
        self.tearing = Some(tearing);
        self
    }
    /// When edges of the surface tear, if they do.
    pub fn tearing(&self) -> Option<&Tearing> {
        self.tearing.as_ref()
    }
    /// How the elements of each role flow.
    pub fn plasticity(&self) -> &[(Role, Plasticity)] {
        &self.plasticity
    }
    /// How the elements of each role flow, to be edited: checked when a model is built.
    pub fn plasticity_mut(&mut self) -> &mut Vec<(Role, Plasticity)> {
        &mut self.plasticity
    }
    /// Holds particles in place; they can be moved and released while time runs.
    pub fn pinned(mut self, particles: impl IntoIterator<Item = u32>) -> Self {
        self.pins.extend(particles);
        self
    }
    /// Pulls a particle to a target that can be moved while time runs.
    pub fn attached(mut self, particle: u32, target: impl Into<[f64; 3]>, compliance: f64) -> Self {
        let table = &mut self.tables.attachment;
        table.push(Role::Attach, 0, [particle], target.into());
        if let Some(last) = table.compliance.last_mut() {
            *last = compliance;
        }
        self
    }
    /// Limits the distance of every particle to its two nearest pins: the geodesic rest distance times `1 + slack`.
    ///
    /// Tethers carry the weight of a hanging cloth straight to its pins and make it look inextensible at a fraction of the
    /// cost of iterating.
    pub fn with_tethers(mut self, slack: f64) -> Self {
        self.tethers.slack = Some(slack);
        self
    }
    /// Moves the whole body \[m\].
    pub fn translated(mut self, by: impl Into<[f64; 3]>) -> Self {
        let by = by.into();
        for p in self.positions.iter_mut().chain(&mut self.tables.attachment.parameters) {
            for k in 0..3 {
                p[k] += by[k];
            }
        }
        self
    }
    /// Maps the start positions, without changing rest lengths, angles and volumes.
    pub fn posed(mut self, pose: impl Fn([f64; 3]) -> [f64; 3]) -> Self {
        for p in &mut self.positions {
            *p = pose(*p);
        }
        self
    }
}
