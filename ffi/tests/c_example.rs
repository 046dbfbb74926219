//! The C example compiles without warnings against both libraries, runs, and ends in the very bits of its twin in Rust; where
//! valgrind is installed, and wherever CI is set, it finds nothing.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use pliant::{Best, Body, ClothGrid, Collider, Effort, Method, Pose, Role, Wind, World};

/// `examples/curtain.c`, line by line.
fn twin() -> u64 {
    let effort = Effort { substeps: Some(8), iterations: None };
    let method = Method::by_name_with("xpbd-colored", effort).unwrap();
    let mut world = World::with_method(method, Best::scalar());
    let cloth = Body::cloth(&ClothGrid::square(1.0, 24)).unwrap().with_mass(0.2).with_thickness(0.005);
    let curtain = world.add(cloth.with_compliance(Role::Bend, 1e-3).pinned([0, 23])).unwrap();
    let ball = Collider::sphere(0.2).at([0.5, -0.4, 0.6]).with_friction(0.3);
    let ball = world.add_collider(ball).unwrap();
    world.add_collider(Collider::plane([0.0, 1.0, 0.0]).at([0.0, -1.2, 0.0]).with_friction(0.3)).unwrap();
    world.environment_mut().wind = Some(Wind { velocity: [0.0, 0.0, -2.0], density: 1.2, drag: 1.0, lift: 0.5 });
    world.environment_mut().damping = 0.1;
    for frame in 1..=90 {
        let t = f64::from(frame) / 60.0;
        world.move_pin(curtain, 0, [(0.2 * t) as f32, 0.0, 0.0]).unwrap();
        world.move_collider(ball, Pose::at([0.5, -0.4, 0.6 - 0.25 * t])).unwrap();
        world.step(1.0 / 60.0).unwrap();
    }
    world.state_hash()
}

/// Where cargo put the libraries of this build: beside this test.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let places = [test.parent().unwrap(), test.parent().unwrap().parent().unwrap()];
    let found = places.iter().map(|place| place.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not in {places:?}"))
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [out, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{errors}", output.status);
    out
}

fn compile(library: &Path, program: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    cc.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c11", "-g", "-I"]).arg(root.join("include"));
    cc.arg(root.join("examples/curtain.c")).arg(library).arg("-o").arg(program);
    run(cc.args(["-lm", "-lpthread", "-ldl"]));
}

#[test]
fn the_c_example_runs_and_prints_the_hash_of_its_twin() {
    let expected = format!("state hash {:016x}", twin());
    let folder = tempfile::tempdir().unwrap();
    let [linked, shared] = ["linked", "shared"].map(|name| folder.path().join(name));
    compile(&library("libpliant_ffi.a"), &linked);
    for backend in Best::<f32>::names() {
        let said = run(Command::new(&linked).arg(backend));
        assert!(said.ends_with(&format!("{expected}\n")), "{backend}: {said}, expected {expected}");
    }

    let so = library("libpliant_ffi.so");
    compile(&so, &shared);
    let said = run(Command::new(&shared).env("LD_LIBRARY_PATH", so.parent().unwrap()));
    assert!(said.ends_with(&format!("{expected}\n")), "{said}, expected {expected}");

    if std::env::var_os("CI").is_none() && Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("valgrind is not installed: memory was not checked (with CI set this is a failure)");
        return;
    }
    let checks = ["--quiet", "--leak-check=full", "--show-leak-kinds=definite,indirect,possible", "--error-exitcode=9"];
    let said = run(Command::new("valgrind").args(checks).arg(&linked));
    assert!(said.ends_with(&format!("{expected}\n")), "{said}, expected {expected}");
}
