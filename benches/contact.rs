//! The cost of contact in one run: nanoseconds a particle and collider for a pass over all particles.
//!
//! `cargo bench --bench contact` prints the tables and writes `benches/results/contact.md`.

mod support;

use pliant::backends::{Scalar, Simd};
use pliant::core::backend::{Backend, Map};
use pliant::core::body::Body;
use pliant::core::field::Field;
use pliant::core::lane::Lane;
use pliant::core::mesh::{ClothGrid, icosphere};
use pliant::core::model::Model;
use pliant::core::schedule::LayoutChoice::{self, Auto, Rows};
use pliant::core::sdf::{Placed, Solid};
use pliant::core::vec3::Vec3;
use pliant::{Collider, Pose, Rotation, Shape};
use support::Run;
use support::report::Report;
use support::timing::{Contender, race};

/// Side of the cloth in particles.
const N: usize = 100;
/// Passes a run, so that a run is long enough to be timed.
const PASSES: usize = 20;

/// x ← x + φ ∇φ · 0: nothing but the distance and its gradient, and a result that depends on both. As contact does, it
/// treats simple shapes apart.
struct Distance<'a, const SIMPLE: bool> {
    solid: &'a Solid<f32>,
    placed: Placed<f32>,
}

impl<const SIMPLE: bool> Map<1> for Distance<'_, SIMPLE> {
    type Scalar = f32;
    #[inline(always)]
    fn apply<L: Lane<Scalar = f32>>(&self, _: L, [x]: [Vec3<L>; 1]) -> [Vec3<L>; 1] {
        let (place, _) = self.placed.enter(x, x, Vec3::zero());
        let program = &self.solid.program;
        let (phi, n) = if SIMPLE { program.eval_simple(place) } else { program.eval(place) };
        [x + self.placed.leave(n) * (phi * L::zero())]
    }
}

/// Nothing but the loads and stores.
struct Nothing;

impl Map<1> for Nothing {
    type Scalar = f32;
    #[inline(always)]
    fn apply<L: Lane<Scalar = f32>>(&self, _: L, [x]: [Vec3<L>; 1]) -> [Vec3<L>; 1] {
        [x + x * L::zero()]
    }
}

fn cloth() -> Body {
    Body::cloth(&ClothGrid::square(1.0, N)).expect("a grid").translated([-0.5, 0.0, -0.5])
}

fn field(layout: LayoutChoice) -> (Model<f32>, Field<f32>) {
    let (model, particles) = Model::<f32>::build_with(&[&cloth()], layout).expect("a valid body");
    let mut x = Field::zeros(model.plan());
    x.pack(model.plan(), &particles.x);
    (model, x)
}

fn pass<'a, B: Backend<Scalar = f32> + 'a, M: Map<1, Scalar = f32> + 'a>(
    name: String,
    kernel: M,
    layout: LayoutChoice,
    on: B,
) -> Contender<'a> {
    let (_, mut x) = field(layout);
    let items = (PASSES * N * N) as f64;
    Contender::new(name, items, move || (0..PASSES).for_each(|_| on.map(&kernel, [&mut x])))
}

fn passes<'a, M: Map<1, Scalar = f32> + 'a>(name: &str, kernel: impl Fn() -> M) -> [Contender<'a>; 3] {
    [
        pass(name.to_owned(), kernel(), Auto, Simd::new()),
        pass(format!("{name}, scalar"), kernel(), Auto, Scalar::new()),
        pass(format!("{name}, rows"), kernel(), Rows, Simd::new()),
    ]
}

