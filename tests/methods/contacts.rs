//! Contact events and questions about a world.

use pliant::core::body::Body;
use pliant::core::collide::distance::Pair;
use pliant::core::collide::{ProbeTree, SelfContact, Target};
use pliant::core::columns::Particles;
use pliant::core::mesh::{ClothGrid, icosphere};
use pliant::core::model::Model;
use pliant::core::sdf::Collider;
use pliant::core::vec3::Vec3;
use pliant::{ContactEvent, ContactPair, ContactPhase, ContactWatch, XpbdOn};
use pliant_harness::instances::{Boxed, Instances};

use crate::simd;

const DT: f64 = 1.0 / 60.0;

struct Scene {
    model: Model<f64>,
    particles: Particles<f64>,
    solver: Boxed<f64>,
    watch: ContactWatch<f64>,
}

impl Scene {
    fn new(bodies: &[&Body], colliders: &[Collider]) -> Self {
        let (mut model, particles) = Model::build(bodies).expect("valid bodies");
        colliders.iter().cloned().for_each(|c| model.colliders_mut().push(c).expect("valid"));
        let mut solver = f64::xpbd(XpbdOn::with_substeps(10));
        solver.prepare(&model).expect("valid options");
        solver.account().expect("an account").open = true;
        Self { model, particles, solver, watch: ContactWatch::new(1e-3) }
    }
    fn step(&mut self) -> &[ContactEvent<f64>] {
        let on = simd();
        self.solver.step(&self.model, &mut self.particles, DT, &on).expect("a step");
        let account = self.solver.account();
        self.watch.update(&self.model, &self.particles, account.as_deref(), DT, &on).expect("finite");
        self.watch.events()
    }
}

#[test]
fn a_particle_that_bounces_begins_and_ends_a_contact_each_time() {
    let ball = Body::particles([[0.0, 0.5, 0.0]]).with_mass(2.0);
    let mut scene = Scene::new(&[&ball], &[Collider::plane([0.0, 1.0, 0.0]).with_restitution(0.5)]);
    let mut phases = Vec::new();
    let mut hits = Vec::new();
    for _ in 0..60 {
        for event in scene.step() {
            assert_eq!(event.pair, ContactPair::Collider { particle: 0, collider: 0 });
            assert!((event.normal[1] - 1.0).abs() < 1e-12 && event.point[1].abs() < 1e-12);
            phases.push(event.phase);
            if event.phase == ContactPhase::Begin {
                hits.push(event.impulse);
            }
        }
    }
    assert_eq!(phases[..4], [ContactPhase::Begin, ContactPhase::End, ContactPhase::Begin, ContactPhase::End]);
    // It arrives with √(2 g H) and leaves with half of that.
    let expected = 2.0 * 1.5 * (2.0 * 9.81 * 0.5_f64).sqrt();
    assert!((hits[0] - expected).abs() < 0.05 * expected, "{} against {expected}", hits[0]);
    assert!(hits[1] < 0.6 * hits[0], "{hits:?}");
}

#[test]
fn impulses_of_a_body_at_rest_carry_its_weight() {
    let cloth = Body::cloth(&ClothGrid::square(0.5, 6)).expect("a grid").with_mass(0.3).translated([0.0, 1e-3, 0.0]);
    let mut scene = Scene::new(&[&cloth], &[Collider::plane([0.0, 1.0, 0.0]).with_friction(0.5)]);
    (0..30).for_each(|_| _ = scene.step());
    let events = scene.step();
    assert_eq!(events.len(), 36);
    assert!(events.iter().all(|event| event.phase == ContactPhase::Persist));
    let sum: f64 = events.iter().map(|event| event.impulse).sum();
    assert!((sum - 0.3 * 9.81 * DT).abs() < 1e-6, "{sum}");
}

#[test]
fn layers_that_meet_are_told_with_their_impulse() {
    let contact = SelfContact { thickness: 0.01, ..SelfContact::default() };
    let sheet = |y: f64, speed: f64| {
        let sheet = Body::cloth(&ClothGrid::square(0.4, 5)).expect("a grid").with_mass(0.1).with_self_contact(contact);
        sheet.translated([0.03 * y.signum(), y, 0.02 * y.signum()]).with_velocities([[0.0, speed, 0.0]; 25])
    };
    let mut scene = Scene::new(&[&sheet(-0.01, 0.3), &sheet(0.01, -0.3)], &[]);
    scene.model.environment.gravity = [0.0; 3];
    let (mut given, mut begun) = (0.0, 0);
    for _ in 0..12 {
        for event in scene.step() {
            assert!(!matches!(event.pair, ContactPair::Collider { .. }));
            assert!(event.phase == ContactPhase::End || event.normal[1].abs() > 0.5, "{event:?}");
            begun += usize::from(event.phase == ContactPhase::Begin);
            given += event.impulse;
        }
    }
    assert!(begun > 4);
    // What the lower sheet of 0.1 kg lost, but for what was given to particles that had left their partner again.
    let lower: f64 = (0..25).map(|i| scene.particles.v.get(i)[1]).sum::<f64>() / 25.0;
    let lost = 0.1 * (0.3 - lower);
    assert!((given - lost).abs() < 0.1 * lost, "{given} of {lost} kg m/s");
    assert!(lower < 0.1, "{lower}");
}

