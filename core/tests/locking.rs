//! The bending lock: a sheet with springs along all edges resists a fold that stretches nothing, and each cure lets it go.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use pliant_core::body::{Bending, Body, Role};
use pliant_core::constraint::Constraint;
use pliant_core::kinds::{Distance, DistanceRange};
use pliant_core::mesh::{ClothGrid, Diagonals};
use pliant_core::vec3::Vec3;

/// Elastic energy of the links of a body at its start positions, for a stiffness of 1 N/m \[J\].
fn energy(body: &Body) -> f64 {
    let at = |p: u32| Vec3::from(body.positions()[p as usize]);
    let tables = body.tables();
    let links = tables.distance.ids.iter().zip(&tables.distance.parameters);
    let ranges = tables.range.ids.iter().zip(&tables.range.parameters);
    let plain: f64 = links.map(|(ids, p)| 0.5 * Distance::eval(p, &ids.map(at)).0.powi(2)).sum();
    plain + ranges.map(|(ids, p)| 0.5 * DistanceRange::eval(p, &ids.map(at)).0.powi(2)).sum::<f64>()
}

/// Rolls the sheet around a line across the diagonals of its cells: lengths along the surface do not change.
fn folded([x, _, z]: [f64; 3]) -> [f64; 3] {
    let (radius, half) = (0.25, 0.5_f64.sqrt());
    let (along, across) = (half * (x + z), half * (x - z));
    [radius * (along / radius).sin(), radius * (1.0 - (along / radius).cos()), across]
}

#[test]
fn each_cure_lets_a_locked_sheet_bend() {
    let mesh = ClothGrid::square(1.0, 24).diagonals(Diagonals::OneWay).build().unwrap().mesh;
    let sheet = Body::surface(&mesh, Bending::None).unwrap();
    assert_eq!(energy(&sheet), 0.0, "nothing is stretched at rest");
    let threads = mesh.edges_along(|_| [1.0, 0.0, 0.0].into(), 10.0).unwrap();
    assert!(threads.len() < sheet.tables().distance.ids.len());

    let locked = energy(&sheet.clone().posed(folded));
    let cures = [
        ("softer compression", sheet.clone().softer_in_compression(0.05).unwrap()),
        ("dead zone", sheet.clone().with_dead_zone(0.01).unwrap()),
        ("threads only", sheet.clone().linked_along(&threads)),
    ];
    for (name, cured) in cures {
        let left = energy(&cured.posed(folded));
        println!("{name}: {locked:.3e} J locked, {left:.3e} J cured, {:.0} times", locked / left);
        assert!(locked > 10.0 * left, "{name}: {locked} J locked, {left} J cured");
    }
}

#[test]
fn stretching_is_resisted_as_before() {
    let mesh = ClothGrid::square(1.0, 8).build().unwrap().mesh;
    let sheet = Body::surface(&mesh, Bending::None).unwrap().with_compliance(Role::Stretch, 1e-3);
    let wider = |[x, y, z]: [f64; 3]| [1.1 * x, y, z];
    let wanted = energy(&sheet.clone().posed(wider));
    let soft = sheet.softer_in_compression(0.1).unwrap();
    assert!(soft.tables().distance.ids.is_empty() && soft.tables().range.compliance.iter().all(|&a| a == 1e-3));
    let found = energy(&soft.posed(wider));
    assert!((found / wanted - 1.0).abs() < 1e-12, "{found} for {wanted}");
}

#[test]
fn bad_figures_are_named() {
    let sheet = Body::surface(&ClothGrid::square(1.0, 3).build().unwrap().mesh, Bending::None).unwrap();
    for bad in [-0.1, 1.5, f64::NAN] {
        assert!(sheet.clone().softer_in_compression(bad).is_err());
        assert!(sheet.clone().with_dead_zone(bad).is_err());
    }
}
