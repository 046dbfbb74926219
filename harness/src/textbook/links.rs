//! The plain loop over distance links: what one writes first. An array of structures, natural order, one link after the
//! other, exact square roots and divisions. The baseline of every speed-up in this project.
//!
//! The benches of the facade include this very file (`benches/support/textbook.rs`), since they cannot depend on the
//! harness: both measure against the same loop.

use pliant::core::lane::Real;
use pliant::core::vec3::Vec3;

/// Everything a loop over constraints needs of one particle, side by side in memory.
#[derive(Clone, Copy)]
pub struct Point<S> {
    /// Position \[m\].
    pub x: Vec3<S>,
    /// Position at the start of the substep \[m\].
    pub start: Vec3<S>,
    /// Velocity \[m/s\].
    pub v: Vec3<S>,
    /// Inverse mass \[1/kg\]; 0 for pins.
    pub w: S,
}

/// A distance link.
#[derive(Clone, Copy)]
pub struct Link<S> {
    /// First end.
    pub a: u32,
    /// Other end.
    pub b: u32,
    /// Rest length \[m\].
    pub rest: S,
    /// Compliance α \[m/N\].
    pub compliance: S,
    /// Multiplier λ of the substep.
    pub lambda: S,
}

/// λ = 0 for a new substep.
pub fn begin<S: Real>(links: &mut [Link<S>]) {
    for link in links {
        link.lambda = S::ZERO;
    }
}

/// One pass of XPBD over the links in a substep of length `h` \[s\].
pub fn project<S: Real>(points: &mut [Point<S>], links: &mut [Link<S>], h: S) {
    for link in links {
        let (a, b) = (link.a as usize, link.b as usize);
        let d = points[a].x - points[b].x;
        let length = d.length();
        let (wa, wb) = (points[a].w, points[b].w);
        let alpha = link.compliance / (h * h);
        let weight = wa + wb + alpha;
        if length == S::ZERO || weight == S::ZERO {
            continue;
        }
        let n = Vec3::new(d.x / length, d.y / length, d.z / length);
        // Δλ = (−C − α̃ λ)/(w₀ + w₁ + α̃)   [METHODS 8; Macklin16]
        let delta = (link.rest - length - alpha * link.lambda) / weight;
        link.lambda = link.lambda + delta;
        points[a].x = points[a].x + n * (wa * delta);
        points[b].x = points[b].x - n * (wb * delta);
    }
}
