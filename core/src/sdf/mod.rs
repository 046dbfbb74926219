//! Signed distance fields: solid things that particles rest on and bounce off.
//!
//! A [`Collider`] is a [`Shape`] with a pose, friction and restitution. A shape answers one question, how far a point is
//! from its surface: φ(x) \[m\], negative inside, and which way is out: the unit vector ∇φ(x). Both are pure functions of
//! lanes, one file a family of shapes, evaluated for whole columns of particles.
//!
//! | file | what |
//! | --- | --- |
//! | `shape` | the tree of shapes a user describes, and its checks |
//! | `tree` | what is asked of a tree before it is flattened |
//! | `flat`, `round`, `grid` | the formulas: plane, box, cylinder; sphere, capsule, torus; sampled distances |
//! | `sample` | sampling the distance to a closed mesh |
//! | `parry` | shapes of `parry3d`, behind the feature of that name |
//! | `program` | a tree of shapes flattened into a list that lanes run through |
//! | `pose`, `collider` | where a shape is, what it is made of, and the set a model carries |
//! | `interop` | poses and rotations of `glam` and `mint` |
//! | `gate` | who is out of a collider's reach, told from a few numbers |
//! | `contact` | where a particle's path over a substep meets a moving collider, and what friction lets it do there |
//! | `judge` | what is asked of a tree as a whole, from its parts: `ray` how far a way is free, `extent` how φ varies over a box |
//! | `nearest` | the nearest place of a surface |
//! | `penalty` | repulsive energies of the distance |

mod collider;
mod contact;
mod extent;
mod flat;
mod gate;
mod grid;
mod identity;
#[cfg(any(feature = "glam", feature = "mint"))]
mod interop;
mod judge;
mod nearest;
#[cfg(feature = "parry")]
mod parry;
mod penalty;
mod pose;
mod program;
mod ray;
mod round;
mod sample;
mod shape;
mod tree;

pub use collider::{Collider, Colliders, Solid};
pub use contact::{Contact, Effort, Placed};
pub use extent::Extent;
pub use gate::Gate;
pub use grid::DistanceGrid;
#[cfg(feature = "parry")]
pub use parry::ParryShape;
#[cfg(feature = "parry")]
pub use parry3d;
pub use penalty::Penalty;
pub use pose::{Pose, Rotation};
pub use program::Program;
pub use shape::Shape;

#[cfg(all(test, feature = "parry"))]
mod parry_tests;
#[cfg(test)]
mod path_tests;
#[cfg(test)]
mod tests;
