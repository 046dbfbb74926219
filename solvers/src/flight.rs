//! Flight: the moving state while a step runs, and the integration that every particle method shares.

use pliant_core::backend::{Backend, Join, Map, Measure, REDUCE_SLOTS};
use pliant_core::columns::Particles;
use pliant_core::error::StepError;
use pliant_core::field::Field;
use pliant_core::lane::{BLOCK, Lane, Octet, Real};
use pliant_core::model::Model;
use pliant_core::solver::check_time_step;
use pliant_core::vec3::Vec3;

use crate::contact::Contacts;
use crate::wind::WindLoad;

/// Positions and speeds beyond this \[m, m/s\] count as diverged: squares stay far from overflow in single precision.
const LIMIT: f64 = 1e9;

/// Scratch fields of a particle method.
#[derive(Clone, Debug)]
pub(crate) struct Flight<S> {
    /// Positions; the weight is the inverse mass.
    pub x: Field<S>,
    /// Positions at the start of the substep.
    pub start: Field<S>,
    /// Velocities.
    pub v: Field<S>,
    /// External forces.
    pub force: Field<S>,
    /// Colliders in motion.
    pub contacts: Contacts<S>,
    wind: WindLoad<S>,
    partials: Vec<Octet<S>>,
    /// By body: what was subtracted from its positions during the step.
    origins: Vec<[S; 3]>,
    /// Whether bodies keep the world's frame, for kernels that know places in it.
    #[cfg(feature = "linear")]
    pub world_frame: bool,
    /// The model this was made for.
    model: u64,
    /// Whether a step has begun and not ended well.
    open: bool,
}

/// The loads of a substep.
#[derive(Clone, Copy)]
struct Loads<S> {
    h: S,
    inv_h: S,
    keep: S,
    gravity: [S; 3],
}

impl<S: Real> Loads<S> {
    fn new(model: &Model<S>, h: S) -> Self {
        let environment = &model.environment;
        // Damping acts on the old velocity only: applied after the loads it would scale them.   [validation: "a trap"]
        let keep = S::ONE / (S::ONE + h * environment.damping);
        Self { h, inv_h: S::ONE / h, keep, gravity: environment.gravity }
    }

    /// v ← v/(1 + h d) + h (g + w f);  x̂ = x + h v; pins stay.
    #[inline(always)]
    fn predict<L: Lane<Scalar = S>>(&self, w: L, x: Vec3<L>, v: Vec3<L>, acceleration: Vec3<L>) -> (Vec3<L>, Vec3<L>) {
        let v = v * L::splat(self.keep) + (acceleration + Vec3::splat(self.gravity)) * L::splat(self.h);
        let free = w.gt(L::zero());
        (Vec3::select(free, x + v * L::splat(self.h), x), Vec3::select(free, v, Vec3::zero()))
    }
}

/// Prediction from stored velocities: fields x, start, v, force.
struct Launch<S>(Loads<S>);

impl<S: Real> Map<4> for Launch<S> {
    type Scalar = S;
    const WRITES: [bool; 4] = [true, true, true, false];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, _, v, f]: [Vec3<L>; 4]) -> [Vec3<L>; 4] {
        let (predicted, v) = self.0.predict(w, x, v, f * w);
        [predicted, x, v, f]
    }
}

impl<S: Real> Map<3> for Launch<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, _, v]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        let (predicted, v) = self.0.predict(w, x, v, Vec3::zero());
        [predicted, x, v]
    }
}

/// The velocity update of one substep and the prediction of the next in one pass over memory: fields x, start.
struct Continue<S>(Loads<S>);

impl<S: Real> Map<2> for Continue<S> {
    type Scalar = S;
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, w: L, [x, start]: [Vec3<L>; 2]) -> [Vec3<L>; 2] {
        let v = (x - start) * L::splat(self.0.inv_h);
        let (predicted, _) = self.0.predict(w, x, v, Vec3::zero());
        [predicted, x]
    }
}

/// v = (x − start)/h: fields x, start, v.
struct Land<S>(S);

