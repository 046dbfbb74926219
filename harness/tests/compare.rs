//! `compare`, `merge`, `scenes` and `info` through the command line.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::BTreeSet;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// The keys of a row, as the contract names them.
const KEYS: [&str; 21] = [
    "scene",
    "solver",
    "backend",
    "precision",
    "isa",
    "threads",
    "particles",
    "constraints",
    "substeps",
    "iterations",
    "frames",
    "ms_per_frame_min",
    "ms_per_frame_median",
    "ns_per_projection_min",
    "speedup_vs_scalar",
    "allocations_per_step",
    "state_hash",
    "max_strain",
    "energy",
    "relative_error",
    "status",
];

fn pliant(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pliant").unwrap();
    command.args(args);
    command
}

fn rows(out: &Path, more: &[&str]) -> Vec<Value> {
    let mut args = vec!["compare", "--format", "json", "--frames", "2", "--out", out.to_str().unwrap()];
    args.extend(more);
    let output = pliant(&args).assert().success().get_output().stdout.clone();
    serde_json::from_slice::<Vec<Value>>(&output).unwrap()
}

/// The kit's own solvers in this build, as `info` names them; engines from elsewhere keep no promises of ours.
fn solvers() -> Vec<String> {
    let output = pliant(&["info"]).assert().success().get_output().stdout.clone();
    let info = String::from_utf8(output).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("solvers")).unwrap();
    line.split(',').map(|name| name.trim().to_owned()).filter(|name| name != "rapier").collect()
}

/// Rows a scene and precision: the textbook loop has one backend, the others four.
fn rows_each(solvers: &[String]) -> usize {
    1 + 4 * (solvers.len() - 1)
}

