//! What a precision can hold: numbers of descriptions come in double precision, and kernels compute in that of the model.

use crate::lane::Real;

/// Lengths above this \[m\] are refused, as positions are: squares stay far from overflow in single precision.
pub(crate) const LONGEST: f64 = 1e9;

const TOO_LARGE: &str = "at most 3.4e38, the largest number in single precision (use a smaller one, or f64)";
#[cfg(feature = "collision")]
const TOO_SMALL: &str = "at least 1.4e-45, the smallest number in single precision (use a larger one, or f64)";

/// A number above 0 that is one in precision `S` too, or what was expected instead.
#[cfg(feature = "collision")]
pub(crate) fn positive<S: Real>(value: f64) -> Result<S, &'static str> {
    match not_negative::<S>(value) {
        Ok(held) if held > S::ZERO => Ok(held),
        Ok(_) if value > 0.0 => Err(TOO_SMALL),
        Err(TOO_LARGE) => Err(TOO_LARGE),
        _ => Err("a finite number above 0"),
    }
}

/// A number of 0 or more that precision `S` holds, or what was expected instead.
pub(crate) fn not_negative<S: Real>(value: f64) -> Result<S, &'static str> {
    let held = S::from_f64(value);
    match () {
        () if !(value.is_finite() && value >= 0.0) => Err("a finite number, 0 or more"),
        () if !Real::is_finite(held) => Err(TOO_LARGE),
        () => Ok(held),
    }
}

/// A length that may be 0 \[m\].
pub(crate) fn length<S: Real>(value: f64) -> Result<S, &'static str> {
    within(value).and_then(not_negative)
}

/// A length above 0 \[m\].
#[cfg(feature = "collision")]
pub(crate) fn positive_length<S: Real>(value: f64) -> Result<S, &'static str> {
    within(value).and_then(positive)
}

/// What is not longer than anything may be.
fn within(value: f64) -> Result<f64, &'static str> {
    if value > LONGEST && value.is_finite() { Err("at most 1e9 m") } else { Ok(value) }
}
