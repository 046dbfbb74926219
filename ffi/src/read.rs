//! Reading worlds: columns without a copy, vertices and normals packed for drawing, time and hash.

use core::mem::MaybeUninit;

use pliant::{BodyId, BuildError, VectorsView, World};

use crate::memory::room;
use crate::status::{Failure, PliantStatus};
use crate::types::{PliantBodyId, PliantColumns, PliantTriangles};
use crate::world::{PliantWorld, put, within};

fn columns(view: VectorsView<'_, f32>) -> PliantColumns {
    PliantColumns { x: view.x().as_ptr(), y: view.y().as_ptr(), z: view.z().as_ptr(), count: view.len() }
}

/// Positions of a body's particles, without a copy [m].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_positions(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    out: Option<&mut MaybeUninit<PliantColumns>>,
) -> PliantStatus {
    within(world, |world, handle| put("out", out, columns(world.positions(handle.body(id)?)?)))
}

/// Velocities of a body's particles, without a copy [m/s].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_velocities(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    out: Option<&mut MaybeUninit<PliantColumns>>,
) -> PliantStatus {
    within(world, |world, handle| put("out", out, columns(world.velocities(handle.body(id)?)?)))
}

/// Surface triangles of a body, without a copy, by its particle numbers.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_triangles(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    out: Option<&mut MaybeUninit<PliantTriangles>>,
) -> PliantStatus {
    within(world, |world, handle| {
        let triangles = world.triangles(handle.body(id)?)?;
        put("out", out, PliantTriangles { corners: triangles.as_flattened().as_ptr(), count: triangles.len() })
    })
}

/// Fills a buffer with rows of three numbers, one a particle.
///
/// # Safety
/// `to` points to three times `capacity` numbers.
unsafe fn fill(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    (to, capacity): (*mut f32, usize),
    write: impl FnOnce(&World, BodyId, &mut [[f32; 3]]) -> Result<(), BuildError>,
) -> PliantStatus {
    within(world, |world, handle| {
        let id = handle.body(id)?;
        let count = world.positions(id)?.len();
        if capacity < count {
            let message = format!("the body has {count} particles, the buffer has room for {capacity}");
            return Err(Failure::new(PliantStatus::BadLength, message));
        }
        // SAFETY: three numbers a particle are no more than the caller promises.
        let rows = unsafe { room("to", to, 3 * count)? }.as_chunks_mut().0;
        Ok(write(world, id, rows)?)
    })
}

/// Writes positions packed x y z x y z ... into a vertex buffer with room for `capacity` particles [m].
///
/// # Safety
/// `to` points to three times `capacity` numbers.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_world_write_vertices(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    to: *mut f32,
    capacity: usize,
) -> PliantStatus {
    // SAFETY: as the caller promises.
    unsafe { fill(world, id, (to, capacity), World::write_vertices) }
}

/// Writes unit normals packed x y z x y z ... into a buffer with room for `capacity` particles; zero without triangles.
///
/// # Safety
/// `to` points to three times `capacity` numbers.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_world_write_normals(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    to: *mut f32,
    capacity: usize,
) -> PliantStatus {
    // SAFETY: as the caller promises.
    unsafe { fill(world, id, (to, capacity), World::normals) }
}

/// Time since the world began [s].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_time(world: Option<&PliantWorld>, out: Option<&mut MaybeUninit<f64>>) -> PliantStatus {
    within(world, |world, _| put("out", out, world.time()))
}

/// A hash over every bit of the positions and velocities of all particles: equal on every backend and thread count. Time, targets
/// and loads are not in it; snapshots hold them.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_state_hash(
    world: Option<&PliantWorld>,
    out: Option<&mut MaybeUninit<u64>>,
) -> PliantStatus {
    within(world, |world, _| put("out", out, world.state_hash()))
}
