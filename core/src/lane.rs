//! Lanes: the numbers a kernel computes with, one at a time (`f32`, `f64`) or several side by side.
//!
//! A kernel is written once, generic over [`Lane`], and a backend decides how wide it runs. Lanes offer only operations
//! that IEEE 754 rounds exactly (+ − × ÷ √, comparison, select), so every width gives the same bits. There is deliberately
//! no fused multiply-add and no reciprocal estimate here.

use core::fmt::{Debug, Display};
use core::ops::{Add, Div, Mul, Neg, Sub};

/// How many constraints or particles a memory block holds: every lane width divides it.
///
/// Eight 32-bit lanes fill an AVX2 register; narrower lanes walk a block in several steps.
pub const BLOCK: usize = 8;

/// Eight numbers that are loaded and stored together, aligned for the widest lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Octet<S>(pub [S; BLOCK]);

/// One or several numbers that move through a kernel together.
pub trait Lane:
    Copy
    + Send
    + Sync
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The number in one lane: `f32` or `f64`.
    type Scalar: Real;
    /// The result of a comparison, lane by lane.
    type Mask: Copy;
    /// How many numbers stand side by side: 1, 4 or 8.
    const WIDTH: usize;

    /// The same number in every lane.
    fn splat(v: Self::Scalar) -> Self;
    /// Lanes `at .. at + WIDTH` of a block; `at` is a multiple of `WIDTH`.
    fn load(from: &Octet<Self::Scalar>, at: usize) -> Self;
    /// Writes lanes `at .. at + WIDTH` of a block; `at` is a multiple of `WIDTH`.
    fn store(self, to: &mut Octet<Self::Scalar>, at: usize);

    /// √ of each lane, exactly rounded.
    fn sqrt(self) -> Self;
    /// self > rhs, false where either is NaN.
    fn gt(self, rhs: Self) -> Self::Mask;
    /// self ≥ rhs, false where either is NaN.
    fn ge(self, rhs: Self) -> Self::Mask;
    /// Both masks.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether the mask holds in any lane. For skipping work whose result nobody keeps, never for choosing a result: how
    /// many lanes share a branch depends on the backend.
    fn any(mask: Self::Mask) -> bool;
    /// `a` where the mask holds, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// One bit a lane, the first lane lowest: where masks leave the lanes.
    fn bits(mask: Self::Mask) -> u32;

    /// The sum of each of eight blocks, joined as ((0+1)+(2+3))+((4+5)+(6+7)).
    #[inline(always)]
    fn sums(of: &[Octet<Self::Scalar>; BLOCK]) -> Octet<Self::Scalar> {
        let mut sums = [Self::Scalar::ZERO; BLOCK];
        for k in 0..BLOCK {
            let v = &of[k].0;
            sums[k] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
        }
        Octet(sums)
    }
    /// The least number of each of eight blocks, none of them NaN.
    #[inline(always)]
    fn least(of: &[Octet<Self::Scalar>; BLOCK]) -> Octet<Self::Scalar> {
        let mut least = [Self::Scalar::ZERO; BLOCK];
        for k in 0..BLOCK {
            let v = &of[k].0;
            let (a, b) = (Lane::min(v[0], v[1]), Lane::min(v[2], v[3]));
            let (c, d) = (Lane::min(v[4], v[5]), Lane::min(v[6], v[7]));
            least[k] = Lane::min(Lane::min(a, b), Lane::min(c, d));
        }
        Octet(least)
    }
    /// Rows of four numbers, transposed: lane l gets row `rows[at + l]`. Row r is half an octet: the one at r/2, its first
    /// half where r is even.
    ///
    /// Panics when a row is beyond the end.
    #[inline(always)]
    fn from_rows(from: &[Octet<Self::Scalar>], rows: &[u32; BLOCK], at: usize) -> [Self; 4] {
        let mut columns = [Octet([Self::Scalar::ZERO; BLOCK]); 4];
        for lane in at..at + Self::WIDTH {
            let row = rows[lane] as usize;
            let half = &from[row / 2].0[4 * (row % 2)..][..4];
            for k in 0..4 {
                columns[k].0[lane] = half[k];
            }
        }
        [
            Self::load(&columns[0], at),
            Self::load(&columns[1], at),
            Self::load(&columns[2], at),
            Self::load(&columns[3], at),
        ]
    }
    /// Writes rows of four numbers where [`from_rows`](Self::from_rows) reads them.
    ///
    /// Panics when a row is beyond the end.
    #[inline(always)]
    fn to_rows(columns: [Self; 4], to: &mut [Octet<Self::Scalar>], rows: &[u32; BLOCK], at: usize) {
        let mut stored = [Octet([Self::Scalar::ZERO; BLOCK]); 4];
        for k in 0..4 {
            columns[k].store(&mut stored[k], at);
        }
        for lane in at..at + Self::WIDTH {
            let row = rows[lane] as usize;
            let half = &mut to[row / 2].0[4 * (row % 2)..][..4];
            for k in 0..4 {
                half[k] = stored[k].0[lane];
            }
        }
    }
    /// The first three numbers of rows `at .. at + WIDTH`, as columns: [`from_rows`](Self::from_rows) for rows that stand in no octets.
    #[inline(always)]
    fn turn_rows(rows: [&[Self::Scalar; 4]; BLOCK], at: usize) -> [Self; 3] {
        let mut columns = [Octet([Self::Scalar::ZERO; BLOCK]); 3];
        for l in at..at + Self::WIDTH {
            for k in 0..3 {
                columns[k].0[l] = rows[l][k];
            }
        }
        [Self::load(&columns[0], at), Self::load(&columns[1], at), Self::load(&columns[2], at)]
    }
    /// Writes columns as rows `at .. at + WIDTH`, with 0 as their fourth number.
    #[inline(always)]
    fn turn_columns(columns: [Self; 3], rows: &mut [[Self::Scalar; 4]; BLOCK], at: usize) {
        let mut octets = [Octet([Self::Scalar::ZERO; BLOCK]); 3];
        for k in 0..3 {
            columns[k].store(&mut octets[k], at);
        }
        for l in at..at + Self::WIDTH {
            rows[l] = [octets[0].0[l], octets[1].0[l], octets[2].0[l], Self::Scalar::ZERO];
        }
    }
    /// Pairs of one id with those of eight others whose bits are set, in their order, the lower id first where `SORTED`; returns how
    /// many there are. What stands behind them means nothing.
    #[inline(always)]
    fn pair_up<const SORTED: bool>(one: u32, others: &[u32; BLOCK], bits: u8, to: &mut [[u32; 2]; BLOCK]) -> usize {
        let (mut rest, mut count) = (bits, 0);
        while rest != 0 {
            let other = others[rest.trailing_zeros() as usize % BLOCK];
            rest &= rest - 1;
            to[count % BLOCK] = if SORTED { [one.min(other), one.max(other)] } else { [one, other] };
            count += 1;
        }
        count
    }

    /// Zero in every lane.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(Self::Scalar::ZERO)
    }
    /// One in every lane.
    #[inline(always)]
    fn one() -> Self {
        Self::splat(Self::Scalar::ONE)
    }
    /// A constant written in double precision, rounded to the lane's scalar.
    #[inline(always)]
    fn constant(v: f64) -> Self {
        Self::splat(Self::Scalar::from_f64(v))
    }
    /// The larger of both; `rhs` where `self` is NaN.
    #[inline(always)]
    fn max(self, rhs: Self) -> Self {
        Self::select(self.gt(rhs), self, rhs)
    }
    /// The smaller of both; `rhs` where `self` is NaN.
    #[inline(always)]
    fn min(self, rhs: Self) -> Self {
        Self::select(rhs.gt(self), self, rhs)
    }
    /// |self|.
    fn abs(self) -> Self;
    /// −self where another number has a minus sign, be it −0.
    fn flip(self, sign: Self) -> Self;
    /// 0 where the number is finite, NaN where it is not: added to a maximum, it keeps bad numbers from getting lost.
    #[inline(always)]
    fn blemish(self) -> Self {
        self * Self::zero()
    }
    /// numerator / self where self > 0, else 0: how kernels keep degenerate input from becoming NaN.
    #[inline(always)]
    fn divide_or_zero(self, numerator: Self) -> Self {
        let positive = self.gt(Self::zero());
        Self::select(positive, numerator / Self::select(positive, self, Self::one()), Self::zero())
    }
}

