//! The binary `pliant`: compare methods and backends, run scene files, validate a build.

use std::process::ExitCode;

use pliant_harness::Harness;
use pliant_harness::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    Harness::new().main()
}
