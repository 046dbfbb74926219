//! Every solver of the kit, compiled here once for each precision.
//!
//! Solvers are generic over backends and precisions, and whoever boxes one compiles it: minutes for all of them. These
//! functions are not generic, so that the tests of the workspace, which box solvers here, only link them.

use pliant::backends::{AnyBackend, Precision};
use pliant::solvers::linear::Dense;
use pliant::{Colored, Newton, Pbd, Projective, Schur, ShapeMatching, Solver, Symplectic, XpbdOn};

/// A solver of any kind, on whatever backend is picked at run time.
pub type Boxed<S> = Box<dyn Solver<AnyBackend<S>>>;

/// A precision that every solver has been compiled for: `f32` or `f64`.
pub trait Instances: Precision + Dense {
    /// Boxes this method.
    fn symplectic(solver: Symplectic<Self>) -> Boxed<Self>;
    /// Boxes this method.
    fn pbd(solver: Pbd<Self>) -> Boxed<Self>;
    /// Boxes this method.
    fn xpbd(solver: XpbdOn<Colored, Self>) -> Boxed<Self>;
    /// Boxes this method.
    fn schur(solver: XpbdOn<Schur, Self>) -> Boxed<Self>;
    /// Boxes this method.
    fn projective(solver: Projective<Self>) -> Boxed<Self>;
    /// Boxes this method.
    fn newton(solver: Newton<Self>) -> Boxed<Self>;
    /// Boxes this method.
    fn shape_matching(solver: ShapeMatching<Self>) -> Boxed<Self>;
}

macro_rules! instances {
    ($precision:ty) => {
        impl Instances for $precision {
            fn symplectic(solver: Symplectic<Self>) -> Boxed<Self> {
                Box::new(solver)
            }
            fn pbd(solver: Pbd<Self>) -> Boxed<Self> {
                Box::new(solver)
            }
            fn xpbd(solver: XpbdOn<Colored, Self>) -> Boxed<Self> {
                Box::new(solver)
            }
            fn schur(solver: XpbdOn<Schur, Self>) -> Boxed<Self> {
                Box::new(solver)
            }
            fn projective(solver: Projective<Self>) -> Boxed<Self> {
                Box::new(solver)
            }
            fn newton(solver: Newton<Self>) -> Boxed<Self> {
                Box::new(solver)
            }
            fn shape_matching(solver: ShapeMatching<Self>) -> Boxed<Self> {
                Box::new(solver)
            }
        }
    };
}

instances!(f32);
instances!(f64);
