//! Every solver of the kit, compiled once for each precision: in single precision by the facade, in double precision here.
//!
//! Solvers are generic over backends and precisions, and whoever boxes one compiles it: minutes for all of them. These
//! functions are not generic, so that the tests of the workspace, which box solvers here, only link them.

use pliant::backends::{AnyBackend, Precision};
use pliant::core::collide::CollideError;
use pliant::core::collide::intersect::{self, Piercing};
use pliant::solvers::linear::Dense;
use pliant::{
    Colored, Columns, Coupling, IntersectionFree, Method, Model, Newton, Particles, Pbd, Projective, RigidBodies,
    RigidReport, RigidSolver, Schur, ShapeMatching, Solver, StepError, StepReport, StrainLimited, Symplectic, World,
    WorldOn, XpbdOn,
};

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
    /// Boxes a method with a guard behind it.
    fn guarded(solver: IntersectionFree<Boxed<Self>, Self>) -> Boxed<Self>;
    /// Lends a method with a guard behind it, for those who ask the guard itself afterwards. So short a function would be copied into
    /// their crates, and what the trait object points to with it: implementations are not to be inlined.
    fn guard(solver: &mut IntersectionFree<Boxed<Self>, Self>) -> &mut dyn Solver<AnyBackend<Self>>;
    /// Boxes a method with strain limits behind it.
    fn limited(solver: StrainLimited<Boxed<Self>, Self>) -> Boxed<Self>;
    /// An empty world, and with it what a step and a rebuild are.
    fn world(solver: Boxed<Self>, backend: AnyBackend<Self>) -> WorldOn<AnyBackend<Self>>;
    /// A step of rigid bodies on their own: [`RigidSolver::step`].
    ///
    /// # Errors
    /// Those of the solver.
    fn step_rigid(
        solver: &mut RigidSolver<Self>,
        bodies: &mut RigidBodies<Self>,
        gravity: [Self; 3],
        dt: Self,
        on: &AnyBackend<Self>,
    ) -> Result<RigidReport, StepError>;
}

/// In single precision the facade has compiled the methods already.
impl Instances for f32 {
    fn symplectic(solver: Symplectic<Self>) -> Boxed<Self> {
        Method::from(solver).into_solver()
    }
    fn pbd(solver: Pbd<Self>) -> Boxed<Self> {
        Method::from(solver).into_solver()
    }
    fn xpbd(solver: XpbdOn<Colored, Self>) -> Boxed<Self> {
        Method::from(solver).into_solver()
    }
    fn schur(solver: XpbdOn<Schur, Self>) -> Boxed<Self> {
        Method::from(solver).into_solver()
    }
    fn projective(solver: Projective<Self>) -> Boxed<Self> {
        Method::from(solver).into_solver()
    }
    fn newton(solver: Newton<Self>) -> Boxed<Self> {
        Method::from(solver).into_solver()
    }
    fn shape_matching(solver: ShapeMatching<Self>) -> Boxed<Self> {
        Method::from(solver).into_solver()
    }
    fn guarded(solver: IntersectionFree<Boxed<Self>, Self>) -> Boxed<Self> {
        Box::new(solver)
    }
    #[inline(never)]
    fn guard(solver: &mut IntersectionFree<Boxed<Self>, Self>) -> &mut dyn Solver<AnyBackend<Self>> {
        solver
    }
    fn limited(solver: StrainLimited<Boxed<Self>, Self>) -> Boxed<Self> {
        Box::new(solver)
    }
    fn world(solver: Boxed<Self>, backend: AnyBackend<Self>) -> WorldOn<AnyBackend<Self>> {
        World::with_method(solver, backend)
    }
    fn step_rigid(
        solver: &mut RigidSolver<Self>,
        bodies: &mut RigidBodies<Self>,
        gravity: [Self; 3],
        dt: Self,
        on: &AnyBackend<Self>,
    ) -> Result<RigidReport, StepError> {
        solver.step(bodies, gravity, dt, on)
    }
}

impl Instances for f64 {
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
    fn guarded(solver: IntersectionFree<Boxed<Self>, Self>) -> Boxed<Self> {
        Box::new(solver)
    }
    #[inline(never)]
    fn guard(solver: &mut IntersectionFree<Boxed<Self>, Self>) -> &mut dyn Solver<AnyBackend<Self>> {
        solver
    }
    fn limited(solver: StrainLimited<Boxed<Self>, Self>) -> Boxed<Self> {
        Box::new(solver)
    }
    fn world(solver: Boxed<Self>, backend: AnyBackend<Self>) -> WorldOn<AnyBackend<Self>> {
        WorldOn::with(solver, backend)
    }
    fn step_rigid(
        solver: &mut RigidSolver<Self>,
        bodies: &mut RigidBodies<Self>,
        gravity: [Self; 3],
        dt: Self,
        on: &AnyBackend<Self>,
    ) -> Result<RigidReport, StepError> {
        solver.step(bodies, gravity, dt, on)
    }
}

/// A step of particles and rigid bodies together, in double precision: [`Coupling::step`].
///
/// # Errors
/// Those of the coupling and of either solver.
pub fn step_coupled(
    coupling: &mut Coupling<f64>,
    particles: (&mut dyn Solver<AnyBackend<f64>>, &Model<f64>, &mut Particles<f64>),
    bodies: (&mut RigidSolver<f64>, &mut RigidBodies<f64>),
    dt: f64,
    on: &AnyBackend<f64>,
) -> Result<(StepReport, RigidReport), StepError> {
    coupling.step(particles, bodies, dt, on)
}

/// Edges that pass through triangles, in double precision, whatever their groups: [`intersect::piercings`].
///
/// # Errors
/// Positions that are not finite.
pub fn piercings(
    edges: &[[u32; 2]],
    triangles: &[[u32; 3]],
    positions: &Columns<f64>,
) -> Result<Vec<Piercing>, CollideError> {
    intersect::piercings(edges, triangles, positions, None, &AnyBackend::scalar())
}
