//! Named scenes: small things to simulate, shared by tests, benches and the harness.
//!
//! A [`Scene`] is a list of bodies plus what acts on them; [`Scene::stage`] builds it in a precision and layout, and a
//! [`Stage`] moves its pins and targets while it runs. Everything is plain arithmetic: the same bits on every machine.
#![allow(dead_code, reason = "each test crate uses a part of this module")]

use pliant::core::backend::Backend;
use pliant::core::body::{Bending, Body, Role};
use pliant::core::columns::{Columns, Particles};
use pliant::core::kinds::DistanceRange;
use pliant::core::lane::Real;
use pliant::core::mesh::{ClothGrid, Rope, Split, icosphere, shuffled_sheet, tet_box, tube};
use pliant::core::model::Model;
use pliant::core::schedule::LayoutChoice;
use pliant::core::solver::Solver;
use pliant::core::wind::Wind;
use pliant::solvers::{Iteration, Pbd, PbdOptions, Symplectic, XpbdOn, XpbdOptions};
use pliant_harness::instances::{Boxed, Instances};

/// Bodies and what acts on them besides gravity.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Name in messages.
    pub name: &'static str,
    /// What moves.
    pub bodies: Vec<Body>,
    /// Velocity of the air \[m/s\].
    pub wind: Option<[f64; 3]>,
    /// Whether every particle also feels a force of its own.
    pub pushed: bool,
    /// Whether pins and attachment targets move.
    pub sways: bool,
    /// Whether explicit forces can carry it: every constraint compliant.
    pub explicit: bool,
}

impl Scene {
    fn new(name: &'static str, bodies: Vec<Body>) -> Self {
        Self { name, bodies, wind: None, pushed: false, sways: false, explicit: true }
    }
    fn windy(mut self, velocity: [f64; 3]) -> Self {
        self.wind = Some(velocity);
        self
    }
    fn swaying(mut self) -> Self {
        self.sways = true;
        self
    }
    fn rigid(mut self) -> Self {
        self.explicit = false;
        self
    }

    /// Builds the scene.
    pub fn stage<S: Real>(&self, layout: LayoutChoice) -> Stage<S> {
        let bodies: Vec<&Body> = self.bodies.iter().collect();
        let (mut model, particles) = Model::<S>::build_with(&bodies, layout)
            .unwrap_or_else(|error| panic!("the scene `{}` does not build: {error}", self.name));
        model.environment.wind = self.wind.map(|velocity| Wind {
            velocity: velocity.map(S::from_f64),
            density: S::from_f64(1.2),
            drag: S::from_f64(1.1),
            lift: S::from_f64(0.4),
        });
        if self.pushed {
            let push = |i: usize| [(i % 5) as f64 - 2.0, (i % 3) as f64, (i % 7) as f64 - 3.0].map(|c| c * 2e-4);
            let forces: Columns<S> = (0..particles.len()).map(|i| push(i).map(S::from_f64)).collect();
            model.environment.forces = Some(forces);
        }
        let pins = model.pins().iter().copied().zip(model.pin_targets().iter()).collect();
        let targets = model.attachment_targets().iter().collect();
        Stage { name: self.name, model, particles, pins, targets, sways: self.sways, step: 0 }
    }
}

/// A scene that runs: model, state, and where its pins and targets began.
#[derive(Clone, Debug)]
pub struct Stage<S> {
    /// Name in messages.
    pub name: &'static str,
    /// Masses, constraints, environment.
    pub model: Model<S>,
    /// Positions and velocities.
    pub particles: Particles<S>,
    pins: Vec<(u32, [S; 3])>,
    targets: Vec<[S; 3]>,
    sways: bool,
    step: usize,
}

impl<S: Real> Stage<S> {
    /// Moves pins and targets to where they are at the end of the next step: a zigzag of 12 cm, 20 steps each way.
    pub fn sway(&mut self) {
        self.step += 1;
        let phase = self.step % 40;
        let reach = S::from_f64(0.006 * phase.min(40 - phase) as f64);
        let by = |[x, y, z]: [S; 3]| [x + reach, y + reach * S::from_f64(0.5), z - reach];
        if self.sways {
            for &(pin, home) in &self.pins {
                self.model.move_pin(pin, by(home)).expect("it is a pin and its target is finite");
            }
            for (row, &home) in self.targets.iter().enumerate() {
                self.model.move_attachment(row, by(home)).expect("it is an attachment and its target is finite");
            }
        }
    }

    /// One step, pins and targets included.
    pub fn advance<B: Backend<Scalar = S>>(&mut self, solver: &mut dyn Solver<B>, dt: S, on: &B) {
        self.sway();
        let taken = solver.step(&self.model, &mut self.particles, dt, on);
        assert!(taken.is_ok(), "{}, {}, step {}: {:?}", self.name, solver.name(), self.step, taken);
    }

