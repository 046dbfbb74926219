//! Functions beyond + − × ÷ √, built from them on lanes so that every width gives the same bits.

use crate::lane::{Lane, Real};

/// tan(π/8) = √2 − 1, where the reduction of [`atan2`] changes branch.
const TAN_PI_8: f64 = core::f64::consts::SQRT_2 - 1.0;
/// tan(3π/8) = √2 + 1, its mirror image about π/4.
const TAN_3PI_8: f64 = core::f64::consts::SQRT_2 + 1.0;

/// The angle of the vector (x, y) in (−π, π] \[rad\], from the positive x axis towards the positive y axis.
///
/// Error: below 2.5 units in the last place in `f32` and in `f64` (2.35 and 2.0 seen against the standard library over a
/// million angles). One division.
///
/// - atan2(0, 0) = 0, so a degenerate angle is a harmless zero.
/// - Zeros have no sign: −0 counts as +0, hence atan2(−0, x < 0) = +π where the standard library says −π. The only jump
///   is the half turn, θ = ±π.
/// - Inputs are finite with |x| + |y| and 2.42 |x| below overflow; a NaN stays a NaN, an infinity may become one.
///
/// Reduction to |z| ≤ tan(π/8), with u = |y|/|x| never formed (three ratios, one division):
/// ```text
///   u ≤ tan(π/8)     z = |y| / |x|                      θ = 0·π/4 + atan z
///   between          z = (|y| − |x|) / (|y| + |x|)      θ = 1·π/4 + atan z
///   u > tan(3π/8)    z = −|x| / |y|                     θ = 2·π/4 + atan z
///   x < 0            mirror about the y axis: θ → 4·π/4 − θ;    y < 0: θ → −θ
/// ```
/// atan z = z + z³ P(z²). The polynomials P are minimax fits of our own (Remez on the relative error); a rational fit
/// would be shorter in `f64` but costs a second division, and `f32` needs only four terms.
#[inline(always)]
pub fn atan2<L: Lane>(y: L, x: L) -> L {
    let (ax, ay) = (x.abs(), y.abs());
    let above_low = ay.gt(ax * L::constant(TAN_PI_8));
    let above_high = ay.gt(ax * L::constant(TAN_3PI_8));
    let numerator = L::select(above_high, -ax, L::select(above_low, ay - ax, ay));
    let denominator = L::select(above_high, ay, L::select(above_low, ay + ax, ax));
    let eighths = L::select(above_high, L::constant(2.0), L::select(above_low, L::one(), L::zero()));

    // Only (0, 0) has a zero denominator, and its numerator is zero too. Written so that a NaN passes.
    let z = numerator / L::select(L::zero().ge(denominator), L::one(), denominator);
    let s = z * z;
    let atan = z + z * s * atan_polynomial(s);

    let left = L::zero().gt(x);
    let atan = L::select(left, -atan, atan);
    let eighths = L::select(left, L::constant(4.0) - eighths, eighths);

    // π/4 in two parts, the first short enough that 2, 3 and 4 times it are exact.
    let (high, low) = quarter_pi::<L>();
    let angle = eighths * high + (atan + eighths * low);
    L::select(L::zero().gt(y), -angle, angle)
}

/// Whether lanes hold `f32`: known when compiling, so no branch is left in the code.
#[inline(always)]
fn single<L: Lane>() -> bool {
    L::Scalar::EPSILON.to_f64() > 1e-10
}

/// π/4 = high + low.
#[inline(always)]
fn quarter_pi<L: Lane>() -> (L, L) {
    if single::<L>() {
        (L::constant(0.785_398_006_439_209), L::constant(1.569_582_393_252_406_6e-7))
    } else {
        // The nearest double happens to end in three zero bits.
        (L::constant(core::f64::consts::FRAC_PI_4), L::constant(3.061_616_997_868_383e-17))
    }
}

