//! Worlds: making and stepping them, their bodies, pins and loads.

use core::ffi::c_char;
use core::mem::MaybeUninit;
use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, TryLockError};

use pliant::{Best, BodyId, ColliderId, Effort, Method, Snapshot, UnknownName, Wind, World};

use crate::body::PliantBody;
use crate::memory::{list, room, text};
use crate::status::{Failure, PliantStatus, enter};
use crate::types::{PliantBodyId, PliantColliderId, PliantVec3, PliantWind, PliantWorldOptions};

/// Bodies that live and move together. For one thread at a time: a second one is told that the world is busy.
#[derive(Debug)]
pub struct PliantWorld {
    world: Mutex<World>,
    /// Mixed into handles, so that those of other worlds are refused; repeats after 65,536 worlds.
    mark: u64,
}

impl PliantWorld {
    fn new(world: World) -> Self {
        static WORLDS: AtomicU64 = AtomicU64::new(1);
        // Where a handle has the upper half of its generation: what is mixed in twice is gone again, whatever stood there.
        Self { world: Mutex::new(world), mark: WORLDS.fetch_add(1, Ordering::Relaxed) << 48 }
    }
    pub(crate) fn seal(&self, id: BodyId) -> PliantBodyId {
        PliantBodyId { bits: id.to_bits() ^ self.mark }
    }
    pub(crate) fn seal_collider(&self, id: ColliderId) -> PliantColliderId {
        PliantColliderId { bits: id.to_bits() ^ self.mark }
    }
    pub(crate) fn body(&self, id: PliantBodyId) -> Result<BodyId, Failure> {
        BodyId::from_bits(id.bits ^ self.mark).ok_or_else(|| nothing("body"))
    }
    pub(crate) fn collider(&self, id: PliantColliderId) -> Result<ColliderId, Failure> {
        ColliderId::from_bits(id.bits ^ self.mark).ok_or_else(|| nothing("collider"))
    }
}

/// More are a mistake, and would take the machine down before they were noticed.
const MOST_THREADS: u32 = 1024;

fn nothing(what: &str) -> Failure {
    Failure::new(PliantStatus::NotFound, format!("this is no handle of a {what}"))
}

/// Runs a call on a world, alone.
pub(crate) fn within(
    world: Option<&PliantWorld>,
    call: impl FnOnce(&mut World, &PliantWorld) -> Result<(), Failure>,
) -> PliantStatus {
    enter(|| {
        let handle = world.ok_or_else(|| Failure::null("world"))?;
        match handle.world.try_lock() {
            Ok(mut world) => call(&mut world, handle),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new(PliantStatus::Busy, "another thread is inside this world; use it from one at a time"))
            }
            Err(TryLockError::Poisoned(_)) => {
                Err(Failure::new(PliantStatus::Poisoned, "pliant panicked inside this world before; destroy it"))
            }
        }
    })
}

/// Writes a result to where the caller wants it.
pub(crate) fn put<T>(what: &str, out: Option<&mut MaybeUninit<T>>, value: T) -> Result<(), Failure> {
    out.ok_or_else(|| Failure::null(what))?.write(value);
    Ok(())
}

/// # Safety
/// The names are strings or null.
unsafe fn method(name: *const c_char, substeps: u32, iterations: u32) -> Result<Method, Failure> {
    let some = |count: u32| (count > 0).then_some(count as usize);
    let effort = Effort { substeps: some(substeps), iterations: some(iterations) };
    // SAFETY: as the caller promises.
    let name = unsafe { text("method", name)? };
    match name {
        None if effort == Effort::default() => Ok(Method::default()),
        name => Ok(Method::by_name_with(name.unwrap_or(Method::default().name()), effort)?),
    }
}

