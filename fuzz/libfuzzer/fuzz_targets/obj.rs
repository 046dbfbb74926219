#![no_main]
//! `pliant_fuzz::obj::target` under libFuzzer.

libfuzzer_sys::fuzz_target!(|data: &[u8]| pliant_fuzz::obj::target(data));