impl<S: Real> Map<3> for Land<S> {
    type Scalar = S;
    const WRITES: [bool; 3] = [false, false, true];
    #[inline(always)]
    fn apply<L: Lane<Scalar = S>>(&self, _: L, [x, start, _]: [Vec3<L>; 3]) -> [Vec3<L>; 3] {
        [x, start, (x - start) * L::splat(self.0)]
    }
}

/// The largest component of positions and velocities; NaN once any is not finite.
struct Extent<S>(core::marker::PhantomData<S>);

impl<S: Real> Measure<2> for Extent<S> {
    type Scalar = S;
    #[inline(always)]
    fn value<L: Lane<Scalar = S>>(&self, _: L, [x, v]: [Vec3<L>; 2]) -> L {
        let (mut largest, mut blemish) = (L::zero(), L::zero());
        for c in [x.x, x.y, x.z, v.x, v.y, v.z] {
            largest = largest.max(c.abs());
            blemish = blemish + c.blemish();
        }
        largest + blemish
    }
}

impl<S: Real> Flight<S> {
    /// Scratch for a model.
    pub fn new(model: &Model<S>) -> Self {
        let plan = model.plan();
        let mut x = Field::zeros(plan);
        weigh(&mut x, model);
        Self {
            start: Field::zeros(plan),
            v: Field::zeros(plan),
            force: Field::zeros(plan),
            contacts: Contacts::new(model),
            wind: WindLoad::new(model),
            partials: vec![Octet([S::ZERO; BLOCK]); x.slot_count().div_ceil(REDUCE_SLOTS)],
            origins: vec![[S::ZERO; 3]; model.body_count()],
            #[cfg(feature = "linear")]
            world_frame: false,
            model: model.id(),
            open: false,
            x,
        }
    }

    /// Scratch for a method that sweeps so many times a substep.
    pub fn for_sweeps(model: &Model<S>, sweeps: usize) -> Self {
        let mut flight = Self::new(model);
        flight.contacts.expect_sweeps(model, sweeps);
        flight
    }

    /// Whether this was made for that model.
    pub fn is_for(&self, model: &Model<S>) -> bool {
        self.model == model.id() && self.contacts.fit(model)
    }

    /// Checks the step and copies the state in.
    pub fn begin(&mut self, model: &Model<S>, particles: &Particles<S>, dt: S) -> Result<(), StepError> {
        check_time_step(dt.to_f64())?;
        if !self.is_for(model) {
            return Err(StepError::NotPrepared);
        }
        particles.fit(model.particle_count())?;
        check_environment(model)?;
        // What is wrong with free particles shows in the result; a pin's state is replaced, so look at it here.
        for &pin in model.pins() {
            for (what, columns) in [("position", &particles.x), ("velocity", &particles.v)] {
                if let Some(value) = columns.get(pin as usize).into_iter().find(|c| !c.is_finite()) {
                    return Err(StepError::NotFinite { what, row: pin as usize, value: value.to_f64() });
                }
            }
        }
        if self.open {
            // The last step failed. Corrections that are not finite spoil weights too, where rows are moved whole: a weight that is
            // NaN would pin its particle for good.
            self.x.clear();
            weigh(&mut self.x, model);
        }
        self.open = true;
        self.x.pack(model.plan(), &particles.x);
        self.v.pack(model.plan(), &particles.v);
        #[cfg(feature = "linear")]
        let world_frame = self.world_frame;
        #[cfg(not(feature = "linear"))]
        let world_frame = false;
        for body in (0..self.origins.len()).filter(|_| !world_frame) {
            self.origins[body] = origin(particles, model.body(body));
        }
        self.shift(model, |x, o| x - o);
        self.contacts.begin(model, &self.origins, dt);
        Ok(())
    }

    /// Moves every body that is far from the origin into its own frame, or back.
    ///
    /// Velocities are differences of positions over h, and a float near 1000 m has steps of 0.06 mm: 4 cm/s at 600 substeps
    /// a second. Inside a step every body therefore lives near its own origin, a multiple of [`FRAME`]: subtracting it is
    /// exact, and bodies near the world's origin are not shifted at all.
    fn shift(&mut self, model: &Model<S>, by: impl Fn(S, S) -> S) {
        for (body, &origin) in self.origins.iter().enumerate().filter(|(_, o)| **o != [S::ZERO; 3]) {
            for particle in model.body(body).unwrap_or_default() {
                let slot = model.plan().slots()[particle] as usize;
                let x = self.x.vector(slot);
                self.x.set_vector(slot, [by(x[0], origin[0]), by(x[1], origin[1]), by(x[2], origin[2])]);
            }
        }
    }

