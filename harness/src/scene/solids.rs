//! Solids: the rigid bodies of a scene, and what they look like in a picture or an exported mesh.

use pliant::core::mesh::TriMesh;
use pliant::core::rigid::{Mobility, Part, Solid as PartSolid};
use pliant::{Pose, RigidBody};

use super::obstacles::{Outline, from_mesh, ground, place, surface};

/// A rigid body and the mesh it was made from.
#[derive(Clone, Debug)]
pub struct Solid {
    /// What it is, where it starts and how it moves.
    pub body: RigidBody,
    /// The mesh of a hull or of sampled distances, if so.
    pub mesh: Option<TriMesh>,
}

impl From<RigidBody> for Solid {
    fn from(body: RigidBody) -> Self {
        Self { body, mesh: None }
    }
}

/// Subdivisions of a ball: 642 vertices.
const BALL: u32 = 3;

impl Solid {
    /// Whether forces move it.
    pub fn is_dynamic(&self) -> bool {
        self.body.mobility == Mobility::Dynamic
    }

    /// The surface in the body's own frame. Half-spaces have none that ends, fields of no simple shape and without a mesh none
    /// that is known.
    pub fn outline(&self) -> Outline {
        if let Some(mesh) = &self.mesh {
            return faceted(&from_mesh(mesh));
        }
        let mut outline: Outline = (Vec::new(), Vec::new());
        for part in &self.body.parts {
            if let Some((points, triangles)) = part_surface(part) {
                let first = outline.0.len();
                outline.0.extend(points.into_iter().map(|p| place(part.pose, p)));
                outline.1.extend(triangles.into_iter().map(|t| t.map(|i| i + first)));
            }
        }
        outline
    }

    /// The same where the body is now.
    pub fn placed(&self, pose: Pose) -> Outline {
        let (points, triangles) = self.outline();
        (points.into_iter().map(|p| place(pose, p)).collect(), triangles)
    }

    /// The piece of a half-space that lies below these points, if the body is one.
    pub fn ground(&self, points: &[[f64; 3]]) -> Option<Outline> {
        let [Part { solid: PartSolid::HalfSpace { normal }, pose }] = self.body.parts.as_slice() else { return None };
        let stand = |p| place(self.body.pose, place(*pose, p));
        Some(ground(*normal, stand, points))
    }
}

fn part_surface(part: &Part) -> Option<Outline> {
    match &part.solid {
        PartSolid::HalfSpace { .. } => None,
        PartSolid::Convex { points } => hull(points),
        solid => surface(&solid.shape()?, BALL),
    }
}

/// Triangles of the convex hull of points.
fn hull(points: &[[f64; 3]]) -> Option<Outline> {
    let single: Vec<_> = points.iter().map(|p| p.map(|c| c as f32).into()).collect();
    let (corners, triangles) = pliant::parry3d::transformation::try_convex_hull(&single).ok()?;
    let corners = corners.iter().map(|p| [p.x, p.y, p.z].map(f64::from)).collect();
    Some(faceted(&(corners, triangles.iter().map(|t| t.map(|i| i as usize)).collect())))
}

/// A triangle at a time, so that no normal is smoothed around an edge.
fn faceted((points, triangles): &Outline) -> Outline {
    let corners = triangles.iter().flatten().map(|&i| points[i]).collect();
    (corners, (0..triangles.len()).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect())
}
