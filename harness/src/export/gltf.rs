//! One animated glTF 2.0 file: every saved step is a morph target, and an animation fades from one to the next.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Frame, Shape};
use crate::failure::Failure;
use crate::scene::Scene;

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;

/// The bytes behind a file, and who reads which part.
#[derive(Default)]
struct Store {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Store {
    fn add(&mut self, kind: &str, component: u32, count: usize, bytes: impl IntoIterator<Item = [u8; 4]>) -> usize {
        let start = self.bytes.len();
        self.bytes.extend(bytes.into_iter().flatten());
        self.views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": self.bytes.len() - start}));
        let view = self.views.len() - 1;
        self.accessors.push(json!({"bufferView": view, "componentType": component, "count": count, "type": kind}));
        view
    }

    /// Positions must state their bounds.
    fn vectors(&mut self, vectors: &[[f32; 3]]) -> usize {
        let at = self.add("VEC3", FLOAT, vectors.len(), vectors.iter().flatten().map(|c| c.to_le_bytes()));
        let bound =
            |pick: fn(f32, f32) -> f32| [0, 1, 2].map(|k| vectors.iter().map(|v| v[k]).reduce(pick).unwrap_or(0.0));
        self.accessors[at]["min"] = json!(bound(f32::min));
        self.accessors[at]["max"] = json!(bound(f32::max));
        at
    }

    fn numbers(&mut self, numbers: &[f32]) -> usize {
        let at = self.add("SCALAR", FLOAT, numbers.len(), numbers.iter().map(|c| c.to_le_bytes()));
        let bound = |pick: fn(f32, f32) -> f32| [numbers.iter().copied().reduce(pick).unwrap_or(0.0)];
        self.accessors[at]["min"] = json!(bound(f32::min));
        self.accessors[at]["max"] = json!(bound(f32::max));
        at
    }
}

/// The file's text.
pub fn text(scene: &Scene, shape: &Shape, frames: &[Frame]) -> Result<String, Failure> {
    let Some((first, later)) = frames.split_first() else {
        return Err(Failure::Input("there is no saved step to export".to_owned()));
    };
    let mut store = Store::default();
    let single = |p: &[f64; 3]| p.map(|c| c as f32);
    let start: Vec<_> = first.positions.iter().map(single).collect();
    let base = store.vectors(&start);
    let targets: Vec<Value> = later
        .iter()
        .map(|frame| {
            let moved = frame.positions.iter().zip(&start).map(|(p, s)| [0, 1, 2].map(|k| single(p)[k] - s[k]));
            json!({"POSITION": store.vectors(&moved.collect::<Vec<_>>())})
        })
        .collect();
    let mut primitives = Vec::new();
    let mut primitive = |mode: u32, ids: Vec<u32>, store: &mut Store| {
        if !ids.is_empty() {
            let indices = store.add("SCALAR", UNSIGNED_INT, ids.len(), ids.iter().map(|i| i.to_le_bytes()));
            primitives.push(json!({
                "attributes": {"POSITION": base}, "indices": indices, "mode": mode, "material": 0, "targets": targets,
            }));
        }
    };
    primitive(4, shape.triangles.iter().flatten().copied().collect(), &mut store);
    primitive(1, shape.links.iter().flatten().copied().collect(), &mut store);
    if primitives.is_empty() {
        return Err(Failure::Input("the scene has neither triangles nor links to show".to_owned()));
    }

    let mut file = json!({
        "asset": {"version": "2.0", "generator": "pliant"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": scene.name}],
        "meshes": [{"primitives": primitives, "weights": vec![0.0; later.len()]}],
        "materials": [{
            "doubleSided": true,
            "pbrMetallicRoughness": {"baseColorFactor": [0.72, 0.07, 0.05, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.7},
        }],
    });
    if !later.is_empty() {
        let times: Vec<f32> = frames.iter().map(|frame| (frame.step as f64 * scene.dt) as f32).collect();
        // At time k target k − 1 alone has weight.
        let weights =
            (0..frames.len()).flat_map(|k| (0..later.len()).map(move |target| if target + 1 == k { 1.0 } else { 0.0 }));
        let (input, output) = (store.numbers(&times), store.numbers(&weights.collect::<Vec<_>>()));
        file["animations"] = json!([{
            "samplers": [{"input": input, "output": output, "interpolation": "LINEAR"}],
            "channels": [{"sampler": 0, "target": {"node": 0, "path": "weights"}}],
        }]);
    }
    let uri = format!("data:application/octet-stream;base64,{}", STANDARD.encode(&store.bytes));
    file["buffers"] = json!([{"byteLength": store.bytes.len(), "uri": uri}]);
    file["bufferViews"] = json!(store.views);
    file["accessors"] = json!(store.accessors);
    Ok(file.to_string())
}
