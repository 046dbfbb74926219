//! Collision geometry: who may touch whom, how far apart they are, and when they meet.
//!
//! Pure geometry on positions, without masses, solvers or responses. A contact of two primitives always has four
//! corners, in one of two kinds ([`Pair`](distance::Pair)):
//! ```text
//!   vertex–triangle   [p, a, b, c]            edge–edge   [a₀, a₁, b₀, b₁]
//! ```
//! | question | module |
//! | --- | --- |
//! | how far apart, at which points, with what gradient | [`distance`] |
//! | how strongly should they be kept apart | [`barrier`] |
//! | when do they first touch on their way | [`ccd`] |
//! | which primitives of a moving mesh may meet, and which do | [`MeshCandidates`], [`ContactSearch`] |
//! | which of them are near or may come near | [`NearSearch`] |
//! | which layers come near each other, early and quickly | [`LayerSearch`] |
//! | what users ask of a body's surface, and all of them joined | [`SelfContact`], [`Surfaces`] |
//! | does a mesh pass through itself, exactly | [`intersect`], [`exact`] |
//! | what does a ray hit, what is near, what is inside a region | [`Probe`] |
//! | which pairs of boxes overlap | [`Bvh`] with [`Pairs`], or [`SpatialHash`] |

pub mod barrier;
pub mod ccd;
pub mod distance;
pub mod exact;
pub mod intersect;

mod aabb;
mod between;
mod bvh;
mod by_vertex;
mod candidates;
mod contacts;
mod curve;
mod error;
mod filter;
mod flat;
mod hash;
mod kin;
mod known;
mod layers;
mod leaves;
mod near;
mod node;
mod plates;
mod probe;
mod query;
mod region;
mod stir;
mod surfaces;
mod visit;

pub use self::aabb::Aabb;
pub use self::bvh::Bvh;
pub use self::candidates::{Candidate, MeshCandidates};
pub use self::contacts::{Contact, ContactSearch};
pub use self::error::CollideError;
pub use self::hash::SpatialHash;
pub use self::layers::LayerSearch;
pub use self::leaves::{Elements, Groups, Leaves};
pub use self::near::NearSearch;
pub use self::probe::{Hit, Probe, ProbeTree, Target};
pub use self::query::Pairs;
pub use self::surfaces::{SelfContact, Surfaces};
