//! Truncation: every vertex goes towards its target until a plane between it and something near stops it.
//!
//! Two primitives at the distance d along n stay apart if the corners of each stay on their side of a plane across n. Where
//! the plane stands is shared out by how much either side approaches; each corner stops at its part of the gap, whatever the
//! others do. Vertices that are free are not held up by those that are stopped, and another pass lets those follow.

use pliant_core::backend::Backend;
use pliant_core::collide::CollideError;
use pliant_core::collide::distance::Pair;
use pliant_core::lane::Real;
use pliant_core::vec3::Vec3;

use super::path::Path;

/// The share of a distance that two primitives may use up together.
const SHARE: f64 = 0.8;

/// Returns the passes made and whether all targets were reached.
pub(super) fn run<S: Real, B: Backend<Scalar = S>>(
    passes: usize,
    path: &mut Path<S>,
    on: &B,
) -> Result<(usize, bool), CollideError> {
    for pass in 0..passes {
        let Some(candidates) = &mut path.candidates else { return Ok((pass, false)) };
        candidates.find(&path.now, &path.target, S::ZERO, on)?;
        path.near.run_divided(candidates, S::from_f64(SHARE), on);
        for vertex in 0..path.now.len() {
            path.next.set(vertex, [S::ONE; 3]);
        }
        // For a while `next` holds the share of its way each vertex may go.
        for candidate in path.near.near() {
            let now = candidate.corners.map(|v| Vec3::from(path.now.get(v as usize)));
            let way: [_; 4] =
                core::array::from_fn(|k| Vec3::from(path.target.get(candidate.corners[k] as usize)) - now[k]);
            let closest = candidate.pair.closest(&now);
            let distance = closest.distance_sq.sqrt();
            let n = if distance > S::ZERO { closest.between * (S::ONE / distance) } else { Vec3::zero() };
            let first = if candidate.pair == Pair::VertexTriangle { 1 } else { 2 };
            // How far each corner approaches the other side.
            let along: [S; 4] = core::array::from_fn(|k| if k < first { -n.dot(way[k]) } else { n.dot(way[k]) });
            let most =
                |range: core::ops::Range<usize>| range.fold(S::ZERO, |m, k| if along[k] > m { along[k] } else { m });
            let (one, other) = (most(0..first), most(first..4));
            let room = S::from_f64(SHARE) * distance / (one + other);
            for k in 0..4 {
                let own = if k < first { one } else { other };
                // Its side's part of the gap is room · own: those that approach less go farther.
                let share = if along[k] > S::ZERO { room * own / along[k] } else { S::ONE };
                // A pair that touches has no plane: it stays.
                let share = if distance > S::ZERO { share } else { S::ZERO };
                let vertex = candidate.corners[k] as usize;
                let before = path.next.x[vertex];
                path.next.x[vertex] = if share < before { share } else { before };
            }
        }
        let mut all = true;
        for vertex in 0..path.now.len() {
            let (share, now, target) = (path.next.x[vertex], path.now.get(vertex), path.target.get(vertex));
            all &= share >= S::ONE;
            let next =
                if share >= S::ONE { target } else { core::array::from_fn(|k| now[k] + (target[k] - now[k]) * share) };
            path.next.set(vertex, next);
        }
        if path.retreat(S::ZERO, on)? < 1.0 {
            // Only rounding brings us here.
            all = false;
            if path.free(S::ZERO, on)? < 1.0 {
                return Ok((pass + 1, false));
            }
        }
        path.accept();
        if all {
            return Ok((pass + 1, true));
        }
    }
    Ok((passes, false))
}
