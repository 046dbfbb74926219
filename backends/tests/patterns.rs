//! Every way through memory, on every backend, in both layouts: the bits of the scalar one.
//!
//! These are the tests of the unsafe files, so they run under Miri too (`cargo +nightly miri test -p pliant-backends
//! --all-features`): there the grids are small, and everywhere else large enough for several parts, that is for tasks side by side.

use pliant_backends::{AnyBackend, Precision};
use pliant_core::backend::{Around, Backend, Blocks, Emit, Join, Map, Measure, PairRule, REDUCE_SLOTS, Rule, TUNING};
use pliant_core::columns::Columns;
use pliant_core::field::{Field, Layout};
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::schedule::{Graph, Incidence, Lattice, LayoutChoice, Neighbours, Plan, PlanInput, Stencil};
use pliant_core::vec3::Vec3;

/// Particles along a side of the grid.
const SIDE: u32 = if cfg!(miri) { 5 } else { 101 };

/// A grid of particles with links and triangles.
struct Grid {
    plan: Plan,
    pairs: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Grid {
    fn new(layout: LayoutChoice) -> Self {
        let id = |i: u32, j: u32| j * SIDE + i;
        let cells = (0..SIDE - 1).flat_map(|j| (0..SIDE - 1).map(move |i| (i, j)));
        let pairs: Vec<_> =
            cells.clone().flat_map(|(i, j)| [[id(i, j), id(i + 1, j)], [id(i, j), id(i, j + 1)]]).collect();
        let triangles: Vec<_> = cells.map(|(i, j)| [id(i, j), id(i + 1, j), id(i, j + 1)]).collect();
        let elements = pairs.iter().map(|e| e.as_slice()).chain(triangles.iter().map(|e| e.as_slice()));
        let graph = Graph::from_elements((SIDE * SIDE) as usize, elements);
        let lattices = [Lattice { first: 0, columns: SIDE, rows: SIDE }];
        let plan = Plan::new(PlanInput { graph: &graph, pinned: &[0], links: &graph, lattices: &lattices, layout });
        Self { plan, pairs, triangles }
    }

    fn field<S: Real>(&self, phase: f64) -> Field<S> {
        let mut field = Field::zeros(&self.plan);
        let at = |i: u32| [0.37, 0.11, 0.73].map(|c| S::from_f64((phase + c * f64::from(i % 97)) % 1.9));
        let places: Columns<S> = (0..SIDE * SIDE).map(at).collect();
        field.pack(&self.plan, &places);
        for (i, &slot) in self.plan.slots().iter().enumerate() {
            field.set(slot as usize, 3, S::from_f64(0.5 + (i % 3) as f64));
        }
        field
    }
}

/// Numbers for `width` octets a block.
fn octets<S: Real>(count: usize) -> Vec<Octet<S>> {
    (0..count).map(|i| Octet(std::array::from_fn(|k| S::from_f64(((i * BLOCK + k) % 13) as f64 / 13.0)))).collect()
}

/// A kernel of every kind, for one precision.
struct Kernels<S>(std::marker::PhantomData<S>);

impl<S: Real> Map<2> for Kernels<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, weight: L, [x, v]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        [x + v * weight, v - x * L::constant(0.25)]
    }
}

impl<S: Real> Rule<3, 2> for Kernels<S> {
    type Scalar = S;
    fn reads_start(&self) -> bool {
        true
    }
    fn reads_lambda(&self) -> bool {
        true
    }
    fn writes_lambda(&self) -> bool {
        true
    }
    #[inline(always)]
    fn update<L: Lane<Scalar = S>>(
        &self,
        parameters: &[L; 2],
        tuning: &[L; TUNING],
        x: &mut [Vec3<L>; 3],
        w: &[L; 3],
        start: &[Vec3<L>; 3],
        lambda: L,
    ) -> L {
        let middle = (x[0] + x[1] + x[2]) * parameters[0];
        for k in 0..3 {
            x[k] = x[k] + (middle - start[k]) * (w[k] * tuning[2] * L::constant(0.1));
        }
        lambda + parameters[1] * middle.x
    }
}

impl<S: Real> PairRule<1> for Kernels<S> {
    type Scalar = S;
    const READS_LAMBDA: bool = true;
    const WRITES_LAMBDA: bool = true;
    #[inline(always)]
    fn update<L: Lane<Scalar = S>>(&self, constants: &[L; 1], compliance: L, d: Vec3<L>, lambda: L) -> (L, L, L) {
        let s = constants[0] * L::constant(0.1) / (L::one() + d.length_sq());
        (s, s * compliance, lambda + s)
    }
}

