//! Walking down a tree of boxes for anything that is not another tree: rays, points, regions.

use super::bvh::Bvh;
use crate::lane::{BLOCK, Real};

/// Low and high corner of a box, in double precision \[m\].
pub(super) type Span = [[f64; 3]; 2];

/// A question that is asked of boxes and then of what is in them.
pub(super) trait Visit {
    /// How far away a box is in the terms of the question: nearer boxes first, `None` for boxes that cannot matter.
    fn rank(&self, span: &Span) -> Option<f64>;
    /// Looks at a primitive.
    fn look(&mut self, primitive: u32);
}

impl<S: Real> Bvh<S> {
    /// Asks a question of everything in the tree that may matter.
    pub(super) fn visit(&self, question: &mut impl Visit) {
        if !self.is_empty() {
            self.visit_node(self.depth() - 1, 0, question);
        }
    }

    fn visit_node(&self, level: usize, node: usize, question: &mut impl Visit) {
        let parent = &self.nodes[self.levels[level] + node];
        let mut order = [(0.0, 0_usize); BLOCK];
        let mut count = 0;
        for lane in 0..BLOCK {
            let c = parent.child(lane)[0].map(S::to_f64);
            // Children that do not exist are turned inside out.
            if c[0] > -c[3] {
                continue;
            }
            if let Some(rank) = question.rank(&[[c[0], c[1], c[2]], [-c[3], -c[4], -c[5]]]) {
                let mut at = count;
                while at > 0 && order[at - 1].0 > rank {
                    order[at] = order[at - 1];
                    at -= 1;
                }
                order[at] = (rank, lane);
                count += 1;
            }
        }
        for &(_, lane) in &order[..count] {
            // What was found meanwhile may have ruled it out.
            let c = parent.child(lane)[0].map(S::to_f64);
            if question.rank(&[[c[0], c[1], c[2]], [-c[3], -c[4], -c[5]]]).is_none() {
                continue;
            }
            if level == 0 {
                question.look(self.primitive(node * BLOCK + lane));
            } else {
                self.visit_node(level - 1, node * BLOCK + lane, question);
            }
        }
    }
}
