//! Eight boxes side by side, what a tree is made of, and which of them overlap which of eight others.

use crate::lane::{BLOCK, Lane, Octet, Real};

/// Eight boxes side by side: number k of [`Aabb`](super::aabb::Aabb) for each child, at each end of their way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<S, const ENDS: usize> {
    pub ends: [[Octet<S>; 6]; ENDS],
}

/// The numbers of one box at each end.
pub(super) type Ends<S, const ENDS: usize> = [[S; 6]; ENDS];

impl<S: Real, const ENDS: usize> Node<S, ENDS> {
    pub fn empty() -> Self {
        Self { ends: [[Octet([S::from_f64(f64::INFINITY); BLOCK]); 6]; ENDS] }
    }

    /// The box of one child.
    #[inline(always)]
    pub fn child(&self, lane: usize) -> Ends<S, ENDS> {
        let mut child = [[S::ZERO; 6]; ENDS];
        for end in 0..ENDS {
            for k in 0..6 {
                child[end][k] = self.ends[end][k].0[lane % BLOCK];
            }
        }
        child
    }

    /// The box around all children.
    pub fn bound(&self) -> Ends<S, ENDS> {
        let mut bound = [[S::ZERO; 6]; ENDS];
        for end in 0..ENDS {
            for k in 0..6 {
                bound[end][k] = self.ends[end][k].0.into_iter().fold(S::from_f64(f64::INFINITY), Lane::min);
            }
        }
        bound
    }

    /// Empties the boxes from a lane on.
    #[inline(always)]
    pub fn clear_from(&mut self, lane: usize) {
        for lane in lane..BLOCK {
            for end in 0..ENDS {
                for k in 0..6 {
                    self.ends[end][k].0[lane] = S::from_f64(f64::INFINITY);
                }
            }
        }
    }

    /// Which children overlap which of another node's, of the pairs that are wanted: bit 8i + j for child i of this one and j of
    /// the other, whose bound is given.
    #[inline(always)]
    pub fn overlaps<L: Lane<Scalar = S>>(&self, other: &Self, bound: &Ends<S, ENDS>, wanted: u64) -> u64 {
        let mut bits = 0;
        if ENDS == 1 && L::WIDTH > 1 {
            // All 64 are compared whatever the first ones say: that takes no longer than a branch that was guessed wrong.
            let mut at = 0;
            while at < BLOCK {
                let run = other.negated::<L>(at);
                for i in 0..BLOCK {
                    bits |= u64::from(L::bits(meet(&run, &self.child(i)[0]))) << (BLOCK * i + at);
                }
                at += L::WIDTH;
            }
            return bits & wanted;
        }
        // Where comparing takes longer, it pays to ask first who reaches the other node at all.
        let mut rows = self.overlapping::<L>(bound);
        while rows != 0 {
            let i = rows.trailing_zeros() as usize;
            rows &= rows - 1;
            if wanted >> (BLOCK * i) & 0xff != 0 {
                bits |= u64::from(other.overlapping::<L>(&self.child(i))) << (BLOCK * i);
            }
        }
        bits & wanted
    }

    /// Which children overlap another box, one bit each.
    #[inline(always)]
    pub fn overlapping<L: Lane<Scalar = S>>(&self, other: &Ends<S, ENDS>) -> u32 {
        let mut bits = 0;
        let mut at = 0;
        while at < BLOCK {
            let mut apart = self.apart::<L>(other, 0, at);
            for k in 1..6 {
                apart = self.apart::<L>(other, k, at).max(apart);
            }
            bits |= L::bits(L::zero().ge(apart)) << at;
            at += L::WIDTH;
        }
        bits
    }

    /// How far apart boxes are along one axis and way, at whichever end that is less: low ≤ high' is low + (−high') ≤ 0, and the sign
    /// of a sum is exact.
    #[inline(always)]
    fn apart<L: Lane<Scalar = S>>(&self, other: &Ends<S, ENDS>, k: usize, at: usize) -> L {
        let opposite = (k + 3) % 6;
        let mut least = L::load(&self.ends[0][k], at) + L::splat(other[0][opposite]);
        for end in 1..ENDS {
            least = (L::load(&self.ends[end][k], at) + L::splat(other[end][opposite])).min(least);
        }
        least
    }

    /// A run of children in registers, with their signs changed.
    #[inline(always)]
    fn negated<L: Lane<Scalar = S>>(&self, at: usize) -> [L; 6] {
        let mut run = [L::zero(); 6];
        for k in 0..6 {
            run[k] = -L::load(&self.ends[0][k], at);
        }
        run
    }
}

/// Which of a run of boxes, given by their negated numbers, overlap another one.
#[inline(always)]
fn meet<L: Lane>(run: &[L; 6], other: &[L::Scalar; 6]) -> L::Mask {
    // low ≤ high' is −low ≥ −high', and low' ≤ high is high ≥ low'.
    let mut mask = run[0].ge(L::splat(other[3]));
    mask = L::both(mask, run[1].ge(L::splat(other[4])));
    mask = L::both(mask, run[2].ge(L::splat(other[5])));
    mask = L::both(mask, run[3].ge(L::splat(other[0])));
    mask = L::both(mask, run[4].ge(L::splat(other[1])));
    L::both(mask, run[5].ge(L::splat(other[2])))
}
