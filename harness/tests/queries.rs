//! `validate` on files of queries of first contacts.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use assert_cmd::Command;

fn pliant(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pliant").unwrap();
    command.args(args);
    command
}

/// Queries of first contacts in files of one's own: as a table of any name, and in the form of the public benchmark.
#[test]
fn validate_reads_queries_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let columns =
        |t: u32| ["a", "b", "c", "d"].map(|c| ["x", "y", "z"].map(|k| format!("{c}{k}_t{t}")).join(",")).join(",");
    let head = format!("id,kind,cat,truth,toi_exact,{},{}", columns(0), columns(1));
    let triangle = "0,0,0,0x1p+0,0,0,0,1,0";
    let row = |truth: u32, end: &str| format!("9,vt,my own,{truth},0.5,0.25,0.25,1,{triangle},{end},{triangle}");
    let table = |truth: u32| format!("{head}\n{}\n{}\n", row(1, "0.25,0.25,-1"), row(truth, "0.25,0.25,0.5"));
    std::fs::write(folder.path().join("mine.csv"), table(0)).unwrap();
    // Edges that cross, in fractions.
    let rows = |z: i32| format!("-1,1,0,1,{z},2,1\n3,3,0,1,{z},2,1\n0,1,-1,1,0,1,1\n0,1,1,1,0,1,1\n");
    std::fs::write(folder.path().join("edge-edge-7.csv"), rows(1) + &rows(-1)).unwrap();
    let output = pliant(&["validate", "--data"]).arg(folder.path()).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    for line in ["mine, false negatives, hits missed (of 2) ", "edge-edge-7, false negatives, hits missed (of 1) "] {
        assert!(text.contains(line) && text.contains("mine, worst error of a time"), "{text}");
    }
    std::fs::write(folder.path().join("mine.csv"), table(1)).unwrap();
    std::fs::write(folder.path().join("edge-edge-7.csv"), rows(1) + "1,1\n").unwrap();
    let output = pliant(&["validate", "--data"]).arg(folder.path()).assert().code(1).get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(text.contains("hits missed (of 2): row 1 …") && text.contains("line 5: expected seven numbers"), "{text}");
}
