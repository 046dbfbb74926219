//! The harness of the pliant solver kit: scenes, comparisons, reports and checks behind the binary `pliant`.
//!
//! To compare a solver of your own, implement [`pliant::core::solver::Solver`] and hand it to [`Harness::with_solver`] in a
//! program of your own (`harness/examples/own_solver.rs`); a scene enters by [`Harness::with_scene`], or as a scene file
//! (`docs/scene-format.md`). What belongs to the kit itself has a line in [`solvers::SOLVERS`] or
//! [`scene::builtin::SCENES`].

pub mod allocations;
mod cli;
mod clusters;
mod compare;
mod export;
mod failure;
mod info;
pub mod instances;
mod interrupt;
mod machine;
mod measure;
mod merge;
mod output;
mod passages;
#[cfg(feature = "peers")]
mod peers;
pub mod random;
mod registry;
mod render;
mod report;
mod run;
pub mod scene;
mod simulation;
mod soak;
mod soften;
pub mod solvers;
mod study;
mod tears;
pub mod textbook;
mod trusses;
mod validate;

pub use failure::Failure;
pub use registry::Harness;
