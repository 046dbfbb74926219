//! From a moving mesh to contacts: candidates against brute force, the filter against the search alone.

use pliant::backends::{AnyBackend, Precision};
use pliant::core::collide::ccd::CcdOptions;
use pliant::core::collide::distance::Pair;
use pliant::core::collide::intersect::self_intersections;
use pliant::core::collide::{Aabb, Candidate, CollideError, Contact, ContactSearch, Groups, MeshCandidates};
use pliant::core::columns::Columns;
use pliant::core::mesh::{ClothGrid, TriMesh};

use crate::common::Random;

fn backends<S: Precision>() -> Vec<AnyBackend<S>> {
    AnyBackend::<S>::names()
        .iter()
        .map(|name| AnyBackend::by_name(name, Some(3)).expect("a name of this build"))
        .collect()
}

/// A sheet in narrow pleats and where a rough step takes it.
fn folded<S: Precision>(n: usize, roughness: f64, seed: u64) -> (TriMesh, Columns<S>, Columns<S>) {
    let mesh = ClothGrid::square(1.0, n).build().expect("a valid grid").mesh;
    let mut random = Random::new(seed);
    let place = |x: f64, z: f64| {
        let phase = 6.0 * x;
        [0.08 * (1.0 - 2.0 * (phase.rem_euclid(2.0) - 1.0).abs()), 0.02 * phase, z]
    };
    let start: Vec<_> = mesh.positions().iter().map(|p| place(p.x, p.z)).collect();
    let mut moved = |x: &[f64; 3]| {
        let step = random.point(roughness);
        [x[0] + step[0], x[1] + step[1] - 0.5 * roughness, x[2] + step[2]]
    };
    let end: Vec<_> = start.iter().map(&mut moved).collect();
    let columns = |x: &[[f64; 3]]| x.iter().map(|x| x.map(S::from_f64)).collect();
    (mesh, columns(&start), columns(&end))
}

/// Every pair without a common vertex whose grown boxes are nowhere apart in the same way at both ends.
fn brute<S: Precision>(mesh: &TriMesh, start: &Columns<S>, end: &Columns<S>, reach: S) -> Vec<Candidate> {
    let around = |ids: &[u32]| {
        [start, end].map(|x| {
            let points: Vec<_> = ids.iter().map(|&i| x.get(i as usize)).collect();
            Aabb::around(&points).grown(S::from_f64(0.5) * reach)
        })
    };
    let meet = |a: &[u32], b: &[u32]| {
        let (a, b) = (around(a), around(b));
        let below = |a: &Aabb<S>, b: &Aabb<S>, k: usize| a.high()[k] < b.low()[k];
        (0..3).all(|k| {
            let apart = |a: &[Aabb<S>; 2], b: &[Aabb<S>; 2]| below(&a[0], &b[0], k) && below(&a[1], &b[1], k);
            !apart(&a, &b) && !apart(&b, &a)
        })
    };
    let edges = mesh.topology().expect("a manifold").edges;
    let mut list = Vec::new();
    for v in 0..mesh.vertex_count() as u32 {
        for t in mesh.triangles() {
            if !t.contains(&v) && meet(&[v], t) {
                list.push(Candidate { pair: Pair::VertexTriangle, corners: [v, t[0], t[1], t[2]] });
            }
        }
    }
    for (k, a) in edges.iter().enumerate() {
        for b in &edges[k + 1..] {
            if !a.iter().any(|v| b.contains(v)) && meet(a, b) {
                list.push(Candidate { pair: Pair::EdgeEdge, corners: [a[0], a[1], b[0], b[1]] });
            }
        }
    }
    list
}

#[test]
fn candidates_are_those_of_brute_force() {
    let (mesh, start, end) = folded::<f32>(14, 0.02, 3);
    for on in backends::<f32>() {
        let mut candidates = MeshCandidates::new(&mesh, None, &on).expect("a sound mesh");
        for (start, end, reach) in [(&start, &end, 0.01), (&start, &start, 0.0), (&end, &start, 0.03)] {
            candidates.find(start, end, reach, &on).expect("sound positions");
            assert_eq!(candidates.list(), brute(&mesh, start, end, reach));
            let kinds = candidates.list().iter().filter(|c| c.pair == Pair::VertexTriangle).count();
            assert_eq!(candidates.vertex_triangle_count(), kinds);
        }
    }
}

