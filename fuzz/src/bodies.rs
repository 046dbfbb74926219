//! Random bodies, sound and unsound: refused by a typed error, or models whose numbers are finite and whose schedules hold.

use pliant_core::body::{Bending, Body, Role};
use pliant_core::collide::SelfContact;
use pliant_core::constraint::Constraint;
use pliant_core::constraints::{Set, Visitor};
use pliant_core::lane::Real;
use pliant_core::matching::Matching;
use pliant_core::mesh::{ClothGrid, Rope, TriMesh};
use pliant_core::model::Model;
use pliant_core::plasticity::Plasticity;
use pliant_core::schedule::Plan;
use pliant_core::tearing::Tearing;

use crate::input::Input;
use crate::stencils;

const ROLES: [Role; 7] =
    [Role::Volume, Role::Bend, Role::Tether, Role::Shear, Role::Stretch, Role::Attach, Role::Elastic];

/// Builds models of one to three bodies in both precisions.
pub fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let bodies: Vec<Body> = (0..1 + input.below(3)).filter_map(|_| body(&mut input)).collect();
    let all: Vec<&Body> = bodies.iter().collect();
    let (single, double) = (Model::<f32>::build(&all), Model::<f64>::build(&all));
    // What double precision cannot hold, single cannot either.
    assert!(double.is_ok() || single.is_err(), "refused in double precision alone: {:?}", double.err());
    sound(single);
    sound(double);
}

fn sound<S: Real>(built: Result<(Model<S>, pliant_core::columns::Particles<S>), pliant_core::error::BuildError>) {
    let (model, particles) = match built {
        Ok(built) => built,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(model.inv_mass().iter().all(|w| w.is_finite() && *w >= S::ZERO));
    assert!(particles.x.first_non_finite().is_none() && particles.v.first_non_finite().is_none());
    struct Check<'a>(&'a Plan);
    impl<S: Real> Visitor<S> for Check<'_> {
        fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
            stencils::check(self.0, set.stencil(), set.ids());
            assert!(set.compliance().iter().all(|alpha| alpha.is_finite() && *alpha >= S::ZERO), "{}", K::NAME);
        }
    }
    model.constraints().visit(&mut Check(model.plan()));
}

/// A body as the bytes have it; `None` where its mesh is refused.
pub fn body(input: &mut Input<'_>) -> Option<Body> {
    let mut body = match input.below(4) {
        0 => Body::particles((0..input.below(12)).map(|_| input.point(1.0)).collect::<Vec<_>>()),
        1 => {
            let (columns, rows) = (input.below(6), input.below(6));
            Body::cloth(&ClothGrid::new(columns, rows, input.number(1.0), input.number(1.0))).ok()?
        }
        2 => Body::rope(
            &Rope::new(input.below(8), input.point(1.0), input.point(1.0)).ok()?,
            input.byte().is_multiple_of(2),
        )
        .ok()?,
        _ => {
            let count = 3 + input.below(6);
            let points: Vec<[f64; 3]> = (0..count).map(|_| input.point(1.0)).collect();
            let triangles: Vec<[u32; 3]> =
                (0..input.below(8)).map(|_| std::array::from_fn(|_| input.below(count) as u32)).collect();
            let bending =
                [Bending::None, Bending::CrossLinks, Bending::Dihedral, Bending::Cotangent, Bending::CubicShell]
                    [input.below(5)];
            let mesh = TriMesh::new(points, triangles).ok()?;
            if input.byte().is_multiple_of(4) {
                Body::balloon(&mesh, input.number(2.0)).ok()?
            } else {
                Body::surface(&mesh, bending).ok()?
            }
        }
    };
    for _ in 0..input.below(6) {
        let count = body.particle_count();
        let any = |input: &mut Input<'_>| if input.byte() < 250 { input.below(count) as u32 } else { input.word() };
        match input.below(14) {
            0 => body = body.with_mass(input.number(2.0)),
            1 => {
                let masses: Vec<f64> = (0..count).map(|_| input.number(2.0)).collect();
                body = body.with_masses(masses);
            }
            2 => {
                let role = ROLES[input.below(7)];
                body = body.with_compliance(role, input.number(1e-2));
            }
            3 => {
                let role = ROLES[input.below(7)];
                body = body.with_damping(role, input.number(1.0));
            }
            4 => {
                let pins: Vec<u32> = (0..input.below(3)).map(|_| any(input)).collect();
                body = body.pinned(pins);
            }
            5 => {
                let (particle, target) = (any(input), [input.number(1.0), input.number(1.0), 0.0]);
                body = body.attached(particle, target, input.number(1e-2));
            }
            6 => body = body.with_tethers(input.number(0.5)),
            7 => body = body.with_thickness(input.number(0.1)),
            8 => {
                let contact = SelfContact {
                    thickness: input.number(0.05),
                    friction: input.number(1.0),
                    ..SelfContact::default()
                };
                body = body.with_self_contact(contact);
            }
            9 => body = body.with_tearing(Tearing::at_strain(input.number(1.0))),
            10 => {
                let law =
                    Plasticity { yields_at: input.number(0.1), creep: input.number(1.0), bound: input.number(0.5) };
                body = body.with_plasticity(ROLES[input.below(7)], law);
            }
            11 => {
                let (pair, rest, direction) = ([any(input), any(input)], input.number(1.0), input.byte());
                body.tables_mut().distance.push(ROLES[input.below(7)], direction, pair, [rest]);
            }
            12 => {
                let quad = [any(input), any(input), any(input), any(input)];
                body.tables_mut().tet_volume.push(Role::Volume, 0, quad, [input.number(0.1)]);
            }
            _ => {
                let members: Vec<u32> = (0..input.below(8)).map(|_| any(input)).collect();
                body = body.with_cluster(members, Matching::soft(input.number(1.0)));
            }
        }
    }
    Some(body)
}
