//! Aim: keeps the moving parameters of constraints (targets of attachments, anchors of tethers) up to date.

use pliant_core::columns::Columns;
use pliant_core::constraint::Constraint;
use pliant_core::kinds::{Attachment, Tether};
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::snapshot::{Reader, SnapshotError, Writer};

use crate::flight::{Flight, lerp};
use crate::lots::Lot;

/// What moving parameters were last set to.
#[derive(Clone, Debug)]
pub(crate) struct Aim<S> {
    /// Where in the lots the sets with moving parameters are.
    tether: usize,
    attachment: usize,
    /// Targets of attachments at the end of the last step.
    last_targets: Columns<S>,
    /// Where every pin was when tethers were last aimed at them; nothing when there is no tether.
    aimed: Option<Columns<S>>,
}

impl<S: Real> Aim<S> {
    pub fn new(model: &Model<S>, lots: &[Lot<S>]) -> Self {
        let position = |name| lots.iter().position(|lot| lot.name == name).unwrap_or(usize::MAX);
        // NaN compares unequal to every place: the first look finds every pin moved.
        let nowhere = |count| (0..count).map(|_| [S::from_f64(f64::NAN); 3]).collect();
        Self {
            tether: position(Tether::NAME),
            attachment: position(Attachment::NAME),
            last_targets: model.attachment_targets().clone(),
            aimed: (!model.constraints().tether.is_empty()).then(|| nowhere(model.pins().len())),
        }
    }

    /// Sets targets and anchors to where they are in substep `k` of `n`.
    pub fn at(&mut self, lots: &mut [Lot<S>], flight: &Flight<S>, model: &Model<S>, (k, n): (usize, usize)) {
        let t = S::from_f64((k + 1) as f64 / n as f64);
        let set = &model.constraints().attachment;
        for (row, &[particle]) in set.ids().iter().enumerate() {
            let (from, to) = (self.last_targets.get(row), model.attachment_targets().get(row));
            let at = if k + 1 == n { to } else { lerp(from, to, t) };
            put(&mut lots[self.attachment], set.stencil().place(row), 3, flight.local(model, particle, at));
        }
        // Anchors are many and pins few: look whether any pin moved before touching them.
        let Some(aimed) = &mut self.aimed else { return };
        let place = |pin: u32| flight.x.vector(model.plan().slots()[pin as usize] as usize);
        let mut moved = false;
        for (i, &pin) in model.pins().iter().enumerate() {
            moved |= aimed.get(i) != place(pin);
            aimed.set(i, place(pin));
        }
        if moved {
            let set = &model.constraints().tether;
            for (row, &pin) in model.tether_anchors().iter().enumerate() {
                put(&mut lots[self.tether], set.stencil().place(row), 4, place(pin));
            }
        }
    }

    /// Writes down where targets ended up.
    pub fn remember(&self, to: &mut Writer) {
        to.columns(&self.last_targets);
    }
    /// Takes it back. Anchors follow from the pins.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.columns(&mut self.last_targets)
    }

    /// Remembers where targets ended up; called when a step succeeded.
    pub fn arrive(&mut self, model: &Model<S>) {
        let count = self.last_targets.len();
        self.last_targets.copy_from(0..count, model.attachment_targets(), 0);
    }
}

fn put<S: Real>(lot: &mut Lot<S>, (block, lane): (usize, usize), width: usize, v: [S; 3]) {
    for (column, value) in v.into_iter().enumerate() {
        lot.parameters[block * width + column].0[lane] = value;
    }
}
