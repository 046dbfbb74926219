//! Layers: coarser and coarser pictures of a model, to carry corrections over long ways in a few sweeps.
//!
//! A sweep moves a correction from link to link, so a cloth of n links across needs in the order of n² of them. A layer keeps
//! about a quarter of the particles of the one below it (the first one down to a 64th) and joins them by longer links; what a
//! sweep of those corrects is then interpolated to the particles between.   [METHODS 1, level of detail; Müller 2008, hierarchical PBD]
//!
//! ```text
//!   o───·───o───·───o      o  kept: pins, and then whoever has no kept neighbour yet
//!   │ ╲ │ ╱ │ ╲ │ ╱ │      ·  between: follows its kept neighbours j, Δx = Σ wⱼ Δxⱼ, wⱼ ∝ 1/|x − xⱼ|, Σ wⱼ = 1
//!   ·───·───·───·───·
//!   │ ╱ │ ╲ │ ╱ │ ╲ │      o═══════o  a link of the layer: two kept particles with one between them, if the way over it is
//!   o───·───o───·───o                 nearly straight. It pulls and never pushes: between its ends cloth may fold.
//! ```
//!
//! Layers are made of links that are rigid or nearly so: what is a hundred times as soft as the stiffest link of its body (bending,
//! the shear of cloth), and elements that resist strain as a continuum, have no part in them.
//!
//! A kept particle carries the masses of its followers, m = Σ w m, so that a layer keeps linear momentum.

use crate::body::{Body, Role};
use crate::error::BuildError;
use crate::lane::Real;
use crate::model::Model;
use crate::schedule::LayoutChoice;
use ultraviolet::DVec3;

/// Most particles that one particle follows.
pub const PARENTS: usize = 4;

/// A way of two links counts as straight when its ends are at least this share of its length apart \[1\].
const STRAIGHT: f64 = 0.8;

/// A link that two others replace, up to this share of its length \[1\], skips a particle and is none of the layer's.
const SPANNED: f64 = 1.001;

/// A link this many times as compliant as the stiffest of its body is meant to stretch: layers leave it alone.
const SOFTER: f64 = 100.0;

/// A model stops getting coarser at this many particles: their sweep costs next to nothing.
const FEWEST: usize = 24;

/// How many times more than others the first layer may thin out its particles, as long as it keeps [`FIRST`].
const LEAPS: usize = 2;
const FIRST: usize = 256;

/// One layer: a model of the particles it keeps, and how those below follow them.
#[derive(Clone, Debug)]
pub struct Layer<S> {
    /// The kept particles, with a distance for every link: the longest one that is allowed.
    pub model: Model<S>,
    /// The particle of the layer below that each particle is.
    pub keeps: Vec<u32>,
    /// For each particle of the layer below: whom it follows, and by which share. Shares add up to 1, or to 0 for pins.
    pub follows: Vec<[(u32, f64); PARENTS]>,
}

/// The layers of a model, finest first: at most `count`, fewer when nothing is left to leave out.
///
/// # Errors
/// None that a model which was built can cause; they are those of [`Model::build`].
pub fn layers<S: Real>(model: &Model<S>, count: usize, slack: f64) -> Result<Vec<Layer<S>>, BuildError> {
    let mut mesh = Mesh::of(model);
    let mut found: Vec<Layer<S>> = Vec::new();
    while found.len() < count {
        let Some(mut step) = mesh.coarser() else { break };
        // Bringing corrections down to all particles is what costs. A first layer that leaves out more of them converges as
        // well, since a sweep over the particles themselves reaches that far, and halves the cost of those above.
        for _ in 0..if found.is_empty() { LEAPS } else { 0 } {
            let Some(next) = step.mesh.coarser().filter(|next| next.keeps.len() >= FIRST) else { break };
            step = step.then(next);
            step.mesh.inv_mass = carried(&mesh.inv_mass, &step.keeps, &step.follows);
        }
        let Coarsening { mesh: coarser, keeps, follows } = step;
        found.push(Layer { model: coarser.model(slack)?, keeps, follows });
        mesh = coarser;
    }
    Ok(found)
}

/// A coarser mesh, and how the finer one hangs on it.
struct Coarsening {
    mesh: Mesh,
    keeps: Vec<u32>,
    follows: Vec<[(u32, f64); PARENTS]>,
}

impl Coarsening {
    /// This one and another one after it, in one.
    fn then(self, next: Self) -> Self {
        let keeps = next.keeps.iter().map(|&p| self.keeps[p as usize]).collect();
        let follows = self.follows.iter().map(|followed| compose(followed, &next.follows)).collect();
        Self { mesh: next.mesh, keeps, follows }
    }
}

