//! Tearing bodies: topology stays valid, nothing is lost, and what was not torn does not change.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::{BTreeMap, BTreeSet};

use pliant_core::body::{Bending, Body, Elasticity, Law, Role};
use pliant_core::columns::Particles;
use pliant_core::error::BuildError;
use pliant_core::mesh::{ClothGrid, Rope, icosphere, shuffled_sheet, tet_box, tube};
use pliant_core::model::Model;
use pliant_core::plasticity::Plasticity;
use pliant_core::tearing::{Seams, Tearing, Torn, VertexSplit};

/// Numbers from −1 to 1.
fn noise(i: usize, k: usize) -> f64 {
    let mut n = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (k as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    n ^= n >> 29;
    n = n.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
}

/// Crumples a body and sets it in motion.
fn crumpled(body: Body, by: f64) -> Body {
    let count = body.particle_count();
    let next = core::cell::Cell::new(0);
    let body = body.posed(|p| {
        next.set(next.get() + 1);
        [0, 1, 2].map(|k| p[k] + by * noise(next.get(), k))
    });
    body.with_velocities((0..count).map(|i| [0, 1, 2].map(|k| noise(i, 10 + k))))
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// Sides of triangles by edge: the triangle, and whether it runs from the lower end to the higher.
fn sides(triangles: &[[u32; 3]]) -> BTreeMap<[u32; 2], Vec<(usize, bool)>> {
    let mut sides: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (t, &[a, b, c]) in triangles.iter().enumerate() {
        for [p, q] in [[a, b], [b, c], [c, a]] {
            sides.entry(sorted([p, q])).or_default().push((t, p < q));
        }
    }
    sides
}

fn find(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

/// The piece of the surface that every vertex belongs to, and how many there are.
fn pieces(triangles: &[[u32; 3]], count: usize) -> (Vec<usize>, usize) {
    let mut parent: Vec<usize> = (0..count).collect();
    for t in triangles {
        for v in &t[1..] {
            let (a, b) = (find(&mut parent, t[0] as usize), find(&mut parent, *v as usize));
            parent[a] = b;
        }
    }
    let roots: Vec<usize> = (0..count).map(|v| find(&mut parent, v)).collect();
    let distinct = roots.iter().collect::<BTreeSet<_>>().len();
    (roots, distinct)
}

/// Checks that the surface is an oriented manifold of discs, rings and the like, without handles, and its links and hinges.
fn check(body: &Body, genus: usize) {
    let (triangles, count) = (body.triangles(), body.particle_count());
    let sides = sides(triangles);
    for (edge, sides) in &sides {
        assert!(edge[0] != edge[1] && (edge[1] as usize) < count);
        assert!(sides.len() == 1 || sides.len() == 2 && sides[0].1 != sides[1].1, "edge {edge:?}: {sides:?}");
    }
    // Around every vertex: one chain or one ring of triangles.
    let mut around: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (t, corners) in triangles.iter().enumerate() {
        corners.iter().for_each(|&v| around[v as usize].push(t));
    }
    for (v, fan) in around.iter().enumerate() {
        assert!(!fan.is_empty(), "vertex {v} has no triangle");
        let mut reached = vec![fan[0]];
        let mut next = 0;
        while next < reached.len() {
            let t = reached[next];
            next += 1;
            for &s in triangles[t].iter().filter(|s| **s as usize != v) {
                for &(other, _) in &sides[&sorted([v as u32, s])] {
                    if !reached.contains(&other) {
                        reached.push(other);
                    }
                }
            }
        }
        assert_eq!(reached.len(), fan.len(), "the triangles around vertex {v} hang together");
    }
    // V − E + F = Σ (2 − 2g) − borders.
    let (roots, piece_count) = pieces(triangles, count);
    let border: Vec<[u32; 2]> = sides.iter().filter(|(_, s)| s.len() == 1).map(|(e, _)| *e).collect();
    let mut parent: Vec<usize> = (0..count).collect();
    for [a, b] in &border {
        let (a, b) = (find(&mut parent, *a as usize), find(&mut parent, *b as usize));
        parent[a] = b;
    }
    let loops = border.iter().map(|e| find(&mut parent, e[0] as usize)).collect::<BTreeSet<_>>().len();
    let euler = count as i64 - sides.len() as i64 + triangles.len() as i64;
    assert_eq!(euler, 2 * piece_count as i64 - 2 * genus as i64 - loops as i64, "Euler's number");

    let tables = body.tables();
    for &[a, b] in &tables.distance.ids {
        assert_eq!(roots[a as usize], roots[b as usize], "link {a}–{b} spans a gap");
    }
    let hinges: BTreeSet<[u32; 2]> = sides.iter().filter(|(_, s)| s.len() == 2).map(|(e, _)| *e).collect();
    for ids in tables.dihedral.ids.iter().chain(&tables.isometric.ids) {
        assert!(hinges.contains(&sorted([ids[0], ids[1]])), "hinge {ids:?} has no edge");
        let faces: Vec<[u32; 3]> = sides[&sorted([ids[0], ids[1]])].iter().map(|(t, _)| triangles[*t]).collect();
        assert!(faces.iter().any(|f| f.contains(&ids[2])) && faces.iter().any(|f| f.contains(&ids[3])));
    }
    for rows in [&tables.dihedral.ids, &tables.isometric.ids] {
        assert!(rows.is_empty() || rows.len() == hinges.len(), "every hinge has its row");
    }
    for (row, ids) in tables.corotated_triangle.ids.iter().chain(&tables.neo_hookean_triangle.ids).enumerate() {
        assert_eq!(*ids, triangles[row]);
    }
    let stretch = || tables.distance.ids.iter().zip(&tables.distance.role).filter(|(_, role)| **role == Role::Stretch);
    let edges: BTreeSet<[u32; 2]> = stretch().map(|(ids, _)| sorted(*ids)).collect();
    assert_eq!(edges.len(), stretch().count(), "no link twice");
    assert!(edges.iter().all(|edge| sides.contains_key(edge)), "links run along edges");
}

/// Linear and angular momentum.
fn momentum(model: &Model<f64>, particles: &Particles<f64>) -> [f64; 6] {
    let mut sum = [0.0; 6];
    for (i, &w) in model.inv_mass().iter().enumerate().filter(|(_, w)| **w > 0.0) {
        let (x, v, m) = (particles.x.get(i), particles.v.get(i), 1.0 / w);
        for k in 0..3 {
            let (p, q) = ((k + 1) % 3, (k + 2) % 3);
            sum[k] += m * v[k];
            sum[3 + k] += m * (x[p] * v[q] - x[q] * v[p]);
        }
    }
    sum
}

/// Tears random edges one after the other, checking everything each time; returns the torn body and how many tore.
fn shred(mut body: Body, genus: usize, times: usize) -> (Body, usize) {
    let mass = body.masses().iter().sum::<f64>();
    let start: BTreeMap<[u32; 2], u64> = body
        .tables()
        .distance
        .ids
        .iter()
        .zip(&body.tables().distance.parameters)
        .map(|(&e, p)| (e, p[0].to_bits()))
        .collect();
    let (mut model, mut particles) = Model::<f64>::build(&[&body]).unwrap();
    let (before_all, areas) = (momentum(&model, &particles), rest_areas(&model));
    let (mut torn_count, mut tried) = (0, 0);
    check(&body, genus);
    while torn_count < times && tried < 20 * times {
        tried += 1;
        let t = ((noise(tried, 30) + 1.0) * 0.5 * body.triangles().len() as f64) as usize % body.triangles().len();
        let corner = tried % 3;
        let edge = [body.triangles()[t][corner], body.triangles()[t][(corner + 1) % 3]];
        let mut torn = Torn::new(&body);
        match torn.tear(edge, |v| particles.x.get(v as usize)) {
            Ok(tear) => assert!(!tear.splits.is_empty() && tear.edge == sorted(edge)),
            Err(BuildError::Unsupported { .. }) => continue,
            Err(other) => panic!("{other}"),
        }
        torn_count += 1;
        check(torn.body(), genus);
        untouched(&body, torn.body(), &torn.tears()[0].splits);
        let sum: f64 = torn.body().masses().iter().sum();
        assert!((sum / mass - 1.0).abs() < 1e-12 && torn.body().masses().iter().all(|m| *m > 0.0));

        let (mut next, mut next_particles) = Model::<f64>::build(&[torn.body()]).unwrap();
        torn.carry((&model, &particles, 0), (&mut next, &mut next_particles, 0));
        assert_eq!(rest_areas(&next), areas, "bit for bit");
        let (old, new) = (momentum(&model, &particles), momentum(&next, &next_particles));
        for k in 0..6 {
            assert!((old[k] - new[k]).abs() < 1e-14, "momentum {old:?} became {new:?}");
        }
        for i in 0..particles.len() {
            assert_eq!((particles.x.get(i), particles.v.get(i)), (next_particles.x.get(i), next_particles.v.get(i)));
        }
        for split in &torn.tears()[0].splits {
            assert_eq!(next_particles.x.get(split.copy as usize), particles.x.get(split.vertex as usize));
            assert_eq!(next_particles.v.get(split.copy as usize), particles.v.get(split.vertex as usize));
        }
        (body, model, particles) = (torn.into_parts().0, next, next_particles);
    }
    let after_all = momentum(&model, &particles);
    for k in 0..6 {
        assert!((before_all[k] - after_all[k]).abs() < 1e-12);
    }
    // Rest lengths are never measured anew.
    let lengths: BTreeSet<u64> = start.values().copied().collect();
    assert!(body.tables().distance.parameters.iter().all(|p| lengths.contains(&p[0].to_bits())));
    (body, torn_count)
}

fn rest_areas(model: &Model<f64>) -> Vec<u64> {
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| model.rest()[v as usize]);
        let (e, f) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - a[k]));
        (0..3).map(|k| (e[(k + 1) % 3] * f[(k + 2) % 3] - e[(k + 2) % 3] * f[(k + 1) % 3]).powi(2)).sum::<f64>().sqrt()
    };
    model.triangles().iter().map(|t| area(t).to_bits()).collect()
}

