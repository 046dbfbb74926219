//! The interior point: nearest to the targets without touching.
//!
//! ```text
//!   minimise  E(x) = ½ Σ mᵢ |xᵢ − x₁ᵢ|² + B(x) + D(x)       from the state before the step     [METHODS 10; C 51–53]
//!   H = M + ∇²B + ∇²D (the convex parts): barrier and friction are those of `term`
//!   H p = −∇E by conjugate gradients;   x ← x + α p,  α limited by first contacts, then halved until E decreases
//! ```
//! It may stop before the minimum, at a state as safe as any on the way. Bodies that meet nobody go where they like meanwhile, and
//! where nothing goes down from the start, vertices go on by themselves, as `truncate` lets them. Later on they do not: that would use
//! up the gaps between layers that slide, and they would stick.

use pliant_core::backend::Backend;
use pliant_core::collide::CollideError;
use pliant_core::columns::Columns;
use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::model::Model;
use pliant_core::vec3::Vec3;

use super::path::Path;
use super::term::{LAGS, Term, vector};
use super::truncate;
use crate::gauss_seidel::check_count;

/// Settings of the barrier between surfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct InteriorPoint {
    /// The barrier acts within this share of the thickness, at most 1; 1 by default \[1\].
    pub reach: f64,
    /// κ over the mean mass of a vertex; 1 by default \[1\].
    pub stiffness: f64,
    /// Most iterations a step; 20 by default.
    pub iterations: usize,
    /// Iterations end after one that moves no vertex by more than this share of the reach (or than coordinates are rounded by), or
    /// before one that would move none by more than this share of its own way; 0.001 by default \[1\].
    pub tolerance: f64,
}

impl Default for InteriorPoint {
    fn default() -> Self {
        Self { reach: 1.0, stiffness: 1.0, iterations: 20, tolerance: 0.001 }
    }
}

impl InteriorPoint {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        check_reach(self.reach)?;
        for (name, value) in [("stiffness", self.stiffness), ("tolerance", self.tolerance)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(BuildError::BadOption { name, value, expected: "a finite number above 0" });
            }
        }
        check_count("iterations", self.iterations)
    }
}

/// A barrier that reached beyond the thickness would push neighbours that are nearer than that at rest.
pub(crate) fn check_reach(reach: f64) -> Result<(), BuildError> {
    if reach > 0.0 && reach <= 1.0 {
        return Ok(());
    }
    let expected = "above 0 and at most 1, a share of the thickness (give surfaces a larger thickness instead)";
    Err(BuildError::BadOption { name: "reach", value: reach, expected })
}

/// How much heavier than the mean a pin counts: it gives way only where a surface would be pierced.
const PIN: f64 = 1e3;
/// Conjugate gradients end at this part of the first residual, or after so many rounds.
const ENOUGH: f64 = 1e-2;
const ROUNDS: usize = 60;
/// Moves shorter than the tolerance before another one has nothing to gain.
const SHORT: usize = 1;
/// Halvings before an iteration gives up.
const HALVINGS: usize = 6;
/// Distances are rounded by less than so many spacings of the largest coordinate: half of one along each axis at either end.
const SPACINGS: f64 = 4.0;

/// Scratch: three numbers a vertex.
#[derive(Clone, Debug)]
pub(super) struct Interior {
    mass: Vec<f64>,
    mean_mass: f64,
    term: Term,
    gradient: Vec<Vec3<f64>>,
    direction: Vec<Vec3<f64>>,
    residual: Vec<Vec3<f64>>,
    search: Vec<Vec3<f64>>,
    image: Vec<Vec3<f64>>,
    /// The inverse of H's diagonal, a number a vertex.
    precondition: Vec<f64>,
    /// Which surfaces meet somebody, themselves included.
    meets: Vec<bool>,
}

impl Interior {
    pub fn new<S: Real>(model: &Model<S>) -> Self {
        let particles = &model.surfaces().particles;
        let inverse = |&p: &u32| model.inv_mass()[p as usize].to_f64();
        let free: Vec<f64> = particles.iter().map(inverse).filter(|w| *w > 0.0).map(|w| 1.0 / w).collect();
        let mean_mass = if free.is_empty() { 1.0 } else { free.iter().sum::<f64>() / free.len() as f64 };
        let of = |w: f64| if w > 0.0 { 1.0 / w } else { PIN * mean_mass };
        let mass: Vec<f64> = particles.iter().map(inverse).map(of).collect();
        let zeros = || vec![Vec3::zero(); mass.len()];
        Self {
            mean_mass,
            term: Term::default(),
            gradient: zeros(),
            direction: zeros(),
            residual: zeros(),
            search: zeros(),
            image: zeros(),
            precondition: vec![0.0; mass.len()],
            meets: vec![false; model.surfaces().settings.len()],
            mass,
        }
    }

