//! What may be odd about a body: its numbers, its shape, its rows, and the time step it is asked to take.

use pliant::prelude::*;
use pliant::{Elasticity, Law, Orthotropic};

use crate::Case;

const NASTY: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0];
const ROLES: [Role; 6] = [Role::Volume, Role::Bend, Role::Tether, Role::Shear, Role::Stretch, Role::Attach];

fn soft(body: Body) -> Body {
    ROLES.into_iter().fold(body, |body, role| body.with_compliance(role, 1e-3))
}

fn sheet() -> TriMesh {
    ClothGrid::square(0.5, 3).build().unwrap().mesh
}

/// A name and a small body: one of everything that bodies are made of, soft enough for every method.
pub fn all() -> Vec<(&'static str, Body)> {
    let rope = Rope::new(5, [0.0; 3], [0.5, 0.0, 0.0]).unwrap();
    let cube = tet_box([1; 3], [0.3; 3], Split::Five).unwrap();
    let rubber = Elasticity { law: Law::NeoHookean, young: 1e4, poisson: 0.3 };
    let ball = icosphere(0.3, 0).unwrap();
    let twill = Orthotropic { young: [2.0e4, 0.8e4], poisson: 0.2, shear: 2.0e3 };
    let lattice = (0..8).map(|i| [i % 2, i / 2 % 2, i / 4].map(|c| 0.1 * f64::from(c)));
    vec![
        ("dust", Body::particles((0..4).map(|i| [0.1 * f64::from(i), 0.0, 0.0]))),
        ("rope", soft(Body::rope(&rope, true).unwrap().pinned([0]).with_tethers(0.1))),
        ("cloth", soft(Body::cloth(&ClothGrid::square(0.5, 4)).unwrap().pinned([0, 3]))),
        ("attached", soft(Body::cloth(&ClothGrid::square(0.5, 3)).unwrap().attached(4, [0.2, 0.1, 0.2], 0.0))),
        ("jelly", soft(Body::solid(&cube).unwrap().pinned([0]))),
        ("rubber", Body::elastic_solid(&cube, rubber).unwrap()),
        ("balloon", soft(Body::balloon(&ball, 1.1).unwrap())),
        ("hinges", soft(Body::surface(&sheet(), Bending::Dihedral).unwrap())),
        ("weave", soft(Body::woven_sheet(&sheet(), &twill, 1e-3, [1.0, 0.0, 0.0], Bending::Isometric).unwrap())),
        ("cluster", Body::particles(lattice).with_cluster(0..8, Matching::soft(0.5))),
    ]
}

/// Something done to a body.
pub type Change = Box<dyn Fn(Body) -> Body>;

fn change(name: impl Into<String>, by: impl Fn(Body) -> Body + 'static) -> (String, Change) {
    (name.into(), Box::new(by))
}

/// Every body with every change.
fn product(changes: Vec<(String, Change)>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (what, by) in &changes {
        for (name, body) in all() {
            let body = by(body);
            cases.push(Case::new(format!("{name}: {what}"), move |world| Ok(world.add(body.clone()).map(drop)?)));
        }
    }
    cases
}

/// Masses, velocities, compliance, damping, thickness.
pub fn numbers() -> Vec<Case> {
    product(number_changes())
}

/// Changes of numbers, by name.
pub fn number_changes() -> Vec<(String, Change)> {
    let mut changes = Vec::new();
    let masses = |name: &str, of: fn(usize) -> f64| {
        change(name, move |body| {
            let count = body.particle_count();
            body.with_masses((0..count).map(of))
        })
    };
    changes.extend([
        masses("mass ratio of 10⁶", |i| if i % 2 == 0 { 1e-3 } else { 1e3 }),
        masses("mass ratio of 10¹²", |i| if i % 2 == 0 { 1e-6 } else { 1e6 }),
        masses("masses of 10⁻³⁰", |_| 1e-30),
        masses("masses that are denormal", |_| 1e-310),
        masses("masses of 10³⁰", |_| 1e30),
        masses("a mass of 0", |i| if i == 1 { 0.0 } else { 1.0 }),
        masses("a mass of −0", |i| if i == 1 { -0.0 } else { 1.0 }),
        change("too few masses", |body| body.with_masses([1.0])),
    ]);
    for value in [1e3, 1e8, 1e20, f64::MAX, 1e-42].into_iter().chain(NASTY) {
        changes.push(change(format!("velocity {value}"), move |body| {
            let count = body.particle_count();
            body.with_velocities((0..count).map(|i| if i == 1 { [0.0, value, 0.0] } else { [0.0; 3] }))
        }));
    }
    for value in [0.0, -0.0, 1e-300, 1e-42, 1e-12, 1e30, 1e300].into_iter().chain(NASTY) {
        changes.push(change(format!("compliance {value}"), move |body| {
            ROLES.into_iter().fold(body, |body, role| body.with_compliance(role, value))
        }));
    }
    for value in [1e-42, 1.0, 1e6, 1e30].into_iter().chain(NASTY) {
        changes.push(change(format!("damping {value}"), move |body| {
            ROLES.into_iter().fold(body, |body, role| body.with_damping(role, value))
        }));
    }
    for value in [0.0, -0.0, 1e-42, 10.0, 1e30].into_iter().chain(NASTY) {
        changes.push(change(format!("thickness {value}"), move |body| body.with_thickness(value)));
    }
    for value in NASTY.into_iter().chain([0.0]) {
        changes.push(change(format!("total mass {value}"), move |body| body.with_mass(value)));
    }
    changes
}

