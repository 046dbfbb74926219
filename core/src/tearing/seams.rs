//! Seams: the edges of a surface, and which of them are stretched too far.

use super::cut::{Fans, tear};
use super::{Tearing, Torn};
use crate::body::{Body, Role};
use crate::columns::Columns;
use crate::constraint::Radial;
use crate::kinds::Distance;
use crate::lane::Real;
use crate::mesh::Topology;
use crate::model::Model;
use crate::vec3::Vec3;

/// The edges of a surface that may tear, with the links that say how long they are at rest.
#[derive(Clone, Debug)]
pub struct Seams {
    tearing: Tearing,
    /// By the body's own numbers, lower first, sorted.
    edges: Vec<[u32; 2]>,
    /// The row of the body's links along each edge, if there is one.
    links: Vec<Option<u32>>,
    /// Length at rest of edges without a link \[m\].
    lengths: Vec<f64>,
    fans: Fans,
}

/// An edge that is stretched too far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overstretched {
    /// Its ends, by the body's own numbers.
    pub edge: [u32; 2],
    /// Stretch over the rest length \[1\].
    pub strain: f64,
    /// How many times the threshold it is \[1\].
    pub load: f64,
}

/// The edges of a body's surface.
pub(super) fn edges(body: &Body) -> Topology {
    Topology::new(body.triangles())
}

impl Seams {
    /// The seams of a body; nothing when it does not tear.
    pub fn new(body: &Body) -> Option<Self> {
        let tearing = *body.tearing()?;
        let edges = edges(body).edges;
        let links = &body.tables().distance;
        // Where several links lie along an edge, the one that resists stretch counts, and of those the first.
        let mut rows: Vec<([u32; 2], bool, u32)> = (links.ids.iter().zip(&links.role).enumerate())
            .map(|(row, (&[a, b], role))| ([a.min(b), a.max(b)], *role != Role::Stretch, row as u32))
            .collect();
        rows.sort_unstable();
        let link = |edge: &[u32; 2]| {
            let at = rows.partition_point(|(ids, ..)| ids < edge);
            rows.get(at).filter(|(ids, ..)| ids == edge).map(|&(_, _, row)| row)
        };
        let length =
            |&[a, b]: &[u32; 2]| (Vec3::from(body.rest[a as usize]) - Vec3::from(body.rest[b as usize])).length();
        let (links, lengths) = (edges.iter().map(link).collect(), edges.iter().map(length).collect());
        let fans = Fans::new(body.triangles(), body.particle_count());
        Some(Self { tearing, edges, links, lengths, fans })
    }

    /// The edges, lower end first, sorted.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }
    pub(super) fn links(&self) -> &[Option<u32>] {
        &self.links
    }
    /// When they tear.
    pub fn tearing(&self) -> &Tearing {
        &self.tearing
    }

    /// Tears the first of these edges that can be torn, as many as a step may and none next to another; nothing when there is
    /// none. `x` are the positions of the model, in which the first vertex of the body is `first`.
    pub fn tear<S: Real>(&self, body: &Body, found: &[Overstretched], x: &Columns<S>, first: usize) -> Option<Torn> {
        let place = |v: u32| x.get(first + v as usize).map(S::to_f64);
        let mut torn: Option<Torn> = None;
        for &Overstretched { edge, strain, .. } in found {
            let so_far = torn.as_ref();
            if so_far.is_some_and(|torn| torn.tears().len() >= self.tearing.most) {
                break;
            }
            // Around vertices that no tear has touched, triangles are as they were.
            if so_far.is_some_and(|torn| torn.touches(edge)) || tear(&self.fans, edge, &place).is_err() {
                continue;
            }
            let torn = torn.get_or_insert_with(|| Torn::new(body));
            torn.tear_strained(edge, strain, place).ok()?;
        }
        torn
    }

    /// Lists the edges of body `body` of a model that are stretched too far, the most overloaded first. Allocates nothing while
    /// there are none. Links count by their rest lengths of now: what flows does not tear.
    pub fn find<S: Real>(&self, model: &Model<S>, body: usize, x: &Columns<S>, found: &mut Vec<Overstretched>) {
        found.clear();
        let set = &model.constraints().distance;
        let (first, first_row) = (model.body(body).unwrap_or_default().start, set.plastic().first_row(body));
        let [weak_strain, weak_force] = [self.tearing.strain, self.tearing.force].map(|t| t.map(|t| 1.0 / t));
        for (i, &edge) in self.edges.iter().enumerate() {
            let [a, b] = edge.map(|p| Vec3::from(x.get(first + p as usize)));
            let row = self.links[i].map(|link| (first_row + link) as usize);
            let rest = row.map_or(S::from_f64(self.lengths[i]), |row| set.parameters()[0][row]);
            let stretch = Distance::value(rest, (a - b).length()).to_f64();
            if !(stretch > 0.0 && rest > S::ZERO) {
                continue;
            }
            let strain = stretch / rest.to_f64();
            let force = row.map_or(0.0, |row| stretch / set.compliance()[row].to_f64());
            let load = (weak_strain.unwrap_or(0.0) * strain).max(weak_force.map_or(0.0, |weak| weak * force));
            if load > 1.0 {
                found.push(Overstretched { edge, strain, load });
            }
        }
        found.sort_unstable_by(|p, q| q.load.total_cmp(&p.load).then(p.edge.cmp(&q.edge)));
    }
}
