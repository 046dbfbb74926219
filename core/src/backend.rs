//! Backends: who runs the kernels, how wide, and on how many threads.
//!
//! A backend knows a handful of ways through memory and nothing about physics. Kernels are pure functions of lanes; the backend
//! loads their arguments, calls them at its own width, and stores the results. Whatever the width and the thread count, the
//! same arithmetic happens on the same numbers in an equivalent order: results agree to the bit.

use crate::field::Field;
use crate::lane::{Lane, Octet, Real};
use crate::schedule::{Incidence, Neighbours, Stencil};
use crate::vec3::Vec3;

/// Numbers that every constraint has besides the parameters of its formula: compliance, damping and gate, scaled for the
/// method and step at hand. A gate of 0 switches an idle lane off.
pub const TUNING: usize = 3;

/// What a Gauss–Seidel solver does with one constraint: moves its particles and updates its multiplier.
pub trait Rule<const N: usize, const P: usize>: Sync {
    /// Precision.
    type Scalar: Real;
    /// Whether `start` is read; when not, the backend skips loading it and passes `x` instead.
    fn reads_start(&self) -> bool;
    /// Whether the multiplier is read; when not, the backend skips loading it and passes 0.
    fn reads_lambda(&self) -> bool;
    /// Whether the new multiplier is wanted; when not, the backend skips storing it.
    fn writes_lambda(&self) -> bool;

    /// Moves the corners `x` (inverse masses `w`, positions at the start of the substep `start`) given the constraint's
    /// parameters and tuning, and returns the new multiplier.
    fn update<L: Lane<Scalar = Self::Scalar>>(
        &self,
        parameters: &[L; P],
        tuning: &[L; TUNING],
        x: &mut [Vec3<L>; N],
        w: &[L; N],
        start: &[Vec3<L>; N],
        lambda: L,
    ) -> L;
}

/// What a Gauss–Seidel solver does with a pair whose correction points along its own difference vector.
pub trait PairRule<const W: usize>: Sync {
    /// Precision.
    type Scalar: Real;

    /// Whether multiplier and compliance are read; when not, the backend skips loading them and passes 0.
    const READS_LAMBDA: bool;
    /// Whether the new multiplier is wanted; when not, the backend skips storing it.
    const WRITES_LAMBDA: bool;

    /// Given d = x₀ − x₁, returns (s₀, s₁, λ): the pair becomes x₀ + s₀ d and x₁ − s₁ d.
    fn update<L: Lane<Scalar = Self::Scalar>>(
        &self,
        constants: &[L; W],
        compliance: L,
        d: Vec3<L>,
        lambda: L,
    ) -> (L, L, L);
}

/// What one element contributes: a force or gradient a corner (`R = N`), an energy (`R = 1`), the blocks of a Hessian.
pub trait Emit<const N: usize, const P: usize, const R: usize>: Sync {
    /// Precision.
    type Scalar: Real;
    /// Whether velocities are read; when not, the backend skips loading them and passes positions instead.
    const READS_VELOCITY: bool;

    /// The element's `R` vectors.
    fn record<L: Lane<Scalar = Self::Scalar>>(
        &self,
        parameters: &[L; P],
        tuning: &[L; TUNING],
        x: &[Vec3<L>; N],
        w: &[L; N],
        v: &[Vec3<L>; N],
    ) -> [Vec3<L>; R];
}

/// What a partner contributes to a particle, from the difference of their positions alone.
pub trait Around<const P: usize>: Sync {
    /// Precision.
    type Scalar: Real;

    /// The contribution for d = x − x_partner; parameters of 0 (an idle lane) must give 0.
    fn pull<L: Lane<Scalar = Self::Scalar>>(&self, parameters: &[L; P], d: Vec3<L>) -> Vec3<L>;
}

/// Work that is cut into independent tasks, each with a portion of memory of its own.
pub trait Task<D>: Sync {
    /// Precision.
    type Scalar: Real;

    /// Carries out task `index` on its own portion. Implementations are `#[inline(always)]`, so that they take on the
    /// instruction set of the backend, and give the same bits for every lane width.
    fn run<L: Lane<Scalar = Self::Scalar>>(&self, index: usize, own: &mut [D]);
}

/// How [`Backend::fork`] cuts memory into portions, one a task.
#[derive(Clone, Copy, Debug)]
pub enum Cut<'a> {
    /// Portions of this many items; the last may be shorter.
    Every(usize),
    /// Portions between neighbouring places, which rise from 0 to the number of items.
    At(&'a [usize]),
}

/// What happens to every particle on its own: prediction, velocity update, damping.
pub trait Map<const F: usize>: Sync {
    /// Precision.
    type Scalar: Real;
    /// Which fields change; the others are not stored.
    const WRITES: [bool; F] = [true; F];

    /// New vectors of the `F` fields of a particle; `weight` is the fourth number of the first field (never changed).
    fn apply<L: Lane<Scalar = Self::Scalar>>(&self, weight: L, fields: [Vec3<L>; F]) -> [Vec3<L>; F];

    /// The same for kernels that read the fourth number of every field; what backends call.
    #[inline(always)]
    fn apply_weighted<L: Lane<Scalar = Self::Scalar>>(&self, weights: [L; F], fields: [Vec3<L>; F]) -> [Vec3<L>; F] {
        self.apply(weights[0], fields)
    }

