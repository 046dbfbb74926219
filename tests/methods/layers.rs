//! Layers in real time: which pairs a look finds, and what becomes of sheets that meet fast.

use pliant::XpbdOn;
use pliant::backends::AnyBackend;
use pliant::core::body::Body;
use pliant::core::collide::distance::Pair;
use pliant::core::collide::{Candidate, CollideError, LayerSearch, MeshCandidates, NearSearch};
use pliant::core::columns::Columns;
use pliant::core::lane::Octet;
use pliant::core::mesh::{ClothGrid, TriMesh};
use pliant::core::snapshot::Keepsake;
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;
use crate::stage::{Stage, contact, soft};

const REACH: f32 = 0.03;

/// Three threads.
fn parallel() -> AnyBackend {
    AnyBackend::by_name("parallel", Some(3)).expect("built")
}

/// A sheet in narrow pleats, and where a step takes it that moves every vertex a little on its own.
fn folded(n: usize) -> (TriMesh, Columns<f32>, Columns<f32>) {
    let mesh = ClothGrid::square(1.0, n).build().expect("a valid grid").mesh;
    let place = |x: f64, z: f64| {
        let phase = 6.0 * x;
        [0.08 * (1.0 - 2.0 * (phase.rem_euclid(2.0) - 1.0).abs()), 0.02 * phase, z]
    };
    let start: Columns<f32> = mesh.positions().iter().map(|p| place(p.x, p.z).map(|c| c as f32)).collect();
    let shake = |i: usize| ((i * 7919) % 101) as f32 * 4e-5;
    let end =
        start.iter().enumerate().map(|(i, [x, y, z])| [x + shake(i), y - shake(i + 1), z + shake(i + 2)]).collect();
    (mesh, start, end)
}

fn edges_of(mesh: &TriMesh) -> Vec<[u32; 2]> {
    mesh.topology().expect("a manifold").edges
}

/// Start and end of each vertex, side by side.
fn way(start: &Columns<f32>, end: &Columns<f32>) -> Vec<Octet<f32>> {
    let join = |([x, y, z], [u, v, w]): ([f32; 3], [f32; 3])| Octet([x, y, z, 0.0, u, v, w, 0.0]);
    start.iter().zip(end.iter()).map(join).collect()
}

/// What a look finds on some backend.
fn look(mesh: &TriMesh, start: &Columns<f32>, end: &Columns<f32>, on: &AnyBackend) -> Vec<Candidate> {
    let rest: Columns<f32> = mesh.positions().iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
    let search = LayerSearch::new(&rest, &edges_of(mesh), mesh.triangles(), None, on);
    let mut search = search.expect("a sound mesh");
    search.find(&way(start, end), REACH, on).expect("sound positions");
    search.near().to_vec()
}

/// Pairs as sets of primitives, whatever the order of their corners.
fn key(c: &Candidate) -> (Pair, [u32; 4]) {
    let mut corners = c.corners;
    match c.pair {
        Pair::VertexTriangle => corners[1..].sort_unstable(),
        Pair::EdgeEdge => {
            corners[..2].sort_unstable();
            corners[2..].sort_unstable();
            if corners[2] < corners[0] {
                corners.rotate_left(2);
            }
        }
    }
    (c.pair, corners)
}

#[test]
fn a_look_finds_what_is_near_but_for_neighbours_in_the_sheet() {
    let (mesh, start, end) = folded(28);
    let found = look(&mesh, &start, &end, &AnyBackend::scalar());
    assert_eq!(found, look(&mesh, &start, &end, &simd()));
    assert_eq!(found, look(&mesh, &start, &end, &parallel()));
    let mut keys: Vec<_> = found.iter().map(key).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|w| w[0] != w[1]), "no pair comes twice");
    let on = simd();
    let mut all = MeshCandidates::new(&mesh, None, &on).expect("a sound mesh");
    all.find(&start, &end, REACH, &on).expect("sound positions");
    let mut near = NearSearch::new();
    near.run(&all, REACH, &on);
    let mut wanted: Vec<_> = near.near().iter().map(key).collect();
    wanted.sort_unstable();
    assert!(keys.iter().all(|k| wanted.binary_search(k).is_ok()), "nothing that is not near");
    // A pleat is 4.5 edges wide: what lies further apart in the sheet than two edges and is near must be in another layer.
    let rest = |v: u32| mesh.positions()[v as usize];
    let far = |c: &&Candidate| {
        let apart = |a: u32, b: u32| (rest(a).x - rest(b).x).abs().max((rest(a).z - rest(b).z).abs());
        c.corners[1..].iter().filter(|&&b| apart(c.corners[0], b) > 0.2).count() >= 2
    };
    let layers: Vec<_> = near.near().iter().filter(far).map(key).collect();
    assert!(layers.len() > 500, "{} pairs of layers", layers.len());
    let missed = layers.iter().filter(|k| keys.binary_search(k).is_err()).count();
    assert_eq!(missed, 0, "of {}", layers.len());
    // A flat sheet has nothing to look for.
    let flat: Columns<f32> = mesh.positions().iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
    assert!(look(&mesh, &flat, &flat, &on).is_empty());
}

