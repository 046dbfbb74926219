//! Tethers: how far every particle may be from the pins it hangs on.

use crate::body::{Body, Role, Table};
use crate::error::BuildError;
use crate::mesh::geodesic_distances;

/// Pins a particle is tethered to, at most.
const PINS_EACH: usize = 2;

/// With more pins than this only the nearest counts: a pinned border needs no second one.
const SEARCHED_PINS: usize = 16;

/// Tethers of a body and the pin each hangs on.
pub(crate) struct Found {
    pub table: Table<1, 4>,
    pub anchors: Vec<u32>,
}

/// Finds the tethers of a body: geodesic rest distance along its links to the nearest pins, times `1 + slack`.
pub(crate) fn find(body: &Body, slack: f64) -> Result<Found, BuildError> {
    if !(slack.is_finite() && slack >= 0.0) {
        return Err(BuildError::BadOption { name: "tether slack", value: slack, expected: "0 or more" });
    }
    let mut found = Found { table: Table::default(), anchors: Vec::new() };
    let links = &body.tables.distance;
    let lengths: Vec<f64> = links.parameters.iter().map(|p| p[0]).collect();
    let flat = is_flat(&body.rest);
    let mut pins = body.pins.clone();
    pins.sort_unstable();
    pins.dedup();
    let groups: Vec<Vec<u32>> =
        if pins.len() <= SEARCHED_PINS { pins.iter().map(|&p| vec![p]).collect() } else { vec![pins.clone()] };
    let mut candidates = vec![Vec::new(); body.particle_count()];
    for group in &groups {
        let field = geodesic_distances(body.particle_count(), &links.ids, &lengths, group)?;
        for (particle, list) in candidates.iter_mut().enumerate() {
            if field.distance[particle].is_finite() && pins.binary_search(&(particle as u32)).is_err() {
                let pin = field.nearest[particle];
                list.push((shorten(body, flat, particle, pin, field.distance[particle]), pin));
            }
        }
    }
    for (particle, list) in candidates.iter_mut().enumerate() {
        list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (rank, &(length, pin)) in list.iter().take(PINS_EACH).enumerate() {
            let [x, y, z] = body.positions[pin as usize];
            found.table.push(Role::Tether, rank as u8, [particle as u32], [x, y, z, length * (1.0 + slack)]);
            found.anchors.push(pin);
        }
    }
    found.table.compliance.fill(body.tethers.compliance);
    Ok(found)
}

/// Paths along links zigzag: up to 8.2 % longer than the straight line on a grid with both diagonals. On a flat rest shape,
/// a path no longer than that runs straight, and the straight line is the geodesic.
fn shorten(body: &Body, flat: bool, particle: usize, pin: u32, along_links: f64) -> f64 {
    let (a, b) = (body.rest[particle], body.rest[pin as usize]);
    let straight = (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt();
    if flat && along_links <= straight * 1.09 { straight } else { along_links }
}

/// Whether one coordinate is the same for all particles.
fn is_flat(positions: &[[f64; 3]]) -> bool {
    (0..3).any(|k| positions.iter().all(|p| p[k] == positions[0][k]))
}