    /// What [`Map::apply_weighted`] does, if these lanes have none of its rare cases: a kernel of its own, because a processor
    /// has few registers and rare cases need many. It saves work and never chooses a result.
    #[inline(always)]
    fn light<L: Lane<Scalar = Self::Scalar>>(&self, _: [L; F], _: [Vec3<L>; F]) -> Light<[Vec3<L>; F]> {
        Light::Rare
    }
}

/// What [`Map::light`] finds of some lanes.
#[derive(Clone, Copy, Debug)]
pub enum Light<T> {
    /// Nothing changes: nothing is stored.
    Idle,
    /// The new vectors.
    Done(T),
    /// A rare case: [`Map::apply_weighted`] is to be asked.
    Rare,
}

/// A number a particle, to be added up or compared over all particles.
pub trait Measure<const F: usize>: Sync {
    /// Precision.
    type Scalar: Real;

    /// The particle's number; `weight` is the fourth number of the first field.
    fn value<L: Lane<Scalar = Self::Scalar>>(&self, weight: L, fields: [Vec3<L>; F]) -> L;
}

/// How [`Backend::reduce`] joins two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Their sum.
    Sum,
    /// The larger; NaN once any number is NaN.
    Max,
}

/// The constants of a constraint set in block order.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a, S> {
    /// `P` octets a block.
    pub parameters: &'a [Octet<S>],
    /// [`TUNING`] octets a block.
    pub tuning: &'a [Octet<S>],
}

/// Runs kernels over memory.
///
/// Implementations must produce the bits of the scalar backend. Sizes that do not belong together (a stencil of another
/// plan, too few octets) are programming errors of a solver and panic before anything is touched.
pub trait Backend: Send + Sync {
    /// Precision.
    type Scalar: Real;

    /// Name in reports: `scalar`, `simd`, `parallel`.
    fn name(&self) -> &'static str;
    /// Instruction set in use: `scalar`, `avx2`, `wide`.
    fn isa(&self) -> &'static str;
    /// Threads that work on a step.
    fn threads(&self) -> usize;

    /// Per particle: replaces the vectors of `F` fields.
    fn map<M: Map<F, Scalar = Self::Scalar>, const F: usize>(&self, kernel: &M, fields: [&mut Field<Self::Scalar>; F]);

    /// Per constraint, Gauss–Seidel: every constraint sees what the ones before it did. `start` holds the positions at
    /// the start of the substep.
    fn sweep<R: Rule<N, P, Scalar = Self::Scalar>, const N: usize, const P: usize>(
        &self,
        rule: &R,
        stencil: &Stencil<N>,
        blocks: Blocks<'_, Self::Scalar>,
        lambda: &mut [Octet<Self::Scalar>],
        x: &mut Field<Self::Scalar>,
        start: &Field<Self::Scalar>,
    );

    /// The same for pairs that move along their difference: the narrow road (see [`PairRule`]). `W` octets of constants
    /// and one of compliance a block.
    fn sweep_pairs<R: PairRule<W, Scalar = Self::Scalar>, const W: usize>(
        &self,
        rule: &R,
        stencil: &Stencil<2>,
        constants: &[Octet<Self::Scalar>],
        compliance: &[Octet<Self::Scalar>],
        lambda: &mut [Octet<Self::Scalar>],
        x: &mut Field<Self::Scalar>,
    );

    /// Per element: `R` rows `[x y z 0]` into `records`, at `(8 · block + lane) · R + row`.
    fn emit<E: Emit<N, P, R, Scalar = Self::Scalar>, const N: usize, const P: usize, const R: usize>(
        &self,
        kernel: &E,
        stencil: &Stencil<N>,
        blocks: Blocks<'_, Self::Scalar>,
        x: &Field<Self::Scalar>,
        v: &Field<Self::Scalar>,
        records: &mut [[Self::Scalar; 4]],
    );

    /// Per particle: adds its records, in the fixed order of `incidence`, to its vector in `to`.
    fn gather(&self, incidence: &Incidence, records: &[[Self::Scalar; 4]], to: &mut Field<Self::Scalar>);

    /// Per particle: adds what its partners contribute to its vector in `to`, in the fixed order of `neighbours`; `P` octets
    /// of parameters an item. Computes every pair twice and writes no records: for pairs the fastest way to a sum.
    fn surround<K: Around<P, Scalar = Self::Scalar>, const P: usize>(
        &self,
        kernel: &K,
        neighbours: &Neighbours,
        parameters: &[Octet<Self::Scalar>],
        x: &Field<Self::Scalar>,
        to: &mut Field<Self::Scalar>,
    );

    /// Independent tasks, perhaps side by side, each with its own portion of `data`: what the other patterns do not cover
    /// (trees, sparse matrices). Returns when all are done.
    fn fork<T: Task<D, Scalar = Self::Scalar>, D: Send>(&self, task: &T, cut: Cut<'_>, data: &mut [D]);

    /// Joins one number a particle over all particles, in a fixed tree: the same bits for every width and thread count.
    fn reduce<M: Measure<F, Scalar = Self::Scalar>, const F: usize>(
        &self,
        kernel: &M,
        join: Join,
        fields: [&Field<Self::Scalar>; F],
        partials: &mut [Octet<Self::Scalar>],
    ) -> Self::Scalar;
}

/// Slots a partial result of [`Backend::reduce`] covers.
pub const REDUCE_SLOTS: usize = 1024;
