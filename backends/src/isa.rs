//! Instruction sets: which lanes a kernel runs on, decided once when a backend is made.

use pliant_core::lane::Real;

use crate::memory::{Kernel, MemoryLane};

/// Proof that the processor has an instruction set: only detection makes one.
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected(());

/// The lanes kernels run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// One number at a time.
    Scalar,
    /// Four numbers through `wide`: SSE2, NEON, WebAssembly, or plain arrays.
    #[cfg(feature = "simd")]
    Portable,
    /// 256-bit registers.
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    Avx2(Detected),
}

impl Isa {
    /// The widest lanes this build and this processor offer.
    pub fn best() -> Self {
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        // Whoever has AVX2 counts bits, too; what turns masks into lists lives on that.
        if std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("popcnt")
        {
            return Self::Avx2(Detected(()));
        }
        #[cfg(feature = "simd")]
        return Self::Portable;
        #[cfg(not(feature = "simd"))]
        Self::Scalar
    }
    /// Name in reports: `scalar`, `wide` or `avx2`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(feature = "simd")]
            Self::Portable => "wide",
            #[cfg(all(feature = "simd", target_arch = "x86_64"))]
            Self::Avx2(_) => "avx2",
        }
    }
}

mod sealed {
    use super::MemoryLane;

    /// The lanes of a precision.
    pub trait Lanes: MemoryLane<Scalar = Self> + pliant_core::lane::Real {
        #[cfg(feature = "simd")]
        type Portable: MemoryLane<Scalar = Self>;
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        type Avx2: MemoryLane<Scalar = Self>;
    }
}

/// A precision the backends have lanes for: `f32` and `f64`.
pub trait Precision: Real + sealed::Lanes {}

impl sealed::Lanes for f32 {
    #[cfg(feature = "simd")]
    type Portable = wide::f32x4;
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    type Avx2 = crate::avx2::F32x8;
}
impl Precision for f32 {}

impl sealed::Lanes for f64 {
    // SSE2 has two numbers a register: too little to compile every kernel once more for. The bits are the same.
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    type Portable = Self;
    #[cfg(all(feature = "simd", not(target_arch = "x86_64")))]
    type Portable = wide::f64x4;
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    type Avx2 = crate::avx2::F64x4;
}
impl Precision for f64 {}

/// Runs a kernel on the chosen lanes.
pub(crate) fn dispatch<S: Precision, K: Kernel<S>>(isa: Isa, kernel: K) {
    match isa {
        Isa::Scalar => plain::<S, K>(kernel),
        #[cfg(feature = "simd")]
        Isa::Portable => plain::<<S as sealed::Lanes>::Portable, K>(kernel),
        #[cfg(all(feature = "simd", target_arch = "x86_64"))]
        // SAFETY: `Detected` is the proof that the processor has what `enter` turns on.
        Isa::Avx2(_) => unsafe { crate::avx2::enter::<<S as sealed::Lanes>::Avx2, K>(kernel) },
    }
}

/// Runs a kernel with the instructions that every processor has. Not inlined: two names for the same lanes share what is compiled.
#[inline(never)]
fn plain<L: MemoryLane, K: Kernel<L::Scalar>>(kernel: K) {
    kernel.run::<L>();
}
