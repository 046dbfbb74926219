//! The sparse layer: symmetric matrices over a mesh, refreshed in place, factored or solved iteratively.
//!
//! | to | use |
//! | --- | --- |
//! | say which nodes couple | [`Pattern`] |
//! | sum element records into matrix values | [`SlotMap`] |
//! | factor and solve | [`Cholesky`] |
//! | solve three right-hand sides often with one factor | [`Tiles`] |
//! | solve without a factor | [`Pcg`] |
//! | factor in `f32`, solve to `f64` | [`Refined`] |
//! | let the fill decide | [`LinearSolver`] |
//!
//! Values of a matrix are one slice: one number (or one 3 × 3 block, by columns) for every entry of the pattern's lower
//! triangle. Vectors are in *node* order throughout; the elimination order stays inside.

mod assembly;
mod branches;
mod choice;
mod cholesky;
mod dense;
mod dissection;
mod domains;
mod error;
mod ldlt;
mod ordering;
mod panels;
mod pattern;
mod pcg;
mod precondition;
mod refined;
mod substitution;
mod supernodes;
mod tiles;

pub use assembly::{Contribution, HessianForm, SlotMap};
pub use choice::{LinearMethod, LinearReport, LinearSolver};
pub use cholesky::Cholesky;
pub use dense::Dense;
pub use error::LinearError;
pub use ldlt::Ldlt;
pub use ordering::Ordering;
pub use pattern::Pattern;
pub use pcg::{Pcg, PcgOptions, PcgReport};
pub use precondition::Preconditioner;
pub use refined::Refined;
pub use tiles::Tiles;

/// No node: the parent of a root.
const NONE: u32 = u32::MAX;
