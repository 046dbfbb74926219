//! Backends of the pliant solver kit: who runs the kernels, how wide, and on how many threads.
//!
//! All of them compute the same bits. The unsafe code of the kernels lives here: `memory` and `access` (raw rows and
//! columns, shared between threads), the loops over them in `sweep`, `emit`, `surround`, `map` and `fork`, `avx2` (intrinsics) and `team`
//! (fork–join).

mod access;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod avx2;
mod cpu;
mod emit;
mod fork;
mod isa;
mod map;
mod memory;
mod surround;
mod sweep;
#[cfg(feature = "parallel")]
mod team;
mod unit;

pub use cpu::Cpu;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
pub use isa::Detected;
pub use isa::{Isa, Precision};
pub use unit::{AnyBackend, AnyUnit, Best, Scalar, ScalarUnit, Unit};
#[cfg(feature = "parallel")]
pub use unit::{Parallel, ParallelUnit};
#[cfg(feature = "simd")]
pub use unit::{Simd, SimdUnit};

/// Cores this process may use.
#[cfg(feature = "parallel")]
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, core::num::NonZero::get)
}
