//! Collision geometry: distances, first contacts, trees of boxes, candidates.

#[path = "../common/mod.rs"]
mod common;
mod distances;
mod first_contacts;
