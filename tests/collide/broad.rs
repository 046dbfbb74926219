//! Broad phases against brute force, on every backend.

use pliant::backends::AnyBackend;
use pliant::core::collide::{Aabb, Bvh, CollideError, Elements, Groups, Leaves, Pairs, SpatialHash};
use pliant::core::lane::Real;

use crate::common::Random;

fn backends<S: pliant::backends::Precision>() -> Vec<AnyBackend<S>> {
    AnyBackend::<S>::names()
        .iter()
        .map(|name| AnyBackend::by_name(name, Some(3)).expect("a name of this build"))
        .collect()
}

/// Corners and groups of primitives, owned.
#[derive(Clone)]
struct Who {
    triangles: Vec<[u32; 3]>,
    groups: Vec<Groups>,
}

impl Who {
    fn random(random: &mut Random, count: usize) -> Self {
        let vertices = (count as u64 / 2).max(3);
        let triangles = (0..count).map(|_| std::array::from_fn(|_| (random.bits() % vertices) as u32)).collect();
        let groups = (0..count)
            .map(|_| Groups { member: 1 << (random.bits() % 4), touches: (random.bits() % 16) as u32 })
            .collect();
        Self { triangles, groups }
    }

    fn leaves(&self, filtered: bool) -> Leaves<'_> {
        if filtered {
            Leaves { elements: Elements::Triangles(&self.triangles), groups: Some(&self.groups) }
        } else {
            Leaves::default()
        }
    }

    fn wanted(&self, other: &Self, a: usize, b: usize) -> bool {
        let shared = self.triangles[a].iter().any(|v| other.triangles[b].contains(v));
        !shared && self.groups[a].meet(other.groups[b])
    }
}

fn brute<S: Real>(boxes: &[Aabb<S>], who: &Who, filtered: bool) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    for a in 0..boxes.len() {
        for b in a + 1..boxes.len() {
            if boxes[a].overlaps(&boxes[b]) && (!filtered || who.wanted(who, a, b)) {
                pairs.push([a as u32, b as u32]);
            }
        }
    }
    pairs
}