/// Makes a world without bodies. `options` may be null: the default method on the fastest backend.
///
/// # Safety
/// The names in `options` are strings or null.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_world_create(
    options: Option<&PliantWorldOptions>,
    out: Option<&mut MaybeUninit<Option<Box<PliantWorld>>>>,
) -> PliantStatus {
    enter(|| {
        let out = out.ok_or_else(|| Failure::null("out"))?.write(None);
        let null = core::ptr::null();
        let defaults = PliantWorldOptions { method: null, substeps: 0, iterations: 0, backend: null, threads: 0 };
        let options = options.unwrap_or(&defaults);
        // SAFETY: as the caller promises.
        let (method, backend) = unsafe {
            (method(options.method, options.substeps, options.iterations)?, text("backend", options.backend)?)
        };
        let threads = (options.threads > 0).then_some(options.threads as usize);
        if options.threads > MOST_THREADS {
            let message = format!("{} threads are too many; expected at most {MOST_THREADS}", options.threads);
            return Err(Failure::new(PliantStatus::BadValue, message));
        }
        let backend = match backend {
            None if threads.is_none() => Best::new(),
            name => {
                let name = name.unwrap_or("parallel");
                let unknown = || UnknownName { what: "backend", name: name.to_owned(), known: Best::<f32>::names() };
                Best::by_name(name, threads).ok_or_else(unknown)?
            }
        };
        *out = Some(Box::new(PliantWorld::new(World::with_method(method, backend))));
        Ok(())
    })
}

/// Frees a world with everything in it and ends its threads. A null pointer is fine.
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_destroy(world: Option<Box<PliantWorld>>) {
    let _ = enter(|| {
        drop(world);
        Ok(())
    });
}

/// Swaps the method; bodies and their state stay. 0 substeps or iterations mean the method's default.
///
/// # Safety
/// `name` is a string.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_world_set_method(
    world: Option<&PliantWorld>,
    name: *const c_char,
    substeps: u32,
    iterations: u32,
) -> PliantStatus {
    within(world, |world, _| {
        // SAFETY: as the caller promises.
        let method = unsafe { method(name, substeps, iterations)? };
        Ok(world.set_method(method)?)
    })
}

/// The name of method `index` of this build, null behind the last.
#[unsafe(no_mangle)]
pub extern "C" fn pliant_method_name(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    name_in(NAMES.get_or_init(|| Method::names().map(c_string).collect()), index)
}

/// The name of backend `index` of this build, null behind the last.
#[unsafe(no_mangle)]
pub extern "C" fn pliant_backend_name(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    name_in(NAMES.get_or_init(|| Best::<f32>::names().into_iter().map(c_string).collect()), index)
}

fn c_string(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

fn name_in(names: &[CString], index: usize) -> *const c_char {
    names.get(index).map_or(core::ptr::null(), |name| name.as_ptr())
}

/// Adds a copy of a description and writes its handle to `out`; the state of other bodies is kept bit for bit.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_add(
    world: Option<&PliantWorld>,
    body: Option<&PliantBody>,
    out: Option<&mut MaybeUninit<PliantBodyId>>,
) -> PliantStatus {
    within(world, |world, handle| {
        let out = out.ok_or_else(|| Failure::null("out"))?.write(PliantBodyId::default());
        let PliantBody(body) = body.ok_or_else(|| Failure::null("body"))?;
        *out = handle.seal(world.add(body.clone())?);
        Ok(())
    })
}

/// Removes a body for good; the state of the others is kept bit for bit.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_remove(world: Option<&PliantWorld>, id: PliantBodyId) -> PliantStatus {
    within(world, |world, handle| Ok(world.remove(handle.body(id)?)?))
}

/// Advances time by `dt` [s], at most 1; pins and colliders arrive where they were sent.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_step(world: Option<&PliantWorld>, dt: f32) -> PliantStatus {
    within(world, |world, _| Ok(world.step(dt).map(drop)?))
}

/// Sets the acceleration of free fall [m/s^2]; 9.81 downwards along y unless set. Checked by the next step.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_set_gravity(world: Option<&PliantWorld>, gravity: PliantVec3) -> PliantStatus {
    within(world, |world, _| {
        world.environment_mut().gravity = gravity.single();
        Ok(())
    })
}

/// Sets the rate at which velocities decay [1/s]; 0 unless set. Checked by the next step.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_set_damping(world: Option<&PliantWorld>, rate: f64) -> PliantStatus {
    within(world, |world, _| {
        world.environment_mut().damping = rate as f32;
        Ok(())
    })
}

/// Sets the wind, or takes it away when `wind` is null. Checked by the next step.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_set_wind(world: Option<&PliantWorld>, wind: Option<&PliantWind>) -> PliantStatus {
    within(world, |world, _| {
        world.environment_mut().wind = wind.map(|wind| Wind {
            velocity: wind.velocity.single(),
            density: wind.density as f32,
            drag: wind.drag as f32,
            lift: wind.lift as f32,
        });
        Ok(())
    })
}

