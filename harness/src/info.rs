//! What this build is and where it runs.

use std::fmt::Write as _;

use pliant::backends::{AnyBackend, Isa};

use crate::registry::Harness;

/// Version of the harness and the kit.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The processor's name, as far as the system tells.
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(':').nth(1));
    name.map_or_else(|| format!("unknown {}", std::env::consts::ARCH), |name| name.trim().to_owned())
}

/// The text of `pliant info`.
pub fn text(harness: &Harness) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{key:<12}{value}");
    };
    line("version", VERSION.to_owned());
    line("features", features().join(", "));
    line("solvers", harness.solvers().iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "));
    line("backends", AnyBackend::<f32>::names().join(", "));
    line("precisions", crate::simulation::PRECISIONS.join(", "));
    line("processor", processor());
    line("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    line("isa", Isa::best().name().to_owned());
    line("threads", cores().to_string());
    line("profile", if cfg!(debug_assertions) { "debug (times mean little)" } else { "release" }.to_owned());
    text
}

/// Features of the facade that this build has, as its backends show them.
fn features() -> Vec<&'static str> {
    let names = AnyBackend::<f32>::names();
    [("simd", "simd"), ("parallel", "parallel")]
        .into_iter()
        .filter(|(_, backend)| names.contains(backend))
        .map(|(feature, _)| feature)
        .collect()
}

/// Today's date and the time, UTC: `2026-01-31 12:00 UTC`.
pub fn date() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil((seconds / 86_400) as i64);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600 % 24, seconds / 60 % 60)
}

/// Days since 1970-01-01 to year, month, day.   [Hinnant: chrono-compatible low-level date algorithms]
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_civil() {
        assert_eq!(super::civil(0), (1970, 1, 1));
        assert_eq!(super::civil(19_782), (2024, 2, 29));
    }
}
