#![no_main]
//! `pliant_fuzz::stencils::target` under libFuzzer.

libfuzzer_sys::fuzz_target!(|data: &[u8]| pliant_fuzz::stencils::target(data));
