//! XPBD as most engines and tutorials write it: an array of structures, one constraint after the other in the order they
//! were made, one number at a time. It is the baseline of every comparison.
//!
//! Links, the constraints that times are compared on, have a loop written out for them ([`links`]); every other kind goes
//! through its formula in the kit. Nothing here uses more than the public traits.
//!
//! ```
//! use pliant::backends::Scalar;
//! use pliant::core::{body::Body, mesh::ClothGrid, model::Model, solver::Solver};
//! use pliant_harness::textbook::Textbook;
//!
//! let cloth = Body::cloth(&ClothGrid::square(1.0, 8))?.pinned([0, 7]);
//! let (model, mut particles) = Model::<f64>::build(&[&cloth])?;
//! let mut solver = Textbook::new(10, 1);
//! Solver::<Scalar<f64>>::prepare(&mut solver, &model)?;
//! let report = solver.step(&model, &mut particles, 1.0 / 60.0, &Scalar::<f64>::new())?;
//! assert_eq!(report.substeps, 10);
//! assert!(particles.x.y[63] < 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod links;

use pliant::core::backend::Backend;
use pliant::core::columns::{Columns, Particles};
use pliant::core::constraint::{Constraint, Radial};
use pliant::core::constraints::{Balloon, Set, Visitor};
use pliant::core::error::{BuildError, StepError};
use pliant::core::kinds::triangle_volume::corner_gradients;
use pliant::core::kinds::{Attachment, Tether};
use pliant::core::lane::Real;
use pliant::core::model::Model;
use pliant::core::sdf::{Placed, Pose};
use pliant::core::solver::{Solver, StepReport, check_time_step};
use pliant::core::vec3::Vec3;

use links::{Link, Point};

/// Positions and speeds beyond this \[m, m/s\] count as diverged, as in the kit's own solvers.
const LIMIT: f64 = 1e9;

/// Everything about one constraint, side by side in memory.
struct Row<S, const N: usize, const P: usize> {
    ids: [u32; N],
    parameters: [S; P],
    alpha: S,
    beta: S,
    /// α̃ = α/h² and γ̃ = αβ/h of the step at hand.
    scaled: [S; 2],
    lambda: S,
}

/// What the first three parameters of a kind follow while time runs.
#[derive(Clone, Copy, PartialEq)]
enum Follows {
    Nothing,
    Pins,
    Targets,
}

/// The rows of one kind.
struct Rows<S, K, const N: usize, const P: usize> {
    rows: Vec<Row<S, N, P>>,
    follows: Follows,
    kind: core::marker::PhantomData<K>,
}

/// The rows of any kind.
trait Group<S>: Send + Sync {
    /// α̃ and γ̃ for substeps of length `h`.
    fn scale(&mut self, h: S);
    /// λ = 0, and moving parameters to where they are a share `t` of the way through the step.
    fn begin(&mut self, model: &Model<S>, last: &Columns<S>, points: &[Point<S>], t: S);
    /// One pass over the rows.
    fn solve(&mut self, points: &mut [Point<S>]);
}

impl<S: Real, K: Constraint<N, P>, const N: usize, const P: usize> Group<S> for Rows<S, K, N, P> {
    fn scale(&mut self, h: S) {
        for row in &mut self.rows {
            row.scaled = [row.alpha / (h * h), row.alpha * row.beta / h];
        }
    }

    fn begin(&mut self, model: &Model<S>, last: &Columns<S>, points: &[Point<S>], t: S) {
        for (i, row) in self.rows.iter_mut().enumerate() {
            row.lambda = S::ZERO;
            let at = match self.follows {
                Follows::Nothing => continue,
                Follows::Pins => points[model.tether_anchors()[i] as usize].x.into(),
                Follows::Targets => between(last.get(i), model.attachment_targets().get(i), t),
            };
            for (parameter, value) in row.parameters.iter_mut().zip(at) {
                *parameter = value;
            }
        }
    }

    fn solve(&mut self, points: &mut [Point<S>]) {
        for row in &mut self.rows {
            let x = row.ids.map(|i| points[i as usize].x);
            let (c, grad) = K::eval(&row.parameters, &x);
            // Δλ = (−C − α̃ λ − γ̃ ∇C·(x − x_start)) / ((1 + γ̃) Σ w|∇C|² + α̃)   [METHODS 8; Macklin16]
            let [alpha, gamma] = row.scaled;
            let (mut weight, mut motion) = (S::ZERO, S::ZERO);
            for (k, &i) in row.ids.iter().enumerate() {
                weight = weight + points[i as usize].w * grad[k].length_sq();
            }
            if gamma > S::ZERO {
                for (k, &i) in row.ids.iter().enumerate() {
                    motion = motion + grad[k].dot(points[i as usize].x - points[i as usize].start);
                }
            }
            let delta = (weight + gamma * weight + alpha).divide_or_zero(-c - alpha * row.lambda - gamma * motion);
            row.lambda = row.lambda + delta;
            for (k, &i) in row.ids.iter().enumerate() {
                let point = &mut points[i as usize];
                point.x = point.x + grad[k] * (point.w * delta);
            }
        }
    }
}

