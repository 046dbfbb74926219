#![no_main]
//! `pliant_fuzz::bodies::target` under libFuzzer.

libfuzzer_sys::fuzz_target!(|data: &[u8]| pliant_fuzz::bodies::target(data));
