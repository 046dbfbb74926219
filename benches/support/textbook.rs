//! The textbook loops: what one writes first. Arrays of structs, natural order, one constraint after the other, exact
//! square root and division. The baseline of every speed-up in this project.

use pliant::core::body::{Body, Role};

use links::{Link, Point};

// The harness measures against this loop too, and the benches cannot depend on the harness: one file serves both.
#[path = "../../harness/src/textbook/links.rs"]
mod links;

type Vec3 = pliant::core::vec3::Vec3<f32>;

/// A four-particle constraint: tet volume or hinge angle.
#[derive(Clone, Copy)]
struct Quad {
    ids: [u32; 4],
    rest: f32,
    compliance: f32,
    lambda: f32,
}

/// What the loop projects.
enum Constraints {
    Links(Vec<Link<f32>>),
    Tets(Vec<Quad>),
    Hinges(Vec<Quad>),
}

/// A body simulated by the plain loop.
pub struct Textbook {
    pub particles: Vec<Point<f32>>,
    /// Vertical acceleration \[m/s²\].
    pub gravity: f32,
    constraints: Constraints,
}

impl Textbook {
    fn particles(body: &Body, pins: &[u32]) -> Vec<Point<f32>> {
        (body.positions().iter().zip(body.masses()).enumerate())
            .map(|(i, (x, m))| Point {
                x: Vec3::new(x[0] as f32, x[1] as f32, x[2] as f32),
                start: Vec3::zero(),
                v: Vec3::zero(),
                w: if pins.contains(&(i as u32)) { 0.0 } else { 1.0 / *m as f32 },
            })
            .collect()
    }

    /// The distance links of a body, kind by kind (stretch, shear, bend) in the order they were made.
    pub fn links(body: &Body, pins: &[u32]) -> Self {
        let table = &body.tables().distance;
        let mut links = Vec::new();
        for role in [Role::Stretch, Role::Shear, Role::Bend] {
            for i in (0..table.ids.len()).filter(|&i| table.role[i] == role) {
                let ([a, b], rest) = (table.ids[i], table.parameters[i][0] as f32);
                links.push(Link { a, b, rest, compliance: table.compliance[i] as f32, lambda: 0.0 });
            }
        }
        Self { particles: Self::particles(body, pins), gravity: -9.81, constraints: Constraints::Links(links) }
    }

    /// The tet volumes of a body.
    pub fn tets(body: &Body) -> Self {
        let table = &body.tables().tet_volume;
        let quads = (table.ids.iter().zip(&table.parameters))
            .map(|(&ids, p)| Quad { ids, rest: p[0] as f32, compliance: 0.0, lambda: 0.0 })
            .collect();
        Self { particles: Self::particles(body, &[]), gravity: -9.81, constraints: Constraints::Tets(quads) }
    }

    /// The hinge angles of a body, without gravity: nothing but hinges would hold it together.
    pub fn hinges(body: &Body, pins: &[u32]) -> Self {
        let table = &body.tables().dihedral;
        let quads = (table.ids.iter().zip(&table.parameters).zip(&table.compliance))
            .map(|((&ids, p), &a)| Quad { ids, rest: p[1].atan2(p[0]) as f32, compliance: a as f32, lambda: 0.0 })
            .collect();
        Self { particles: Self::particles(body, pins), gravity: 0.0, constraints: Constraints::Hinges(quads) }
    }

    /// One frame of XPBD: substeps with one pass each.
    pub fn frame(&mut self, dt: f32, substeps: usize) {
        let h = dt / substeps as f32;
        let gravity = self.gravity;
        for _ in 0..substeps {
            for p in &mut self.particles {
                p.start = p.x;
                if p.w > 0.0 {
                    p.v.y += gravity * h;
                    p.x = p.x + p.v * h;
                }
            }
            match &mut self.constraints {
                Constraints::Links(list) => {
                    links::begin(list);
                    links::project(&mut self.particles, list, h);
                }
                Constraints::Tets(tets) => project_quads(&mut self.particles, tets, h, tet),
                Constraints::Hinges(hinges) => project_quads(&mut self.particles, hinges, h, hinge),
            }
            for p in &mut self.particles {
                p.v = over(p.x - p.start, h);
            }
        }
    }
}

fn over(v: Vec3, divisor: f32) -> Vec3 {
    Vec3::new(v.x / divisor, v.y / divisor, v.z / divisor)
}

fn project_quads(
    particles: &mut [Point<f32>],
    quads: &mut [Quad],
    h: f32,
    eval: impl Fn([Vec3; 4], f32) -> (f32, [Vec3; 4]),
) {
    for quad in quads.iter_mut() {
        quad.lambda = 0.0;
    }
    for quad in quads.iter_mut() {
        let ids = quad.ids.map(|i| i as usize);
        let (c, grad) = eval(ids.map(|i| particles[i].x), quad.rest);
        let alpha = quad.compliance / (h * h);
        let mut weight = alpha;
        for k in 0..4 {
            weight += particles[ids[k]].w * grad[k].length_sq();
        }
        if weight == 0.0 {
            continue;
        }
        let delta = (-c - alpha * quad.lambda) / weight;
        quad.lambda += delta;
        for k in 0..4 {
            let w = particles[ids[k]].w;
            particles[ids[k]].x = particles[ids[k]].x + grad[k] * (w * delta);
        }
    }
}

fn tet(x: [Vec3; 4], rest: f32) -> (f32, [Vec3; 4]) {
    let (a, b, c) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
    let (g1, g2, g3) = (over(b.cross(c), 6.0), over(c.cross(a), 6.0), over(a.cross(b), 6.0));
    (a.cross(b).dot(c) / 6.0 - rest, [-(g1 + g2 + g3), g1, g2, g3])
}

fn hinge(x: [Vec3; 4], rest: f32) -> (f32, [Vec3; 4]) {
    let e = x[1] - x[0];
    let n1 = e.cross(x[2] - x[0]);
    let n2 = (x[3] - x[0]).cross(e);
    let (length, sq1, sq2) = (e.length(), n1.length_sq(), n2.length_sq());
    if length == 0.0 || sq1 == 0.0 || sq2 == 0.0 {
        return (0.0, [Vec3::zero(); 4]);
    }
    let angle = n1.cross(n2).dot(over(e, length)).atan2(n1.dot(n2));
    let (m1, m2) = (over(n1, sq1), over(n2, sq2));
    let g2 = -m1 * length;
    let g3 = -m2 * length;
    let g0 = m1 * ((x[1] - x[2]).dot(e) / length) + m2 * ((x[1] - x[3]).dot(e) / length);
    let g1 = m1 * ((x[2] - x[0]).dot(e) / length) + m2 * ((x[3] - x[0]).dot(e) / length);
    (angle - rest, [g0, g1, g2, g3])
}
