//! What can be wrong with a mesh: which row, what value, and what to do about it.

use std::io;

/// Why a mesh was refused. Each message names the row and the value at fault and says how to cure it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// A list that must have entries has none.
    #[error("the mesh has no {what}: give at least one")]
    Empty {
        /// What is missing: `"vertices"`, `"triangles"` or `"tets"`.
        what: &'static str,
    },

    /// More vertices than 32-bit ids can name.
    #[error("{vertex_count} vertices are more than 32-bit ids can name: split the mesh or build it coarser")]
    TooManyVertices {
        /// How many vertices were asked for.
        vertex_count: usize,
    },

    /// An element refers to a vertex that does not exist.
    #[error(
        "{element} {row}, corner {corner}: vertex {index} does not exist, ids run from 0 and stay below {vertex_count}; \
         correct the index or add the vertex"
    )]
    IndexOutOfRange {
        /// The kind of element: `"triangle"`, `"tet"`, `"edge"`, `"bending pair"` or `"source"`.
        element: &'static str,
        /// The element's place in its list.
        row: usize,
        /// The corner of the element, counted from 0.
        corner: usize,
        /// The index found there.
        index: u32,
        /// The number of vertices.
        vertex_count: usize,
    },

    /// An element uses one vertex twice.
    #[error("{element} {row} uses vertex {vertex} more than once: remove the element")]
    RepeatedVertex {
        /// The kind of element: `"triangle"` or `"tet"`.
        element: &'static str,
        /// The element's place in its list.
        row: usize,
        /// The vertex that is repeated.
        vertex: u32,
    },

    /// Two elements have the same vertices.
    #[error(
        "{element} {second} has the same vertices as {element} {first}: remove one of them (a cloth has two sides already)"
    )]
    DuplicateElement {
        /// The kind of element: `"triangle"` or `"tet"`.
        element: &'static str,
        /// The earlier of the two.
        first: usize,
        /// The later of the two.
        second: usize,
    },

    /// A coordinate is NaN, infinite, or beyond 1e100 m.
    #[error("vertex {vertex}: {axis} is {value}, but coordinates must be finite numbers of sensible size")]
    NotFinite {
        /// The vertex.
        vertex: usize,
        /// Which coordinate: `'x'`, `'y'` or `'z'`.
        axis: char,
        /// Its value \[m\].
        value: f64,
    },

    /// Two different vertices that share an edge are at the same place.
    #[error(
        "{element} {row}: vertices {a} and {b} are at the same place, so their edge has no length; merge them or move one"
    )]
    ZeroLengthEdge {
        /// The kind of element: `"triangle"`, `"tet"` or `"rope"`.
        element: &'static str,
        /// The element's place in its list.
        row: usize,
        /// One end of the edge.
        a: u32,
        /// The other end.
        b: u32,
    },

    /// A triangle's corners lie on one line.
    #[error(
        "triangle {triangle} has no area to speak of ({area:e} m²): its corners lie on one line; remove it or move a corner"
    )]
    ZeroArea {
        /// The triangle.
        triangle: usize,
        /// Its area \[m²\].
        area: f64,
    },

    /// A tet's corners lie in one plane.
    #[error(
        "tet {tet} has no volume to speak of ({volume:e} m³): its corners lie in one plane; remove it or move a corner"
    )]
    ZeroVolume {
        /// The tet.
        tet: usize,
        /// Its signed volume \[m³\].
        volume: f64,
    },

    /// A closed surface encloses nothing.
    #[error(
        "the surface encloses no volume to speak of ({volume:e} m³): give it a thickness, or put a thin box in its place"
    )]
    Flat {
        /// The volume inside \[m³\].
        volume: f64,
    },

    /// A tet's corners are listed in the wrong order.
    #[error(
        "tet {tet} is inverted (volume {volume:e} m³): swap two of its corners so that (x2−x1)×(x3−x1)·(x4−x1) > 0"
    )]
    InvertedTet {
        /// The tet.
        tet: usize,
        /// Its signed volume \[m³\].
        volume: f64,
    },

    /// Two tets lie on the same side of a face they share.
    #[error(
        "tets {first} and {second} lie on the same side of the face they share, so they overlap: remove one of them"
    )]
    OverlappingTets {
        /// The earlier of the two.
        first: usize,
        /// The later of the two.
        second: usize,
    },

    /// An edge belongs to three or more triangles.
    #[error(
        "edge {a}–{b} belongs to {triangle_count} triangles, but a surface has one or two at an edge: split the mesh there, \
         or ask for `topology_allowing_non_manifold`"
    )]
    NonManifoldEdge {
        /// The end with the lower id.
        a: u32,
        /// The end with the higher id.
        b: u32,
        /// How many triangles meet there.
        triangle_count: usize,
    },

    /// A face belongs to three or more tets.
    #[error("face {a}–{b}–{c} belongs to {tet_count} tets, but only two fit around a face: remove the others")]
    NonManifoldFace {
        /// The lowest vertex id of the face.
        a: u32,
        /// The middle vertex id.
        b: u32,
        /// The highest vertex id.
        c: u32,
        /// How many tets share the face.
        tet_count: usize,
    },

    /// Two neighbouring triangles run along their common edge in the same direction.
    #[error(
        "triangles {first} and {second} both run from {a} to {b}, so their normals disagree: reverse the corners of one"
    )]
    InconsistentWinding {
        /// Where the common edge starts in both triangles.
        a: u32,
        /// Where it ends.
        b: u32,
        /// The earlier of the two triangles.
        first: usize,
        /// The later of the two.
        second: usize,
    },

    /// A closed surface is needed and this one has a boundary.
    #[error("the surface is open: {boundary_count} boundary edges, the first is {a}–{b}; close the holes first")]
    OpenSurface {
        /// The lower end of the first boundary edge.
        a: u32,
        /// Its higher end.
        b: u32,
        /// How many boundary edges there are.
        boundary_count: usize,
    },

    /// A parameter of a builder or a function is out of its range.
    #[error("{name} is {value}, but it must be {expected}")]
    BadParameter {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        expected: &'static str,
    },

    /// A density that is not a positive, finite number.
    #[error(
        "density is {value}, but it must be a positive, finite number: pin particles instead of making them massless"
    )]
    BadDensity {
        /// What was given \[kg/m, kg/m² or kg/m³\].
        value: f64,
    },

    /// A buffer that the caller provides has the wrong length.
    #[error("the buffer has room for {found} rows, but {expected} are needed")]
    BufferLength {
        /// How many rows are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },

    /// A file could not be read or written.
    #[error("{subject}: {message}")]
    Io {
        /// The path, or what was being read or written.
        subject: String,
        /// The kind of failure, for programs.
        kind: io::ErrorKind,
        /// The system's words for it.
        message: String,
    },

    /// A line of an OBJ file that makes no sense.
    #[error("OBJ line {line}: {reason}; correct the line")]
    ObjSyntax {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },

    /// A face of an OBJ file refers to a vertex that the file does not have.
    #[error("an OBJ face names a vertex that the file does not have (it has {vertex_count}): is the file cut short?")]
    ObjFaceOutOfRange {
        /// How many vertices the file has.
        vertex_count: usize,
    },

    /// An OBJ file without vertices or without faces.
    #[error("the OBJ file has {vertex_count} vertices and {face_count} faces: a mesh needs some of both")]
    ObjNoGeometry {
        /// How many `v` lines it has.
        vertex_count: usize,
        /// How many `f` lines it has.
        face_count: usize,
    },
}

impl MeshError {
    /// Wraps a system error, keeping what can be cloned and compared.
    pub(super) fn io(subject: impl Into<String>, error: &io::Error) -> Self {
        Self::Io { subject: subject.into(), kind: error.kind(), message: error.to_string() }
    }
}
