//! The broad phase against parry3d's tree, and first contacts with and without filters, on a folded, moving cloth.
//!
//! `cargo bench --bench collide` prints the tables and writes `benches/results/collide.md`.

#[path = "support/report.rs"]
mod report;
#[path = "support/timing.rs"]
mod timing;

use std::cell::RefCell;
use std::hint::black_box;

use parry3d::bounding_volume::Aabb as ParryBox;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh as ParryTree, BvhBuildStrategy, BvhWorkspace};
use pliant::backends::{Parallel, Simd};
use pliant::core::collide::ccd::CcdOptions;
use pliant::core::collide::{Aabb, Bvh, ContactSearch, Elements, Leaves, MeshCandidates, Pairs};
use pliant::core::columns::Columns;
use pliant::core::mesh::ClothGrid;
use report::Report;
use timing::{Contender, race};

/// Reach of a contact \[m\].
const REACH: f32 = 0.001;

/// A sheet of 1 m × 1 m in eight pleats, 8 mm apart, before and after a step in which it sways and shivers.
struct Folded {
    triangles: Vec<[u32; 3]>,
    rest: Vec<[f32; 3]>,
    start: Vec<[f32; 3]>,
    end: Vec<[f32; 3]>,
}

impl Folded {
    fn new(n: usize) -> Self {
        let cloth = ClothGrid::square(1.0, n).build().expect("a valid grid").mesh;
        let rest: Vec<_> = cloth.positions().iter().map(|p| [p.x as f32, p.y as f32, p.z as f32]).collect();
        let edge = 1.0 / (n - 1) as f64;
        let fold = |along: f64, across: f64| {
            let phase = 8.0 * along;
            let within = 1.0 - 2.0 * (phase.rem_euclid(2.0) - 1.0).abs();
            [0.0625 * within, 0.008 * phase + 0.001 * (9.0 * across + within).sin(), across]
        };
        let start: Vec<_> = cloth.positions().iter().map(|p| fold(p.x, p.z)).collect();
        // A shiver of 10 % of an edge, the same on every machine.
        let mut state = 1_u64;
        let mut shiver = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            0.1 * edge * ((state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0)
        };
        let end = start.iter().map(|x| [x[0] + 0.002 + shiver(), x[1] - 0.003 + shiver(), x[2] + shiver()]);
        let end = end.map(|x| x.map(|v| v as f32)).collect();
        let start = start.iter().map(|x| x.map(|v| v as f32)).collect();
        Self { triangles: cloth.triangles().to_vec(), rest, start, end }
    }

    /// Boxes of the triangles on their way, grown by the reach.
    fn boxes(&self, start: &[[f32; 3]], end: &[[f32; 3]]) -> Vec<Aabb<f32>> {
        let around = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| v as usize);
            Aabb::around(&[start[a], start[b], start[c], end[a], end[b], end[c]]).grown(REACH)
        };
        self.triangles.iter().map(around).collect()
    }

    fn share_no_vertex(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.triangles[a as usize], &self.triangles[b as usize]);
        !a.iter().any(|v| b.contains(v))
    }
}

fn parry_boxes(boxes: &[Aabb<f32>]) -> Vec<ParryBox> {
    boxes.iter().map(|b| ParryBox::new(Vector::from(b.low()), Vector::from(b.high()))).collect()
}