/// Undamped links, in a loop of their own.
struct Links<S> {
    links: Vec<Link<S>>,
    h: S,
}

impl<S: Real> Group<S> for Links<S> {
    fn scale(&mut self, h: S) {
        self.h = h;
    }
    fn begin(&mut self, _: &Model<S>, _: &Columns<S>, _: &[Point<S>], _: S) {
        links::begin(&mut self.links);
    }
    fn solve(&mut self, points: &mut [Point<S>]) {
        links::project(points, &mut self.links, self.h);
    }
}

/// Copies the sets of a model into rows.
struct Collect<S>(Vec<Box<dyn Group<S>>>);

impl<S: Real> Visitor<S> for Collect<S> {
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
        let rows = (0..set.len())
            .map(|i| Row {
                ids: set.ids()[i],
                parameters: set.parameters().each_ref().map(|column| column[i]),
                alpha: set.compliance()[i],
                beta: set.damping()[i],
                scaled: [S::ZERO; 2],
                lambda: S::ZERO,
            })
            .collect();
        let follows = match K::NAME {
            name if name == Tether::NAME => Follows::Pins,
            name if name == Attachment::NAME => Follows::Targets,
            _ => Follows::Nothing,
        };
        self.0.push(Box::new(Rows::<S, K, N, P> { rows, follows, kind: core::marker::PhantomData }));
    }

    fn visit_pairs<K: Radial>(&mut self, set: &Set<S, K, 2, 1>) {
        if set.damping().iter().any(|&beta| beta > S::ZERO) {
            return self.visit(set);
        }
        let link = |(i, &[a, b]): (usize, &[u32; 2])| {
            let (rest, compliance) = (set.parameters()[0][i], set.compliance()[i]);
            Link { a, b, rest, compliance, lambda: S::ZERO }
        };
        self.0.push(Box::new(Links { links: set.ids().iter().enumerate().map(link).collect(), h: S::ONE }));
    }
}

/// The plain scalar XPBD loop.
pub struct Textbook<S> {
    substeps: usize,
    iterations: usize,
    points: Vec<Point<S>>,
    forces: Vec<Vec3<S>>,
    groups: Vec<Box<dyn Group<S>>>,
    /// The rest shapes that the groups are copies of.
    rest_revision: u64,
    volume_gradient: Vec<Vec3<S>>,
    balloon_lambda: Vec<S>,
    last_targets: Columns<S>,
    last_poses: Vec<Pose>,
    placed: Vec<Placed<S>>,
}

impl<S: Real> Textbook<S> {
    /// A solver with this many substeps a step and passes a substep.
    pub fn new(substeps: usize, iterations: usize) -> Self {
        Self {
            substeps,
            iterations,
            points: Vec::new(),
            forces: Vec::new(),
            groups: Vec::new(),
            rest_revision: 0,
            volume_gradient: Vec::new(),
            balloon_lambda: Vec::new(),
            last_targets: Columns::default(),
            last_poses: Vec::new(),
            placed: Vec::new(),
        }
    }

    /// Copies the constraints of a model, their rest shapes as they are now.
    fn collect(&mut self, model: &Model<S>) {
        let mut collect = Collect(Vec::new());
        model.constraints().visit(&mut collect);
        (self.groups, self.rest_revision) = (collect.0, model.rest_revision());
    }

    fn load(&mut self, model: &Model<S>) {
        match &model.environment.forces {
            Some(forces) => {
                for (i, force) in self.forces.iter_mut().enumerate() {
                    *force = forces.get(i).into();
                }
            }
            None => self.forces.fill(Vec3::zero()),
        }
        let Some(wind) = model.environment.wind else { return };
        for triangle in model.triangles() {
            let corners = triangle.map(|i| self.points[i as usize]);
            let force = wind.triangle_force(&corners.map(|p| p.x), &corners.map(|p| p.v));
            for &i in triangle {
                self.forces[i as usize] = self.forces[i as usize] + force * S::from_f64(1.0 / 3.0);
            }
        }
    }

