//! Handles: names of bodies that never come to mean another body.

use pliant_core::error::BuildError;

/// Names a body of a world. A handle whose body was removed is refused for good, even when its place is taken again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId {
    slot: u32,
    generation: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Bodies that have been removed from this slot.
    generation: u32,
    /// Place among the members, if taken.
    member: Option<usize>,
}

/// Which handle stands for which member.
#[derive(Clone, Debug, Default)]
pub(super) struct Handles {
    slots: Vec<Slot>,
}

impl Handles {
    /// A new handle for the member at this place.
    pub fn insert(&mut self, member: usize) -> BodyId {
        let free = self.slots.iter().position(|slot| slot.member.is_none());
        let slot = free.unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[slot].member = Some(member);
        BodyId { slot: slot as u32, generation: self.slots[slot].generation }
    }

    /// The place of a handle's member.
    pub fn find(&self, id: BodyId) -> Result<usize, BuildError> {
        (self.slots.get(id.slot as usize))
            .filter(|slot| slot.generation == id.generation)
            .and_then(|slot| slot.member)
            .ok_or(BuildError::NotFound { what: "body" })
    }

    /// Retires a handle; the members after its own move up by one place.
    pub fn remove(&mut self, id: BodyId) {
        let Ok(gone) = self.find(id) else { return };
        let slot = &mut self.slots[id.slot as usize];
        *slot = Slot { generation: slot.generation.wrapping_add(1), member: None };
        for member in self.slots.iter_mut().filter_map(|slot| slot.member.as_mut()) {
            *member -= usize::from(*member > gone);
        }
    }
}
