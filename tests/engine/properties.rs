//! Properties of random input: sound bodies simulate without NaN, unsound rows are errors, schedules keep their promises.

use pliant::core::body::{Body, Role};
use pliant::core::constraint::Constraint;
use pliant::core::constraints::{Set, Visitor};
use pliant::core::kinds::{Dihedral, DistanceRange};
use pliant::core::lane::{BLOCK, Real};
use pliant::core::mesh::{ClothGrid, Split};
use pliant::core::model::Model;
use pliant::core::schedule::{Addresses, Graph, Lattice, LayoutChoice, Plan, PlanInput, Stencil};
use proptest::prelude::*;

use crate::run::Run;
use crate::scenes::{Method, jelly};

fn number() -> impl Strategy<Value = f64> {
    -3.0..3.0_f64
}

/// A random sound body: particles anywhere, links, ranges, hinges, attachments between any of them.
fn sound_body() -> impl Strategy<Value = Body> {
    let particles = prop::collection::vec(([number(), number(), number()], 0.01..10.0_f64), 4..40);
    let pairs = prop::collection::vec((any::<u32>(), any::<u32>(), 0.0..2.0_f64, 1e-6..1.0_f64, 0.0..1.0_f64), 0..80);
    let quads = prop::collection::vec([any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()], 0..20);
    let singles = prop::collection::vec((any::<u32>(), [number(), number(), number()], 1e-6..1.0_f64), 0..4);
    let pins = prop::collection::vec(any::<u32>(), 0..4);
    (particles, pairs, quads, singles, pins).prop_map(|(particles, pairs, quads, singles, pins)| {
        let count = particles.len() as u32;
        let mut body = Body::particles(particles.iter().map(|p| p.0)).with_masses(particles.iter().map(|p| p.1));
        for (row, (a, b, rest, alpha, beta)) in pairs.into_iter().enumerate() {
            let (a, b) = (a % count, b % count);
            if a == b {
                continue;
            }
            let tables = body.tables_mut();
            if row % 3 == 0 {
                tables.range.push(Role::Shear, (row % 2) as u8, [a, b], DistanceRange::range(0.5 * rest, rest));
                *tables.range.compliance.last_mut().expect("just pushed") = alpha;
            } else {
                tables.distance.push(Role::Stretch, (row % 4) as u8, [a, b], [rest]);
                *tables.distance.compliance.last_mut().expect("just pushed") = if row % 5 == 0 { 0.0 } else { alpha };
                *tables.distance.damping.last_mut().expect("just pushed") = beta;
            }
        }
        for quad in quads {
            let quad = quad.map(|p| p % count);
            let distinct = (0..4).all(|i| (0..i).all(|j| quad[i] != quad[j]));
            if distinct {
                let x = quad.map(|p| body.positions()[p as usize]);
                body.tables_mut().dihedral.push(Role::Bend, 0, quad, Dihedral::rest(x));
                *body.tables_mut().dihedral.compliance.last_mut().expect("just pushed") = 10.0;
            }
        }
        for (particle, target, alpha) in singles {
            body = body.attached(particle % count, target, alpha);
        }
        body.pinned(pins.into_iter().map(|p| p % count))
    })
}

/// Breaks one row of a sound body; the body must then be refused.
fn break_row(mut body: Body, which: u8, at: usize, value: f64) -> Option<Body> {
    let count = body.particle_count() as u32;
    let rows = body.tables().distance.ids.len();
    if rows == 0 {
        return None;
    }
    let (at, table) = (at % rows, &mut body.tables_mut().distance);
    match which % 8 {
        0 => table.ids[at][1] = count + (at as u32),
        1 => table.ids[at][1] = table.ids[at][0],
        2 => table.parameters[at] = [value],
        3 => table.compliance[at] = value,
        4 => table.damping[at] = value,
        5 => {
            table.damping.pop();
        }
        6 => {
            let masses: Vec<f64> = body.masses().to_vec();
            let at = at % masses.len();
            // A pin may be massless, but not negative or NaN.
            body = body.with_masses(masses.into_iter().enumerate().map(|(i, m)| if i == at { value } else { m }));
        }
        _ => body = body.pinned([count]),
    }
    Some(body)
}

