//! First contacts: hits and misses made by construction in exact arithmetic, at every scale and offset.

use pliant::core::collide::ccd::{CcdOptions, Corners, first_contact};
use pliant::core::collide::distance::Pair;
use pliant::core::vec3::Vec3;
use proptest::prelude::*;

fn options() -> CcdOptions {
    CcdOptions::default()
}

/// Whole numbers, small ones often: coincidences, flat and parallel shapes come for free.
fn whole() -> impl Strategy<Value = i32> {
    prop_oneof![-1..=1_i32, -4..=4_i32, -1000..=1000_i32]
}

fn corners() -> impl Strategy<Value = [[i32; 3]; 4]> {
    prop::array::uniform4(prop::array::uniform3(whole()))
}

/// Places all corners at the moment of contact and their velocities; contact at `eighths`/8.
///
/// Everything is a multiple of 1/64 below 2¹⁵, so that all sums are exact: corner(0) and corner(1) meet exactly.
fn meeting(pair: Pair, mut at: [[i32; 3]; 4], v: [[i32; 3]; 4], w: [i32; 2], eighths: i32) -> (Corners, Corners) {
    // Weights are quarters; multiples of 4 keep the meeting point whole.
    at = at.map(|c| c.map(|x| 4 * x));
    let [u, t] = w;
    for k in 0..3 {
        match pair {
            Pair::VertexTriangle => {
                let t = t.min(4 - u);
                at[0][k] = ((4 - u - t) * at[1][k] + u * at[2][k] + t * at[3][k]) / 4;
            }
            Pair::EdgeEdge => {
                // b₀ such that the point t/4 of b, at[3] taken as b₁ − b₀, is the point u/4 of a.
                let point = ((4 - u) * at[0][k] + u * at[1][k]) / 4;
                let along = at[3][k];
                at[2][k] = point - t * along / 4;
                at[3][k] = at[2][k] + along;
            }
        }
    }
    let place = |eighths: i32| {
        std::array::from_fn(|i| std::array::from_fn(|k| f64::from(8 * at[i][k] + eighths * v[i][k]) / 64.0))
    };
    (place(-eighths), place(8 - eighths))
}

