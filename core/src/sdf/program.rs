//! Programs: a tree of shapes flattened into a list of operations that lanes run through together.

use std::sync::Arc;

use super::grid::Samples;
use super::pose::{Frame, Pose};
use super::{flat, round};
use crate::lane::{Lane, Real};
use crate::vec3::Vec3;

/// How deep the stack of a program may grow.
pub(super) const DEPTH: usize = 4;

/// A shape with a formula of its own.
#[derive(Clone, Debug)]
pub(super) enum Leaf<S> {
    Plane {
        normal: [S; 3],
    },
    Sphere {
        radius: S,
    },
    Cuboid(flat::Sides<S>),
    Capsule {
        radius: S,
        half_length: S,
    },
    Cylinder {
        radius: S,
        half_height: S,
    },
    Torus {
        major: S,
        minor: S,
    },
    Grid(Arc<Samples<S>>),
    #[cfg(feature = "parry")]
    Parry(super::parry::ParryShape),
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
    /// The first shape, at hand where it is the only one.
    first: (Leaf<S>, Frame<S>),
}

/// What a path wants to know of a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Survey<L> {
    /// φ and ∇φ.
    pub phi: L,
    pub normal: Vec3<L>,
    /// How far a path that stays above the plane across ∇φ meets nothing \[m\]: a convex part is behind that plane for good.
    pub above: L,
    /// How far a path along the surface cannot have passed through anything, and what it may have run into is still nearest from
    /// where it came \[m\].
    pub beside: L,
}

impl<L: Lane> Survey<L> {
    #[inline(always)]
    fn nothing() -> Self {
        Self { phi: L::zero(), normal: Vec3::zero(), above: L::zero(), beside: L::zero() }
    }
    #[inline(always)]
    fn select(mask: L::Mask, a: Self, b: Self) -> Self {
        Self {
            phi: L::select(mask, a.phi, b.phi),
            normal: Vec3::select(mask, a.normal, b.normal),
            above: L::select(mask, a.above, b.above),
            beside: L::select(mask, a.beside, b.beside),
        }
    }
    /// Of a place that is nearer to this one: never as far as to the other.
    #[inline(always)]
    fn short_of(self, other: Self) -> Self {
        Self { above: self.above.min(other.phi), beside: self.beside.min(other.phi), ..self }
    }
    /// Of a place outside of this one, whose walls end where the other does. A quarter of the way there they are nearest from here by far.
    #[inline(always)]
    fn within(self, other: Self) -> Self {
        Self { beside: self.beside.max(other.phi * L::constant(-0.25)), ..self }
    }
}

impl<S: Real> Leaf<S> {
    fn is_simple(&self) -> bool {
        match self {
            Self::Grid(_) => false,
            #[cfg(feature = "parry")]
            Self::Parry(_) => false,
            _ => true,
        }
    }

    fn is_convex(&self) -> bool {
        match self {
            Self::Grid(_) | Self::Torus { .. } => false,
            #[cfg(feature = "parry")]
            Self::Parry(shape) => shape.is_convex(),
            _ => true,
        }
    }

    /// Whether everything lies behind the plane through its nearest point: it is convex, and its normals are exact. Those of
    /// projections are not: next to edges they are slopes over several places.
    pub(super) fn is_supported(&self) -> bool {
        match self {
            #[cfg(feature = "parry")]
            Self::Parry(_) => false,
            leaf => leaf.is_convex(),
        }
    }

    /// φ changes by at most this times the distance travelled: a trilinear interpolant of a distance is steeper than 1 along
    /// diagonals, at most √3.
    pub(super) fn lipschitz(&self) -> f64 {
        if matches!(self, Self::Grid(_)) { 3.0_f64.sqrt() } else { 1.0 }
    }

    #[inline(always)]
    pub(super) fn eval<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        match self {
            Self::Grid(samples) => samples.eval(p),
            #[cfg(feature = "parry")]
            Self::Parry(shape) => shape.eval(p),
            simple => simple.eval_simple(p),
        }
    }

    #[inline(always)]
    fn eval_simple<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        match self {
            &Self::Plane { normal } => flat::plane(normal, p),
            &Self::Sphere { radius } => round::sphere(radius, p),
            Self::Cuboid(sides) => flat::cuboid(sides, p),
            &Self::Capsule { radius, half_length } => round::capsule(radius, half_length, p),
            &Self::Cylinder { radius, half_height } => flat::cylinder(radius, half_height, p),
            &Self::Torus { major, minor } => round::torus(major, minor, p),
            Self::Grid(_) => (L::zero(), Vec3::zero()),
            #[cfg(feature = "parry")]
            Self::Parry(_) => (L::zero(), Vec3::zero()),
        }
    }
}

