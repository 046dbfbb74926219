//! The engine as a whole: bit parity, physics, errors, properties.
//!
//! One crate with a file a subject instead of a crate a subject: the solvers are generic, and every test crate would
//! compile all of them again.
#![cfg(all(feature = "simd", feature = "parallel", feature = "xpbd-colored", feature = "collision"))]

#[path = "../common/mod.rs"]
mod common;
#[path = "../scenes/mod.rs"]
mod scenes;

mod bad_input;
mod bad_steps;
mod contact_sdf;
mod golden;
mod parity;
mod physics_analytic;
mod physics_kinds;
mod physics_laws;
mod properties;
mod run;
