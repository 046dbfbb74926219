//! The checks that every mesh passes before it exists, shared by triangles and tets.

use super::error::MeshError;
use ultraviolet::DVec3;

/// A length, area or volume below this share of its element's longest edge (to the same power) counts as zero.
///
/// Relative, so a mesh in micrometres is judged like one in kilometres. Far above the rounding of f64 (2e-16) and far
/// below any element a solver could use.
pub(super) const DEGENERATE: f64 = 1e-12;

/// Coordinates beyond this \[m\] are refused: volumes of larger meshes would overflow.
const LARGEST: f64 = 1e100;

/// Refuses an empty list of vertices, one too long for 32-bit ids, and coordinates that are not finite or out of all proportion.
pub(super) fn check_positions(positions: &[DVec3]) -> Result<(), MeshError> {
    if positions.is_empty() {
        return Err(MeshError::Empty { what: "vertices" });
    }
    check_vertex_count(Some(positions.len()))?;
    for (vertex, p) in positions.iter().enumerate() {
        for (axis, value) in [('x', p.x), ('y', p.y), ('z', p.z)] {
            if value.is_nan() || value.abs() > LARGEST {
                return Err(MeshError::NotFinite { vertex, axis, value });
            }
        }
    }
    Ok(())
}

/// Passes a vertex count on if 32-bit ids can name that many; `None` stands for a count that overflowed.
pub(super) fn check_vertex_count(count: Option<usize>) -> Result<usize, MeshError> {
    // `u32::MAX` itself is kept free: it marks "no vertex" in lists of ids.
    match count {
        Some(count) if u32::try_from(count).is_ok() => Ok(count),
        _ => Err(MeshError::TooManyVertices { vertex_count: count.unwrap_or(usize::MAX) }),
    }
}

/// Refuses indices out of range and vertices used twice by one element.
pub(super) fn check_corners<const N: usize>(
    element: &'static str,
    elements: &[[u32; N]],
    vertex_count: usize,
) -> Result<(), MeshError> {
    for (row, corners) in elements.iter().enumerate() {
        check_range(element, row, corners, vertex_count)?;
        for (corner, vertex) in corners.iter().enumerate() {
            if corners[..corner].contains(vertex) {
                return Err(MeshError::RepeatedVertex { element, row, vertex: *vertex });
            }
        }
    }
    Ok(())
}

/// Refuses an element with an index out of range.
pub(super) fn check_range(
    element: &'static str,
    row: usize,
    corners: &[u32],
    vertex_count: usize,
) -> Result<(), MeshError> {
    for (corner, &index) in corners.iter().enumerate() {
        if index as usize >= vertex_count {
            return Err(MeshError::IndexOutOfRange { element, row, corner, index, vertex_count });
        }
    }
    Ok(())
}

/// Refuses two elements with the same vertices in any order.
pub(super) fn check_duplicates<const N: usize>(element: &'static str, elements: &[[u32; N]]) -> Result<(), MeshError> {
    let mut keys: Vec<([u32; N], usize)> = elements
        .iter()
        .enumerate()
        .map(|(row, corners)| {
            let mut key = *corners;
            key.sort_unstable();
            (key, row)
        })
        .collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(MeshError::DuplicateElement { element, first: pair[0].1, second: pair[1].1 }),
        None => Ok(()),
    }
}

/// Refuses an element with an edge of no length; returns the length of its longest edge \[m\].
pub(super) fn check_edges<const N: usize>(
    element: &'static str,
    row: usize,
    corners: &[u32; N],
    positions: &[DVec3],
) -> Result<f64, MeshError> {
    let mut longest = 0.0_f64;
    let mut shortest = (f64::INFINITY, 0, 0);
    for (i, &a) in corners.iter().enumerate() {
        for &b in &corners[..i] {
            let length = (positions[a as usize] - positions[b as usize]).mag();
            longest = longest.max(length);
            if length < shortest.0 {
                shortest = (length, a.min(b), a.max(b));
            }
        }
    }
    let (length, a, b) = shortest;
    if length <= DEGENERATE * longest {
        return Err(MeshError::ZeroLengthEdge { element, row, a, b });
    }
    Ok(longest)
}

/// Passes a density on if it is positive and finite.
pub(super) fn check_density(value: f64) -> Result<f64, MeshError> {
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err(MeshError::BadDensity { value }) }
}

/// Refuses a size \[m\] that is not positive and finite.
pub(super) fn check_size(name: &'static str, value: f64) -> Result<(), MeshError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(MeshError::BadParameter { name, value, expected: "a positive, finite number of metres" })
    }
}

/// Refuses a count below its minimum.
pub(super) fn check_at_least(
    name: &'static str,
    value: usize,
    minimum: usize,
    expected: &'static str,
) -> Result<(), MeshError> {
    if value >= minimum { Ok(()) } else { Err(MeshError::BadParameter { name, value: value as f64, expected }) }
}