/// P in atan z = z + z³ P(z²), for s = z² ≤ tan²(π/8): relative error of atan z below 2.1e-8 (`f32`), 3.6e-17 (`f64`).
#[inline(always)]
fn atan_polynomial<L: Lane>(s: L) -> L {
    if single::<L>() {
        let p = horner(L::constant(8.053_669_656_605_052e-2), s, -1.387_766_412_436_808_3e-1);
        let p = horner(p, s, 1.997_770_899_492_03e-1);
        horner(p, s, -3.333_294_913_120_839e-1)
    } else {
        let p = horner(L::constant(2.125_961_398_149_664_5e-2), s, -4.359_076_329_647_974e-2);
        let p = horner(p, s, 5.692_532_405_718_63e-2);
        let p = horner(p, s, -6.641_119_927_451_264e-2);
        let p = horner(p, s, 7.690_068_154_658_59e-2);
        let p = horner(p, s, -9.090_782_402_134_18e-2);
        let p = horner(p, s, 1.111_110_665_314_929_1e-1);
        let p = horner(p, s, -1.428_571_419_525_102e-1);
        let p = horner(p, s, 1.999_999_999_908_884_4e-1);
        horner(p, s, -3.333_333_333_333_015e-1)
    }
}

/// ln x for x > 0 and finite; −∞ at 0 and below.
///
/// Error: below 2.5 units in the last place in `f32` and in `f64`, subnormal numbers included (2.0 seen against the
/// standard library over two million numbers). See [`ln_ratio`].
#[inline(always)]
pub fn ln<L: Lane>(x: L) -> L {
    ln_ratio(x, L::one())
}

/// ln(a/b) for positive finite numbers, accurate also where a and b nearly agree; −∞ for a ≤ 0.
///
/// The rounding of a/b costs nothing there: near 1 the difference a − b is exact and enters directly.
/// ```text
///   a/b = 2ᵉ m,  √½ ≤ m < √2      z = (m − 1)/(m + 1),  or (a − b)/(a + b) when e = 0
///   ln(a/b) = e ln 2 + 2 artanh z,      2 artanh z = 2z (1 + s/3 + s²/5 + ...),  s = z² ≤ 0.0295
/// ```
/// The exponent is found by comparing with powers of two (lanes have no bits): 11 or 8 comparisons up and as many down.
/// The series is cut where the next term is below half a unit in the last place.
#[inline(always)]
pub fn ln_ratio<L: Lane>(a: L, b: L) -> L {
    let (zero, one) = (L::zero(), L::one());
    let positive = a.gt(zero);
    let mut m = L::select(positive, a / b, one);
    let mut e = zero;
    // 512 twice in `f64`, 64 twice in `f32`: subnormal numbers reach down to 2^−1074 and 2^−149.
    let steps: &[i32] =
        if single::<L>() { &[64, 64, 32, 16, 8, 4, 2, 1] } else { &[512, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1] };
    for &k in steps {
        let (up, down) = (L::constant(power_of_two(k)), L::constant(power_of_two(-k)));
        let count = L::constant(f64::from(k));
        let large = m.ge(up);
        m = L::select(large, m * down, m);
        e = L::select(large, e + count, e);
        // Below 2^(1−k): times 2^k it is still below 2.
        let small = (down + down).gt(m);
        m = L::select(small, m * up, m);
        e = L::select(small, e - count, e);
    }
    // Now 1 ≤ m < 2; the upper half becomes [√½, 1).
    let upper = m.gt(L::constant(core::f64::consts::SQRT_2));
    m = L::select(upper, m * L::constant(0.5), m);
    e = L::select(upper, e + one, e);

    let near = L::both(e.ge(zero), zero.ge(e));
    let z = L::select(near, a - b, m - one) / L::select(near, a + b, m + one);
    let s = z * z;
    let tail = z * s * artanh_series(s);
    // ln 2 in two parts; the first has enough trailing zeros for e · high to be exact.
    let (high, low) = if single::<L>() {
        (L::constant(0.693_145_751_953_125), L::constant(1.428_606_820_309_417_2e-6))
    } else {
        (L::constant(6.931_471_803_691_238e-1), L::constant(1.908_214_929_270_587_7e-10))
    };
    let log = e * high + ((z + z) + (tail + e * low));
    L::select(positive, log, -L::constant(f64::INFINITY))
}

/// 2ᵏ for |k| ≤ 1022.
pub(crate) const fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// Σ 2 sᵏ⁻¹/(2k + 1), k = 1, 2, ...: what 2 artanh z has beyond 2z, over z³.
#[inline(always)]
fn artanh_series<L: Lane>(s: L) -> L {
    let terms = if single::<L>() { 5 } else { 11 };
    let mut p = L::zero();
    for k in (1..=terms).rev() {
        p = horner(p, s, 2.0 / f64::from(2 * k + 1));
    }
    p
}