/// Sets that broad phases stumble over.
fn sets<S: Real>(random: &mut Random) -> Vec<(&'static str, Vec<Aabb<S>>)> {
    let cast = |v: [f64; 3]| v.map(S::from_f64);
    let cube = |centre: [f64; 3], half: f64| Aabb::new(cast(centre.map(|c| c - half)), cast(centre.map(|c| c + half)));
    let mut sets: Vec<(&'static str, Vec<Aabb<S>>)> = vec![("nothing", Vec::new()), ("one", vec![cube([1.0; 3], 0.5)])];
    for count in [2, 7, 8, 9, 64, 65, 300, 700] {
        sets.push(("uniform", (0..count).map(|_| cube(random.point(1.0), 0.05)).collect()));
    }
    let clusters: Vec<_> = (0..5).map(|_| random.point(100.0)).collect();
    let clustered = (0..400).map(|i| {
        let p = random.point(0.3);
        cube(std::array::from_fn(|k| clusters[i % 5][k] + p[k]), 0.03)
    });
    sets.push(("clustered", clustered.collect()));
    sets.push(("equal", vec![cube([3.0, -2.0, 1.0], 0.25); 90]));
    sets.push(("points", (0..90).map(|i| cube([f64::from(i % 3), 0.0, 0.0], 0.0)).collect()));
    sets.push(("one point", vec![cube([0.0; 3], 0.0); 30]));
    let flat = (0..300).map(|_| {
        let [x, y, _] = random.point(1.0);
        Aabb::new(cast([x, y, 0.0]), cast([x + 0.1, y + 0.1, 0.0]))
    });
    sets.push(("flat", flat.collect()));
    let touching = (0..200).map(|i| {
        let x = f64::from(i);
        Aabb::new(cast([x, 0.0, 0.0]), cast([x + 1.0, 1.0, 1.0]))
    });
    sets.push(("touching", touching.collect()));
    let mixed = (0..300).map(|i| cube(random.point(1.0), if i % 50 == 0 { 5.0 } else { 0.01 }));
    sets.push(("giants among dwarfs", mixed.collect()));
    let far = (0..100).map(|i| cube([1e30 * f64::from(i % 2), 1e-30 * f64::from(i), 0.0], 1e-31));
    sets.push(("huge and tiny", far.collect()));
    sets
}

fn check<S: pliant::backends::Precision>(seed: u64) {
    let mut random = Random::new(seed);
    let (mut tree, mut pairs, mut hash) = (Bvh::new(), Pairs::new(), SpatialHash::new());
    for (name, mut boxes) in sets::<S>(&mut random) {
        let who = Who::random(&mut random, boxes.len());
        for filtered in [false, true] {
            let leaves = who.leaves(filtered);
            tree.build(&boxes, &leaves, &backends::<S>()[0]).expect("sound boxes");
            // The first round as built, then moved and refitted.
            for round in 0..3 {
                let expected = brute(&boxes, &who, filtered);
                let mut order = None;
                for on in backends::<S>() {
                    tree.refit(&boxes, &on).expect("sound boxes");
                    pairs.within(&tree, &on);
                    // The same order on every backend, not only the same set.
                    let found = pairs.list().to_vec();
                    assert_eq!(*order.get_or_insert_with(|| found.clone()), found, "{name}, round {round}");
                    pairs.sort();
                    assert_eq!(pairs.list(), expected, "{name}, {} boxes, round {round}", boxes.len());
                }
                for cell in [None, Some(0.07), Some(1e6)] {
                    hash.pairs(&boxes, &leaves, cell, &mut pairs).expect("sound boxes");
                    assert_eq!(pairs.list(), expected, "{name}, round {round}, cell {cell:?}");
                }
                for aabb in &mut boxes {
                    let step = random.point(0.2).map(S::from_f64);
                    let (low, high) = (aabb.low(), aabb.high());
                    *aabb = Aabb::new(
                        std::array::from_fn(|k| low[k] + step[k]),
                        std::array::from_fn(|k| high[k] + step[k]),
                    );
                }
            }
        }
    }
}

#[test]
fn trees_and_hashes_find_what_brute_force_finds() {
    check::<f32>(1);
    check::<f64>(2);
}

#[test]
fn two_trees_find_what_brute_force_finds() {
    let mut random = Random::new(5);
    let (mut first, mut second, mut pairs) = (Bvh::new(), Bvh::new(), Pairs::new());
    let all = sets::<f32>(&mut random);
    for (name_a, a) in &all {
        for (name_b, b) in &all {
            let (who_a, who_b) = (Who::random(&mut random, a.len()), Who::random(&mut random, b.len()));
            for filtered in [false, true] {
                let on = &backends::<f32>()[0];
                first.build(a, &who_a.leaves(filtered), on).expect("sound boxes");
                second.build(b, &who_b.leaves(filtered), on).expect("sound boxes");
                let mut expected = Vec::new();
                for i in 0..a.len() {
                    for j in 0..b.len() {
                        if a[i].overlaps(&b[j]) && (!filtered || who_a.wanted(&who_b, i, j)) {
                            expected.push([i as u32, j as u32]);
                        }
                    }
                }
                let mut order = None;
                for on in backends::<f32>() {
                    pairs.between(&first, &second, &on);
                    let found = pairs.list().to_vec();
                    assert_eq!(*order.get_or_insert_with(|| found.clone()), found, "{name_a} and {name_b}");
                }
                pairs.sort();
                assert_eq!(pairs.list(), expected, "{name_a} and {name_b}");
            }
        }
    }
}

#[test]
fn vertices_and_edges_know_their_neighbours() {
    let on = &backends::<f32>()[0];
    let cube = Aabb::new([0.0_f32; 3], [1.0; 3]);
    let (mut vertices, mut edges, mut pairs) = (Bvh::new(), Bvh::new(), Pairs::new());
    let leaves = |elements| Leaves { elements, groups: None };
    vertices.build(&[cube; 5], &leaves(Elements::Vertices), on).expect("sound boxes");
    edges.build(&[cube; 3], &leaves(Elements::Edges(&[[0, 1], [1, 2], [3, 4]])), on).expect("sound boxes");
    pairs.within(&edges, on);
    pairs.sort();
    assert_eq!(pairs.list(), [[0, 2], [1, 2]]);
    pairs.between(&vertices, &edges, on);
    pairs.sort();
    assert_eq!(pairs.list(), [[0, 1], [0, 2], [1, 2], [2, 0], [2, 2], [3, 0], [3, 1], [4, 0], [4, 1]]);
}

#[test]
fn bad_boxes_are_refused_and_leave_the_tree_as_it_was() {
    let on = &backends::<f32>()[0];
    let good = vec![Aabb::new([0.0_f32; 3], [1.0; 3]); 20];
    let (mut tree, mut pairs, mut hash) = (Bvh::new(), Pairs::new(), SpatialHash::new());
    tree.build(&good, &Leaves::default(), on).expect("sound boxes");
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for axis in 0..3 {
            let mut boxes = good.clone();
            let mut high = [1.0; 3];
            high[axis] = bad;
            boxes[13] = Aabb::new([0.0; 3], high);
            let refused = |result| match result {
                Err(CollideError::NotFinite { row: 13, .. }) => {}
                other => panic!("{bad}: {other:?}"),
            };
            refused(tree.refit(&boxes, on));
            refused(tree.build(&boxes, &Leaves::default(), on));
            refused(hash.pairs(&boxes, &Leaves::default(), None, &mut pairs));
        }
    }
    let mut boxes = good.clone();
    boxes[7] = Aabb::new([0.0, 2.0, 0.0], [1.0; 3]);
    assert!(matches!(tree.refit(&boxes, on), Err(CollideError::Inverted { row: 7, axis: "y", .. })));
    assert!(matches!(tree.refit(&good[1..], on), Err(CollideError::Length { found: 19, expected: 20, .. })));
    let few = Leaves { elements: Elements::Edges(&[[0, 1]]), groups: None };
    assert!(matches!(tree.build(&good, &few, on), Err(CollideError::Length { found: 1, expected: 20, .. })));
    for cell in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let result = hash.pairs(&good, &Leaves::default(), Some(cell), &mut pairs);
        assert!(matches!(result, Err(CollideError::BadOption { .. })));
    }
    pairs.within(&tree, on);
    assert_eq!(pairs.list().len(), 190);
}

