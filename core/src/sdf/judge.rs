//! Judgements of a tree of shapes as a whole, made from those of its parts: one place after the other, in double precision.

use super::pose::Frame;
use super::program::{DEPTH, Leaf, Operation, Program};
use crate::lane::Real;
use crate::vec3::Vec3;

/// A shape with a formula of its own, grown, as seen from a place.
pub(super) struct Seen<'a, S> {
    pub leaf: &'a Leaf<S>,
    /// Where it stands in its collider.
    pub frame: &'a Frame<S>,
    /// How much it is grown \[m\].
    pub grown: S,
    /// φ, grown, and ∇φ in the collider's frame.
    pub phi: f64,
    pub normal: Vec3<f64>,
}

impl<S: Real> Seen<'_, S> {
    /// φ at a place in the shape's own frame.
    pub fn phi_at(&self, inner: Vec3<f64>) -> f64 {
        (self.leaf.eval(Vec3::<S>::from_double(inner)).0 - self.grown).to_f64()
    }
}

/// What is to be known of a tree.
pub(super) trait Judge<S> {
    type Mark: Copy;
    fn part(&self, seen: &Seen<'_, S>) -> Self::Mark;
    /// Of a combined shape that is grown \[m\].
    fn grown(&self, of: Self::Mark, by: f64) -> Self::Mark;
    fn union(&self, a: Self::Mark, b: Self::Mark) -> Self::Mark;
    fn intersection(&self, a: Self::Mark, b: Self::Mark) -> Self::Mark;
    /// Of a without b.
    fn difference(&self, a: Self::Mark, b: Self::Mark) -> Self::Mark;
}

impl<S: Real> Program<S> {
    /// Judges the tree as seen from a place in the collider's frame.
    pub(super) fn judge<J: Judge<S>>(&self, judge: &J, place: Vec3<f64>) -> Option<J::Mark> {
        let place = Vec3::<S>::from_double(place);
        // The stack, its top first.
        let [mut a, mut b, mut c, mut d] = [None; DEPTH];
        let mut left = self.operations.as_slice();
        while let [operation, rest @ ..] = left {
            left = rest;
            match operation {
                Operation::Push(leaf, frame) => {
                    let (mut phi, n) = leaf.eval(frame.inner(place));
                    let mut grown = S::ZERO;
                    while let [Operation::Offset(r), rest @ ..] = left {
                        (phi, grown, left) = (phi - *r, grown + *r, rest);
                    }
                    let (phi, normal) = (phi.to_f64(), frame.turn(n).to_double());
                    let mark = judge.part(&Seen { leaf, frame, grown, phi, normal });
                    (a, b, c, d) = (Some(mark), a, b, c);
                }
                Operation::Offset(r) => a = a.map(|of| judge.grown(of, r.to_f64())),
                Operation::Union => (a, b, c) = (b.zip(a).map(|(b, a)| judge.union(b, a)), c, d),
                Operation::Intersection => (a, b, c) = (b.zip(a).map(|(b, a)| judge.intersection(b, a)), c, d),
                Operation::Difference => (a, b, c) = (b.zip(a).map(|(b, a)| judge.difference(b, a)), c, d),
            }
        }
        a
    }
}
