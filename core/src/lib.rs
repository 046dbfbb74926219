//! Structure-of-arrays data, lanes, meshes, schedules and constraint kinds: everything the solvers and backends of
//! pliant share.
#![forbid(unsafe_code)]

pub mod account;
pub mod backend;
pub mod body;
#[cfg(feature = "collision")]
pub mod collide;
pub mod columns;
pub mod constraint;
pub mod constraints;
pub mod dent;
pub mod energies;
pub mod energy;
pub mod environment;
pub mod error;
pub mod field;
pub mod kinds;
pub mod lane;
pub mod layers;
pub mod mat3;
#[cfg(feature = "rigid")]
pub mod matching;
pub mod material;
pub mod math;
pub mod mesh;
pub mod model;
pub mod partner;
pub mod plasticity;
pub mod polar;
mod precision;
#[cfg(feature = "rigid")]
pub mod rigid;
pub mod schedule;
#[cfg(feature = "collision")]
pub mod sdf;
#[cfg(feature = "serde")]
mod serial;
#[cfg(feature = "collision")]
pub mod skin;
pub mod snapshot;
pub mod solver;
pub mod svd;
pub mod tearing;
mod tethers;
pub mod vec3;
pub mod warning;
pub mod wind;
