//! What the header promises: null pointers, wrong names, stale and foreign handles, short buffers and bad numbers are errors with a
//! message, and leave a world as it was.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};

use PliantStatus::{
    BadLength, BadMesh, BadSnapshot, BadStep, BadText, BadValue, NotFound, NullPointer, Ok, UnknownName,
};
use pliant_ffi::*;

/// The value a call writes.
fn made<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> PliantStatus) -> T {
    let mut out = MaybeUninit::uninit();
    assert_eq!(call(Some(&mut out)), Ok, "{}", message());
    // SAFETY: whoever returns `Ok` has written.
    unsafe { out.assume_init() }
}

fn message() -> String {
    // SAFETY: the message of this thread ends with a zero and lives until the next failure.
    unsafe { CStr::from_ptr(pliant_last_error()) }.to_string_lossy().into_owned()
}

/// Checks status and message of a call that must fail.
fn refused(status: PliantStatus, expected: PliantStatus, says: &str) {
    assert_eq!(status, expected, "{}", message());
    assert!(message().contains(says), "{} does not say `{says}`", message());
}

fn world() -> Box<PliantWorld> {
    // SAFETY: there are no options.
    made(|out| unsafe { pliant_world_create(None, out) }).unwrap()
}

fn cloth() -> Box<PliantBody> {
    let mut cloth = made(|out| pliant_body_cloth(5, 4, 1.0, 0.8, out)).unwrap();
    // SAFETY: two numbers.
    assert_eq!(unsafe { pliant_body_pin(Some(&mut cloth), [0, 4].as_ptr(), 2) }, Ok);
    cloth
}

fn hash(world: &PliantWorld) -> u64 {
    made(|out| pliant_world_state_hash(Some(world), out))
}

const UP: PliantVec3 = PliantVec3 { x: 0.0, y: 1.0, z: 0.0 };
const BAD: PliantVec3 = PliantVec3 { x: f64::NAN, y: 0.0, z: 0.0 };

fn here() -> (PliantPose, PliantContact) {
    (PliantPose::default(), PliantContact::default())
}

#[test]
fn null_pointers_are_errors() {
    let (world, cloth) = (world(), cloth());
    let id = made(|out| pliant_world_add(Some(&world), Some(&cloth), out));
    refused(pliant_world_add(None, Some(&cloth), None), NullPointer, "world");
    refused(pliant_world_add(Some(&world), None, Some(&mut MaybeUninit::uninit())), NullPointer, "body");
    refused(pliant_world_add(Some(&world), Some(&cloth), None), NullPointer, "out");
    refused(pliant_world_step(None, 0.01), NullPointer, "world");
    refused(pliant_world_positions(Some(&world), id, None), NullPointer, "out");
    refused(pliant_world_time(None, None), NullPointer, "world");
    refused(pliant_body_cloth(2, 2, 1.0, 1.0, None), NullPointer, "out");
    refused(pliant_body_set_mass(None, 1.0), NullPointer, "body");
    let (pose, contact) = here();
    refused(pliant_world_add_plane(Some(&world), UP, pose, contact, None), NullPointer, "out");
    // SAFETY: null pointers are refused before they are followed.
    unsafe {
        refused(pliant_world_create(None, None), NullPointer, "out");
        refused(pliant_world_write_vertices(Some(&world), id, null_mut(), 20), NullPointer, "to");
        refused(pliant_world_restore(Some(&world), null(), 100), NullPointer, "bytes");
        refused(pliant_world_snapshot(Some(&world), null_mut(), 0, None), NullPointer, "size");
        let mut out = MaybeUninit::uninit();
        refused(pliant_body_surface(null(), 3, null(), 1, null(), Some(&mut out)), NullPointer, "positions");
        assert!(out.assume_init().is_none(), "there is nothing to destroy");
    }
    pliant_world_destroy(None);
    pliant_body_destroy(None);
    assert_eq!(pliant_body_particle_count(None), 0);
}

