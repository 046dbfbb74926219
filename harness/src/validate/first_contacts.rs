//! First contacts against queries with an exact truth.

use std::path::Path;

use pliant::backends::AnyBackend;
use pliant::core::collide::ccd::{CcdOptions, Corners, first_contact};
use pliant::core::collide::distance::Pair;
use pliant::core::collide::{ContactSearch, MeshCandidates};
use pliant::core::columns::Columns;
use pliant::core::vec3::Vec3;

use super::Check;
use super::queries::{self, Query};
use crate::failure::Failure;
use crate::solvers::{Number, backend};

/// False positives are allowed up to this distance, over the largest difference of corners in a query.
const DECLARED: f64 = 1e-6;
/// Moments at which the distance of a miss is looked at, where a table does not tell the smallest one.
const SAMPLES: u32 = 2000;

impl Query {
    /// The smallest distance on the way over the largest difference of a corner of one primitive and one of the other, along
    /// an axis and at either end: by the known distance, or by the least at many moments and at a given one.
    fn relative_distance(&self, time: f64) -> f64 {
        let ends = [&self.start, &self.end];
        let largest = ends.into_iter().flatten().flatten().fold(0.0_f64, |most, v| most.max(v.abs()));
        // Differences of the largest coordinates overflow; a factor for all would round the smallest ones.
        let tame = if largest > f64::MAX / 4.0 { 0.25 } else { 1.0 };
        let ends = ends.map(|corners| corners.map(|corner| corner.map(|v| v * tame)));
        let extent = extent(self.pair, &ends);
        // Squares overflow above 1e154 and vanish below 1e-162, so that lengths are over the power of two in the extent, which
        // rounds nothing. Infinity's bits are those of all exponents.
        let unit = f64::from_bits(extent.max(f64::MIN_POSITIVE).to_bits() & f64::INFINITY.to_bits());
        // Seen from the first corner, which changes no distance: digits are not spent on how far away the origin is.
        let [start, end] =
            ends.map(|corners| corners.map(|c| Vec3::from([0, 1, 2].map(|k| (c[k] - corners[0][k]) / unit))));
        let at = |t: f64| {
            let place = |i: usize| start[i] * (1.0 - t) + end[i] * t;
            self.pair.closest(&std::array::from_fn(place)).distance_sq.sqrt()
        };
        let sampled = || (0..=SAMPLES).map(|k| at(f64::from(k) / f64::from(SAMPLES))).fold(at(time), f64::min);
        self.distance.map_or_else(sampled, |distance| distance * tame / unit) / (extent / unit)
    }

    /// Whether the road that solvers take, boxes and a filter on lanes before the search, finds a contact in this precision, no
    /// later than it happens; nothing where a coordinate is not exact in it.
    fn found_on_lanes<S: Number>(&self, on: &AnyBackend<S>) -> Option<bool> {
        let rounded = |corners: &Corners| corners.map(|c| c.map(S::from_f64));
        let (start, end) = (rounded(&self.start), rounded(&self.end));
        let exact = |rounded: &[[S; 3]; 4], corners: &Corners| rounded.map(|c| c.map(S::to_f64)) == *corners;
        if !(exact(&start, &self.start) && exact(&end, &self.end)) {
            return None;
        }
        let columns = |corners: [[S; 3]; 4]| -> Columns<S> { corners.into_iter().collect() };
        let (start, end) = (columns(start), columns(end));
        let (edges, triangles) = match self.pair {
            Pair::VertexTriangle => (Vec::new(), vec![[1, 2, 3]]),
            Pair::EdgeEdge => (vec![[0, 1], [2, 3]], Vec::new()),
        };
        let mut candidates = MeshCandidates::of_elements(&start, edges, triangles, None, on).ok()?;
        candidates.find(&start, &end, S::ZERO, on).ok()?;
        let mut search = ContactSearch::new();
        search.run(&candidates, &CcdOptions::default(), on);
        let earliest = search.contacts().first().map(|contact| contact.impact.time);
        Some(earliest.is_some_and(|time| time <= self.time.unwrap_or(1.0)))
    }
}

/// The largest difference of a corner of one primitive and one of the other, along an axis and at either end \[m\].
fn extent(pair: Pair, ends: &[Corners; 2]) -> f64 {
    let mut most = 0.0_f64;
    for corners in ends {
        let (first, second) = corners.split_at(pair.first_corners());
        for (a, b) in first.iter().flat_map(|a| second.iter().map(move |b| (a, b))) {
            most = (0..3).map(|k| (a[k] - b[k]).abs()).fold(most, f64::max);
        }
    }
    most
}

/// No hit missed, no time too late, no false alarm beyond the tolerance.
pub fn first_contacts(path: &Path) -> Result<Vec<Check>, Failure> {
    let queries = queries::read(path)?;
    let options = CcdOptions::default();
    let (mut missed, mut late, mut false_alarms, mut early) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut alarm_distance, mut lead) = (0.0_f64, 0.0_f64);
    for query in &queries {
        let impact = first_contact(query.pair, &query.start, &query.end, &options);
        early += u32::from(impact.is_some_and(|impact| impact.early));
        match (query.hit, impact) {
            (true, None) => missed.push(&query.name),
            (true, Some(impact)) => {
                let exact = query.time.unwrap_or(1.0);
                if !(0.0..=exact).contains(&impact.time) {
                    late.push(&query.name);
                }
                lead = lead.max(query.time.map_or(0.0, |exact| exact - impact.time));
            }
            (false, Some(impact)) => {
                let relative = query.relative_distance(impact.time);
                alarm_distance = alarm_distance.max(relative);
                // NaN, of corners that all coincide, is no pass.
                if relative.is_nan() || relative > DECLARED {
                    false_alarms.push(&query.name);
                }
            }
            (false, None) => {}
        }
    }
    let count = queries.len();
    let of = |count: usize, name: &str, which: &[&String]| {
        let some: Vec<&str> = which.iter().take(3).map(|name| name.as_str()).collect();
        let some = if some.is_empty() { String::new() } else { format!(": {} …", some.join(", ")) };
        Check::measured(format!("{name} (of {count}){some}"), which.len() as f64, 0.0)
    };
    let listed = |name: &str, which: &[&String]| of(count, name, which);
    let ((single, lost_single), (double, lost_double)) = (on_lanes::<f32>(&queries)?, on_lanes::<f64>(&queries)?);
    Ok(vec![
        listed("false negatives, hits missed", &missed),
        of(single, "hits missed or told late on lanes of f32", &lost_single),
        of(double, "hits missed or told late on lanes of f64", &lost_double),
        listed("times outside [0, exact]", &late),
        listed("false positives beyond 1e-6", &false_alarms),
        Check::measured("largest distance of a false positive", alarm_distance, DECLARED),
        // An early time is a safe one: neither of these is asked to be small.
        Check::told("worst error of a time, exact − found", lead),
        Check::told(format!("searches given up early (of {count})"), f64::from(early)),
    ])
}

/// How many hits are exact in a precision, and those that its lanes lose.
fn on_lanes<S: Number>(queries: &[Query]) -> Result<(usize, Vec<&String>), Failure> {
    let on = backend::<S>("simd", None)?;
    let hits = queries.iter().filter(|query| query.hit);
    let told: Vec<_> = hits.filter_map(|query| Some((query, query.found_on_lanes(&on)?))).collect();
    Ok((told.len(), told.iter().filter(|(_, found)| !found).map(|(query, _)| &query.name).collect()))
}
