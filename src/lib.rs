//! pliant: a data-oriented SIMD solver kit for physics-based animation.
//!
//! Cloth, ropes, solids and balloons as particles and constraints, moved by interchangeable methods on interchangeable
//! backends. All backends compute the same bits.
//!
//! ```
//! use pliant::prelude::*;
//!
//! let mut world = World::new();
//! let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 20))?.pinned([0, 19]))?;
//! for _ in 0..60 {
//!     world.step(1.0 / 60.0)?;
//! }
//! println!("corner at {:?}", world.positions(cloth)?.get(399));
//! # Ok::<(), pliant::Error>(())
//! ```
//!
//! The [`guide`] says which solver to take when, what numbers mean and how to embed a world.
//!
//! # Finding your way
//! | to | use |
//! | --- | --- |
//! | describe a thing | [`Body`], from [`ClothGrid`], [`TriMesh`], [`Rope`], [`TetMesh`] |
//! | simulate | [`World`]; [`WorldOn`] for a chosen backend |
//! | choose a method | [`Method`], by value or by name: [`Xpbd`], [`Pbd`], [`Symplectic`]; [`StrainLimited`] behind any of them |
//! | give it something to rest on | [`Collider`], [`Shape`]; [`Response`] for explicit methods |
//! | hold shapes together | [`Body::with_rigid_cluster`], [`Body::with_clusters`] in [`Xpbd`] and [`Pbd`]; [`ShapeMatching`] |
//! | describe what things are made of | [`Material`]: [`Body::sheet_of`], [`Body::solid_of`], [`Body::springs_of`] |
//! | make large cloth converge | [`LayerOptions`] for [`Xpbd`] and [`Pbd`]; [`Embedding`] for detail that only follows |
//! | let bodies dent and tear | [`Body::with_plasticity`], [`Body::with_tearing`], [`World::tears`] |
//! | keep surfaces apart | [`Body::with_self_contact`] in real time, [`IntersectionFree`] behind any method for certain |
//! | add rigid bodies, joints, ragdolls | [`RigidBody`], [`Joint`], [`Ragdoll`]; [`RigidSolver`] without a world |
//! | hang cloth on bones | [`World::add_bone`], [`World::skin`], [`Skinning`] |
//! | hear of contacts, ask what is where | [`World::watch_contacts`], [`World::contacts`], [`World::probe`] |
//! | change things while time runs | [`World::edit`], [`World::merge`], [`World::edit_collider`], [`World::edit_rigid`] |
//! | go back, or store | [`World::snapshot`]; [`World::full_snapshot`] for a world from bytes alone |
//! | draw | [`World::vertices`], [`World::interleaved`], [`World::triangles`] |
//! | choose a backend | [`Best`], [`Scalar`], [`Simd`], [`Parallel`]; [`AnyBackend`] at run time |
//! | go without a world | [`Model`], [`Particles`] and the [`Solver`] trait |
//! | write a kind, method or backend | [`mod@core`], [`solvers`], [`backends`] |
//!
//! # Features
//! `simd`, `parallel`, `xpbd-colored` and `collision` are on by default. Without `xpbd-colored` there is no [`Xpbd`], and
//! [`World::new`] uses [`Pbd`]; without `collision` there are no colliders. Off by default: `rigid` (rigid bodies, joints, shape
//! matching), `newton`, `projective` and `xpbd-schur` (implicit methods), `parry` (shapes of `parry3d` as colliders), `serde`
//! (descriptions, materials, options, full snapshots), `glam` and `mint` (poses and rotations); `full` is everything. Features only
//! add, with one exception: `xpbd-schur` changes what [`Xpbd`] means. See [`guide::features`].
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(
        feature = "simd",
        feature = "parallel",
        feature = "xpbd-colored",
        feature = "xpbd-schur",
        feature = "newton",
        feature = "projective",
        feature = "collision",
        feature = "rigid",
        feature = "serde"
    )),
    allow(rustdoc::broken_intra_doc_links, reason = "the overview also names what this build leaves out")
)]