#[test]
fn a_look_at_some_vertices_tells_their_pairs_and_no_others() {
    let (mesh, start, end) = folded(28);
    let (on, count) = (simd(), mesh.vertex_count());
    let mut all: Vec<_> = look(&mesh, &start, &end, &on).iter().map(|c| (key(c), c.corners)).collect();
    all.sort_unstable();
    let rest: Columns<f32> = mesh.positions().iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
    let mut search = LayerSearch::new(&rest, &edges_of(&mesh), mesh.triangles(), None, &on).expect("a sound mesh");
    // One after the other: marks of one look must not stay for the next.
    let sets: [fn(usize) -> bool; 5] = [|v| v % 97 == 3, |v| v < 40, |_| false, |v| v == 400, |_| true];
    // Flat, where nothing is near: what an earlier look saw must not count either.
    for set in sets {
        search.find(&way(&rest, &rest), REACH, &on).expect("sound positions");
        let restless: Vec<bool> = (0..count).map(set).collect();
        let list: Vec<u32> = (0..count as u32).filter(|&v| restless[v as usize]).collect();
        search.find_new_of((&list, &restless), &way(&start, &end), REACH, &on).expect("sound positions");
        let mut found: Vec<_> = search.near().iter().map(|c| (key(c), c.corners)).collect();
        found.sort_unstable();
        let own = |corners: &[u32; 4]| corners.iter().any(|&v| restless[v as usize]);
        let wanted: Vec<_> = all.iter().filter(|(_, corners)| own(corners)).copied().collect();
        assert!(!list.is_empty() || wanted.is_empty());
        assert_eq!(found, wanted, "{} vertices", list.len());
    }
    let short = search.find_new_of((&[0], &[true]), &way(&start, &end), REACH, &on);
    assert!(matches!(short, Err(CollideError::Length { found: 1, .. })), "{short:?}");
}

/// Whoever keeps what it was told gets every pair once, also from a search that never told it: a run that is resumed.
#[test]
fn looks_tell_each_pair_once() {
    let (mesh, start, end) = folded(28);
    let (on, count) = (simd(), mesh.vertex_count());
    let rest: Columns<f32> = mesh.positions().iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
    let make = || LayerSearch::new(&rest, &edges_of(&mesh), mesh.triangles(), None, &on).expect("a sound mesh");
    let mut search = make();
    let mut told: Vec<Candidate> = Vec::new();
    // Pairs near where they start, those that come near, some vertices first: together what one look finds at once.
    search.find_new(&way(&start, &start), REACH, &on).expect("sound positions");
    told.extend_from_slice(search.near());
    let first = told.len();
    assert!(first > 100, "{first} pairs near at the start");
    search.find_new(&way(&start, &start), REACH, &on).expect("sound positions");
    assert_eq!((search.near().len(), search.found()), (0, first), "nothing is new, and as much is near");
    let restless: Vec<bool> = (0..count).map(|v| v % 3 == 0).collect();
    let list: Vec<u32> = (0..count as u32).filter(|&v| restless[v as usize]).collect();
    search.find_new_of((&list, &restless), &way(&start, &end), REACH, &on).expect("sound positions");
    let some = search.near().to_vec();
    assert!(!some.is_empty() && some.iter().all(|c| !told.contains(c)));
    // Another search that is told of the list so far goes on in the same way.
    let mut other = make();
    other.know(told.iter().copied());
    other.find_new_of((&list, &restless), &way(&start, &end), REACH, &on).expect("sound positions");
    assert_eq!(other.near(), some);
    told.extend(some);
    for search in [&mut search, &mut other] {
        search.find_new(&way(&start, &end), REACH, &on).expect("sound positions");
    }
    assert_eq!(search.near(), other.near());
    told.extend_from_slice(search.near());
    let mut keys: Vec<_> = told.iter().map(key).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|w| w[0] != w[1]), "no pair comes twice");
    let all = look(&mesh, &start, &end, &on);
    assert!(all.iter().all(|c| keys.binary_search(&key(c)).is_ok()), "none is missing");
    search.tell_all();
    assert_eq!(search.near(), all, "from the beginning: everything, as another search has it");
}

