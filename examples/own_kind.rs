//! A constraint kind and a solver of one's own, in a `World`: a rope whose first bead slides along a hoop of wire.
//!
//! The kind is a formula on lanes, as those of the kit are. The solver lets any method take the step and then puts beads back on
//! their wire; colliders, snapshots and everything else of the world stay as they are. `cargo run --release --example own_kind`

use pliant::core::account::ContactAccount;
use pliant::core::constraint::Constraint;
use pliant::core::dent::Dent;
use pliant::core::lane::Lane;
use pliant::core::snapshot::{Fingerprint, Reader, Writer};
use pliant::core::vec3::Vec3;
use pliant::prelude::*;

/// A particle on a hoop about the z axis, C = √((ρ − R)² + z²) with ρ = √(x² + y²); the parameter is the radius R \[m\].
#[derive(Clone, Copy)]
struct Hoop;

impl Constraint<1, 1> for Hoop {
    const NAME: &'static str = "hoop";

    #[inline(always)]
    fn eval<L: Lane>(&[radius]: &[L; 1], &[p]: &[Vec3<L>; 1]) -> (L, [Vec3<L>; 1]) {
        let flat = Vec3::new(p.x, p.y, L::zero());
        let rho = flat.length();
        // From the nearest point of the wire to the particle; at the axis every point is as near, and none is chosen.
        let away = p - flat * rho.divide_or_zero(radius);
        let c = away.length();
        (c, [away * c.divide_or_zero(L::one())])
    }
}

/// Any method, followed by a projection of beads onto their hoops.
struct Threaded {
    inner: Box<dyn Solver<Best>>,
    /// Particles of the model and the radii of their hoops.
    beads: Vec<(usize, f32)>,
}

impl Solver<Best> for Threaded {
    fn name(&self) -> &'static str {
        "threaded"
    }
    // What decides how a run goes on: snapshots of other beads, or of another method inside, are refused.
    fn identify(&self, hash: &mut Fingerprint) {
        hash.add_name("threaded");
        hash.add_shown(&self.beads);
        self.inner.identify(hash);
    }

    fn prepare(&mut self, model: &Model<f32>) -> Result<(), BuildError> {
        let count = model.particle_count();
        if let Some((row, &(particle, _))) = self.beads.iter().enumerate().find(|(_, bead)| bead.0 >= count) {
            let particle = particle as u32;
            return Err(BuildError::OutOfRange { what: Hoop::NAME, row, corner: 0, particle, count });
        }
        self.inner.prepare(model)
    }

    fn step(
        &mut self,
        model: &Model<f32>,
        particles: &mut Particles<f32>,
        dt: f32,
        on: &Best,
    ) -> Result<StepReport, StepError> {
        let report = self.inner.step(model, particles, dt, on)?;
        for &(bead, radius) in &self.beads {
            // One particle: Δx = −C ∇C whatever its mass, since |∇C| = 1; the velocity follows.
            let x = Vec3::from(particles.x.get(bead));
            let (c, [gradient]) = Hoop::eval(&[radius], &[x]);
            let moved = gradient * -c;
            particles.x.set(bead, (x + moved).into());
            particles.v.set(bead, (Vec3::from(particles.v.get(bead)) + moved * (1.0 / dt)).into());
        }
        Ok(report)
    }

    // What the method inside knows is passed on.
    fn forces(&self, model: &Model<f32>) -> Vec<(&'static str, Vec<f32>)> {
        self.inner.forces(model)
    }
    fn account(&mut self) -> Option<&mut ContactAccount<f32>> {
        self.inner.account()
    }
    fn remember(&self, to: &mut Writer) {
        self.inner.remember(to);
    }
    fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.inner.recall(from)
    }
    fn dents(&self, model: &Model<f32>) -> Vec<Dent<f32>> {
        self.inner.dents(model)
    }
    fn put_dents(&mut self, model: &Model<f32>, dents: &[Option<Dent<f32>>]) {
        self.inner.put_dents(model, dents);
    }
}

fn main() -> Result<(), Error> {
    // The rope starts at the side of the hoop and swings down along it.
    let rope = Body::rope(&Rope::new(20, [1.0, 0.0, 0.0], [1.0, -0.5, 0.0])?, false)?.with_mass(0.1);
    for name in ["pbd", "xpbd-colored"] {
        let inner = Method::by_name(name)?.into_solver();
        let mut world = World::with_method(Method::own(Threaded { inner, beads: vec![(0, 1.0)] }), Best::new());
        let rope = world.add(rope.clone())?;
        let (mut lowest, mut off) = ([1.0_f32, 0.0], 0.0_f32);
        for _ in 0..120 {
            world.step(1.0 / 60.0)?;
            let [x, y, z] = world.positions(rope)?.get(0);
            off = off.max(((x.hypot(y) - 1.0).hypot(z)).abs());
            if y < lowest[1] {
                lowest = [x, y];
            }
        }
        println!(
            "{name}: the bead slid down to [{:.2}, {:.2}], at most {off:.0e} m off its wire",
            lowest[0], lowest[1]
        );
        assert!(off < 1e-5 && lowest[1] < -0.9, "it follows the wire to the bottom");
    }
    Ok(())
}