pub use pliant_backends as backends;
pub use pliant_core as core;
pub use pliant_solvers as solvers;

mod error;
pub mod guide;
mod method;
mod world;

/// Turns vertices and triangles into bytes for a graphics card: `bytemuck::cast_slice`.
pub use bytemuck;

pub use error::Error;
pub use method::{Effort, Method, UnknownName};
#[cfg(feature = "parallel")]
pub use pliant_backends::Parallel;
#[cfg(feature = "simd")]
pub use pliant_backends::Simd;
pub use pliant_backends::{AnyBackend, Best, Scalar};
pub use pliant_core::backend::Backend;
pub use pliant_core::body::{Bending, Body, Elasticity, Law, Role, StretchRange};
#[cfg(feature = "collision")]
pub use pliant_core::collide::{Groups, Hit, Probe, SelfContact, Target};
pub use pliant_core::columns::{Columns, Particles};
pub use pliant_core::environment::Environment;
pub use pliant_core::error::{BuildError, StepError};
pub use pliant_core::kinds::Orthotropic;
#[cfg(feature = "rigid")]
pub use pliant_core::matching::{Cluster, Deformation, Grouping, Matching, Placement};
pub use pliant_core::material::Material;
pub use pliant_core::mesh::{
    ClothGrid, Diagonals, Embedding, MeshError, Rope, Split, TetMesh, TriMesh, icosphere, tet_box, tube,
};
pub use pliant_core::model::Model;
pub use pliant_core::plasticity::Plasticity;
#[cfg(feature = "rigid")]
pub use pliant_core::rigid::{Bone, Freedom, Joint, MassProperties, Mobility, Motor, Ragdoll, RigidBodies, RigidBody};
/// The crate whose shapes [`Collider::from_parry`] takes.
#[cfg(feature = "parry")]
pub use pliant_core::sdf::parry3d;
#[cfg(feature = "collision")]
pub use pliant_core::sdf::{Collider, Penalty, Pose, Rotation, Shape};
pub use pliant_core::snapshot::{Snapshot, SnapshotError};
pub use pliant_core::solver::{Solver, StepReport};
pub use pliant_core::tearing::{Tear, Tearing, VertexSplit};
pub use pliant_core::warning::Warning;
pub use pliant_core::wind::Wind;
#[cfg(any(feature = "newton", feature = "projective"))]
pub use pliant_solvers::ColliderForm;
#[cfg(feature = "xpbd-colored")]
pub use pliant_solvers::Colored;
#[cfg(all(feature = "newton", feature = "collision"))]
pub use pliant_solvers::SurfaceBarrier;
#[cfg(feature = "projective")]
pub use pliant_solvers::{Acceleration, Projective, ProjectiveOptions};
#[cfg(feature = "collision")]
pub use pliant_solvers::{
    ContactEvent, ContactPair, ContactPhase, ContactWatch, Guard, GuardOutcome, InteriorPoint, IntersectionFree,
    Response,
};
#[cfg(feature = "rigid")]
pub use pliant_solvers::{
    Coupling, Fastening, Gyroscopic, RigidOptions, RigidReport, RigidResponse, RigidSolver, Sleep, Together,
};
#[cfg(feature = "newton")]
pub use pliant_solvers::{Hessian, Newton, NewtonOptions};
pub use pliant_solvers::{Iteration, LayerOptions, Pbd, PbdOptions, StrainLimited, StrainLimits, Symplectic};
#[cfg(feature = "xpbd-schur")]
pub use pliant_solvers::{Schur, SchurForm};
#[cfg(feature = "rigid")]
pub use pliant_solvers::{ShapeMatching, ShapeMatchingOptions};
#[cfg(any(feature = "xpbd-colored", feature = "xpbd-schur"))]
pub use pliant_solvers::{XpbdOn, XpbdOptions};
#[cfg(feature = "collision")]
pub use world::{Backstop, BoneId, ColliderId, Intersection, SkinBone, Skinning};
pub use world::{BodyId, TearEvent, VectorsIter, VectorsView, World, WorldOn};
#[cfg(feature = "rigid")]
pub use world::{JointId, RigidId};

