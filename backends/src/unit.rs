//! Units: which lanes and which threads stand behind a backend type.

use crate::cpu::Cpu;
use crate::isa::{Isa, Precision};

/// Lanes and threads. Implemented by the units of this crate; use them through the backend types.
pub trait Unit: Clone + Send + Sync {
    /// Name in reports.
    fn name(&self) -> &'static str;
    /// The lanes kernels run on.
    fn isa(&self) -> Isa;
    /// Threads at work, the caller's included.
    fn threads(&self) -> usize {
        1
    }
    /// Runs `task(0) … task(count − 1)`, perhaps side by side, and returns when all are done.
    fn run(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(task);
    }
}

/// One lane, one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScalarUnit;

impl Unit for ScalarUnit {
    fn name(&self) -> &'static str {
        "scalar"
    }
    fn isa(&self) -> Isa {
        Isa::Scalar
    }
}

/// One number at a time on the caller's thread: the reference every other backend agrees with.
pub type Scalar<S = f32> = Cpu<S, ScalarUnit>;

impl<S: Precision> Scalar<S> {
    /// The scalar backend.
    pub fn new() -> Self {
        Self::with(ScalarUnit)
    }
}

impl<S: Precision> Default for Scalar<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Wide lanes, one thread.
#[cfg(feature = "simd")]
#[derive(Clone, Copy, Debug)]
pub struct SimdUnit(Isa);

#[cfg(feature = "simd")]
impl Unit for SimdUnit {
    fn name(&self) -> &'static str {
        if self.0 == Isa::Portable { "simd-portable" } else { "simd" }
    }
    fn isa(&self) -> Isa {
        self.0
    }
}

/// Several numbers at a time on the caller's thread: AVX2 where the processor has it, `wide` lanes elsewhere.
#[cfg(feature = "simd")]
pub type Simd<S = f32> = Cpu<S, SimdUnit>;

#[cfg(feature = "simd")]
impl<S: Precision> Simd<S> {
    /// The widest lanes of this processor.
    pub fn new() -> Self {
        Self::with(SimdUnit(Isa::best()))
    }
    /// The portable `wide` lanes, whatever the processor offers: for comparison.
    pub fn portable() -> Self {
        Self::with(SimdUnit(Isa::Portable))
    }
}

#[cfg(feature = "simd")]
impl<S: Precision> Default for Simd<S> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(feature = "parallel")]
pub use parallel::{Parallel, ParallelUnit};

#[cfg(feature = "parallel")]
mod parallel {
    use std::sync::Arc;

    use super::{Cpu, Isa, Precision, Unit};
    use crate::team::Team;

    /// The widest lanes, several threads.
    #[derive(Clone, Debug)]
    pub struct ParallelUnit {
        isa: Isa,
        threads: Threads,
    }

    #[derive(Clone, Debug)]
    enum Threads {
        Team(Team),
        Rayon(Arc<rayon::ThreadPool>),
    }

    impl ParallelUnit {
        pub(crate) fn team(threads: usize) -> Self {
            Self { isa: Isa::best(), threads: Threads::Team(Team::new(threads)) }
        }
    }

    impl Unit for ParallelUnit {
        fn name(&self) -> &'static str {
            "parallel"
        }
        fn isa(&self) -> Isa {
            self.isa
        }
        fn threads(&self) -> usize {
            match &self.threads {
                Threads::Team(team) => team.threads(),
                Threads::Rayon(pool) => pool.current_num_threads(),
            }
        }
        fn run(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
            match &self.threads {
                _ if count <= 1 => (0..count).for_each(task),
                Threads::Team(team) => team.run(count, task),
                Threads::Rayon(pool) => pool.install(|| {
                    use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
                    (0..count).into_par_iter().with_max_len(1).for_each(task);
                }),
            }
        }
    }

    /// The widest lanes on several threads: spatial parts side by side, then the interfaces between them.
    pub type Parallel<S = f32> = Cpu<S, ParallelUnit>;

    impl<S: Precision> Parallel<S> {
        /// As many threads as the process may use.
        pub fn new() -> Self {
            Self::with_threads(crate::cores())
        }
        /// This many threads, the caller's included; at least one.
        pub fn with_threads(threads: usize) -> Self {
            Self::with(ParallelUnit::team(threads))
        }
        /// The threads of a rayon pool the application already has, instead of threads of our own.
        ///
        /// Use it to avoid two pools fighting for the same cores. A fork–join then costs about 10 µs instead of 1, and
        /// rayon allocates now and then; results are the same bits.
        pub fn on_rayon(pool: Arc<rayon::ThreadPool>) -> Self {
            Self::with(ParallelUnit { isa: Isa::best(), threads: Threads::Rayon(pool) })
        }
    }

    impl<S: Precision> Default for Parallel<S> {
        fn default() -> Self {
            Self::new()
        }
    }
}

