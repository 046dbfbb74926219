//! Methods by value or by name: every solver of this build, compiled here once for [`World`](crate::World).
//!
//! Solvers are generic over backends and precisions, and whoever boxes one compiles its kernels. The conversions below are not
//! generic: an application that chooses its method through [`Method`] links what this crate compiled.

use core::fmt;

use pliant_backends::Best;
use pliant_core::solver::Solver;
#[cfg(feature = "newton")]
use pliant_solvers::{Newton, NewtonOptions};
use pliant_solvers::{Pbd, PbdOptions, Symplectic};
#[cfg(feature = "projective")]
use pliant_solvers::{Projective, ProjectiveOptions};
#[cfg(feature = "rigid")]
use pliant_solvers::{ShapeMatching, ShapeMatchingOptions};
#[cfg(any(feature = "xpbd-colored", feature = "xpbd-schur"))]
use pliant_solvers::{XpbdOn, XpbdOptions};

/// A method for a [`World`](crate::World), ready to use: made of any solver in single precision, or by name.
///
/// ```
/// use pliant::prelude::*;
///
/// // By value, with every option its solver has:
/// let options = PbdOptions { substeps: 4, iterations: 3, ..PbdOptions::default() };
/// let mut world = World::with_method(Pbd::new(options), Best::new());
/// // By name, such as from a settings file:
/// world.set_method(Method::by_name("symplectic")?)?;
/// assert_eq!(world.solver().name(), "symplectic");
/// // A name that this build does not have:
/// assert!(Method::by_name("magic").is_err_and(|error| error.to_string().contains("pbd")));
/// # Ok::<(), Error>(())
/// ```
///
/// | name | method | feature |
/// | --- | --- | --- |
/// | `symplectic` | [`Symplectic`] | |
/// | `pbd` | [`Pbd`] | |
/// | `xpbd-colored` | [`XpbdOn<Colored, _>`](pliant_solvers::XpbdOn) | `xpbd-colored` |
/// | `xpbd-schur` | [`XpbdOn<Schur, _>`](pliant_solvers::XpbdOn) | `xpbd-schur` |
/// | `newton` | [`Newton`](pliant_solvers::Newton) | `newton` |
/// | `projective` | [`Projective`](pliant_solvers::Projective) | `projective` |
/// | `shape-matching` | [`ShapeMatching`](pliant_solvers::ShapeMatching) | `rigid` |
#[must_use]
pub struct Method(Box<dyn Solver<Best>>);

/// How much work a method puts into a step; what is `None` is left to the method's own default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Substeps a step.
    pub substeps: Option<usize>,
    /// Passes or iterations a substep (at most so many, for methods that stop when they have converged); methods without
    /// iterations take no notice.
    pub iterations: Option<usize>,
}

/// Something was asked for by a name that this build does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} `{name}` in this build; there is {}", known.join(", "))]
pub struct UnknownName {
    /// What was asked for: "method", "backend" …
    pub what: &'static str,
    /// The name that was given.
    pub name: String,
    /// The names there are.
    pub known: Vec<&'static str>,
}

