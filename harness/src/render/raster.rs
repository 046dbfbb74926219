//! A canvas with a depth buffer: shaded triangles and rods.

/// Where the main light comes from, in camera coordinates (right, up, towards the camera).
const LIGHT: [f64; 3] = [-0.45, 0.65, 0.62];

pub struct Canvas {
    width: usize,
    height: usize,
    colour: Vec<[f64; 3]>,
    depth: Vec<f64>,
}

impl Canvas {
    /// An empty canvas with a soft gradient behind it.
    pub fn new(width: usize, height: usize) -> Self {
        let row = |y: usize| {
            let t = y as f64 / height as f64;
            [0.965 - 0.10 * t, 0.972 - 0.09 * t, 0.985 - 0.07 * t]
        };
        let colour = (0..height).flat_map(|y| std::iter::repeat_n(row(y), width)).collect();
        Self { width, height, colour, depth: vec![f64::NEG_INFINITY; width * height] }
    }

    /// A triangle with interpolated normals, lit from both sides; `sides` colours front and back.
    pub fn triangle(&mut self, p: [[f64; 3]; 3], n: [[f64; 3]; 3], sides: [[f64; 3]; 2]) {
        let area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
        if !area.is_finite() || area == 0.0 {
            return;
        }
        let [columns, rows] = self.reach(p.as_slice(), 0.0);
        for y in rows {
            for x in columns.clone() {
                let (px, py) = (x as f64 + 0.5, y as f64 + 0.5);
                let edge =
                    |a: [f64; 3], b: [f64; 3]| ((b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0])) / area;
                let w = [edge(p[1], p[2]), edge(p[2], p[0]), edge(p[0], p[1])];
                if w.iter().all(|&w| w >= 0.0) {
                    let mix = |v: [f64; 3]| w[0] * v[0] + w[1] * v[1] + w[2] * v[2];
                    let normal = unit([0, 1, 2].map(|k| mix([n[0][k], n[1][k], n[2][k]])));
                    let facing = normal[2] >= 0.0;
                    let normal = if facing { normal } else { normal.map(|c| -c) };
                    let depth = mix([p[0][2], p[1][2], p[2][2]]);
                    self.put(x, y, depth, shade(sides[usize::from(!facing)], normal));
                }
            }
        }
    }

    /// A round rod between two points.
    pub fn rod(&mut self, [a, b]: [[f64; 3]; 2], radius: f64, colour: [f64; 3]) {
        let [columns, rows] = self.reach(&[a, b], radius);
        let d = minus(b, a);
        let length_sq = d[0] * d[0] + d[1] * d[1];
        for y in rows {
            for x in columns.clone() {
                let r = [x as f64 + 0.5 - a[0], y as f64 + 0.5 - a[1]];
                let t = if length_sq > 0.0 { ((r[0] * d[0] + r[1] * d[1]) / length_sq).clamp(0.0, 1.0) } else { 0.0 };
                let away = [(r[0] - t * d[0]) / radius, (r[1] - t * d[1]) / radius];
                let rest = 1.0 - away[0] * away[0] - away[1] * away[1];
                if rest > 0.0 {
                    let height = rest.sqrt();
                    // Pixels count downwards, normals upwards.
                    self.put(x, y, a[2] + t * d[2] + radius * height, shade(colour, [away[0], -away[1], height]));
                }
            }
        }
    }

    /// Columns and rows that points may touch.
    fn reach(&self, points: &[[f64; 3]], by: f64) -> [std::ops::Range<usize>; 2] {
        [(0, self.width), (1, self.height)].map(|(k, limit)| {
            let low = points.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min) - by;
            let high = points.iter().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max) + by;
            // A cast from a float saturates, so that points far outside are no problem.
            (low.floor().max(0.0) as usize).min(limit)..(high.ceil().max(0.0) as usize).min(limit)
        })
    }

    fn put(&mut self, x: usize, y: usize, depth: f64, colour: [f64; 3]) {
        let at = y * self.width + x;
        if depth > self.depth[at] {
            self.depth[at] = depth;
            self.colour[at] = colour;
        }
    }

    /// Bytes of the picture after averaging squares of `samples` × `samples`.
    pub fn averaged(&self, samples: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(3 * self.colour.len() / (samples * samples));
        for y in (0..self.height).step_by(samples) {
            for x in (0..self.width).step_by(samples) {
                for k in 0..3 {
                    let square = (0..samples).flat_map(|j| (0..samples).map(move |i| (j, i)));
                    let sum: f64 = square.map(|(j, i)| self.colour[(y + j) * self.width + x + i][k]).sum();
                    bytes.push((255.0 * sum / (samples * samples) as f64).clamp(0.0, 255.0).round() as u8);
                }
            }
        }
        bytes
    }
}

/// Light from one side, a little from everywhere, and a soft shine.
fn shade(colour: [f64; 3], normal: [f64; 3]) -> [f64; 3] {
    let light = unit(LIGHT);
    let lit = dot(normal, light).max(0.0);
    let half = unit([light[0], light[1], light[2] + 1.0]);
    let shine = 0.25 * dot(normal, half).max(0.0).powi(40);
    let sky = 0.5 + 0.5 * normal[1];
    colour.map(|c| (c * (0.22 + 0.18 * sky + 0.68 * lit) + shine).min(1.0))
}

pub fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The vector at length one; a vector without length faces the camera.
pub fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = dot(v, v).sqrt();
    if length > 0.0 && length.is_finite() { v.map(|c| c / length) } else { [0.0, 0.0, 1.0] }
}
