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

/// The primitives in the order in which a Hilbert curve passes their boxes' centres; equal places in the order they were
/// given. Morton order is simpler, but jumps: eight consecutive primitives then span boxes a quarter larger.
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
        u64::from(along_curve(code)) << 32 | i as u64
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

/// How a Hilbert curve passes the eight octants of a cell: `TURNS[state][octant]` is the octant's place along the curve and,
/// above it, eight times the state inside. A state is an entry corner and an axis.   [Hamilton06]
const TURNS: [[u8; 8]; 24] = {
    let mut turns = [[0; 8]; 24];
    let mut state = 0;
    while state < 24 {
        let (entry, axis) = (state as u32 / 3, state as u32 % 3);
        let mut octant = 0;
        while octant < 8 {
            let seen = rotate(octant as u32 ^ entry, 3 - (axis + 1) % 3);
            // The place whose Gray code is what is seen.
            let place = seen ^ seen >> 1 ^ seen >> 2;
            let corner = if place == 0 { 0 } else { (place - 1) / 2 * 2 };
            let corner = corner ^ corner >> 1;
            let step = match place {
                0 => 0,
                even if even % 2 == 0 => (even - 1).trailing_ones(),
                odd => odd.trailing_ones(),
            };
            let inside = entry ^ rotate(corner, (axis + 1) % 3);
            turns[state][octant] = (place | (3 * inside + (axis + step % 3 + 1) % 3) << 3) as u8;
            octant += 1;
        }
        state += 1;
    }
    turns
};

/// [`TURNS`] for two levels at once: the place has six bits.
const DOUBLE_TURNS: [[u16; 64]; 24] = {
    let mut turns = [[0; 64]; 24];
    let mut state = 0;
    while state < 24 {
        let mut octants = 0;
        while octants < 64 {
            let outer = TURNS[state][octants >> 3] as u16;
            let inner = TURNS[outer as usize >> 3][octants & 7] as u16;
            turns[state][octants] = (outer & 7) << 3 | inner & 7 | (inner >> 3) << 6;
            octants += 1;
        }
        state += 1;
    }
    turns
};

/// Rotates three bits to the left.
const fn rotate(bits: u32, by: u32) -> u32 {
    let by = by % 3;
    (bits << by | bits >> (3 - by)) & 7
}

/// The place along a Hilbert curve of a cell given by its interleaved coordinates.
fn along_curve(cell: u32) -> u32 {
    let (mut state, mut place) = (0, 0);
    for levels in (0..BITS / 2).rev() {
        let turn = u32::from(DOUBLE_TURNS[state as usize][(cell >> (6 * levels)) as usize & 63]);
        place = place << 6 | turn & 63;
        state = turn >> 6;
    }
    place
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_along_the_curve_are_neighbours_in_space() {
        let mut cells = vec![[u32::MAX; 3]; 1 << 12];
        for x in 0..16 {
            for y in 0..16 {
                for z in 0..16 {
                    let code = spread(x) | spread(y) << 1 | spread(z) << 2;
                    // The four upper levels of the curve.
                    let place = along_curve(code << 18) >> 18;
                    assert_eq!(cells[place as usize], [u32::MAX; 3], "every place is taken once");
                    cells[place as usize] = [x, y, z];
                }
            }
        }
        for two in cells.windows(2) {
            let apart: u32 = (0..3).map(|k| two[0][k].abs_diff(two[1][k])).sum();
            assert_eq!(apart, 1, "{two:?}");
        }
    }
}
