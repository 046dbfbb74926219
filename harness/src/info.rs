//! What this build is and where it runs.

use std::fmt::Write as _;

use pliant::backends::{AnyBackend, Isa};

use crate::machine;
use crate::registry::Harness;

/// Version of the harness and the kit.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The text of `pliant info`.
pub fn text(harness: &Harness) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key:<12}{value}");
    };
    line("version", VERSION.to_owned());
    line("features", features().join(", "));
    let names = |bodies_alone: bool| {
        let chosen = harness.solvers().iter().filter(|entry| entry.bodies_alone == bodies_alone);
        chosen.map(|entry| entry.name).collect::<Vec<_>>().join(", ")
    };
    line("solvers", names(false));
    line("bodies", names(true));
    line("backends", AnyBackend::<f32>::names().join(", "));
    line("precisions", crate::simulation::PRECISIONS.join(", "));
    line("processor", machine::processor());
    line("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    line("isa", Isa::best().name().to_owned());
    line("threads", machine::cores().to_string());
    line("profile", if cfg!(debug_assertions) { "debug (times mean little)" } else { "release" }.to_owned());
    text
}

/// Features that the kit and the harness were built with.
fn features() -> Vec<&'static str> {
    let harness = [("peers", cfg!(feature = "peers"))];
    pliant::FEATURES.iter().copied().chain(harness).filter(|(_, on)| *on).map(|(name, _)| name).collect()
}