/// Two sheets face the same way everywhere, and are no neighbours. A rope has no triangles.
#[test]
fn sheets_and_ropes_that_nothing_joins_are_found() {
    let mesh = ClothGrid::square(1.0, 9).build().expect("a valid grid").mesh;
    let sheet = |height: f32| mesh.positions().iter().map(move |p| [p.x as f32, height, p.z as f32]);
    let rope = (0..5).map(|k| [0.21 + 0.1 * k as f32, 0.02, 0.33 + 0.05 * k as f32]);
    let places: Columns<f32> = sheet(0.0).chain(sheet(0.01)).chain(rope).collect();
    let count = mesh.vertex_count() as u32;
    let mut triangles = mesh.triangles().to_vec();
    triangles.extend(mesh.triangles().iter().map(|t| t.map(|v| v + count)));
    let mut edges = edges_of(&mesh);
    edges.extend(edges_of(&mesh).iter().map(|e| e.map(|v| v + count)));
    edges.extend((0..4).map(|k| [2 * count + k, 2 * count + k + 1]));
    let on = simd();
    let mut search = LayerSearch::new(&places, &edges, &triangles, None, &on).expect("sound elements");
    search.find(&way(&places, &places), 0.0105, &on).expect("sound positions");
    let piece = |v: u32| (v / count).min(2);
    let between = |a: u32, b: u32| {
        let pieces = |c: &&Candidate| [piece(c.corners[0]), piece(c.corners[3])];
        search.near().iter().filter(|c| pieces(c) == [a, b] || pieces(c) == [b, a]).count()
    };
    assert!(search.near().iter().all(|c| piece(c.corners[0]) != piece(c.corners[3])), "no sheet meets itself");
    // Every vertex of either sheet lies over one corner at least, and every edge over itself.
    assert!(between(0, 1) > 3 * count as usize, "{} pairs", between(0, 1));
    assert!(between(1, 2) >= 5, "the rope lies on the upper sheet");
    assert_eq!(between(0, 2), 0, "and not on the lower");
    assert!(matches!(search.find(&way(&places, &places), -1.0, &on), Err(CollideError::BadOption { .. })));
    let broken = |search: &mut LayerSearch<f32>, value: f32| {
        let mut places = way(&places, &places);
        places[17].0[5] = value;
        search.find(&places, 0.01, &on)
    };
    for value in [f32::NAN, f32::INFINITY] {
        assert!(matches!(broken(&mut search, value), Err(CollideError::NotFinite { row: 17, .. })));
    }
    assert!(matches!(
        LayerSearch::new(&places, &edges, &[[0, 1, 999]], None, &on),
        Err(CollideError::OutOfRange { vertex: 999, .. })
    ));
}

/// A world's thickest surface decides how far is looked; thinner ones are told of what is near enough for them.
#[test]
fn sheets_are_told_of_what_their_own_shares_reach() {
    let mesh = ClothGrid::square(1.0, 9).build().expect("a valid grid").mesh;
    let (count, on) = (mesh.vertex_count() as u32, simd());
    // Two thick sheets below, three thin ones above.
    let heights = [0.0_f32, 0.02, 0.038, 0.046, 0.06];
    let sheet = |&height: &f32| mesh.positions().iter().map(move |p| [p.x as f32, height, p.z as f32]);
    let places: Columns<f32> = heights.iter().flat_map(sheet).collect();
    let up = |k: u32| mesh.triangles().iter().map(move |t| t.map(|v| v + k * count));
    let triangles: Vec<[u32; 3]> = (0..5).flat_map(up).collect();
    let edges: Vec<[u32; 2]> =
        (0..5).flat_map(|k| edges_of(&mesh).into_iter().map(move |e| e.map(|v| v + k * count))).collect();
    let make = || LayerSearch::new(&places, &edges, &triangles, None, &on).expect("sound elements");
    let shares: Vec<f32> = (0..5 * count).map(|v| if v < 2 * count { 1.0 } else { 0.3 }).collect();
    let mut search = make().with_shares(&shares).expect("as many as vertices");
    search.find(&way(&places, &places), 0.03, &on).expect("sound positions");
    let told = |a: u32, b: u32| {
        let pieces = |c: &Candidate| [c.corners[0] / count, c.corners[3] / count];
        search.near().iter().filter(|c| pieces(c) == [a, b] || pieces(c) == [b, a]).count()
    };
    // Within 30, 19.5 and 9 mm.
    assert!(told(0, 1) > 0 && told(1, 2) > 0 && told(2, 3) > 0);
    assert_eq!(told(0, 1) + told(1, 2) + told(2, 3), search.near().len(), "26, 14 and 22 mm are too far");
    // The whole reach finds all of these.
    let mut whole = make();
    whole.find(&way(&places, &places), 0.03, &on).expect("sound positions");
    assert!(whole.near().len() > search.near().len());
    // Half of twice the reach is the reach.
    let mut half = make().with_shares(&vec![0.5; places.len()]).expect("as many as vertices");
    half.find(&way(&places, &places), 0.06, &on).expect("sound positions");
    assert_eq!(half.near(), whole.near());
    assert!(matches!(make().with_shares(&[1.0]), Err(CollideError::Length { found: 1, .. })));
}

