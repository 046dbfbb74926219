//! AVX2 lanes: eight `f32` or four `f64` in a 256-bit register, chosen at run time.
//!
//! The methods are `#[inline(always)]` and only ever run inside [`enter`], which turns the instruction set on. Only exactly
//! rounded operations are used, so the results are the scalar ones.
//!
//! Pitfall: a closure inside a kernel is compiled without AVX2 and turns every operation into a call. Kernels use plain
//! loops; the bench `kernels` shows at once when one slips in.

mod rows;

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Neg, Sub};

use pliant_core::lane::{BLOCK, Lane, Octet};
use pliant_core::vec3::Vec3;

use crate::memory::{Kernel, MemoryLane};
use rows::*;

/// Runs a kernel with AVX2 turned on, and what counts bits. No fused multiply-add: its results would be others.
///
/// # Safety
/// The processor has these instructions: [`Detected`](crate::isa::Detected).
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) unsafe fn enter<L: MemoryLane, K: Kernel<L::Scalar>>(kernel: K) {
    kernel.run::<L>();
}

/// Eight single-precision numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F32x8(__m256);

/// Four double-precision numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F64x4(__m256d);

/// Writes the arithmetic of one AVX2 lane type from its intrinsics.
macro_rules! avx2_lane {
    ($lane:ident, $t:ident, $width:literal, $add:ident, $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $set1:ident,
     $xor:ident, $and:ident, $max:ident, $min:ident, $cmp:ident, $blend:ident, $load:ident, $store:ident, $sums:ident,
     $movemask:ident, $andnot:ident, $least:ident, $turn_rows:ident, $turn_columns:ident) => {
        impl Add for $lane {
            type Output = Self;
            #[inline(always)]
            fn add(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $add(self.0, rhs.0) })
            }
        }
        impl Sub for $lane {
            type Output = Self;
            #[inline(always)]
            fn sub(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $sub(self.0, rhs.0) })
            }
        }
        impl Mul for $lane {
            type Output = Self;
            #[inline(always)]
            fn mul(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $mul(self.0, rhs.0) })
            }
        }
        impl Div for $lane {
            type Output = Self;
            #[inline(always)]
            fn div(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $div(self.0, rhs.0) })
            }
        }
        impl Neg for $lane {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $xor(self.0, $set1(-0.0)) })
            }
        }
        impl Lane for $lane {
            type Scalar = $t;
            type Mask = Self;
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(v: $t) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $set1(v) })
            }
            #[inline(always)]
            fn load(from: &Octet<$t>, at: usize) -> Self {
                // SAFETY: `at` is a multiple of the width, and the slice proves that many numbers follow.
                Self(unsafe { $load(from.0[at..at + $width].as_ptr()) })
            }
            #[inline(always)]
            fn store(self, to: &mut Octet<$t>, at: usize) {
                // SAFETY: as for `load`.
                unsafe { $store(to.0[at..at + $width].as_mut_ptr(), self.0) }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn gt(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $cmp::<_CMP_GT_OQ>(self.0, rhs.0) })
            }
            #[inline(always)]
            fn ge(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $cmp::<_CMP_GE_OQ>(self.0, rhs.0) })
            }
            #[inline(always)]
            fn both(a: Self, b: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $and(a.0, b.0) })
            }
            #[inline(always)]
            fn any(mask: Self) -> bool {
                // SAFETY: lanes exist only inside `enter`.
                unsafe { $movemask(mask.0) != 0 }
            }
            #[inline(always)]
            fn select(mask: Self, a: Self, b: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $blend(b.0, a.0, mask.0) })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $andnot($set1(-0.0), self.0) })
            }
            #[inline(always)]
            fn flip(self, sign: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $xor(self.0, $and($set1(-0.0), sign.0)) })
            }
            #[inline(always)]
            fn sums(of: &[Octet<$t>; BLOCK]) -> Octet<$t> {
                // SAFETY: lanes exist only inside `enter`.
                unsafe { $sums(of) }
            }
            #[inline(always)]
            fn least(of: &[Octet<$t>; BLOCK]) -> Octet<$t> {
                // SAFETY: lanes exist only inside `enter`.
                unsafe { $least(of) }
            }
            #[inline(always)]
            fn from_rows(from: &[Octet<$t>], rows: &[u32; BLOCK], at: usize) -> [Self; 4] {
                let offsets = offsets::<$width>(rows, at, 2 * from.len());
                // SAFETY: every row begins four numbers after the one before and is inside the slice.
                unsafe { <Self as MemoryLane>::gather(from.as_ptr().cast(), offsets.as_ptr()) }
            }
            #[inline(always)]
            fn to_rows(columns: [Self; 4], to: &mut [Octet<$t>], rows: &[u32; BLOCK], at: usize) {
                let offsets = offsets::<$width>(rows, at, 2 * to.len());
                // SAFETY: as for `from_rows`; the slice is borrowed for writing.
                unsafe { <Self as MemoryLane>::scatter(to.as_mut_ptr().cast(), offsets.as_ptr(), columns) }
            }
            #[inline(always)]
            fn turn_rows(rows: [&[$t; 4]; BLOCK], at: usize) -> [Self; 3] {
                // SAFETY: lanes exist only inside `enter`.
                let [x, y, z] = unsafe { $turn_rows(rows, at) };
                [Self(x), Self(y), Self(z)]
            }
            #[inline(always)]
            fn turn_columns([x, y, z]: [Self; 3], rows: &mut [[$t; 4]; BLOCK], at: usize) {
                // SAFETY: lanes exist only inside `enter`.
                unsafe { $turn_columns([x.0, y.0, z.0], rows, at) }
            }
            #[inline(always)]
            fn pair_up<const SORTED: bool>(
                one: u32,
                others: &[u32; BLOCK],
                bits: u8,
                to: &mut [[u32; 2]; BLOCK],
            ) -> usize {
                // SAFETY: lanes exist only inside `enter`.
                unsafe { pair_up::<SORTED>(one, others, bits, to) }
            }
            #[inline(always)]
            fn bits(mask: Self) -> u32 {
                // SAFETY: lanes exist only inside `enter`.
                (unsafe { $movemask(mask.0) }) as u32
            }
            // The instructions return the second operand unless the first is strictly larger (smaller): the definition.
            #[inline(always)]
            fn max(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $max(self.0, rhs.0) })
            }
            #[inline(always)]
            fn min(self, rhs: Self) -> Self {
                // SAFETY: lanes exist only inside `enter`.
                Self(unsafe { $min(self.0, rhs.0) })
            }
        }
    };
}