#[test]
fn scattering_wears_the_tree_out_and_moving_together_does_not() {
    let on = &backends::<f32>()[0];
    let mut random = Random::new(9);
    let cube = |c: [f64; 3]| Aabb::new(c.map(|x| x as f32 - 0.02), c.map(|x| x as f32 + 0.02));
    let centres: Vec<_> = (0..500).map(|_| random.point(1.0)).collect();
    let boxes: Vec<_> = centres.iter().map(|&c| cube(c)).collect();
    let mut tree = Bvh::new();
    tree.build(&boxes, &Leaves::default(), on).expect("sound boxes");
    assert!(!tree.worn());
    let moved: Vec<_> = centres.iter().map(|c| cube(c.map(|x| x + 7.0))).collect();
    tree.refit(&moved, on).expect("sound boxes");
    assert!(!tree.worn());
    let scattered: Vec<_> = (0..500).map(|_| cube(random.point(1.0))).collect();
    tree.refit(&scattered, on).expect("sound boxes");
    assert!(tree.worn());
    tree.build(&scattered, &Leaves::default(), on).expect("sound boxes");
    assert!(!tree.worn());
}

#[test]
fn grown_boxes_hold_what_is_within_the_radius() {
    let mut random = Random::new(21);
    for _ in 0..20_000 {
        let p = random.point(1.0).map(|v| v * 10.0_f64.powf(random.between(-40.0, 30.0)));
        let radius = 10.0_f64.powf(random.between(-40.0, 30.0)) as f32;
        let p = p.map(|v| v as f32);
        let grown = Aabb::around(&[p]).grown(radius);
        for k in 0..3 {
            let (exact_low, exact_high) = (f64::from(p[k]) - f64::from(radius), f64::from(p[k]) + f64::from(radius));
            assert!(f64::from(grown.low()[k]) <= exact_low && f64::from(grown.high()[k]) >= exact_high);
        }
    }
}
