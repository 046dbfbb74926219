//! What can be chosen about the motion of rigid bodies, and within which bounds.

use pliant_core::error::BuildError;

use super::Sleep;

/// How the gyroscopic torque −ω × Iω enters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Gyroscopic {
    /// Not at all: a spinning body keeps ω instead of its angular momentum.
    None,
    /// As a force at the start of the substep. Gains energy, and explodes for long bodies that spin fast.
    Explicit,
    /// By one Newton step of the implicit equation in the body's frame. Never explodes; loses energy.
    Implicit,
    /// Angular momentum is kept exactly and ω follows from the orientation; second order, and bounded because the energy
    /// of a given angular momentum is.
    #[default]
    Momentum,
}

/// How bodies respond to contact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RigidResponse {
    /// Sequential impulses, warm-started: bodies stack.
    #[default]
    Sequential,
    /// One impulse a pair of bodies, at the mean of their contact points, by the matrix K (R 35–43).
    Averaged,
    /// Springs and dampers.
    Penalty {
        /// Stiffness a contact point \[N/m\].
        stiffness: f64,
        /// Damping a contact point \[N s/m\].
        damping: f64,
    },
}

/// Options of [`RigidSolver`](crate::RigidSolver).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct RigidOptions {
    /// Substeps a step, 1 to 1000.
    pub substeps: usize,
    /// Passes over the joints a substep, 1 to 1000.
    pub joint_iterations: usize,
    /// The gyroscopic torque.
    pub gyroscopic: Gyroscopic,
    /// Response to contact.
    pub response: RigidResponse,
    /// When bodies fall asleep, if they do.
    pub sleep: Option<Sleep>,
    /// Contacts are looked for within this distance, and farther where bodies are fast \[m\].
    pub margin: f64,
    /// Overlap that is left alone \[m\]; contacts are soft, so resting ones overlap a little anyway.
    pub slop: f64,
    /// Stiffness of contacts as a frequency \[Hz\]; at most a fifth of the substeps' is used, because tall stacks sway more and
    /// more from 0.23 on.
    pub contact_hertz: f64,
    /// Damping ratio of contacts.
    pub contact_damping: f64,
    /// Largest speed at which overlap is pushed out \[m/s\].
    pub push_speed: f64,
    /// Approach speed below which nothing bounces \[m/s\].
    pub bounce_threshold: f64,
}

impl Default for RigidOptions {
    fn default() -> Self {
        Self {
            substeps: 4,
            joint_iterations: 1,
            gyroscopic: Gyroscopic::Momentum,
            response: RigidResponse::Sequential,
            sleep: Some(Sleep::default()),
            margin: 0.01,
            slop: 0.0,
            contact_hertz: 60.0,
            contact_damping: 10.0,
            push_speed: 3.0,
            bounce_threshold: 0.5,
        }
    }
}

impl RigidOptions {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        let option = |name, value, expected| BuildError::BadOption { name, value, expected };
        for (name, count) in [("substeps", self.substeps), ("joint_iterations", self.joint_iterations)] {
            if !(1..=1000).contains(&count) {
                return Err(option(name, count as f64, "1 to 1000"));
            }
        }
        let mut positive = vec![
            ("margin", self.margin),
            ("contact_hertz", self.contact_hertz),
            ("contact_damping", self.contact_damping),
            ("push_speed", self.push_speed),
        ];
        if let RigidResponse::Penalty { stiffness, .. } = self.response {
            positive.push(("stiffness", stiffness));
        }
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(option(name, value, "a finite number above 0"));
            }
        }
        let mut zero = vec![("slop", self.slop), ("bounce_threshold", self.bounce_threshold)];
        if let RigidResponse::Penalty { damping, .. } = self.response {
            zero.push(("damping", damping));
        }
        if let Some(sleep) = self.sleep {
            zero.extend([
                ("sleep.speed", sleep.speed),
                ("sleep.angular_speed", sleep.angular_speed),
                ("sleep.time", sleep.time),
            ]);
        }
        for (name, value) in zero {
            if !(value.is_finite() && value >= 0.0) {
                return Err(option(name, value, "a finite number, 0 or more"));
            }
        }
        Ok(())
    }
}
