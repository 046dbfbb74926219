//! Implicit methods: Newton, Projective Dynamics.

#[path = "../common/mod.rs"]
mod common;
mod reference;

mod balloon;
mod bending;
mod newton;
mod parity;
mod projective;
mod schur;