#[test]
fn questions_are_answered_as_by_looking_at_everything() {
    let ball =
        Body::surface(&icosphere(0.5, 2).expect("a ball"), pliant::core::body::Bending::None).expect("a surface");
    let grains = Body::particles([[2.0, 0.0, 0.0], [0.0, 0.9, 0.1]]).with_thickness(0.1);
    let (mut model, particles) = Model::<f64>::build(&[&ball, &grains]).expect("valid");
    model.colliders_mut().push(Collider::cuboid([1.0, 0.2, 1.0]).at([0.0, -1.0, 0.0])).expect("valid");
    let on = simd();
    let mut tree = ProbeTree::new();
    let probe = tree.look(&model, &particles.x, &on).expect("finite");
    let at = |p: u32| Vec3::from(particles.x.get(p as usize));
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as f64 / f64::from(1 << 30) - 1.0
    };
    for _ in 0..200 {
        let p = [2.0 * random(), 2.0 * random(), 2.0 * random()];
        let point = Vec3::from(p);
        let surface = model.triangles().iter().map(|t| {
            let [a, b, c] = t.map(at);
            (Pair::VertexTriangle.closest(&[point, a, b, c]).distance_sq.sqrt(), Target::Triangle(*t))
        });
        let loose = [162, 163].map(|g| ((point - at(g)).length() - 0.1, Target::Particle(g)));
        let q = [(p[0].abs() - 0.5).max(0.0), ((p[1] + 1.0).abs() - 0.1).max(0.0), (p[2].abs() - 0.5).max(0.0)];
        let outside = Vec3::from(q).length();
        let all: Vec<(f64, Target)> = surface.chain(loose).collect();
        let mut least = all.iter().map(|(d, _)| *d).fold(f64::INFINITY, f64::min);
        if outside > 0.0 {
            least = least.min(outside);
            let hit = probe.closest(p, 10.0).expect("something is there");
            assert!((hit.distance - least).abs() < 1e-9, "{p:?}: {hit:?} against {least}");
            let gap = (Vec3::from(hit.point) - point).length();
            assert!((gap - hit.distance.abs()).abs() < 1e-9);
        }
        let mut found = Vec::new();
        probe.in_sphere(p, 0.3, &mut found);
        let mut expected: Vec<Target> = all.iter().filter(|(d, _)| *d <= 0.3).map(|(_, t)| *t).collect();
        expected.extend((outside <= 0.3).then_some(Target::Collider(0)));
        expected.sort();
        assert_eq!(found, expected, "{p:?}");
        // A ray to the centre of the ball meets its surface unless something is in front of it.
        if let Some(hit) = probe.ray(p, -point, 10.0)
            && matches!(hit.target, Target::Triangle(_))
        {
            let r = Vec3::from(hit.point).length();
            assert!(r < 0.5 + 1e-9 && r > 0.45, "{hit:?}");
        }
    }
    let hit = probe.ray([0.0, -3.0, 0.0], [0.0, 2.0, 0.0], 10.0).expect("the box is below");
    assert!(hit.target == Target::Collider(0) && (hit.distance - 1.9).abs() < 1e-4 && hit.normal[1] < -0.9, "{hit:?}");
    let mut found = Vec::new();
    probe.in_box([1.95, -0.01, -0.01], [3.0, 0.01, 0.01], &mut found);
    assert_eq!(found, [Target::Particle(162)]);
    found.clear();
    probe.in_box([-0.1, -0.95, -0.1], [0.1, -0.93, 0.1], &mut found);
    assert_eq!(found, [Target::Collider(0)]);
    // Directions of any length are the same, at colliders and at surfaces.
    for length in [1.0, 1e-300, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
        let below = probe.ray([0.0, -3.0, 0.0], [0.0, length, 0.0], 10.0).expect("the box is below");
        assert_eq!((below.target, below.distance), (hit.target, hit.distance), "{length}");
        let aside = probe.ray([0.2, 0.1, -3.0], [-0.1 * length, 0.0, length], 10.0).map(|hit| hit.target);
        assert!(matches!(aside, Some(Target::Triangle(_))), "{length}: {aside:?}");
    }
    for nowhere in [f64::INFINITY, f64::NAN] {
        assert!(probe.ray([0.0, -3.0, 0.0], [0.0, nowhere, 0.0], 10.0).is_none(), "{nowhere}");
        assert!(probe.ray([0.0, -3.0, 0.0], [nowhere, 1.0, 0.0], 10.0).is_none(), "{nowhere}");
    }
    assert!(probe.ray([0.0; 3], [f64::NAN, 0.0, 0.0], 1.0).is_none() && probe.closest([f64::NAN; 3], 1.0).is_none());
    assert!(probe.ray([0.0; 3], [0.0; 3], 1.0).is_none());
}