/// Thin cloth falls onto thin cloth beside something thick: as if that were thin, too, and without looking any farther.
#[test]
fn something_thick_elsewhere_changes_nothing_for_thin_sheets() {
    let fall = |thick: f64| {
        let sheet = |y: f64| {
            let cloth = Body::cloth(&ClothGrid::square(0.5, 26)).expect("a grid").with_mass(0.05);
            soft(cloth, 1e-4).with_self_contact(contact(0.005)).translated([0.01 * y, y, 0.02 * y])
        };
        let cushion = Body::cloth(&ClothGrid::square(1.0, 5)).expect("a grid").with_mass(1.0);
        let cushion = soft(cushion, 1e-4).with_self_contact(contact(thick)).translated([5.0, 0.0, 0.0]);
        let mut world = f32::world(f32::xpbd(XpbdOn::with_substeps(10)), simd());
        for body in [sheet(0.0).pinned(0..26), sheet(0.03), cushion] {
            world.add(body).expect("a body");
        }
        let (mut most, mut bytes) = (0, 0);
        for _ in 0..60 {
            world.step(1.0 / 60.0).expect("no trouble");
            most = most.max(world.intersections().expect("finite").len());
            // What is near is in a snapshot.
            bytes = bytes.max(world.snapshot().as_bytes().len());
        }
        (most, bytes)
    };
    let ((thin, listed), (thick, listed_beside)) = (fall(0.005), fall(0.1));
    println!("intersections {thin} and {thick}, bytes remembered {listed} and {listed_beside}");
    assert!(thick <= thin + 2);
    assert!(listed_beside < 2 * listed, "{listed_beside} bytes remembered instead of {listed}");
}

/// Two sheets, the upper a little turned, that fly into each other.
fn meeting(speeds: [f64; 2]) -> Stage<f32> {
    let n = 25;
    let sheet = |height: f64, speed: f64, turn: f64| {
        Body::cloth(&ClothGrid::square(0.5, n))
            .expect("a grid")
            .posed(move |[x, _, z]| [x + turn * z, height + 0.02 * turn * x, z - turn * x])
            .with_velocities((0..n * n).map(|_| [0.0, speed, 0.0]))
            .with_self_contact(contact(0.01))
    };
    let mut stage = Stage::new(&[sheet(0.0, speeds[0], 0.0), sheet(0.1, speeds[1], 0.2)], &[], |at, _| at);
    stage.model.environment.gravity = [0.0; 3];
    stage
}

/// Motion relative to the mean: ½ Σ m |v − v̄|² \[J\], and the fastest of it \[m/s\].
fn stir(stage: &Stage<f32>) -> (f64, f64) {
    let (mut mass, mut mean) = (0.0, [0.0; 3]);
    let of = |i: usize| (1.0 / f64::from(stage.model.inv_mass()[i]), stage.particles.v.get(i).map(f64::from));
    for i in 0..stage.particles.len() {
        let (m, v) = of(i);
        mass += m;
        (0..3).for_each(|k| mean[k] += m * v[k]);
    }
    let (mut energy, mut fastest) = (0.0, 0.0_f64);
    for i in 0..stage.particles.len() {
        let (m, v) = of(i);
        let square = (0..3).map(|k| (v[k] - mean[k] / mass).powi(2)).sum::<f64>();
        energy += 0.5 * m * square;
        fastest = fastest.max(square.sqrt());
    }
    (energy, fastest)
}

