//! The harness of the pliant solver kit: scenes, comparisons, reports and checks behind the binary `pliant`.
//!
//! To add a solver to the comparison, implement [`pliant::core::solver::Solver`] (see [`textbook`], which is a complete
//! example) and give it a line in [`solvers::SOLVERS`]. To add a scene, give it a line in [`scene::builtin::SCENES`], or
//! write a scene file (`docs/scene-format.md`).

pub mod allocations;
pub mod cli;
mod compare;
mod explicit;
mod export;
mod failure;
mod info;
mod interrupt;
mod measure;
mod merge;
mod output;
mod render;
mod report;
mod run;
pub mod scene;
mod simulation;
pub mod solvers;
pub mod textbook;
mod validate;

pub use failure::Failure;
