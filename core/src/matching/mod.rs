//! Shape matching: groups of particles that pull back to their rest shape, wherever it went and however it turned.
//!
//! A cluster needs no mesh. Every pass finds the rest shape's best place among its particles (centre of mass c, rotation R)
//! and moves each particle towards its goal c + R r.   [METHODS 9; R 18–26; Müller05]
//!
//! - `mod.rs`: what users say about clusters; `grouping.rs`: clusters all over a body.
//! - `basis.rs`: the rest shape in coordinates that make the sums over particles simple.
//! - `bundle.rs`: all clusters of a model in the order and layout that passes read.
//! - `formula.rs`: the formulas, on lanes; `placement.rs`: where clusters are, for users.
//! - `dent.rs`, beside this folder: the plastic deformation of a cluster on its way from model to model.

mod basis;
mod bundle;
pub mod formula;
mod grouping;
mod placement;

pub use crate::dent::Dent;
pub use crate::plasticity::Plasticity;
pub(crate) use bundle::check;
pub use bundle::{Bundle, ChunkBlock, ClusterBlock, Clusters, MemberBlock};
pub use grouping::Grouping;
pub use placement::Placement;

use crate::body::Body;
use crate::error::BuildError;

/// How a cluster may deviate from its rest shape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Deformation {
    /// Goals are the rest shape, moved and turned.
    #[default]
    Rigid,
    /// Goals may be stretched and sheared as a whole, the volume kept.
    Linear {
        /// How much of the deformation goals take over: 0 is rigid, 1 does not resist it at all \[1\].
        share: f64,
    },
    /// Goals may be bent and twisted as well.
    Quadratic {
        /// How much of the deformation goals take over: 0 is rigid, 1 does not resist it at all \[1\].
        share: f64,
    },
}

/// How a cluster holds its shape: rigid unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Matching {
    /// Share of the way to their goals that particles go in a sixtieth of a second, above 0; 1 goes all the way at once \[1\].
    pub stiffness: f64,
    /// What goals look like.
    pub deformation: Deformation,
    /// Whether deformations are kept.   [Müller05, 4.5]
    ///
    /// What flowed is kept by the solver, from step to step. Preparing it again starts from the rest shapes that the bodies were made
    /// with, unless it is given back its dents ([`Solver::put_dents`](crate::solver::Solver::put_dents)), as worlds do.
    pub plasticity: Option<Plasticity>,
}

impl Default for Matching {
    fn default() -> Self {
        Self { stiffness: 1.0, deformation: Deformation::Rigid, plasticity: None }
    }
}

impl Matching {
    /// Goals that the particles reach in every pass: a rigid piece.
    pub const RIGID: Self = Self { stiffness: 1.0, deformation: Deformation::Rigid, plasticity: None };

    /// Particles that go a share of the way to their goals in a sixtieth of a second.
    pub fn soft(stiffness: f64) -> Self {
        Self { stiffness, ..Self::RIGID }
    }
    /// The same with goals that deform.
    #[must_use]
    pub fn with_deformation(self, deformation: Deformation) -> Self {
        Self { deformation, ..self }
    }
    /// The same with a rest shape that flows.
    #[must_use]
    pub fn with_plasticity(self, plasticity: Plasticity) -> Self {
        Self { plasticity: Some(plasticity), ..self }
    }

    /// How much of the deformation goals take over.
    fn share(&self) -> f64 {
        match self.deformation {
            Deformation::Rigid => 0.0,
            Deformation::Linear { share } | Deformation::Quadratic { share } => share,
        }
    }

    fn check(&self, row: usize) -> Result<(), BuildError> {
        let bad =
            |quantity, value, expected| Err(BuildError::BadValue { what: CLUSTER, row, quantity, value, expected });
        if !(self.stiffness > 0.0 && self.stiffness <= 1.0) {
            return bad("stiffness", self.stiffness, "above 0, at most 1");
        }
        if !(0.0..=1.0).contains(&self.share()) {
            return bad("share of the deformation", self.share(), "0 to 1");
        }
        if let Some(Plasticity { yields_at, creep, bound }) = self.plasticity {
            for (quantity, value) in [("yield", yields_at), ("creep", creep)] {
                if !(value.is_finite() && value >= 0.0) {
                    return bad(quantity, value, "a finite number, 0 or more");
                }
            }
            if !(0.0..1.0).contains(&bound) {
                return bad("bound of the plastic deformation", bound, "at least 0 and below 1");
            }
        }
        Ok(())
    }
}

/// What errors call a cluster.
const CLUSTER: &str = "cluster";

/// Particles that hold a shape together.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Cluster {
    /// The particles, each once; any number above 0.
    pub particles: Vec<u32>,
    /// How they hold it.
    pub matching: Matching,
}

impl Body {
    /// Particles that hold their rest shape together. They may belong to other clusters too: goals are averaged.
    ///
    /// Checked when a model is built. Clusters act in PBD, XPBD by sweeps, and in the shape matching solver.
    pub fn with_cluster(mut self, particles: impl IntoIterator<Item = u32>, matching: Matching) -> Self {
        self.clusters.push(Cluster { particles: particles.into_iter().collect(), matching });
        self
    }
    /// Particles that move as one rigid piece: a button on a shirt, a stone in a net.
    pub fn with_rigid_cluster(self, particles: impl IntoIterator<Item = u32>) -> Self {
        self.with_cluster(particles, Matching::RIGID)
    }
    /// Overlapping clusters all over the body. The smaller they are beside the body, the softer it is as a whole.
    ///
    /// ```
    /// use pliant_core::body::Body;
    /// use pliant_core::matching::{Grouping, Matching};
    ///
    /// let points = (0..125).map(|i| [i % 5, i / 5 % 5, i / 25].map(|c| 0.1 * f64::from(c)));
    /// let jelly = Body::particles(points).with_clusters(Grouping::Lattice { cell: 0.2, reach: 1 }, Matching::soft(0.5))?;
    /// assert_eq!(jelly.clusters().len(), 27);
    /// # Ok::<(), pliant_core::error::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// When a length of the grouping is not a finite number above 0, or regions would leave particles out.
    pub fn with_clusters(mut self, grouping: Grouping, matching: Matching) -> Result<Self, BuildError> {
        let groups = grouping.groups(&self.rest)?;
        self.clusters.extend(groups.into_iter().map(|particles| Cluster { particles, matching }));
        Ok(self)
    }
    /// The clusters, in the order they were added.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }
    /// The clusters, to be edited: checked when a model is built.
    pub fn clusters_mut(&mut self) -> &mut Vec<Cluster> {
        &mut self.clusters
    }
}