    /// The farthest any particle has moved from these positions \[m\].
    pub fn travel(&self, from: &Columns<S>) -> f64 {
        let apart = |a: [S; 3], b: [S; 3]| (0..3).map(|k| (a[k] - b[k]).to_f64().powi(2)).sum::<f64>().sqrt();
        self.particles.x.iter().zip(from.iter()).map(|(a, b)| apart(a, b)).fold(0.0, f64::max)
    }
}

/// A solver and its settings, to be made for any backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// XPBD by Gauss–Seidel.
    Xpbd { substeps: usize, iterations: usize },
    /// PBD by Gauss–Seidel.
    Pbd { substeps: usize, iterations: usize, stiffness: f64 },
    /// PBD by Jacobi passes.
    Jacobi { substeps: usize, iterations: usize },
    /// Symplectic Euler.
    Symplectic { substeps: usize },
}

impl Method {
    /// Makes the solver, not yet prepared.
    pub fn solver<S: Instances>(self) -> Boxed<S> {
        match self {
            Self::Xpbd { substeps, iterations } => S::xpbd(XpbdOn::new(XpbdOptions { substeps, iterations })),
            Self::Pbd { substeps, iterations, stiffness } => {
                let iteration = Iteration::GaussSeidel;
                S::pbd(Pbd::new(PbdOptions { substeps, iterations, stiffness, iteration }))
            }
            Self::Jacobi { substeps, iterations } => {
                let iteration = Iteration::Jacobi { relaxation: 1.25 };
                S::pbd(Pbd::new(PbdOptions { substeps, iterations, stiffness: 1.0, iteration }))
            }
            Self::Symplectic { substeps } => S::symplectic(Symplectic::new(substeps)),
        }
    }
    /// Whether the method takes the scene's constraints.
    pub fn carries(self, scene: &Scene) -> bool {
        match self {
            Self::Xpbd { .. } | Self::Pbd { .. } | Self::Jacobi { .. } => true,
            Self::Symplectic { .. } => scene.explicit,
        }
    }
    /// A frame for implicit methods, a fraction of it for explicit forces \[s\].
    pub fn time_step(self) -> f64 {
        if matches!(self, Self::Symplectic { .. }) { 1.0 / 2048.0 } else { 1.0 / 60.0 }
    }
}

fn soft(body: Body) -> Body {
    body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Shear, 2e-3).with_compliance(Role::Bend, 1e-2)
}

/// A square cloth of n × n particles and 0.2 kg that hangs on two corners, rigid.
pub fn curtain(n: usize) -> Body {
    let cloth = Body::cloth(&ClothGrid::square(1.0, n)).expect("a grid of two or more columns");
    cloth.with_mass(0.2).pinned([0, n as u32 - 1])
}

/// The same, compliant.
pub fn soft_curtain(n: usize) -> Body {
    soft(curtain(n))
}

/// An irregular cloth with shuffled ids, pinned at two particles, compliant; bending of the given kind.
pub fn sheet(n: usize, bending: Bending) -> Body {
    let mesh = shuffled_sheet(n, 1.0, 7).expect("two or more vertices a side");
    let corner = |x: f64| {
        let apart = |p: &[f64; 3]| (p[0] - x).abs() + p[2].abs();
        let points = mesh.positions().iter().map(|&p| <[f64; 3]>::from(p)).collect::<Vec<_>>();
        (0..points.len()).min_by(|&a, &b| apart(&points[a]).total_cmp(&apart(&points[b]))).map_or(0, |i| i as u32)
    };
    let pins = [corner(0.0), corner(1.0)];
    let body = Body::surface(&mesh, bending).expect("flat and manifold").with_mass(0.2).pinned(pins);
    let bend = if bending == Bending::Isometric { 1.0 } else { 1e-2 };
    by_angle(body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Bend, bend), 0.1, 0.0)
}

/// Gives every hinge the same compliance \[rad/(N m)\] and damping of its angle, whatever its size.
fn by_angle(mut body: Body, compliance: f64, damping: f64) -> Body {
    let hinges = &mut body.tables_mut().dihedral;
    hinges.compliance.fill(compliance);
    hinges.damping.fill(damping);
    body
}

