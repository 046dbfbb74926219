//! Other crates' types: poses and vectors of `glam` and `mint`, descriptions and options through serde, bytes for a graphics card.

use pliant::prelude::*;
use pliant::{SelfContact, bytemuck};
use serde_json::{from_str, from_value, to_string};

#[test]
fn vectors_and_poses_of_other_crates_go_in_and_out() -> Result<(), Error> {
    let mut world = World::new();
    let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 4))?.pinned([0, 1]))?;
    world.move_pin(cloth, 0, glam::Vec3::new(0.1, 0.2, 0.3))?;
    world.move_pin(cloth, 1, mint::Point3 { x: 1.0, y: 0.2, z: 0.3 })?;
    world.step(1.0 / 60.0)?;
    let first: Vec<glam::Vec3> = world.positions(cloth)?.iter().take(2).map(Into::into).collect();
    assert!(first[0].distance(glam::Vec3::new(0.1, 0.2, 0.3)) < 1e-6);
    assert!(first[1].distance(glam::Vec3::new(1.0, 0.2, 0.3)) < 1e-6);
    let view: &[glam::Vec3] = bytemuck::cast_slice(world.vertices(cloth)?);
    assert_eq!((view.len(), view[0]), (16, first[0]));

    let turn = glam::DQuat::from_rotation_y(0.5);
    let pose = Pose::from((glam::DVec3::new(1.0, 2.0, 3.0), turn));
    assert_eq!(pose, Pose::at(glam::DVec3::new(1.0, 2.0, 3.0)).turned(turn));
    let same = Pose::at([1.0, 2.0, 3.0]).turned(Rotation::about([0.0, 1.0, 0.0], 0.5));
    let p = glam::DVec3::new(0.3, -0.2, 0.9);
    let placed = glam::DAffine3::from(pose).transform_point3(p);
    assert!((placed - glam::DVec3::from(same.place(p.into()))).length() < 1e-14);
    let (t, q): (glam::Vec3, glam::Quat) = pose.into();
    assert!(glam::Affine3A::from(pose).transform_point3(p.as_vec3()).distance(q * p.as_vec3() + t) < 1e-6);

    let (t, q): (mint::Vector3<f64>, mint::Quaternion<f64>) = pose.into();
    assert_eq!(Pose::from((t, q)), pose);
    assert_eq!((q.s, q.v.y), (turn.w, turn.y), "the real part is the last one");
    let ball = Collider::sphere(0.1).at(mint::Vector3 { x: 0.0, y: -1.0, z: 0.0 }).turned(q);
    world.add_collider(ball)?;
    let mesh = TriMesh::new([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]].map(mint::Vector3::<f64>::from), [[0, 2, 1]])?;
    assert_eq!(mesh.triangle_count(), 1);

    // Meshes, ropes, bodies, rays and pushes take what the others take; plain arrays need no types.
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    assert_eq!(TriMesh::new(corners.map(glam::DVec3::from), [[0, 2, 1]])?, mesh);
    let single = corners.map(|corner| glam::DVec3::from(corner).as_vec3());
    assert_eq!(TriMesh::from_f32(single, [[0, 2, 1]])?, mesh);
    assert_eq!(TriMesh::from_f32(corners.map(|corner| corner.map(|c| c as f32)), [[0, 2, 1]])?, mesh);
    let (from, to) = (glam::DVec3::ZERO, mint::Point3 { x: 1.0, y: 0.0, z: 0.0 });
    let rope = Rope::new(4, from, to)?;
    assert_eq!(rope, Rope::new(4, [0.0; 3], [1.0, 0.0, 0.0])?);
    let by = glam::DVec3::new(0.0, 5.0, 0.0);
    let body = Body::rope(&rope, false)?.attached(4, by, 1e-3).translated(by);
    assert_eq!(body.positions()[4], [1.0, 5.0, 0.0]);
    assert_eq!(body.tables().attachment.parameters[0], [0.0, 10.0, 0.0]);
    let ball = world.add_rigid(&RigidBody::sphere(0.1, 100.0).at([5.0, 0.0, 0.0]))?;
    world.push_rigid(ball, glam::Vec3::Y, mint::Point3 { x: 5.0, y: 0.0, z: 0.0 })?;
    world.strike_rigid(ball, [0.0, 1.0, 0.0], glam::Vec3::X * 5.0)?;
    assert!(world.rigid_velocity(ball)?[0][1] > 0.0);
    let down = mint::Vector3 { x: 0.0, y: -1.0, z: 0.0 };
    assert!(world.probe()?.ray(glam::DVec3::new(0.0, 3.0, 0.0), down, 10.0).is_some());
    Ok(())
}

