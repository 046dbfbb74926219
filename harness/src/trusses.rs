//! Trusses in place of elastic elements, for methods that know constraints and no energies.
//!
//! Springs along the edges of elements, k = E V/ℓ² each (E A t/ℓ² in a sheet), have Young's modulus E: averaged over
//! directions, a solid of springs with Σ kℓ²/V has E = Σ kℓ²/(6V), and a tetrahedron has six edges; in the plane it is
//! E t = Σ kℓ²/(3A), and a triangle has three. Poisson's ratio becomes what springs have, ¼ and ⅓. Where elements flow, the springs
//! do, by the same law: both measure strain relative to the rest shape.

use std::collections::BTreeMap;

use pliant::core::body::{Body, Role, Table};
use pliant::core::mat3::Mat3;
use pliant::core::vec3::Vec3;

/// The role of the springs.
const SPRINGS: Role = Role::Stretch;

/// Replaces every elastic element of a body; returns how many there were.
pub fn replace(body: &mut Body) -> usize {
    let mut edges = BTreeMap::new();
    let tables = body.tables_mut();
    for table in [&mut tables.corotated_tet, &mut tables.neo_hookean_tet] {
        take(table, &mut edges, |p| {
            let [a, b, c] = [0, 3, 6].map(|at| Vec3::new(p[at], p[at + 1], p[at + 2]));
            let inverse = Mat3::from_columns(a, b, c);
            let rest = inverse.cofactor().transpose().columns.map(|c| c * (1.0 / inverse.determinant()));
            ([Vec3::zero(), rest[0], rest[1], rest[2]], [p[9], p[10]])
        });
    }
    for table in [&mut tables.corotated_triangle, &mut tables.neo_hookean_triangle] {
        take(table, &mut edges, |p| {
            let (along, height) = (1.0 / p[0], 1.0 / p[3]);
            let tip = Vec3::new(-p[2] * along * height, height, 0.0);
            ([Vec3::zero(), Vec3::new(along, 0.0, 0.0), tip], [p[4], p[5]])
        });
    }
    let count = edges.values().map(|edge: &Edge| edge.elements).sum();
    for (ids, Edge { length, k, .. }) in edges {
        tables.distance.push(SPRINGS, 0, ids, [length]);
        if let Some(compliance) = tables.distance.compliance.last_mut() {
            *compliance = 1.0 / k;
        }
    }
    if count > 0 {
        let elastic = body.plasticity_mut().iter_mut().filter(|(role, _)| *role == Role::Elastic);
        elastic.for_each(|(role, _)| *role = SPRINGS);
    }
    count
}

/// A spring in the making.
#[derive(Default)]
struct Edge {
    length: f64,
    k: f64,
    /// Elements that were first to need it: they add up to all.
    elements: usize,
}

/// Moves the elements of a table to edges; `rest` gives the corners at rest \[m\], μ and λ \[Pa\] of a row.
fn take<const N: usize, const P: usize>(
    table: &mut Table<N, P>,
    edges: &mut BTreeMap<[u32; 2], Edge>,
    rest: impl Fn(&[f64; P]) -> ([Vec3<f64>; N], [f64; 2]),
) {
    let taken = std::mem::take(table);
    for ((ids, parameters), compliance) in taken.ids.iter().zip(&taken.parameters).zip(&taken.compliance) {
        let (corners, [mu, lambda]) = rest(parameters);
        let young = mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
        for a in 0..N {
            for b in 0..a {
                let length = (corners[a] - corners[b]).length();
                let edge = edges.entry([ids[a].min(ids[b]), ids[a].max(ids[b])]).or_default();
                // The compliance of an element is one over its volume.
                edge.k += young / (compliance * length * length);
                edge.length = length;
                edge.elements += usize::from((a, b) == (1, 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant::core::body::{Elasticity, Law};
    use pliant::core::mesh::tet_box;
    use pliant::core::model::Model;
    use pliant::core::plasticity::Plasticity;

    #[test]
    fn springs_flow_where_elements_did() {
        let mesh = tet_box([2, 1, 1], [0.2, 0.1, 0.1], Default::default()).expect("a box");
        let clay = Elasticity { law: Law::Corotated, young: 2e4, poisson: 0.3 };
        let law = Plasticity { yields_at: 0.02, creep: 10.0, bound: 1.0 };
        let mut body = Body::elastic_solid(&mesh, clay).expect("a solid").with_plasticity(Role::Elastic, law);
        assert_eq!(replace(&mut body), mesh.tets().len());
        let (model, _) = Model::<f64>::build(&[&body]).expect("sound");
        assert_eq!(model.constraints().distance.plastic().rows().len(), model.constraints().distance.len());
    }
}