fn all_finite<S: Real>(run_state: &pliant::core::columns::Particles<S>) -> bool {
    run_state.x.first_non_finite().is_none() && run_state.v.first_non_finite().is_none()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// A step either works and leaves finite numbers, or reports divergence and leaves the state as it was.
    #[test]
    fn random_bodies_never_give_nan_or_panic(body in sound_body(), substeps in 1..4_usize, iterations in 1..4_usize) {
        let methods = [
            Method::Xpbd { substeps, iterations },
            Method::Pbd { substeps, iterations, stiffness: 0.9 },
            Method::Jacobi { substeps, iterations },
        ];
        for method in methods {
            let mut run = Run::<f32>::new(&[&body], method);
            for _ in 0..20 {
                let before = run.particles.state_hash();
                match run.try_step(1.0 / 60.0) {
                    Ok(_) => prop_assert!(all_finite(&run.particles), "{:?}: not finite", method),
                    Err(_) => prop_assert_eq!(run.particles.state_hash(), before, "{:?}: changed on error", method),
                }
            }
            for (kind, list) in run.solver.forces(&run.model) {
                prop_assert!(list.iter().all(|v| v.is_finite()), "{:?}: a multiplier of {} is not finite", method, kind);
            }
        }
    }

    #[test]
    fn random_unsound_rows_are_errors(
        body in sound_body(),
        which in any::<u8>(),
        at in any::<usize>(),
        value in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), -1e9..-1e-9_f64],
    ) {
        if let Some(broken) = break_row(body, which, at, value) {
            prop_assert!(Model::<f32>::build(&[&broken]).is_err());
            prop_assert!(Model::<f64>::build(&[&broken]).is_err());
        }
    }

    /// Schedules of random constraint sets, on random graphs and on lattices.
    #[test]
    fn schedules_keep_their_promises(
        count in 2..200_u32,
        pairs in prop::collection::vec((any::<u32>(), any::<u32>(), 0..4_u8), 1..600),
        pinned in prop::collection::vec(any::<u32>(), 0..3),
        columns in 2..20_u32,
        on_lattice in any::<bool>(),
    ) {
        let count = if on_lattice { columns * count.div_ceil(columns) } else { count };
        let near = |a: u32, b: u32| if on_lattice { (a + 1 + b % (2 * columns)) % count } else { b % count };
        let mut class = Vec::new();
        let mut ids = Vec::new();
        for (a, b, kind) in pairs {
            let pair = [a % count, near(a % count, b)];
            if pair[0] != pair[1] {
                ids.push(pair);
                class.push(kind);
            }
        }
        let pinned: Vec<u32> = pinned.into_iter().map(|p| p % count).collect();
        let graph = Graph::from_elements(count as usize, ids.iter().map(|e| e.as_slice()));
        let lattices = [Lattice { first: 0, columns, rows: count / columns }];
        let lattices = if on_lattice { &lattices[..] } else { &[] };
        let input = PlanInput { graph: &graph, pinned: &pinned, links: &graph, lattices, layout: LayoutChoice::Auto };
        let plan = Plan::new(input);
        check_plan(&plan, count as usize)?;
        check_stencil(&plan, &Stencil::new(&plan, &ids, &class), &ids, Some(&class))?;
    }
}

/// Every particle has a slot of its own.
fn check_plan(plan: &Plan, count: usize) -> Result<(), TestCaseError> {
    prop_assert_eq!(plan.slots().len(), count);
    let mut used = vec![false; plan.slot_count()];
    for &slot in plan.slots() {
        prop_assert!(!std::mem::replace(&mut used[slot as usize], true), "slot {} is taken twice", slot);
    }
    Ok(())
}

