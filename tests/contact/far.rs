//! Surfaces that have nothing to do with each other, in one world.

use pliant::backends::AnyBackend;
use pliant::prelude::*;
use pliant_harness::instances::{Boxed, Instances};

use super::stage::{contact, soft};

/// Where a sheet a kilometre above two others is after half a second; these touch, or are too far from each other to.
fn fall(solver: Boxed<f32>, touching: bool) -> Vec<[f32; 3]> {
    let sheet = |y: f64| {
        let sheet = Body::cloth(&ClothGrid::square(0.4, 6)).expect("a grid").with_mass(0.1);
        soft(sheet.with_self_contact(contact(0.02)), 1e-2).translated([0.0, y, 0.0])
    };
    let mut world = f32::world(solver, AnyBackend::by_name("simd", None).expect("built"));
    let far_off = Body::particles([[-400.0, 3.0, 50.0]]);
    let high = if touching { 0.01 } else { 0.3 };
    let bodies = [far_off, sheet(0.0), sheet(high), sheet(1000.0)];
    let ids = bodies.map(|body| world.add(body).expect("a body"));
    for _ in 0..30 {
        world.step(1.0 / 60.0).expect("no trouble");
    }
    // Those that touch are pushed apart.
    let height = |id| world.positions(id).expect("there").y().iter().sum::<f32>() / 36.0;
    let apart = height(ids[2]) - height(ids[1]);
    assert!(!touching || apart > 0.019, "{apart} m");
    world.positions(ids[3]).expect("there").iter().collect()
}

/// Contact of others must not cost it a bit: positions a kilometre from where contact is looked at have steps of 0.06 mm in single
/// precision, and a sheet that is rounded to them in every substep hangs in the air.
#[test]
fn what_touches_nobody_falls_as_if_nobody_touched() {
    let xpbd = || f32::xpbd(XpbdOn::with_substeps(10));
    let symplectic = || f32::symplectic(Symplectic::new(20));
    for solver in [xpbd as fn() -> Boxed<f32>, symplectic] {
        let (alone, among) = (fall(solver(), false), fall(solver(), true));
        assert!(alone.iter().all(|x| (x[1] - 998.77).abs() < 0.05), "{:?}", alone[0]);
        assert_eq!(alone, among);
    }
}