/// Everything that the report does not name is as it was.
fn untouched(before: &Body, after: &Body, splits: &[VertexSplit]) {
    let divided: BTreeSet<u32> = splits.iter().map(|s| s.vertex).collect();
    for (v, (m, n)) in before.masses().iter().zip(after.masses()).enumerate() {
        assert_eq!(m == n, !divided.contains(&(v as u32)), "mass of vertex {v}");
    }
    for (t, (old, new)) in before.triangles().iter().zip(after.triangles()).enumerate() {
        let mut expected = *old;
        for split in splits.iter().filter(|s| s.triangles.contains(&(t as u32))) {
            expected.iter_mut().filter(|v| **v == split.vertex).for_each(|v| *v = split.copy);
        }
        assert_eq!(*new, expected, "triangle {t}");
    }
    // Rows between vertices that no triangle at the tear has are the same rows, in the same order.
    let fan = before.triangles().iter().filter(|t| t.iter().any(|v| divided.contains(v)));
    let near: BTreeSet<u32> = fan.flatten().copied().collect();
    fn far<const N: usize, const P: usize>(
        table: &pliant_core::body::Table<N, P>,
        near: &BTreeSet<u32>,
        whole: usize,
    ) -> Vec<([u32; N], [u64; P], u64)> {
        let rows = table.ids.iter().zip(table.parameters.iter().zip(&table.compliance));
        let far = rows.filter(|(ids, _)| ids.iter().all(|v| !near.contains(v) && (*v as usize) < whole));
        far.map(|(ids, (p, a))| (*ids, p.map(f64::to_bits), a.to_bits())).collect()
    }
    let whole = before.particle_count();
    let (b, a) = (before.tables(), after.tables());
    assert_eq!(far(&b.distance, &near, whole), far(&a.distance, &near, whole));
    assert_eq!(far(&b.dihedral, &near, whole), far(&a.dihedral, &near, whole));
    assert_eq!(far(&b.isometric, &near, whole), far(&a.isometric, &near, whole));
}

