//! Coulomb's law on slopes: what sticks does not creep and what slides is not held, for any number of sweeps and any length of step.

use pliant::core::body::Body;
use pliant::core::collide::SelfContact;
use pliant::core::columns::{Columns, Particles};
use pliant::core::mesh::{ClothGrid, Split, tet_box};
use pliant::core::model::Model;
use pliant::core::sdf::{Collider, Pose, Rotation};
use pliant::{Guard, IntersectionFree, Newton, NewtonOptions, Pbd, PbdOptions, SurfaceBarrier, XpbdOn, XpbdOptions};
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;
use crate::stage::soft;

const G: f64 = 9.81;

type Method = Boxed<f64>;

/// Something that lies on a slope of so many degrees: the last particles of a model.
struct Slope {
    model: Model<f64>,
    particles: Particles<f64>,
    load: core::ops::Range<usize>,
    angle: f64,
}

impl Slope {
    fn tilt(degrees: f64) -> (f64, Pose) {
        let angle = degrees.to_radians();
        (angle, Pose::IDENTITY.turned(Rotation::about([0.0, 0.0, 1.0], -angle)))
    }

    /// A stiff block on a plane.
    fn block(degrees: f64, friction: f64) -> Self {
        let (angle, pose) = Self::tilt(degrees);
        let grid = tet_box([3, 2, 3], [0.4, 0.2, 0.4], Split::default()).expect("a box");
        let block = Body::solid(&grid).expect("a solid").with_mass(48.0);
        let low = block.positions().iter().map(|p| p[1]).fold(f64::INFINITY, f64::min);
        let (mut model, particles) =
            Model::build(&[&block.posed(|[x, y, z]| pose.place([x, y - low, z]))]).expect("a body");
        let plane = Collider::plane([angle.sin(), angle.cos(), 0.0]).with_friction(friction);
        model.colliders_mut().push(plane).expect("a plane");
        Self { load: 0..particles.len(), model, particles, angle }
    }

    /// A patch of cloth on a pinned sheet, with half its own length of way to slide downhill.
    fn patch(degrees: f64, friction: f64) -> Self {
        let (angle, pose) = Self::tilt(degrees);
        let contact = SelfContact { thickness: 0.02, friction, ..SelfContact::default() };
        let sheet = |grid: ClothGrid, mass: f64| {
            let body = soft(Body::cloth(&grid).expect("a grid").with_mass(mass), 1e-4);
            body.with_compliance(pliant::core::body::Role::Bend, 1e-2).with_self_contact(contact)
        };
        let under = sheet(ClothGrid::new(13, 9, 1.2, 0.8), 1.0).posed(|p| pose.place(p));
        let pins = under.particle_count();
        let under = under.pinned(0..pins as u32);
        let patch = sheet(ClothGrid::square(0.4, 6), 3.6).posed(|[x, _, z]| pose.place([x + 0.313, 0.02, z + 0.207]));
        let (model, particles) = Model::build(&[&under, &patch]).expect("bodies");
        Self { load: pins..particles.len(), model, particles, angle }
    }

    /// The mean of a column over the load, downhill.
    fn along(&self, of: &Columns<f64>) -> f64 {
        let (sin, cos) = self.angle.sin_cos();
        let along = |i: usize| of.get(i)[0] * cos - of.get(i)[1] * sin;
        self.load.clone().map(along).sum::<f64>() / self.load.len() as f64
    }

    /// Goes on for a time \[s\]; returns how far downhill \[m\].
    fn run(&mut self, solver: &mut Method, dt: f64, time: f64) -> f64 {
        let (from, on) = (self.along(&self.particles.x), simd());
        for _ in 0..(time / dt).round() as usize {
            solver.step(&self.model, &mut self.particles, dt, &on).expect("a step");
        }
        self.along(&self.particles.x) - from
    }

    /// Whether it gains speed as Coulomb says, in the second half of a time that begins at rest \[s\].
    fn slides(mut self, solver: &mut Method, friction: f64, dt: f64, time: f64) {
        solver.prepare(&self.model).expect("valid options");
        self.run(solver, dt, 0.5 * time);
        let before = self.along(&self.particles.v);
        self.run(solver, dt, 0.5 * time);
        let found = (self.along(&self.particles.v) - before) / (0.5 * time);
        let expected = G * (self.angle.sin() - friction * self.angle.cos());
        assert!((found - expected).abs() < 0.03 * expected, "{found} m/s², expected {expected}, at {dt} s a step");
    }
}

