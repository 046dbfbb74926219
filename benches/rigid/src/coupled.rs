//! What coupling costs: a soft cube that lies on a rigid box, stepped together, and each of them alone.

use pliant_backends::AnyBackend;
use pliant_core::body::{Body, Role};
use pliant_core::mesh::{Split, tet_box};
use pliant_core::model::Model;
use pliant_core::rigid::{RigidBodies, RigidBody};
use pliant_core::solver::Solver;
use pliant_solvers::{Coupling, Pbd, PbdOptions, RigidOptions, RigidSolver};

use crate::time;

/// Sides of the cube in particles.
pub const SIDE: usize = 17;

/// Mass of the cube \[kg\].
const MASS: f64 = 100.0;

/// Milliseconds a step over the settled steps: together, the particles alone (in free fall), the bodies alone.
pub fn costs(backend: &str, threads: usize) -> [f64; 3] {
    let on = AnyBackend::<f32>::by_name(backend, Some(threads)).unwrap();
    let mesh = tet_box([SIDE - 1; 3], [0.8; 3], Split::Five).unwrap();
    let mesh = mesh.transformed(|p| p + [0.0, 0.301, 0.0].into()).unwrap();
    let cube = Body::solid(&mesh).unwrap().with_mass(MASS).with_damping(Role::Stretch, 2.0);
    let cube = cube.with_compliance(Role::Stretch, 2e-5).with_compliance(Role::Volume, 2e-9);
    let (mut model, start) = Model::<f32>::build(&[&cube]).unwrap();
    let gravity = [0.0, -9.81, 0.0];
    model.environment.gravity = gravity;
    let mut bodies = RigidBodies::<f32>::new();
    bodies.push(&RigidBody::plane([0.0, 1.0, 0.0])).unwrap();
    bodies.push(&RigidBody::cuboid([3.0, 0.3, 3.0], 500.0).at([0.4, 0.15, 0.4])).unwrap();
    let mut soft: Box<dyn Solver<AnyBackend<f32>>> =
        Box::new(Pbd::new(PbdOptions { substeps: 10, iterations: 1, ..PbdOptions::default() }));
    let mut rigid = RigidSolver::new(RigidOptions { sleep: None, ..RigidOptions::default() });
    let dt = 1.0 / 60.0;

    let mut coupling = Coupling::new();
    soft.prepare(&model).unwrap();
    rigid.prepare(&bodies).unwrap();
    coupling.prepare(&bodies, bodies.len()).unwrap();
    let (mut particles, mut moving) = (start.clone(), bodies.clone());
    let mut carried = 0.0;
    let [_, together] = time(|| {
        coupling.step((&mut *soft, &model, &mut particles), (&mut rigid, &mut moving), dt, &on).unwrap();
        carried -= f64::from(coupling.impulse(1)[1]);
    });
    let carried = carried / (MASS * 9.81 * 4.0);
    assert!((0.8..1.2).contains(&carried), "the box carries {carried} of the cube's weight");

    soft.prepare(&model).unwrap();
    rigid.prepare(&bodies).unwrap();
    let mut particles = start.clone();
    let [_, particles_alone] = time(|| {
        soft.step(&model, &mut particles, dt, &on).unwrap();
    });
    let [_, bodies_alone] = time(|| {
        rigid.step(&mut bodies, gravity, dt, &on).unwrap();
    });
    [together, particles_alone, bodies_alone]
}
