//! Scene files: refused in one line that names the file, or a scene that builds.

use std::path::Path;
use std::sync::OnceLock;

use pliant_harness::Harness;

/// Reads a scene and builds its model.
pub fn target(data: &[u8]) {
    static HARNESS: OnceLock<Harness> = OnceLock::new();
    let text = small(&String::from_utf8_lossy(data));
    // No folder of this name: files that a scene names are not there.
    let path = Path::new("no-such-folder/scene.toml");
    match HARNESS.get_or_init(Harness::new).scene_from_text(path, &text) {
        Err(failure) => {
            let line = failure.line();
            assert!(line.contains("scene.toml") || line.contains("cannot read"), "no file in: {line}");
            assert_eq!(line.lines().count(), 1, "more than one line: {line}");
        }
        Ok(scene) => {
            assert!(scene.dt > 0.0 && scene.frames > 0);
            let (_, particles) = scene.build::<f64>().expect("what was read was checked");
            assert!(particles.x.first_non_finite().is_none());
            scene.build_rigid(&particles).expect("what was read was checked");
        }
    }
}

/// The same text with whole numbers brought below 24, and below 4 where spheres are divided: large bodies are slow, not wrong.
fn small(text: &str) -> String {
    let most = if text.contains("subdivisions") { 4 } else { 24 };
    let in_word = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c| !in_word(c)) {
        let word = piece.trim_end_matches(|c| !in_word(c));
        let digits: String = word.chars().filter(|c| *c != '_').collect();
        let (radix, digits) = match digits.get(..2) {
            Some("0x") => (16, &digits[2..]),
            Some("0o") => (8, &digits[2..]),
            Some("0b") => (2, &digits[2..]),
            _ => (10, digits.as_str()),
        };
        match u64::from_str_radix(digits, radix) {
            Ok(number) if number > most => {
                out.push_str(&(1 + number % most).to_string());
                out.push_str(&piece[word.len()..]);
            }
            _ => out.push_str(piece),
        }
    }
    out
}
