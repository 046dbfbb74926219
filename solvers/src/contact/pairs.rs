//! Pairs of a model's surfaces: which may touch, and what they are made of.

use pliant_core::backend::Backend;
use pliant_core::collide::{Candidate, CollideError, MeshCandidates};
use pliant_core::columns::Columns;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

/// Finds pairs of a model's surfaces that may touch.
pub(crate) fn candidates<S: Real, B: Backend<Scalar = S>>(
    model: &Model<S>,
    on: &B,
) -> Result<MeshCandidates<S>, CollideError> {
    let (surfaces, groups) = (model.surfaces(), model.surfaces().groups());
    let (edges, triangles) = (surfaces.edges.clone(), surfaces.triangles.clone());
    MeshCandidates::of_elements(&side_by_side(model), edges, triangles, groups.as_deref(), on)?
        .with_twins(surfaces.seams())
}

/// The vertices of all surfaces at rest, bodies side by side, each as wide as it is long in any direction. Leaves of trees are sorted
/// like this: layers that happen to be near do not get mixed up, and how far bodies are from each other does not matter.
pub(super) fn side_by_side<S: Real>(model: &Model<S>) -> Columns<S> {
    let surfaces = model.surfaces();
    let rest = || surfaces.particles.iter().map(|&p| model.rest()[p as usize]).zip(&surfaces.owner);
    let mut ends = vec![[[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]]; surfaces.settings.len()];
    for (p, &owner) in rest() {
        let [low, high] = &mut ends[owner as usize];
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
        }
    }
    let mut aside = 0.0;
    let shift = ends.iter().map(|[low, high]| {
        let by = [aside - low[0], -low[1], -low[2]];
        aside += (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        by
    });
    let shift: Vec<[f64; 3]> = shift.collect();
    let place = |(p, &owner): ([f64; 3], &u32)| [0, 1, 2].map(|k| S::from_f64(p[k] + shift[owner as usize][k]));
    rest().map(place).collect()
}

/// The surfaces that the two primitives of a pair belong to, as places among their settings.
pub(super) fn owners<S: Real>(model: &Model<S>, pair: &Candidate) -> [u32; 2] {
    [0, pair.pair.first_corners()].map(|corner| model.surfaces().owner[pair.corners[corner] as usize])
}

/// The friction between the two primitives of a pair: the mean of their surfaces'.
pub(crate) fn pair_friction<S: Real>(model: &Model<S>, pair: &Candidate) -> f64 {
    let [one, other] = owners(model, pair).map(|owner| model.surfaces().settings[owner as usize].friction);
    0.5 * (one + other)
}

/// How far apart a pair is kept \[m\]: neighbours that are closer at rest keep their distance at rest.
pub(crate) fn pair_thickness<S: Real>(model: &Model<S>, pair: &Candidate) -> f64 {
    let surfaces = model.surfaces();
    let [one, other] = owners(model, pair);
    let thickness = 0.5 * (surfaces.settings[one as usize].thickness + surfaces.settings[other as usize].thickness);
    if one != other {
        return thickness;
    }
    let rest = pair.corners.map(|v| Vec3::from(model.rest()[surfaces.particles[v as usize] as usize]));
    thickness.min(pair.pair.closest(&rest).distance_sq.sqrt())
}