/// A line of the table of names.
type Entry = (&'static str, fn(Effort) -> Method);

/// Every method of this build by its name. To add one: a line here, and its conversion below.
const METHODS: &[Entry] = &[
    ("symplectic", |effort| Symplectic::new(effort.substeps.unwrap_or(20)).into()),
    ("pbd", |effort| {
        let PbdOptions { substeps, iterations, .. } = PbdOptions::default();
        let (substeps, iterations) = effort.or(substeps, iterations);
        Pbd::new(PbdOptions { substeps, iterations, ..PbdOptions::default() }).into()
    }),
    #[cfg(feature = "xpbd-colored")]
    ("xpbd-colored", |effort| XpbdOn::<pliant_solvers::Colored, _>::new(effort.xpbd()).into()),
    #[cfg(feature = "xpbd-schur")]
    ("xpbd-schur", |effort| XpbdOn::<pliant_solvers::Schur, _>::new(effort.xpbd()).into()),
    #[cfg(feature = "newton")]
    ("newton", |effort| {
        let NewtonOptions { substeps, iterations, .. } = NewtonOptions::default();
        let (substeps, iterations) = effort.or(substeps, iterations);
        Newton::new(NewtonOptions { substeps, iterations, ..NewtonOptions::default() }).into()
    }),
    #[cfg(feature = "projective")]
    ("projective", |effort| {
        let ProjectiveOptions { substeps, iterations, .. } = ProjectiveOptions::default();
        let (substeps, iterations) = effort.or(substeps, iterations);
        Projective::new(ProjectiveOptions { substeps, iterations, ..ProjectiveOptions::default() }).into()
    }),
    #[cfg(feature = "rigid")]
    ("shape-matching", |effort| {
        let ShapeMatchingOptions { substeps, iterations } = ShapeMatchingOptions::default();
        let (substeps, iterations) = effort.or(substeps, iterations);
        ShapeMatching::new(ShapeMatchingOptions { substeps, iterations }).into()
    }),
];

impl Effort {
    fn or(self, substeps: usize, iterations: usize) -> (usize, usize) {
        (self.substeps.unwrap_or(substeps), self.iterations.unwrap_or(iterations))
    }

    #[cfg(any(feature = "xpbd-colored", feature = "xpbd-schur"))]
    fn xpbd(self) -> XpbdOptions {
        let XpbdOptions { substeps, iterations } = XpbdOptions::default();
        let (substeps, iterations) = self.or(substeps, iterations);
        XpbdOptions { substeps, iterations }
    }
}

impl Method {
    /// The method of this name, with its default options (`symplectic` takes 20 substeps).
    ///
    /// # Errors
    /// When this build has no such method; the error lists those it has.
    pub fn by_name(name: &str) -> Result<Self, UnknownName> {
        Self::by_name_with(name, Effort::default())
    }

    /// The same with a chosen number of substeps and iterations, checked when the method first meets a body.
    ///
    /// # Errors
    /// When this build has no such method; the error lists those it has.
    pub fn by_name_with(name: &str, effort: Effort) -> Result<Self, UnknownName> {
        match METHODS.iter().find(|(known, _)| *known == name) {
            Some((_, make)) => Ok(make(effort)),
            None => Err(UnknownName { what: "method", name: name.to_owned(), known: Self::names().collect() }),
        }
    }

    /// The names [`Method::by_name`] knows in this build.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        METHODS.iter().map(|(name, _)| *name)
    }

    /// A solver of one's own, or one behind limits or guards: its kernels are compiled where this is called.
    pub fn own(solver: impl Solver<Best> + 'static) -> Self {
        Self(Box::new(solver))
    }

    /// What the method calls itself.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The solver inside, such as to put [`StrainLimited`](crate::StrainLimited) behind it.
    pub fn into_solver(self) -> Box<dyn Solver<Best>> {
        self.0
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Method").field(&self.name()).finish()
    }
}

/// What worlds start with: coloured XPBD with ten substeps of one sweep where built, PBD with ten of one otherwise.
impl Default for Method {
    fn default() -> Self {
        #[cfg(feature = "xpbd-colored")]
        return XpbdOn::<pliant_solvers::Colored, f32>::with_substeps(10).into();
        #[cfg(not(feature = "xpbd-colored"))]
        Pbd::new(PbdOptions { substeps: 10, iterations: 1, ..PbdOptions::default() }).into()
    }
}

/// A solver of one's own, or one behind limits or guards.
impl From<Box<dyn Solver<Best>>> for Method {
    fn from(solver: Box<dyn Solver<Best>>) -> Self {
        Self(solver)
    }
}

impl From<Symplectic<f32>> for Method {
    fn from(solver: Symplectic<f32>) -> Self {
        Self(Box::new(solver))
    }
}

impl From<Pbd<f32>> for Method {
    fn from(solver: Pbd<f32>) -> Self {
        Self(Box::new(solver))
    }
}

#[cfg(feature = "xpbd-colored")]
impl From<XpbdOn<pliant_solvers::Colored, f32>> for Method {
    fn from(solver: XpbdOn<pliant_solvers::Colored, f32>) -> Self {
        Self(Box::new(solver))
    }
}

#[cfg(feature = "xpbd-schur")]
impl From<XpbdOn<pliant_solvers::Schur, f32>> for Method {
    fn from(solver: XpbdOn<pliant_solvers::Schur, f32>) -> Self {
        Self(Box::new(solver))
    }
}

#[cfg(feature = "newton")]
impl From<Newton<f32>> for Method {
    fn from(solver: Newton<f32>) -> Self {
        Self(Box::new(solver))
    }
}

#[cfg(feature = "projective")]
impl From<Projective<f32>> for Method {
    fn from(solver: Projective<f32>) -> Self {
        Self(Box::new(solver))
    }
}

#[cfg(feature = "rigid")]
impl From<ShapeMatching<f32>> for Method {
    fn from(solver: ShapeMatching<f32>) -> Self {
        Self(Box::new(solver))
    }
}
