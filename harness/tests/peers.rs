//! Engines from elsewhere in the comparison (feature `peers`).
#![cfg(feature = "peers")]
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use assert_cmd::Command;
use serde_json::Value;

fn rows(more: &[&str]) -> Vec<Value> {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::cargo_bin("pliant").unwrap();
    command.args(["compare", "--format", "json", "--out"]).arg(out.path()).args(more);
    serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap()
}

/// Rapier falls and hangs like the kit's own method: the same energy within a fifth, the same state in every repeat.
#[test]
fn rapier_runs_cloth_and_ropes() {
    let args = ["--scenes", "curtain-32,rope", "--solvers", "xpbd-colored,rapier", "--backends", "scalar"];
    let (first, second) = (rows(&args), rows(&args));
    assert_eq!(first.len(), 4);
    for pair in first.chunks(2) {
        let energy = |row: &Value| row["energy"].as_f64().unwrap();
        let [ours, theirs] = pair else { panic!("two rows a scene") };
        assert_eq!((&theirs["solver"], &theirs["status"]), (&"rapier".into(), &"ok".into()));
        assert!((energy(theirs) / energy(ours) - 1.0).abs() < 0.2, "{} J and {} J", energy(theirs), energy(ours));
    }
    for (a, b) in first.iter().zip(&second) {
        assert_eq!(a["state_hash"], b["state_hash"]);
    }
}

#[test]
fn what_rapier_is_not_compared_on_is_a_status() {
    let scenes = ["jelly", "flag", "balloon", "cantilever"];
    for row in rows(&["--scenes", &scenes.join(","), "--solvers", "rapier", "--frames", "1"]) {
        assert!(row["status"].as_str().unwrap().contains("rapier is compared"), "{row}");
    }
    let double = rows(&["--scenes", "rope", "--solvers", "rapier", "--precision", "f64", "--frames", "1"]);
    assert!(double[0]["status"].as_str().unwrap().contains("use f32"), "{}", double[0]);
}
