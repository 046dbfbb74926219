//! Nearest rotations: against a table computed in 50-digit arithmetic, on a million matrices, and from guesses.

#[path = "../../harness/src/validate/float.rs"]
mod float;

use std::collections::HashMap;
use std::path::Path;

use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::mat3::Mat3;
use pliant_core::polar::{full_sweeps, matrix, polar, rotation, rotor};
use pliant_core::vec3::Vec3;

/// By rows.
type Entries = [f64; 9];

fn of<S: Real>(a: &Entries) -> Mat3<S> {
    let column = |c: usize| Vec3::new(S::from_f64(a[c]), S::from_f64(a[3 + c]), S::from_f64(a[6 + c]));
    Mat3::from_columns(column(0), column(1), column(2))
}

fn entries<S: Real>(m: Mat3<S>) -> Entries {
    let [a, b, c] = m.columns.map(|v| <[S; 3]>::from(v).map(S::to_f64));
    [a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]]
}

/// The largest entry of RᵀR − 1 and det R − 1; infinite when anything is not finite.
fn departure(r: &Entries) -> f64 {
    let m = of::<f64>(r);
    let product = entries(m.transpose() * m + Mat3::diagonal(-1.0));
    let off = product.iter().chain([&(m.determinant() - 1.0)]).fold(0.0, |worst: f64, e| worst.max(e.abs()));
    if product.iter().all(|e| e.is_finite()) { off } else { f64::INFINITY }
}

struct Row {
    unique: bool,
    gap: f64,
    trace: f64,
    a: Entries,
    r: Entries,
}

fn table() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/polar_ref.csv");
    let text = std::fs::read_to_string(path).expect("the reference table is part of the repository");
    let mut lines = text.lines();
    let header: HashMap<&str, usize> =
        lines.next().expect("a header").split(',').enumerate().map(|(i, n)| (n, i)).collect();
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |name: &str| float::parse_float(cells[header[name]]).expect("a number");
        let nine = |name: &str| core::array::from_fn(|k| number(&format!("{name}{}{}", k / 3, k % 3)));
        Row {
            unique: number("unique") == 1.0,
            gap: number("gap_rel"),
            trace: number("trRtA"),
            a: nine("A"),
            r: nine("R"),
        }
    });
    rows.collect()
}

/// `entry` is the tolerance of an entry times the gap, `whole` that of what no gap weakens.
fn check_table<S: Real>(entry: f64, whole: f64) {
    let rows = table();
    assert!(rows.iter().any(|row| row.unique) && rows.iter().any(|row| !row.unique) && rows.len() > 100);
    for (i, row) in rows.iter().enumerate() {
        let r = entries(rotation(of::<S>(&row.a)));
        assert!(departure(&r) < whole, "row {i}: no rotation: {r:?}");
        let size = row.a.iter().map(|a| a * a).sum::<f64>().sqrt();
        let trace: f64 = row.a.iter().zip(&r).map(|(a, r)| a * r).sum();
        assert!((trace - row.trace).abs() <= whole * size, "row {i}: trace {trace} instead of {}", row.trace);
        if row.unique {
            let off = r.iter().zip(&row.r).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()));
            assert!(off * row.gap <= entry, "row {i}: off by {off:e} with gap {:e}", row.gap);
        }
    }
}

#[test]
fn the_reference_table_is_met_in_both_precisions() {
    check_table::<f64>(1e-12, 1e-14);
    check_table::<f32>(1e-6, 2e-6);
}

/// Numbers from −1 to 1 that repeat after 2⁶⁴ of them.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
    }
    /// One kind of trouble after the other.
    fn matrix(&mut self, kind: usize) -> Entries {
        let mut a: Entries = core::array::from_fn(|_| self.roll());
        let (s, t) = (self.roll(), self.roll());
        match kind % 12 {
            0 | 1 => {}
            // Rank two and one, exactly and nearly.
            2 => (0..3).for_each(|i| a[3 * i + 2] = s * a[3 * i] + t * a[3 * i + 1]),
            3 => a = core::array::from_fn(|k| a[k / 3] * a[3 + k % 3]),
            4 => a = core::array::from_fn(|k| a[k / 3] * a[3 + k % 3] + 1e-7 * a[8 - k]),
            // Reflections: of everything, and of one axis.
            5 => a = core::array::from_fn(|k| if k % 4 == 0 { -1.0 } else { 1e-6 * a[k] }),
            6 => (0..3).for_each(|i| a[3 * i] *= -1e-3),
            7 => a = a.map(|e| e * 1e30),
            8 => a = a.map(|e| e * 1e-30),
            // Smaller than any normal number of single precision.
            9 => a = a.map(|e| e * 1e-42),
            10 => a = a.map(|e| if e > 0.5 { e } else { 0.0 }),
            _ => a = a.map(|e| e.signum() * (20.0 * e).exp2()),
        }
        a
    }
}

