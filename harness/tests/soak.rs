//! `soak` through the command line: a short one over every solver, its figures, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use assert_cmd::Command;
use serde_json::Value;

fn pliant(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pliant").unwrap();
    command.args(args);
    command
}

fn rows(args: &[&str]) -> Vec<Value> {
    let output = pliant(args).args(["--format", "json"]).assert().success().get_output().clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_short_soak_runs_every_solver() {
    let rows = rows(&["soak", "--steps", "600", "--seed", "3"]);
    for solver in [
        "symplectic",
        "pbd",
        "xpbd-colored",
        "xpbd-schur",
        "projective",
        "newton",
        "shape-matching",
        "rigid",
        "xpbd-apart",
        "newton-apart",
    ] {
        assert!(rows.iter().any(|row| row["solver"] == solver && row["steps"].as_u64() > Some(0)), "{solver}");
    }
    let steps: u64 = rows.iter().map(|row| row["steps"].as_u64().unwrap()).sum();
    assert!(steps >= 600);
}

#[test]
fn a_soak_is_repeated_by_its_seed() {
    let args =
        |seed| ["soak", "--steps", "300", "--solvers", "xpbd-colored", "--scenes", "curtain,coupled", "--seed", seed];
    let hashes = |seed| rows(&args(seed)).iter().map(|row| row["state_hash"].clone()).collect::<Vec<_>>();
    assert_eq!(hashes("5"), hashes("5"));
    assert_ne!(hashes("5"), hashes("6"));
}

/// Long enough that everything that happens in a life has happened: an edit that changes something, a snapshot that is returned to, a
/// tear.
#[test]
fn a_longer_soak_edits_tears_and_returns() {
    let rows = rows(&["soak", "--steps", "6000", "--solvers", "pbd,xpbd-colored", "--seed", "1"]);
    for solver in ["pbd", "xpbd-colored"] {
        for what in ["edits", "snapshots", "tears"] {
            let count: u64 =
                rows.iter().filter(|row| row["solver"] == solver).map(|row| row[what].as_u64().unwrap()).sum();
            assert!(count > 0, "{solver}: no {what}");
        }
    }
}

#[test]
fn bad_arguments_are_refused() {
    for (args, part) in [
        (&["soak", "--solvers", "nobody"][..], "unknown solver `nobody`"),
        (&["soak", "--scenes", "nowhere"], "unknown scene `nowhere`"),
        (&["soak", "--steps", "0"], "--steps"),
        (&["soak", "--minutes", "0"], "--minutes"),
        (&["soak", "--solvers", "rigid", "--scenes", "curtain"], "suits"),
    ] {
        let output = pliant(args).assert().code(2).get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(part) && stderr.trim_end().lines().count() == 1, "{stderr}");
    }
}
