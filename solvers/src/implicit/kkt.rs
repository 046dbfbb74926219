//! The primal–dual system of XPBD, positions and multipliers side by side:
//! ```text
//!   ⎡  M   −Jᵀ ⎤ ⎡ Δx ⎤   ⎡      0     ⎤
//!   ⎣ −J   −α̃  ⎦ ⎣ Δλ ⎦ = ⎣ C + α̃ λ    ⎦        quasi-definite: M > 0, α̃ ≥ 0        [METHODS 8]
//! ```

use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::model::Model;

use super::nodes::{Nodes, PINNED};
use super::rows::Rows;
use crate::linear::Ldlt;

/// What α̃ counts at least, as a share of the mean w |∇C|²: rigid constraints that say the same thing twice would leave
/// a pivot of zero.
const SOFTEST: f64 = 1e-13;

#[derive(Debug)]
pub(crate) struct Kkt<S> {
    factor: Ldlt,
    values: Vec<f64>,
    rhs: Vec<f64>,
    /// By record of J in order, three entries each; pinned corners have none.
    places: Vec<Option<[u32; 3]>>,
    /// Entry of the diagonal by row of the system.
    diagonal: Vec<u32>,
    masses: Vec<f64>,
    least: f64,
    precision: core::marker::PhantomData<S>,
}

impl<S: Real> Kkt<S> {
    pub fn new(model: &Model<S>, nodes: &Nodes, rows: &Rows<S>) -> Result<Self, BuildError> {
        let mut node_at = vec![PINNED; model.plan().slot_count()];
        for (node, &particle) in nodes.particles.iter().enumerate() {
            node_at[model.plan().slots()[particle as usize] as usize] = node as u32;
        }
        let free = 3 * nodes.len();
        // Constraints below every node, in the order of J.
        let mut below = vec![Vec::new(); nodes.len()];
        let corners: Vec<(usize, u32)> = rows.jacobian().map(|(c, slot, _)| (c, node_at[slot as usize])).collect();
        for (record, &(c, node)) in corners.iter().enumerate().filter(|(_, (_, node))| *node != PINNED) {
            below[node as usize].push((c, record));
        }
        let (mut starts, mut entries, mut diagonal) = (vec![0_u32], Vec::new(), Vec::new());
        let mut places = vec![None; corners.len()];
        for (node, constraints) in below.iter().enumerate() {
            for axis in 0..3 {
                diagonal.push(entries.len() as u32);
                entries.push((3 * node + axis) as u32);
                for &(c, record) in constraints {
                    places[record].get_or_insert([0; 3])[axis] = entries.len() as u32;
                    entries.push((free + c) as u32);
                }
                starts.push(entries.len() as u32);
            }
        }
        for c in 0..rows.len() {
            diagonal.push(entries.len() as u32);
            entries.push((free + c) as u32);
            starts.push(entries.len() as u32);
        }
        let masses: Vec<f64> = nodes.particles.iter().map(|&p| 1.0 / model.inv_mass()[p as usize].to_f64()).collect();
        let mean = masses.iter().map(|m| 1.0 / m).sum::<f64>() / masses.len().max(1) as f64;
        Ok(Self {
            values: vec![0.0; entries.len()],
            rhs: vec![0.0; free + rows.len()],
            factor: Ldlt::new(starts, entries).map_err(super::linear_error)?,
            places,
            diagonal,
            masses,
            least: SOFTEST * mean,
            precision: core::marker::PhantomData,
        })
    }

    /// `right` = −C − α̃ λ becomes Δλ; α̃ = α `scale`.
    pub fn solve(&mut self, rows: &Rows<S>, scale: S, right: &mut [S]) -> Result<(), ()> {
        let free = 3 * self.masses.len();
        for (row, &entry) in self.diagonal.iter().enumerate() {
            self.values[entry as usize] = match row.checked_sub(free) {
                None => self.masses[row / 3],
                Some(c) => -(rows.compliance[c] * scale).to_f64().max(self.least),
            };
        }
        for (place, (_, _, gradient)) in self.places.iter().zip(rows.jacobian()) {
            for (&entry, g) in place.iter().flatten().zip(gradient) {
                self.values[entry as usize] = -g.to_f64();
            }
        }
        self.rhs[..free].fill(0.0);
        for (to, &r) in self.rhs[free..].iter_mut().zip(right.iter()) {
            *to = -r.to_f64();
        }
        self.factor.solve(&self.values, &mut self.rhs).map_err(|_| ())?;
        for (to, &found) in right.iter_mut().zip(&self.rhs[free..]) {
            *to = S::from_f64(found);
        }
        Ok(())
    }
}