#[test]
fn handles_of_removed_things_and_of_other_worlds_are_errors() {
    let (first, second, cloth) = (world(), world(), cloth());
    let id = made(|out| pliant_world_add(Some(&first), Some(&cloth), out));
    let other = made(|out| pliant_world_add(Some(&second), Some(&cloth), out));
    assert_ne!(id, other, "worlds mark their handles");
    refused(pliant_world_remove(Some(&first), other), NotFound, "body");
    refused(pliant_world_remove(Some(&first), PliantBodyId::default()), NotFound, "body");
    assert_eq!(pliant_world_remove(Some(&first), id), Ok);
    let again = made(|out| pliant_world_add(Some(&first), Some(&cloth), out));
    assert_ne!(again, id, "a place that is taken again has another handle");
    let mut columns = MaybeUninit::uninit();
    refused(pliant_world_positions(Some(&first), id, Some(&mut columns)), NotFound, "body");
    refused(pliant_world_move_pin(Some(&first), id, 0, UP), NotFound, "body");
    refused(pliant_world_release(Some(&first), again, 7), NotFound, "pin");

    let (pose, contact) = here();
    let ball = made(|out| pliant_world_add_sphere(Some(&first), 0.1, pose, contact, out));
    assert_eq!(pliant_world_move_collider(Some(&first), ball, pose), Ok);
    refused(pliant_world_move_collider(Some(&second), ball, pose), NotFound, "collider");
    assert_eq!(pliant_world_remove_collider(Some(&first), ball), Ok);
    refused(pliant_world_remove_collider(Some(&first), ball), NotFound, "collider");
}

#[test]
fn names_are_checked_and_listed() {
    let options = |method: &'static CStr, backend: &'static CStr, threads| PliantWorldOptions {
        method: method.as_ptr(),
        substeps: 0,
        iterations: 0,
        backend: backend.as_ptr(),
        threads,
    };
    // SAFETY: all names are strings.
    unsafe {
        let create =
            |options: PliantWorldOptions| pliant_world_create(Some(&options), Some(&mut MaybeUninit::uninit()));
        refused(create(options(c"magic", c"scalar", 0)), UnknownName, "pbd");
        refused(create(options(c"pbd", c"gpu", 0)), UnknownName, "scalar");
        refused(create(options(c"\xff", c"scalar", 0)), BadText, "method");
        refused(create(options(c"pbd", c"scalar", 5000)), BadValue, "1024");
        let mut body = cloth();
        refused(pliant_body_set_compliance(Some(&mut body), c"stretchy".as_ptr(), 0.1), UnknownName, "stretch");
        assert_eq!(pliant_body_set_compliance(Some(&mut body), c"stretch".as_ptr(), 1e-4), Ok);
        // Every method and backend that is listed makes a world; the explicit one and those that minimise refuse rigid links.
        let list = |name: extern "C" fn(usize) -> *const core::ffi::c_char| {
            (0..)
                .map(|index| name(index))
                .take_while(|name| !name.is_null())
                .map(|name| CStr::from_ptr(name))
                .collect::<Vec<_>>()
        };
        let (methods, backends) = (list(pliant_method_name), list(pliant_backend_name));
        assert!(methods.contains(&c"pbd") && backends.contains(&c"scalar"));
        for method in methods {
            let world = made(|out| pliant_world_create(Some(&options(method, backends[0], 0)), out)).unwrap();
            assert_eq!(pliant_world_set_method(Some(&world), c"pbd".as_ptr(), 4, 2), Ok);
        }
    }
}

