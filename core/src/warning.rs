//! What is allowed but probably not meant: found when a model is built, for the user to read.

use core::fmt;

#[cfg(feature = "collision")]
use crate::body::{Body, Role};

/// Something in a model that will work, but perhaps not as hoped.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A surface keeps layers farther apart than its shortest edge is long: it cannot fold as sharply as its mesh could, and
    /// neighbours keep their distance at rest instead.
    ThickSurface {
        /// The body, by its place in the list the model was built from.
        body: usize,
        /// Thickness of its self contact \[m\].
        thickness: f64,
        /// Its shortest edge at rest \[m\].
        edge: f64,
    },
    /// Particles keep farther from colliders than an edge of theirs is long: the body cannot follow what its mesh could, and
    /// comes to rest that far in the air. A fine mesh or a thick rope may mean it.
    ThickParticles {
        /// The body, by its place in the list the model was built from.
        body: usize,
        /// How far they keep from colliders \[m\].
        thickness: f64,
        /// Their shortest edge at rest \[m\].
        edge: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ThickSurface { body, thickness, edge } => write!(
                f,
                "body {body}: the thickness of self contact is {thickness} m, but the shortest edge is {edge} m long; use a thickness below that, or a coarser mesh"
            ),
            Self::ThickParticles { body, thickness, edge } => write!(
                f,
                "body {body}: particles keep {thickness} m from colliders, but the shortest edge between them is {edge} m long; use a thickness below that unless it is meant"
            ),
        }
    }
}

/// What is said about the thickness of a body's particles: the shortest edge that is shorter than one of its ends is thick.
/// Edges without length, as seams have, say nothing about a mesh.
#[cfg(feature = "collision")]
pub(crate) fn thick_particles(body: &Body, place: usize) -> Option<Warning> {
    let thickness =
        |&[a, b]: &[u32; 2]| [a, b].into_iter().filter_map(|p| body.thickness_of(p as usize)).fold(0.0, f64::max);
    let length = |&[a, b]: &[u32; 2]| {
        let (a, b) = (body.rest[a as usize], body.rest[b as usize]);
        (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt()
    };
    let sides = body.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let links = body.tables.distance.ids.iter().zip(&body.tables.distance.role);
    let links = links.filter(|(_, role)| body.triangles.is_empty() && **role == Role::Stretch).map(|(ids, _)| *ids);
    let all = sides.chain(links).map(|edge| (thickness(&edge), length(&edge)));
    let thick = all.filter(|&(thickness, edge)| edge > 0.0 && thickness > edge);
    let (thickness, edge) = thick.reduce(|a, b| if b.1 < a.1 { b } else { a })?;
    Some(Warning::ThickParticles { body: place, thickness, edge })
}
