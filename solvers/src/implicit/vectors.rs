//! Long vectors in node order: sums of products and scaled sums, in chunks that do not depend on the thread count.

use pliant_core::backend::{Backend, Cut, Task};
use pliant_core::lane::{BLOCK, Lane, Real};

/// Numbers a task handles.
const CHUNK: usize = 4096;

/// Room for the partial sums of vectors of this length.
pub(crate) fn partials(length: usize) -> Vec<f64> {
    vec![0.0; length.div_ceil(CHUNK)]
}

/// a · b, added up in double precision.
pub(crate) fn dot<S: Real, B: Backend<Scalar = S>>(a: &[S], b: &[S], partials: &mut [f64], on: &B) -> f64 {
    let partials = &mut partials[..a.len().div_ceil(CHUNK)];
    on.fork(&Dot { a, b }, Cut::Every(1), partials);
    partials.iter().sum()
}

/// y ← y + scale x.
pub(crate) fn add<S: Real, B: Backend<Scalar = S>>(y: &mut [S], scale: f64, x: &[S], on: &B) {
    on.fork(&Add { x, scale: S::from_f64(scale) }, Cut::Every(CHUNK), y);
}

struct Dot<'a, S> {
    a: &'a [S],
    b: &'a [S],
}

impl<S: Real> Task<f64> for Dot<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [f64]) {
        let range = index * CHUNK..self.a.len().min((index + 1) * CHUNK);
        let ((a, a_rest), (b, b_rest)) =
            (self.a[range.clone()].as_chunks::<BLOCK>(), self.b[range].as_chunks::<BLOCK>());
        // Eight running sums: the processor need not wait for one to go on with the next.
        let mut sums = [0.0; BLOCK];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..BLOCK {
                sums[lane] += a[lane].to_f64() * b[lane].to_f64();
            }
        }
        for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
            sums[lane] += a.to_f64() * b.to_f64();
        }
        own[0] = sums.iter().sum();
    }
}

struct Add<'a, S> {
    x: &'a [S],
    scale: S,
}

impl<S: Real> Task<S> for Add<'_, S> {
    type Scalar = S;
    #[inline(always)]
    fn run<L: Lane<Scalar = S>>(&self, index: usize, own: &mut [S]) {
        for (y, &x) in own.iter_mut().zip(&self.x[index * CHUNK..]) {
            *y = *y + self.scale * x;
        }
    }
}
