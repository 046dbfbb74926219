//! Rows of four numbers and AVX2 registers: loads, transposition, sums across lanes.

use core::arch::x86_64::*;

use pliant_core::lane::{BLOCK, Octet};

/// Where `W` rows of four numbers begin, having checked that all are among the first `count`.
#[inline(always)]
pub(super) fn offsets<const W: usize>(rows: &[u32; BLOCK], at: usize, count: usize) -> [u32; W] {
    let mut offsets = [0; W];
    let mut highest = 0;
    for lane in 0..W {
        let row = rows[at + lane];
        highest = row.max(highest);
        offsets[lane] = 4 * row;
    }
    // Offsets of larger fields would wrap.
    assert!((highest as usize) < count.min(1 << 30), "row {highest} of {count}");
    offsets
}

/// The tree of [`Lane::least`](pliant_core::lane::Lane::least), transposed on the way: neighbours first, then pairs, then the halves.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn least_ps(of: &[Octet<f32>; BLOCK]) -> Octet<f32> {
    let mut least = Octet([0.0; BLOCK]);
    // SAFETY: AVX2 is on, and an octet holds eight numbers.
    unsafe {
        let mut quads = [_mm256_setzero_ps(); 2];
        for half in 0..2 {
            let v = [
                _mm256_loadu_ps(of[4 * half].0.as_ptr()),
                _mm256_loadu_ps(of[4 * half + 1].0.as_ptr()),
                _mm256_loadu_ps(of[4 * half + 2].0.as_ptr()),
                _mm256_loadu_ps(of[4 * half + 3].0.as_ptr()),
            ];
            let [a, b, c, d] = transpose4(v);
            quads[half] = _mm256_min_ps(_mm256_min_ps(a, b), _mm256_min_ps(c, d));
        }
        let first = _mm256_permute2f128_ps::<0x20>(quads[0], quads[1]);
        let second = _mm256_permute2f128_ps::<0x31>(quads[0], quads[1]);
        _mm256_storeu_ps(least.0.as_mut_ptr(), _mm256_min_ps(first, second));
    }
    least
}

/// As [`least_ps`]; an octet fills two registers.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn least_pd(of: &[Octet<f64>; BLOCK]) -> Octet<f64> {
    let mut least = Octet([0.0; BLOCK]);
    for k in [0, 4] {
        // SAFETY: AVX2 is on, an octet holds eight numbers, and `k + 3` is less than eight.
        unsafe {
            let mut v = [_mm256_setzero_pd(); 4];
            for l in 0..4 {
                let p = of[k + l].0.as_ptr();
                v[l] = _mm256_min_pd(_mm256_loadu_pd(p), _mm256_loadu_pd(p.add(4)));
            }
            let [a, b, c, d] = transpose_f64(v);
            let quad = _mm256_min_pd(_mm256_min_pd(a, b), _mm256_min_pd(c, d));
            _mm256_storeu_pd(least.0[k..k + 4].as_mut_ptr(), quad);
        }
    }
    least
}

/// The tree of [`Lane::sums`](pliant_core::lane::Lane::sums) by horizontal additions: neighbours first, then pairs, then the halves.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn sums_ps(of: &[Octet<f32>; BLOCK]) -> Octet<f32> {
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
pub(super) unsafe fn sums_pd(of: &[Octet<f64>; BLOCK]) -> Octet<f64> {
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

/// By set of lanes, one bit each: those lanes in order, then any.
const CHOSEN: [[u8; BLOCK]; 256] = {
    let mut chosen = [[0; BLOCK]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < BLOCK {
            if bits >> lane & 1 == 1 {
                chosen[bits][count] = lane as u8;
                count += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    chosen
};

/// [`Lane::pair_up`](pliant_core::lane::Lane::pair_up), all eight pairs at once.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn pair_up<const SORTED: bool>(
    one: u32,
    others: &[u32; BLOCK],
    bits: u8,
    to: &mut [[u32; 2]; BLOCK],
) -> usize {
    // SAFETY: AVX2 is on; eight bytes and eight ids are read, eight pairs are written.
    unsafe {
        let lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(CHOSEN[bits as usize].as_ptr().cast()));
        let others = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(others.as_ptr().cast()), lanes);
        let one = _mm256_set1_epi32(one.cast_signed());
        let (first, second) =
            if SORTED { (_mm256_min_epu32(one, others), _mm256_max_epu32(one, others)) } else { (one, others) };
        // Pairs 0 1 4 5 and 2 3 6 7.
        let (even, odd) = (_mm256_unpacklo_epi32(first, second), _mm256_unpackhi_epi32(first, second));
        let to: *mut __m256i = to.as_mut_ptr().cast();
        _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(even, odd));
        _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x31>(even, odd));
    }
    bits.count_ones() as usize
}

