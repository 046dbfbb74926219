//! Lanes that can reach memory: rows gathered by offset, whole vectors of columns, and the entry into wider code.
//!
//! This file holds the portable half of the crate's raw memory access; `avx2.rs` holds the intrinsics. Every access is
//! justified by the same proof: a [`pliant_core::schedule::Stencil`] checks at construction that its offsets are inside the
//! field, and backends compare dimensions before they start.

use pliant_core::lane::{BLOCK, Lane, Real};
use pliant_core::vec3::Vec3;

/// A computation that can run at any lane width.
pub(crate) trait Kernel<S: Real> {
    /// Runs it. Implementations are `#[inline(always)]`, so that they take on the instruction set of their caller.
    fn run<L: MemoryLane<Scalar = S>>(self);
}

/// A lane that gathers and scatters.
///
/// # Safety
/// Methods trust their pointers: `base` points to a live field and every offset (four numbers each) is inside it; nobody
/// else writes those numbers meanwhile.
pub unsafe trait MemoryLane: Lane {
    /// `WIDTH` consecutive numbers.
    ///
    /// # Safety
    /// They are inside a live field.
    unsafe fn read(from: *const Self::Scalar) -> Self;
    /// Writes `WIDTH` consecutive numbers.
    ///
    /// # Safety
    /// They are inside a live field that this thread may write.
    unsafe fn write(self, to: *mut Self::Scalar);
    /// Rows `[x y z w]` at `WIDTH` offsets, transposed.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn gather(base: *const Self::Scalar, offsets: *const u32) -> [Self; 4];
    /// Writes rows `[x y z w]` at `WIDTH` offsets.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn scatter(base: *mut Self::Scalar, offsets: *const u32, columns: [Self; 4]);

    /// The rows of a pair, kept in whatever form makes [`Self::move_pair`] cheap.
    type Pair: Copy;
    /// Reads the rows at offsets `a` and `b`; returns them and their difference, transposed.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn read_pair(base: *const Self::Scalar, a: *const u32, b: *const u32) -> (Self::Pair, Vec3<Self>);
    /// Writes `a + s_a (a − b)` and `b − s_b (a − b)`; weights stay as they are, unless `s` is not finite: choosing them instead of
    /// adding 0 to them would cost a tenth of a sweep.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn move_pair(
        base: *mut Self::Scalar,
        a: *const u32,
        b: *const u32,
        pair: Self::Pair,
        d: Vec3<Self>,
        s: (Self, Self),
    );
}

/// Offsets of [`BLOCK`] consecutive rows, for gathers that walk a field from end to end; no field has more than
/// [`MOST_ROWS`](pliant_core::field::MOST_ROWS).
#[inline(always)]
pub(crate) fn row_offsets(first_slot: usize) -> [u32; BLOCK] {
    let mut offsets = [0; BLOCK];
    for (i, offset) in offsets.iter_mut().enumerate() {
        *offset = 4 * (first_slot + i) as u32;
    }
    offsets
}

/// Writes the scalar memory lane of one primitive float.
macro_rules! scalar_memory {
    ($t:ident) => {
        // SAFETY: reads and writes exactly the numbers the methods name.
        unsafe impl MemoryLane for $t {
            #[inline(always)]
            unsafe fn read(from: *const $t) -> Self {
                // SAFETY: the caller vouches for the address.
                unsafe { *from }
            }
            #[inline(always)]
            unsafe fn write(self, to: *mut $t) {
                // SAFETY: the caller vouches for the address.
                unsafe { *to = self }
            }
            #[inline(always)]
            unsafe fn gather(base: *const $t, offsets: *const u32) -> [Self; 4] {
                // SAFETY: the caller vouches for base and offsets; a row is four numbers.
                unsafe { *base.add(*offsets as usize).cast::<[$t; 4]>() }
            }
            #[inline(always)]
            unsafe fn scatter(base: *mut $t, offsets: *const u32, columns: [Self; 4]) {
                // SAFETY: the caller vouches for base and offsets; a row is four numbers.
                unsafe { *base.add(*offsets as usize).cast::<[$t; 4]>() = columns }
            }

            type Pair = ([$t; 4], [$t; 4]);
            #[inline(always)]
            unsafe fn read_pair(base: *const $t, a: *const u32, b: *const u32) -> (Self::Pair, Vec3<Self>) {
                // SAFETY: passed on to the caller.
                let (a, b) = unsafe { (Self::gather(base, a), Self::gather(base, b)) };
                ((a, b), Vec3::new(a[0] - b[0], a[1] - b[1], a[2] - b[2]))
            }
            #[inline(always)]
            unsafe fn move_pair(
                base: *mut $t,
                a: *const u32,
                b: *const u32,
                (mut ra, mut rb): Self::Pair,
                d: Vec3<Self>,
                s: (Self, Self),
            ) {
                let d = [d.x, d.y, d.z];
                for k in 0..3 {
                    ra[k] += d[k] * s.0;
                    rb[k] -= d[k] * s.1;
                }
                // SAFETY: passed on to the caller.
                unsafe {
                    Self::scatter(base, a, ra);
                    Self::scatter(base, b, rb);
                }
            }
        }
    };
}

