//! Surfaces that tear while something promises that they never pass through each other.

use pliant::backends::AnyBackend;
use pliant::prelude::*;
use pliant::{Newton, NewtonOptions, SurfaceBarrier};
use pliant_harness::instances::{Boxed, Instances};

use super::GUARDS;
use super::stage::{contact, soft};

/// Both lips of a tear begin in one place: that is no intersection, and steps go on. Elsewhere the promise holds as before.
#[test]
fn surfaces_tear_behind_guards_and_barriers() {
    let options = NewtonOptions { iterations: 10, tolerance: 1e-4, ..NewtonOptions::default() };
    let guarded = |guard| f32::guarded(IntersectionFree::new(f32::xpbd(XpbdOn::with_substeps(4)), guard));
    let mut solvers: Vec<Boxed<f32>> = GUARDS.into_iter().map(guarded).collect();
    solvers.push(f32::newton(Newton::new(options).with_barrier(SurfaceBarrier::default())));
    for solver in solvers {
        let name = solver.name();
        let cloth = Body::cloth(&ClothGrid::square(0.5, 8)).expect("a grid").with_mass(0.1).pinned([0, 7]);
        let cloth = soft(cloth, 1e-3).with_self_contact(contact(0.02));
        // A second sheet falls onto the torn one.
        let above = cloth.clone().translated([0.02, 0.05, 0.03]);
        let mut world = f32::world(solver, AnyBackend::by_name("simd", None).expect("built"));
        let [cloth, _] = [cloth, above].map(|body| world.add(body).expect("a sheet"));
        let mut tears = 0;
        for step in 0..40 {
            if step % 4 == 0 {
                // From the lower border inwards, one edge of a row after the other.
                let [a, b] = [60 - 8 * (step / 8), 61 - 8 * (step / 8)];
                tears += usize::from(world.tear(cloth, [a, b]).is_ok());
            }
            world.step(1.0 / 120.0).unwrap_or_else(|error| panic!("{name}, step {step}, {tears} tears: {error}"));
            assert_eq!(world.intersections().expect("finite"), [], "{name}, step {step}");
        }
        assert!(tears >= 4, "{name}: {tears} tears");
        let lowest = world.positions(cloth).expect("there").y().iter().fold(0.0_f32, |low, &y| low.min(y));
        assert!(lowest < -0.1, "{name}: it falls, {lowest} m");
    }
}
