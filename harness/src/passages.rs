//! What went through what, or was held up by it: a run that ends like that did not solve its scene, however well its links kept their length.
//!
//! Methods keep particles out of colliders, one by one. Links and triangles between them go through all the same where they are
//! stretched far enough: a curtain that hangs on both sides of a ring it never passed by its hole.

use std::fmt;

use pliant::core::body::Body;
use pliant::core::lane::Real;
use pliant::core::model::Model;
use pliant::core::sdf::{Placed, Solid};
use pliant::core::vec3::Vec3;

use crate::scene::Scene;

/// Edges that pass through something at the end of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passages {
    /// Through triangles of surfaces that keep clear of each other; nothing where there are none.
    pub triangles: Option<usize>,
    /// Through colliders.
    pub colliders: usize,
    /// How far the farthest pin is from where it was sent \[m\]: methods that let nothing pass may let nothing move.
    pub behind: f64,
}

/// A pin this far from its target is not only rounded \[m\].
const BEHIND: f64 = 1e-3;

impl Passages {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.colliders > 0 || self.triangles.is_some_and(|count| count > 0) || self.behind > BEHIND
    }
}

impl fmt::Display for Passages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let through = [("colliders", self.colliders), ("triangles", self.triangles.unwrap_or(0))];
        let told: Vec<_> = through.iter().filter(|(_, count)| *count > 0).collect();
        let mut told: Vec<_> = told.iter().map(|(what, count)| format!("{count} edges pass through {what}")).collect();
        if self.behind > BEHIND {
            told.push(format!("a pin is {:.3} m behind", self.behind));
        }
        write!(f, "{} in the last frame", told.join(", "))
    }
}

/// How far the farthest pin is from its target \[m\].
pub fn farthest_pin<S: Real>(model: &Model<S>, positions: &[[f64; 3]]) -> f64 {
    let targets = model.pin_targets();
    let way = |(row, &pin): (usize, &u32)| {
        let (x, to) = (positions[pin as usize], targets.get(row).map(S::to_f64));
        (0..3).map(|k| (x[k] - to[k]).powi(2)).sum::<f64>().sqrt()
    };
    model.pins().iter().enumerate().map(way).fold(0.0, f64::max)
}

/// Looks along an edge before it counts as clear; steps are as long as the distance at hand, and edges short.
const LOOKS: usize = 64;
/// Where an edge counts as inside, as a share of its length.
const INSIDE: f64 = 1e-3;

/// Edges of all bodies that enter a collider on one side and leave it on the other: both normals point away from each other.
/// Coarse links that cut a corner do not.
pub fn through_colliders<S: Real>(scene: &Scene, model: &Model<S>, positions: &[[f64; 3]]) -> usize {
    let (solids, described) = (model.colliders().solids(), model.colliders().described());
    let still = |pose| Placed::<S>::new(pose, pose, [0.0, 1.0], [0.0; 3]);
    let placed: Vec<_> = described.iter().map(|collider| still(collider.pose)).collect();
    let mut found = 0;
    for (first, body) in scene.placed().filter(|_| !solids.is_empty()) {
        for edge in edges(body) {
            let ends = edge.map(|p| Vec3::from(positions[(p + first) as usize].map(S::from_f64)));
            let passes = |(solid, placed): (&Solid<S>, &Placed<S>)| {
                let ends = ends.map(|x| placed.enter(x, x, Vec3::zero()).0);
                body.collider_groups().meet(solid.groups) && passes(solid, ends)
            };
            found += usize::from(solids.iter().zip(&placed).any(passes));
        }
    }
    found
}

/// The sides of a body's triangles, or the links of a rope.
fn edges(body: &Body) -> Vec<[u32; 2]> {
    let sides = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]];
    let mut edges: Vec<_> = match body.triangles() {
        [] => body.tables().distance.ids.clone(),
        triangles => triangles.iter().flat_map(sides).collect(),
    };
    edges.iter_mut().for_each(|edge| edge.sort_unstable());
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn passes<S: Real>(solid: &Solid<S>, [a, b]: [Vec3<S>; 2]) -> bool {
    match (entry(solid, a, b), entry(solid, b, a)) {
        (Some(one), Some(other)) => one.dot(other) < S::ZERO,
        _ => false,
    }
}

/// The normal where the way from `a` to `b` first comes to the inside; nothing where it begins there, or never comes there.
fn entry<S: Real>(solid: &Solid<S>, a: Vec3<S>, b: Vec3<S>) -> Option<Vec3<S>> {
    let length = (b - a).length();
    let least = length * S::from_f64(INSIDE);
    let mut way = S::ZERO;
    for look in 0..LOOKS {
        let share = way / length;
        // The whole edge is within reach: φ bounds how far the way is clear.
        let (phi, normal) = solid.distance(length, a + (b - a) * share)?;
        if phi < S::ZERO {
            return (look > 0).then_some(normal);
        }
        way = way + phi.max(least);
        if way >= length {
            return None;
        }
    }
    None
}