fn filter_agrees<S: Precision>() {
    let mut total = [0; 3];
    for (seed, roughness) in [(1, 0.001), (2, 0.01), (3, 0.05), (4, 0.0)] {
        let (mesh, start, end) = folded::<S>(20, roughness, seed);
        let scalar = &backends::<S>()[0];
        let mut candidates = MeshCandidates::new(&mesh, None, scalar).expect("a sound mesh");
        candidates.find(&start, &end, S::from_f64(0.01), scalar).expect("sound positions");
        for options in [
            CcdOptions::default(),
            CcdOptions { min_separation: 1e-3, ..CcdOptions::default() },
            CcdOptions { keep: 0.2, ..CcdOptions::default() },
            CcdOptions { min_separation: 1e-3, keep: 0.1, ..CcdOptions::default() },
            // Less than nothing cannot be kept: the filter must not let pairs go for it.
            CcdOptions { keep: -0.8, ..CcdOptions::default() },
        ] {
            let expected: Vec<Contact> = candidates.search_all(&options).collect();
            let mut search = ContactSearch::new();
            for on in backends::<S>() {
                search.run(&candidates, &options, &on);
                assert_eq!(search.contacts(), expected, "roughness {roughness}, {options:?}");
                let earliest = expected.iter().fold(1.0_f64, |t, c| t.min(c.impact.time));
                assert_eq!(search.earliest(), earliest);
            }
            total[0] += candidates.list().len();
            total[1] += search.survivor_count();
            total[2] += expected.len();
        }
    }
    let [all, survivors, contacts] = total;
    assert!(contacts > 100 && survivors < all / 2, "{all} candidates, {survivors} survivors, {contacts} contacts");
}

#[test]
fn the_filter_gives_the_answers_of_the_search() {
    filter_agrees::<f32>();
    filter_agrees::<f64>();
}

#[test]
fn groups_of_vertices_reach_edges_and_triangles() {
    let (mesh, start, end) = folded::<f32>(10, 0.05, 5);
    let on = &backends::<f32>()[0];
    let mute = vec![Groups { member: 1, touches: 2 }; mesh.vertex_count()];
    let mut candidates = MeshCandidates::new(&mesh, Some(&mute), on).expect("a sound mesh");
    candidates.find(&start, &end, 0.05, on).expect("sound positions");
    assert!(candidates.list().is_empty());
}

#[test]
fn bad_positions_are_refused() {
    let (mesh, start, mut end) = folded::<f32>(6, 0.05, 5);
    let on = &backends::<f32>()[0];
    let mut candidates = MeshCandidates::new(&mesh, None, on).expect("a sound mesh");
    let short: Columns<f32> = start.iter().skip(1).collect();
    assert!(matches!(
        candidates.find(&short, &end, 0.0, on),
        Err(CollideError::Length { found: 35, expected: 36, .. })
    ));
    for reach in [-1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(candidates.find(&start, &end, reach, on), Err(CollideError::BadOption { .. })));
    }
    end.set(17, [0.0, f32::NAN, 0.0]);
    assert!(matches!(candidates.find(&start, &end, 0.0, on), Err(CollideError::NotFinite { row: 17, .. })));
    assert!(MeshCandidates::<f32>::new(&mesh, Some(&[]), on).is_err());
}

#[test]
fn a_mesh_that_passes_through_itself_is_found_out() {
    let mesh = ClothGrid::square(1.0, 9).build().expect("a valid grid").mesh;
    let mut x: Vec<[f64; 3]> = mesh.positions().iter().map(|p| [p.x, p.y, p.z]).collect();
    for on in backends::<f64>() {
        assert_eq!(self_intersections(&mesh, &x, &on).expect("sound positions"), []);
    }
    // One corner is pulled over and through the middle.
    let corner = (0..x.len()).find(|&i| x[i] == [0.0; 3]).expect("a corner at the origin");
    x[corner] = [0.55, 0.05, 0.55];
    x[corner + 1] = [0.52, -0.05, 0.57];
    for on in backends::<f64>() {
        let found = self_intersections(&mesh, &x, &on).expect("sound positions");
        assert!(!found.is_empty());
        let moved = [corner as u32, corner as u32 + 1];
        assert!(found.iter().any(|p| p.edge == moved), "the edge between both crosses the sheet: {found:?}");
    }
    x[3][1] = f64::NAN;
    assert!(self_intersections(&mesh, &x, &backends::<f64>()[0]).is_err());
}
