//! Ctrl-C: noted, so that what was measured so far can still be written.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From here on Ctrl-C asks the running command to finish early instead of ending it; a second one ends it.
pub fn listen() {
    // Without a handler Ctrl-C ends the program at once, which is no reason to refuse to run.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether the user asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