avx2_lane!(
    F32x8,
    f32,
    8,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_div_ps,
    _mm256_sqrt_ps,
    _mm256_set1_ps,
    _mm256_xor_ps,
    _mm256_and_ps,
    _mm256_max_ps,
    _mm256_min_ps,
    _mm256_cmp_ps,
    _mm256_blendv_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    sums_ps,
    _mm256_movemask_ps,
    _mm256_andnot_ps,
    least_ps,
    turn_rows_ps,
    turn_columns_ps
);
avx2_lane!(
    F64x4,
    f64,
    4,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_sqrt_pd,
    _mm256_set1_pd,
    _mm256_xor_pd,
    _mm256_and_pd,
    _mm256_max_pd,
    _mm256_min_pd,
    _mm256_cmp_pd,
    _mm256_blendv_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    sums_pd,
    _mm256_movemask_pd,
    _mm256_andnot_pd,
    least_pd,
    turn_rows_pd,
    turn_columns_pd
);

// SAFETY: reads and writes exactly the numbers the methods name.
unsafe impl MemoryLane for F32x8 {
    #[inline(always)]
    unsafe fn read(from: *const f32) -> Self {
        // SAFETY: the caller vouches for eight numbers; the load needs no alignment.
        Self(unsafe { _mm256_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut f32) {
        // SAFETY: the caller vouches for eight numbers.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn gather(base: *const f32, offsets: *const u32) -> [Self; 4] {
        // SAFETY: passed on to the caller.
        let c = unsafe { transpose4(rows8(base, offsets)) };
        [Self(c[0]), Self(c[1]), Self(c[2]), Self(c[3])]
    }
    #[inline(always)]
    unsafe fn scatter(base: *mut f32, offsets: *const u32, c: [Self; 4]) {
        // SAFETY: passed on to the caller.
        unsafe { write_rows8(base, offsets, transpose4([c[0].0, c[1].0, c[2].0, c[3].0])) }
    }

    type Pair = (Rows8, Rows8);
    #[inline(always)]
    unsafe fn read_pair(base: *const f32, a: *const u32, b: *const u32) -> (Self::Pair, Vec3<Self>) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (ra, rb) = (rows8(base, a), rows8(base, b));
            let c = transpose4(difference8(ra, rb));
            ((ra, rb), Vec3::new(Self(c[0]), Self(c[1]), Self(c[2])))
        }
    }
    #[inline(always)]
    unsafe fn move_pair(
        base: *mut f32,
        a: *const u32,
        b: *const u32,
        (ra, rb): Self::Pair,
        _: Vec3<Self>,
        (sa, sb): (Self, Self),
    ) {
        // SAFETY: passed on to the caller. The shuffle spreads lane l over row l and lane l + 4 over row l + 4.
        unsafe {
            let spread_a = [
                _mm256_shuffle_ps::<0b00_00_00_00>(sa.0, sa.0),
                _mm256_shuffle_ps::<0b01_01_01_01>(sa.0, sa.0),
                _mm256_shuffle_ps::<0b10_10_10_10>(sa.0, sa.0),
                _mm256_shuffle_ps::<0b11_11_11_11>(sa.0, sa.0),
            ];
            let spread_b = [
                _mm256_shuffle_ps::<0b00_00_00_00>(sb.0, sb.0),
                _mm256_shuffle_ps::<0b01_01_01_01>(sb.0, sb.0),
                _mm256_shuffle_ps::<0b10_10_10_10>(sb.0, sb.0),
                _mm256_shuffle_ps::<0b11_11_11_11>(sb.0, sb.0),
            ];
            let (mut ra, mut rb, d) = (ra, rb, difference8(ra, rb));
            for l in 0..4 {
                ra[l] = _mm256_add_ps(ra[l], _mm256_mul_ps(d[l], spread_a[l]));
                rb[l] = _mm256_sub_ps(rb[l], _mm256_mul_ps(d[l], spread_b[l]));
            }
            write_rows8(base, a, ra);
            write_rows8(base, b, rb);
        }
    }
}

