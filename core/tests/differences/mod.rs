//! Derivatives by central differences, in double precision.

use pliant_core::vec3::Vec3;

/// Corners of an element \[m\].
pub type Points<const N: usize> = [Vec3<f64>; N];

/// x with one coordinate of one point moved.
pub fn moved<const N: usize>(x: &Points<N>, point: usize, axis: usize, by: f64) -> Points<N> {
    let mut x = *x;
    let mut p: [f64; 3] = x[point].into();
    p[axis] += by;
    x[point] = p.into();
    x
}

/// The derivative of `f` along one coordinate: (8 (f₊₁ − f₋₁) − (f₊₂ − f₋₂))/(12 h), error O(h⁴).
pub fn slope<const N: usize>(x: &Points<N>, point: usize, axis: usize, f: impl Fn(&Points<N>) -> f64) -> f64 {
    let h = 1e-4;
    let at = |steps: f64| f(&moved(x, point, axis, steps * h));
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
}