/// A sleeve with dihedral bending around its curved rest shape, hanging on its upper ring.
///
/// Hanging on purpose: a hinge so stiff that is pressed through itself gains energy, since a projection turns along the
/// tangent and by up to half a turn.
pub fn sleeve(around: usize, along: usize) -> Body {
    let mesh = tube(0.15, 0.6, around, along).expect("three or more around");
    let top = mesh.positions().iter().map(|p| p.y).fold(f64::MIN, f64::max);
    let ring: Vec<u32> = (0_u32..).zip(mesh.positions()).filter(|(_, p)| p.y == top).map(|(i, _)| i).collect();
    let body = Body::surface(&mesh, Bending::Dihedral).expect("manifold").with_mass(0.1).pinned(ring);
    by_angle(body.with_compliance(Role::Stretch, 1e-3), 20.0, 0.0)
}

/// A rope with a weight a thousand times heavier than its other particles at the free end; rigid.
pub fn weighted_rope(segments: usize) -> Body {
    let rope = Rope::new(segments, [0.0; 3], [1.0, 0.0, 0.0]).expect("one or more segments");
    let masses = (0..=segments).map(|i| if i == segments { 10.0 } else { 0.01 });
    Body::rope(&rope, true).expect("finite").with_masses(masses).with_compliance(Role::Bend, 1e-2).pinned([0])
}

/// A bar of tetrahedra with volume and edge constraints, held at its face x = 0, compliant.
pub fn jelly(cells: [usize; 3], split: Split) -> Body {
    let size = cells.map(|c| 0.1 * c as f64);
    let mesh = tet_box(cells, size, split).expect("one or more cells");
    let held: Vec<u32> = (0_u32..).zip(mesh.positions()).filter(|(_, p)| p.x == 0.0).map(|(i, _)| i).collect();
    let body = Body::solid(&mesh).expect("positive volumes").pinned(held);
    body.with_compliance(Role::Stretch, 1e-4).with_compliance(Role::Volume, 1e-9)
}

/// A balloon blown up to 1.3 times its rest volume, tied at its first vertex.
pub fn balloon(subdivisions: u32) -> Body {
    let mesh = icosphere(0.3, subdivisions).expect("few subdivisions");
    let body = Body::balloon(&mesh, 1.3).expect("closed").with_mass(0.05).pinned([0]);
    body.with_compliance(Role::Stretch, 1e-3).with_compliance(Role::Bend, 1e-2)
}

/// A net whose links are ranges of every variant in turn.
pub fn range_net(n: usize) -> Body {
    let id = |i: usize, j: usize| (j * n + i) as u32;
    let step = 1.0 / (n - 1) as f64;
    let positions = (0..n * n).map(|k| [(k % n) as f64 * step, 0.0, (k / n) as f64 * step]);
    let mut body = Body::particles(positions).with_masses((0..n * n).map(|k| 1e-3 * (1 + k % 3) as f64));
    let mut links = Vec::new();
    for j in 0..n {
        for i in 0..n {
            links.extend((i + 1 < n).then(|| [id(i, j), id(i + 1, j)]));
            links.extend((j + 1 < n).then(|| [id(i, j), id(i, j + 1)]));
        }
    }
    for (row, pair) in links.into_iter().enumerate() {
        let bounds = match row % 4 {
            0 => DistanceRange::tension_only(step),
            1 => DistanceRange::soft_compression(step, 0.25),
            2 => DistanceRange::dead_zone(step, 0.1 * step),
            _ => DistanceRange::range(0.9 * step, 1.05 * step),
        };
        body.tables_mut().range.push(Role::Stretch, (row % 2) as u8, pair, bounds);
    }
    body.with_compliance(Role::Stretch, 1e-3).pinned([0, n as u32 - 1])
}

/// A cloth without pins, held by compliant attachments at two corners.
pub fn attached_cloth(n: usize) -> Body {
    let cloth = soft(Body::cloth(&ClothGrid::square(1.0, n)).expect("a grid").with_mass(0.2));
    let corners = [0, n as u32 - 1];
    let places = corners.map(|c| cloth.positions()[c as usize]);
    cloth.attached(corners[0], places[0], 1e-4).attached(corners[1], places[1], 1e-3)
}

/// A hanging cloth with two rigid buttons and a patch that holds its shape loosely, overlapping one of them.
#[cfg(feature = "rigid")]
pub fn buttoned_cloth(n: u32) -> Body {
    use pliant::{Deformation, Matching};
    let button = |i: u32, j: u32| (0..9).map(move |k| (j + k / 3) * n + i + k % 3);
    let patch = (0..30).map(|k| (n / 2 + k / 6) * n + 2 + k % 6);
    let loose = Matching::soft(0.4).with_deformation(Deformation::Quadratic { share: 0.5 });
    soft_curtain(n as usize)
        .with_rigid_cluster(button(n / 2, 2))
        .with_rigid_cluster(button(3, n / 2))
        .with_cluster(patch, loose)
}