// SAFETY: reads and writes exactly the numbers the methods name.
unsafe impl MemoryLane for F64x4 {
    #[inline(always)]
    unsafe fn read(from: *const f64) -> Self {
        // SAFETY: the caller vouches for four numbers; the load needs no alignment.
        Self(unsafe { _mm256_loadu_pd(from) })
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut f64) {
        // SAFETY: the caller vouches for four numbers.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }
    #[inline(always)]
    unsafe fn gather(base: *const f64, offsets: *const u32) -> [Self; 4] {
        // SAFETY: passed on to the caller.
        unsafe {
            let c = transpose_f64([
                _mm256_loadu_pd(base.add(*offsets as usize)),
                _mm256_loadu_pd(base.add(*offsets.add(1) as usize)),
                _mm256_loadu_pd(base.add(*offsets.add(2) as usize)),
                _mm256_loadu_pd(base.add(*offsets.add(3) as usize)),
            ]);
            [Self(c[0]), Self(c[1]), Self(c[2]), Self(c[3])]
        }
    }
    #[inline(always)]
    unsafe fn scatter(base: *mut f64, offsets: *const u32, c: [Self; 4]) {
        // SAFETY: passed on to the caller.
        unsafe {
            let rows = transpose_f64([c[0].0, c[1].0, c[2].0, c[3].0]);
            for l in 0..4 {
                _mm256_storeu_pd(base.add(*offsets.add(l) as usize), rows[l]);
            }
        }
    }

    type Pair = ([Self; 4], [Self; 4]);
    #[inline(always)]
    unsafe fn read_pair(base: *const f64, a: *const u32, b: *const u32) -> (Self::Pair, Vec3<Self>) {
        // SAFETY: passed on to the caller.
        let (a, b) = unsafe { (Self::gather(base, a), Self::gather(base, b)) };
        ((a, b), Vec3::new(a[0] - b[0], a[1] - b[1], a[2] - b[2]))
    }
    #[inline(always)]
    unsafe fn move_pair(
        base: *mut f64,
        a: *const u32,
        b: *const u32,
        (ra, rb): Self::Pair,
        d: Vec3<Self>,
        (sa, sb): (Self, Self),
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            Self::scatter(base, a, [ra[0] + d.x * sa, ra[1] + d.y * sa, ra[2] + d.z * sa, ra[3]]);
            Self::scatter(base, b, [rb[0] - d.x * sb, rb[1] - d.y * sb, rb[2] - d.z * sb, rb[3]]);
        }
    }
}