#[test]
fn bad_numbers_and_meshes_are_errors_and_change_nothing() {
    let (world, cloth) = (world(), cloth());
    let id = made(|out| pliant_world_add(Some(&world), Some(&cloth), out));
    assert_eq!(pliant_world_step(Some(&world), 0.01), Ok);
    let before = hash(&world);
    for dt in [0.0, -0.01, f32::NAN, f32::INFINITY, 2.0] {
        refused(pliant_world_step(Some(&world), dt), BadStep, "time step");
    }
    refused(pliant_world_move_pin(Some(&world), id, 0, BAD), BadValue, "pin");
    refused(pliant_world_set_force(Some(&world), id, 3, BAD), BadValue, "force");
    refused(pliant_world_set_position(Some(&world), id, 20, UP), BadValue, "20 particles");
    let (pose, contact) = here();
    let mut out = MaybeUninit::uninit();
    refused(pliant_world_add_sphere(Some(&world), -1.0, pose, contact, Some(&mut out)), BadValue, "radius");
    let slippery = PliantContact { friction: -1.0, ..contact };
    refused(pliant_world_add_plane(Some(&world), UP, pose, slippery, Some(&mut out)), BadValue, "friction");
    assert_eq!(pliant_world_set_gravity(Some(&world), BAD), Ok);
    refused(pliant_world_step(Some(&world), 0.01), BadStep, "gravity");
    assert_eq!(hash(&world), before);
    assert_eq!(pliant_world_set_gravity(Some(&world), PliantVec3::default()), Ok);
    assert_eq!(pliant_world_step(Some(&world), 0.01), Ok);

    let corners = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let mut out = MaybeUninit::uninit();
    // SAFETY: four corners, and as many indices as are announced.
    unsafe {
        let mut triangles =
            |ids: [u32; 3]| pliant_body_surface(corners.as_ptr(), 4, ids.as_ptr(), 1, null(), Some(&mut out));
        refused(triangles([0, 1, 9]), BadMesh, "9");
        refused(triangles([0, 1, 1]), BadMesh, "1");
        let inverted = [0, 2, 1, 3];
        refused(pliant_body_solid(corners.as_ptr(), 4, inverted.as_ptr(), 1, Some(&mut out)), BadMesh, "tet");
        let tet = [0, 1, 2, 3];
        let gel = made(|out| pliant_body_solid_of(c"gel".as_ptr(), corners.as_ptr(), 4, tet.as_ptr(), 1, out)).unwrap();
        assert_eq!(pliant_body_particle_count(Some(&gel)), 4);
        refused(
            pliant_body_solid_of(null(), corners.as_ptr(), 4, tet.as_ptr(), 1, Some(&mut out)),
            NullPointer,
            "material",
        );
    }
    refused(pliant_body_rope(0, UP, UP, false, Some(&mut out)), BadMesh, "segments");
    refused(pliant_body_cloth(0, 5, 1.0, 1.0, Some(&mut out)), BadMesh, "columns");
}

#[test]
fn buffers_are_measured_and_snapshots_checked() {
    let (world, cloth) = (world(), cloth());
    let id = made(|out| pliant_world_add(Some(&world), Some(&cloth), out));
    assert_eq!(pliant_world_step(Some(&world), 0.01), Ok);
    let columns = made(|out| pliant_world_positions(Some(&world), id, out));
    let triangles = made(|out| pliant_world_triangles(Some(&world), id, out));
    assert_eq!((columns.count, triangles.count), (20, 24));
    let mut vertices = [0.0_f32; 61];
    // SAFETY: buffers are as large as they are said to be; columns are read before the world changes.
    unsafe {
        refused(pliant_world_write_vertices(Some(&world), id, vertices.as_mut_ptr(), 19), BadLength, "20 particles");
        assert_eq!(vertices, [0.0; 61], "nothing was written");
        vertices[60] = 7.0;
        assert_eq!(pliant_world_write_vertices(Some(&world), id, vertices.as_mut_ptr(), 20), Ok);
        assert_eq!((vertices[3 * 13 + 1], vertices[60]), (*columns.y.add(13), 7.0));
        let mut normals = [0.0_f32; 60];
        assert_eq!(pliant_world_write_normals(Some(&world), id, normals.as_mut_ptr(), 20), Ok);
        assert!(normals.as_chunks::<3>().0.iter().all(|n| (n.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < 1e-5));

        let size = made(|out| pliant_world_snapshot(Some(&world), null_mut(), 0, out));
        let mut bytes = vec![0; size];
        let mut needed = MaybeUninit::new(0);
        let short = pliant_world_snapshot(Some(&world), bytes.as_mut_ptr(), size - 1, Some(&mut needed));
        refused(short, BadLength, "room");
        assert_eq!(needed.assume_init(), size, "the size that is needed is told all the same");
        made(|out| pliant_world_snapshot(Some(&world), bytes.as_mut_ptr(), size, out));
        let then = hash(&world);
        assert_eq!(pliant_world_step(Some(&world), 0.01), Ok);
        let later = hash(&world);
        refused(pliant_world_restore(Some(&world), bytes.as_ptr(), size - 3), BadSnapshot, "bytes");
        bytes[size / 2] ^= 1;
        refused(pliant_world_restore(Some(&world), bytes.as_ptr(), size), BadSnapshot, "checksum");
        assert_eq!(hash(&world), later);
        bytes[size / 2] ^= 1;
        assert_eq!(pliant_world_restore(Some(&world), bytes.as_ptr(), size), Ok);
        assert_eq!(hash(&world), then);
    }
}