scalar_memory!(f32);
scalar_memory!(f64);

/// Writes the memory lane of a four-wide `wide` type, whose rows are themselves one such lane.
#[cfg(feature = "simd")]
macro_rules! wide_memory {
    ($wide:ty, $t:ident) => {
        // SAFETY: reads and writes exactly the numbers the methods name.
        unsafe impl MemoryLane for $wide {
            #[inline(always)]
            unsafe fn read(from: *const $t) -> Self {
                // SAFETY: the caller vouches for four numbers; arrays of floats need no more than a float's alignment.
                <$wide>::new(unsafe { *from.cast::<[$t; 4]>() })
            }
            #[inline(always)]
            unsafe fn write(self, to: *mut $t) {
                // SAFETY: as for `read`.
                unsafe { *to.cast::<[$t; 4]>() = self.to_array() }
            }
            #[inline(always)]
            unsafe fn gather(base: *const $t, offsets: *const u32) -> [Self; 4] {
                // SAFETY: the caller vouches for base and four offsets.
                unsafe { <$wide>::transpose(rows(base, offsets)) }
            }
            #[inline(always)]
            unsafe fn scatter(base: *mut $t, offsets: *const u32, columns: [Self; 4]) {
                let rows = <$wide>::transpose(columns);
                for l in 0..4 {
                    // SAFETY: the caller vouches for base and four offsets.
                    unsafe { rows[l].write(base.add(*offsets.add(l) as usize)) }
                }
            }

            type Pair = ([$wide; 4], [$wide; 4]);
            #[inline(always)]
            unsafe fn read_pair(base: *const $t, a: *const u32, b: *const u32) -> (Self::Pair, Vec3<Self>) {
                // SAFETY: the caller vouches for base and four offsets each.
                let (a, b): ([$wide; 4], [$wide; 4]) = unsafe { (rows(base, a), rows(base, b)) };
                let [x, y, z, _] = <$wide>::transpose([a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]]);
                ((a, b), Vec3::new(x, y, z))
            }
            #[inline(always)]
            unsafe fn move_pair(
                base: *mut $t,
                a: *const u32,
                b: *const u32,
                (ra, rb): Self::Pair,
                _: Vec3<Self>,
                s: (Self, Self),
            ) {
                let (sa, sb) = (s.0.to_array(), s.1.to_array());
                // 1 for x, y, z and 0 for the weight: adding finite multiples of d then leaves the weight alone.
                let vector = <$wide>::new([1.0, 1.0, 1.0, 0.0]);
                for l in 0..4 {
                    let d = (ra[l] - rb[l]) * vector;
                    // SAFETY: the caller vouches for base and four offsets each.
                    unsafe {
                        (ra[l] + d * <$wide>::splat(sa[l])).write(base.add(*a.add(l) as usize));
                        (rb[l] - d * <$wide>::splat(sb[l])).write(base.add(*b.add(l) as usize));
                    }
                }
            }
        }
    };
}

#[cfg(feature = "simd")]
wide_memory!(wide::f32x4, f32);
#[cfg(feature = "simd")]
wide_memory!(wide::f64x4, f64);

/// Four rows, not transposed.
///
/// # Safety
/// Four offsets, each of a row inside the field at `base`.
#[cfg(feature = "simd")]
#[inline(always)]
unsafe fn rows<L: MemoryLane>(base: *const L::Scalar, offsets: *const u32) -> [L; 4] {
    // SAFETY: passed on to the caller.
    unsafe {
        [
            L::read(base.add(*offsets as usize)),
            L::read(base.add(*offsets.add(1) as usize)),
            L::read(base.add(*offsets.add(2) as usize)),
            L::read(base.add(*offsets.add(3) as usize)),
        ]
    }
}
