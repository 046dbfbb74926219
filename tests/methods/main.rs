//! Every method on small scenes.
//!
//! Methods are generic, and whoever boxes one compiles it: here, too, `pliant_harness::instances` does, on whatever backend is picked at
//! run time. Mostly that is `simd`, which is fast and has the bits of all others; where those are compared, a test names them. To run
//! a part, name its module: `cargo test --test methods cantilever`.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod cantilever;
mod contacts;
mod continuum;
mod element_parity;
mod guards;
mod hierarchy;
mod implicit_contact;
mod layers;
mod newton_barrier;
mod plasticity;
mod rigid;
mod shape_matching;
#[path = "../stage/mod.rs"]
mod stage;
mod sticking;

use pliant::backends::{AnyBackend, Precision, Simd};

/// Several lanes, one thread.
pub(crate) fn simd<S: Precision>() -> AnyBackend<S> {
    Simd::new().into()
}
