//! Untangling: surfaces that start inside each other, moved apart along the line they meet in.
//!
//! Where an edge passes through a triangle, the two surfaces meet in a line that goes on through the faces beside the edge. If the
//! edge and its faces move by D against the triangle, the line gets shorter by D·G:
//! ```text
//!   G = Σ (R − (E·R)/(E·N) N)      E along the edge, N across the triangle, R along the line into each face    [Volino06]
//! ```
//! Moving along G wherever an edge passes through draws borders back out of what they poke through, and shrinks the loops in
//! which solids overlap. Nothing promises that it ends: what is still tangled after so many rounds is refused as before.

use pliant_core::backend::Backend;
use pliant_core::collide::distance::give;
use pliant_core::collide::intersect::Piercing;
use pliant_core::columns::Columns;
use pliant_core::error::StepError;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

use super::term::vector;

/// How far an edge and a triangle are moved against each other a round, as a share of their thickness.
const STRIDE: f64 = 0.5;
/// The least E·N that G is divided by: an edge that lies in the triangle says little about it.
const SLANT: f64 = 0.1;

/// Moves vertices until no edge passes through a triangle, or for so many rounds; whether it succeeded.
pub(super) fn run<S: Real, B: Backend<Scalar = S>>(
    rounds: usize,
    model: &Model<S>,
    x: &mut Columns<S>,
    on: &B,
) -> Result<bool, StepError> {
    let surfaces = model.surfaces();
    // Faces beside an edge: the edge, lower vertex first, and the vertex opposite of it.
    let mut sides: Vec<[u32; 3]> = Vec::with_capacity(3 * surfaces.triangles.len());
    for &[a, b, c] in &surfaces.triangles {
        sides.extend([[a, b, c], [b, c, a], [c, a, b]].map(|[p, q, o]| [p.min(q), p.max(q), o]));
    }
    sides.sort_unstable();
    for _ in 0..rounds {
        let found = surfaces.piercings(x, on)?;
        if found.is_empty() {
            return Ok(true);
        }
        for piercing in &found {
            part(model, &sides, piercing, x);
        }
    }
    let found = surfaces.piercings(x, on)?;
    Ok(found.is_empty())
}

/// Moves an edge and a triangle against each other.
fn part<S: Real>(model: &Model<S>, sides: &[[u32; 3]], piercing: &Piercing, x: &mut Columns<S>) {
    let surfaces = model.surfaces();
    let [a, b] = piercing.edge;
    let at = |v: u32| vector(x.get(v as usize));
    let triangle = piercing.triangle.map(at);
    let across = (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]);
    let along = at(b) - at(a);
    let (Some(n), Some(e)) = (unit(across), unit(along)) else { return };
    let slant = e.dot(n);
    let slant = if slant < 0.0 { slant.min(-SLANT) } else { slant.max(SLANT) };
    let mut g = Vec3::zero();
    let first = sides.partition_point(|side| [side[0], side[1]] < [a, b]);
    for side in sides[first..].iter().take_while(|side| [side[0], side[1]] == [a, b]) {
        let into = at(side[2]) - at(a);
        let Some(r) = unit(n.cross(along.cross(into))) else { continue };
        // Into the face, away from the edge.
        let r = if r.dot(into - e * e.dot(into)) < 0.0 { -r } else { r };
        g = g + r - n * (e.dot(r) / slant);
    }
    let Some(direction) = unit(g) else { return };
    // Where they meet, as shares of the corners.
    let heights = [n.dot(at(a) - triangle[0]), n.dot(at(b) - triangle[0])];
    let s = if heights[0] == heights[1] { 0.5 } else { (heights[0] / (heights[0] - heights[1])).clamp(0.0, 1.0) };
    let point = at(a) + along * s;
    let area = across.length_sq();
    let share = |i: usize| {
        let (p, q) = (triangle[(i + 1) % 3], triangle[(i + 2) % 3]);
        ((p - point).cross(q - point).dot(across) / area).clamp(0.0, 1.0)
    };
    let weights = [1.0 - s, s, -share(0), -share(1), -share(2)];
    let corners = [a, b, piercing.triangle[0], piercing.triangle[1], piercing.triangle[2]];
    let inverse = corners.map(|v| model.inv_mass()[surfaces.particles[v as usize] as usize].to_f64());
    let give = give(&weights, &inverse);
    if give <= 0.0 {
        return;
    }
    let owner = |v: u32| surfaces.settings[surfaces.owner[v as usize] as usize].thickness;
    let stride = STRIDE * 0.5 * (owner(a) + owner(piercing.triangle[0]));
    for k in 0..5 {
        let moved = vector(x.get(corners[k] as usize)) + direction * (stride * weights[k] * inverse[k] / give);
        x.set(corners[k] as usize, [moved.x, moved.y, moved.z].map(S::from_f64));
    }
}

fn unit(v: Vec3<f64>) -> Option<Vec3<f64>> {
    let length = v.length();
    (length > 1e-12).then(|| v * (1.0 / length))
}