/// Every feature of this crate and whether this build has it: what `Cargo.toml` declares, without `default`.
pub const FEATURES: &[(&str, bool)] = &[
    ("simd", cfg!(feature = "simd")),
    ("parallel", cfg!(feature = "parallel")),
    ("xpbd-colored", cfg!(feature = "xpbd-colored")),
    ("xpbd-schur", cfg!(feature = "xpbd-schur")),
    ("newton", cfg!(feature = "newton")),
    ("projective", cfg!(feature = "projective")),
    ("collision", cfg!(feature = "collision")),
    ("rigid", cfg!(feature = "rigid")),
    ("parry", cfg!(feature = "parry")),
    ("serde", cfg!(feature = "serde")),
    ("glam", cfg!(feature = "glam")),
    ("mint", cfg!(feature = "mint")),
    ("full", cfg!(feature = "full")),
];

/// Worlds and methods go from thread to thread and can be looked at by several.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<World>();
    shared::<Method>();
    shared::<Error>();
    shared::<Body>();
    shared::<Snapshot>();
    shared::<WorldOn<AnyBackend<f64>>>();
    #[cfg(feature = "collision")]
    shared::<Collider>();
    #[cfg(feature = "rigid")]
    shared::<RigidBody>();
};

/// XPBD by the path chosen at build time: the Schur complement when it is built, packed sweeps otherwise.
#[cfg(feature = "xpbd-schur")]
pub type Xpbd<S = f32> = XpbdOn<Schur, S>;
/// XPBD by the path chosen at build time: the Schur complement when it is built, packed sweeps otherwise.
#[cfg(all(feature = "xpbd-colored", not(feature = "xpbd-schur")))]
pub type Xpbd<S = f32> = XpbdOn<Colored, S>;

/// What most programs need: `use pliant::prelude::*`.
pub mod prelude {
    #[cfg(feature = "xpbd-colored")]
    pub use crate::Colored;
    #[cfg(feature = "parallel")]
    pub use crate::Parallel;
    #[cfg(feature = "xpbd-schur")]
    pub use crate::Schur;
    #[cfg(feature = "simd")]
    pub use crate::Simd;
    pub use crate::{
        AnyBackend, Backend, Bending, Best, Body, BodyId, BuildError, ClothGrid, Effort, Embedding, Environment, Error,
        LayerOptions, Material, MeshError, Method, Model, Particles, Pbd, PbdOptions, Plasticity, Role, Rope, Scalar,
        Snapshot, SnapshotError, Solver, Split, StepError, StepReport, StrainLimited, StrainLimits, Symplectic,
        TearEvent, Tearing, TetMesh, TriMesh, VectorsView, Wind, World, WorldOn, icosphere, tet_box, tube,
    };
    #[cfg(feature = "collision")]
    pub use crate::{
        Backstop, BoneId, Collider, ColliderId, ContactEvent, ContactPair, ContactPhase, Groups, Guard, Hit,
        InteriorPoint, IntersectionFree, Penalty, Pose, Probe, Response, Rotation, SelfContact, Shape, SkinBone,
        Skinning, Target,
    };
    #[cfg(feature = "rigid")]
    pub use crate::{
        Bone, Freedom, Gyroscopic, Joint, JointId, MassProperties, Motor, Ragdoll, RigidBodies, RigidBody, RigidId,
        RigidOptions, RigidResponse, RigidSolver,
    };
    #[cfg(feature = "rigid")]
    pub use crate::{Deformation, Grouping, Matching, ShapeMatching, ShapeMatchingOptions};
    #[cfg(feature = "newton")]
    pub use crate::{Newton, NewtonOptions};
    #[cfg(feature = "projective")]
    pub use crate::{Projective, ProjectiveOptions};
    #[cfg(any(feature = "xpbd-colored", feature = "xpbd-schur"))]
    pub use crate::{Xpbd, XpbdOn, XpbdOptions};
}
