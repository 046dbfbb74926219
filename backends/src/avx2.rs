//! AVX2 lanes: eight `f32` or four `f64` in a 256-bit register, chosen at run time.
//!
//! The methods are `#[inline(always)]` and only ever run inside [`enter`], which turns the instruction set on. Only exactly
//! rounded operations are used, so the results are the scalar ones.
//!
//! Pitfall: a closure inside a kernel is compiled without AVX2 and turns every operation into a call. Kernels use plain
//! loops; the bench `kernels` shows at once when one slips in.

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Neg, Sub};

use pliant_core::lane::{BLOCK, Lane, Octet};
use pliant_core::vec3::Vec3;

use crate::memory::{Kernel, MemoryLane};

/// Runs a kernel with AVX2 turned on.
///
/// # Safety
/// The processor has AVX2.
#[target_feature(enable = "avx2")]
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
     $movemask:ident, $andnot:ident, $columns:ident) => {
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
            fn columns(rows: &[Octet<$t>; 4]) -> [Self; 4] {
                // SAFETY: lanes exist only inside `enter`.
                let c = unsafe { $columns(rows) };
                [Self(c[0]), Self(c[1]), Self(c[2]), Self(c[3])]
            }
            #[inline(always)]
            fn sums(of: &[Octet<$t>; BLOCK]) -> Octet<$t> {
                // SAFETY: lanes exist only inside `enter`.
                unsafe { $sums(of) }
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
    columns_ps
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
    columns_pd
);

/// The tree of [`Lane::sums`] by horizontal additions: neighbours first, then pairs, then the halves.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
unsafe fn sums_ps(of: &[Octet<f32>; BLOCK]) -> Octet<f32> {
    let mut sums = Octet([0.0; BLOCK]);
    // SAFETY: AVX2 is on, and an octet holds eight numbers.
    unsafe {
        let v = [
            _mm256_loadu_ps(of[0].0.as_ptr()),
            _mm256_loadu_ps(of[1].0.as_ptr()),
            _mm256_loadu_ps(of[2].0.as_ptr()),
            _mm256_loadu_ps(of[3].0.as_ptr()),
            _mm256_loadu_ps(of[4].0.as_ptr()),
            _mm256_loadu_ps(of[5].0.as_ptr()),
            _mm256_loadu_ps(of[6].0.as_ptr()),
            _mm256_loadu_ps(of[7].0.as_ptr()),
        ];
        let low = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
        let high = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
        let first = _mm256_permute2f128_ps::<0x20>(low, high);
        let second = _mm256_permute2f128_ps::<0x31>(low, high);
        _mm256_storeu_ps(sums.0.as_mut_ptr(), _mm256_add_ps(first, second));
    }
    sums
}

/// As [`sums_ps`]; an octet fills two registers.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
unsafe fn sums_pd(of: &[Octet<f64>; BLOCK]) -> Octet<f64> {
    let mut sums = Octet([0.0; BLOCK]);
    for k in [0, 2, 4, 6] {
        let (a, b) = (of[k].0.as_ptr(), of[k + 1].0.as_ptr());
        // SAFETY: AVX2 is on, an octet holds eight numbers, and `k + 1` is less than eight.
        unsafe {
            // [a0+a1, b0+b1, a2+a3, b2+b3] and the same for the second halves.
            let low = _mm256_hadd_pd(_mm256_loadu_pd(a), _mm256_loadu_pd(b));
            let high = _mm256_hadd_pd(_mm256_loadu_pd(a.add(4)), _mm256_loadu_pd(b.add(4)));
            let low = _mm_add_pd(_mm256_castpd256_pd128(low), _mm256_extractf128_pd::<1>(low));
            let high = _mm_add_pd(_mm256_castpd256_pd128(high), _mm256_extractf128_pd::<1>(high));
            _mm_storeu_pd(sums.0[k..k + 2].as_mut_ptr(), _mm_add_pd(low, high));
        }
    }
    sums
}

/// Rows l and l + 4 in the two halves of a register, for l = 0 … 3.
type Rows8 = [__m256; 4];

/// Eight rows at eight offsets.
///
/// # Safety
/// AVX2 is on, and every offset is of a row inside the field at `base`.
#[inline(always)]
unsafe fn rows8(base: *const f32, offsets: *const u32) -> Rows8 {
    // SAFETY: passed on to the caller.
    unsafe {
        let row = [
            base.add(*offsets as usize),
            base.add(*offsets.add(1) as usize),
            base.add(*offsets.add(2) as usize),
            base.add(*offsets.add(3) as usize),
            base.add(*offsets.add(4) as usize),
            base.add(*offsets.add(5) as usize),
            base.add(*offsets.add(6) as usize),
            base.add(*offsets.add(7) as usize),
        ];
        [
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(row[0])), _mm_loadu_ps(row[4])),
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(row[1])), _mm_loadu_ps(row[5])),
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(row[2])), _mm_loadu_ps(row[6])),
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(row[3])), _mm_loadu_ps(row[7])),
        ]
    }
}

