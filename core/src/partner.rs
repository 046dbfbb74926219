//! Partners: things with a motion of their own that particles push, and are pushed by, inside a step.

use core::any::Any;

use crate::field::Field;
use crate::lane::Real;
use crate::model::Model;

/// What a particle method meets in its substeps beside colliders; rigid bodies, in this kit.
///
/// A method knows nothing about its partner but when to call it. Whatever a partner does to the particles it does to itself the
/// other way round. It travels in a [`ContactAccount`](crate::account::ContactAccount) for the length of a step.
pub trait Partner<S: Real>: Send + Sync + 'static {
    /// A step of `dt` \[s\] begins; positions of each body will be seen from its origin.
    fn begin(&mut self, model: &Model<S>, origins: &[[S; 3]], dt: S);
    /// Goes on to substep `k` of `n`.
    fn place(&mut self, substep: (usize, usize));
    /// Corrects positions, for methods that take velocities from them; `start` holds the positions at the start of the substep.
    fn project(&mut self, x: &mut Field<S>, start: &Field<S>);
    /// Corrects positions that have advanced by h v, and the velocities with them.
    fn strike(&mut self, x: &mut Field<S>, v: &mut Field<S>);
    /// Whether velocities change after positions were solved.
    fn bounces(&self) -> bool;
    /// Gives what was stopped the velocity it bounces off with; `kept` is what it approached with.
    fn rebound(&mut self, x: &Field<S>, v: &mut Field<S>, kept: &Field<S>);
    /// Itself, for who lent it.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}
