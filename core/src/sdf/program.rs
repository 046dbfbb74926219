//! Programs: a tree of shapes flattened into a list of operations that lanes run through together.

use std::sync::Arc;

use super::grid::Samples;
use super::pose::Frame;
use super::{flat, round};
use crate::lane::{Lane, Real};
use crate::vec3::Vec3;

/// How deep the stack of a program may grow.
pub(super) const DEPTH: usize = 8;

/// A shape with a formula of its own.
#[derive(Clone, Debug)]
pub(super) enum Leaf<S> {
    Plane { normal: [S; 3] },
    Sphere { radius: S },
    Cuboid { half: [S; 3] },
    Capsule { radius: S, half_length: S },
    Cylinder { radius: S, half_height: S },
    Torus { major: S, minor: S },
    Grid(Arc<Samples<S>>),
}

/// One operation on the stack of distances.
#[derive(Clone, Debug)]
pub(super) enum Operation<S> {
    /// Pushes a shape's distance, in the shape's own pose.
    Push(Leaf<S>, Frame<S>),
    /// φ ← φ − r: every point within r of the shape.
    Offset(S),
    /// min(a, b).
    Union,
    /// max(a, b).
    Intersection,
    /// max(a, −b).
    Difference,
}

/// A shape, ready for lanes of one precision.
#[derive(Clone, Debug)]
pub struct Program<S> {
    pub(super) operations: Vec<Operation<S>>,
}

impl<S: Real> Leaf<S> {
    #[inline(always)]
    fn eval<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        match *self {
            Self::Plane { normal } => flat::plane(normal, p),
            Self::Sphere { radius } => round::sphere(radius, p),
            Self::Cuboid { half } => flat::cuboid(half, p),
            Self::Capsule { radius, half_length } => round::capsule(radius, half_length, p),
            Self::Cylinder { radius, half_height } => flat::cylinder(radius, half_height, p),
            Self::Torus { major, minor } => round::torus(major, minor, p),
            Self::Grid(ref samples) => samples.eval(p),
        }
    }
}

impl<S: Real> Program<S> {
    /// The signed distance φ(p) \[m\] and its unit gradient, in the collider's frame.
    ///
    /// Exact for single shapes; for combinations never farther from 0 than the true distance. Which branch is taken depends
    /// on the program alone, never on the point.
    #[inline(always)]
    pub fn eval<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        let mut stack = [(L::zero(), Vec3::zero()); DEPTH];
        let mut top = 0;
        for operation in &self.operations {
            match operation {
                Operation::Push(leaf, frame) => {
                    let (phi, n) = leaf.eval(frame.enter(p, Vec3::zero()));
                    stack[top % DEPTH] = (phi, frame.turn(n));
                    top += 1;
                }
                Operation::Offset(r) => {
                    let at = (top - 1) % DEPTH;
                    stack[at].0 = stack[at].0 - L::splat(*r);
                }
                Operation::Union | Operation::Intersection | Operation::Difference => {
                    let (a, b) = (stack[(top - 2) % DEPTH], stack[(top - 1) % DEPTH]);
                    let (flip, first) = match operation {
                        Operation::Union => (false, b.0.ge(a.0)),
                        Operation::Intersection => (false, a.0.ge(b.0)),
                        _ => (true, a.0.ge(-b.0)),
                    };
                    let b = if flip { (-b.0, -b.1) } else { b };
                    stack[(top - 2) % DEPTH] = (L::select(first, a.0, b.0), Vec3::select(first, a.1, b.1));
                    top -= 1;
                }
            }
        }
        stack[0]
    }
}
