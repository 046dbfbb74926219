//! Scenes of rigid bodies through the command line: on every backend, from files, into files.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Scenes without particles, and one with both.
const ALONE: [&str; 7] = ["t-handle", "box-stack", "dominoes", "box-incline", "balls", "ragdoll", "chain"];
const COUPLED: &str = "jelly-carrier";

fn pliant(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pliant").unwrap();
    command.args(args);
    command
}

fn text(args: &[&str]) -> String {
    String::from_utf8(pliant(args).assert().success().get_output().stdout.clone()).unwrap()
}

fn rows(out: &Path, more: &[&str]) -> Vec<Value> {
    let mut args = vec!["compare", "--format", "json", "--frames", "2", "--out", out.to_str().unwrap()];
    args.extend(more);
    serde_json::from_str(&text(&args)).unwrap()
}

#[test]
fn every_rigid_scene_gives_the_same_bits_on_every_backend() {
    let out = tempfile::tempdir().unwrap();
    let rows = rows(out.path(), &["--scenes", &ALONE.join(","), "--precision", "f32,f64"]);
    // One method, four backends, two precisions.
    assert_eq!(rows.len(), ALONE.len() * 4 * 2);
    for row in &rows {
        assert_eq!((&row["solver"], &row["status"]), (&Value::from("rigid"), &Value::from("ok")), "{row}");
        assert!(row["energy"].is_number() && row["particles"] == 0, "{row}");
        let group = rows.iter().filter(|o| ["scene", "precision"].iter().all(|k| o[*k] == row[*k]));
        assert!(group.into_iter().all(|other| other["state_hash"] == row["state_hash"]), "{row}");
    }
    assert!(rows.iter().any(|row| row["scene"] == "ragdoll" && row["constraints"] == 10));
}

#[test]
fn particles_and_bodies_move_under_every_method() {
    let out = tempfile::tempdir().unwrap();
    let rows = rows(out.path(), &["--scenes", COUPLED, "--solvers", "pbd,xpbd-colored,projective,shape-matching"]);
    assert_eq!(rows.len(), 4 * 4);
    assert!(rows.iter().all(|row| row["status"] == "ok"), "{rows:?}");
    // The method for bodies alone says what it misses.
    let rows = self::rows(out.path(), &["--scenes", COUPLED, "--solvers", "rigid", "--backends", "simd"]);
    assert!(rows[0]["status"].as_str().unwrap().contains("choose a method for particles"), "{rows:?}");
}

#[test]
fn bodies_are_in_every_export() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    for format in ["csv", "obj", "ply", "gltf", "png"] {
        let line = text(&["run", "box-stack", "--frames", "2", "--export", format, "--out", folder]);
        assert!(line.starts_with("box-stack: rigid on simd") && line.trim_end().ends_with(": ok"), "{line}");
    }
    // Ten boxes of 24 corners and 12 triangles; the ground has no end.
    let obj = read("box-stack_00002.obj");
    assert_eq!(obj.lines().filter(|line| line.starts_with("v ")).count(), 240);
    assert_eq!(obj.lines().filter(|line| line.starts_with("f ")).count(), 120);
    assert!(read("box-stack_00001.ply").contains("element vertex 240"));
    let gltf: Value = serde_json::from_str(&read("box-stack.gltf")).unwrap();
    assert_eq!(gltf["accessors"][0]["count"], 240);
    assert_eq!(read("box-stack.csv").lines().count(), 1 + 3 * 240);
    let poses = read("box-stack_bodies.csv");
    assert_eq!(poses.lines().count(), 1 + 3 * 11);
    assert_eq!(poses.lines().next().unwrap(), "step,body,x,y,z,qx,qy,qz,qw");
    assert!(poses.lines().any(|line| line == "0,10,0.0,4.75,0.0,0.0,0.0,0.0,1.0"), "{poses}");
    assert!(std::fs::metadata(out.path().join("box-stack_00002.png")).unwrap().len() > 2000);
}

const DOOR: &str = "dt = 0.01\nframes = 2\n\n[[rigid]]\nname = \"post\"\nkind = \"box\"\nsize = [0.1, 1, 0.1]\nfixed = true\n\n\
                    [[rigid]]\nname = \"door\"\nkind = \"box\"\nsize = [1, 1, 0.1]\nposition = [0.6, 0, 0]\n\n\
                    [[joint]]\nkind = \"hinge\"\nbodies = [\"post\", \"door\"]\nat = [0.05, 0, 0]\naxis = [0, 1, 0]\n";

/// Exit status 2 and one line with all `parts`.
fn refused(scene: &str, parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scene.toml");
    std::fs::write(&file, scene).unwrap();
    let output = pliant(&["run", file.to_str().unwrap()]).assert().code(2).get_output().clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "`{part}` in: {stderr}");
    }
}

#[test]
fn scene_files_hold_rigid_bodies_and_say_what_is_wrong_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("door.toml");
    std::fs::write(&file, DOOR).unwrap();
    assert!(text(&["run", file.to_str().unwrap()]).starts_with("door: rigid on simd in f32, 2 frames"));

    refused(
        &DOOR.replacen("\"box\"", "\"bulb\"", 1),
        &["scene.toml:6:", "`kind`", "unknown kind of rigid body `bulb`"],
    );
    refused(&DOOR.replacen("size = [0.1, 1, 0.1]\n", "", 1), &["scene.toml:6:", "`size`", "a box needs it"]);
    refused(&DOOR.replace("[1, 1, 0.1]", "[1, -1, 0.1]"), &["scene.toml:12:", "`rigid`", "above 0"]);
    refused(&DOOR.replace("\"door\"]", "\"gate\"]"), &["scene.toml:18:", "`bodies`", "`gate`", "post, door"]);
    refused(&DOOR.replace("name = \"door\"", "name = \"post\""), &["scene.toml:11:", "`name`", "another rigid body"]);
    refused(&DOOR.replace("axis = [0, 1, 0]", "axis = [0, 0, 0]"), &["scene.toml:17:", "`joint`", "axis"]);
    refused(&format!("{DOOR}limits = [30, -30]\n"), &["scene.toml:17:", "`joint`", "lower limit first"]);
    refused(&DOOR.replace("\"hinge\"", "\"glue\""), &["scene.toml:17:", "unknown kind of joint `glue`"]);
    refused(&DOOR.replace("at = [0.05, 0, 0]\n", ""), &["scene.toml:17:", "`at`", "missing"]);
    refused(&format!("{DOOR}motor = {{ speed = 1 }}\n"), &["scene.toml:17:", "`damping`", "the motor needs it"]);
    let held = DOOR.replace("position = [0.6", "fixed = true\nposition = [0.6");
    refused(&held, &["`joint`", "both bodies are static"]);
    let fasten = "\n[[fasten]]\nbody = 0\nparticles = [0]\nto = \"door\"\n";
    refused(&format!("{DOOR}{fasten}"), &["scene.toml:23:", "`body`", "expected the number of a [[body]]"]);
    refused("dt = 0.01\nframes = 2\n", &["`body`", "[[body]] or [[rigid]]"]);
    refused(
        &format!("{DOOR}\n[[rigid]]\nkind = \"hull\"\nfile = \"absent.obj\"\n"),
        &["scene.toml:24:", "`file`", "absent.obj"],
    );
}