/// Once each, disjoint blocks, disjoint tasks a phase, and inside a task conflicts in the order of kinds and bands.
fn check_stencil<const N: usize>(
    plan: &Plan,
    stencil: &Stencil<N>,
    ids: &[[u32; N]],
    class: Option<&[u8]>,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(stencil.len(), ids.len());
    // Tasks are consecutive and cover every block; phases are consecutive and cover every task.
    let mut next = 0;
    for task in stencil.tasks() {
        prop_assert!(task.start == next && task.end > task.start);
        next = task.end;
    }
    prop_assert_eq!(next, stencil.block_count());
    let mut next = 0;
    for phase in stencil.phases() {
        prop_assert!(phase.start == next && phase.end > phase.start);
        next = phase.end;
    }
    prop_assert_eq!(next, stencil.tasks().len());

    let task_of = |block: usize| stencil.tasks().iter().position(|t| t.contains(&block)).expect("covered");
    let phase_of = |task: usize| stencil.phases().iter().position(|p| p.contains(&task)).expect("covered");
    let mut seats = std::collections::HashSet::new();
    let mut by_slot: Vec<Vec<usize>> = vec![Vec::new(); plan.slot_count()];
    for (c, particles) in ids.iter().enumerate() {
        let (block, lane) = stencil.place(c);
        prop_assert!(
            block < stencil.block_count() && lane < BLOCK && seats.insert((block, lane)),
            "{} scheduled once",
            c
        );
        for (corner, &p) in particles.iter().enumerate() {
            let slot = plan.slots()[p as usize];
            // The address stored for the lane is that of the particle.
            let (address, stride) = match stencil.addresses() {
                Addresses::Indexed(blocks) => (blocks[block][corner][lane], address_stride(plan)),
                Addresses::Contiguous(blocks) => (blocks[block][corner] + lane as u32, 1),
            };
            prop_assert_eq!(address, slot * stride);
            by_slot[slot as usize].push(c);
        }
    }
    for sharing in by_slot {
        for (i, &a) in sharing.iter().enumerate() {
            for &b in &sharing[..i] {
                let (block_a, block_b) = (stencil.place(a).0, stencil.place(b).0);
                prop_assert_ne!(block_a, block_b, "constraints {} and {} share a particle and a block", a, b);
                let (task_a, task_b) = (task_of(block_a), task_of(block_b));
                if task_a != task_b {
                    prop_assert_ne!(phase_of(task_a), phase_of(task_b), "tasks of a phase share a particle");
                } else if let Some(class) = class {
                    // Kind by kind; any mesh also from the pins outward, band by band.
                    let band = |c: usize| ids[c].iter().map(|&p| plan.band(plan.slots()[p as usize])).min();
                    let rank = |c: usize| match stencil.addresses() {
                        Addresses::Indexed(_) => (class[c], band(c)),
                        Addresses::Contiguous(_) => (class[c], None),
                    };
                    let in_order = rank(a) == rank(b) || (rank(a) < rank(b)) == (block_a < block_b);
                    prop_assert!(in_order, "{} and {} conflict and run against the order of their ranks", a, b);
                }
            }
        }
    }
    Ok(())
}

fn address_stride(plan: &Plan) -> u32 {
    if plan.layout() == pliant::core::field::Layout::Rows { 4 } else { 1 }
}

/// The stencils of whole scenes, several parts and interfaces included.
#[test]
fn schedules_of_the_scenes_keep_their_promises() {
    struct Check<'a>(&'a Plan, usize);
    impl<S: Real> Visitor<S> for Check<'_> {
        fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
            // Which classes a body's rows got is not public; the other promises are checked.
            check_stencil(self.0, set.stencil(), set.ids(), None)
                .unwrap_or_else(|error| panic!("{}: {error}", K::NAME));
            self.1 += set.len();
        }
    }
    for scene in crate::scenes::zoo() {
        for layout in [LayoutChoice::Auto, LayoutChoice::Rows] {
            let stage = scene.stage::<f32>(layout);
            let mut check = Check(stage.model.plan(), 0);
            stage.model.constraints().visit(&mut check);
            assert!(check.1 > 0, "{}: constraints were checked", scene.name);
        }
    }
    let (model, _) =
        Model::<f32>::build(&[&Body::cloth(&ClothGrid::square(1.0, 121)).expect("a grid")]).expect("sound");
    assert!(model.plan().part_count() >= 3);
    model.constraints().visit(&mut Check(model.plan(), 0));
}

/// Constraints that meet three parts run last, one task after all others: nobody helps, and stiff kinds have been solved before soft ones.
#[test]
fn thick_solids_leave_nothing_to_the_last_task() {
    struct Phases(usize);
    impl<S: Real> Visitor<S> for Phases {
        fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
            self.0 = self.0.max(set.stencil().phases().len());
        }
    }
    // Levels of 1,600 particles, where parts aim for 2,048: a part of one level would meet both of its neighbours everywhere.
    let (model, _) = Model::<f32>::build(&[&jelly([11, 39, 39], Split::Five)]).expect("sound");
    assert!(model.plan().part_count() >= 4, "{} parts", model.plan().part_count());
    let mut phases = Phases(0);
    model.constraints().visit(&mut phases);
    assert_eq!(phases.0, 2, "parts, then what is between two of them");
}
