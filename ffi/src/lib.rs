//! The C interface of pliant: worlds, bodies and colliders behind opaque pointers and handles.
//!
//! C programs read `include/pliant.h`, which is generated from these files, and `README.md` beside it. The rules that every
//! function keeps, and where:
//!
//! - **Nothing unwinds into C**: all entries that can fail go through `status::enter`, which turns errors and panics into a status and keeps
//!   the message for `pliant_last_error`.
//! - **A world is a `Mutex` that nobody waits for** ([`PliantWorld`]): a second thread is told that the world is busy, and
//!   after a panic the world stays poisoned.
//! - **Single things are references** (`Option<&T>`: null is an error), so that most entries are safe code; lists and strings are
//!   looked at in `memory` alone.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these comments become those of a C header, where units stand in plain brackets"
)]

mod body;
mod collider;
mod memory;
mod read;
mod status;
mod types;
mod world;

pub use body::*;
pub use collider::*;
pub use read::*;
pub use status::{PliantStatus, pliant_last_error, pliant_version};
pub use types::*;
pub use world::*;
