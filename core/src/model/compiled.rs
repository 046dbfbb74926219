//! What is compiled here in either precision, and not again in every crate that builds models.
//!
//! Whoever calls a generic function compiles it, with everything it calls: tables, schedules and surfaces of every constraint kind in
//! a join. A method of a trait that is written out for a type is compiled with the trait.

use super::Model;
use crate::body::Body;
use crate::columns::Particles;
use crate::error::BuildError;
use crate::schedule::LayoutChoice;

/// A precision in which models are joined.
pub trait Joins: Sized {
    /// Joins bodies to a model: what is behind [`Model::build`] and its sisters.
    #[doc(hidden)]
    fn join(
        bodies: &[&Body],
        layout: LayoutChoice,
        like: Option<&Model<Self>>,
    ) -> Result<(Model<Self>, Particles<Self>), BuildError>;
}

macro_rules! joins {
    ($t:ty) => {
        impl Joins for $t {
            fn join(
                bodies: &[&Body],
                layout: LayoutChoice,
                like: Option<&Model<Self>>,
            ) -> Result<(Model<Self>, Particles<Self>), BuildError> {
                Model::join(bodies, layout, like)
            }
        }
    };
}
joins!(f32);
joins!(f64);