/// Layers that meet at 2 m/s are noticed in time, stay on their sides, and part without a jolt.
#[test]
fn sheets_that_meet_fast_stay_apart_and_gain_no_energy() {
    let on = simd();
    for (name, speeds) in [("both move", [1.0, -1.0]), ("one is dropped on the other", [0.0, -2.0])] {
        let mut stage = meeting(speeds);
        let mut solver = f32::xpbd(XpbdOn::with_substeps(10));
        solver.prepare(&stage.model).expect("valid options");
        let (mut energy, speed) = stir(&stage);
        let first = energy;
        for frame in 0..30 {
            stage.step(&mut *solver, &on);
            let (now, fastest) = stir(&stage);
            // Constraints exchange a little energy with the motion along the sheet.
            assert!(now < energy.max(0.02 * first) * 1.03, "{name}, frame {frame}: {energy} J, then {now} J");
            assert!(fastest < 2.0 * speed, "{name}, frame {frame}: {fastest} m/s after a meeting at {speed} m/s");
            assert_eq!(stage.intersections(), 0, "{name}, frame {frame}");
            energy = now;
            // Where the sheets cover each other, the lower stays below.
            let middle = |sheet: usize| f64::from(stage.particles.x.get(sheet * 625 + 312)[1]);
            assert!(middle(0) < middle(1), "{name}, frame {frame}: {} and {}", middle(0), middle(1));
        }
        assert!(energy < 0.5 * first, "{name}: they met");
    }
}

/// Layers that meet faster than they are thick in a substep are stopped as well: none gets through, momentum is shared.
#[test]
fn sheets_that_meet_very_fast_do_not_pass_through() {
    let on = simd();
    for speeds in [[5.0, -5.0], [0.0, -10.0], [10.0, -10.0], [0.0, -40.0]] {
        let mut stage = meeting(speeds);
        let mut solver = f32::xpbd(XpbdOn::with_substeps(10));
        solver.prepare(&stage.model).expect("valid options");
        for frame in 0..3 {
            stage.step(&mut *solver, &on);
            assert_eq!(stage.intersections(), 0, "{speeds:?}, frame {frame}");
            let mean = |sheet: usize| {
                let speed = |i: usize| f64::from(stage.particles.v.get(sheet * 625 + i)[1]);
                (0..625).map(speed).sum::<f64>() / 625.0
            };
            let (common, approach) = ((speeds[0] + speeds[1]) / 2.0, speeds[0] - speeds[1]);
            for sheet in [0, 1] {
                // What hangs over the other sheet flies on; the rest has met.
                let left = (mean(sheet) - common).abs();
                assert!(left < 0.2 * approach, "{speeds:?}, frame {frame}: {left} m/s are left of {approach}");
            }
        }
    }
}

/// The list of pairs outlives steps where sheets are calm: whatever its age, a run goes on from what was remembered, and a step that
/// fails leaves no trace in it.
#[test]
fn a_list_of_pairs_goes_on_from_any_step() {
    let (on, other) = (simd(), parallel());
    let make = |stage: &Stage<f32>| -> Boxed<f32> {
        let mut solver = f32::xpbd(XpbdOn::with_substeps(6));
        solver.prepare(&stage.model).expect("valid options");
        solver
    };
    let mut stage = crate::stage::stack::<f32>(3, 12, 1e-6);
    let mut solver = make(&stage);
    for frame in 0..70 {
        stage.step(&mut *solver, &on);
        let mut memory = Keepsake::default();
        memory.keep(|to| solver.remember(to));
        if frame < 40 {
            continue;
        }
        // What was remembered, in a solver that knows nothing, on another backend.
        let mut twin = make(&stage);
        memory.give_back(|from| twin.recall(from)).expect("its own memory");
        let (mut one, mut two) = (stage.particles.clone(), stage.particles.clone());
        let mut own = make(&stage);
        memory.give_back(|from| own.recall(from)).expect("its own memory");
        for step in 0..4 {
            own.step(&stage.model, &mut one, 1.0 / 60.0, &on).expect("a step");
            twin.step(&stage.model, &mut two, 1.0 / 60.0, &other).expect("a step");
            assert_eq!(one.state_hash(), two.state_hash(), "frame {frame}, step {step}");
        }
        let before = stage.particles.clone();
        let mut fast = before.clone();
        fast.v.x[7] = 1e30;
        solver.step(&stage.model, &mut fast, 1.0 / 60.0, &on).expect_err("too far");
        let mut after = Keepsake::default();
        after.keep(|to| solver.remember(to));
        assert_eq!(format!("{after:?}"), format!("{memory:?}"), "frame {frame}: a failed step leaves no trace");
        if frame == 60 {
            // And the run that failed in between is the run that did not.
            let mut again = before;
            solver.step(&stage.model, &mut again, 1.0 / 60.0, &on).expect("a step");
            let mut fresh = make(&stage);
            memory.give_back(|from| fresh.recall(from)).expect("its own memory");
            fresh.step(&stage.model, &mut stage.particles, 1.0 / 60.0, &on).expect("a step");
            assert_eq!(again.state_hash(), stage.particles.state_hash());
        }
    }
}
