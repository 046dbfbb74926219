//! Results as Markdown, with the machine they were taken on.

use std::fmt::Write as _;
use std::path::Path;

// The harness names the machine too, and the benches cannot depend on it: one file serves both.
#[path = "../../harness/src/machine.rs"]
#[allow(dead_code, reason = "the benches name the day, the harness the time as well")]
mod machine;

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
    let field = |key| machine::processor_field(key).unwrap_or_else(|| "unknown".to_owned());
    format!(
        "{} (family {}, model {}), {} cores; {}; one thread unless said otherwise; minimum of interleaved runs.",
        machine::processor(),
        field("cpu family"),
        field("model"),
        machine::cores(),
        machine::day()
    )
}