#[test]
fn a_thousand_edges_of_a_cloth_tear_one_after_the_other() {
    let cloth = crumpled(Body::cloth(&ClothGrid::square(1.0, 26)).unwrap(), 0.01);
    let (body, count) = shred(cloth, 0, 1000);
    assert_eq!(count, 1000);
    assert!(body.particle_count() >= 26 * 26 + 1000);
}

#[test]
fn every_kind_of_surface_tears() {
    let rubber = Elasticity { law: Law::NeoHookean, young: 1e5, poisson: 0.3 };
    let sheet = shuffled_sheet(12, 1.0, 3).unwrap();
    for (body, genus, times) in [
        (Body::surface(&sheet, Bending::CrossLinks).unwrap(), 0, 150),
        (Body::surface(&tube(0.2, 1.0, 12, 10).unwrap(), Bending::Dihedral).unwrap(), 0, 150),
        (Body::surface(&sheet, Bending::Isometric).unwrap(), 0, 150),
        (Body::elastic_sheet(&sheet, rubber, 1e-3, Bending::Dihedral).unwrap(), 0, 150),
        (Body::balloon(&icosphere(0.5, 2).unwrap(), 1.2).unwrap(), 0, 150),
    ] {
        let (torn, count) = shred(crumpled(body, 0.01), genus, times);
        assert_eq!(count, times);
        assert!(torn.inflation().is_none());
    }
}

