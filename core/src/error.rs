//! Errors: what was wrong, where, and what to do about it.

use crate::mesh::MeshError;

/// A model could not be built. Nothing was changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The mesh a body was made from is not usable.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// An element names a particle that does not exist.
    #[error("{what} {row}: corner {corner} is particle {particle}, but the body has {count} particles (0 to {})", count.saturating_sub(1))]
    OutOfRange {
        /// The list the row is in.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// Corner of the element.
        corner: usize,
        /// The particle that does not exist.
        particle: u32,
        /// Particles there are.
        count: usize,
    },
    /// An element names a particle twice.
    #[error("{what} {row}: particle {particle} appears twice; every corner needs a particle of its own")]
    Repeated {
        /// The list the row is in.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// The repeated particle.
        particle: u32,
    },
    /// A number is NaN, infinite, negative where it must not be, or otherwise outside its range.
    #[error("{what} {row}: {quantity} is {value}; expected {expected}")]
    BadValue {
        /// The list the row is in.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// The quantity.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        expected: &'static str,
    },
    /// Quadratic bending was asked of a surface that is not flat at rest.
    #[error(
        "hinge {hinge} (edge {}–{}) is folded by {:.3}° at rest, but quadratic bending holds a flat rest shape only; use Bending::Cotangent, Bending::CubicShell or Bending::Dihedral to keep the fold, or Bending::Flatten to have it pulled flat",
        edge[0], edge[1], angle.to_degrees()
    )]
    CurvedRest {
        /// Row of the hinge in the mesh's topology.
        hinge: usize,
        /// Its edge.
        edge: [u32; 2],
        /// Its rest angle \[rad\].
        angle: f64,
    },
    /// A body has no particle at all.
    #[error("the body has no particles; add at least one")]
    Empty,
    /// Lists that belong together have different lengths.
    #[error("{what} has {found} entries, but {expected} are needed")]
    Length {
        /// The list.
        what: &'static str,
        /// Entries it has.
        found: usize,
        /// Entries it should have.
        expected: usize,
    },
    /// An option of a solver or body is outside its range.
    #[error("option {name} is {value}; expected {expected}")]
    BadOption {
        /// The option.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        expected: &'static str,
    },
    /// A handle refers to something that is not there.
    #[error("no such {what}; it was removed, or belongs to another world")]
    NotFound {
        /// What was looked for.
        what: &'static str,
    },
    /// A row of a list is asked for that the list does not have.
    #[error("there is no {what} {row}: there are {count}, and rows count from 0")]
    NoSuchRow {
        /// The list.
        what: &'static str,
        /// The row that was asked for.
        row: usize,
        /// Rows there are.
        count: usize,
    },
    /// Something is asked of a pin, but the particle is free.
    #[error("particle {particle} is not pinned; pin it first, or use set_position to move a free particle")]
    NotPinned {
        /// The particle.
        particle: u32,
    },
    /// A list of bodies to be merged has none.
    #[error("there is no body to merge; name at least one")]
    NothingToMerge,
    /// A list of bodies to be merged names one twice.
    #[error("entry {row} of the bodies to be merged is entry {first} again; name every body once")]
    MergedTwice {
        /// The later entry.
        row: usize,
        /// The earlier one.
        first: usize,
    },
    /// There is more of something than can be numbered.
    #[error("there are {found} {what}, but a model takes at most {most}; divide the bodies among several worlds")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// A surface is so much thicker than its edges are long that what is within its thickness would fill the memory.
    #[error(
        "body {body}: the thickness of self contact is {thickness} m, more than {most} times its mean edge of {edge} m; use a smaller thickness (lengths are in metres), or a coarser mesh"
    )]
    TooThick {
        /// The body, by its place in the list the model was built from.
        body: usize,
        /// Thickness of its self contact \[m\].
        thickness: f64,
        /// Its mean edge at rest \[m\].
        edge: f64,
        /// How many times the mean edge it may be: fewer for surfaces than for ropes.
        most: f64,
    },
    /// The solver cannot carry this kind of constraint as it is.
    #[error("{what} {row}: {reason}")]
    Unsupported {
        /// The list the row is in.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// Why, and what to do instead.
        reason: &'static str,
    },
}

