//! The machine that figures were taken on, and the day.
//!
//! The benches of the facade include this very file (`benches/support/report.rs`), since they cannot depend on the harness.

/// Cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What the system says about its first processor under this key.
pub fn processor_field(key: &str) -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fields = info.lines().filter_map(|line| line.split_once(':'));
    fields.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == key).map(|(_, v)| v.to_owned())
}

/// The processor's name, as far as the system tells.
pub fn processor() -> String {
    processor_field("model name").unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH))
}

/// Now, UTC: `2026-01-31 12:00 UTC`.
pub fn date() -> String {
    let seconds = seconds();
    format!("{} {:02}:{:02} UTC", day(), seconds / 3600 % 24, seconds / 60 % 60)
}

/// Today, UTC: `2026-01-31`.
pub fn day() -> String {
    let (year, month, day) = civil((seconds() / 86_400) as i64);
    format!("{year}-{month:02}-{day:02}")
}

/// Seconds since 1970.
fn seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs())
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