/// Writes eight rows at eight offsets.
///
/// # Safety
/// As for [`rows8`], and nobody else touches those rows.
#[inline(always)]
unsafe fn write_rows8(base: *mut f32, offsets: *const u32, rows: Rows8) {
    for l in 0..4 {
        // SAFETY: passed on to the caller.
        unsafe {
            _mm_storeu_ps(base.add(*offsets.add(l) as usize), _mm256_castps256_ps128(rows[l]));
            _mm_storeu_ps(base.add(*offsets.add(l + 4) as usize), _mm256_extractf128_ps::<1>(rows[l]));
        }
    }
}

/// Rows to columns; its own inverse up to the order of halves, which [`Rows8`] is chosen to make trivial.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
unsafe fn transpose4(r: Rows8) -> Rows8 {
    // SAFETY: AVX2 is on.
    unsafe {
        let (xy01, zw01) = (_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1]));
        let (xy23, zw23) = (_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3]));
        [
            _mm256_shuffle_ps::<0b01_00_01_00>(xy01, xy23),
            _mm256_shuffle_ps::<0b11_10_11_10>(xy01, xy23),
            _mm256_shuffle_ps::<0b01_00_01_00>(zw01, zw23),
            _mm256_shuffle_ps::<0b11_10_11_10>(zw01, zw23),
        ]
    }
}

/// The transpose of eight rows of four numbers, two an octet.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
unsafe fn columns_ps(rows: &[Octet<f32>; 4]) -> [__m256; 4] {
    // SAFETY: AVX2 is on, and an octet holds eight numbers.
    unsafe {
        let v = [
            _mm256_loadu_ps(rows[0].0.as_ptr()),
            _mm256_loadu_ps(rows[1].0.as_ptr()),
            _mm256_loadu_ps(rows[2].0.as_ptr()),
            _mm256_loadu_ps(rows[3].0.as_ptr()),
        ];
        transpose4([
            _mm256_permute2f128_ps::<0x20>(v[0], v[2]),
            _mm256_permute2f128_ps::<0x31>(v[0], v[2]),
            _mm256_permute2f128_ps::<0x20>(v[1], v[3]),
            _mm256_permute2f128_ps::<0x31>(v[1], v[3]),
        ])
    }
}

/// The transpose of four rows of four numbers, two an octet.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
unsafe fn columns_pd(rows: &[Octet<f64>; 4]) -> [__m256d; 4] {
    // SAFETY: AVX2 is on, and an octet holds eight numbers.
    unsafe {
        transpose_f64([
            _mm256_loadu_pd(rows[0].0.as_ptr()),
            _mm256_loadu_pd(rows[0].0[4..].as_ptr()),
            _mm256_loadu_pd(rows[1].0.as_ptr()),
            _mm256_loadu_pd(rows[1].0[4..].as_ptr()),
        ])
    }
}

/// a − b, with 0 in place of the weights, so that adding multiples of it leaves a row's weight alone.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
unsafe fn difference8(a: Rows8, b: Rows8) -> Rows8 {
    // SAFETY: AVX2 is on. Bits 3 and 7 of the blend are the weights.
    unsafe {
        let zero = _mm256_setzero_ps();
        [
            _mm256_blend_ps::<0b1000_1000>(_mm256_sub_ps(a[0], b[0]), zero),
            _mm256_blend_ps::<0b1000_1000>(_mm256_sub_ps(a[1], b[1]), zero),
            _mm256_blend_ps::<0b1000_1000>(_mm256_sub_ps(a[2], b[2]), zero),
            _mm256_blend_ps::<0b1000_1000>(_mm256_sub_ps(a[3], b[3]), zero),
        ]
    }
}

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

/// Four rows of four numbers and their transpose.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
unsafe fn transpose_f64(r: [__m256d; 4]) -> [__m256d; 4] {
    // SAFETY: AVX2 is on.
    unsafe {
        let (xz01, yw01) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
        let (xz23, yw23) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
        [
            _mm256_permute2f128_pd::<0x20>(xz01, xz23),
            _mm256_permute2f128_pd::<0x20>(yw01, yw23),
            _mm256_permute2f128_pd::<0x31>(xz01, xz23),
            _mm256_permute2f128_pd::<0x31>(yw01, yw23),
        ]
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
