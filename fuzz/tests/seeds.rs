//! The seeds of every target, and some hundred mutations of each, run with the other tests.

use std::path::Path;

use pliant_fuzz::mutate::mutate;
use pliant_fuzz::random::Random;
use pliant_fuzz::{Target, find};

/// Runs the seeds of a target and so many mutations of them.
fn run(name: &str, mutations: usize) {
    let Target { run, .. } = find(name).expect("a target of this build");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("a folder of seeds").flatten().map(|e| e.path()).collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).expect("a seed")).collect();
    assert!(!seeds.is_empty(), "{name} has seeds");
    seeds.iter().for_each(|seed| run(seed));
    let mut random = Random::new(7);
    for _ in 0..mutations {
        let mut data = seeds[random.below(seeds.len())].clone();
        mutate(&mut data, &seeds[random.below(seeds.len())].clone(), &mut random);
        run(&data);
    }
}

#[test]
fn obj() {
    run("obj", 2000);
}

#[test]
fn stencils() {
    run("stencils", 500);
}

#[test]
fn ccd() {
    run("ccd", 2000);
}

#[test]
fn bodies() {
    run("bodies", 500);
}

#[test]
#[cfg(feature = "worlds")]
fn snapshots() {
    run("snapshots", 300);
}

#[test]
#[cfg(feature = "worlds")]
fn edits() {
    run("edits", 60);
}

#[test]
#[cfg(feature = "scenes")]
fn scenes() {
    run("scenes", 300);
}
