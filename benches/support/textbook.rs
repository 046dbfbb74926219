//! The textbook loops: what one writes first. Arrays of structs, natural order, one constraint after the other, exact
//! square root and division. The baseline of every speed-up in this project.

use pliant::core::body::{Body, Role};
use ultraviolet::Vec3;

/// A particle with everything in one struct.
#[derive(Clone, Copy)]
pub struct Particle {
    pub x: Vec3,
    pub start: Vec3,
    pub v: Vec3,
    pub w: f32,
}

/// A distance constraint.
#[derive(Clone, Copy)]
struct Link {
    a: u32,
    b: u32,
    rest: f32,
    compliance: f32,
    lambda: f32,
}

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
    Links(Vec<Link>),
    Tets(Vec<Quad>),
    Hinges(Vec<Quad>),
}

/// A body simulated by the plain loop.
pub struct Textbook {
    pub particles: Vec<Particle>,
    /// Vertical acceleration \[m/s²\].
    pub gravity: f32,
    constraints: Constraints,
}

impl Textbook {
    fn particles(body: &Body, pins: &[u32]) -> Vec<Particle> {
        (body.positions().iter().zip(body.masses()).enumerate())
            .map(|(i, (x, m))| Particle {
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
                    p.x += p.v * h;
                }
            }
            match &mut self.constraints {
                Constraints::Links(links) => project_links(&mut self.particles, links, h),
                Constraints::Tets(tets) => project_quads(&mut self.particles, tets, h, tet),
                Constraints::Hinges(hinges) => project_quads(&mut self.particles, hinges, h, hinge),
            }
            for p in &mut self.particles {
                p.v = (p.x - p.start) / h;
            }
        }
    }
}

fn project_links(particles: &mut [Particle], links: &mut [Link], h: f32) {
    for link in links.iter_mut() {
        link.lambda = 0.0;
    }
    for link in links.iter_mut() {
        let (a, b) = (link.a as usize, link.b as usize);
        let d = particles[a].x - particles[b].x;
        let length = d.mag();
        let (wa, wb) = (particles[a].w, particles[b].w);
        let alpha = link.compliance / (h * h);
        let weight = wa + wb + alpha;
        if length == 0.0 || weight == 0.0 {
            continue;
        }
        let n = d / length;
        let delta = (-(length - link.rest) - alpha * link.lambda) / weight;
        link.lambda += delta;
        particles[a].x += n * (wa * delta);
        particles[b].x -= n * (wb * delta);
    }
}

fn project_quads(
    particles: &mut [Particle],
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
            weight += particles[ids[k]].w * grad[k].mag_sq();
        }
        if weight == 0.0 {
            continue;
        }
        let delta = (-c - alpha * quad.lambda) / weight;
        quad.lambda += delta;
        for k in 0..4 {
            let w = particles[ids[k]].w;
            particles[ids[k]].x += grad[k] * (w * delta);
        }
    }
}

fn tet(x: [Vec3; 4], rest: f32) -> (f32, [Vec3; 4]) {
    let (a, b, c) = (x[1] - x[0], x[2] - x[0], x[3] - x[0]);
    let (g1, g2, g3) = (b.cross(c) / 6.0, c.cross(a) / 6.0, a.cross(b) / 6.0);
    (a.cross(b).dot(c) / 6.0 - rest, [-(g1 + g2 + g3), g1, g2, g3])
}

fn hinge(x: [Vec3; 4], rest: f32) -> (f32, [Vec3; 4]) {
    let e = x[1] - x[0];
    let n1 = e.cross(x[2] - x[0]);
    let n2 = (x[3] - x[0]).cross(e);
    let (length, sq1, sq2) = (e.mag(), n1.mag_sq(), n2.mag_sq());
    if length == 0.0 || sq1 == 0.0 || sq2 == 0.0 {
        return (0.0, [Vec3::zero(); 4]);
    }
    let angle = n1.cross(n2).dot(e / length).atan2(n1.dot(n2));
    let (m1, m2) = (n1 / sq1, n2 / sq2);
    let g2 = -m1 * length;
    let g3 = -m2 * length;
    let g0 = m1 * ((x[1] - x[2]).dot(e) / length) + m2 * ((x[1] - x[3]).dot(e) / length);
    let g1 = m1 * ((x[2] - x[0]).dot(e) / length) + m2 * ((x[3] - x[0]).dot(e) / length);
    (angle - rest, [g0, g1, g2, g3])
}
