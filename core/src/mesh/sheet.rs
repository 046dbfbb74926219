//! An unstructured sheet for tests and benchmarks: a cloth whose numbering gives no help.

use super::error::MeshError;
use super::tri::TriMesh;
use super::validate::{check_at_least, check_size, check_vertex_count};
use std::f64::consts::FRAC_1_SQRT_2;
use ultraviolet::DVec3;

/// How far an inner vertex may stray, as a share of the grid's spacing. Well below ½, where triangles could flip.
const JITTER: f64 = 0.25;

/// A square sheet of `n` × `n` vertices and side `side` \[m\] in the plane y = 0, normals to +y, made irregular: inner
/// vertices are moved by up to a quarter of the spacing, each cell's diagonal is drawn by lot, and the vertex ids and
/// the order of the triangles are shuffled.
///
/// The same seed gives the same bits on every machine.
///
/// # Errors
/// [`MeshError::BadParameter`] for `n` below 2 or a side that is not positive and finite,
/// [`MeshError::TooManyVertices`] for more than 32-bit ids can name.
pub fn shuffled_sheet(n: usize, side: f64, seed: u64) -> Result<TriMesh, MeshError> {
    check_at_least("n", n, 2, "at least 2 vertices a side")?;
    check_size("side", side)?;
    let vertex_count = check_vertex_count(n.checked_mul(n))?;
    let mut random = SplitMix64(seed);

    let spacing = side / (n - 1) as f64;
    let mut ids: Vec<u32> = (0..vertex_count as u32).collect();
    random.shuffle(&mut ids);
    let id = |i: usize, j: usize| ids[j * n + i];

    let mut positions = vec![DVec3::zero(); vertex_count];
    for j in 0..n {
        for i in 0..n {
            let is_inner = i.min(j) > 0 && i.max(j) < n - 1;
            // Each axis takes its share, so that the whole displacement stays within the limit.
            let reach = if is_inner { JITTER * FRAC_1_SQRT_2 } else { 0.0 };
            let (dx, dz) = (reach * random.signed_unit(), reach * random.signed_unit());
            positions[id(i, j) as usize] = DVec3::new((i as f64 + dx) * spacing, 0.0, (j as f64 + dz) * spacing);
        }
    }

    let mut triangles = Vec::with_capacity(2 * (n - 1) * (n - 1));
    for j in 0..n - 1 {
        for i in 0..n - 1 {
            let [a, b] = [id(i, j), id(i + 1, j)];
            let [c, d] = [id(i, j + 1), id(i + 1, j + 1)];
            triangles.extend(if random.next().is_multiple_of(2) {
                [[a, c, d], [a, d, b]]
            } else {
                [[a, c, b], [b, c, d]]
            });
        }
    }
    random.shuffle(&mut triangles);
    TriMesh::new(positions, triangles)
}

/// The splitmix64 generator (Steele, Lea and Flood 2014): tiny, and the same everywhere.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [−1, 1): the upper 53 bits, all that f64 can hold.
    fn signed_unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Fisher–Yates. The remainder's bias is below 2⁻³² for any list of ours.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            items.swap(last, other as usize);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_numbers() {
        let mut random = SplitMix64(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_sheet_covers_its_square_without_folds() {
        for seed in 0..20 {
            let sheet = shuffled_sheet(15, 2.0, seed).unwrap();
            assert_eq!(sheet.vertex_count(), 225);
            assert_eq!(sheet.triangle_count(), 2 * 14 * 14);
            assert!((sheet.area() - 4.0).abs() < 1e-12);
            let spacing = 2.0 / 14.0;
            for t in sheet.triangles() {
                let [a, b, c] = t.map(|v| sheet.positions()[v as usize]);
                let area = 0.5 * (b - a).cross(c - a).y;
                assert!(area > 0.1 * spacing * spacing, "well shaped and facing up");
            }
            assert_eq!(sheet.topology().unwrap().boundary.len(), 4 * 14);
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        let sheet = shuffled_sheet(9, 1.0, 7).unwrap();
        assert_eq!(sheet, shuffled_sheet(9, 1.0, 7).unwrap());
        assert_ne!(sheet, shuffled_sheet(9, 1.0, 8).unwrap());
        let neighbours = |edges: &[[u32; 2]]| edges.iter().filter(|e| e[1] - e[0] == 1).count();
        let edges = sheet.topology().unwrap().edges;
        assert!(neighbours(&edges) < edges.len() / 4, "ids are shuffled");
    }

    #[test]
    fn bad_parameters_are_named() {
        let error = shuffled_sheet(1, 1.0, 0).unwrap_err();
        assert!(matches!(error, MeshError::BadParameter { name: "n", .. }));
        let error = shuffled_sheet(5, f64::INFINITY, 0).unwrap_err();
        assert!(matches!(error, MeshError::BadParameter { name: "side", .. }));
        let error = shuffled_sheet(1 << 40, 1.0, 0).unwrap_err();
        assert!(matches!(error, MeshError::TooManyVertices { .. }));
    }
}