#[test]
fn everything_that_can_tear_does_in_the_end() {
    // Torn until nothing is left to tear: pieces are single triangles, or strips that no plane divides.
    let cloth = crumpled(Body::surface(&shuffled_sheet(5, 1.0, 1).unwrap(), Bending::CrossLinks).unwrap(), 0.02);
    let triangles = cloth.triangles().len();
    let (_, count) = shred(cloth, 0, 500);
    assert!(count < 500 && count > triangles / 2, "{count} of {triangles}");
}

#[test]
fn links_across_a_tear_end_and_those_along_it_double() {
    // A tear from border to border: the middle row of a cloth comes apart in three tears.
    let cloth = Body::cloth(&ClothGrid::square(1.0, 5)).unwrap();
    let before = cloth.tables().distance.ids.len();
    let (_, particles) = Model::<f64>::build(&[&cloth]).unwrap();
    let mut torn = Torn::new(&cloth);
    for column in 0..5 {
        let edge = [5 + column, 10 + column];
        let reported = torn.tear(edge, |v| particles.x.get(v as usize)).map(|tear| tear.splits.len());
        assert!(reported.is_ok_and(|splits| splits >= 1) || column > 0, "column {column}");
    }
    check(torn.body(), 0);
    let (_, piece_count) = pieces(torn.body().triangles(), torn.body().particle_count());
    assert_eq!(piece_count, 2, "two halves");
    assert_ne!(torn.body().tables().distance.ids.len(), before);
}

