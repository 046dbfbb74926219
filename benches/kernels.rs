//! Criterion timings of single kinds on every backend: the first frame of ten substeps, from rest, again and again.
//!
//! `cargo bench --bench kernels -- --warm-up-time 0.5 --measurement-time 2`; a reading is in `benches/results/kernels.md`.

mod support;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pliant::backends::AnyBackend;
use pliant::core::body::{Bending, Body, Elasticity, Law, StretchRange};
use pliant::core::kinds::Orthotropic;
use pliant::core::mesh::{ClothGrid, Split, tet_box};
use pliant::core::schedule::LayoutChoice;
use support::{Run, curtain};

/// Substeps of a frame: enough that packing the state does not count.
const SUBSTEPS: usize = 10;

/// The same body by its other constraints alone.
fn without_links(mut body: Body) -> Body {
    body.tables_mut().distance = Default::default();
    body
}

fn kinds(c: &mut Criterion) {
    let grid = ClothGrid::square(1.0, 64).build().expect("a valid grid");
    let hinges = |bending| without_links(Body::surface(&grid.mesh, bending).expect("a manifold mesh").pinned([0, 63]));
    let solid = Body::solid(&tet_box([16, 8, 8], [2.0, 1.0, 1.0], Split::Five).expect("a valid box"));
    let volumes = without_links(solid.expect("a valid solid"));
    let (cloth, warp) = (Orthotropic { young: [2e5, 1e5], poisson: 0.2, shear: 2e4 }, [1.0, 0.0, 0.0]);
    let range = Some(StretchRange { lower: 0.9, upper: 1.1 });
    let woven = Body::woven_sheet(&grid.mesh, &cloth, 1e-3, warp, Bending::None).expect("a flat mesh");
    let woven = woven.with_stretch_limits(warp, range, range).expect("a flat mesh").pinned([0, 63]);
    let elastic = |law| {
        let elasticity = Elasticity { law, young: 1e5, poisson: 0.3 };
        Body::elastic_solid(&tet_box([16, 8, 8], [2.0, 1.0, 1.0], Split::Five).expect("a valid box"), elasticity)
            .expect("a valid solid")
    };
    let scenes = [
        ("links, contiguous", curtain(64), LayoutChoice::Auto),
        ("links, indexed", curtain(64), LayoutChoice::Rows),
        ("angles", hinges(Bending::Dihedral), LayoutChoice::Auto),
        ("quadratic bending", hinges(Bending::Isometric), LayoutChoice::Auto),
        ("cotangent bending", hinges(Bending::Cotangent), LayoutChoice::Auto),
        ("woven triangles", woven, LayoutChoice::Auto),
        ("corotated tets", elastic(Law::Corotated), LayoutChoice::Auto),
        ("neo-Hookean tets", elastic(Law::NeoHookean), LayoutChoice::Auto),
        ("tet volumes", volumes, LayoutChoice::Auto),
    ];
    for (scene, body, layout) in scenes {
        let mut group = c.benchmark_group(scene);
        for name in AnyBackend::<f32>::names() {
            let backend = AnyBackend::<f32>::by_name(name, None).expect("a listed name");
            let mut run = Run::new(&body, layout, SUBSTEPS, backend);
            group.throughput(Throughput::Elements((SUBSTEPS * run.model.constraints().len()) as u64));
            // What runs for thousands of frames goes anywhere: every frame starts from rest.
            let start = run.particles.clone();
            group.bench_function(BenchmarkId::from_parameter(name), |b| {
                b.iter_batched(|| start.clone(), |particles| run.frame_from(particles), BatchSize::LargeInput);
            });
        }
        group.finish();
    }
}

criterion_group!(benches, kinds);
criterion_main!(benches);
