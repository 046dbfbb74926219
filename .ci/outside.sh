#!/usr/bin/env bash
# A user's crate outside the workspace: depends on pliant by path with `default-features = false` and one feature at a time, compiles
# without warnings, and runs a hello-world.
#
#   .ci/outside.sh                      no feature, each single feature, the default ones
#   .ci/outside.sh "" collision full    these sets only; `default` stands for the default ones
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Kept between runs, so that what features share is compiled once.
export CARGO_TARGET_DIR="$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")/outside"
export RUSTFLAGS="-D warnings"

if (($# > 0)); then
    sets=("$@")
else
    sets=("")
    # Every feature that the manifest declares.
    while read -r feature; do sets+=("$feature"); done < <(
        sed -n '/^\[features\]/,/^\[dependencies\]/s/^\([a-z][a-z-]*\) = .*/\1/p' "$root/Cargo.toml" | grep -v '^full$')
fi

mkdir -p "$folder/src"
cat > "$folder/src/main.rs" <<'RUST'
//! Hello, cloth.
use pliant::prelude::*;

fn main() -> Result<(), Error> {
    let mut world = World::new();
    let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?.pinned([0, 9]))?;
    for _ in 0..30 {
        world.step(1.0 / 60.0)?;
    }
    let lowest = world.positions(cloth)?.y().iter().copied().fold(f32::MAX, f32::min);
    assert!(lowest < -0.5 && lowest.is_finite());
    println!("{} on {}: lowest point at {lowest:.3} m", world.solver().name(), world.backend().name());
    Ok(())
}
RUST
cp "$root/Cargo.lock" "$folder/Cargo.lock"
for set in "${sets[@]}"; do
    chosen="default-features = false, features = [\"${set//,/\", \"}\"]"
    case "$set" in
        default) chosen="" ;;
        "") chosen="default-features = false" ;;
    esac
    cat > "$folder/Cargo.toml" <<TOML
[package]
name = "hello-cloth"
version = "0.0.0"
edition = "2024"

[dependencies]
pliant = { path = "$root"${chosen:+, $chosen} }

# What is fast to compile: this looks at what builds and runs, not at how fast it is.
[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
    printf 'features %s: ' "${set:-none}"
    (cd "$folder" && cargo run --quiet --offline)
done
