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
    /// edges: a sheet cannot fold more sharply than this. More than 8 times the mean edge (64 times for ropes) is an error.
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
    /// By vertex: the first vertex of its body that stands where it does at rest. Another one along the lips of a tear and the
    /// doubled vertices of a seam.
    twins: Vec<u32>,
}

/// A surface that is thicker than so many of its edges is refused: some 200 of its own vertices are within reach of each, and a look that
/// lists all of them takes hundreds of megabytes for 10,000.
const MOST_EDGES: f64 = 8.0;
/// The same for ropes, where they lie in line.
const MOST_LINKS: f64 = 64.0;

/// The shortest of these edges at rest, and their mean \[m\]. Edges without length, as seams have, say nothing about a mesh.
fn lengths(edges: &[[u32; 2]], rest: &[[f64; 3]]) -> (f64, f64) {
    let length = |&[a, b]: &[u32; 2]| {
        let (a, b) = (rest[a as usize], rest[b as usize]);
        (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt()
    };
    let lengths = edges.iter().map(length).filter(|length| *length > 0.0);
    let (count, sum, shortest) =
        lengths.fold((0, 0.0, f64::INFINITY), |(count, sum, least), l| (count + 1, sum + l, f64::min(least, l)));
    (shortest, sum / f64::from(count))
}

/// By vertex: the place of the first one that stands where it does.
fn first_in_place(vertices: &[u32], rest: &[[f64; 3]]) -> impl Iterator<Item = u32> {
    let at = |i: u32| rest[vertices[i as usize] as usize];
    let mut order: Vec<u32> = (0..vertices.len() as u32).collect();
    // 0 and −0 are one place: their sum with 0 is 0.
    let key = |i: u32| at(i).map(|c| (c + 0.0).to_bits());
    order.sort_unstable_by_key(|&i| (key(i), i));
    let mut first = vec![0; vertices.len()];
    for twins in order.chunk_by(|&a, &b| key(a) == key(b)) {
        twins.iter().for_each(|&i| first[i as usize] = twins[0]);
    }
    first.into_iter()
}

impl<S: Real> Surfaces<S> {
    /// Appends triangles and links of body number `body`; `first` is its first particle and `rest` its rest shape. Returns its
    /// shortest edge at rest \[m\].
    ///
    /// Links become edges where there are no triangles: ropes.
    pub(crate) fn append(
        &mut self,
        contact: &SelfContact,
        triangles: &[[u32; 3]],
        links: &[[u32; 2]],
        (body, first): (usize, u32),
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
        let ((shortest, edge), thickness) = (lengths(&edges, rest), contact.thickness);
        let most = if triangles.is_empty() { MOST_LINKS } else { MOST_EDGES };
        if thickness > most * edge {
            return Err(BuildError::TooThick { body, thickness, edge, most });
        }
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
        self.twins.extend(first_in_place(&vertices, rest).map(|twin| before + twin));
        self.settings.push(*contact);
        self.reach = Lane::max(self.reach, S::from_f64(contact.thickness));
        Ok(shortest)
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

    /// By vertex: the first one of its body that stands in the same place at rest; nothing where no two do.
    ///
    /// What meets in such vertices is one surface that was cut: both sides of a tear begin in one place, and do not count as
    /// passing through each other there.
    pub fn seams(&self) -> Option<&[u32]> {
        let any = self.twins.iter().zip(0..).any(|(&twin, vertex)| twin != vertex);
        any.then_some(&self.twins[..])
    }

    /// Every edge and triangle that share no vertex but have a point in common, by vertices, where vertices are at `x`. Exact.
    /// Vertices of a [seam](Self::seams) count as one.
    ///
    /// # Errors
    /// Positions that are not finite.
    pub fn piercings<B: Backend<Scalar = S>>(&self, x: &Columns<S>, on: &B) -> Result<Vec<Piercing>, CollideError> {
        let mut found = piercings(&self.edges, &self.triangles, x, self.groups().as_deref(), on)?;
        if let Some(twins) = self.seams() {
            found.retain(|found| !share_twins(twins, &found.edge, &found.triangle));
        }
        Ok(found)
    }

    /// The same by particles, where particles are at `x`.
    ///
    /// # Errors
    /// Positions that are not finite.
    pub fn intersections<B: Backend<Scalar = S>>(&self, x: &Columns<S>, on: &B) -> Result<Vec<Piercing>, CollideError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let positions = self.particles.iter().map(|&p| x.get(p as usize)).collect();
        let mut found = self.piercings(&positions, on)?;
        let particle = |vertex: u32| self.particles[vertex as usize];
        for Piercing { edge, triangle } in &mut found {
            (*edge, *triangle) = (edge.map(particle), triangle.map(particle));
        }
        Ok(found)
    }
}

/// Whether two primitives have corners that are one vertex, or twins of each other.
pub(super) fn share_twins(twins: &[u32], one: &[u32], other: &[u32]) -> bool {
    one.iter().any(|&a| other.iter().any(|&b| twins[a as usize] == twins[b as usize]))
}