/// Rows l and l + 4 in the two halves of a register, for l = 0 … 3.
pub(super) type Rows8 = [__m256; 4];

/// Eight rows at eight offsets.
///
/// # Safety
/// AVX2 is on, and every offset is of a row inside the field at `base`.
#[inline(always)]
pub(super) unsafe fn rows8(base: *const f32, offsets: *const u32) -> Rows8 {
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
pub(super) unsafe fn write_rows8(base: *mut f32, offsets: *const u32, rows: Rows8) {
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
pub(super) unsafe fn transpose4(r: Rows8) -> Rows8 {
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

/// [`Lane::turn_rows`](pliant_core::lane::Lane::turn_rows) of eight rows.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn turn_rows_ps(rows: [&[f32; 4]; BLOCK], _: usize) -> [__m256; 3] {
    let mut halves = [[rows[0]; 2]; 4];
    for l in 0..4 {
        halves[l] = [rows[l], rows[l + 4]];
    }
    // SAFETY: AVX2 is on, and a row holds four numbers.
    unsafe {
        let mut both = [_mm256_setzero_ps(); 4];
        for l in 0..4 {
            let [low, high] = halves[l];
            let low = _mm256_castps128_ps256(_mm_loadu_ps(low.as_ptr()));
            both[l] = _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(high.as_ptr()));
        }
        let [x, y, z, _] = transpose4(both);
        [x, y, z]
    }
}

/// [`Lane::turn_columns`](pliant_core::lane::Lane::turn_columns) of eight rows.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn turn_columns_ps([x, y, z]: [__m256; 3], rows: &mut [[f32; 4]; BLOCK], _: usize) {
    // SAFETY: AVX2 is on, and a row holds four numbers.
    unsafe {
        let both = transpose4([x, y, z, _mm256_setzero_ps()]);
        for l in 0..4 {
            _mm_storeu_ps(rows[l].as_mut_ptr(), _mm256_castps256_ps128(both[l]));
            _mm_storeu_ps(rows[l + 4].as_mut_ptr(), _mm256_extractf128_ps::<1>(both[l]));
        }
    }
}

/// [`Lane::turn_rows`](pliant_core::lane::Lane::turn_rows) of four rows.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn turn_rows_pd(rows: [&[f64; 4]; BLOCK], at: usize) -> [__m256d; 3] {
    // SAFETY: AVX2 is on, and a row holds four numbers.
    unsafe {
        let mut r = [_mm256_setzero_pd(); 4];
        for l in 0..4 {
            r[l] = _mm256_loadu_pd(rows[at + l].as_ptr());
        }
        let [x, y, z, _] = transpose_f64(r);
        [x, y, z]
    }
}

/// [`Lane::turn_columns`](pliant_core::lane::Lane::turn_columns) of four rows.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn turn_columns_pd([x, y, z]: [__m256d; 3], rows: &mut [[f64; 4]; BLOCK], at: usize) {
    // SAFETY: AVX2 is on, and a row holds four numbers.
    unsafe {
        let r = transpose_f64([x, y, z, _mm256_setzero_pd()]);
        for l in 0..4 {
            _mm256_storeu_pd(rows[at + l].as_mut_ptr(), r[l]);
        }
    }
}

/// a − b, with 0 in place of the weights, so that adding multiples of it leaves a row's weight alone.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn difference8(a: Rows8, b: Rows8) -> Rows8 {
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

/// Four rows of four numbers and their transpose.
///
/// # Safety
/// AVX2 is on.
#[inline(always)]
pub(super) unsafe fn transpose_f64(r: [__m256d; 4]) -> [__m256d; 4] {
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