#[test]
fn what_flowed_follows_its_links_and_hinges() {
    let law = Plasticity { yields_at: 0.01, creep: 5.0, bound: 1.0 };
    let body = Body::surface(&shuffled_sheet(8, 1.0, 5).unwrap(), Bending::Dihedral).unwrap();
    let body = crumpled(body, 0.02).with_plasticity(Role::Stretch, law).with_plasticity(Role::Bend, law);
    let other = Body::cloth(&ClothGrid::square(1.0, 4)).unwrap().with_plasticity(Role::Stretch, law);
    let (mut model, particles) = Model::<f32>::build(&[&other, &body]).unwrap();
    model.flow(&particles, 0.1);
    let fingerprint = model.fingerprint();
    let first = model.body(1).unwrap().start;
    let mut torn = Torn::new(&body);
    let place = |v: u32| particles.x.get(first + v as usize).map(f64::from);
    for t in [3, 40, 70] {
        let [a, b, _] = torn.body().triangles()[t];
        torn.tear([a, b], place).unwrap();
    }
    let (mut next, mut next_particles) = Model::<f32>::build(&[torn.body(), &other]).unwrap();
    torn.carry((&model, &particles, 1), (&mut next, &mut next_particles, 0));
    assert_ne!(next.fingerprint(), fingerprint);
    // Links by their ends before the tear: the same rest lengths, bit for bit.
    let start = model.body(1).unwrap().start as u32;
    let old: BTreeMap<[u32; 2], u32> = (model.constraints().distance.ids().iter())
        .zip(&model.constraints().distance.parameters()[0])
        .filter(|(ids, _)| ids[0] >= start)
        .map(|(ids, l)| (sorted(ids.map(|v| v - start)), l.to_bits()))
        .collect();
    let own = next.body(0).unwrap().end as u32;
    let mut flowed = 0;
    for (ids, l) in next.constraints().distance.ids().iter().zip(&next.constraints().distance.parameters()[0]) {
        if ids[0] < own {
            let [a, b] = ids.map(|v| torn.origin(v));
            assert_eq!(old[&sorted([a, b])], l.to_bits(), "link {ids:?}");
            flowed += 1;
        }
    }
    assert!(flowed >= old.len());
    let angles = |model: &Model<f32>| -> BTreeSet<[u32; 2]> {
        let [cos, sin] = model.constraints().dihedral.parameters();
        cos.iter().zip(sin).map(|(c, s)| [c.to_bits(), s.to_bits()]).collect()
    };
    assert!(angles(&next).is_subset(&angles(&model)), "no hinge forgot its angle");
}

#[test]
fn overloaded_edges_are_found_most_loaded_first() {
    let cloth = Body::cloth(&ClothGrid::square(1.0, 6)).unwrap().with_tearing(Tearing::at_strain(0.3));
    let pulled = cloth.clone().posed(|p| if p[0] > 0.9 { [p[0] + 0.1, p[1], p[2]] } else { p });
    let seams = Seams::new(&pulled).unwrap();
    let mut found = Vec::new();
    let (model, particles) = Model::<f32>::build(&[&cloth, &pulled]).unwrap();
    seams.find(&model, 0, &particles.x, &mut found);
    assert!(found.is_empty() && found.capacity() == 0, "nothing found, nothing allocated");
    seams.find(&model, 1, &particles.x, &mut found);
    // The last column is stretched from 0.2 to 0.3 m: six edges, the diagonals by less than 0.3.
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.iter().all(|edge| (edge.strain - 0.5).abs() < 1e-5 && (edge.load - 0.5 / 0.3).abs() < 1e-4));
    assert!(found.windows(2).all(|pair| pair[0].load >= pair[1].load));
    // By force: 0.1 m over 1e-3 m/N are 100 N.
    let roles = [Role::Stretch, Role::Shear, Role::Bend];
    let soft = |b: Body| roles.into_iter().fold(b, |b, role| b.with_compliance(role, 1e-3));
    for (force, count) in [(99.0, 6), (101.0, 0)] {
        let tearing = Tearing { most: 3, ..Tearing::at_force(force) };
        let pulled = soft(pulled.clone().with_tearing(tearing));
        let (model, particles) = Model::<f32>::build(&[&pulled]).unwrap();
        Seams::new(&pulled).unwrap().find(&model, 0, &particles.x, &mut found);
        assert_eq!(found.len(), count, "{force} N: {found:?}");
    }
    let (_, particles) = Model::<f32>::build(&[&pulled]).unwrap();
    seams.find(&Model::build(&[&pulled]).unwrap().0, 0, &particles.x, &mut found);
    let two = Seams::new(&pulled.clone().with_tearing(Tearing { most: 2, ..Tearing::at_strain(0.3) })).unwrap();
    let torn = two.tear(&pulled, &found, &particles.x, 0).unwrap();
    assert_eq!(torn.tears().len(), 2);
    let mut again = Torn::new(&pulled);
    torn.tears().iter().for_each(|tear| again.tear_again(tear).unwrap());
    assert_eq!(again.body().triangles(), torn.body().triangles());
    assert!(Torn::new(&cloth).tear_again(&torn.tears()[1]).is_err(), "not the first one");
    let [one, two] = [0, 1].map(|i| torn.tears()[i].splits[0].vertex);
    assert!(one.abs_diff(two) > 6, "neighbours wait: {one} and {two}");
}

