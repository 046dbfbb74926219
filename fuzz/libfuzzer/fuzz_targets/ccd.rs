#![no_main]
//! `pliant_fuzz::ccd::target` under libFuzzer.

libfuzzer_sys::fuzz_target!(|data: &[u8]| pliant_fuzz::ccd::target(data));