/// Any unit of this build.
#[derive(Clone, Debug)]
pub enum AnyUnit {
    /// See [`Scalar`].
    Scalar(ScalarUnit),
    /// See [`Simd`].
    #[cfg(feature = "simd")]
    Simd(SimdUnit),
    /// See [`Parallel`].
    #[cfg(feature = "parallel")]
    Parallel(ParallelUnit),
}

impl Unit for AnyUnit {
    fn name(&self) -> &'static str {
        match self {
            Self::Scalar(unit) => unit.name(),
            #[cfg(feature = "simd")]
            Self::Simd(unit) => unit.name(),
            #[cfg(feature = "parallel")]
            Self::Parallel(unit) => unit.name(),
        }
    }
    fn isa(&self) -> Isa {
        match self {
            Self::Scalar(unit) => unit.isa(),
            #[cfg(feature = "simd")]
            Self::Simd(unit) => unit.isa(),
            #[cfg(feature = "parallel")]
            Self::Parallel(unit) => unit.isa(),
        }
    }
    fn threads(&self) -> usize {
        match self {
            #[cfg(feature = "parallel")]
            Self::Parallel(unit) => unit.threads(),
            _ => 1,
        }
    }
    fn run(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        match self {
            #[cfg(feature = "parallel")]
            Self::Parallel(unit) => unit.run(count, task),
            _ => (0..count).for_each(task),
        }
    }
}

/// Any backend of this build, picked at run time: for harnesses, settings files and embedding.
pub type AnyBackend<S = f32> = Cpu<S, AnyUnit>;

impl<S: Precision> AnyBackend<S> {
    /// The widest of this build, on every core: `parallel` where built, else `simd`, else `scalar`.
    pub fn new() -> Self {
        #[cfg(feature = "parallel")]
        let unit = AnyUnit::Parallel(ParallelUnit::team(crate::cores()));
        #[cfg(all(feature = "simd", not(feature = "parallel")))]
        let unit = AnyUnit::Simd(SimdUnit(Isa::best()));
        #[cfg(not(any(feature = "simd", feature = "parallel")))]
        let unit = AnyUnit::Scalar(ScalarUnit);
        Self::with(unit)
    }

    /// See [`Scalar`].
    pub fn scalar() -> Self {
        Self::with(AnyUnit::Scalar(ScalarUnit))
    }

    /// The names [`AnyBackend::by_name`] knows in this build.
    pub fn names() -> Vec<&'static str> {
        let mut names = vec!["scalar"];
        if cfg!(feature = "simd") {
            names.extend(["simd", "simd-portable"]);
        }
        if cfg!(feature = "parallel") {
            names.push("parallel");
        }
        names
    }

    /// `scalar`, `simd`, `simd-portable` or `parallel`; `threads` counts for `parallel`, and `None` takes every core.
    ///
    /// Returns `None` for a name this build does not have; [`AnyBackend::names`] lists those it has.
    #[cfg_attr(not(feature = "parallel"), expect(unused_variables, reason = "threads count for `parallel` only"))]
    pub fn by_name(name: &str, threads: Option<usize>) -> Option<Self> {
        let unit = match name {
            "scalar" => AnyUnit::Scalar(ScalarUnit),
            #[cfg(feature = "simd")]
            "simd" => AnyUnit::Simd(SimdUnit(Isa::best())),
            #[cfg(feature = "simd")]
            "simd-portable" => AnyUnit::Simd(SimdUnit(Isa::Portable)),
            #[cfg(feature = "parallel")]
            "parallel" => AnyUnit::Parallel(ParallelUnit::team(threads.unwrap_or_else(crate::cores))),
            _ => return None,
        };
        Some(Self::with(unit))
    }
}

impl<S: Precision> From<Scalar<S>> for AnyBackend<S> {
    fn from(backend: Scalar<S>) -> Self {
        Self::with(AnyUnit::Scalar(backend.into_unit()))
    }
}

#[cfg(feature = "simd")]
impl<S: Precision> From<Simd<S>> for AnyBackend<S> {
    fn from(backend: Simd<S>) -> Self {
        Self::with(AnyUnit::Simd(backend.into_unit()))
    }
}

#[cfg(feature = "parallel")]
impl<S: Precision> From<Parallel<S>> for AnyBackend<S> {
    fn from(backend: Parallel<S>) -> Self {
        Self::with(AnyUnit::Parallel(backend.into_unit()))
    }
}

impl<S: Precision> Default for AnyBackend<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// The widest backend of this build: [`AnyBackend::new`].
///
/// One type for whatever is picked at run time, so that kernels are compiled once and not for every backend.
pub type Best<S = f32> = AnyBackend<S>;
