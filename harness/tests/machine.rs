//! What the reports say of the machine and the day: the unit tests of that file.
#![allow(dead_code, reason = "its functions serve the library")]

#[path = "../src/machine.rs"]
mod machine;
