//! Pictures of a state: a small software rasteriser, so that people see what was computed.

mod raster;

use crate::scene::Scene;
use crate::scene::obstacles::Outline;
use pliant::Pose;
use pliant::core::body::Role;
use raster::{Canvas, cross, dot, minus, unit};

/// Samples a pixel and axis: edges are smoothed by averaging.
const SAMPLES: usize = 2;
/// Share of the picture left free on each side.
const MARGIN: f64 = 0.08;
/// From the scene to the camera: front, from the right and from above.
const TOWARDS_CAMERA: [f64; 3] = [0.45, 0.38, 1.0];
/// Colours of the sides of a surface, red, green and blue from 0 to 1.
const FRONT: [f64; 3] = [0.86, 0.30, 0.24];
const BACK: [f64; 3] = [0.93, 0.70, 0.42];
/// Colour of colliders.
const SOLID: [f64; 3] = [0.62, 0.66, 0.72];

/// Colours of rigid bodies that move, in turn.
const SOLIDS: [[f64; 3]; 5] =
    [[0.36, 0.55, 0.74], [0.93, 0.70, 0.42], [0.46, 0.66, 0.45], [0.86, 0.30, 0.24], [0.58, 0.46, 0.68]];

/// A scene's bodies at these positions and poses, and its colliders after `time` \[s\], as a PNG file of `[width, height]`
/// pixels.
pub fn picture(scene: &Scene, positions: &[[f64; 3]], poses: &[Pose], time: f64, size: [usize; 2]) -> Vec<u8> {
    let [width, height] = size.map(|pixels| pixels * SAMPLES);
    let towards = unit(TOWARDS_CAMERA);
    let right = unit(cross([0.0, 1.0, 0.0], towards));
    let up = cross(towards, right);
    let outlines = outlines(scene, positions, poses, time);
    let all = positions.iter().chain(outlines.iter().flat_map(|((points, _), _)| points));
    let seen: Vec<[f64; 3]> = all.map(|&p| [dot(p, right), dot(p, up), dot(p, towards)]).collect();
    let points = fit(&seen, width, height);

    let mut canvas = Canvas::new(width, height);
    for (first, body) in scene.placed() {
        if body.triangles().is_empty() {
            let links = &body.tables().distance;
            for (ids, _) in links.ids.iter().zip(&links.role).filter(|(_, role)| **role == Role::Stretch) {
                canvas.rod(ids.map(|i| points[(i + first) as usize]), 0.008 * height as f64, FRONT);
            }
            continue;
        }
        let triangles: Vec<_> = body.triangles().iter().map(|t| t.map(|i| (i + first) as usize)).collect();
        let normals = normals(&triangles, &seen);
        for triangle in &triangles {
            canvas.triangle(triangle.map(|i| points[i]), triangle.map(|i| normals[i]), [FRONT, BACK]);
        }
    }
    let mut first = positions.len();
    for ((outline, triangles), colour) in &outlines {
        let triangles: Vec<_> = triangles.iter().map(|t| t.map(|i| i + first)).collect();
        let normals = normals(&triangles, &seen);
        for triangle in &triangles {
            canvas.triangle(triangle.map(|i| points[i]), triangle.map(|i| normals[i]), [*colour, *colour]);
        }
        first += outline.len();
    }
    png(&canvas.averaged(SAMPLES), size)
}

/// Surfaces of colliders and rigid bodies with their colours.
fn outlines(scene: &Scene, positions: &[[f64; 3]], poses: &[Pose], time: f64) -> Vec<(Outline, [f64; 3])> {
    let mut all: Vec<_> =
        scene.obstacles.iter().filter_map(|obstacle| Some((obstacle.outline(time)?, SOLID))).collect();
    for (row, (solid, &pose)) in scene.solids.iter().zip(poses).enumerate() {
        all.push((solid.placed(pose), if solid.is_dynamic() { SOLIDS[row % SOLIDS.len()] } else { SOLID }));
    }
    let points: Vec<_> = positions.iter().chain(all.iter().flat_map(|((points, _), _)| points)).copied().collect();
    let grounds = scene.obstacles.iter().map(|obstacle| obstacle.ground(time, &points));
    all.extend(
        grounds.chain(scene.solids.iter().map(|solid| solid.ground(&points))).flatten().map(|ground| (ground, SOLID)),
    );
    all
}

/// Camera coordinates to pixels, so that everything is inside; the third number grows towards the camera.
fn fit(seen: &[[f64; 3]], width: usize, height: usize) -> Vec<[f64; 3]> {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for p in seen {
        for k in 0..2 {
            low[k] = low[k].min(p[k]);
            high[k] = high[k].max(p[k]);
        }
    }
    let [width, height] = [width as f64, height as f64];
    let room = 1.0 - 2.0 * MARGIN;
    let extent = [0, 1].map(|k| (high[k] - low[k]).max(1e-9));
    let scale = (room * width / extent[0]).min(room * height / extent[1]);
    let middle = [0, 1].map(|k| 0.5 * (low[k] + high[k]));
    seen.iter()
        .map(|p| [0.5 * width + (p[0] - middle[0]) * scale, 0.5 * height - (p[1] - middle[1]) * scale, p[2] * scale])
        .collect()
}

/// Unit normals of the vertices, weighted by area.
fn normals(triangles: &[[usize; 3]], x: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let mut sums = vec![[0.0; 3]; x.len()];
    for t in triangles {
        let normal = cross(minus(x[t[1]], x[t[0]]), minus(x[t[2]], x[t[0]]));
        for &i in t {
            sums[i] = [0, 1, 2].map(|k| sums[i][k] + normal[k]);
        }
    }
    sums.into_iter().map(unit).collect()
}

fn png(pixels: &[u8], [width, height]: [usize; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    // Writing to memory fails only for wrong sizes, and the canvas has the size given here.
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels));
    debug_assert!(written.is_ok(), "the canvas has the size of the picture");
    bytes
}
