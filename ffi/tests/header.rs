//! The committed header is what cbindgen makes of the sources.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// Compiles files that include the header as C++.
#[test]
fn the_header_is_cpp_and_a_status_that_nobody_looks_at_is_a_warning() {
    let compiler = std::env::var_os("CXX").unwrap_or("c++".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("there is no C++ compiler {compiler:?}: the header was not checked");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("user.cpp");
    let object = folder.path().join("user.o").into_os_string();
    let compile = |body: &str, to: &[&OsStr]| {
        std::fs::write(&source, format!("#include \"pliant.h\"\nvoid use(pliant_world *world) {{ {body} }}\n"))
            .unwrap();
        let mut command = Command::new(&compiler);
        command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror"]).args(to).arg("-I");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include")).arg(&source).output().unwrap()
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let careful = "if (pliant_world_step(world, 0.01f) || !pliant_version()) pliant_world_destroy(world);";
    let good = compile(careful, &["-fsyntax-only".as_ref()]);
    assert!(good.status.success(), "{}", said(&good));
    // Compilers find out only when they make something of it.
    let careless = compile("pliant_world_step(world, 0.01f);", &["-c".as_ref(), "-o".as_ref(), &object]);
    assert!(!careless.status.success() && said(&careless).contains("unused"), "{}", said(&careless));
}

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in ["types", "status", "body", "world", "collider", "read"] {
        builder = builder.with_src(root.join("src").join(file).with_extension("rs"));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let (made, path) = (String::from_utf8(made).unwrap(), root.join("include/pliant.h"));
    if std::env::var_os("PLIANT_WRITE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let difference = made.lines().zip(committed.lines()).position(|(made, found)| made != found);
    assert!(
        made == committed,
        "include/pliant.h is not what cbindgen makes of src (first difference in line {:?}): run \
         `PLIANT_WRITE_HEADER=1 cargo test -p pliant-ffi --test header` and commit it",
        difference.map(|line| line + 1)
    );
}
