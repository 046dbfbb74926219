//! Surfaces that keep clear of themselves and of each other: what users ask for, and all bodies' surfaces joined.

use super::CollideError;
use super::intersect::{Piercing, piercings};
use super::leaves::Groups;
use crate::backend::Backend;
use crate::columns::Columns;
use crate::error::BuildError;
use crate::lane::{Lane, Real};
use crate::precision;

/// How the surface of a body meets itself and the surfaces of other bodies that ask for contact too.
///
/// In real time this is no promise: layers that approach each other by more than their thickness in a substep may get through
/// (5 mm: from 3 m/s on at 600 substeps a second, from 0.3 m/s on in PBD with one a frame), and layers that start in exactly one place
/// have no sides and stay there. `IntersectionFree` around a solver promises that nothing ever gets through.
///
/// ```
/// use pliant_core::body::Body;
/// use pliant_core::collide::SelfContact;
/// use pliant_core::mesh::ClothGrid;
///
/// let contact = SelfContact { thickness: 0.004, friction: 0.3, ..SelfContact::default() };
/// let cloth = Body::cloth(&ClothGrid::square(1.0, 40))?.with_self_contact(contact);
/// # Ok::<(), pliant_core::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct SelfContact {
    /// How far apart layers are kept, from middle to middle; 5 mm by default \[m\]. Bodies of different thickness keep the
    /// mean of both. Primitives that are closer than this at rest keep their distance at rest. Below the length of the
    /// edges: a sheet cannot fold more sharply than this.
    pub thickness: f64,
    /// Coulomb friction between layers; 0.2 by default. Bodies with different friction have the mean of both.
    pub friction: f64,
    /// How fast layers that are too close are moved apart; 0.5 m/s by default \[m/s\].
    pub recovery: f64,
    /// Which groups the surface belongs to and which it may touch; all by default. A surface that does not touch its own
    /// groups does not meet itself.
    pub groups: Groups,
}

impl Default for SelfContact {
    fn default() -> Self {
        Self { thickness: 0.005, friction: 0.2, recovery: 0.5, groups: Groups::ALL }
    }
}

impl SelfContact {
    /// Checks the numbers in the precision of a model.
    fn check<S: Real>(&self) -> Result<(), BuildError> {
        let Self { thickness, friction, recovery, .. } = *self;
        let checks = [
            ("thickness of self contact", thickness, precision::positive_length::<S>(thickness)),
            ("friction of self contact", friction, precision::not_negative::<S>(friction)),
            ("recovery of self contact", recovery, precision::not_negative::<S>(recovery)),
        ];
        for (name, value, held) in checks {
            held.map_err(|expected| BuildError::BadOption { name, value, expected })?;
        }
        Ok(())
    }
}

/// The surfaces of all bodies that ask for contact, as one mesh with vertices of its own numbering.
#[derive(Clone, Debug, Default)]
pub struct Surfaces<S> {
    /// The particle of each vertex, ascending.
    pub particles: Vec<u32>,
    /// Edges by vertices, ascending.
    pub edges: Vec<[u32; 2]>,
    /// Triangles by vertices, ascending: candidates come in the order of their corners.
    pub triangles: Vec<[u32; 3]>,
    /// The member of [`settings`](Self::settings) each vertex belongs to.
    pub owner: Vec<u32>,
    /// What each body that takes part asked for.
    pub settings: Vec<SelfContact>,
    /// The largest thickness \[m\].
    pub reach: S,
}

/// The shortest of these edges at rest \[m\].
fn shortest(edges: &[[u32; 2]], rest: &[[f64; 3]]) -> f64 {
    let length = |&[a, b]: &[u32; 2]| {
        let (a, b) = (rest[a as usize], rest[b as usize]);
        (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt()
    };
    edges.iter().map(length).fold(f64::INFINITY, f64::min)
}

impl<S: Real> Surfaces<S> {
    /// Appends a body's triangles and links; `first` is its first particle and `rest` its rest shape. Returns its shortest
    /// edge at rest \[m\].
    ///
    /// Links become edges where there are no triangles: ropes.
    pub(crate) fn append(
        &mut self,
        contact: &SelfContact,
        triangles: &[[u32; 3]],
        links: &[[u32; 2]],
        first: u32,
        rest: &[[f64; 3]],
    ) -> Result<f64, BuildError> {
        contact.check::<S>()?;
        let mut triangles = triangles.to_vec();
        triangles.sort_unstable();
        let mut edges: Vec<[u32; 2]> = if triangles.is_empty() {
            links.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect()
        } else {
            let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [a, c]];
            triangles.iter().flat_map(sides).map(|[a, b]| [a.min(b), a.max(b)]).collect()
        };
        edges.sort_unstable();
        edges.dedup();
        let mut vertices: Vec<u32> = edges.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let before = self.particles.len() as u32;
        // Every corner is among the vertices: the list was made from them.
        let vertex = |p: u32| before + vertices.partition_point(|&v| v < p) as u32;
        self.edges.extend(edges.iter().map(|e| e.map(vertex)));
        self.triangles.extend(triangles.iter().map(|t| t.map(vertex)));
        self.owner.resize(self.owner.len() + vertices.len(), self.settings.len() as u32);
        self.particles.extend(vertices.iter().map(|p| p + first));
        self.settings.push(*contact);
        self.reach = Lane::max(self.reach, S::from_f64(contact.thickness));
        Ok(shortest(&edges, rest))
    }

    /// Whether no body asks for contact.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// Groups by vertex; nothing where all touch all, which is quicker to find.
    pub fn groups(&self) -> Option<Vec<Groups>> {
        let any = self.settings.iter().any(|s| s.groups != Groups::ALL);
        any.then(|| self.owner.iter().map(|&owner| self.settings[owner as usize].groups).collect())
    }

    /// Every edge and triangle that share no vertex but have a point in common, by particles, where particles are at `x`. Exact.
    ///
    /// # Errors
    /// Positions that are not finite.
    pub fn intersections<B: Backend<Scalar = S>>(&self, x: &Columns<S>, on: &B) -> Result<Vec<Piercing>, CollideError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let positions = self.particles.iter().map(|&p| x.get(p as usize)).collect();
        let mut found = piercings(&self.edges, &self.triangles, &positions, self.groups().as_deref(), on)?;
        let particle = |vertex: u32| self.particles[vertex as usize];
        for Piercing { edge, triangle } in &mut found {
            (*edge, *triangle) = (edge.map(particle), triangle.map(particle));
        }
        Ok(found)
    }
}
