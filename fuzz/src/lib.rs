//! Fuzz targets: plain functions of bytes that panic when the kit breaks a promise.
//!
//! Whatever the bytes, a target returns: bad input is a typed error, and what is accepted keeps its invariants. The runner
//! (`src/main.rs`) mutates seeds on a stable compiler; `libfuzzer/` has them for `cargo fuzz`, all but `scenes`, whose harness takes too long to compile with
//! coverage.

pub mod bodies;
pub mod ccd;
#[cfg(feature = "worlds")]
pub mod edits;
pub mod input;
pub mod mutate;
pub mod obj;
// Targets of the core alone do without the harness: one file serves both.
#[path = "../../harness/src/random.rs"]
pub mod random;
#[cfg(feature = "scenes")]
pub mod scenes;
#[cfg(feature = "worlds")]
pub mod snapshots;
pub mod stencils;

/// A target: its name, what it checks, and the function.
pub struct Target {
    /// Name on the command line, and of its folder of seeds.
    pub name: &'static str,
    /// What it promises.
    pub about: &'static str,
    /// Panics when the promise is broken.
    pub run: fn(&[u8]),
}

/// Every target of this build.
pub const TARGETS: &[Target] = &[
    Target { name: "obj", about: "OBJ text is refused or read, and written back the same", run: obj::target },
    Target { name: "stencils", about: "schedules run every constraint once, lanes disjoint", run: stencils::target },
    Target { name: "ccd", about: "no contact comes before the time that is called safe", run: ccd::target },
    Target {
        name: "bodies",
        about: "bodies are refused alike in both precisions, or build sound models",
        run: bodies::target,
    },
    #[cfg(feature = "worlds")]
    Target { name: "snapshots", about: "bytes are refused and change nothing, or resume", run: snapshots::target },
    #[cfg(feature = "worlds")]
    Target { name: "edits", about: "edits of running worlds agree on two backends", run: edits::target },
    #[cfg(feature = "scenes")]
    Target { name: "scenes", about: "scene files are refused with file and line, or build", run: scenes::target },
];

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
