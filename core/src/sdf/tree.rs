//! What is asked of a tree of shapes before it is flattened; how deep it is without recursion, since trees may be deeper than a stack.

use std::cmp::Reverse;

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

/// The same shape with its unions in a row, those parts first that need the most room, and how many distances stand side by side while
/// it is worked out: in a row each part needs one place more than it does alone.
pub(super) fn in_rows(shape: &Shape) -> (Shape, usize) {
    match shape {
        Shape::Offset(inner, r) => {
            let (inner, room) = in_rows(inner);
            (inner.offset(*r), room)
        }
        Shape::Posed(inner, pose) => {
            let (inner, room) = in_rows(inner);
            (inner.posed(*pose), room)
        }
        Shape::Union(..) => {
            let (mut left, mut parts) = (vec![shape], Vec::new());
            while let Some(part) = left.pop() {
                match part {
                    Shape::Union(a, b) => left.extend([&**b, &**a]),
                    part => parts.push(in_rows(part)),
                }
            }
            parts.sort_by_key(|(_, room)| Reverse(*room));
            let joined = parts.into_iter().reduce(|(a, left), (b, right)| (a.union(b), left.max(right + 1)));
            joined.unwrap_or_else(|| (shape.clone(), 1))
        }
        Shape::Intersection(a, b) => {
            let (mut a, mut b) = (in_rows(a), in_rows(b));
            if b.1 > a.1 {
                (a, b) = (b, a);
            }
            (a.0.intersection(b.0), a.1.max(b.1 + 1))
        }
        Shape::Difference(a, b) => {
            let (a, b) = (in_rows(a), in_rows(b));
            (a.0.difference(b.0), a.1.max(b.1 + 1))
        }
        leaf => (leaf.clone(), 1),
    }
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

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::super::{Collider, Colliders};
    use super::*;
    use crate::vec3::Vec3;

    /// Unions mean the same however they are put together, and so they all may be.
    #[test]
    fn unions_may_be_nested_in_any_way() {
        let part = |k: usize| {
            let ball = Shape::Sphere { radius: 0.1 }.translated([0.15 * k as f64, 0.0, 0.0]);
            if k % 5 == 3 { ball.difference(Shape::Cuboid { half: [9.0, 0.05, 0.05] }) } else { ball }
        };
        fn halved(parts: &[Shape]) -> Shape {
            match parts {
                [one] => one.clone(),
                parts => halved(&parts[..parts.len() / 2]).union(halved(&parts[parts.len() / 2..])),
            }
        }
        let parts: Vec<_> = (0..64).map(part).collect();
        let to_the_left = parts.iter().cloned().reduce(Shape::union).expect("parts");
        let to_the_right = parts.iter().cloned().rev().reduce(|all, part| part.union(all)).expect("parts");
        let shapes = [to_the_left, to_the_right.clone(), halved(&parts), to_the_right.intersection(halved(&parts))];
        let set = Colliders::<f64>::new(shapes.map(Collider::new)).expect("all of them fit");
        let mut random = Random(3);
        for _ in 0..500 {
            let [x, y, z] = random.point();
            let p = Vec3::new(5.0 + 6.0 * x, 0.3 * y, 0.3 * z);
            let [expected, others @ ..] = set.solids() else { panic!("four colliders") };
            for solid in others {
                assert_eq!(solid.program.eval(p), expected.program.eval(p), "at {p:?}");
            }
        }
    }
}
