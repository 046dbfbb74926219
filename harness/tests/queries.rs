//! `validate` on files of queries of first contacts.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;

use assert_cmd::Command;

fn pliant(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pliant").unwrap();
    command.args(args);
    command
}

/// What `validate` says of a folder.
fn validated(folder: &Path, code: i32) -> String {
    let output = pliant(&["validate", "--data"]).arg(folder).assert().code(code).get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

/// Writes a file and the folders that lead to it.
fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A query in eight rows of fractions: the second primitive at rest, the first one going from a height to its negative. What
/// is after the fractions ends every row.
fn fractions(first: &[&str], second: &[&str], height: i32, ending: &str) -> String {
    let at = |height: i32| {
        let moving = first.iter().map(move |place| format!("{place},{height},4{ending}\n"));
        let resting = second.iter().map(|place| format!("{place},0,1{ending}\n"));
        moving.chain(resting).collect::<String>()
    };
    at(height) + &at(if height == 2 { -2 } else { height })
}

/// Edges that cross when they start 2/4 apart, and keep their distance otherwise.
fn edges(height: i32, ending: &str) -> String {
    fractions(&["-1,1,0,1", "3,3,0,1"], &["0,1,-1,1", "0,1,1,1"], height, ending)
}

/// A vertex that goes through a triangle likewise. As edges its corners never meet.
fn vertex(height: i32, ending: &str) -> String {
    fractions(&["1,4,1,4"], &["0,1,0,1", "1,1,0,1", "0,1,1,1"], height, ending)
}

/// The lines of a text that begin with something.
fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

/// Scenes, kinds in them and files of the same name in these: as the public benchmark of Wang et al. 2021 is laid out.
#[test]
fn validate_descends_into_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for scene in ["chain", "bowl"] {
        write(path, &format!("{scene}/edge-edge/data_0_0.csv"), &(edges(2, ",1") + &edges(1, ",0")));
        write(path, &format!("{scene}/vertex-face/data_0_0.csv"), &(vertex(2, ",1") + &vertex(1, ",0")));
    }
    write(path, "1/2/3/4/edge-edge.csv", &edges(2, ",1"));
    // Too deep, and hidden.
    write(path, "1/2/3/4/5/edge-edge.csv", "no queries");
    write(path, ".hidden/edge-edge.csv", "no queries");
    let text = validated(path, 0);
    let found: Vec<_> = text.lines().filter(|line| line.contains("false negatives, hits missed (of ")).collect();
    let names =
        ["1/2/3/4/edge-edge", "bowl/edge-edge/data_0_0", "bowl/vertex-face/data_0_0", "chain/edge-edge/data_0_0"];
    for (line, name) in found.iter().zip(names) {
        assert!(line.starts_with(&format!("{name}, ")) && line.ends_with("pass"), "{text}");
    }
    assert_eq!(found.len(), 5, "{text}");
    // A folder tells the kind when it is the one that is asked for, by whatever name.
    let output = pliant(&["validate", "--data", "."]).current_dir(path.join("chain/edge-edge")).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(lines(&text, "data_0_0, false negatives, hits missed (of 2) ").len(), 1, "{text}");
    // A wrong truth is found out where it is.
    write(path, "chain/vertex-face/data_0_0.csv", &vertex(1, ",1"));
    let text = validated(path, 1);
    for line in text.lines().filter(|line| line.ends_with("FAIL")) {
        assert!(line.starts_with("chain/vertex-face/data_0_0, ") && line.contains("query 0"), "{line}");
    }
    assert!(text.contains("FAIL"), "{text}");
}

