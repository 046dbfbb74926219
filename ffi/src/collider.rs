//! Colliders: what the bodies of a world cannot enter.

use core::mem::MaybeUninit;

use pliant::Collider;

use crate::status::{Failure, PliantStatus};
use crate::types::{PliantColliderId, PliantContact, PliantPose, PliantVec3};
use crate::world::{PliantWorld, within};

fn add(
    world: Option<&PliantWorld>,
    collider: Collider,
    pose: PliantPose,
    contact: PliantContact,
    out: Option<&mut MaybeUninit<PliantColliderId>>,
) -> PliantStatus {
    within(world, |world, handle| {
        let out = out.ok_or_else(|| Failure::null("out"))?.write(PliantColliderId::default());
        let collider = Collider { pose: pose.into(), ..collider };
        let collider = collider.with_friction(contact.friction).with_restitution(contact.restitution);
        *out = handle.seal_collider(world.add_collider(collider)?);
        Ok(())
    })
}

/// Adds everything behind a plane through the place of `pose`; `normal` points out of the solid.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_add_plane(
    world: Option<&PliantWorld>,
    normal: PliantVec3,
    pose: PliantPose,
    contact: PliantContact,
    out: Option<&mut MaybeUninit<PliantColliderId>>,
) -> PliantStatus {
    add(world, Collider::plane(normal), pose, contact, out)
}

/// Adds a ball [m].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_add_sphere(
    world: Option<&PliantWorld>,
    radius: f64,
    pose: PliantPose,
    contact: PliantContact,
    out: Option<&mut MaybeUninit<PliantColliderId>>,
) -> PliantStatus {
    add(world, Collider::sphere(radius), pose, contact, out)
}

/// Adds a box with these full sides, around the place of `pose` [m].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_add_box(
    world: Option<&PliantWorld>,
    size: PliantVec3,
    pose: PliantPose,
    contact: PliantContact,
    out: Option<&mut MaybeUninit<PliantColliderId>>,
) -> PliantStatus {
    add(world, Collider::cuboid(size), pose, contact, out)
}

/// Adds a capsule along y, `length` between the centres of its caps [m].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_add_capsule(
    world: Option<&PliantWorld>,
    radius: f64,
    length: f64,
    pose: PliantPose,
    contact: PliantContact,
    out: Option<&mut MaybeUninit<PliantColliderId>>,
) -> PliantStatus {
    add(world, Collider::capsule(radius, length), pose, contact, out)
}

/// Sends a collider to a new pose; it arrives at the end of the next step and carries along what it touches.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_move_collider(
    world: Option<&PliantWorld>,
    id: PliantColliderId,
    to: PliantPose,
) -> PliantStatus {
    within(world, |world, handle| Ok(world.move_collider(handle.collider(id)?, to.into())?))
}

/// Takes a collider away for good.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_world_remove_collider(world: Option<&PliantWorld>, id: PliantColliderId) -> PliantStatus {
    within(world, |world, handle| Ok(world.remove_collider(handle.collider(id)?)?))
}