#[test]
fn bad_thresholds_and_bodies_that_cannot_tear_are_refused() {
    let cloth = || Body::cloth(&ClothGrid::square(1.0, 4)).unwrap();
    let refused = |body: Body| Model::<f32>::build(&[&body]).unwrap_err();
    let strain = Tearing::at_strain(0.3);
    for (name, tearing) in [
        ("tearing.strain", Tearing::at_strain(-0.1)),
        ("tearing.strain", Tearing::at_strain(0.0)),
        ("tearing.strain", Tearing::at_strain(f64::NAN)),
        ("tearing.force", Tearing::at_force(f64::INFINITY)),
        ("tearing.force", Tearing { force: Some(-1.0), ..strain }),
        ("tearing.strain", Tearing { strain: None, ..strain }),
        ("tearing.most", Tearing { most: 0, ..strain }),
    ] {
        match refused(cloth().with_tearing(tearing)) {
            BuildError::BadOption { name: found, .. } => assert_eq!(found, name),
            other => panic!("{other}"),
        }
    }
    let rigid = refused(cloth().with_tearing(Tearing::at_force(1.0)));
    assert!(matches!(rigid, BuildError::Unsupported { what: "distance", .. }), "{rigid}");
    let rubber = Elasticity { law: Law::Corotated, young: 1e5, poisson: 0.3 };
    let mesh = shuffled_sheet(4, 1.0, 3).unwrap();
    let elastic = Body::elastic_sheet(&mesh, rubber, 1e-3, Bending::None).unwrap();
    let linkless = refused(elastic.with_tearing(Tearing::at_force(1.0)));
    assert!(matches!(linkless, BuildError::Unsupported { what: "edge", .. }), "{linkless}");
    let rope = Body::rope(&Rope::new(5, [0.0; 3], [1.0, 0.0, 0.0]).unwrap(), false).unwrap();
    let solid = Body::solid(&tet_box([1, 1, 1], [1.0; 3], Default::default()).unwrap()).unwrap();
    for body in [rope, solid] {
        assert!(matches!(refused(body.with_tearing(strain)), BuildError::Unsupported { what: "tearing", .. }));
    }
    // Nor do they by hand: tetrahedra and clusters would go on holding what was divided.
    let mesh = tet_box([2, 2, 2], [1.0; 3], Default::default()).unwrap();
    let solid = Body::solid(&mesh).unwrap();
    let elastic = Body::elastic_solid(&mesh, rubber).unwrap();
    #[cfg(not(feature = "rigid"))]
    let held = [solid, elastic];
    #[cfg(feature = "rigid")]
    let held = [solid, elastic, cloth().with_rigid_cluster(0..16)];
    let mut whole = Torn::new(&cloth());
    let tear = whole.tear([5, 6], |v| cloth().positions()[v as usize]).unwrap().clone();
    for body in held {
        let [a, b, _] = body.triangles()[0];
        let mut torn = Torn::new(&body);
        let by_hand = torn.tear([a, b], |v| body.positions()[v as usize]).map(|_| ()).unwrap_err();
        let again = torn.tear_again(&tear).unwrap_err();
        for error in [by_hand, again, refused(body.clone().with_tearing(strain))] {
            assert!(matches!(error, BuildError::Unsupported { what: "tearing", .. }), "{error}");
        }
        assert_eq!((torn.tears().len(), torn.body().particle_count()), (0, body.particle_count()));
    }
    let mut torn = Torn::new(&cloth());
    for edge in [[0, 15], [0, 0], [0, 99]] {
        assert_eq!(torn.tear(edge, |_| [0.0; 3]).unwrap_err(), BuildError::NotFound { what: "edge" });
    }
}