/// A single floating-point number: the scalar lane and the type of data at rest.
pub trait Real:
    Lane<Scalar = Self, Mask = bool> + PartialOrd + PartialEq + Default + Display + bytemuck::Pod + crate::model::Joins
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Four of them side by side, whatever lanes a backend has: for data that comes in rows of four.
    type Quad: Lane<Scalar = Self> + From<[Self; 4]> + Into<[Self; 4]>;
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// `"f32"` or `"f64"`.
    const NAME: &'static str;
    /// Rounds from double precision.
    fn from_f64(v: f64) -> Self;
    /// Widens to double precision.
    fn to_f64(self) -> f64;
    /// The bits, zero-extended, for hashing states.
    fn bits(self) -> u64;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

/// Writes the scalar lane of one primitive float; the only difference between the two is the type's name.
macro_rules! scalar_lane {
    ($t:ident, $quad:ty) => {
        impl Lane for $t {
            type Scalar = $t;
            type Mask = bool;
            const WIDTH: usize = 1;

            #[inline(always)]
            fn splat(v: $t) -> Self {
                v
            }
            #[inline(always)]
            fn load(from: &Octet<$t>, at: usize) -> Self {
                from.0[at]
            }
            #[inline(always)]
            fn store(self, to: &mut Octet<$t>, at: usize) {
                to.0[at] = self;
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn gt(self, rhs: Self) -> bool {
                self > rhs
            }
            #[inline(always)]
            fn ge(self, rhs: Self) -> bool {
                self >= rhs
            }
            #[inline(always)]
            fn both(a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn any(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn select(mask: bool, a: Self, b: Self) -> Self {
                if mask { a } else { b }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn flip(self, sign: Self) -> Self {
                if sign.is_sign_negative() { -self } else { self }
            }
            #[inline(always)]
            fn bits(mask: bool) -> u32 {
                u32::from(mask)
            }
        }

        impl Real for $t {
            type Quad = $quad;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const EPSILON: Self = $t::EPSILON;
            const NAME: &'static str = stringify!($t);

            #[inline(always)]
            fn from_f64(v: f64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
        }
    };
}

scalar_lane!(f32, wide::f32x4);
scalar_lane!(f64, wide::f64x4);

/// Writes the lane of one `wide` type of `$width` numbers.
macro_rules! wide_lane {
    ($wide:ty, $t:ident, $width:literal) => {
        impl Lane for $wide {
            type Scalar = $t;
            type Mask = $wide;
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(v: $t) -> Self {
                <$wide>::splat(v)
            }
            #[inline(always)]
            fn load(from: &Octet<$t>, at: usize) -> Self {
                let (chunks, _) = from.0.as_chunks::<$width>();
                <$wide>::new(chunks[at / $width])
            }
            #[inline(always)]
            fn store(self, to: &mut Octet<$t>, at: usize) {
                let (chunks, _) = to.0.as_chunks_mut::<$width>();
                chunks[at / $width] = self.to_array();
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$wide>::sqrt(self)
            }
            #[inline(always)]
            fn gt(self, rhs: Self) -> Self {
                self.simd_gt(rhs)
            }
            #[inline(always)]
            fn ge(self, rhs: Self) -> Self {
                self.simd_ge(rhs)
            }
            #[inline(always)]
            fn both(a: Self, b: Self) -> Self {
                a & b
            }
            #[inline(always)]
            fn any(mask: Self) -> bool {
                mask.any()
            }
            #[inline(always)]
            fn select(mask: Self, a: Self, b: Self) -> Self {
                mask.bitselect(a, b)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$wide>::abs(self)
            }
            #[inline(always)]
            fn flip(self, sign: Self) -> Self {
                <$wide>::flip_signs(self, sign)
            }
            #[inline(always)]
            fn bits(mask: Self) -> u32 {
                mask.to_bitmask()
            }
        }
    };
}

wide_lane!(wide::f32x4, f32, 4);
wide_lane!(wide::f32x8, f32, 8);
wide_lane!(wide::f64x4, f64, 4);

#[cfg(test)]
mod tests {
    use super::*;

    fn agree<L: Lane<Scalar = f32>>() {
        let a = Octet([1.5, -2.0, 0.0, -0.0, 3.25e8, f32::NAN, 1e-30, 7.0]);
        let b = Octet([0.5, -2.0, -0.0, 4.0, 1.0, 1.0, -1e-30, f32::NAN]);
        for at in (0..BLOCK).step_by(L::WIDTH) {
            let (x, y) = (L::load(&a, at), L::load(&b, at));
            let scalar_bits = (0..L::WIDTH).fold(0, |bits, i| bits | u32::from(a.0[at + i] > b.0[at + i]) << i);
            assert_eq!(L::bits(x.gt(y)), scalar_bits);
            let wide = [
                x + y,
                x - y,
                x * y,
                x / y,
                -x,
                x.max(y),
                x.min(y),
                x.abs(),
                x.abs().sqrt(),
                y.divide_or_zero(x),
                x.flip(y),
            ];
            for (op, value) in wide.into_iter().enumerate() {
                let mut out = Octet([0.0; BLOCK]);
                value.store(&mut out, at);
                for i in at..at + L::WIDTH {
                    let (x, y) = (a.0[i], b.0[i]);
                    let scalar = [
                        x + y,
                        x - y,
                        x * y,
                        x / y,
                        -x,
                        Lane::max(x, y),
                        Lane::min(x, y),
                        Lane::abs(x),
                        Lane::sqrt(Lane::abs(x)),
                        y.divide_or_zero(x),
                        Lane::flip(x, y),
                    ][op];
                    assert!(
                        out.0[i].to_bits() == scalar.to_bits() || (out.0[i].is_nan() && scalar.is_nan()),
                        "operation {op}, lane {i}: {} against {scalar}",
                        out.0[i]
                    );
                }
            }
        }
    }

    fn turn<L: Lane<Scalar = f32>>() {
        let rows: [[f32; 4]; BLOCK] = core::array::from_fn(|l| core::array::from_fn(|k| (10 * l + k) as f32));
        let mut back = [[-1.0; 4]; BLOCK];
        for at in (0..BLOCK).step_by(L::WIDTH) {
            let columns = L::turn_rows(core::array::from_fn(|l| &rows[l]), at);
            let mut octet = Octet([0.0; BLOCK]);
            columns[1].store(&mut octet, at);
            assert_eq!(octet.0[at], (10 * at + 1) as f32);
            L::turn_columns(columns, &mut back, at);
        }
        assert_eq!(back, rows.map(|[x, y, z, _]| [x, y, z, 0.0]));
    }

    #[test]
    fn rows_become_columns_and_rows_again() {
        turn::<f32>();
        turn::<wide::f32x4>();
        turn::<wide::f32x8>();
    }

    #[test]
    fn sums_of_blocks_are_trees() {
        let blocks: [Octet<f32>; BLOCK] =
            core::array::from_fn(|k| Octet(core::array::from_fn(|l| 0.1 + (8 * k + l) as f32)));
        for (sum, Octet([a, b, c, d, e, f, g, h])) in f32::sums(&blocks).0.iter().zip(blocks) {
            assert_eq!(*sum, ((a + b) + (c + d)) + ((e + f) + (g + h)));
        }
    }

    #[test]
    fn every_width_gives_the_scalar_bits() {
        agree::<f32>();
        agree::<wide::f32x4>();
        agree::<wide::f32x8>();
    }
}