/// Distances alone.
fn distances(report: &mut Report) {
    let mut shapes = vec![
        ("plane", Collider::plane([0.0, 1.0, 0.0])),
        ("sphere", Collider::sphere(0.3)),
        ("box", Collider::cuboid([0.5, 0.3, 0.4])),
        ("capsule", Collider::capsule(0.2, 0.4)),
        ("cylinder", Collider::cylinder(0.3, 0.3)),
        ("torus", Collider::torus(0.4, 0.1)),
        (
            "sphere without box",
            Collider::new(Shape::Sphere { radius: 0.4 }.difference(Shape::Cuboid { half: [0.2; 3] })),
        ),
        ("grid of 48³", Collider::mesh(&icosphere(0.4, 4).expect("a sphere"), 48).expect("closed")),
    ];
    #[cfg(feature = "parry")]
    {
        use pliant::parry3d::{math::Vector, shape::SharedShape, shape::TriMeshFlags};
        let ball = icosphere(0.4, 4).expect("a sphere");
        let vertices = ball.positions().iter().map(|p| Vector::new(p.x as f32, p.y as f32, p.z as f32)).collect();
        let mesh = SharedShape::trimesh_with_flags(vertices, ball.triangles().to_vec(), TriMeshFlags::ORIENTED);
        shapes.push(("parry3d box", Collider::from_parry(SharedShape::cuboid(0.25, 0.15, 0.2))));
        shapes.push(("parry3d mesh of 5120 triangles", Collider::from_parry(mesh.expect("a mesh"))));
    }
    let (mut model, _) = field(Auto);
    for (_, collider) in &shapes {
        model.colliders_mut().push(collider.clone()).expect("valid");
    }
    let placed = Placed::new(Pose::IDENTITY, Pose::IDENTITY, [0.0, 1.0], [0.0; 3]);
    let mut all = vec![
        pass("loads and stores alone".to_owned(), Nothing, Auto, Simd::new()),
        pass("loads and stores alone, scalar".to_owned(), Nothing, Auto, Scalar::new()),
        pass("loads and stores alone, rows".to_owned(), Nothing, Rows, Simd::new()),
    ];
    for (solid, (name, _)) in model.colliders().solids().iter().zip(&shapes) {
        if solid.program.is_simple() {
            all.extend(passes(name, || Distance::<true> { solid, placed }));
        } else {
            all.extend(passes(name, || Distance::<false> { solid, placed }));
        }
    }
    // Shapes of parry3d take microseconds a particle.
    let own = all.iter().position(|c| c.name.starts_with("parry3d")).unwrap_or(all.len());
    let (own, parry) = all.split_at_mut(own);
    race(own, 60);
    race(parry, 3);
    report.line(&format!(
        "\n## φ and ∇φ of one shape for {} particles, ns a particle, loads and stores included\n\n\
         | | AVX2, columns | AVX2, rows | scalar, columns |\n| --- | --- | --- | --- |",
        N * N
    ));
    for three in all.chunks(3) {
        let [fast, scalar, rows] = [&three[0], &three[1], &three[2]].map(Contender::nanoseconds);
        report.line(&format!("| {} | {fast:.2} | {rows:.2} | {scalar:.2} |", three[0].name));
    }
}