    /// v ← v/(1 + h d) + h (g + w f);  x̂ = x + h v.
    fn predict(&mut self, model: &Model<S>, h: S) {
        let keep = S::ONE / (S::ONE + h * model.environment.damping);
        let gravity = Vec3::from(model.environment.gravity);
        for (point, &force) in self.points.iter_mut().zip(&self.forces) {
            point.start = point.x;
            if point.w > S::ZERO {
                point.v = point.v * keep + (gravity + force * point.w) * h;
                point.x = point.x + point.v * h;
            }
        }
    }

    /// C = V − V₀: one constraint on every vertex of the surface.
    fn inflate(&mut self, balloon: &Balloon<S>, at: usize, h: S) {
        let origin = self.points[balloon.triangles[0][0] as usize].x;
        self.volume_gradient.fill(Vec3::zero());
        let mut volume = S::ZERO;
        for triangle in &balloon.triangles {
            let x = triangle.map(|i| self.points[i as usize].x);
            let shares = corner_gradients(&x, origin);
            volume = volume + (x[0] - origin).dot(shares[0]);
            for (&i, share) in triangle.iter().zip(shares) {
                self.volume_gradient[i as usize] = self.volume_gradient[i as usize] + share;
            }
        }
        let mut weight = S::ZERO;
        for (point, grad) in self.points.iter().zip(&self.volume_gradient) {
            weight = weight + point.w * grad.length_sq();
        }
        let alpha = balloon.compliance / (h * h);
        let lambda = &mut self.balloon_lambda[at];
        let delta = (weight + alpha).divide_or_zero(balloon.volume - volume - alpha * *lambda);
        *lambda = *lambda + delta;
        for (point, &grad) in self.points.iter_mut().zip(&self.volume_gradient) {
            point.x = point.x + grad * (point.w * delta);
        }
    }

    /// Moves the colliders to substep `k` of `n`.
    fn place(&mut self, model: &Model<S>, (k, n): (usize, usize)) {
        let part = [k, k + 1].map(|k| k as f64 / n as f64);
        let colliders = self.last_poses.iter().zip(model.colliders().described());
        self.placed.clear();
        self.placed.extend(colliders.map(|(&from, to)| Placed::new(from, to.pose, part, [0.0; 3])));
    }

    /// Moves points out of the colliders, with friction; they do not bounce.
    fn collide(&mut self, model: &Model<S>) {
        let points = &mut self.points;
        for body in 0..model.body_count() {
            let (groups, range) = (model.collider_groups(body), model.body(body).unwrap_or_default());
            let points = points[range.clone()].iter_mut().zip(&model.thickness()[range]);
            for (point, &thickness) in points.filter(|(p, _)| p.w > S::ZERO) {
                for (solid, placed) in model.colliders().solids().iter().zip(&self.placed) {
                    if !groups.meet(solid.groups) {
                        continue;
                    }
                    let (end, travel) = placed.enter(point.x, point.start, Vec3::zero());
                    if let Some(contact) = solid.touch(thickness, end, travel) {
                        let (moved, _) = solid.project(thickness, &contact, solid.friction * contact.depth);
                        point.x = point.x + placed.leave(moved);
                    }
                }
            }
        }
    }

    fn check(&self, substep: usize) -> Result<(), StepError> {
        for (particle, point) in self.points.iter().enumerate() {
            for (quantity, vector) in [("position", point.x), ("velocity", point.v)] {
                let components = <[S; 3]>::from(vector).map(|c| c.to_f64().abs());
                if let Some(&value) = components.iter().find(|&&c| c.is_nan() || c >= LIMIT) {
                    return Err(StepError::Diverged { particle, substep, quantity, value });
                }
            }
        }
        Ok(())
    }
}

fn between<S: Real>(from: [S; 3], to: [S; 3], t: S) -> [S; 3] {
    [0, 1, 2].map(|k| from[k] + (to[k] - from[k]) * t)
}

