//! The reference trajectories of implicit Euler: 20 steps of mass–spring cloth, error below 4e-12 m.

use super::common::Table;
use pliant::core::body::Role;
use pliant::core::columns::Columns;
use pliant::prelude::*;
use pliant_harness::instances::Instances;

/// A scene with its states.
pub struct Reference {
    pub body: Body,
    pub dt: f64,
    /// By step: positions.
    pub states: Vec<Vec<[f64; 3]>>,
}

/// The cases, with their time steps.
pub const CASES: [(&str, f64); 3] = [("8x8_dt60", 1.0 / 60.0), ("8x8_dt240", 1.0 / 240.0), ("16x16_dt60", 1.0 / 60.0)];

pub fn read(name: &str, dt: f64) -> Reference {
    let vector = |row: &super::common::Row<'_>, names: [&str; 3]| names.map(|n| row.number(n));
    let particles = Table::read(&format!("newton_ref_{name}_particles.csv"));
    let springs = Table::read(&format!("newton_ref_{name}_springs.csv"));
    let mut body = Body::particles(particles.rows().map(|r| vector(&r, ["x", "y", "z"])))
        .with_masses(particles.rows().map(|r| r.number("mass")))
        .with_velocities(particles.rows().map(|r| vector(&r, ["vx", "vy", "vz"])));
    for (row, particle) in particles.rows().enumerate() {
        if particle.number("pinned") > 0.0 {
            body.pin(row as u32);
        }
    }
    let table = &mut body.tables_mut().distance;
    for row in springs.rows() {
        let ids = [row.number("i") as u32, row.number("j") as u32];
        table.push(Role::Stretch, 0, ids, [row.number("rest")]);
        *table.compliance.last_mut().expect("just pushed") = 1.0 / row.number("k");
    }
    let mut states = Vec::new();
    for row in Table::read(&format!("newton_ref_{name}.csv")).rows() {
        let step = row.number("step") as usize;
        states.resize(states.len().max(step + 1), Vec::new());
        states[step].push(vector(&row, ["x", "y", "z"]));
    }
    Reference { body, dt, states }
}

impl Reference {
    /// The model, with gravity.
    pub fn model<S: Instances>(&self) -> (Model<S>, Particles<S>) {
        let (mut model, particles) = Model::build(&[&self.body]).expect("the tables are sound");
        model.environment.gravity = [0.0, -9.81, 0.0].map(S::from_f64);
        (model, particles)
    }

    /// The state after a step of the reference, with the velocity implicit Euler gives it.
    pub fn state<S: Instances>(&self, step: usize) -> Particles<S> {
        let at = |k: usize| self.states[k].iter();
        let mut particles = Particles::at_rest(at(step).map(|x| x.map(S::from_f64)).collect());
        if step > 0 {
            particles.v = at(step)
                .zip(at(step - 1))
                .map(|(x, before)| [0, 1, 2].map(|k| S::from_f64((x[k] - before[k]) / self.dt)))
                .collect();
        }
        particles
    }

    /// The largest distance to the reference after a step \[m\].
    pub fn error<S: Instances>(&self, x: &Columns<S>, step: usize) -> f64 {
        let distance = |(i, y): (usize, &[f64; 3])| {
            let x = x.get(i).map(|c| c.to_f64());
            (0..3).map(|k| (x[k] - y[k]) * (x[k] - y[k])).sum::<f64>().sqrt()
        };
        self.states[step].iter().enumerate().map(distance).fold(0.0, f64::max)
    }

    /// One step from the reference's state; the distance to its next state.
    pub fn one_step<S: Instances>(&self, solver: &mut dyn Solver<AnyBackend<S>>, step: usize) -> f64 {
        let (model, _) = self.model::<S>();
        let mut particles = self.state::<S>(step);
        solver.prepare(&model).expect("springs");
        solver.step(&model, &mut particles, S::from_f64(self.dt), &AnyBackend::scalar()).expect("a step");
        self.error(&particles.x, step + 1)
    }
}
