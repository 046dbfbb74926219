//! Floats as reference tables write them.
//!
//! The tests of the facade include this very file (`tests/common/mod.rs`), since they cannot depend on the harness.

/// A decimal or C99 hexadecimal float (`-0x1.8p+1`), exactly.
pub fn parse_float(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let Some(hex) = digits.strip_prefix("0x") else {
        return text.parse().ok();
    };
    let (mantissa, exponent) = hex.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let integer = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent = exponent.parse::<i32>().ok()? - 4 * i32::try_from(fraction.len()).ok()?;
    // At most 53 significant bits: the integer is exact. Two halves, since 2^−1074 itself cannot be squared or inverted.
    let half = exponent / 2;
    Some(sign * integer as f64 * power_of_two(half)? * power_of_two(exponent - half)?)
}

/// 2ⁿ for normal numbers.
fn power_of_two(n: i32) -> Option<f64> {
    let biased = u64::try_from(n + 1023).ok()?;
    (1..2047).contains(&biased).then(|| f64::from_bits(biased << 52))
}