fn broad(report: &mut Report, n: usize, rounds: usize) {
    let cloth = Folded::new(n);
    let (rest, moving) = (cloth.boxes(&cloth.rest, &cloth.rest), cloth.boxes(&cloth.start, &cloth.end));
    let theirs_moving = parry_boxes(&moving);
    let leaves = Leaves { elements: Elements::Triangles(&cloth.triangles), groups: None };
    let (one, two) = (Simd::new(), Parallel::with_threads(2));

    let mut tree = Bvh::new();
    tree.build(&rest, &leaves, &one).expect("sound boxes");
    tree.refit(&moving, &one).expect("sound boxes");
    let tree = RefCell::new(tree);
    let fresh = RefCell::new(Bvh::new());
    let pairs = RefCell::new(Pairs::new());
    let theirs = RefCell::new(ParryTree::from_leaves(BvhBuildStrategy::Binned, &theirs_moving));
    let (workspace, found) = (RefCell::new(BvhWorkspace::default()), RefCell::new(Vec::new()));

    let count = moving.len() as f64;
    let mut all = [
        Contender::new("parry3d 0.31: build, binned", count, || {
            black_box(ParryTree::from_leaves(BvhBuildStrategy::Binned, &theirs_moving));
        }),
        Contender::new("build, AVX2", count, || {
            fresh.borrow_mut().build(&moving, &leaves, &one).expect("sound boxes");
        }),
        Contender::new("parry3d 0.31: leaf writes and refit", count, || {
            let (mut tree, mut workspace) = (theirs.borrow_mut(), workspace.borrow_mut());
            for (i, aabb) in theirs_moving.iter().enumerate() {
                tree.insert_or_update_partially(*aabb, i as u32, 0.0);
            }
            tree.refit(&mut workspace);
        }),
        Contender::new("parry3d 0.31: leaf writes and refit without reordering", count, || {
            let mut tree = theirs.borrow_mut();
            for (i, aabb) in theirs_moving.iter().enumerate() {
                tree.insert_or_update_partially(*aabb, i as u32, 0.0);
            }
            tree.refit_without_opt();
        }),
        Contender::new("refit, AVX2", count, || tree.borrow_mut().refit(&moving, &one).expect("sound boxes")),
        Contender::new("refit, two threads", count, || tree.borrow_mut().refit(&moving, &two).expect("sound boxes")),
        Contender::new("parry3d 0.31: pairs that share no vertex", count, || {
            let (mut workspace, mut found) = (workspace.borrow_mut(), found.borrow_mut());
            found.clear();
            theirs.borrow().traverse_bvtt_single_tree::<false>(&mut workspace, &mut |a, b| {
                if cloth.share_no_vertex(a, b) {
                    found.push([a.min(b), a.max(b)]);
                }
            });
        }),
        Contender::new("pairs that share no vertex, AVX2", count, || pairs.borrow_mut().within(&tree.borrow(), &one)),
        Contender::new("pairs that share no vertex, two threads", count, || {
            pairs.borrow_mut().within(&tree.borrow(), &two);
        }),
    ];
    race(&mut all, rounds);
    let seconds: Vec<_> = all.iter().map(|c| (c.name.clone(), c.seconds())).collect();
    drop(all);
    let mut expected = found.into_inner();
    expected.sort_unstable();
    let mut pairs = pairs.into_inner();
    pairs.sort();
    assert_eq!(pairs.list(), expected, "both find the same pairs");

    let title = format!("Boxes of a folded cloth {n} × {n}, {} triangles, {} pairs", moving.len(), expected.len());
    report.line(&format!("\n## {title}\n\n| | ms | against parry3d |\n| --- | --- | --- |"));
    let refit = seconds[2].1.min(seconds[3].1);
    for (k, (name, time)) in seconds.iter().enumerate() {
        let base =
            [seconds[0].1, seconds[0].1, refit, refit, refit, refit, seconds[6].1, seconds[6].1, seconds[6].1][k];
        report.line(&format!("| {name} | {:.3} | {:.1}× |", 1e3 * time, base / time));
    }
}

/// Candidates and first contacts of the whole mesh: the filter on lanes against the search in double precision alone.
fn contacts(report: &mut Report, n: usize, rounds: usize) {
    let cloth = Folded::new(n);
    let mesh = ClothGrid::square(1.0, n).build().expect("a valid grid").mesh;
    let columns = |x: &[[f32; 3]]| x.iter().copied().collect::<Columns<f32>>();
    let (start, end) = (columns(&cloth.start), columns(&cloth.end));
    let (one, two) = (Simd::new(), Parallel::with_threads(2));
    let options = CcdOptions { keep: 0.1, ..CcdOptions::default() };
    let candidates = RefCell::new(MeshCandidates::new(&mesh, None, &one).expect("a sound mesh"));
    candidates.borrow_mut().find(&start, &end, REACH, &one).expect("sound positions");
    let count = candidates.borrow().list().len();
    let (search, plain) = (RefCell::new(ContactSearch::new()), RefCell::new(Vec::new()));
    let mut all = [
        Contender::new("boxes, refit and query: candidates in order", count as f64, || {
            candidates.borrow_mut().find(&start, &end, REACH, &one).expect("sound positions");
        }),
        Contender::new("the same, two threads", count as f64, || {
            candidates.borrow_mut().find(&start, &end, REACH, &two).expect("sound positions");
        }),
        Contender::new("first contacts: scalar double precision, no filter", count as f64, || {
            let mut plain = plain.borrow_mut();
            plain.clear();
            plain.extend(candidates.borrow().search_all(&options));
        }),
        Contender::new("first contacts: filter on AVX2 lanes, then the same", count as f64, || {
            search.borrow_mut().run(&candidates.borrow(), &options, &one);
        }),
        Contender::new("first contacts: filter, two threads", count as f64, || {
            search.borrow_mut().run(&candidates.borrow(), &options, &two);
        }),
    ];
    race(&mut all, rounds);
    let times: Vec<_> = all.iter().map(|c| (c.name.clone(), c.seconds(), c.nanoseconds())).collect();
    drop(all);
    let (search, plain) = (search.into_inner(), plain.into_inner());
    assert_eq!(search.contacts(), plain, "the filter changes no answer");
    report.line(&format!(
        "\n## First contacts on the same cloth {n} × {n}, {count} candidates, {} searched, {} contacts\n\n\
         | | ms | ns a candidate | against the search alone |\n| --- | --- | --- | --- |",
        search.survivor_count(),
        plain.len()
    ));
    for (k, (name, seconds, nanoseconds)) in times.iter().enumerate() {
        let against = if k < 2 { String::new() } else { format!("{:.1}×", times[2].1 / seconds) };
        report.line(&format!("| {name} | {:.2} | {nanoseconds:.1} | {against} |", 1e3 * seconds));
    }
}

fn main() {
    let mut report = Report::new("collide", "Collision: broad phase and first contacts");
    for (n, rounds) in [(100, 60), (200, 25)] {
        broad(&mut report, n, rounds);
        contacts(&mut report, n, rounds / 3);
    }
    report.save();
}