impl<S: Real> Program<S> {
    /// From operations, the first of which pushes a shape.
    pub(super) fn new(operations: Vec<Operation<S>>) -> Self {
        let first = match operations.first() {
            Some(Operation::Push(leaf, frame)) => (leaf.clone(), *frame),
            _ => (Leaf::Plane { normal: [S::ZERO; 3] }, Frame::new(Pose::IDENTITY, [0.0; 3])),
        };
        Self { operations, first }
    }

    /// Whether it is one shape with a formula of a few lines: [`Program::eval_simple`] will do.
    pub fn is_simple(&self) -> bool {
        self.operations.len() == 1 && self.first.0.is_simple()
    }

    /// Whether it has several parts.
    pub fn is_combined(&self) -> bool {
        self.operations.iter().filter(|operation| matches!(operation, Operation::Push(..))).count() > 1
    }

    /// Whether it is a ball.
    pub fn is_round(&self) -> bool {
        matches!(self.operations.as_slice(), [Operation::Push(Leaf::Sphere { .. }, _)])
    }

    /// The same as [`Program::eval`] for simple programs, by less code around it: values stay in registers.
    #[inline(always)]
    pub fn eval_simple<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        let (leaf, frame) = &self.first;
        let plain = frame.is_plain();
        let (phi, n) = leaf.eval_simple(if plain { p } else { frame.inner(p) });
        (phi, if plain { n } else { frame.turn(n) })
    }

    /// The signed distance φ(p) \[m\] and its unit gradient, in the collider's frame.
    ///
    /// Exact for single shapes; for combinations never farther from 0 than the true distance. Which branch is taken depends
    /// on the program alone, never on the point.
    #[inline(always)]
    pub fn eval<L: Lane<Scalar = S>>(&self, p: Vec3<L>) -> (L, Vec3<L>) {
        // A single shape stays in registers: half the time of the general way.
        if let [Operation::Push(leaf, frame)] = self.operations.as_slice() {
            let (phi, n) = leaf.eval(frame.inner(p));
            return (phi, frame.turn(n));
        }
        // Nobody asks how far parts can be trusted, and nothing of that is computed.
        let Survey { phi, normal, .. } = self.survey(p, L::zero());
        (phi, normal)
    }

    /// φ(p) and ∇φ(p) as [`Program::eval`] has them, and how far the parts that p is next to can be trusted.
    #[inline(always)]
    pub(super) fn survey<L: Lane<Scalar = S>>(&self, p: Vec3<L>, stride: L) -> Survey<L> {
        // The stack, its top first.
        let [mut a, mut b, mut c, mut d] = [Survey::nothing(); DEPTH];
        for operation in &self.operations {
            match operation {
                Operation::Push(leaf, frame) => {
                    let (phi, n) = leaf.eval(frame.inner(p));
                    let endless = L::constant(f64::INFINITY);
                    let [above, beside] = if leaf.is_convex() { [endless; 2] } else { [stride; 2] };
                    (a, b, c, d) = (Survey { phi, normal: frame.turn(n), above, beside }, a, b, c);
                }
                Operation::Offset(r) => a.phi = a.phi - L::splat(*r),
                Operation::Union => (a, b, c) = (Survey::select(a.phi.ge(b.phi), b.short_of(a), a.short_of(b)), c, d),
                Operation::Intersection => {
                    (a, b, c) = (Survey::select(b.phi.ge(a.phi), b.within(a), a.within(b)), c, d)
                }
                Operation::Difference => {
                    // On the hollow side of a surface nothing is known of it.
                    let zero = L::zero();
                    let hollow = Survey { phi: -a.phi, normal: -a.normal, above: zero, beside: zero };
                    (a, b, c) = (Survey::select(b.phi.ge(hollow.phi), b.within(hollow), hollow.within(b)), c, d);
                }
            }
        }
        a
    }
}
