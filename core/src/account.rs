//! What contacts did to particles over a step, for those who want to know.

use crate::columns::Columns;
use crate::lane::Real;

/// Impulses of contacts on every particle over the last step, kept only while somebody watches.
#[derive(Clone, Debug, Default)]
pub struct ContactAccount<S> {
    /// Whether an account is kept from the next step on. Preparing a solver closes it.
    pub open: bool,
    /// By particle: what colliders gave it \[N s\]; empty before the first step that was watched.
    pub colliders: Columns<S>,
    /// By particle: what other surfaces gave it \[N s\].
    pub surfaces: Columns<S>,
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
