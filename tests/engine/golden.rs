//! Golden states: the bits of a few scenes after 60 steps, the same on every machine, build and day.
//!
//! A change here means that results changed: on purpose (a better order, another formula) or by accident. When it was on
//! purpose, print the new table and paste it over [`GOLDEN`]:
//!
//! ```text
//! PLIANT_BLESS=1 cargo test --test engine golden -- --nocapture
//! ```

use pliant::backends::AnyBackend;
use pliant::core::schedule::LayoutChoice;

use crate::scenes::{Method, giants, zoo};

/// Scene, hash after XPBD of 3 × 1 in f32, hash after PBD of 1 × 3 in f32.
#[rustfmt::skip]
const GOLDEN: &[(&str, u64, u64)] = &[
    ("rigid curtain", 0x4e3be5b04ef80f58, 0x4ffcf5eba2b848f8),
    ("soft curtain", 0xa885b500ce338692, 0x4ffcf5eba2b848f8),
    ("flag in the wind", 0x7633ffed9ddc436f, 0x57c9b7cb3d845b34),
    ("shuffled sheet", 0x29e2cc78a226b39c, 0x1ff93cdbbb376fe5),
    ("rope with a heavy end", 0x8933e28c47667cf2, 0xd439e8f5dc2655f0),
    ("jelly bar of six tets a cell", 0x04f41ba68948c67b, 0xa54f6e5b80359b41),
    ("jelly bar of five tets a cell", 0x824d38c22d8c3997, 0xf1a1bcfcd781c08c),
    ("balloon", 0x24b42e50e1390228, 0xd18ad0ecb5f01da1),
    ("soft balloon", 0x343f26cf7b1d9201, 0x4f256eb9abb1a18f),
    ("sleeve with dihedral bending", 0x24f5d56be3326283, 0xc75376f8641433d4),
    ("sheet with dihedral bending", 0x0a92611eb47c1614, 0x63bff3099b5dea32),
    ("sheet with isometric bending", 0xb642e84cd556488f, 0x722b6366664f4b1b),
    ("net of range links", 0x1dbcff3c0ea555d1, 0x9bb71eb8d5c93fcc),
    ("damped curtain", 0x5eeb0343726785f7, 0xb2faa1c697b4b044),
    ("cloth on attachments", 0x0532d1893cf39440, 0x16acaae650b08592),
    ("tethered curtain", 0x7978f0df4fe49535, 0xfdf2b42c3a4894f1),
    ("soft tethered curtain", 0x552554afaf038a0d, 0xfdf2b42c3a4894f1),
    ("pieces", 0x700ac7c4d87645fb, 0x3d855e5875e0cb87),
    ("two curtains", 0xc76d31c56420ed99, 0x70a88e2913e8b46b),
    ("cloth with buttons", 0x34082af914a6fa86, 0x3cd87cb2a1a4c449),
    ("wide curtain", 0x9b76c9d83aba0b02, 0x3f2707e55a6a45a2),
    ("large jelly", 0xc1223be96b9c607e, 0x7cfa269c516edb98),
];

const XPBD: Method = Method::Xpbd { substeps: 3, iterations: 1 };
const PBD: Method = Method::Pbd { substeps: 1, iterations: 3, stiffness: 1.0 };

#[test]
fn states_are_those_of_the_golden_table() {
    let on = AnyBackend::<f32>::by_name("simd", None).expect("built with `simd`");
    let hash = |scene: &crate::scenes::Scene, method: Method| {
        let mut stage = scene.stage::<f32>(LayoutChoice::Auto);
        let mut solver = method.solver();
        solver.prepare(&stage.model).unwrap_or_else(|error| panic!("{}: {error}", scene.name));
        let start = stage.particles.state_hash();
        for _ in 0..60 {
            stage.advance(solver.as_mut(), method.time_step() as f32, &on);
        }
        assert_ne!(stage.particles.state_hash(), start, "{} moved", scene.name);
        stage.particles.state_hash()
    };
    // Some of several parts, so that a change of how they are cut does not go unseen.
    let parted = giants().into_iter().filter(|scene| ["wide curtain", "large jelly"].contains(&scene.name));
    let scenes: Vec<_> = zoo().into_iter().chain(parted).collect();
    let found: Vec<_> = scenes.iter().map(|scene| (scene.name, hash(scene, XPBD), hash(scene, PBD))).collect();
    if std::env::var_os("PLIANT_BLESS").is_some() {
        for (name, xpbd, pbd) in &found {
            println!("    ({name:?}, {xpbd:#018x}, {pbd:#018x}),");
        }
        return;
    }
    let changed: Vec<_> = found.iter().filter(|row| !GOLDEN.contains(row)).map(|row| row.0).collect();
    assert!(
        changed.is_empty(),
        "results changed in {changed:?}; if on purpose, refresh with PLIANT_BLESS=1 (see above)"
    );
    assert_eq!(found.len(), GOLDEN.len(), "a row of the table has no scene any more");
}