impl<S: Real, B: Backend<Scalar = S>> Solver<B> for Textbook<S> {
    fn name(&self) -> &'static str {
        "textbook"
    }

    fn prepare(&mut self, model: &Model<S>) -> Result<(), BuildError> {
        for (name, count) in [("substeps", self.substeps), ("iterations", self.iterations)] {
            if count == 0 {
                return Err(BuildError::BadOption { name, value: 0.0, expected: "1 or more" });
            }
        }
        if let Some((what, _)) = model.constraints().elastic.first() {
            let reason = "elastic elements are energies, not constraints; use Newton or Projective Dynamics";
            return Err(BuildError::Unsupported { what, row: 0, reason });
        }
        if !model.clusters().is_empty() {
            let reason = "the textbook loop knows no clusters; use PBD, XPBD or shape matching";
            return Err(BuildError::Unsupported { what: "cluster", row: 0, reason });
        }
        let rest = |&w: &S| Point { x: Vec3::zero(), start: Vec3::zero(), v: Vec3::zero(), w };
        self.points = model.inv_mass().iter().map(rest).collect();
        self.forces = vec![Vec3::zero(); self.points.len()];
        self.collect(model);
        self.volume_gradient = vec![Vec3::zero(); self.points.len()];
        self.balloon_lambda = vec![S::ZERO; model.constraints().balloons.len()];
        self.last_targets = model.attachment_targets().clone();
        self.last_poses = model.colliders().settled().to_vec();
        Ok(())
    }

    fn step(&mut self, model: &Model<S>, particles: &mut Particles<S>, dt: S, _: &B) -> Result<StepReport, StepError> {
        check_time_step(dt.to_f64())?;
        let (found, expected) = (particles.len(), model.particle_count());
        if found != expected {
            return Err(StepError::WrongState { found, expected });
        }
        if self.points.len() != expected {
            return Err(StepError::NotPrepared);
        }
        if self.rest_revision != model.rest_revision() {
            self.collect(model);
        }
        for (i, point) in self.points.iter_mut().enumerate() {
            (point.x, point.v) = (particles.x.get(i).into(), particles.v.get(i).into());
        }
        let h = dt / S::from_f64(self.substeps as f64);
        for group in &mut self.groups {
            group.scale(h);
        }
        for substep in 0..self.substeps {
            self.load(model);
            self.predict(model, h);
            self.place(model, (substep, self.substeps));
            let t = S::from_f64((substep + 1) as f64 / self.substeps as f64);
            for (i, &pin) in model.pins().iter().enumerate() {
                let to = between(particles.x.get(pin as usize), model.pin_targets().get(i), t);
                self.points[pin as usize].x = to.into();
            }
            for group in &mut self.groups {
                group.begin(model, &self.last_targets, &self.points, t);
            }
            self.balloon_lambda.fill(S::ZERO);
            for _ in 0..self.iterations {
                for (at, balloon) in model.constraints().balloons.iter().enumerate() {
                    self.inflate(balloon, at, h);
                }
                for group in &mut self.groups {
                    group.solve(&mut self.points);
                }
                self.collide(model);
            }
            for point in &mut self.points {
                point.v = (point.x - point.start) * (S::ONE / h);
            }
        }
        self.check(self.substeps)?;
        for (i, point) in self.points.iter().enumerate() {
            particles.x.set(i, point.x.into());
            particles.v.set(i, point.v.into());
        }
        for i in 0..self.last_targets.len() {
            self.last_targets.set(i, model.attachment_targets().get(i));
        }
        for (last, collider) in self.last_poses.iter_mut().zip(model.colliders().described()) {
            *last = collider.pose;
        }
        let mut report = StepReport::default();
        report.substeps = self.substeps;
        report.iterations = self.substeps * self.iterations;
        report.projections = report.iterations * model.constraints().len();
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant::backends::Scalar;
    use pliant::core::body::{Body, Role};
    use pliant::core::mesh::Rope;
    use pliant::core::plasticity::Plasticity;

    #[test]
    fn rest_shapes_that_flowed_are_seen() {
        let law = Plasticity { yields_at: 0.0, creep: 10.0, bound: 1.0 };
        let rope = Rope::new(4, [0.0; 3], [1.0, 0.0, 0.0]).expect("a rope");
        let rope = Body::rope(&rope, false).expect("a rope").pinned([0]).with_plasticity(Role::Stretch, law);
        let rope = rope.posed(|[x, y, z]| [1.5 * x, y, z]);
        let (mut model, particles) = Model::<f64>::build(&[&rope]).expect("sound");
        let on = Scalar::<f64>::new();
        let mut solver = Textbook::new(10, 1);
        Solver::<Scalar<f64>>::prepare(&mut solver, &model).expect("prepared");
        assert!(model.flow(&particles, 0.1));
        // One that is prepared just now has copied every rest shape.
        let mut fresh = Textbook::new(10, 1);
        Solver::<Scalar<f64>>::prepare(&mut fresh, &model).expect("prepared");
        let [seen, wanted] = [&mut solver, &mut fresh].map(|solver| {
            let mut after = particles.clone();
            solver.step(&model, &mut after, 1.0 / 60.0, &on).expect("a step");
            after.state_hash()
        });
        assert_eq!(seen, wanted);
    }
}