fn pair() -> impl Strategy<Value = Pair> {
    prop_oneof![Just(Pair::VertexTriangle), Just(Pair::EdgeEdge)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// A contact that happens is found, and not too late: at any scale (subnormal numbers included), far from the
    /// origin, for any motion, degenerate or not.
    #[test]
    fn contacts_by_construction_are_never_missed(
        pair in pair(),
        at in corners(),
        v in corners(),
        w in prop::array::uniform2(0..=4_i32),
        eighths in 0..=8_i32,
        power in prop_oneof![3 => Just(0), 1 => -1050..=-1000_i32, 1 => -300..=300_i32, 1 => Just(1000_i32)],
        offset in prop_oneof![3 => Just(0.0), 1 => Just(1048576.0), 1 => Just(-8589934592.0)],
    ) {
        let (mut start, mut end) = meeting(pair, at, v, w, eighths);
        for x in start.iter_mut().chain(&mut end).flatten() {
            *x = (*x + offset) * 2.0_f64.powi(power / 2) * 2.0_f64.powi(power - power / 2);
        }
        let exact = f64::from(eighths) / 8.0;
        for keep in [0.0, 0.2] {
            let impact = first_contact(pair, &start, &end, &CcdOptions { keep, ..options() });
            // Offsets at the smallest scales fall below the smallest number, and with them the construction.
            if offset == 0.0 || power > -950 {
                prop_assert!(impact.is_some(), "missed");
            }
            if let Some(impact) = impact {
                prop_assert!((0.0..=exact).contains(&impact.time), "{impact:?}, exact {exact}");
                prop_assert!(impact.evaluations <= options().max_evaluations);
            }
        }
    }

    /// Primitives on two sides of a moving, turning plane stay clear, by at least the given gap.
    #[test]
    fn separated_motions_raise_no_alarm(
        pair in pair(),
        across in prop::array::uniform4(prop::array::uniform2(-1.0..1.0_f64)),
        moved in prop::array::uniform4(prop::array::uniform2(-1.0..1.0_f64)),
        heights in prop::array::uniform4(0.0..1.0_f64),
        later in prop::array::uniform4(0.0..1.0_f64),
        gap in -8.0..0.0_f64,
        lift in -3.0..3.0_f64,
        axis in 0..3_usize,
    ) {
        let gap = 10.0_f64.powf(gap);
        let first = if pair == Pair::EdgeEdge { 2 } else { 1 };
        let place = |across: &[[f64; 2]; 4], heights: &[f64; 4], lift: f64| -> Corners {
            std::array::from_fn(|i| {
                let height = if i < first { gap + heights[i] } else { -heights[i] } + lift;
                let mut x = [across[i][0], across[i][1], height];
                x.rotate_left(axis);
                x
            })
        };
        let (start, end) = (place(&across, &heights, 0.0), place(&moved, &later, lift));
        let impact = first_contact(pair, &start, &end, &options());
        prop_assert!(impact.is_none(), "{impact:?} at gap {gap}");
        // Twice the gap may or may not be kept; a tenth of it is.
        let small = CcdOptions { min_separation: 0.1 * gap, ..options() };
        prop_assert!(first_contact(pair, &start, &end, &small).is_none());
    }

    /// Up to the reported time the distance stays above the minimum separation.
    #[test]
    fn separation_is_kept_up_to_the_reported_time(
        pair in pair(),
        start in prop::array::uniform4(prop::array::uniform3(-1.0..1.0_f64)),
        end in prop::array::uniform4(prop::array::uniform3(-1.0..1.0_f64)),
        min_separation in 0.0..0.1_f64,
        keep in 0.0..0.5_f64,
    ) {
        let at = |t: f64| {
            let corners: [Vec3<f64>; 4] = std::array::from_fn(|i| {
                Vec3::from(start[i]) * (1.0 - t) + Vec3::from(end[i]) * t
            });
            pair.closest(&corners).distance_sq.sqrt()
        };
        let impact = first_contact(pair, &start, &end, &CcdOptions { min_separation, keep, ..options() });
        let least = min_separation + keep * (at(0.0) - min_separation).max(0.0);
        let (time, free) = impact.map_or((1.0, true), |i| (i.time, i.time > 0.0));
        if free {
            for i in 0..=200 {
                let t = time * f64::from(i) / 200.0;
                prop_assert!(at(t) > least - 1e-12, "distance {} at {t}, least {least}", at(t));
            }
        }
        if let Some(impact) = impact {
            prop_assert!(!impact.early);
            prop_assert!(at(impact.time) <= least + 1e-8, "stopped {} before contact", at(impact.time) - least);
        }
    }
}

#[test]
fn numbers_that_are_not_finite_count_as_contact() {
    let mut start = [[0.0, 0.0, 1.0], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let end = start;
    assert!(first_contact(Pair::VertexTriangle, &start, &end, &options()).is_none());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        start[2][1] = bad;
        for pair in [Pair::VertexTriangle, Pair::EdgeEdge] {
            assert_eq!(first_contact(pair, &start, &end, &options()).map(|i| i.time), Some(0.0));
        }
    }
}

#[test]
fn scale_does_not_matter() {
    let below = [[0.25, 0.25, -1.0], [0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let [through, past] = [[0.25, 0.25, 3.0], [4.0, 0.25, -0.5]].map(|p| [p, below[1], below[2], below[3]]);
    for power in [-1070, -1022, -500, 0, 500, 1021] {
        let scaled = |x: Corners| x.map(|c| c.map(|v| v * 2.0_f64.powi(power / 2) * 2.0_f64.powi(power - power / 2)));
        let (below, through, past) = (scaled(below), scaled(through), scaled(past));
        let impact = first_contact(Pair::VertexTriangle, &below, &through, &options()).expect("a hit");
        assert!(impact.time <= 0.25 && impact.time > 0.25 - 1e-8, "2^{power}: {impact:?}");
        assert!(first_contact(Pair::VertexTriangle, &below, &past, &options()).is_none(), "2^{power}");
    }
}

#[test]
fn a_bounded_search_returns_an_early_time() {
    let start = [[0.2, 0.2, 1.0], [0.0, 0.0, -0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.3]];
    let end = [[0.4, 0.1, -1.0], [0.3, 0.0, 0.4], [1.0, 0.2, 0.1], [0.0, 1.0, -0.3]];
    let full = first_contact(Pair::VertexTriangle, &start, &end, &options()).expect("it passes through");
    for max_evaluations in 0..full.evaluations {
        let few = CcdOptions { max_evaluations, ..options() };
        let impact = first_contact(Pair::VertexTriangle, &start, &end, &few).expect("no search, no certainty");
        assert!(impact.early && impact.time <= full.time && impact.evaluations <= max_evaluations.max(1));
    }
}

/// Slivers that pass each other at some 10⁻⁵ of their size, by exact arithmetic: a search that gives up after 256 evaluations calls
/// them hits.
#[test]
fn slivers_that_pass_closely_are_no_hits() {
    let edges: [Corners; 2] = [
        [
            [-0.33484650269418936, -0.16919439847109552, 0.6157509677275508],
            [-0.334831397529181, -0.16920811546147663, 0.6157559313758936],
            [-0.9134382677898805, -0.9194076744318818, 0.1206312144865549],
            [0.024137923511086123, 0.3134331901608065, 0.8576615069734057],
        ],
        [
            [-0.2747227204607994, -0.33155874311177413, -0.07586073899270868],
            [-0.274729301896955, -0.33154754180702917, -0.07584113519551325],
            [-0.3397417890295251, -0.5828763165036288, 0.5243023534803226],
            [-0.5165129203624625, -0.614619898103056, -0.40784166078882],
        ],
    ];
    let triangle: [Corners; 2] = [
        [
            [1.0, 0.6567754400157586, -0.5470815282118408],
            [0.9243654967554121, 0.6377492553259744, -0.5080601120352587],
            [0.776922989315648, -0.707417024012428, 0.751890385120357],
            [0.24088904136856723, -0.11731524358525584, -0.9621316225777578],
        ],
        [
            [-0.46787800124816165, -0.7465933870876695, -0.12928671405539532],
            [0.22294268722512298, -0.5658780765208782, 0.3498721195557791],
            [0.05639209836647493, -0.34412351245419376, -0.47652509746118904],
            [0.14599326407737823, 0.5073680399118912, -0.1796749367038524],
        ],
    ];
    for (pair, [start, end]) in [(Pair::EdgeEdge, edges), (Pair::VertexTriangle, triangle)] {
        assert_eq!(first_contact(pair, &start, &end, &options()), None, "{pair:?}");
        let few = CcdOptions { max_evaluations: 256, ..options() };
        let early = first_contact(pair, &start, &end, &few).expect("it gives up");
        assert!(early.early && early.evaluations == 256, "{early:?}");
    }
}