/// Exit status 2, one line on stderr that says `part`, nothing on stdout.
fn refused(args: &[&str], part: &str) {
    let output = pliant(args).assert().code(2).get_output().clone();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    assert!(stderr.contains(part), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn rows_have_exactly_the_keys_of_the_contract_and_backends_agree() {
    let out = tempfile::tempdir().unwrap();
    let solvers = solvers();
    let chosen = ["--scenes", "rope,heavy-rope", "--precision", "f32,f64", "--solvers", &solvers.join(",")];
    let rows = rows(out.path(), &chosen);
    assert_eq!(rows.len(), 2 * 2 * rows_each(&solvers));
    for row in &rows {
        let keys: BTreeSet<_> = row.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, BTreeSet::from(KEYS));
        assert_eq!(row["status"], "ok", "{row}");
        assert_eq!(row["allocations_per_step"], 0.0, "{row}");
        assert!(row["ms_per_frame_min"].as_f64().unwrap() <= row["ms_per_frame_median"].as_f64().unwrap());
        assert!(row["relative_error"].is_null());
        let of_group = rows.iter().filter(|o| ["scene", "solver", "precision"].iter().all(|k| o[*k] == row[*k]));
        assert!(of_group.into_iter().all(|other| other["state_hash"] == row["state_hash"]));
    }
}

#[test]
fn every_scene_runs_on_every_solver() {
    let out = tempfile::tempdir().unwrap();
    let scenes = "shuffled,flag,jelly,rope,cantilever,balloon,stiff-curtain,soft-jelly,heavy-rope,compressed-sheet";
    let rows = rows(out.path(), &["--scenes", scenes, "--backends", "simd"]);
    for row in &rows {
        let status = row["status"].as_str().unwrap();
        if status.starts_with("left out by default") {
            assert!(row["constraints"].as_u64().unwrap() > 2_000, "{row}");
        } else {
            assert_eq!(status, "ok", "{row}");
            assert_eq!(row["allocations_per_step"], 0.0, "{row}");
        }
    }
    let ran = |solver: &str| rows.iter().filter(|row| row["solver"] == solver && row["status"] == "ok").count();
    assert!(ran("newton") >= 2 && ran("projective") >= 5 && ran("xpbd-schur") >= 2 && ran("xpbd-colored") == 10);
}

/// A slow method is left out of a large scene, in one row that says so, unless it is asked for by name.
#[test]
fn slow_methods_are_left_out_of_large_scenes_by_default() {
    let out = tempfile::tempdir().unwrap();
    let all = rows(out.path(), &["--scenes", "compressed-sheet"]);
    let schur: Vec<_> = all.iter().filter(|row| row["solver"] == "xpbd-schur").collect();
    assert_eq!(schur.len(), 1);
    assert!(schur[0]["status"].as_str().unwrap().contains("choose it with --solvers xpbd-schur"), "{schur:?}");
}

/// The study: every method against the converged step; errors fall, and what cannot run says why.
#[test]
fn the_precision_study_finds_newton_exact_and_pbd_not() {
    let out = tempfile::tempdir().unwrap();
    let directory = out.path().to_str().unwrap();
    let base = ["compare", "--precision-study", "--quick", "--out", directory, "--scenes"];
    let output = pliant(&base).args(["heavy-rope,soft-jelly", "--frames", "2", "--format", "json"]).assert().success();
    let rows: Vec<Value> = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let errors = |scene: &str, method: &str| -> Vec<f64> {
        let of = rows.iter().filter(|row| row["scene"] == scene && row["method"] == method);
        of.filter_map(|row| row["position_error"].as_f64()).collect()
    };
    for scene in ["heavy-rope", "soft-jelly"] {
        let newton = errors(scene, "newton");
        assert!(newton.len() >= 2 && newton[newton.len() - 1] < 1e-3 * newton[0], "{scene}: {newton:?}");
        let [plain, mixed] = ["projective, plain", "projective, Anderson"].map(|method| errors(scene, method));
        // Plain iterations come nearer and nearer; Anderson's come to the end.
        assert!(plain.windows(2).all(|pair| pair[1] < pair[0]), "{scene}: {plain:?}");
        assert!(mixed.iter().any(|error| *error < 1e-9), "{scene}: {mixed:?}");
    }
    assert!(errors("heavy-rope", "newton").last().unwrap() < &1e-9);
    assert!(errors("heavy-rope", "pbd").iter().all(|error| *error > 1e-6));
    let gaps = rows.iter().filter_map(|row| row["objective_gap"].as_f64());
    assert!(gaps.into_iter().all(|gap| gap > -1e-9), "nothing is below the minimum");
    // PBD sweeps over elastic elements as if they were rigid; the Schur complement has no form for them, and says so.
    assert!(errors("soft-jelly", "pbd").iter().all(|error| *error > 1e-6));
    let refused_elements = |row: &Value| {
        let reason = row["status"].as_str().unwrap_or_default().contains("elastic elements are energies");
        row["scene"] == "soft-jelly" && reason && row["method"].as_str().unwrap_or_default().contains("chur")
    };
    assert!(rows.iter().any(refused_elements), "what cannot run says why");
    let page = std::fs::read_to_string(out.path().join("precision.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Milliseconds to an error") && page.contains("heavy-rope"));

    let table =
        pliant(&base).args(["heavy-rope", "--solvers", "newton"]).assert().success().get_output().stdout.clone();
    assert!(String::from_utf8(table).unwrap().contains("the first to reach it"));
    let study = |more: &[&str], part: &str| refused(&[&base[..], more].concat(), part);
    study(&["rope"], "rope has no reference");
    study(&["drape"], "drape has no reference");
    study(&["heavy-rope", "--solvers", "textbook"], "unknown solver of the study `textbook`");
    study(&["heavy-rope", "--shard", "1/2"], "--shard is not for --precision-study");
    study(&["heavy-rope", "--backends", "scalar,simd"], "one backend");
}

/// A rigid scene that a method ran on softened springs says so, in the table and in the report, merged or not.
#[test]
fn softened_rows_have_a_footnote() {
    let out = tempfile::tempdir().unwrap();
    let directory = out.path().to_str().unwrap();
    let args =
        ["compare", "--scenes", "rope", "--solvers", "symplectic,pbd,newton", "--backends", "simd", "--frames", "2"];
    let check = |command: &mut Command| {
        let output = command.args(["--out", directory]).assert().success().get_output().stdout.clone();
        let page = std::fs::read_to_string(out.path().join("index.html")).unwrap();
        for text in [String::from_utf8(output).unwrap(), page] {
            assert!(text.contains("symplectic*") && !text.contains("pbd*"), "{text}");
            assert!(text.contains("softened springs") && text.contains("symplectic on rope (50)"), "{text}");
            assert!(text.contains("newton*") && text.contains("newton on rope (50)"), "{text}");
        }
    };
    check(&mut pliant(&args));
    let results = out.path().join("results.json");
    assert!(!std::fs::read_to_string(&results).unwrap().contains('*'), "names stay names for programs");
    check(&mut pliant(&["merge", results.to_str().unwrap()]));
    let none = ["compare", "--scenes", "rope", "--solvers", "pbd", "--frames", "1", "--out", directory];
    let output = pliant(&none).assert().success().get_output().stdout.clone();
    assert!(!String::from_utf8(output).unwrap().contains("softened"));
}

#[test]
fn the_report_stands_alone() {
    let out = tempfile::tempdir().unwrap();
    rows(out.path(), &["--scenes", "curtain-32,rope", "--solvers", "textbook,xpbd-colored"]);
    let page = std::fs::read_to_string(out.path().join("index.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("data:image/png;base64,") && page.contains("bit for bit"));
    let outside = page.replace("http://www.w3.org", "");
    assert!(!outside.contains("http://") && !outside.contains("https://"), "no network");
    let left: Vec<_> = std::fs::read_dir(out.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn shards_cover_all_rows_once_and_merge() {
    let out = tempfile::tempdir().unwrap();
    let (solvers, mut files, mut total) = (solvers(), Vec::new(), 0);
    let (list, expected) = (solvers.join(","), 2 * rows_each(&solvers));
    for shard in 1..=3 {
        let part = out.path().join(shard.to_string());
        total +=
            rows(&part, &["--scenes", "heavy-rope,rope", "--solvers", &list, "--shard", &format!("{shard}/3")]).len();
        files.push(part.join("results.json"));
    }
    assert_eq!(total, expected);
    let merged = out.path().join("merged");
    let mut args = vec!["merge", "--format", "json", "--out", merged.to_str().unwrap()];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    let output = pliant(&args).assert().success().get_output().stdout.clone();
    let rows: Vec<Value> = serde_json::from_slice(&output).unwrap();
    assert_eq!(rows.len(), expected);
    assert!(rows.iter().all(|row| row["speedup_vs_scalar"].is_number()), "found again across shards");
    let page = std::fs::read_to_string(merged.join("index.html")).unwrap();
    assert!(page.contains("pictures were not carried over"));
}

#[test]
fn rows_that_disagree_end_in_status_1() {
    let out = tempfile::tempdir().unwrap();
    let mut two = rows(out.path(), &["--scenes", "rope", "--solvers", "pbd", "--backends", "scalar,simd"]);
    two[1]["state_hash"] = Value::from("0000000000000000");
    let file = out.path().join("changed.json");
    std::fs::write(&file, serde_json::to_vec(&two).unwrap()).unwrap();
    let output = pliant(&["merge", file.to_str().unwrap(), "--out", out.path().to_str().unwrap()]).assert().code(1);
    assert!(String::from_utf8_lossy(&output.get_output().stdout).contains("DISAGREE"));
}

#[test]
fn tables_and_csv_are_printed() {
    let out = tempfile::tempdir().unwrap();
    let directory = out.path().to_str().unwrap();
    let base = ["compare", "--scenes", "rope", "--solvers", "pbd", "--frames", "1", "--out", directory, "--format"];
    let text = |format: &str| {
        let output = pliant(&base).arg(format).assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    assert!(text("table").contains("backends agree bit for bit in all 1 groups"));
    assert_eq!(text("csv").lines().next().unwrap(), KEYS.join(","));
}

#[test]
fn bad_arguments_are_refused_in_one_line() {
    refused(&["compare", "--scenes", "moon"], "unknown scene `moon`; available: curtain-32");
    refused(&["compare", "--solvers", "magic"], "unknown solver `magic`; available: textbook");
    refused(&["compare", "--backends", "abacus"], "unknown backend `abacus`");
    refused(&["compare", "--precision", "f16"], "unknown precision `f16`");
    refused(&["compare", "--frames", "0"], "--frames is 0");
    refused(&["compare", "--substeps", "0"], "--substeps is 0");
    refused(&["compare", "--frames", "many"], "--frames");
    refused(&["compare", "--shard", "4/3"], "--shard");
    refused(&["compare", "--out", "/dev/null/report"], "cannot write here");
    refused(&["merge", "absent.json"], "absent.json: cannot read");
    refused(&["merge"], "FILES");
    refused(&["dance"], "dance");
}

#[test]
fn scenes_and_info_are_listed() {
    let text = |args: &[&str]| String::from_utf8(pliant(args).assert().success().get_output().stdout.clone()).unwrap();
    let scenes = text(&["scenes"]);
    for name in ["curtain-32", "curtain-316", "shuffled", "flag", "jelly", "rope", "cantilever", "balloon"] {
        assert!(scenes.contains(name), "{name}");
    }
    let info = text(&["info"]);
    for key in ["version", "features", "processor", "isa", "threads"] {
        assert!(info.contains(key), "{key}");
    }
    let features = info.lines().find(|line| line.starts_with("features")).unwrap();
    assert!(features.ends_with("full") || features.ends_with("peers"), "{features}");
}
