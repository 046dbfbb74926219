//! Scenes: bodies and the world around them, in double precision and SI units, before a precision is chosen.

pub mod builtin;
mod colliders;
mod contacts;
pub(crate) mod file;
mod materials;
pub mod obstacles;
mod rigid;
mod rigid_file;
mod shapes;
pub mod solids;
pub(crate) mod tables;

use pliant::core::body::Body;
use pliant::core::columns::Particles;
use pliant::core::environment::Environment;
use pliant::core::error::BuildError;
use pliant::core::lane::Real;
use pliant::core::model::Model;
use pliant::core::rigid::RigidBodies;
use pliant::core::wind::Wind;
use pliant::{Fastening, Joint, Pose, RigidOptions, Rotation};

use obstacles::Obstacle;
use solids::Solid;

/// Everything a run needs to know except the method.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Name in reports.
    pub name: String,
    /// What there is.
    pub bodies: Vec<Body>,
    /// Time a frame \[s\].
    pub dt: f64,
    /// Frames to run unless told otherwise.
    pub frames: usize,
    /// Acceleration of free fall \[m/s²\].
    pub gravity: [f64; 3],
    /// Velocity damping rate \[1/s\].
    pub damping: f64,
    /// Moving air, if any.
    pub wind: Option<Wind<f64>>,
    /// Pins that do not stay where they began.
    pub motions: Vec<Motion>,
    /// What bodies cannot enter.
    pub obstacles: Vec<Obstacle>,
    /// Rigid bodies; they touch each other, all particles and the obstacles.
    pub solids: Vec<Solid>,
    /// What joins the rigid bodies, by their places in the list.
    pub joints: Vec<Joint>,
    /// Particles, numbered over all bodies, that are fastened to a rigid body where both start.
    pub fastened: Vec<(u32, usize)>,
    /// How rigid bodies are moved; a run may take more substeps and passes over joints, never fewer.
    pub rigid: RigidOptions,
}

/// How a pin moves: x(t) = R(t) x₀ + v t + a sin(2π f t), for as long as it moves; R turns about an axis through the origin.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// The pin, numbered over all bodies.
    pub particle: u32,
    /// Steady velocity v \[m/s\].
    pub velocity: [f64; 3],
    /// Amplitude a of the oscillation \[m\].
    pub amplitude: [f64; 3],
    /// Frequency f of the oscillation \[1/s\].
    pub frequency: f64,
    /// Angular velocity about the origin \[rad/s\].
    pub spin: [f64; 3],
    /// When it stops \[s\], if it does.
    pub until: Option<f64>,
}

impl Motion {
    /// A pin that goes straight on.
    pub fn steady(particle: u32, velocity: [f64; 3]) -> Self {
        let zero = [0.0; 3];
        Self { particle, velocity, amplitude: zero, frequency: 1.0, spin: zero, until: None }
    }

    /// How far a pin that began at `start` is from there after `time` \[m\].
    pub fn offset(&self, start: [f64; 3], time: f64) -> [f64; 3] {
        let t = self.until.map_or(time, |until| time.min(until));
        let wave = (std::f64::consts::TAU * self.frequency * t).sin();
        let rate = self.spin.iter().map(|c| c * c).sum::<f64>().sqrt();
        let turn = if rate > 0.0 { Rotation::about(self.spin, rate * t) } else { Rotation::IDENTITY };
        let turned = obstacles::place(Pose { translation: [0.0; 3], rotation: turn }, start);
        std::array::from_fn(|k| turned[k] - start[k] + self.velocity[k] * t + self.amplitude[k] * wave)
    }
}

impl Scene {
    /// A scene at rest under gravity.
    pub fn new(name: impl Into<String>, bodies: Vec<Body>) -> Self {
        Self {
            name: name.into(),
            bodies,
            dt: 1.0 / 60.0,
            frames: 120,
            gravity: [0.0, -9.81, 0.0],
            damping: 0.0,
            wind: None,
            motions: Vec::new(),
            obstacles: Vec::new(),
            solids: Vec::new(),
            joints: Vec::new(),
            fastened: Vec::new(),
            rigid: RigidOptions::default(),
        }
    }

    /// The model and its start state in a precision.
    ///
    /// # Errors
    /// When a body is not usable.
    pub fn build<S: Real>(&self) -> Result<(Model<S>, Particles<S>), BuildError> {
        let bodies: Vec<&Body> = self.bodies.iter().collect();
        let (mut model, particles) = Model::build(&bodies)?;
        let number = S::from_f64;
        model.environment = Environment {
            gravity: self.gravity.map(number),
            damping: number(self.damping),
            wind: self.wind.map(|wind| Wind {
                velocity: wind.velocity.map(number),
                density: number(wind.density),
                drag: number(wind.drag),
                lift: number(wind.lift),
            }),
            ..Environment::default()
        };
        for obstacle in &self.obstacles {
            model.colliders_mut().push(obstacle.collider.clone())?;
        }
        Ok((model, particles))
    }

    /// The rigid bodies and their joints at the start, and what of these particles is fastened to them.
    ///
    /// # Errors
    /// When a body, a joint or a fastening is not usable.
    pub fn build_rigid<S: Real>(
        &self,
        particles: &Particles<S>,
    ) -> Result<(RigidBodies<S>, Vec<Fastening>), BuildError> {
        let mut bodies = RigidBodies::new();
        for solid in &self.solids {
            bodies.push(&solid.body)?;
        }
        for joint in &self.joints {
            bodies.join(joint)?;
        }
        let fastened = self.fastened.iter().map(|&(particle, body)| Fastening::new(particle, body, particles, &bodies));
        let fastened = fastened.collect::<Result<Vec<_>, _>>()?;
        Ok((bodies, fastened))
    }

    /// Every body with the number of its first particle.
    pub fn placed(&self) -> impl Iterator<Item = (u32, &Body)> {
        self.bodies.iter().scan(0, |next, body| {
            let first = *next;
            *next += body.particle_count() as u32;
            Some((first, body))
        })
    }

    /// Whether surfaces keep clear of themselves or of each other.
    pub fn has_layers(&self) -> bool {
        self.bodies.iter().any(|body| body.self_contact().is_some())
    }

    /// Particles of all bodies.
    pub fn particle_count(&self) -> usize {
        self.bodies.iter().map(Body::particle_count).sum()
    }
}
