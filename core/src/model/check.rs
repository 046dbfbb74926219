//! Checks of lists that a user described.

use crate::error::BuildError;
use crate::field::MOST_ROWS;
use crate::lane::Real;
use crate::precision;

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
