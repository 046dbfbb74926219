//! What the kit depends on: permissive licences only, no newer compiler than the kit itself asks for, and a list that is up to date.
//!
//! `PLIANT_WRITE_DEPENDENCIES=1 cargo test -p pliant-core --test dependencies` writes docs/dependencies.md.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than attribution.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Tools that tests run and nothing ships, under licences that are not permissive.
const TOOLS: &[(&str, &str)] = &[("cbindgen", "MPL-2.0")];

/// Who uses a package, from what ships in every build to what only tests see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Library,
    Harness,
    Tests,
}

struct Packages {
    by_id: BTreeMap<String, Value>,
    /// Packages each one needs when it runs, and those that its tests and benchmarks need besides.
    needs: BTreeMap<String, [Vec<String>; 2]>,
}

impl Packages {
    fn of_this_workspace() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root).args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let packages = all["packages"].as_array().unwrap();
        let by_id = packages.iter().map(|package| (text(&package["id"]), package.clone())).collect();
        let mut needs = BTreeMap::new();
        for node in all["resolve"]["nodes"].as_array().unwrap() {
            let mut lists = [Vec::new(), Vec::new()];
            for dependency in node["deps"].as_array().unwrap() {
                let tests_only = dependency["dep_kinds"].as_array().unwrap().iter().all(|kind| kind["kind"] == "dev");
                lists[usize::from(tests_only)].push(text(&dependency["pkg"]));
            }
            needs.insert(text(&node["id"]), lists);
        }
        Self { by_id, needs }
    }

    fn field(&self, id: &str, name: &str) -> String {
        self.by_id[id][name].as_str().unwrap_or_default().to_owned()
    }

    /// Everything that is compiled for this package, itself included.
    fn reach(&self, name: &str, tests: bool) -> BTreeSet<String> {
        let start = self.by_id.keys().find(|id| self.field(id, "name") == name && self.by_id[*id]["source"].is_null());
        let mut open = vec![start.unwrap_or_else(|| panic!("no package {name}")).clone()];
        if tests {
            open.extend(self.needs[&open[0]][1].clone());
        }
        let mut found = BTreeSet::new();
        while let Some(id) = open.pop() {
            if found.insert(id.clone()) {
                open.extend(self.needs[&id][0].clone());
            }
        }
        found
    }

    /// Packages from elsewhere, and who uses each.
    fn foreign(&self) -> BTreeMap<String, Use> {
        let mut uses = BTreeMap::new();
        let own: Vec<String> = self
            .by_id
            .keys()
            .filter(|id| self.by_id[*id]["source"].is_null())
            .map(|id| self.field(id, "name"))
            .collect();
        let mut note = |ids: BTreeSet<String>, by: Use| {
            for id in ids.into_iter().filter(|id| !self.by_id[id]["source"].is_null()) {
                uses.entry(id).and_modify(|used: &mut Use| *used = by.min(*used)).or_insert(by);
            }
        };
        note(self.reach("pliant", false), Use::Library);
        note(self.reach("pliant-ffi", false), Use::Library);
        note(self.reach("pliant-harness", false), Use::Harness);
        for name in own {
            note(self.reach(&name, true), Use::Tests);
        }
        uses
    }
}

/// Whether some way to read a licence expression is permissive: all parts joined by AND, any part joined by OR.
fn permissive(expression: &str) -> bool {
    let expression = expression.replace(" / ", " OR ").replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        let part = part.trim_matches(['(', ')', ' ']);
        part.split(" OR ").any(|licence| PERMISSIVE.contains(&licence.trim()))
    })
}

#[test]
fn every_licence_is_permissive() {
    assert!(permissive("(MIT OR Apache-2.0) AND Unicode-3.0") && permissive("Unlicense/MIT"));
    assert!(!permissive("GPL-3.0-only") && !permissive("MIT AND GPL-2.0") && !permissive(""));
    let packages = Packages::of_this_workspace();
    for (id, used) in packages.foreign() {
        let (name, licence) = (packages.field(&id, "name"), packages.field(&id, "license"));
        let tool = used == Use::Tests && TOOLS.contains(&(&*name, &*licence));
        assert!(permissive(&licence) || tool, "{name} is under `{licence}`");
    }
}

#[test]
fn no_dependency_asks_for_a_newer_compiler() {
    let version = |text: &str| -> Vec<u32> { text.split('.').map(|part| part.parse().unwrap()).collect() };
    let ours = version(env!("CARGO_PKG_RUST_VERSION"));
    let packages = Packages::of_this_workspace();
    for (id, _) in packages.foreign() {
        let theirs = packages.field(&id, "rust_version");
        let fine = theirs.is_empty() || version(&theirs)[..2] <= ours[..2];
        assert!(fine, "{} asks for Rust {theirs}", packages.field(&id, "name"));
    }
}

#[test]
fn the_list_of_dependencies_is_up_to_date() {
    let packages = Packages::of_this_workspace();
    let uses = packages.foreign();
    let mut page = String::from(
        "# Dependencies and their licences\n\nAll packages of `Cargo.lock`, for every feature and platform. Written by\n\
         `PLIANT_WRITE_DEPENDENCIES=1 cargo test -p pliant-core --test dependencies`; the same test refuses licences that are not\n\
         permissive and dependencies that ask for a newer compiler than the kit does.\n",
    );
    for (part, title) in [
        (Use::Library, "In applications (with every feature; the default ones need far fewer)"),
        (Use::Harness, "In the harness besides"),
        (Use::Tests, "In tests and benchmarks besides"),
    ] {
        let mut rows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (id, _) in uses.iter().filter(|(_, used)| **used == part) {
            rows.entry(packages.field(id, "license")).or_default().insert(packages.field(id, "name"));
        }
        write!(page, "\n## {title}\n\n| licence | packages |\n| --- | --- |\n").unwrap();
        for (licence, names) in rows {
            writeln!(page, "| {licence} | {} |", names.into_iter().collect::<Vec<_>>().join(", ")).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dependencies.md");
    if std::env::var_os("PLIANT_WRITE_DEPENDENCIES").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        found == page,
        "docs/dependencies.md is out of date: run `PLIANT_WRITE_DEPENDENCIES=1 cargo test -p pliant-core --test dependencies`"
    );
}