    /// Moves `path.now` towards the minimum in a step of `dt`; returns the iterations made and whether they converged.
    pub fn run<S: Real, B: Backend<Scalar = S>>(
        &mut self,
        options: &InteriorPoint,
        model: &Model<S>,
        path: &mut Path<S>,
        dt: f64,
        on: &B,
    ) -> Result<(usize, bool), CollideError> {
        let kappa = options.stiffness * self.mean_mass;
        let reach = options.reach * model.surfaces().reach.to_f64();
        let limit = S::from_f64(reach);
        self.term.release();
        // Most steps need nothing: the whole way is free, and nothing is near at its end.
        let Path { next, target, .. } = path;
        next.copy_from(0..target.len(), target, 0);
        let free = path.free(limit, on)? >= 1.0;
        self.near(options, model, path, limit, on);
        if free && self.energy(&path.next, path, kappa) == 0.0 {
            path.accept();
            return Ok((0, true));
        }
        let Path { start, now, .. } = path;
        start.copy_from(0..now.len(), now, 0);
        let finest = SPACINGS * S::EPSILON.to_f64() * path.farthest();
        let tolerance = finest.max(options.tolerance * reach);
        self.let_go(model, path, (limit, finest), on)?;
        self.stay(options, model, path, limit, on)?;
        // Friction resists leaving where the step began, as hard as layers were pressed together there.
        let rubs = self.term.lag(path.near.near(), &path.now, &path.start, kappa, dt);
        let mut lags = 1;
        // Moves in a row that were shorter than the tolerance, and how long the last one was, but for contact in its way. They are made
        // too, for one may be all of a way, and velocities follow from it.
        let (mut short, mut made) = (0, f64::INFINITY);
        // Whether nothing has moved yet.
        let mut still = true;
        let mut value = self.energy(&path.now, path, kappa);
        for iteration in 0..options.iterations {
            self.differentiate(path, kappa, iteration == 0);
            let longest = self.solve();
            short = if longest.min(made) < tolerance { short + 1 } else { 0 };
            if short > SHORT || short > 0 && self.settled(path, options.tolerance) {
                // And now as hard as they really are, if that leaves iterations to get there.
                let last = lags == LAGS || 2 * iteration >= options.iterations;
                if last || !self.term.lag(path.near.near(), &path.now, &path.start, kappa, dt) {
                    return Ok((iteration, true));
                }
                (lags, short, made) = (lags + 1, 0, f64::INFINITY);
                value = self.energy(&path.now, path, kappa);
                continue;
            }
            let (mut share, mut halved) = (1.0, 1.0);
            let mut moved = false;
            for _ in 0..HALVINGS {
                for vertex in 0..self.mass.len() {
                    let (x, p) = (path.now.get(vertex), self.direction[vertex]);
                    path.next.set(
                        vertex,
                        [
                            S::from_f64(x[0].to_f64() + share * p.x),
                            S::from_f64(x[1].to_f64() + share * p.y),
                            S::from_f64(x[2].to_f64() + share * p.z),
                        ],
                    );
                }
                let left = path.retreat(limit, on)?;
                if left == 0.0 {
                    break;
                }
                share *= left;
                self.near(options, model, path, limit, on);
                let now = self.energy(&path.next, path, kappa);
                if now < value {
                    value = now;
                    moved = true;
                    break;
                }
                share *= 0.5;
                halved *= 0.5;
            }
            // At a kink of E, as where edges are parallel, p stays long, but only a short part of it leads down: a minimum all the same.
            made = halved * longest;
            if moved {
                path.accept();
                still = false;
            } else if rubs && iteration == 0 {
                // What was taken for loose sticks: once more, as stiff as it is.
                made = f64::INFINITY;
                self.stay(options, model, path, limit, on)?;
            } else if longest.min(made) < tolerance {
                short = short.max(1);
                self.stay(options, model, path, limit, on)?;
            } else {
                if still {
                    truncate::run(1, path, on)?;
                }
                return Ok((iteration + 1, false));
            }
        }
        Ok((options.iterations, false))
    }

    /// Looks for pairs that are near where everybody is.
    fn stay<S: Real, B: Backend<Scalar = S>>(
        &mut self,
        options: &InteriorPoint,
        model: &Model<S>,
        path: &mut Path<S>,
        limit: S,
        on: &B,
    ) -> Result<(), CollideError> {
        let Path { next, now, .. } = path;
        next.copy_from(0..now.len(), now, 0);
        path.free(limit, on)?;
        self.near(options, model, path, limit, on);
        Ok(())
    }

