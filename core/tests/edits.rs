//! Bodies that change: models built like others, and bodies made of several.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use pliant_core::body::{Bending, Body, Role};
use pliant_core::error::BuildError;
use pliant_core::mesh::{ClothGrid, Rope, Split, icosphere, tet_box};
use pliant_core::model::Model;
use pliant_core::plasticity::Plasticity;
use pliant_core::tearing::Tearing;

fn cloth() -> Body {
    Body::cloth(&ClothGrid::square(1.0, 12)).unwrap().pinned([0, 11])
}

fn ball() -> Body {
    Body::surface(&icosphere(0.3, 2).unwrap(), Bending::Dihedral).unwrap().with_tethers(0.1).pinned([5])
}

fn rope() -> Body {
    Body::rope(&Rope::new(9, [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]).unwrap(), true).unwrap()
}

/// Everything that a model is, but for its number.
fn told(bodies: &[&Body], like: Option<&[&Body]>) -> String {
    let like = like.map(|bodies| Model::<f32>::build(bodies).unwrap().0);
    let (model, particles) = match &like {
        Some(like) => Model::build_like(bodies, like).unwrap(),
        None => Model::build(bodies).unwrap(),
    };
    let (plan, surface) = (model.plan(), model.surface());
    format!(
        "{plan:?} {surface:?} {:?} {:?} {:?} {particles:?}",
        model.constraints(),
        model.inv_mass(),
        model.triangles()
    )
}

#[test]
fn a_model_like_another_is_the_model_itself() {
    let solid = Body::solid(&tet_box([2; 3], [0.3; 3], Split::Five).unwrap()).unwrap();
    let before = [&cloth(), &ball(), &rope(), &solid];
    let heavy = cloth().with_mass(7.0).with_compliance(Role::Bend, 0.1).with_thickness(0.1);
    let mut linked = rope();
    linked.tables_mut().distance.push(Role::Stretch, 0, [0, 9], [0.9]);
    let mut turned = rope();
    turned.tables_mut().distance.direction[3] = 2;
    let tethered = ball().with_compliance(Role::Tether, 1e-3);
    let free = Body::surface(&icosphere(0.3, 2).unwrap(), Bending::Dihedral).unwrap().with_tethers(0.1).pinned([7]);
    for after in [
        [&before[0], &before[1], &before[2], &before[3]].map(|body| (*body).clone()).to_vec(),
        vec![heavy, ball(), rope(), solid.clone()],
        vec![cloth(), tethered, linked, solid.clone()],
        vec![cloth(), free, turned, solid.clone()],
        vec![cloth(), rope()],
        vec![cloth()],
    ] {
        let after: Vec<&Body> = after.iter().collect();
        assert_eq!(told(&after, Some(&before)), told(&after, None));
    }
    // A grid alone runs through memory by columns; the same links without a grid do not.
    let plain = Body::merged([&cloth(), &rope()]).unwrap();
    assert_eq!(told(&[&plain], Some(&[&cloth(), &rope()])), told(&[&plain], None));
    assert_eq!(told(&[&cloth()], Some(&[&cloth().with_mass(2.0)])), told(&[&cloth()], None));
}

#[test]
fn a_merged_body_is_its_parts_side_by_side() {
    let (a, b) = (cloth().attached(3, [0.0; 3], 0.1), rope().with_thickness(0.01).pinned([2]));
    let merged = Body::merged([&a, &b]).unwrap();
    assert_eq!(merged.particle_count(), 144 + 10);
    assert_eq!(merged.pins(), [0, 11, 146]);
    assert_eq!(merged.masses(), [a.masses(), b.masses()].concat());
    let (links, first) = (&merged.tables().distance.ids, a.tables().distance.ids.len());
    assert_eq!(links[first], b.tables().distance.ids[0].map(|id| id + 144));
    let (model, _) = Model::<f32>::build(&[&merged]).unwrap();
    assert_eq!((model.thickness()[143], model.thickness()[144]), (0.0, 0.01));
    assert_eq!(model.triangles(), a.triangles());
    assert_eq!(Body::merged([&a]).unwrap().particle_count(), 144);
}

#[test]
fn bodies_that_cannot_be_one_are_refused() {
    let law = Plasticity { yields_at: 0.1, creep: 1.0, bound: 0.1 };
    let balloon = Body::balloon(&icosphere(0.2, 1).unwrap(), 1.0).unwrap();
    for other in [
        balloon,
        cloth().with_tethers(0.1),
        cloth().with_plasticity(Role::Stretch, law),
        cloth().with_tearing(Tearing::at_strain(0.3)),
    ] {
        for pair in [[&cloth(), &other], [&other, &cloth()]] {
            assert!(matches!(Body::merged(pair), Err(BuildError::Unsupported { row: 1, .. })));
        }
    }
    assert_eq!(Body::merged([]).map(|_| ()), Err(BuildError::NothingToMerge));
}
