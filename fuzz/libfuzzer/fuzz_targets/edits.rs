#![no_main]
//! `pliant_fuzz::edits::target` under libFuzzer.

libfuzzer_sys::fuzz_target!(|data: &[u8]| pliant_fuzz::edits::target(data));
