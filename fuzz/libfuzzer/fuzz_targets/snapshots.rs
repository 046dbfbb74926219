#![no_main]
//! `pliant_fuzz::snapshots::target` under libFuzzer.

libfuzzer_sys::fuzz_target!(|data: &[u8]| pliant_fuzz::snapshots::target(data));