/// A step could not be taken. The state is as it was before the step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The time step is not usable.
    #[error("the time step is {dt} s; expected more than {least} s and at most {limit} s")]
    BadTimeStep {
        /// The time step given \[s\].
        dt: f64,
        /// Time steps must be longer than this \[s\].
        least: f64,
        /// The largest time step taken \[s\].
        limit: f64,
    },
    /// A position or velocity became NaN, infinite or absurdly large.
    #[error(
        "particle {particle} diverged after substep {substep}: {quantity} reached {value:e}; use a smaller step, more substeps, or softer constraints"
    )]
    Diverged {
        /// The first such particle.
        particle: usize,
        /// Substeps taken when it was noticed.
        substep: usize,
        /// What diverged: "position" or "velocity".
        quantity: &'static str,
        /// Its largest component \[m or m/s\].
        value: f64,
    },
    /// The pose or velocity of a rigid body became NaN, infinite or absurdly large.
    #[error(
        "rigid body {body} diverged: a number of its {quantity} reached {value:e}; use a smaller step or more substeps"
    )]
    BodyDiverged {
        /// Row of the first such body.
        body: usize,
        /// What diverged: "pose" or "velocity".
        quantity: &'static str,
        /// Its value.
        value: f64,
    },
    /// A number of the current state or environment is NaN or infinite.
    #[error("{what} {row} is {value}; it must be finite")]
    NotFinite {
        /// Which list.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// The value.
        value: f64,
    },
    /// A number of the environment is finite, but outside its range.
    #[error("{what} is {value}; it must be {expected}")]
    OutOfRange {
        /// The quantity.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it should be.
        expected: &'static str,
    },
    /// The energy of an element became NaN or infinite.
    #[error("the energy of {what} {row} is {value}; check its parameters, or use a smaller step")]
    BadEnergy {
        /// The kind of element.
        what: &'static str,
        /// Row of its list.
        row: usize,
        /// The value.
        value: f64,
    },
    /// The matrix of a linear system could not be factored, even shifted.
    #[error(
        "the linear system of iteration {iteration} is not positive definite; use a smaller step or convex Hessians"
    )]
    NotPositive {
        /// The iteration of the step.
        iteration: usize,
    },
    /// The solver cannot step from this state.
    #[error("{what} {row}: {reason}")]
    Unsupported {
        /// The list the row is in.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// Why.
        reason: &'static str,
    },
    /// Surfaces that must stay apart pass through each other before the step.
    #[error(
        "the edge of particles {} and {} passes through the triangle of particles {}, {} and {} ({count} such pairs); start from surfaces that are apart, let IntersectionFree move them apart by .untangling(rounds), or put them into groups that do not touch",
        edge[0], edge[1], triangle[0], triangle[1], triangle[2]
    )]
    Intersecting {
        /// Particles of the first such edge.
        edge: [u32; 2],
        /// Particles of the triangle it passes through.
        triangle: [u32; 3],
        /// How many such pairs there are.
        count: usize,
    },
    /// The step was taken, but the solver does not carry what an overloaded edge would have left; the body is still whole.
    #[error("an overloaded edge could not be torn: {0}")]
    NotTorn(BuildError),
    /// The solver was not prepared for this model, or the state has another size.
    #[error("the solver was prepared for another model; call prepare after building a model")]
    NotPrepared,
    /// The state does not belong to the model.
    #[error("the state holds {found} particles, the model {expected}")]
    WrongState {
        /// Particles in the state.
        found: usize,
        /// Particles in the model.
        expected: usize,
    },
    /// The components of a list of vectors are not equally many.
    #[error(
        "column {axis} of the {what} list has {found} entries, column x has {expected}; every vector needs all three"
    )]
    Ragged {
        /// The list.
        what: &'static str,
        /// The column: `'y'` or `'z'`.
        axis: char,
        /// Entries it has.
        found: usize,
        /// Entries of the first column.
        expected: usize,
    },
}