/// Queries of a time step, and the truth about them in a folder beside: as the data set of times of impact is laid out.
#[test]
fn validate_reads_truth_from_a_list_beside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write(path, "cloth/queries/92ee.csv", &(edges(2, "") + &edges(1, "")));
    write(path, "cloth/queries/92vf.csv", &(vertex(1, "") + &vertex(2, "")));
    write(path, "cloth/mma_bool/92ee_mma_bool.json", "[true, false]\n");
    write(path, "cloth/mma_bool/92vf_mma_bool.json", "[0,1]");
    write(path, "cloth/boxes/92vf.json", "[[1, 2]]");
    let text = validated(path, 0);
    for name in ["cloth/queries/92ee", "cloth/queries/92vf"] {
        assert_eq!(lines(&text, &format!("{name}, false negatives, hits missed (of 2) ")).len(), 1, "{text}");
    }
    assert!(!text.contains("mma_bool") && text.contains("cloth/boxes/92vf.json"), "{text}");
    // From inside, too.
    pliant(&["validate", "--data", "."]).current_dir(path.join("cloth/queries")).assert().success();
    // A hit that there is none of, and lists that are not what they should be.
    for (list, said) in [
        ("[true, true]", "hits missed (of 2): query 1"),
        ("[true]", "1 truths; there are 2 queries"),
        ("[true, 2]", "value 1: `2` is no truth; expected 0, 1, true or false"),
        ("{}", "is no list in JSON"),
    ] {
        write(path, "cloth/mma_bool/92ee_mma_bool.json", list);
        let text = validated(path, 1);
        assert!(text.contains(said), "{said}: {text}");
        assert!(!lines(&text, "cloth/queries/92vf").iter().any(|line| line.contains("FAIL")), "{text}");
    }
    std::fs::remove_file(path.join("cloth/mma_bool/92ee_mma_bool.json")).unwrap();
    let text = validated(path, 1);
    assert!(text.contains("truth is missing: no seventh column, and no "), "{text}");
    assert!(text.contains("mma_bool/92ee_mma_bool.json"), "{text}");
    // Rows of both kinds in a file.
    write(path, "edge-edge.csv", &(edges(2, ",1") + &edges(1, "")));
    assert!(validated(path, 1).contains("line 9: expected seven numbers"));
}

/// A file that is named like queries and holds none, such as the stand-in for one that was not fetched, is no success.
#[test]
fn validate_fails_on_queries_it_cannot_read() {
    for content in ["", "version https://git-lfs.github.com/spec/v1\n", "1,0,1,1,1,1,1\n", "1,1\n"] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "bowl/edge-edge/data_0_0.csv", content);
        let text = validated(folder.path(), 1);
        assert!(text.contains("FAIL: ") && text.contains("expected"), "{content}: {text}");
    }
}

/// The head of a table of queries, up to some columns of one's own.
fn head(own: &str) -> String {
    let columns =
        |t: u32| ["a", "b", "c", "d"].map(|c| ["x", "y", "z"].map(|k| format!("{c}{k}_t{t}")).join(",")).join(",");
    format!("id,kind,truth,{own},{},{}", columns(0), columns(1))
}

/// A table of two queries, a vertex that goes through a triangle and one that stops before it, and what they are said to be.
fn table(first: &str, second: &str) -> String {
    let head = head("cat,toi_exact");
    let triangle = "0,0,0,0x1p+0,0,0,0,1,0";
    let row = |id: &str, truth: &str, end: &str| {
        format!("{id},vt,{truth},my own,0.5,0.25,0.25,1,{triangle},{end},{triangle}")
    };
    format!("{head}\n{}\n{}\n", row("a-7", first, "0.25,0.25,-1"), row("b-9", second, "0.25,0.25,0.5"))
}

/// A vertex that starts 2⁻³⁴ of the extent above a triangle counts as touching it: the same false positive at every scale, where
/// squares overflow, where differences do, and where squares vanish.
#[test]
fn validate_measures_false_positives_at_every_scale() {
    let folder = tempfile::tempdir().unwrap();
    for scale in [0, 700, 1023, -700, -1000] {
        let row = |moment: &str| {
            let triangle = "-0x1p,-0x1p,-0x1p,0x1p,-0x1p,-0x1p,-0x1p,0x1p,-0x1p";
            let row = format!("-0x1p,-0x1p,{moment},{triangle}");
            row.replace("0x1p", &format!("0x1p{scale}"))
        };
        // 1 − 2⁻³³ in units of the scale.
        let near = format!("-0x1ffffffffp{}", scale - 33);
        for (dmin, known) in [("nan".to_owned(), false), (format!("0x1p{}", scale - 33), true)] {
            let rows = format!("5,vt,0,{dmin},{},{}", row(&near), row("0x1p"));
            write(folder.path(), "mine.csv", &format!("{}\n{rows}\n", head("dmin")));
            let text = validated(folder.path(), 0);
            let told = lines(&text, "mine, largest distance of a false positive");
            // The extent is 2: from −1 to 1.
            assert!(told.len() == 1 && told[0].contains(" 5.821e-11 "), "{scale}, {known}: {text}");
        }
    }
}

