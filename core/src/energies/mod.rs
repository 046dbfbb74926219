//! Energies with their gradients and Hessians, for the solvers that minimise them (Newton, Projective Dynamics).
//!
//! Constraint kinds give C and ∇C; an energy here gives E, ∇E and ∇²E of the same physics, on lanes as well.

pub mod bending;
mod cubic_shell;
mod dihedral;
pub mod elastic;
mod kinds;
pub mod spring;
mod strain;

pub use cubic_shell::CubicShell;