/// Methods that sweep one to twenty times a substep.
fn sweepers() -> Vec<(String, Method)> {
    let mut all: Vec<(String, Method)> = Vec::new();
    for iterations in [1, 5, 10, 20] {
        let options = PbdOptions { substeps: 1, iterations, ..PbdOptions::default() };
        all.push((format!("PBD, {iterations} sweeps"), f64::pbd(Pbd::new(options))));
        let xpbd = XpbdOn::new(XpbdOptions { substeps: 1, iterations });
        all.push((format!("XPBD, {iterations} sweeps"), f64::xpbd(xpbd)));
    }
    all
}

#[test]
fn blocks_below_the_friction_angle_do_not_creep_however_many_sweeps() {
    // Sticks below 26.6°.
    for (name, mut solver) in sweepers() {
        let mut slope = Slope::block(22.0, 0.5);
        solver.prepare(&slope.model).expect("valid options");
        slope.run(&mut solver, 1.0 / 60.0, 4.0);
        let creep = slope.run(&mut solver, 1.0 / 60.0, 1.0);
        assert!(creep.abs() < 1e-6, "{name}: {creep:.1e} m in a second");
        Slope::block(35.0, 0.5).slides(&mut solver, 0.5, 1.0 / 60.0, 1.0);
    }
}

#[test]
fn layers_below_the_friction_angle_do_not_creep_however_many_sweeps() {
    // Sticks below 16.7°. Where one sweep is all, cloth this heavy hangs through: that is not about friction.
    for (name, mut solver) in sweepers().into_iter().filter(|(name, _)| !name.contains(" 1 ")) {
        let mut slope = Slope::patch(14.0, 0.3);
        solver.prepare(&slope.model).expect("valid options");
        slope.run(&mut solver, 1.0 / 60.0, 3.0);
        let creep = slope.run(&mut solver, 1.0 / 60.0, 2.0) / 2.0;
        assert!(creep.abs() < 2e-4, "{name}: {creep:.1e} m/s");
    }
}

/// The interior point once took a way shorter than a hundredth of the thickness for none at all, and stopped what slid.
#[test]
fn layers_behind_a_guard_slide_however_short_steps_are() {
    let xpbd = f64::xpbd(XpbdOn::with_substeps(10));
    let mut solver = f64::guarded(IntersectionFree::new(xpbd, Guard::default()));
    for (degrees, friction, rate) in [(20.0, 0.3, 60.0), (45.0, 0.3, 240.0), (60.0, 0.0, 480.0)] {
        Slope::patch(degrees, friction).slides(&mut solver, friction, 1.0 / rate, 0.2);
        let mut below = Slope::patch(10.0, 0.3);
        solver.prepare(&below.model).expect("valid options");
        let crept = below.run(&mut solver, 1.0 / rate, 0.2);
        assert!(crept.abs() < 1e-4, "{crept:.1e} m at {rate} Hz");
    }
}

#[test]
fn layers_under_a_barrier_do_not_creep_however_short_substeps_are() {
    // Sixteen times as many substeps a second: a quarter of one has 240 of them.
    for (rate, substeps, time) in [(60.0, 1, 0.5), (240.0, 4, 0.25)] {
        let options = NewtonOptions { substeps, ..NewtonOptions::default() };
        let mut solver = f64::newton(Newton::new(options).with_barrier(SurfaceBarrier::default()));
        let mut slope = Slope::patch(14.0, 0.3);
        solver.prepare(&slope.model).expect("valid options");
        slope.run(&mut solver, 1.0 / rate, time);
        let creep = slope.run(&mut solver, 1.0 / rate, time) / time;
        assert!(creep.abs() < 1e-3, "{creep:.1e} m/s at {rate} Hz with {substeps} substeps");
        Slope::patch(45.0, 0.3).slides(&mut solver, 0.3, 1.0 / rate, 0.2);
    }
}