/// What may be anything is told, and nothing that could not fail is said to pass.
#[test]
fn validate_tells_what_cannot_fail_apart() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "mine.csv", &table("1", "0"));
    let text = validated(folder.path(), 0);
    for line in text.lines().skip(1) {
        let told = line.contains(", worst error of a time") || line.contains(", searches given up early");
        assert_eq!(line.ends_with("  -  info"), told, "{line}");
        assert!(told || line.ends_with("  pass") && !line.contains("inf"), "{line}");
    }
    assert_eq!(text.matches("  -  info\n").count(), 2, "{text}");
}

/// Truth in words and in numbers; what is neither is no miss.
#[test]
fn validate_reads_truth_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (yes, no) in [("1", "0"), ("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("1.0", "0x0p+0")] {
        write(folder.path(), "mine.csv", &table(yes, no));
        let fractions = edges(2, &format!(",{yes}")) + &edges(1, &format!(",{no}"));
        write(folder.path(), "edge-edge.csv", &fractions);
        validated(folder.path(), 0);
        // The other way around the one that stops is said to be a hit.
        write(folder.path(), "mine.csv", &table(no, yes));
        let text = validated(folder.path(), 1);
        assert!(text.contains("mine, false negatives, hits missed (of 2): row 1"), "{text}");
    }
    for odd in ["2", "yes", "nan", ""] {
        write(folder.path(), "mine.csv", &table("1", odd));
        let text = validated(folder.path(), 1);
        let said = format!("row 1, column `truth`: `{odd}` is no truth; expected 0, 1, true or false");
        assert!(text.contains(&said), "{text}");
    }
}

/// Queries of first contacts in files of one's own: as a table of any name, and in the form of the public benchmark.
#[test]
fn validate_reads_queries_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "mine.csv", &table("1", "0"));
    // Edges that cross, in fractions.
    let rows = |z: i32| format!("-1,1,0,1,{z},2,1\n3,3,0,1,{z},2,1\n0,1,-1,1,0,1,1\n0,1,1,1,0,1,1\n");
    std::fs::write(folder.path().join("edge-edge-7.csv"), rows(1) + &rows(-1)).unwrap();
    let output = pliant(&["validate", "--data"]).arg(folder.path()).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    for line in ["mine, false negatives, hits missed (of 2) ", "edge-edge-7, false negatives, hits missed (of 1) "] {
        assert!(text.contains(line) && text.contains("mine, worst error of a time"), "{text}");
    }
    // Named by row and id, or by row where there is no id.
    write(folder.path(), "mine.csv", &table("1", "1"));
    write(folder.path(), "nameless.csv", &table("1", "1").replace("id,kind", "number,kind"));
    std::fs::write(folder.path().join("edge-edge-7.csv"), rows(1) + "1,1\n").unwrap();
    let output = pliant(&["validate", "--data"]).arg(folder.path()).assert().code(1).get_output().clone();
    let (text, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(text.contains("nameless, false negatives, hits missed (of 2): row 1 …"), "{text}");
    assert!(
        text.contains("hits missed (of 2): row 1 (id b-9) …") && text.contains("line 5: expected seven numbers"),
        "{text}"
    );
    // Six checks of either table, of which the three for hits fail, and the file that cannot be read.
    assert!(error.contains("7 of 13 checks failed"), "{error}");
}
