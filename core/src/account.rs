//! What contacts did to particles over a step, for those who want to know.

use crate::columns::Columns;
use crate::lane::Real;
use crate::partner::Partner;

/// Impulses of contacts on every particle over the last step, kept only while somebody watches.
#[derive(Default)]
pub struct ContactAccount<S> {
    /// Whether an account is kept from the next step on. Preparing a solver closes it.
    pub open: bool,
    /// By particle: what colliders gave it \[N s\]; empty before the first step that was watched.
    pub colliders: Columns<S>,
    /// By particle: what other surfaces gave it \[N s\].
    pub surfaces: Columns<S>,
    /// The gap at which colliders begin to push \[m\]: what they hold off touches them from there on. 0 for methods without a buffer.
    pub buffer: S,
    /// Who meets the particles in the next step beside colliders and surfaces; to be taken back after it.
    pub partner: Option<Box<dyn Partner<S>>>,
}

/// A copy of a method has the account, but meets nobody.
impl<S: Clone> Clone for ContactAccount<S> {
    fn clone(&self) -> Self {
        Self {
            open: self.open,
            colliders: self.colliders.clone(),
            surfaces: self.surfaces.clone(),
            buffer: self.buffer.clone(),
            partner: None,
        }
    }
}

impl<S> core::fmt::Debug for ContactAccount<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ContactAccount").field("open", &self.open).finish_non_exhaustive()
    }
}

impl<S: Real> ContactAccount<S> {
    /// Makes room for so many particles and forgets the last step.
    pub fn clear(&mut self, particle_count: usize) {
        for columns in [&mut self.colliders, &mut self.surfaces] {
            if columns.len() != particle_count {
                *columns = Columns::zeros(particle_count);
            }
            for axis in [&mut columns.x, &mut columns.y, &mut columns.z] {
                axis.fill(S::ZERO);
            }
        }
    }
}
