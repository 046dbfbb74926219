//! pliant: a data-oriented SIMD solver kit for physics-based animation.
pub use pliant_backends as backends;
pub use pliant_core as core;
pub use pliant_solvers as solvers;
