//! Unfolding: a patch of a surface laid into a plane, triangle by triangle, every edge as long as before.

use std::collections::{BTreeMap, VecDeque};

use super::TriMesh;
use ultraviolet::{DVec2, DVec3};

/// Corners that meet around a vertex of a curved surface do not close up in a plane: triangles whose edges would change by more
/// than this share are left out.
const MISFIT: f64 = 0.01;

impl TriMesh {
    /// About `most` triangles around the middle of the mesh as a flat mesh in the plane y = 0, with `warp` along x; nothing when
    /// the mesh is not manifold or the warp has no part in the surface there.
    pub(super) fn unfolded(&self, warp: [f64; 3], most: usize) -> Option<Self> {
        let (x, triangles) = (self.positions(), self.triangles());
        let seed = self.middle()?;
        let [a, b, c] = triangles[seed].map(|p| x[p as usize]);
        let normal = (b - a).cross(c - a).normalized();
        let across = DVec3::from(warp).cross(normal);
        if across.mag_sq() <= 1e-12 * DVec3::from(warp).mag_sq() {
            return None;
        }
        let across = across.normalized();
        let along = normal.cross(across);

        let mut neighbours = vec![Vec::new(); triangles.len()];
        for &[t, u] in &self.topology().ok()?.hinge_triangles {
            neighbours[t as usize].push(u as usize);
            neighbours[u as usize].push(t as usize);
        }
        let mut places: BTreeMap<u32, DVec2> = BTreeMap::new();
        for p in triangles[seed] {
            let d = x[p as usize] - a;
            places.insert(p, DVec2::new(d.dot(along), d.dot(across)));
        }
        let (mut queue, mut seen, mut kept) = (VecDeque::from([seed]), vec![false; triangles.len()], Vec::new());
        seen[seed] = true;
        while let Some(t) = queue.pop_front().filter(|_| kept.len() < 2 * most) {
            kept.push(triangles[t]);
            for &u in &neighbours[t] {
                if !seen[u] && self.place(triangles[t], triangles[u], &mut places) {
                    seen[u] = true;
                    queue.push_back(u);
                }
            }
        }
        // Growing from neighbour to neighbour makes a diamond; its inner square has half its area, and two pairs of parallel sides.
        let corners = |t: &[u32; 3]| t.map(|p| places[&p]);
        let twice_area = |t: &[u32; 3]| {
            let [a, b, c] = corners(t);
            ((b - a).x * (c - a).y - (b - a).y * (c - a).x).abs()
        };
        let half = 0.25 * kept.iter().map(twice_area).sum::<f64>().sqrt();
        let centre = corners(&triangles[seed]).iter().fold(DVec2::zero(), |sum, &p| sum + p) / 3.0;
        let whole = kept.len() == triangles.len();
        kept.retain(|t| {
            let d = corners(t).iter().fold(DVec2::zero(), |sum, &p| sum + p) / 3.0 - centre;
            whole || d.x.abs() <= half && d.y.abs() <= half
        });
        let number: BTreeMap<u32, u32> = places.keys().zip(0..).map(|(&p, new)| (p, new)).collect();
        let flat: Vec<DVec3> = places.values().map(|p| DVec3::new(p.x, 0.0, p.y)).collect();
        let kept: Vec<[u32; 3]> = kept.iter().map(|t| t.map(|p| number[&p])).collect();
        Some(Self::new(flat, kept).ok()?.compacted().0)
    }

    /// The triangle nearest to the middle of the box around the mesh.
    fn middle(&self) -> Option<usize> {
        let x = self.positions();
        let first = *x.first()?;
        let (low, high) =
            x.iter().fold((first, first), |(low, high), &p| (low.min_by_component(p), high.max_by_component(p)));
        let away = |t: &[u32; 3]| {
            let centre = t.iter().fold(DVec3::zero(), |sum, &p| sum + x[p as usize]) / 3.0;
            (centre - 0.5 * (low + high)).mag_sq()
        };
        (0..self.triangle_count()).min_by(|&t, &u| away(&self.triangles()[t]).total_cmp(&away(&self.triangles()[u])))
    }

    /// Lays triangle `next` beside `placed`, which has been; says whether it fits.
    fn place(&self, placed: [u32; 3], next: [u32; 3], places: &mut BTreeMap<u32, DVec2>) -> bool {
        let x = |p: u32| self.positions()[p as usize];
        let Some(tip) = next.into_iter().find(|p| !placed.contains(p)) else { return false };
        let Some(other) = placed.into_iter().find(|p| !next.contains(p)) else { return false };
        let mut shared = next.into_iter().filter(|&p| p != tip);
        let (Some(p), Some(q)) = (shared.next(), shared.next()) else { return false };
        if let Some(&at) = places.get(&tip) {
            // Reached from another side as well: it fits if its edges have their lengths.
            return [p, q].iter().all(|end| {
                let (flat, true_length) = ((at - places[end]).mag(), (x(tip) - x(*end)).mag());
                (flat - true_length).abs() <= MISFIT * true_length
            });
        }
        let edge = x(q) - x(p);
        let foot = (x(tip) - x(p)).dot(edge) / edge.mag_sq();
        let height = (x(tip) - x(p) - edge * foot).mag();
        let flat = places[&q] - places[&p];
        let side = DVec2::new(-flat.y, flat.x).normalized();
        // Away from the triangle it is laid beside.
        let side = if side.dot(places[&other] - places[&p]) > 0.0 { -side } else { side };
        places.insert(tip, places[&p] + flat * foot + side * height);
        true
    }
}