/// Particles that no constraint knows.
pub fn dust(count: usize) -> Body {
    let positions = (0..count).map(|i| [0.3 * i as f64, 1.0, -0.2 * i as f64]);
    Body::particles(positions).with_velocities((0..count).map(|i| [0.1 * i as f64, 1.0, -0.5]))
}

/// One scene for every kind of constraint and load, none of them with a particle count that fills its lanes.
pub fn zoo() -> Vec<Scene> {
    let mut flag = Scene::new("flag in the wind", vec![soft_curtain(13)]).windy([1.5, 0.5, 3.0]).swaying();
    flag.pushed = true;
    let damped = soft_curtain(11).with_damping(Role::Stretch, 0.02).with_damping(Role::Bend, 0.01);
    let sheet_damped = by_angle(sheet(9, Bending::Dihedral).with_damping(Role::Stretch, 0.01), 0.1, 1e-4);
    let pieces = vec![
        weighted_rope(13).with_compliance(Role::Stretch, 1e-5),
        dust(3),
        jelly([2, 1, 1], Split::Five).translated([0.0, 1.0, 0.0]),
        soft_curtain(7).translated([0.0, 2.0, 0.0]),
    ];
    let soft_tethers = soft_curtain(15).with_tethers(0.01).with_compliance(Role::Tether, 1e-2);
    #[cfg(feature = "rigid")]
    let buttoned = vec![Scene::new("cloth with buttons", vec![buttoned_cloth(15)]).rigid().swaying()];
    #[cfg(not(feature = "rigid"))]
    let buttoned = Vec::new();
    let twins = vec![soft_curtain(9), soft_curtain(10).translated([2.0, 0.0, 0.0])];
    let mut scenes = vec![
        Scene::new("rigid curtain", vec![curtain(19)]).rigid().swaying(),
        Scene::new("soft curtain", vec![soft_curtain(19)]).swaying(),
        flag,
        Scene::new("shuffled sheet", vec![sheet(15, Bending::CrossLinks)]),
        Scene::new("rope with a heavy end", vec![weighted_rope(37)]).rigid().swaying(),
        Scene::new("jelly bar of six tets a cell", vec![jelly([5, 2, 1], Split::Six)]).swaying(),
        Scene::new("jelly bar of five tets a cell", vec![jelly([5, 1, 2], Split::Five)]).windy([0.0, 3.0, 0.0]),
        Scene::new("balloon", vec![balloon(2).with_compliance(Role::Volume, 1e-9)])
            .windy([2.0, 0.0, 1.0])
            .swaying()
            .rigid(),
        Scene::new("soft balloon", vec![balloon(2).with_compliance(Role::Volume, 1e-4)])
            .windy([1.0, 0.0, 1.0])
            .swaying(),
        Scene::new("sleeve with dihedral bending", vec![sleeve(11, 9)]).windy([0.5, 0.0, 1.0]).swaying(),
        Scene::new("sheet with dihedral bending", vec![sheet_damped]),
        Scene::new("sheet with isometric bending", vec![sheet(11, Bending::Isometric)]).swaying(),
        Scene::new("net of range links", vec![range_net(11)]).swaying(),
        Scene::new("damped curtain", vec![damped]).windy([0.0, 0.0, 2.0]),
        Scene::new("cloth on attachments", vec![attached_cloth(13)]).swaying(),
        Scene::new("tethered curtain", vec![curtain(15).with_tethers(0.01)]).rigid().swaying(),
        Scene::new("soft tethered curtain", vec![soft_tethers]).swaying(),
        Scene::new("pieces", pieces).swaying(),
        Scene::new("two curtains", twins).windy([0.0, 0.0, 2.0]),
    ];
    scenes.extend(buttoned);
    scenes
}

/// Scenes of several spatial parts, for every way through memory: columns, rows, four corners, emit and reduce.
pub fn giants() -> Vec<Scene> {
    let airy = balloon(5).with_mass(40.0).with_compliance(Role::Volume, 1e-6);
    vec![
        // Heavy, so that explicit forces are stable at the step the others take.
        Scene::new("wide curtain", vec![soft_curtain(121).with_mass(40.0)]).windy([0.5, 0.0, 2.0]).swaying(),
        Scene::new("wide shuffled sheet", vec![by_angle(sheet(119, Bending::Dihedral).with_mass(40.0), 100.0, 0.0)]),
        Scene::new("large jelly", vec![jelly([29, 20, 19], Split::Five)]),
        Scene::new("large balloon", vec![balloon(5), balloon(5).translated([2.0, 0.0, 0.0])]).rigid(),
        Scene::new("large soft balloons", vec![airy.clone(), airy.translated([2.0, 0.0, 0.0])]),
        Scene::new("wide net of range links", vec![range_net(123)]).swaying(),
    ]
}
