//! Joining: the rows of all bodies, checked, kind by kind.

use core::marker::PhantomData;

use crate::body::{Role, Table};
use crate::constraint::Constraint;
use crate::constraints::Set;
use crate::error::BuildError;
use crate::field::MOST_ROWS;
use crate::lane::Real;
use crate::plasticity::{PlasticRows, Plasticity};
use crate::precision;
use crate::schedule::{Plan, Stencil};

/// Rows of all bodies of one kind, renumbered.
pub(super) struct Joined<const N: usize, const P: usize> {
    what: &'static str,
    pub table: Table<N, P>,
    plastic: PlasticRows<P>,
}

impl<const N: usize, const P: usize> Joined<N, P> {
    pub fn new<K: Constraint<N, P>>() -> Self {
        Self::of(K::NAME)
    }
    pub fn of(what: &'static str) -> Self {
        Self { what, table: Table::default(), plastic: PlasticRows::default() }
    }

    /// Checks a body's rows and appends them. Parameters must be finite and pass `accept`.
    pub fn append<S: Real>(
        &mut self,
        rows: &Table<N, P>,
        first: u32,
        count: usize,
        accept: impl Fn(&[f64; P]) -> Result<(), (&'static str, f64, &'static str)>,
    ) -> Result<(), BuildError> {
        let what = self.what;
        rows.check(what)?;
        for (row, ids) in rows.ids.iter().enumerate() {
            check_element(what, row, ids, count)?;
            if let Some(&value) = rows.parameters[row].iter().find(|v| !S::from_f64(**v).is_finite()) {
                return Err(BuildError::BadValue {
                    what,
                    row,
                    quantity: "a parameter",
                    value,
                    expected: "a finite number",
                });
            }
            accept(&rows.parameters[row]).map_err(|(quantity, value, expected)| BuildError::BadValue {
                what,
                row,
                quantity,
                value,
                expected,
            })?;
            check_not_negative::<S>(what, row, "compliance", rows.compliance[row])?;
            check_not_negative::<S>(what, row, "damping", rows.damping[row])?;
            self.table.ids.push(ids.map(|p| p + first));
        }
        self.table.parameters.extend_from_slice(&rows.parameters);
        self.table.compliance.extend_from_slice(&rows.compliance);
        self.table.damping.extend_from_slice(&rows.damping);
        self.table.role.extend_from_slice(&rows.role);
        self.table.direction.extend_from_slice(&rows.direction);
        Ok(())
    }

    /// Marks the rows just appended that flow; returns how many.
    pub fn mark_plastic(&mut self, laws: &[(Role, Plasticity)], rows: &Table<N, P>) -> usize {
        let first = self.table.ids.len() - rows.ids.len();
        self.plastic.append(laws, first, &rows.role, &rows.parameters)
    }

    /// Refuses rows that ought to flow but cannot.
    pub fn refuse_plastic(&self, laws: &[(Role, Plasticity)], rows: &Table<N, P>) -> Result<(), BuildError> {
        let reason = "this kind cannot flow; links, dihedral hinges (Bending::Dihedral) and elastic tetrahedra can";
        let row = rows.role.iter().position(|role| laws.iter().any(|(of, _)| of == role));
        row.map_or(Ok(()), |row| Err(BuildError::Unsupported { what: self.what, row, reason }))
    }

    /// Classes in solving order: role first, then direction.
    fn classes(&self) -> Vec<u8> {
        self.table.role.iter().zip(&self.table.direction).map(|(&role, &d)| role as u8 * 32 + d.min(31)).collect()
    }

    /// Whether these are the constraints of a set, up to numbers: sweeps run over both in the same order.
    pub fn is_like<S, K>(&self, set: &Set<S, K, N, P>) -> bool {
        set.ids == self.table.ids && set.classes == self.classes()
    }

    /// The rows made ready. `like` is a set on the same plan, whose stencil may serve again.
    pub fn into_set<S: Real, K>(self, plan: &Plan, like: Option<&Set<S, K, N, P>>) -> Set<S, K, N, P> {
        let classes = self.classes();
        let stencil = match like.filter(|like| self.is_like(like)) {
            Some(like) => like.stencil.clone(),
            None => Stencil::new(plan, &self.table.ids, &classes),
        };
        let mut parameters = [(); P].map(|()| Vec::with_capacity(self.table.ids.len()));
        for row in &self.table.parameters {
            for (column, &value) in parameters.iter_mut().zip(row) {
                column.push(S::from_f64(value));
            }
        }
        Set {
            ids: self.table.ids,
            parameters,
            compliance: self.table.compliance.iter().map(|&v| S::from_f64(v)).collect(),
            damping: self.table.damping.iter().map(|&v| S::from_f64(v)).collect(),
            stencil,
            classes,
            plastic: self.plastic,
            kind: PhantomData,
        }
    }
}

/// Refuses more slots than kernels can reach.
pub(super) fn check_slots(found: usize) -> Result<(), BuildError> {
    if found <= MOST_ROWS {
        Ok(())
    } else {
        Err(BuildError::TooMany { what: "particles, with the padding of grids", found, most: MOST_ROWS })
    }
}

pub(super) fn check_element(what: &'static str, row: usize, ids: &[u32], count: usize) -> Result<(), BuildError> {
    for (corner, &particle) in ids.iter().enumerate() {
        if particle as usize >= count {
            return Err(BuildError::OutOfRange { what, row, corner, particle, count });
        }
        if ids[..corner].contains(&particle) {
            return Err(BuildError::Repeated { what, row, particle });
        }
    }
    Ok(())
}

pub(super) fn check_not_negative<S: Real>(
    what: &'static str,
    row: usize,
    quantity: &'static str,
    value: f64,
) -> Result<(), BuildError> {
    let held = precision::not_negative::<S>(value);
    held.map(|_| ()).map_err(|expected| BuildError::BadValue { what, row, quantity, value, expected })
}

pub(super) fn check_vectors(what: &'static str, vectors: &[[f64; 3]], count: usize) -> Result<(), BuildError> {
    if vectors.len() != count {
        return Err(BuildError::Length { what, found: vectors.len(), expected: count });
    }
    for (row, v) in vectors.iter().enumerate() {
        if let Some(&value) = v.iter().find(|c| !c.is_finite() || c.abs() > 1e9) {
            let (quantity, expected) = ("a component", "a finite number below 1e9");
            return Err(BuildError::BadValue { what, row, quantity, value, expected });
        }
    }
    Ok(())
}

pub(super) fn accept_any<const P: usize>(_: &[f64; P]) -> Result<(), (&'static str, f64, &'static str)> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_slots_than_offsets_of_32_bits_reach_are_refused() {
        // The last number of the last row is still below 2³².
        assert_eq!(u32::try_from(4 * (MOST_ROWS - 1) + 3), Ok(u32::MAX));
        assert_eq!(check_slots(MOST_ROWS), Ok(()));
        let (found, most) = (MOST_ROWS + 1, MOST_ROWS);
        assert_eq!(
            check_slots(found),
            Err(BuildError::TooMany { what: "particles, with the padding of grids", found, most })
        );
    }
}