impl<S: Real> Emit<3, 2, 3> for Kernels<S> {
    type Scalar = S;
    const READS_VELOCITY: bool = true;
    #[inline(always)]
    fn record<L: Lane<Scalar = S>>(
        &self,
        parameters: &[L; 2],
        tuning: &[L; TUNING],
        x: &[Vec3<L>; 3],
        w: &[L; 3],
        v: &[Vec3<L>; 3],
    ) -> [Vec3<L>; 3] {
        [x[1] * parameters[0], v[2] * tuning[1], x[0] * w[0] + v[1] * parameters[1]]
    }
}

impl<S: Real> Around<1> for Kernels<S> {
    type Scalar = S;
    #[inline(always)]
    fn pull<L: Lane<Scalar = S>>(&self, parameters: &[L; 1], d: Vec3<L>) -> Vec3<L> {
        d * parameters[0]
    }
}

impl<S: Real> Measure<2> for Kernels<S> {
    type Scalar = S;
    #[inline(always)]
    fn value<L: Lane<Scalar = S>>(&self, weight: L, [x, v]: [Vec3<L>; 2]) -> L {
        weight * x.dot(v)
    }
}

/// What every pattern leaves behind, bit by bit.
fn run<S: Precision>(grid: &Grid, on: &AnyBackend<S>) -> Vec<u64> {
    let kernels = Kernels::<S>(std::marker::PhantomData);
    let (mut x, mut v) = (grid.field::<S>(0.0), grid.field::<S>(0.4));
    on.map(&kernels, [&mut x, &mut v]);

    let triangles = Stencil::new(&grid.plan, &grid.triangles, &vec![0; grid.triangles.len()]);
    let blocks = triangles.block_count();
    let (parameters, mut tuning) = (octets(2 * blocks), octets(TUNING * blocks));
    // Idle lanes are switched off by their gate.
    tuning.chunks_exact_mut(TUNING).for_each(|block| block[2] = Octet([S::ZERO; BLOCK]));
    triangles.scatter(grid.triangles.iter().map(|_| S::from_f64(1.0)), &mut tuning, 2, TUNING);
    let constants = Blocks { parameters: &parameters, tuning: &tuning };
    let mut lambda = octets(blocks);
    on.sweep(&kernels, &triangles, constants, &mut lambda, &mut x, &v);

    let pairs = Stencil::new(&grid.plan, &grid.pairs, &vec![0; grid.pairs.len()]);
    let mut weights = vec![Octet([S::ZERO; BLOCK]); pairs.block_count()];
    pairs.scatter((0..grid.pairs.len()).map(|i| S::from_f64(1.0 + (i % 5) as f64)), &mut weights, 0, 1);
    let mut pair_lambda = octets(pairs.block_count());
    on.sweep_pairs(&kernels, &pairs, &weights, &octets(pairs.block_count()), &mut pair_lambda, &mut x);

    let incidence = Incidence::new(&grid.plan, &triangles, &grid.triangles);
    let mut records = vec![[S::ZERO; 4]; incidence.record_count()];
    on.emit(&kernels, &triangles, constants, &x, &v, &mut records);
    on.gather(&incidence, &records, &mut v);

    let neighbours = Neighbours::new(&grid.plan, &grid.pairs);
    let mut stiffness = vec![Octet([S::ZERO; BLOCK]); neighbours.item_count()];
    neighbours.scatter(|pair| S::from_f64((pair % 7) as f64), &mut stiffness, 0, 1);
    on.surround(&kernels, &neighbours, &stiffness, &x, &mut v);

    let mut partials = vec![Octet([S::ZERO; BLOCK]); x.slot_count().div_ceil(REDUCE_SLOTS)];
    let sum = on.reduce(&kernels, Join::Sum, [&x, &v], &mut partials);
    let most = on.reduce(&kernels, Join::Max, [&x, &v], &mut partials);

    let fields = [&x, &v].into_iter().flat_map(|field| field.octets()).chain(&lambda).chain(&pair_lambda);
    let numbers = fields.flat_map(|octet| octet.0).chain(records.into_iter().flatten()).chain([sum, most]);
    numbers.map(|number| number.bits()).collect()
}

fn agree<S: Precision>() {
    for (choice, layout) in [(LayoutChoice::Rows, Layout::Rows), (LayoutChoice::Auto, Layout::Columns)] {
        let grid = Grid::new(choice);
        assert_eq!(grid.plan.layout(), layout);
        assert!(cfg!(miri) || grid.plan.part_count() > 1, "tasks run side by side");
        let expected = run(&grid, &AnyBackend::<S>::by_name("scalar", None).expect("always built"));
        for name in AnyBackend::<S>::names() {
            let on = AnyBackend::<S>::by_name(name, Some(3)).expect("a name of this build");
            assert!(run(&grid, &on) == expected, "{name}, {layout:?}: other bits than scalar ones");
        }
    }
}

#[test]
fn every_pattern_gives_the_same_bits_in_single_precision() {
    agree::<f32>();
}

#[test]
fn every_pattern_gives_the_same_bits_in_double_precision() {
    agree::<f64>();
}