/// Holds a particle where it is, at rest.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_pin(world: Option<&PliantWorld>, id: PliantBodyId, particle: u32) -> PliantStatus {
    within(world, |world, handle| Ok(world.pin(handle.body(id)?, particle)?))
}

/// Lets a pin go; the particle keeps the velocity the pin had.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_release(world: Option<&PliantWorld>, id: PliantBodyId, particle: u32) -> PliantStatus {
    within(world, |world, handle| Ok(world.release(handle.body(id)?, particle)?))
}

/// Sends a pin to a new place [m]; it arrives at the end of the next step.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_move_pin(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    particle: u32,
    to: PliantVec3,
) -> PliantStatus {
    within(world, |world, handle| Ok(world.move_pin(handle.body(id)?, particle, to.single())?))
}

/// Puts a force on a particle that acts until it is changed [N]; zero takes it away.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_set_force(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    particle: u32,
    force: PliantVec3,
) -> PliantStatus {
    within(world, |world, handle| Ok(world.set_force(handle.body(id)?, particle, force.single())?))
}

/// Takes the forces on all particles of all bodies away.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_clear_forces(world: Option<&PliantWorld>) -> PliantStatus {
    within(world, |world, _| {
        world.clear_forces();
        Ok(())
    })
}

/// Puts a particle somewhere else at once [m], without a velocity from the jump.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_set_position(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    particle: u32,
    to: PliantVec3,
) -> PliantStatus {
    within(world, |world, handle| Ok(world.set_position(handle.body(id)?, particle, to.single())?))
}

/// Gives a free particle a velocity [m/s].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_set_velocity(
    world: Option<&PliantWorld>,
    id: PliantBodyId,
    particle: u32,
    velocity: PliantVec3,
) -> PliantStatus {
    within(world, |world, handle| Ok(world.set_velocity(handle.body(id)?, particle, velocity.single())?))
}

/// Writes the moving state (positions, velocities, targets, time, what the method remembers) into `buffer` and how many bytes
/// that takes into `size`. With `buffer` null only the size is written; a buffer that is too small is an error, with the size.
///
/// # Safety
/// `buffer` points to `capacity` bytes, or is null.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_world_snapshot(
    world: Option<&PliantWorld>,
    buffer: *mut u8,
    capacity: usize,
    size: Option<&mut MaybeUninit<usize>>,
) -> PliantStatus {
    within(world, |world, _| {
        let snapshot = world.snapshot();
        let bytes = snapshot.as_bytes();
        put("size", size, bytes.len())?;
        if buffer.is_null() {
            return Ok(());
        }
        if capacity < bytes.len() {
            let message = format!("the snapshot has {} bytes, the buffer has room for {capacity}", bytes.len());
            return Err(Failure::new(PliantStatus::BadLength, message));
        }
        // SAFETY: no more bytes than the caller promises.
        unsafe { room("buffer", buffer, bytes.len())? }.copy_from_slice(bytes);
        Ok(())
    })
}

/// Goes back, or forward, to a snapshot of this world or of one with equal bodies, colliders and method: every later step gives
/// the same bits. Bytes that are cut off, damaged or of another world are refused, and the world is as it was.
///
/// # Safety
/// `bytes` points to `count` bytes.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_world_restore(
    world: Option<&PliantWorld>,
    bytes: *const u8,
    count: usize,
) -> PliantStatus {
    within(world, |world, _| {
        // SAFETY: as the caller promises.
        let bytes = unsafe { list("bytes", bytes, count)? };
        Ok(world.restore(&Snapshot::from_bytes(bytes)?)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_that_panicked_stays_an_error_and_a_second_thread_is_told_so() {
        let handle = PliantWorld::new(World::new());
        let inside = within(Some(&handle), |_, handle| {
            assert_eq!(pliant_world_step(Some(handle), 0.01), PliantStatus::Busy);
            Ok(())
        });
        assert_eq!(inside, PliantStatus::Ok);
        assert_eq!(within(Some(&handle), |_, _| panic!("on purpose")), PliantStatus::Panic);
        assert_eq!(pliant_world_step(Some(&handle), 0.01), PliantStatus::Poisoned);
        pliant_world_destroy(Some(Box::new(handle)));
    }
}