#[test]
fn handles_are_numbers_and_views_are_walked() -> Result<(), Error> {
    let mut world = World::new();
    let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 3))?)?;
    let collider = world.add_collider(Collider::sphere(0.1))?;
    let bone = world.add_bone(Pose::IDENTITY)?;
    let [first, second] = [0.0, 1.0].map(|x| RigidBody::sphere(0.1, 100.0).at([x, 3.0, 0.0]));
    let bodies = [world.add_rigid(&first)?, world.add_rigid(&second)?];
    let joint = world.join(bodies, Joint::ball([0, 0], [0.5, 3.0, 0.0]))?;
    assert_eq!(BodyId::from_bits(cloth.to_bits()), Some(cloth));
    assert_eq!(ColliderId::from_bits(collider.to_bits()), Some(collider));
    assert_eq!(BoneId::from_bits(bone.to_bits()), Some(bone));
    assert_eq!(RigidId::from_bits(bodies[1].to_bits()), Some(bodies[1]));
    assert_eq!(JointId::from_bits(joint.to_bits()), Some(joint));
    assert_eq!((RigidId::from_bits(0), JointId::from_bits(0), BoneId::from_bits(0)), (None, None, None));
    let view = world.positions(cloth)?;
    let mut walked = Vec::new();
    for place in view {
        walked.push(place);
    }
    assert_eq!(walked, view.iter().collect::<Vec<_>>());
    assert_eq!((view.iter().len(), (&view).into_iter().next_back()), (9, walked.last().copied()));
    Ok(())
}

#[test]
fn vertices_normals_and_indices_are_bytes() -> Result<(), Error> {
    let mut world = World::new();
    let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 6))?.pinned([0, 5]))?;
    (0..20).try_for_each(|_| world.step(1.0 / 60.0).map(|_| ()))?;
    let mut normals = vec![[0.0; 3]; 36];
    world.normals(cloth, &mut normals)?;
    let vertices = world.vertices(cloth)?.to_vec();
    let expected: Vec<[f32; 6]> =
        vertices.iter().zip(&normals).map(|(p, n)| [p[0], p[1], p[2], n[0], n[1], n[2]]).collect();
    assert_eq!(world.interleaved(cloth)?, expected);
    let bytes: &[u8] = bytemuck::cast_slice(world.interleaved(cloth)?);
    assert_eq!(bytes.len(), 36 * 24);
    let indices: &[u8] = bytemuck::cast_slice(world.triangles(cloth)?);
    assert_eq!(indices.len(), 4 * 3 * world.triangles(cloth)?.len());
    let refused = world.write_interleaved(cloth, &mut [[0.0; 6]; 35]);
    assert!(matches!(refused, Err(BuildError::Length { found: 35, expected: 36, .. })));
    Ok(())
}