/// Places, pins, targets, rows, and what bodies are told about tearing, flowing and touching themselves.
pub fn shapes() -> Vec<Case> {
    let mut cases = product(shape_changes());
    cases.extend(rows());
    cases
}

/// Changes of places, pins, targets and laws, by name.
pub fn shape_changes() -> Vec<(String, Change)> {
    let mut changes = Vec::new();
    let posed =
        |name: &str, pose: fn([f64; 3]) -> [f64; 3]| change(format!("posed {name}"), move |body| body.posed(pose));
    changes.extend([
        posed("denormal", |p| p.map(|c| 1e-40 * c)),
        posed("at zeros of both signs", |p| p.map(|c| if c == 0.0 { -0.0 } else { c })),
        posed("all at one point", |_| [0.1; 3]),
        posed("all at the origin", |_| [0.0; 3]),
        posed("with vertices that coincide", |[x, y, z]| [x.max(0.2), y, z]),
        posed("flat", |[x, _, z]| [x, 0.0, z]),
        posed("as a line", |[x, ..]| [x, 0.0, 0.0]),
        posed("inside out", |[x, y, z]| [-x, y, z]),
        posed("a million times as large", |p| p.map(|c| 1e6 * c)),
        posed("a millionth as large", |p| p.map(|c| 1e-6 * c)),
        posed("with a NaN", |[x, y, z]| [x, if x > 0.05 { f64::NAN } else { y }, z]),
        posed("with an infinity", |[x, y, z]| [x, if x > 0.05 { f64::INFINITY } else { y }, z]),
    ]);
    for by in [1e7, -1e7, 1e8, 2e9, 1e300, f64::NAN, f64::INFINITY] {
        changes.push(change(format!("{by} m away"), move |body| body.translated([by, 0.0, -by])));
    }
    changes.extend([
        change("a pin out of range", |body| body.pinned([1_000])),
        change("a pin at 2³² − 1", |body| body.pinned([u32::MAX])),
        change("a pin twice", |body| body.pinned([1, 1])),
        change("all pinned", |body| {
            let count = body.particle_count() as u32;
            body.pinned(0..count)
        }),
        change("a target out of range", |body| body.attached(99, [0.0; 3], 1e-3)),
        change("a rigid target", |body| body.attached(1, [0.0; 3], 0.0)),
        change("a target 10⁷ m away", |body| body.attached(1, [0.0, 1e7, 0.0], 1e-3)),
        change("a target 10³⁰ m away", |body| body.attached(1, [0.0, 1e30, 0.0], 1e-3)),
        change("two targets of one particle", |body| body.attached(1, [1.0; 3], 1e-3).attached(1, [-1.0; 3], 1e-3)),
        change("velocities of too few", |body| body.with_velocities([[0.0; 3]])),
        change("thicknesses of too few", |body| body.with_thicknesses([0.1])),
    ]);
    for value in NASTY {
        changes.push(change(format!("a target at {value}"), move |body| body.attached(1, [0.0, value, 0.0], 1e-3)));
        changes.push(change(format!("a target of compliance {value}"), move |body| body.attached(1, [0.0; 3], value)));
    }
    for value in NASTY.into_iter().chain([0.0, 1e30]) {
        changes.push(change(format!("tethers with slack {value}"), move |body| body.with_tethers(value)));
        let contact = move |edit: fn(&mut SelfContact, f64)| {
            let mut contact = SelfContact::default();
            edit(&mut contact, value);
            move |body: Body| body.with_self_contact(contact)
        };
        changes.extend([
            change(format!("self contact of thickness {value}"), contact(|c, v| c.thickness = v)),
            change(format!("self contact of friction {value}"), contact(|c, v| c.friction = v)),
            change(format!("self contact of recovery {value}"), contact(|c, v| c.recovery = v)),
            change(format!("tears at strain {value}"), move |body| body.with_tearing(Tearing::at_strain(value))),
            change(format!("tears at force {value}"), move |body| body.with_tearing(Tearing::at_force(value))),
        ]);
        let flow = |law: fn(f64) -> Plasticity| move |body: Body| body.with_plasticity(Role::Stretch, law(value));
        changes.extend([
            change(format!("yields at {value}"), flow(|yields_at| Plasticity { yields_at, creep: 1.0, bound: 0.2 })),
            change(format!("creeps by {value}"), flow(|creep| Plasticity { yields_at: 0.0, creep, bound: 0.2 })),
            change(format!("flows up to {value}"), flow(|bound| Plasticity { yields_at: 0.0, creep: 1.0, bound })),
        ]);
    }
    changes.push(change("self contact", |body| body.with_self_contact(SelfContact::default())));
    changes
}

