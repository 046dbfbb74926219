//! Signs of determinants, exactly: on which side of a line or plane does a point lie?
//!
//! A determinant of differences is first evaluated in floating point; if it exceeds a bound on its rounding, its sign is
//! right. Otherwise it is evaluated again as an expansion, an unevaluated sum of numbers that holds it without any error
//! (Dekker 1971, Shewchuk 1997). Exact while no product under- or overflows: coordinates between 1e-70 and 1e70, or 0.

use std::cmp::Ordering;

/// a + b = sum + error, exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The upper and lower half of a number's digits.
fn split(a: f64) -> (f64, f64) {
    let c = 134_217_729.0 * a;
    let high = c - (c - a);
    (high, a - high)
}

/// a b = product + error, exactly.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    (product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)
}

/// A sum of numbers that do not overlap, smallest first.
#[derive(Clone, Debug, Default)]
struct Expansion(Vec<f64>);

impl Expansion {
    fn difference(a: f64, b: f64) -> Self {
        let (sum, error) = two_sum(a, -b);
        let mut this = Self::default();
        this.add_number(error);
        this.add_number(sum);
        this
    }

    fn add_number(&mut self, number: f64) {
        let mut carry = number;
        let mut terms = Vec::with_capacity(self.0.len() + 1);
        for &term in &self.0 {
            let (sum, error) = two_sum(carry, term);
            if error != 0.0 {
                terms.push(error);
            }
            carry = sum;
        }
        if carry != 0.0 {
            terms.push(carry);
        }
        self.0 = terms;
    }

    fn add(&mut self, other: &Self, sign: f64) {
        for &term in &other.0 {
            self.add_number(sign * term);
        }
    }

    fn times(&self, other: &Self) -> Self {
        let mut result = Self::default();
        for &a in &self.0 {
            for &b in &other.0 {
                let (product, error) = two_product(a, b);
                result.add_number(error);
                result.add_number(product);
            }
        }
        result
    }

    /// The largest term decides.
    fn sign(&self) -> Ordering {
        self.0.last().map_or(Ordering::Equal, |term| term.total_cmp(&0.0))
    }
}

/// The sign of a value whose rounding is at most `bound`; `None` when that leaves it open.
fn certain(value: f64, bound: f64) -> Option<Ordering> {
    if value > bound {
        Some(Ordering::Greater)
    } else if value < -bound {
        Some(Ordering::Less)
    } else {
        None
    }
}

/// The sign of (a − c) × (b − c) in the plane: whether a, b, c run counter-clockwise (greater), are in line, or clockwise.
pub fn orient2d(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> Ordering {
    let (left, right) = ((a[0] - c[0]) * (b[1] - c[1]), (a[1] - c[1]) * (b[0] - c[0]));
    // Three roundings a product and one for the difference: 4ε covers them.
    certain(left - right, 4.0 * f64::EPSILON * (left.abs() + right.abs())).unwrap_or_else(|| {
        let d = Expansion::difference;
        let mut sum = d(a[0], c[0]).times(&d(b[1], c[1]));
        sum.add(&d(a[1], c[1]).times(&d(b[0], c[0])), -1.0);
        sum.sign()
    })
}

/// The sign of det(a − d, b − d, c − d): on which side of the plane a b c the point d lies.
pub fn orient3d(a: [f64; 3], b: [f64; 3], c: [f64; 3], d: [f64; 3]) -> Ordering {
    let to = |x: [f64; 3]| [x[0] - d[0], x[1] - d[1], x[2] - d[2]];
    let rows = [to(a), to(b), to(c)];
    let (mut value, mut size) = (0.0, 0.0);
    for i in 0..3 {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let (left, right) = (rows[1][j] * rows[2][k], rows[1][k] * rows[2][j]);
        value += rows[0][i] * (left - right);
        size += rows[0][i].abs() * (left.abs() + right.abs());
    }
    // At most eight roundings on the way to a term of the sum.
    certain(value, 8.0 * f64::EPSILON * size).unwrap_or_else(|| {
        let to = |x: [f64; 3]| [0, 1, 2].map(|k| Expansion::difference(x[k], d[k]));
        let rows = [to(a), to(b), to(c)];
        let mut sum = Expansion::default();
        for i in 0..3 {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            let mut minor = rows[1][j].times(&rows[2][k]);
            minor.add(&rows[1][k].times(&rows[2][j]), -1.0);
            sum.add(&rows[0][i].times(&minor), 1.0);
        }
        sum.sign()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_flat_tetrahedra_get_the_right_sign() {
        // Points of the plane x + y + z = 1 up to the last bit, and one moved by one unit in the last place.
        let (a, b, c) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
        for k in 1..200 {
            // Dyadic, so that the sum is exactly 1.
            let (x, y) = (f64::from(k) / 1024.0, f64::from(3 * k % 512) / 1024.0);
            let on = [x, y, 1.0 - x - y];
            assert_eq!(orient3d(a, b, c, on), Ordering::Equal);
            for (up, sign) in [(on[0].next_up(), Ordering::Less), (on[0].next_down(), Ordering::Greater)] {
                assert_eq!(orient3d(a, b, c, [up, on[1], on[2]]), sign, "row {k}");
            }
        }
        assert_eq!(orient3d(a, b, c, [0.0; 3]), Ordering::Greater);
    }

    #[test]
    fn nearly_straight_lines_get_the_right_sign() {
        for k in 1..100 {
            let step = f64::from(k) * 0.1;
            let (a, b) = ([0.5, 0.5], [12.0, 12.0]);
            assert_eq!(orient2d(a, b, [step, step]), Ordering::Equal);
            assert_eq!(orient2d(a, b, [step, step.next_up()]), Ordering::Greater);
            assert_eq!(orient2d(a, b, [step, step.next_down()]), Ordering::Less);
        }
    }
}
