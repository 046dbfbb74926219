//! Meshes: the rest shapes that bodies are built from, checked once and completely.
//!
//! Everything here is geometry at rest, in double precision ([`ultraviolet::DVec3`]), y up, in metres; solvers round
//! to their own precision later. A mesh that exists is valid: [`TriMesh::new`] and [`TetMesh::new`] refuse every bad
//! row with a [`MeshError`] that names it. All lists come out in a fixed, documented order.
//!
//! | to get | use |
//! | --- | --- |
//! | your own surface or solid | [`TriMesh::new`], [`TetMesh::new`], [`read_obj`] |
//! | a rectangular cloth with its springs | [`ClothGrid`] |
//! | a rope | [`Rope`] |
//! | a solid box | [`tet_box`] |
//! | a ball, a sleeve | [`icosphere`], [`tube`] |
//! | an unstructured sheet for tests and benches | [`shuffled_sheet`] |
//! | edges, hinges, boundary | [`TriMesh::topology`] |
//! | the plate stiffness that hinges of a mesh amount to | [`TriMesh::bending_factor`] |
//! | distances along a mesh, for tethers | [`geodesic_distances`] |
//! | normals of a moving mesh, for drawing | [`triangle_normals`], [`vertex_normals`] |
//!
//! ```
//! use pliant_core::mesh::ClothGrid;
//!
//! let cloth = ClothGrid::square(1.0, 20).build()?;
//! let masses = cloth.mesh.vertex_masses(0.2)?;
//! assert_eq!(masses.len(), 400);
//! assert!((masses.iter().sum::<f64>() - 0.2).abs() < 1e-12);
//! # Ok::<(), pliant_core::mesh::MeshError>(())
//! ```

mod calibrate;
mod embedding;
mod error;
mod geodesic;
mod grid;
mod normals;
mod obj;
mod rope;
mod sheet;
mod surfaces;
mod tet;
mod tet_box;
mod topology;
mod tri;
mod unfold;
mod validate;
mod weave;

pub use self::embedding::Embedding;
pub use self::error::MeshError;
pub use self::geodesic::{Geodesics, geodesic_distances};
pub use self::grid::{Cloth, ClothGrid, Diagonals};
pub use self::normals::{triangle_normals, vertex_normals};
pub use self::obj::{parse_obj, read_obj, write_obj};
pub use self::rope::Rope;
pub use self::sheet::shuffled_sheet;
pub use self::surfaces::{icosphere, tube};
pub use self::tet::TetMesh;
pub use self::tet_box::{Split, tet_box};
pub use self::topology::{NonManifoldEdge, Topology};
pub use self::tri::TriMesh;
