//! Handles: names of bodies and colliders that never come to mean another one.

use core::marker::PhantomData;

use pliant_core::error::BuildError;

/// Names a body of a world. A handle whose body was removed is refused for good, even when its place is taken again. Handles are
/// numbers that each world gives out by itself: one of another world may be refused, or name something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BodyId {
    slot: u32,
    generation: u32,
}

/// Names a collider of a world. A handle whose collider was removed is refused for good.
#[cfg(feature = "collision")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColliderId {
    slot: u32,
    generation: u32,
}

/// Names a bone of a world. A handle whose bone was removed is refused for good.
#[cfg(feature = "collision")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BoneId {
    slot: u32,
    generation: u32,
}

/// Names a rigid body of a world. A handle whose body was removed is refused for good.
#[cfg(feature = "rigid")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RigidId {
    slot: u32,
    generation: u32,
}

/// Names a joint of a world. A handle whose joint was removed is refused for good.
#[cfg(feature = "rigid")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JointId {
    slot: u32,
    generation: u32,
}

/// What kinds of handles have in common.
pub(super) trait Handle: Copy {
    /// What it names.
    const WHAT: &'static str;
    fn new(slot: u32, generation: u32) -> Self;
    fn parts(self) -> (u32, u32);
}

/// A kind of handle: how it is made and read, and how it becomes a number and one again.
macro_rules! handle {
    ($(#[$gate:meta])? $id:ident, $what:literal) => {
        $(#[$gate])?
        impl Handle for $id {
            const WHAT: &'static str = $what;
            fn new(slot: u32, generation: u32) -> Self {
                Self { slot, generation }
            }
            fn parts(self) -> (u32, u32) {
                (self.slot, self.generation)
            }
        }

        $(#[$gate])?
        impl $id {
            /// The handle as a number that is never 0, for interfaces that carry numbers alone.
            pub fn to_bits(self) -> u64 {
                bits(self)
            }
            /// The handle that [`to_bits`](Self::to_bits) made a number of; one that no world gave out is refused where it is used.
            pub fn from_bits(bits: u64) -> Option<Self> {
                handle(bits)
            }
        }
    };
}

handle!(BodyId, "body");
handle!(
    #[cfg(feature = "collision")]
    ColliderId,
    "collider"
);
handle!(
    #[cfg(feature = "collision")]
    BoneId,
    "bone"
);
handle!(
    #[cfg(feature = "rigid")]
    RigidId,
    "rigid body"
);
handle!(
    #[cfg(feature = "rigid")]
    JointId,
    "joint"
);

/// Generation above, slot + 1 below.
fn bits(id: impl Handle) -> u64 {
    let (slot, generation) = id.parts();
    (u64::from(generation) << 32) | (u64::from(slot) + 1)
}

fn handle<I: Handle>(bits: u64) -> Option<I> {
    let slot = (bits as u32).checked_sub(1)?;
    Some(I::new(slot, (bits >> 32) as u32))
}

/// The generation that no handle has: a slot that reaches it is retired.
const LAST: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Slot {
    /// Bodies that have been removed from this slot.
    generation: u32,
    /// Place among the members, if taken.
    member: Option<usize>,
}

/// Which handle stands for which member.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(bound = ""))]
pub(super) struct Handles<I> {
    slots: Vec<Slot>,
    kind: PhantomData<I>,
}

impl<I> Default for Handles<I> {
    fn default() -> Self {
        Self { slots: Vec::new(), kind: PhantomData }
    }
}

impl<I: Handle> Handles<I> {
    /// A new handle for the member at this place.
    pub fn insert(&mut self, member: usize) -> I {
        // A slot that has given out its last generation is never used again: its next handle would be an old one.
        let free = self.slots.iter().position(|slot| slot.member.is_none() && slot.generation < LAST);
        let slot = free.unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[slot].member = Some(member);
        I::new(slot as u32, self.slots[slot].generation)
    }

    /// The place of a handle's member.
    pub fn find(&self, id: I) -> Result<usize, BuildError> {
        let (slot, generation) = id.parts();
        (self.slots.get(slot as usize))
            .filter(|slot| slot.generation == generation)
            .and_then(|slot| slot.member)
            .ok_or(BuildError::NotFound { what: I::WHAT })
    }

    /// The handle of the member at a place.
    #[cfg(feature = "collision")]
    pub fn at(&self, place: usize) -> Option<I> {
        let slot = self.slots.iter().position(|slot| slot.member == Some(place))?;
        Some(I::new(slot as u32, self.slots[slot].generation))
    }

    /// The handles of so many members, each of which has exactly one; nothing when they are of others.
    #[cfg(feature = "serde")]
    pub fn all(&self, count: usize) -> Option<Vec<I>> {
        let mut ids = vec![None; count];
        for (slot, &Slot { generation, member }) in self.slots.iter().enumerate() {
            let Some(member) = member else { continue };
            if ids.get_mut(member)?.replace(I::new(slot as u32, generation)).is_some() {
                return None;
            }
        }
        ids.into_iter().collect()
    }

    /// Retires a handle; the members after its own move up by one place.
    pub fn remove(&mut self, id: I) {
        let Ok(gone) = self.find(id) else { return };
        let slot = &mut self.slots[id.parts().0 as usize];
        *slot = Slot { generation: slot.generation.saturating_add(1), member: None };
        for member in self.slots.iter_mut().filter_map(|slot| slot.member.as_mut()) {
            *member -= usize::from(*member > gone);
        }
    }
}