    /// A place near a particle, as that particle's body sees it during a step.
    pub fn local(&self, model: &Model<S>, particle: u32, place: [S; 3]) -> [S; 3] {
        let o = self.origins[model.body_of(particle)];
        [place[0] - o[0], place[1] - o[1], place[2] - o[2]]
    }

    fn has_loads(model: &Model<S>) -> bool {
        model.environment.wind.is_some() || model.environment.forces.is_some()
    }

    /// External forces of this moment into `force`.
    pub fn load<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, on: &B) {
        self.force.clear();
        if let Some(forces) = &model.environment.forces {
            self.force.pack(model.plan(), forces);
        }
        if let Some(wind) = model.environment.wind {
            self.wind.apply(wind, model, &self.x, &self.v, &mut self.force, on);
        }
    }

    /// Predicts positions of substep `k` of `n` and moves pins to their place on the way to their targets.
    pub fn predict<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &Particles<S>,
        h: S,
        (k, n): (usize, usize),
        on: &B,
    ) {
        let loads = Loads::new(model, h);
        if k > 0 && (Self::has_loads(model) || self.contacts.bounces()) {
            self.land(model, h, on);
        }
        self.contacts.place(model, (k, n));
        if Self::has_loads(model) {
            self.load(model, on);
            on.map(&Launch(loads), [&mut self.x, &mut self.start, &mut self.v, &mut self.force]);
        } else if k == 0 || self.contacts.bounces() {
            on.map(&Launch(loads), [&mut self.x, &mut self.start, &mut self.v]);
        } else {
            on.map(&Continue(loads), [&mut self.x, &mut self.start]);
        }
        self.move_pins(model, particles, h, (k, n));
    }

    /// Pins travel in a straight line from where they were to their targets.
    pub fn move_pins(&mut self, model: &Model<S>, particles: &Particles<S>, h: S, (k, n): (usize, usize)) {
        let (t, inv_h) = (S::from_f64((k + 1) as f64 / n as f64), S::ONE / h);
        for (i, &pin) in model.pins().iter().enumerate() {
            let slot = model.plan().slots()[pin as usize] as usize;
            let (from, to) = (particles.x.get(pin as usize), model.pin_targets().get(i));
            let at = self.local(model, pin, if k + 1 == n { to } else { lerp(from, to, t) });
            let before = self.x.vector(slot);
            let travelled = [at[0] - before[0], at[1] - before[1], at[2] - before[2]];
            self.x.set_vector(slot, at);
            self.v.set_vector(slot, travelled.map(|d| d * inv_h));
        }
    }

    /// Moves positions off other surfaces and out of the colliders, in sweep number `sweep.0` of the `sweep.1` of a substep.
    pub fn collide<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, sweep: (usize, usize), on: &B) {
        self.contacts.project(model, [&mut self.x, &mut self.start], sweep, on);
    }

    /// v = (x − start)/h, and off the colliders where they bounce.
    pub fn land<B: Backend<Scalar = S>>(&mut self, model: &Model<S>, h: S, on: &B) {
        let Self { x, start, v, force, contacts, .. } = self;
        if contacts.bounces() {
            // Forces were spent on the prediction: their field holds the velocities it gave.
            contacts.keep(v, force, on);
            on.map(&Land(S::ONE / h), [&mut *x, start, &mut *v]);
            contacts.rebound(model, h, [x, v, force], on);
        } else {
            on.map(&Land(S::ONE / h), [x, start, v]);
        }
    }

    /// Checks for divergence and copies the state out; on an error the particles are as they were.
    pub fn end<B: Backend<Scalar = S>>(
        &mut self,
        model: &Model<S>,
        particles: &mut Particles<S>,
        substep: usize,
        on: &B,
    ) -> Result<(), StepError> {
        let extent = on.reduce(&Extent(core::marker::PhantomData), Join::Max, [&self.x, &self.v], &mut self.partials);
        if extent.to_f64() >= LIMIT || extent.to_f64().is_nan() {
            return Err(self.find_diverged(model, particles, substep));
        }
        self.contacts.arrive(model);
        self.shift(model, |x, o| x + o);
        self.x.unpack(model.plan(), &mut particles.x);
        self.v.unpack(model.plan(), &mut particles.v);
        // Frames may round the last bit of a pin that went far: it is where it was sent, by definition.
        for (i, &pin) in model.pins().iter().enumerate() {
            particles.x.set(pin as usize, model.pin_targets().get(i));
        }
        self.open = false;
        Ok(())
    }

    fn find_diverged(&self, model: &Model<S>, particles: &Particles<S>, substep: usize) -> StepError {
        for (what, columns) in [("position", &particles.x), ("velocity", &particles.v)] {
            if let Some(row) = columns.first_non_finite() {
                let value = columns.get(row).into_iter().find(|c| !c.is_finite()).map_or(f64::NAN, S::to_f64);
                return StepError::NotFinite { what, row, value };
            }
        }
        for (particle, &slot) in model.plan().slots().iter().enumerate() {
            for (quantity, field) in [("position", &self.x), ("velocity", &self.v)] {
                let v = field.vector(slot as usize).map(|c| c.to_f64().abs());
                let value = if v.iter().any(|c| c.is_nan()) { f64::NAN } else { v.into_iter().fold(0.0, f64::max) };
                if value >= LIMIT || value.is_nan() {
                    return StepError::Diverged { particle, substep, quantity, value };
                }
            }
        }
        StepError::Diverged { particle: 0, substep, quantity: "position", value: f64::NAN }
    }
}

