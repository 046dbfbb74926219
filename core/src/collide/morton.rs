//! The order of primitives along a space-filling curve, so that neighbours in memory are neighbours in space.

use super::aabb::Aabb;
use crate::lane::Real;

/// Memory of [`sort`], kept between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    keys: Vec<u64>,
    other: Vec<u64>,
}

/// Bits of a coordinate: 30 bits a key are three passes of the sort.
const BITS: u32 = 10;
/// Bits a pass of the sort looks at.
const DIGIT: u32 = 10;

/// The primitives in Morton order of their boxes' centres; equal places in the order they were given.
pub(super) fn sort<S: Real>(boxes: &[Aabb<S>], order: &mut Vec<u32>, scratch: &mut Scratch) {
    let mut whole = Aabb::empty();
    for aabb in boxes {
        whole = whole.union(aabb);
    }
    // Twice the centre is low + high; a flat axis has no width and gets 0 everywhere.
    let low = whole.low().map(S::to_f64);
    let high = whole.high().map(S::to_f64);
    let cells = f64::from(1_u32 << BITS);
    let scale: [f64; 3] = std::array::from_fn(|k| {
        let width = 2.0 * (high[k] - low[k]);
        if width > 0.0 { cells / width } else { 0.0 }
    });
    scratch.keys.clear();
    scratch.keys.extend(boxes.iter().enumerate().map(|(i, aabb)| {
        let r = &aabb.0.0;
        let mut code = 0;
        for k in 0..3 {
            let place = (r[k].to_f64() - low[k] + (-r[k + 3].to_f64() - low[k])) * scale[k];
            // The conversion saturates, also for what rounding pushes out of range.
            code |= spread((place as u32).min((1 << BITS) - 1)) << k;
        }
        u64::from(code) << 32 | i as u64
    }));
    radix_sort(&mut scratch.keys, &mut scratch.other, 32, 3 * BITS);
    order.clear();
    order.extend(scratch.keys.iter().map(|key| *key as u32));
}

/// Puts two zero bits between the ten lowest bits.
fn spread(x: u32) -> u32 {
    let x = (x | x << 16) & 0x0300_00ff;
    let x = (x | x << 8) & 0x0300_f00f;
    let x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}

/// Sorts by `bits` bits above `shift`; equal ones keep their order.
pub(super) fn radix_sort(keys: &mut Vec<u64>, other: &mut Vec<u64>, shift: u32, bits: u32) {
    const SIZE: usize = 1 << DIGIT;
    other.clear();
    other.resize(keys.len(), 0);
    let mut done = 0;
    while done < bits {
        let digit = |key: u64| (key >> (shift + done)) as usize & (SIZE - 1);
        let mut starts = [0_u32; SIZE];
        for &key in keys.iter() {
            starts[digit(key)] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            (*start, sum) = (sum, sum + *start);
        }
        for &key in keys.iter() {
            let start = &mut starts[digit(key)];
            other[*start as usize] = key;
            *start += 1;
        }
        std::mem::swap(keys, other);
        done += DIGIT;
    }
}
