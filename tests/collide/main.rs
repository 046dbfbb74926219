//! Collision geometry: distances, first contacts, trees of boxes, candidates.
#![cfg(feature = "collision")]

mod broad;
#[path = "../common/mod.rs"]
mod common;
mod contacts;
mod distances;
mod first_contacts;
mod probe;