#[test]
fn descriptions_survive_json() -> Result<(), Box<dyn core::error::Error>> {
    let cloth = Body::sheet_of(&Material::SILK, &ClothGrid::square(1.0, 5).build()?.mesh, [1.0, 0.0, 0.0])?
        .pinned([0, 4])
        .with_self_contact(SelfContact::default())
        .with_cluster([0, 1, 2], Matching::RIGID);
    let shape = Shape::Capsule { radius: 0.1, half_length: 0.2 }.union(Shape::Torus { major: 0.3, minor: 0.1 });
    let collider = Collider::new(shape).at([0.5, -0.4, 0.5]).with_friction(0.3);
    let hull = RigidBody::convex(&icosphere(0.1, 1)?, 500.0)?.at([0.0, 1.0, 0.0]);
    let run = |cloth: &Body, collider: &Collider, hull: &RigidBody| -> Result<u64, Error> {
        let mut world = World::new();
        world.add(cloth.clone())?;
        world.add_collider(collider.clone())?;
        world.add_rigid(hull)?;
        (0..20).try_for_each(|_| world.step(1.0 / 60.0).map(|_| ()))?;
        Ok(world.state_hash())
    };
    let read: (Body, Collider, RigidBody) = from_str(&to_string(&(&cloth, &collider, &hull))?)?;
    assert_eq!(run(&read.0, &read.1, &read.2)?, run(&cloth, &collider, &hull)?);
    let environment = Environment { damping: 0.3, ..Environment::<f32>::default() };
    assert_eq!(from_str::<Environment<f32>>(&to_string(&environment)?)?, environment);
    for material in [Material::COTTON, Material::RUBBER, Material::LEATHER] {
        assert_eq!(from_str::<Material>(&to_string(&material)?)?, material);
    }
    Ok(())
}

#[test]
fn options_may_be_said_in_part_and_misspelt_ones_are_refused() -> Result<(), Box<dyn core::error::Error>> {
    let options: PbdOptions = from_str(r#"{"iterations": 7, "iteration": {"Jacobi": {"relaxation": 1.2}}}"#)?;
    let iteration = pliant::Iteration::Jacobi { relaxation: 1.2 };
    assert_eq!(options, PbdOptions { iterations: 7, iteration, ..PbdOptions::default() });
    assert_eq!(from_str::<XpbdOptions>(&to_string(&XpbdOptions::default())?)?, XpbdOptions::default());
    assert_eq!(from_str::<StrainLimits>("{}")?, StrainLimits::default());
    assert_eq!(from_str::<RigidOptions>(&to_string(&RigidOptions::default())?)?, RigidOptions::default());
    assert!(from_str::<RigidOptions>(r#"{"substep": 3}"#).is_err());
    Ok(())
}

#[test]
fn what_builders_would_never_make_is_refused() -> Result<(), Box<dyn core::error::Error>> {
    let cloth = serde_json::to_value(Body::cloth(&ClothGrid::square(1.0, 3))?)?;
    let balloon = serde_json::to_value(Body::balloon(&icosphere(1.0, 0)?, 1.0)?)?;
    type Spoil = fn(&mut serde_json::Value);
    let spoils: [(&serde_json::Value, Spoil); 6] = [
        (&cloth, |body| drop(body["rest"].as_array_mut().and_then(Vec::pop))),
        (&cloth, |body| body["grid"] = serde_json::json!([3, 4])),
        (&cloth, |body| body["grid"] = serde_json::json!([u32::MAX, u32::MAX])),
        (&cloth, |body| body["triangles"][0][1] = 9.into()),
        (&cloth, |body| drop(body["tables"]["distance"]["role"].as_array_mut().and_then(Vec::pop))),
        (&balloon, |body| drop(body["triangles"].as_array_mut().and_then(Vec::pop))),
    ];
    for (at, (good, spoil)) in spoils.into_iter().enumerate() {
        assert!(from_value::<Body>(good.clone()).is_ok());
        let mut bad = good.clone();
        spoil(&mut bad);
        assert!(from_value::<Body>(bad).is_err(), "spoilt {at}");
    }
    // A tower of shapes that would use up the stack, in a format that sets no limit itself.
    let mut deep = serde_json::to_value(Shape::Sphere { radius: 1.0 })?;
    for _ in 0..100 {
        deep = serde_json::json!({ "Offset": [deep, 0.1] });
    }
    assert!(from_value::<Shape>(deep).is_err());
    Ok(())
}