/// Gives every slot its particle's inverse mass.
fn weigh<S: Real>(x: &mut Field<S>, model: &Model<S>) {
    for (&slot, &w) in model.plan().slots().iter().zip(model.inv_mass()) {
        x.set(slot as usize, 3, w);
    }
}

/// Frames of bodies are multiples of this \[m\].
const FRAME: f64 = 2.0;

/// The multiple of [`FRAME`] nearest to a body's first particle.
fn origin<S: Real>(particles: &Particles<S>, body: Option<core::ops::Range<usize>>) -> [S; 3] {
    let Some(first) = body.filter(|b| !b.is_empty()).map(|b| b.start) else { return [S::ZERO; 3] };
    particles.x.get(first).map(|c| S::from_f64((c.to_f64() / FRAME).round() * FRAME))
}

/// from + (to − from) t.
pub(crate) fn lerp<S: Real>(from: [S; 3], to: [S; 3], t: S) -> [S; 3] {
    [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t, from[2] + (to[2] - from[2]) * t]
}

fn check_environment<S: Real>(model: &Model<S>) -> Result<(), StepError> {
    let environment = &model.environment;
    let finite = |what, row, value: S| {
        if value.is_finite() { Ok(()) } else { Err(StepError::NotFinite { what, row, value: value.to_f64() }) }
    };
    for (axis, &g) in environment.gravity.iter().enumerate() {
        finite("gravity axis", axis, g)?;
    }
    finite("damping", 0, environment.damping)?;
    if environment.damping < S::ZERO {
        let (what, value, expected) = ("damping", environment.damping.to_f64(), "0 or more");
        return Err(StepError::OutOfRange { what, value, expected });
    }
    if let Some(wind) = environment.wind {
        for (i, value) in wind.velocity.into_iter().chain([wind.density, wind.drag, wind.lift]).enumerate() {
            finite("wind value", i, value)?;
        }
    }
    if let Some(forces) = &environment.forces {
        forces.fit("force", model.particle_count())?;
        if let Some(row) = forces.first_non_finite() {
            let value = forces.get(row).into_iter().find(|c| !c.is_finite()).map_or(f64::NAN, S::to_f64);
            return Err(StepError::NotFinite { what: "force", row, value });
        }
    }
    Ok(())
}
