//! Tearing: surfaces that come apart where they are stretched too far.
//!
//! An edge that is stretched beyond a threshold tears at one of its ends: the triangles around that vertex are divided by the
//! plane through it that the edge stands upright on, and the side of the edge gets a vertex of its own. The two edges along
//! which they part become borders; where a border reaches an older one, the vertex between both is divided as well, so that
//! the surface stays a manifold. Nothing is removed: triangles, areas and masses stay what they were.
//! ```text
//!        p                      p               the edge a–v is too long: the triangles on a's side of v
//!      ╱ │ ╲                  ╱ ╱╲ ╲            move over to its copy v'. p and q keep their fans in one
//!    a ──v── b      →       a─v'  v── b         piece (or are divided too, if they were on a border).
//!      ╲ │ ╱                  ╲ ╲╱ ╱
//!        q                      q
//! ```
//! - `mod.rs`: what users say; `seams.rs`: which edges are too long.
//! - `cut.rs`: who gets which vertex; `torn.rs`: a body being torn, and where all of it comes from; `rows.rs`: what becomes of
//!   constraints.

mod cut;
mod rows;
mod seams;
mod torn;

pub use seams::{Overstretched, Seams};
pub use torn::Torn;

use crate::body::Body;
use crate::error::BuildError;

/// When the edges of a surface tear: at a strain, at a force, or at whichever comes first.
///
/// ```
/// use pliant_core::body::Body;
/// use pliant_core::mesh::ClothGrid;
/// use pliant_core::tearing::Tearing;
///
/// let flag = Body::cloth(&ClothGrid::square(1.0, 20))?.pinned([0, 19]).with_tearing(Tearing::at_strain(0.3));
/// # Ok::<(), pliant_core::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Tearing {
    /// The stretch beyond the rest length, over the rest length, that an edge bears \[1\].
    pub strain: Option<f64>,
    /// The tension that an edge bears: its stretch over the compliance of its link, whatever the method \[N\]. A rigid link has
    /// no such force.
    pub force: Option<f64>,
    /// Edges that tear in one step at most, the most overloaded ones first; eight by default. Neighbours of an edge that tore
    /// wait for the next step: they have just been relieved.
    pub most: usize,
}

impl Tearing {
    /// Tears edges that are longer than 1 + `strain` times their rest length.
    pub fn at_strain(strain: f64) -> Self {
        Self { strain: Some(strain), force: None, most: 8 }
    }
    /// Tears edges whose links pull harder than this \[N\].
    pub fn at_force(force: f64) -> Self {
        Self { strain: None, force: Some(force), most: 8 }
    }

    fn check(&self) -> Result<(), BuildError> {
        let bad = |name, value, expected| Err(BuildError::BadOption { name, value, expected });
        for (name, value) in [("tearing.strain", self.strain), ("tearing.force", self.force)] {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
                return bad(name, value, "a finite number above 0");
            }
        }
        match (self.strain, self.force, self.most) {
            (None, None, _) => bad("tearing.strain", f64::NAN, "a threshold: a strain, a force, or both"),
            (.., 0) => bad("tearing.most", 0.0, "1 or more"),
            _ => Ok(()),
        }
    }
}

/// An edge that tore.
#[derive(Clone, Debug, PartialEq)]
pub struct Tear {
    /// Its ends, lower first, by the numbers they had before.
    pub edge: [u32; 2],
    /// How far it was stretched beyond its rest length, over the rest length \[1\].
    pub strain: f64,
    /// The vertices that were divided.
    pub splits: Vec<VertexSplit>,
}

/// A vertex that was divided. All vertices keep their numbers; copies are appended behind the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexSplit {
    /// The vertex; pins, attachments and forces stay with it.
    pub vertex: u32,
    /// Its copy, at the same place with the same velocity; both share the mass by the area of their triangles.
    pub copy: u32,
    /// The triangles (rows of [`Body::triangles`]) that have the copy for a corner now.
    pub triangles: Vec<u32>,
}

/// Refuses bodies that no tear leaves sound: their tetrahedra or clusters would go on holding what was divided.
fn check_surface(body: &Body) -> Result<(), BuildError> {
    let refuse = |what, reason| Err(BuildError::Unsupported { what, row: 0, reason });
    let tables = body.tables();
    tables.check()?;
    let tets = tables.tet_volume.ids.len() + tables.corotated_tet.ids.len() + tables.neo_hookean_tet.ids.len();
    if body.triangles().is_empty() || tets > 0 {
        return refuse("tearing", "surfaces of triangles tear; ropes and solids do not");
    }
    #[cfg(feature = "rigid")]
    if !body.clusters.is_empty() {
        return refuse(
            "tearing",
            "clusters hold their particles together; tear a surface of links or elements without them",
        );
    }
    Ok(())
}

/// Checks what a body says about tearing.
pub(crate) fn check(body: &Body) -> Result<(), BuildError> {
    let Some(tearing) = body.tearing() else { return Ok(()) };
    tearing.check()?;
    check_surface(body)?;
    if let Some(edge) = seams::edges(body).non_manifold.first() {
        let [a, b] = edge.vertices;
        let triangle_count = edge.triangle_count;
        return Err(crate::mesh::MeshError::NonManifoldEdge { a, b, triangle_count }.into());
    }
    if tearing.force.is_some() {
        let refuse = |what, row, reason| Err(BuildError::Unsupported { what, row, reason });
        let tables = body.tables();
        let rigid = "a rigid link has no force of its own; give it a compliance above 0, or tear at a strain";
        let none = "an edge without a link has no force of its own; tear at a strain";
        for (row, link) in Seams::new(body).iter().flat_map(|seams| seams.links().iter().enumerate()) {
            match link {
                Some(link) if tables.distance.compliance[*link as usize] > 0.0 => {}
                Some(link) => return refuse("distance", *link as usize, rigid),
                None => return refuse("edge", row, none),
            }
        }
    }
    Ok(())
}
