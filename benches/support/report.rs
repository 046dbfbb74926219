//! Results as Markdown, with the machine they were taken on.

use std::fmt::Write as _;
use std::path::Path;

/// A result file in the making; printed as it grows.
pub struct Report {
    name: &'static str,
    text: String,
}

impl Report {
    pub fn new(name: &'static str, title: &str) -> Self {
        let mut report = Self { name, text: String::new() };
        report.line(&format!("# {title}\n\n{}\n", machine()));
        report
    }
    pub fn line(&mut self, line: &str) {
        println!("{line}");
        let _ = writeln!(self.text, "{line}");
    }
    /// Writes `benches/results/NAME.md`.
    pub fn save(&self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results").join(self.name).with_extension("md");
        std::fs::write(&path, &self.text).expect("the results folder is writable");
        println!("\nwritten to benches/results/{}.md", self.name);
    }
}

/// Processor, cores and date, as far as the system tells.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |key: &str| {
        info.lines().find(|l| l.starts_with(key)).and_then(|l| l.split(':').nth(1)).map_or("unknown", str::trim)
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (y, m, d) = civil((seconds / 86_400) as i64);
    format!(
        "{} (family {}, model {}), {cores} cores; {y}-{m:02}-{d:02}; one thread unless said otherwise; \
         minimum of interleaved runs.",
        field("model name"),
        field("cpu family"),
        field("model\t")
    )
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
