//! Clusters in place of constraints, and links in place of clusters, for methods that know only one of them.

use std::collections::BTreeSet;

use pliant::core::body::{Body, Role, Tables};
use pliant::core::matching::{Grouping, Matching};

use crate::trusses;

/// Links of a member of a large cluster: to so many of the nearest others.
const NEAREST: usize = 12;

/// Clusters hold their shape over a sixtieth of a second.
const FRAME: f64 = 1.0 / 60.0;

/// Takes the clusters of a body away and links their particles instead; returns how many clusters there were.
pub fn link(body: &mut Body) -> usize {
    let clusters = std::mem::take(body.clusters_mut());
    let places = body.positions().to_vec();
    let apart =
        |a: u32, b: u32| (0..3).map(|k| (places[a as usize][k] - places[b as usize][k]).powi(2)).sum::<f64>().sqrt();
    let mut known = BTreeSet::new();
    for cluster in &clusters {
        for &p in &cluster.particles {
            let mut others: Vec<u32> = cluster.particles.iter().copied().filter(|&q| q != p).collect();
            others.sort_by(|&a, &b| apart(p, a).total_cmp(&apart(p, b)));
            // Members that went all the way to their goals are rigid; a share k of it is a spring with h²ω² = k/(1 − k).
            let k = cluster.matching.stiffness;
            let compliance = (1.0 - k) / k * FRAME * FRAME * NEAREST as f64 / body.masses()[p as usize];
            for &q in others.iter().take(NEAREST) {
                if known.insert([p.min(q), p.max(q)]) {
                    let table = &mut body.tables_mut().distance;
                    table.push(Role::Stretch, 0, [p.min(q), p.max(q)], [apart(p, q)]);
                    if let Some(last) = table.compliance.last_mut() {
                        *last = compliance;
                    }
                }
            }
        }
    }
    clusters.len()
}

/// Covers a body whose constraints no cluster holds with overlapping ones, and pins what attachments hold; returns how many
/// constraints there were.
pub fn cover(body: &mut Body) -> usize {
    trusses::replace(body);
    let attached: Vec<u32> = body.tables().attachment.ids.iter().map(|ids| ids[0]).collect();
    body.tables_mut().attachment = Default::default();
    attached.iter().for_each(|&p| body.pin(p));
    let Tables { tet_volume, dihedral, isometric, range, distance, .. } = body.tables();
    let count = tet_volume.ids.len() + dihedral.ids.len() + isometric.ids.len() + range.ids.len() + distance.ids.len();
    let mut held = vec![false; body.particle_count()];
    body.clusters().iter().flat_map(|c| &c.particles).for_each(|&p| held[p as usize] = true);
    let pairs: Vec<[u32; 2]> = distance.ids.iter().chain(&range.ids).copied().collect();
    if pairs.is_empty() || held.iter().all(|held| *held) {
        return attached.len();
    }
    let places = body.positions();
    let length =
        |[a, b]: [u32; 2]| (0..3).map(|k| (places[a as usize][k] - places[b as usize][k]).powi(2)).sum::<f64>().sqrt();
    // As small as clusters can be and still resist bending: the particles around one that links reach.
    let shortest = pairs.iter().map(|&pair| length(pair)).filter(|l| *l > 0.0).fold(f64::INFINITY, f64::min);
    let grouping = Grouping::Regions { spacing: 1.2 * shortest, radius: 2.1 * shortest };
    match body.clone().with_clusters(grouping, Matching::RIGID) {
        Ok(covered) => {
            *body = covered;
            count + attached.len()
        }
        // A body without extent: the solver says what it misses.
        Err(_) => 0,
    }
}
