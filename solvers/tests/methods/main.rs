//! Every method on small scenes.
//!
//! One crate for all: methods are generic, and every crate that names one compiles it again. To run a part, name its module:
//! `cargo test -p pliant-solvers --test methods cantilever`.
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
#[cfg(feature = "rigid")]
mod rigid;
mod shape_matching;
#[cfg(feature = "collision")]
mod stage;
mod sticking;