/// Rows of tables, clusters and balloons.
fn rows() -> Vec<Case> {
    let (mut cases, mut spoilt) = (Vec::new(), Vec::new());
    let mut of = |name: String, body: Body| {
        cases.push(Case::new(name, move |world| Ok(world.add(body.clone()).map(drop)?)));
    };
    let pair = || {
        let mut body = Body::particles([[0.0; 3], [0.1, 0.0, 0.0], [0.2, 0.0, 0.0]]);
        body.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [0.1]);
        body.with_compliance(Role::Stretch, 1e-3)
    };
    let edited = |edit: fn(&mut Body)| {
        let mut body = pair();
        edit(&mut body);
        body
    };
    of("one particle".to_owned(), Body::particles([[0.0; 3]]));
    of("one pinned particle".to_owned(), Body::particles([[0.0; 3]]).pinned([0]));
    of("one massless pinned particle".to_owned(), Body::particles([[0.0; 3]]).with_masses([0.0]).pinned([0]));
    of("no particles".to_owned(), Body::particles([]));
    of("a link to nobody".to_owned(), edited(|b| b.tables_mut().distance.ids[0] = [0, 3]));
    of("a link to itself".to_owned(), edited(|b| b.tables_mut().distance.ids[0] = [1, 1]));
    of("a link without damping".to_owned(), edited(|b| b.tables_mut().distance.damping.clear()));
    of("a link without a role".to_owned(), edited(|b| b.tables_mut().distance.role.clear()));
    // Spoilt first, changed afterwards: whoever goes through rows must not trust their number.
    type Spoil = fn(&mut Body);
    type Redo = fn(Body) -> Result<Body, BuildError>;
    let spoils: [(&str, Spoil); 3] = [
        ("roles", |b| b.tables_mut().distance.role.clear()),
        ("scales", |b| b.tables_mut().distance.scale.clear()),
        ("ids", |b| b.tables_mut().distance.ids.push([1, 2])),
    ];
    let changes: [(&str, Redo); 8] = [
        ("made soft", |b| Ok(b.with_compliance(Role::Stretch, 1e-3))),
        ("damped", |b| Ok(b.with_damping(Role::Stretch, 1.0))),
        ("linked along an edge", |b| Ok(b.linked_along(&[[0, 1]]))),
        ("soft in compression", |b| b.softer_in_compression(0.5)),
        ("given a dead zone", |b| b.with_dead_zone(0.1)),
        ("merged", |b| Body::merged([&b, &b])),
        ("made of a material", |b| Ok(b.damped_like(&Material::SILK))),
        ("made to tear", |b| Ok(b.with_tearing(Tearing::at_force(1.0)))),
    ];
    for (list, spoil) in spoils {
        for (name, change) in changes {
            let body = edited(spoil);
            spoilt.push(Case::new(format!("uneven {list}, then {name}"), move |world| {
                Ok(world.add(change(body.clone())?).map(drop)?)
            }));
        }
    }
    for pair in [[0, 9], [u32::MAX, 1], [2, 2]] {
        let by_hand =
            move |rope: Rope, bends: bool, world: &mut World| Ok(world.add(Body::rope(&rope, bends)?).map(drop)?);
        spoilt.push(Case::new(format!("a rope of an edge {pair:?}"), move |world| {
            let rope = Rope::new(3, [0.0; 3], [0.3, 0.0, 0.0])?;
            by_hand(Rope { edges: vec![[0, 1], pair], ..rope }, false, world)
        }));
        spoilt.push(Case::new(format!("a rope that bends between {pair:?}"), move |world| {
            let rope = Rope::new(3, [0.0; 3], [0.3, 0.0, 0.0])?;
            by_hand(Rope { bending: vec![pair], ..rope }, true, world)
        }));
    }
    of("a link of no length".to_owned(), edited(|b| b.tables_mut().distance.parameters[0] = [0.0]));
    of("a link of denormal length".to_owned(), edited(|b| b.tables_mut().distance.parameters[0] = [1e-42]));
    of("a link of 10³⁰ m".to_owned(), edited(|b| b.tables_mut().distance.parameters[0] = [1e30]));
    of(
        "the same link a hundred times".to_owned(),
        edited(|b| {
            for _ in 0..100 {
                b.tables_mut().distance.push(Role::Stretch, 0, [0, 1], [0.1]);
            }
            b.tables_mut().distance.compliance.fill(1e-3);
        }),
    );
    of(
        "a link of every direction".to_owned(),
        edited(|b| {
            for direction in 0..=u8::MAX {
                b.tables_mut().distance.push(Role::Stretch, direction, [1, 2], [0.1]);
            }
            b.tables_mut().distance.compliance.fill(1e-2);
        }),
    );
    for value in NASTY {
        let mut body = pair();
        body.tables_mut().distance.parameters[0] = [value];
        of(format!("a link of {value} m"), body);
        let mut body = pair();
        body.tables_mut().range.push(Role::Stretch, 0, [0, 1], [value, 1.0, 1.0]);
        of(format!("a range from {value} m"), body);
        let mut tet = Body::particles([[0.0; 3], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]);
        tet.tables_mut().tet_volume.push(Role::Volume, 0, [0, 1, 2, 3], [value]);
        of(format!("a tetrahedron of {value} m³"), tet.with_compliance(Role::Volume, 1e-6));
    }
    for value in NASTY.into_iter().chain([0.0, 1e30]) {
        let mut balloon = soft(Body::balloon(&icosphere(0.3, 0).unwrap(), 1.0).unwrap());
        balloon.inflation_mut().unwrap().factor = value;
        of(format!("a balloon inflated to {value}"), balloon.clone());
        balloon.inflation_mut().unwrap().factor = 1.0;
        balloon.inflation_mut().unwrap().rest = value;
        of(format!("a balloon of {value} m³"), balloon);
    }
    let points = || Body::particles((0..4).map(|i| [f64::from(i % 2), f64::from(i / 2), 0.0]));
    for value in NASTY.into_iter().chain([0.0, 1e-42, 2.0]) {
        of(format!("a cluster of stiffness {value}"), points().with_cluster(0..4, Matching::soft(value)));
    }
    of("a flat cluster".to_owned(), points().with_rigid_cluster(0..4));
    of("a cluster in a row".to_owned(), points().with_rigid_cluster([0, 1]));
    of("a cluster of one".to_owned(), points().with_rigid_cluster([2]));
    of("a cluster of none".to_owned(), points().with_rigid_cluster([]));
    of("a cluster that names one twice".to_owned(), points().with_rigid_cluster([0, 1, 1]));
    of("a cluster of strangers".to_owned(), points().with_rigid_cluster([0, 9]));
    of("a cluster at one point".to_owned(), Body::particles([[0.0; 3]; 5]).with_rigid_cluster(0..5));
    cases.extend(spoilt);
    cases
}

/// Time steps within the range \[s\].
pub const TAKEN: [f32; 8] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0];

/// Time steps that are taken, and that are not.
pub fn time_steps() -> Vec<Case> {
    let refused = [0.0, -0.0, 1e-42, 1e-12, -1.0, 1.5, 1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let mut cases = Vec::new();
    for dt in TAKEN.into_iter().chain(refused) {
        for (name, body) in all() {
            let case = Case::new(format!("{name}: a step of {dt:?} s"), |_| Ok(()));
            cases.push(case.after(move |world| Ok(world.add(body.clone()).map(drop)?)).at(dt));
        }
    }
    cases
}
