//! Rigid bodies: solids that move and turn but never bend, and the joints between them.
//!
//! # The data
//! A rigid body is not a particle and not made of particles. Bodies are columns of their own beside the particles of a
//! world: [`RigidBodies`] holds position, orientation, velocity, angular velocity, inverse mass and inverse inertia, one array
//! a quantity, in the order in which bodies were added. A world owns both lists; what couples them (attachments, contact)
//! names a particle and a body.
//!
//! Inside, every body lives in its **principal frame**: the origin is the centre of mass, the axes are the principal axes of
//! inertia. The inertia is then three numbers instead of six, it is never rotated to be inverted, and the gyroscopic
//! term is a cross product. Users describe a shape in whatever frame suits them and get the pose of that frame back;
//! [`RigidBodies::pose`] converts. The fixed pose of the shape's frame in the principal frame is part of the body.
//!
//! Fixed while time runs: mass properties, shapes, friction, joints. Changing: the state above, loads (forces and torques that
//! act over the next step), and where kinematic bodies are sent. Orientations are unit quaternions `[x, y, z, w]`.
//!
//! A body is *dynamic* (moved by forces and contacts), *kinematic* (moved by its user, pushes others, is never pushed) or
//! *static* (never moves). The latter two have inverse mass and inertia 0, which is all that formulas need to know.
//!
//! | file | what |
//! | --- | --- |
//! | `quaternion` | rotations on lanes |
//! | `mass` | mass, centre and inertia of closed meshes and primitives |
//! | `parts` | the simple solids that a body's shape consists of |
//! | `body` | what a user describes, and its checks |
//! | `bodies` | the columns |
//! | `replace` | bodies that become others while they move |
//! | `memory` | what tells bodies apart, and what a snapshot holds of them |
//! | `momentum` | what all bodies have together |
//! | `state` | the state at one moment, to go back to |
//! | `joint` | joints, their limits and motors, and their checks |
//! | `ragdoll` | a person of capsules and joints |

mod bodies;
mod body;
mod joint;
mod mass;
mod memory;
mod momentum;
mod parts;
mod quaternion;
mod ragdoll;
mod replace;
mod state;

pub use bodies::RigidBodies;
pub use body::{Mobility, RigidBody};
pub use joint::{Freedom, Joint, JointTerms, Motor};
pub use mass::MassProperties;
pub use parts::{Part, Solid};
pub use quaternion::Quaternion;
pub use ragdoll::{Bone, Ragdoll};
pub use state::RigidState;
