//! What is asked of a tree of shapes before it is flattened, without recursion: trees may be deeper than a stack.

use super::shape::Shape;
use crate::error::BuildError;
use crate::lane::Real;

/// How many shapes may stand around the innermost one of a collider: flattening goes down by calls, each of which takes some
/// kilobytes of the stack where nothing is optimised.
const DEEPEST: usize = 256;

/// Hands out a shape that may be flattened for precision `S`; takes one apart that may not.
pub(super) fn checked<S: Real>(shape: Shape, row: usize) -> Result<Shape, BuildError> {
    match check::<S>(&shape, row) {
        Ok(()) => Ok(shape),
        Err(error) => {
            take_apart(shape);
            Err(error)
        }
    }
}

fn check<S: Real>(shape: &Shape, row: usize) -> Result<(), BuildError> {
    let mut left = vec![(shape, 0)];
    let mut deepest = 0;
    while let Some((shape, depth)) = left.pop() {
        deepest = deepest.max(depth);
        match shape {
            Shape::Offset(inner, _) | Shape::Posed(inner, _) => left.push((inner, depth + 1)),
            Shape::Union(a, b) | Shape::Intersection(a, b) | Shape::Difference(a, b) => {
                left.extend([(&**a, depth + 1), (&**b, depth + 1)]);
            }
            Shape::Grid(grid) => grid.check_range::<S>(row)?,
            _ => {}
        }
    }
    if deepest > DEEPEST {
        let expected = "at most 256 (join parts in groups, or make several colliders of them)";
        let (quantity, value) = ("depth of its nested shapes", deepest as f64);
        return Err(BuildError::BadValue { what: "collider", row, quantity, value, expected });
    }
    Ok(())
}

/// Drops a shape level by level: dropping it as it is would go down by calls.
fn take_apart(shape: Shape) {
    let mut left = vec![shape];
    while let Some(shape) = left.pop() {
        match shape {
            Shape::Offset(inner, _) | Shape::Posed(inner, _) => left.push(*inner),
            Shape::Union(a, b) | Shape::Intersection(a, b) | Shape::Difference(a, b) => left.extend([*a, *b]),
            _ => {}
        }
    }
}
