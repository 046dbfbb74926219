//! The committed header is what cbindgen makes of the sources.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;

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