/// p·s + c: one step of Horner's rule, rounded twice on every machine.
#[inline(always)]
fn horner<L: Lane>(p: L, s: L, c: f64) -> L {
    p * s + L::constant(c)
}

/// ∛x for x from ⅛ to 8, by Halley's method: each turn triples the digits, and four from a third of (x + 2) are enough.
#[inline(always)]
pub fn cube_root<L: Lane>(x: L) -> L {
    let twice = x + x;
    let mut y = (x + L::constant(2.0)) * L::constant(1.0 / 3.0);
    for _ in 0..4 {
        // y ← y (y³ + 2x)/(2y³ + x)
        let cube = y * y * y;
        y = y * ((cube + twice) / (cube + cube + x));
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::{BLOCK, Octet};
    use core::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

    /// Distance to the reference in units in the last place of the scalar `S`.
    fn ulps<S: Real>(y: S, x: S) -> f64 {
        let expected = y.to_f64().atan2(x.to_f64());
        // The spacing of S at the reference: ε · 2^floor(log2 |expected|).
        let spacing = S::EPSILON.to_f64() * expected.abs().log2().floor().exp2();
        (atan2(y, x).to_f64() - expected).abs() / spacing
    }

    /// A dense sweep of angles at several radii, with clusters about the axes, diagonals and reduction borders.
    fn worst<S: Real>() -> f64 {
        let mut worst = 0.0_f64;
        for radius in [1.0, 3.7e-9, 0.33, 41.0, 2.5e11] {
            for i in 1..200_000_u32 {
                let angle = f64::from(i) * (2.0 * PI / 200_000.0) - PI;
                let (sin, cos) = angle.sin_cos();
                worst = worst.max(ulps(S::from_f64(radius * sin), S::from_f64(radius * cos)));
            }
        }
        for eighth in -8..=8 {
            for i in -2000..=2000 {
                let angle = f64::from(eighth) * (PI / 8.0) + f64::from(i) * 1e-8 + 1e-10;
                worst = worst.max(ulps(S::from_f64(angle.sin()), S::from_f64(angle.cos())));
            }
        }
        worst
    }

    #[test]
    fn error_stays_below_two_and_a_half_units_in_the_last_place() {
        let (single, double) = (worst::<f32>(), worst::<f64>());
        assert!(single < 2.5, "f32: {single} ulp");
        assert!(double < 2.5, "f64: {double} ulp");
    }

    #[test]
    fn extreme_ratios_keep_relative_accuracy() {
        for power in -120..=120 {
            let ratio = f64::from(power).exp2();
            for (y, x) in [(ratio, 1.0), (1.0, ratio), (ratio, -1.0), (-1.0, -ratio), (1e3 * ratio, 3e3)] {
                assert!(ulps::<f64>(y, x) < 2.5, "f64 at ({y}, {x})");
                assert!(ulps::<f32>(y as f32, x as f32) < 2.5, "f32 at ({y}, {x})");
            }
        }
        assert_eq!(atan2(f64::MIN_POSITIVE, 1e300), 0.0);
        assert_eq!(atan2(1e300, f64::MIN_POSITIVE), FRAC_PI_2);
        assert_eq!(atan2(f32::MIN_POSITIVE, -1e30), PI as f32);
    }

    #[test]
    fn axes_diagonals_and_zeros_are_exact() {
        fn check<S: Real>() {
            let at = |y: f64, x: f64| atan2(S::from_f64(y), S::from_f64(x));
            let is = |v: f64| S::from_f64(v);
            assert_eq!(at(0.0, 0.0), is(0.0));
            assert_eq!(at(-0.0, -0.0), is(0.0));
            assert_eq!(at(0.0, 2.0), is(0.0));
            assert_eq!(at(0.0, -2.0), is(PI));
            assert_eq!(at(-0.0, -2.0), is(PI));
            assert_eq!(at(3.0, 0.0), is(FRAC_PI_2));
            assert_eq!(at(-3.0, -0.0), is(-FRAC_PI_2));
            assert_eq!(at(5.0, 5.0), is(FRAC_PI_4));
            assert_eq!(at(-5.0, 5.0), is(-FRAC_PI_4));
            assert_eq!(at(5.0, -5.0), is(3.0 * FRAC_PI_4));
        }
        check::<f32>();
        check::<f64>();
        assert!(atan2(f64::NAN, 1.0).is_nan() && atan2(1.0, f64::NAN).is_nan());
    }

    /// Distance of ln x to the reference in units in the last place of the scalar `S`.
    fn ln_ulps<S: Real>(x: f64) -> f64 {
        let x = S::from_f64(x);
        let expected = x.to_f64().ln();
        let spacing = S::EPSILON.to_f64() * expected.abs().log2().floor().exp2();
        let error = (ln(x).to_f64() - expected).abs();
        if error == 0.0 { 0.0 } else { error / spacing }
    }

    #[test]
    fn logarithm_stays_below_two_and_a_half_units_in_the_last_place() {
        let (mut single, mut double) = (0.0_f64, 0.0_f64);
        for i in 0..400_000_u32 {
            let t = f64::from(i) / 400_000.0;
            // All magnitudes, subnormal ones included; then [0, 4]; then both sides of 1 ever closer.
            double = double.max(ln_ulps::<f64>((t * 2098.0 - 1074.0).exp2()));
            single = single.max(ln_ulps::<f32>((t * 276.0 - 149.0).exp2()));
            for x in [4.0 * t + 1e-9, 1.0 + (-50.0 * t).exp2(), 1.0 - (-50.0 * t - 1.0).exp2()] {
                double = double.max(ln_ulps::<f64>(x));
                single = single.max(ln_ulps::<f32>(x));
            }
        }
        assert!(single < 2.5, "f32: {single} ulp");
        assert!(double < 2.5, "f64: {double} ulp");
        assert_eq!((ln(1.0_f64), ln(1.0_f32)), (0.0, 0.0));
        assert_eq!((ln(0.0_f64), ln(-3.0_f32)), (f64::NEG_INFINITY, f32::NEG_INFINITY));
    }

    #[test]
    fn logarithm_of_a_ratio_keeps_its_digits_near_one() {
        for i in 1..1000_u32 {
            // a/b = 1 + k ε': its rounding alone would cost up to half the digits.
            let b = 1.0 + f64::from(i) * 1e-3;
            let a = b * (1.0 + f64::from(i) * 1e-9);
            let exact = ((a - b) / b).ln_1p();
            assert!((ln_ratio(a, b) - exact).abs() <= 4.0 * f64::EPSILON * exact);
        }
    }

    #[test]
    fn odd_in_y_and_mirrored_in_x() {
        for i in 1..1000_u32 {
            let (sin, cos) = (f64::from(i) * 0.003_141).sin_cos();
            assert_eq!(atan2(-sin, cos), -atan2(sin, cos));
            assert!((atan2(sin, -cos) - (PI - atan2(sin, cos))).abs() < 1e-15);
        }
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        for i in 0..20_000_u32 {
            let mut columns = [Octet([0.0_f32; BLOCK]), Octet([0.0_f32; BLOCK])];
            for k in 0..BLOCK {
                let t = f64::from(i * 8 + k as u32);
                columns[0].0[k] = ((t * 0.618_034).sin() * (t % 17.0 - 8.0).exp2()) as f32;
                columns[1].0[k] = if i % 64 == 0 { 0.0 } else { ((t * 0.414_214).sin() * (t % 13.0).exp2()) as f32 };
            }
            let mut wide = Octet([0.0_f32; BLOCK]);
            atan2(wide::f32x8::load(&columns[0], 0), wide::f32x8::load(&columns[1], 0)).store(&mut wide, 0);
            for k in 0..BLOCK {
                assert_eq!(wide.0[k].to_bits(), atan2(columns[0].0[k], columns[1].0[k]).to_bits());
            }
        }
    }

    #[test]
    fn cube_roots_are_right_to_the_last_digits() {
        for i in 0..=1000 {
            let x = 0.125 * 64_f64.powf(f64::from(i) / 1000.0);
            assert!((cube_root(x) / x.cbrt() - 1.0).abs() < 5e-16, "{x}");
            assert!((f64::from(cube_root(x as f32)) / f64::from(x as f32).cbrt() - 1.0).abs() < 3e-7, "{x}");
        }
    }
}
