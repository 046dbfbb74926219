//! Figures about a state: how far links are stretched, how much energy there is.

use pliant::core::body::Role;
use pliant::core::columns::Particles;
use pliant::core::constraints::{Balloon, EnergyVisitor, Set};
use pliant::core::energy::Energy;
use pliant::core::kinds::triangle_volume::corner_gradients;
use pliant::core::lane::Real;
use pliant::core::model::Model;
use pliant::core::rigid::RigidBodies;
use pliant::core::vec3::Vec3;

use crate::scene::Scene;

/// The largest elongation of the links of a role over their rest length, 0 when none is longer than at rest.
pub fn max_strain(scene: &Scene, positions: &[[f64; 3]], role: Role) -> f64 {
    let mut largest = 0.0_f64;
    for (first, body) in scene.placed() {
        let links = &body.tables().distance;
        for (i, ids) in links.ids.iter().enumerate().filter(|(i, _)| links.role[*i] == role) {
            let [a, b] = ids.map(|p| positions[(p + first) as usize]);
            let length = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
            let rest = links.parameters[i][0];
            if rest > 0.0 {
                largest = largest.max(length / rest - 1.0);
            }
        }
    }
    largest
}

/// Σ ½ m v² − m g·x over free particles, and Σ C²/(2α) over compliant constraints, balloons and
/// elastic elements among them \[J\].
pub fn energy<S: Real>(model: &Model<S>, particles: &Particles<S>) -> f64 {
    motion_energy(model, particles) + elastic_energy(model, particles)
}

/// Σ ½ m v² − m g·x over free particles \[J\].
pub fn motion_energy<S: Real>(model: &Model<S>, particles: &Particles<S>) -> f64 {
    let gravity = model.environment.gravity.map(S::to_f64);
    let mut total = 0.0;
    for (i, w) in model.inv_mass().iter().map(|w| w.to_f64()).enumerate().filter(|(_, w)| *w > 0.0) {
        let (x, v) = (particles.x.get(i).map(S::to_f64), particles.v.get(i).map(S::to_f64));
        total += (0..3).map(|k| 0.5 * v[k] * v[k] - gravity[k] * x[k]).sum::<f64>() / w;
    }
    total
}

fn elastic_energy<S: Real>(model: &Model<S>, particles: &Particles<S>) -> f64 {
    let mut total = 0.0;
    let mut elastic = Elastic { particles, total: 0.0 };
    model.constraints().visit_energies(&mut elastic);
    for balloon in &model.constraints().balloons {
        let compliance = balloon.compliance.to_f64();
        if compliance > 0.0 {
            let c = volume(balloon, particles) - balloon.volume.to_f64();
            total += c * c / (2.0 * compliance);
        }
    }
    total + elastic.total
}

/// Kinetic energy and −m g·x of dynamic rigid bodies \[J\].
pub fn rigid_energy<S: Real>(bodies: &RigidBodies<S>, gravity: [f64; 3]) -> f64 {
    let height = |row: usize| {
        let x = bodies.x.get(row).map(S::to_f64);
        bodies.mass(row).map_or(0.0, |mass| -mass * (0..3).map(|k| gravity[k] * x[k]).sum::<f64>())
    };
    bodies.kinetic_energy() + (0..bodies.len()).map(height).sum::<f64>()
}

/// The volume inside a balloon \[m³\]: V = ⅓ Σ (x − o)·∇V.
fn volume<S: Real>(balloon: &Balloon<S>, particles: &Particles<S>) -> f64 {
    let at = |i: u32| Vec3::from(particles.x.get(i as usize).map(S::to_f64));
    let origin = at(balloon.triangles[0][0]);
    let share = |ids: &[u32; 3]| {
        let x = ids.map(at);
        corner_gradients(&x, origin).into_iter().zip(x).map(|(grad, x)| (x - origin).dot(grad)).sum::<f64>() / 3.0
    };
    balloon.triangles.iter().map(share).sum()
}

struct Elastic<'a, S> {
    particles: &'a Particles<S>,
    total: f64,
}

impl<S: Real> EnergyVisitor<S> for Elastic<'_, S> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        for (i, ids) in set.ids().iter().enumerate() {
            let compliance = set.compliance()[i].to_f64();
            if compliance > 0.0 {
                let parameters = set.parameters().each_ref().map(|column| column[i]);
                let energy = E::value(&parameters, &ids.map(|p| self.particles.x.get(p as usize).into()));
                self.total += energy.to_f64() / compliance;
            }
        }
    }
}