/// Whole steps with and without colliders: the difference is what contact costs.
fn steps(report: &mut Report) {
    let mut bare = cloth();
    *bare.tables_mut() = Default::default();
    let substeps = 10;
    // Without gravity everything stays: nothing touches, or everything does.
    let make = |name: &str, colliders: &[Collider], layout| {
        let mut run = Run::new(&bare, layout, substeps, Simd::new());
        run.model.environment.gravity = [0.0; 3];
        colliders.iter().for_each(|c| run.model.colliders_mut().push(c.clone()).expect("valid"));
        run.solver.prepare(&run.model).expect("prepared before");
        let (moving, mut frame) = (if name.contains("move") { colliders.len() } else { 0 }, 0);
        Contender::new(name, (substeps * N * N) as f64, move || {
            frame += 1;
            for limb in 0..moving {
                run.model.colliders_mut().send(limb, limb_at(limb, frame)).expect("a collider");
            }
            run.frame();
        })
    };
    let near = |c: Collider| c.at([0.0, -0.6, 0.0]).with_friction(0.4);
    let under = |c: Collider| c.at([0.0, -0.4999, 0.0]).with_friction(0.4);
    let block = || Collider::cuboid([2.0, 1.0, 2.0]);
    let limbs = || {
        let limb = |k| {
            let mut limb = Collider::capsule(0.06, 0.3).with_friction(0.4);
            limb.pose = limb_at(k, 0);
            limb
        };
        (0..LIMBS).map(limb).collect::<Vec<_>>()
    };
    let cases = [
        ("no collider", vec![]),
        ("a sphere far away", vec![Collider::sphere(0.5).at([0.0, 9.0, 0.0])]),
        ("a sphere beside, no contact", vec![near(Collider::sphere(0.5))]),
        ("a box beside, no contact", vec![near(block())]),
        ("a sphere and a box beside, no contact", vec![near(Collider::sphere(0.5)), near(block())]),
        ("a box under everything, all in contact with friction", vec![under(block())]),
        (
            "a floor under everything, all in contact with friction",
            vec![Collider::plane([0.0, 1.0, 0.0]).at([0.0, 1e-4, 0.0]).with_friction(0.4)],
        ),
        ("20 capsules below, no contact", limbs()),
        ("20 capsules below that move, no contact", limbs()),
    ];
    for layout in [Auto, Rows] {
        let mut all: Vec<_> = cases.iter().map(|(name, colliders)| make(name, colliders, layout)).collect();
        race(&mut all, 80);
        report.line(&format!(
            "\n## A substep of {} particles without constraints, {layout:?} layout\n\n\
             | | ns a particle | of it contact |\n| --- | --- | --- |",
            N * N
        ));
        let base = all[0].nanoseconds();
        for c in &all {
            report.line(&format!("| {} | {:.2} | {:.2} |", c.name, c.nanoseconds(), c.nanoseconds() - base));
        }
    }
}

/// As many capsules as a character has, give or take.
const LIMBS: usize = 20;

/// Where a limb is in a frame: 30 cm below the cloth and more, all over its length and width.
fn limb_at(limb: usize, frame: usize) -> Pose {
    let (k, t) = (limb as f64, frame as f64 / 60.0);
    let place = [0.5 * (1.7 * k).sin() + 0.05 * (3.0 * t).sin(), -0.6 + 0.05 * (2.0 * t).cos(), 0.5 * (1.7 * k).cos()];
    Pose::at(place).turned(Rotation::about([1.0, 0.3, 0.2], k + 0.5 * (t + k).sin()))
}

/// The drape scene: a cloth over a ball and the floor, against the same cloth without them.
fn drape(report: &mut Report) {
    let body = cloth().with_mass(0.2).with_thickness(0.005).translated([0.0, 0.6, 0.0]);
    let colliders = [
        Collider::plane([0.0, 1.0, 0.0]).with_friction(0.6),
        Collider::sphere(0.3).at([0.0, 0.25, 0.0]).with_friction(0.4),
    ];
    let mut runs = [&[][..], &colliders].map(|colliders| {
        let mut run = Run::new(&body, Auto, 10, Simd::new());
        colliders.iter().for_each(|c| run.model.colliders_mut().push(c.clone()).expect("valid"));
        run.solver.prepare(&run.model).expect("prepared before");
        (0..60).for_each(|_| run.frame());
        run
    });
    let [plain, draped] = &mut runs;
    let mut all = [
        Contender::new("falling free", 1.0, || plain.frame()),
        Contender::new("draped over a ball on the floor", 1.0, || draped.frame()),
    ];
    race(&mut all, 60);
    report.line(&format!("\n## A frame of 10 substeps of a {N} × {N} cloth, AVX2\n\n| | ms | |\n| --- | --- | --- |"));
    let base = all[0].seconds();
    for c in &all {
        report.line(&format!("| {} | {:.3} | {:.2}× |", c.name, 1e3 * c.seconds(), c.seconds() / base));
    }
}

fn main() {
    let mut report = Report::new("contact", "What contact with colliders costs");
    distances(&mut report);
    steps(&mut report);
    drape(&mut report);
    report.save();
}