/// Inverse masses of kept particles that carry those who follow them, m = Σ share m; 0 for pins \[1/kg\].
fn carried(inv_mass: &[f64], keeps: &[u32], follows: &[[(u32, f64); PARENTS]]) -> Vec<f64> {
    let mut mass = vec![0.0; keeps.len()];
    for (&w, followed) in inv_mass.iter().zip(follows).filter(|(w, _)| **w > 0.0) {
        for &(parent, share) in followed {
            mass[parent as usize] += share / w;
        }
    }
    keeps.iter().zip(mass).map(|(&p, m)| if inv_mass[p as usize] > 0.0 { 1.0 / m } else { 0.0 }).collect()
}

/// Whom a particle follows that follows others who follow others: the strongest of them.
fn compose(followed: &[(u32, f64); PARENTS], next: &[[(u32, f64); PARENTS]]) -> [(u32, f64); PARENTS] {
    let mut all: Vec<(u32, f64)> = Vec::new();
    for &(parent, share) in followed.iter().filter(|link| link.1 > 0.0) {
        for &(ancestor, part) in next[parent as usize].iter().filter(|link| link.1 > 0.0) {
            match all.iter_mut().find(|known| known.0 == ancestor) {
                Some(known) => known.1 += share * part,
                None => all.push((ancestor, share * part)),
            }
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(PARENTS);
    shared(&all)
}

/// Shares that add up to 1, or none.
fn shared(weighted: &[(u32, f64)]) -> [(u32, f64); PARENTS] {
    let total: f64 = weighted.iter().map(|link| link.1).sum();
    let mut found = [(0, 0.0); PARENTS];
    for (slot, &(parent, weight)) in found.iter_mut().zip(weighted) {
        *slot = (parent, weight / total);
    }
    found
}

/// Particles and links of one layer.
struct Mesh {
    rest: Vec<DVec3>,
    /// 0 for pins \[1/kg\].
    inv_mass: Vec<f64>,
    /// By particle, sorted: neighbour and length of the link \[m\].
    links: Vec<Vec<(u32, f64)>>,
    /// Whether straight ways are measured through space instead of along links, by particle: flat sheets and solids.
    straight: Vec<bool>,
    /// Whether a surface ends at a particle: around holes and slits the way through space is too short.
    border: Vec<bool>,
}

impl Mesh {
    /// Particles and stiff links of a model.
    fn of<S: Real>(model: &Model<S>) -> Self {
        let rest: Vec<DVec3> = model.rest().iter().map(|&p| p.into()).collect();
        let inv_mass = model.inv_mass().iter().map(|w| w.to_f64()).collect();
        let constraints = model.constraints();
        let (distance, range) = (&constraints.distance, &constraints.range);
        let rows = || {
            let rigid = distance.ids().iter().zip(&distance.parameters()[0]).zip(distance.compliance());
            let ranged = range.ids().iter().zip(&range.parameters()[1]).zip(range.compliance());
            rigid.chain(ranged).map(|((ids, length), alpha)| (*ids, length.to_f64(), alpha.to_f64()))
        };
        let mut least = vec![f64::INFINITY; model.body_count()];
        for (ids, _, alpha) in rows() {
            let body = model.body_of(ids[0]);
            least[body] = least[body].min(alpha);
        }
        let mut links = vec![Vec::new(); rest.len()];
        for ([a, b], length, alpha) in rows() {
            if alpha <= SOFTER * least[model.body_of(a)] {
                links[a as usize].push((b, length));
                links[b as usize].push((a, length));
            }
        }
        let (straight, border) = (straight(model, &rest), border(model));
        let mut mesh = Self { rest, inv_mass, links, straight, border };
        mesh.tidy();
        mesh
    }

    /// Sorts links, takes doubles away, and those which skip a particle.
    fn tidy(&mut self) {
        for list in &mut self.links {
            // Of several links between two particles the longest counts: it says how far they may part.
            list.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            list.dedup_by_key(|link| link.0);
        }
        let spanned = |a: usize, (b, length): (u32, f64)| {
            self.links[a].iter().any(|&(c, first)| {
                let onward = self.links[c as usize].binary_search_by_key(&b, |link| link.0);
                onward.is_ok_and(|at| {
                    let second = self.links[c as usize][at].1;
                    first < length && second < length && first + second <= SPANNED * length
                })
            })
        };
        let kept =
            (0..self.links.len()).map(|a| self.links[a].iter().copied().filter(|&link| !spanned(a, link)).collect());
        self.links = kept.collect();
    }

    /// Chooses who is kept: pins, then in order whoever has no kept neighbour. Everybody else has one then.
    fn choose(&self) -> Vec<bool> {
        let mut kept: Vec<bool> = self.inv_mass.iter().map(|&w| w == 0.0).collect();
        for particle in 0..kept.len() {
            if !kept[particle] && !self.links[particle].iter().any(|link| kept[link.0 as usize]) {
                kept[particle] = true;
            }
        }
        kept
    }

    /// The next coarser layer, whom it keeps and who follows whom; nothing when it would leave out less than a third.
    fn coarser(&self) -> Option<Coarsening> {
        let count = self.rest.len();
        let kept = self.choose();
        let keeps: Vec<u32> = (0..count as u32).filter(|&p| kept[p as usize]).collect();
        if 3 * keeps.len() > 2 * count || count < FEWEST {
            return None;
        }
        let mut number = vec![u32::MAX; count];
        for (new, &old) in keeps.iter().enumerate() {
            number[old as usize] = new as u32;
        }
        let follows: Vec<_> = (0..count).map(|p| self.follow(p, &number)).collect();

        let mut links = vec![Vec::new(); keeps.len()];
        let mut join = |a: u32, b: u32, length: f64| {
            let (a, b) = (number[a as usize], number[b as usize]);
            links[a as usize].push((b, length));
            links[b as usize].push((a, length));
        };
        for (particle, around) in self.links.iter().enumerate() {
            for (i, &(a, first)) in around.iter().enumerate().filter(|(_, link)| kept[link.0 as usize]) {
                if kept[particle] {
                    // Two pins side by side.
                    join(particle as u32, a, first);
                    continue;
                }
                for &(b, second) in around[i + 1..].iter().filter(|link| kept[link.0 as usize]) {
                    let place = |p: u32| self.rest[p as usize];
                    let (way, apart) = (first + second, (place(a) - place(b)).mag());
                    let middle = self.rest[particle];
                    let rest_way = (place(a) - middle).mag() + (place(b) - middle).mag();
                    if apart >= STRAIGHT * rest_way {
                        let through_space = self.straight[particle] && !self.border[particle];
                        // Links that may get longer than at rest let their ends part by as much.
                        join(a, b, if through_space { apart * (way / rest_way) } else { way });
                    }
                }
            }
        }
        let rest = keeps.iter().map(|&p| self.rest[p as usize]).collect();
        let straight = keeps.iter().map(|&p| self.straight[p as usize]).collect();
        let border = keeps.iter().map(|&p| self.border[p as usize]).collect();
        let inv_mass = carried(&self.inv_mass, &keeps, &follows);
        let mut coarser = Self { rest, inv_mass, links, straight, border };
        coarser.tidy();
        Some(Coarsening { mesh: coarser, keeps, follows })
    }

    /// Whom a particle follows: itself if it is kept, else its nearest kept neighbours by 1/distance. Pins follow nobody.
    fn follow(&self, particle: usize, number: &[u32]) -> [(u32, f64); PARENTS] {
        if self.inv_mass[particle] == 0.0 {
            return shared(&[]);
        }
        if number[particle] != u32::MAX {
            return shared(&[(number[particle], 1.0)]);
        }
        let mut near: Vec<(u32, f64)> =
            self.links[particle].iter().copied().filter(|link| number[link.0 as usize] != u32::MAX).collect();
        near.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        near.truncate(PARENTS);
        // Links of no length would take all the weight: they do, together.
        let weight = |length: f64| 1.0 / length.max(f64::MIN_POSITIVE.sqrt());
        let weighted: Vec<_> = near.iter().map(|link| (number[link.0 as usize], weight(link.1))).collect();
        shared(&weighted)
    }

    /// A model of these particles and links, each allowed to be `1 + slack` times as long.
    fn model<S: Real>(&self, slack: f64) -> Result<Model<S>, BuildError> {
        let masses = self.inv_mass.iter().map(|&w| if w > 0.0 { 1.0 / w } else { 1.0 });
        let pins = (0..self.rest.len() as u32).filter(|&p| self.inv_mass[p as usize] == 0.0);
        let mut body = Body::particles(self.rest.iter().map(|&p| p.into())).with_masses(masses).pinned(pins);
        for (a, around) in self.links.iter().enumerate() {
            for &(b, length) in around.iter().filter(|link| link.0 as usize > a) {
                body.tables.distance.push(Role::Stretch, 0, [a as u32, b], [length * (1.0 + slack)]);
            }
        }
        Ok(Model::build_with(&[&body], LayoutChoice::Rows)?.0)
    }
}

/// By particle: whether its body is a solid, or a sheet that lies flat at rest.
fn straight<S: Real>(model: &Model<S>, rest: &[DVec3]) -> Vec<bool> {
    let constraints = model.constraints();
    let elastic = &constraints.elastic;
    let mut first: Vec<Option<DVec3>> = vec![None; model.body_count()];
    let mut straight = vec![false; model.body_count()];
    for &triangle in model.triangles() {
        let [a, b, c] = triangle.map(|p| rest[p as usize]);
        let normal = (b - a).cross(c - a).normalized();
        let body = model.body_of(triangle[0]);
        straight[body] = match first[body] {
            None => true,
            Some(known) => straight[body] && known.dot(normal) > 1.0 - 1e-6,
        };
        first[body] = first[body].or(Some(normal));
    }
    let tets = [constraints.tet_volume.ids(), elastic.corotated_tet.ids(), elastic.neo_hookean_tet.ids()];
    for tet in tets.into_iter().flatten() {
        straight[model.body_of(tet[0])] = true;
    }
    (0..rest.len() as u32).map(|p| straight[model.body_of(p)]).collect()
}

/// By particle: whether it is at an edge with one triangle.
fn border<S: Real>(model: &Model<S>) -> Vec<bool> {
    let sides = model.triangles().iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut sides: Vec<[u32; 2]> = sides.map(|[p, q]| [p.min(q), p.max(q)]).collect();
    sides.sort_unstable();
    let mut border = vec![false; model.particle_count()];
    for group in sides.chunk_by(|a, b| a == b).filter(|group| group.len() == 1) {
        group[0].iter().for_each(|&p| border[p as usize] = true);
    }
    border
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::body::Bending;
    use crate::mesh::{ClothGrid, shuffled_sheet, tube};

    fn of(body: &Body) -> (Model<f64>, Vec<Layer<f64>>) {
        let (model, _) = Model::<f64>::build(&[body]).unwrap();
        let found = layers(&model, 8, 0.0).unwrap();
        (model, found)
    }

    #[test]
    fn shares_add_up_and_masses_are_kept() {
        let grid = Body::cloth(&ClothGrid::square(1.0, 60)).unwrap().pinned([0, 59]);
        let mesh = Body::surface(&shuffled_sheet(40, 1.0, 3).unwrap(), Bending::CrossLinks).unwrap();
        for body in [grid, mesh] {
            let (model, found) = of(&body);
            assert!(found.len() >= 2, "{} layers", found.len());
            let mut below = model;
            for layer in found {
                assert!(3 * layer.model.particle_count() <= 2 * below.particle_count());
                let mut mass = vec![0.0; layer.model.particle_count()];
                for (particle, follows) in layer.follows.iter().enumerate() {
                    let free = below.inv_mass()[particle] > 0.0;
                    let sum: f64 = follows.iter().map(|link| link.1).sum();
                    assert!((sum - f64::from(u8::from(free))).abs() < 1e-12, "particle {particle}: {sum}");
                    for link in follows.iter().filter(|_| free) {
                        mass[link.0 as usize] += link.1 / below.inv_mass()[particle];
                    }
                }
                for (m, w) in mass.iter().zip(layer.model.inv_mass()).filter(|(_, w)| **w > 0.0) {
                    assert!((m * w - 1.0).abs() < 1e-12, "mass {m} and its inverse {w}");
                }
                for (new, &old) in layer.keeps.iter().enumerate() {
                    assert_eq!(layer.model.rest()[new], below.rest()[old as usize]);
                    let pinned = below.inv_mass()[old as usize] == 0.0;
                    assert_eq!(layer.model.inv_mass()[new] == 0.0, pinned);
                }
                below = layer.model;
            }
        }
    }

    #[test]
    fn links_are_never_shorter_than_the_rest_shape() {
        let flat = Body::cloth(&ClothGrid::square(1.0, 40)).unwrap();
        let curved = Body::surface(&tube(0.2, 0.5, 40, 30).unwrap(), Bending::Dihedral).unwrap();
        for (body, exact) in [(flat, true), (curved, false)] {
            for layer in of(&body).1 {
                let set = &layer.model.constraints().distance;
                assert!(set.len() >= layer.model.particle_count() - 1);
                for (ids, &length) in set.ids().iter().zip(&set.parameters()[0]) {
                    let [a, b] = ids.map(|p| DVec3::from(layer.model.rest()[p as usize]));
                    let apart = (a - b).mag();
                    assert!(length >= apart * (1.0 - 1e-12), "{length} for {apart}");
                    assert!(!exact || length <= apart * (1.0 + 1e-12));
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_out_of_what_has_no_links_or_few_particles() {
        assert!(of(&Body::particles((0..100).map(|i| [f64::from(i), 0.0, 0.0]))).1.is_empty());
        assert!(of(&Body::cloth(&ClothGrid::square(1.0, 3)).unwrap()).1.is_empty());
    }
}
