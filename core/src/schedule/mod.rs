//! Schedules: in which order constraints run, which of them share a block of lanes, and what may run side by side.
//!
//! Everything here is decided once, when a model is built, from its topology alone: never from the backend or the number of
//! threads. Every backend runs the same blocks in an order with the same result, which is why results agree to the bit.
//!
//! 1. [`Graph`]: which particles meet in a constraint; breadth-first levels from the pins outward.
//! 2. [`Plan`]: a slot for every particle (memory order), and spatial parts of a few thousand particles.
//! 3. [`Stencil`]: a set of constraints, ordered for convergence, packed into blocks of eight that touch disjoint
//!    particles, grouped into tasks that threads may run side by side.

mod graph;
mod incidence;
mod lattice;
mod neighbours;
mod pack;
mod plan;
mod stencil;

pub use graph::Graph;
pub use incidence::Incidence;
pub use lattice::Lattice;
pub use neighbours::{Neighbours, SCATTERED};
pub use plan::{LayoutChoice, Plan, PlanInput};
pub use stencil::{Addresses, Stencil};