    /// Lets surfaces go to their targets that meet nobody on the way that was just looked at: what is in the way of others does not
    /// hold them up. Pairs that are near meet where the barrier acts between them at the end of that way, by more than rounding: those
    /// of one surface are often as near as that at rest.
    fn let_go<S: Real, B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        path: &mut Path<S>,
        (limit, finest): (S, f64),
        on: &B,
    ) -> Result<(), CollideError> {
        let owner = &model.surfaces().owner;
        self.meets.fill(false);
        let contacts = path.search.contacts().iter().map(|contact| &contact.candidate);
        for candidate in contacts.chain(self.term.pressed(path.near.near(), &path.next, finest)) {
            candidate.corners.iter().for_each(|&corner| self.meets[owner[corner as usize] as usize] = true);
        }
        if self.meets.iter().all(|meets| *meets) {
            return Ok(());
        }
        for (vertex, &owner) in owner.iter().enumerate() {
            let to = if self.meets[owner as usize] { path.now.get(vertex) } else { path.target.get(vertex) };
            path.next.set(vertex, to);
        }
        if path.free(limit, on)? >= 1.0 {
            path.accept();
        }
        Ok(())
    }

    /// Whether no vertex would go farther than a share of its way from where it was at first to its target.
    fn settled<S: Real>(&self, path: &Path<S>, share: f64) -> bool {
        let ways = path.start.iter().zip(path.target.iter()).map(|(a, b)| (vector(b) - vector(a)).length_sq());
        self.direction.iter().zip(ways).all(|(p, way)| p.length_sq() <= share * share * way)
    }

    /// Pairs that may be within reach at the end of the way that was just looked at.
    fn near<S: Real, B: Backend<Scalar = S>>(
        &mut self,
        options: &InteriorPoint,
        model: &Model<S>,
        path: &mut Path<S>,
        limit: S,
        on: &B,
    ) {
        path.find_near(limit, on);
        self.term.take(model, path.near.near(), options.reach);
    }

    /// E at `x`, with the pairs found near.
    fn energy<S: Real>(&self, x: &Columns<S>, path: &Path<S>, kappa: f64) -> f64 {
        let mut sum = 0.0;
        for (vertex, (x, goal)) in x.iter().zip(path.target.iter()).enumerate() {
            let d = vector(x) - vector(goal);
            sum += 0.5 * self.mass[vertex] * d.length_sq();
        }
        sum + self.term.value(path.near.near(), x, kappa)
    }

    /// ∇E, the convex Hessian's rows and its diagonal at `path.now`. What sticks is stiff, and what is going to slide would take many
    /// iterations to get loose: at `first` friction is as stiff as it would be at the targets.
    fn differentiate<S: Real>(&mut self, path: &Path<S>, kappa: f64, first: bool) {
        for (vertex, (x, goal)) in path.now.iter().zip(path.target.iter()).enumerate() {
            self.gradient[vertex] = (vector(x) - vector(goal)) * self.mass[vertex];
            self.precondition[vertex] = self.mass[vertex];
        }
        self.term.differentiate(path.near.near(), &path.now, kappa);
        self.term.add_gradient(&mut self.gradient);
        if first {
            self.term.loosen(&path.target);
        }
        self.term.add_diagonal(&mut self.precondition);
        for diagonal in &mut self.precondition {
            *diagonal = 1.0 / *diagonal;
        }
    }

    /// H p = −∇E for `direction`; returns its largest length \[m\].
    fn solve(&mut self) -> f64 {
        let count = self.mass.len();
        for vertex in 0..count {
            self.direction[vertex] = Vec3::zero();
            self.residual[vertex] = -self.gradient[vertex];
            self.search[vertex] = self.residual[vertex] * self.precondition[vertex];
        }
        let mut rho = self.preconditioned();
        let enough = ENOUGH * ENOUGH * rho;
        for _ in 0..ROUNDS {
            if rho <= enough || rho.is_nan() {
                break;
            }
            for vertex in 0..count {
                self.image[vertex] = self.search[vertex] * self.mass[vertex];
            }
            self.term.multiply(&self.search, &mut self.image);
            let bend: f64 = self.search.iter().zip(&self.image).map(|(p, q)| p.dot(*q)).sum();
            let step = rho / bend;
            for vertex in 0..count {
                self.direction[vertex] = self.direction[vertex] + self.search[vertex] * step;
                self.residual[vertex] = self.residual[vertex] - self.image[vertex] * step;
            }
            let next = self.preconditioned();
            let turn = next / rho;
            rho = next;
            for vertex in 0..count {
                self.search[vertex] = self.residual[vertex] * self.precondition[vertex] + self.search[vertex] * turn;
            }
        }
        self.direction.iter().fold(0.0_f64, |most, p| most.max(p.length_sq())).sqrt()
    }

    fn preconditioned(&self) -> f64 {
        self.residual.iter().zip(&self.precondition).map(|(r, p)| r.length_sq() * p).sum()
    }
}