#[test]
fn a_million_matrices_never_give_anything_but_a_rotation() {
    let mut dice = Dice(7);
    for round in 0..1_000_000 / BLOCK {
        let samples: [Entries; BLOCK] = core::array::from_fn(|l| dice.matrix(round * BLOCK + l));
        let octet = |k: usize| Octet(core::array::from_fn::<f32, BLOCK, _>(|l| samples[l][k] as f32));
        let load = |k: usize| wide::f32x8::load(&octet(k), 0);
        let column = |c: usize| Vec3::new(load(c), load(3 + c), load(6 + c));
        let r = rotation(Mat3::from_columns(column(0), column(1), column(2)));
        let columns = r.columns.map(|c| [c.x, c.y, c.z].map(|e| e.to_array()));
        for l in 0..BLOCK {
            let one: Entries = core::array::from_fn(|k| f64::from(columns[k % 3][k / 3][l]));
            assert!(departure(&one) < 2e-6, "{:?} gives {one:?}", samples[l]);
        }
    }
    for kind in 0..100_000 {
        let a = dice.matrix(kind);
        let r = entries(rotation(of::<f64>(&a)));
        assert!(departure(&r) < 1e-14, "{a:?} gives {r:?}");
    }
}

#[test]
fn matrices_too_small_for_normal_numbers_still_have_their_rotation() {
    let turn: Mat3<f64> = matrix(ultraviolet::DRotor3::from_euler_angles(0.3, -0.7, 1.1));
    let expected = entries(turn);
    let single = entries(rotation(of::<f32>(&expected.map(|e| e * 1e-39))));
    let double = entries(rotation(of::<f64>(&expected.map(|e| e * 1e-310))));
    for k in 0..9 {
        // A subnormal number of this size keeps a dozen bits or so.
        assert!((single[k] - expected[k]).abs() < 1e-5, "{single:?}");
        assert!((double[k] - expected[k]).abs() < 1e-12, "{double:?}");
    }
    assert_eq!(entries(rotation(of::<f32>(&[0.0; 9]))), entries(Mat3::diagonal(1.0_f32)));
}

#[test]
fn a_guess_from_the_matrix_before_needs_half_the_sweeps() {
    let mut dice = Dice(3);
    let (mut warm_worst, mut cold_worst) = (0.0_f64, 0.0_f64);
    for _ in 0..2_000 {
        // A strongly stretched matrix, then one whose stretch has changed by some percent and turned by a radian as a whole.
        let stretch: Entries =
            core::array::from_fn(|k| 0.4 * dice.roll() + if k % 4 == 0 { 1.0 + (k / 4) as f64 } else { 0.0 });
        let before = of::<f64>(&stretch);
        let after = of::<f64>(&stretch.map(|e| e + 0.02 * dice.roll()));
        let after =
            matrix::<f64>(ultraviolet::DRotor3::from_euler_angles(dice.roll(), dice.roll(), dice.roll())) * after;
        let exact = entries(rotation(after));
        let guess = polar(before, Mat3::diagonal(1.0), full_sweeps::<f64>()).axes;
        let off = |r: Mat3<f64>| entries(r).iter().zip(&exact).fold(0.0, |w: f64, (a, b)| w.max((a - b).abs()));
        let warm = polar(after, guess, 2).rotation;
        let cold = polar(after, Mat3::diagonal(1.0), 2).rotation;
        assert!(departure(&entries(warm)) < 1e-14 && departure(&entries(cold)) < 1e-14);
        (warm_worst, cold_worst) = (warm_worst.max(off(warm)), cold_worst.max(off(cold)));
    }
    assert!(warm_worst < 1e-6, "two sweeps from a guess leave {warm_worst:e}");
    assert!(cold_worst > 100.0 * warm_worst, "without it {cold_worst:e}");
}

#[test]
fn rotors_and_matrices_are_the_same_rotation() {
    let mut dice = Dice(11);
    for kind in 0..1_000 {
        let r = rotation(of::<f64>(&dice.matrix(kind)));
        let back = entries(matrix::<f64>(rotor(r)));
        let off = entries(r).iter().zip(&back).fold(0.0, |w: f64, (a, b)| w.max((a - b).abs()));
        assert!(off < 1e-12, "off by {off:e}: {r:?}");
    }
}
