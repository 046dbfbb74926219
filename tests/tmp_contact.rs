#[path = "common/mod.rs"]
mod common;
#[path = "engine/contact_sdf.rs"]
mod contact_sdf;
#[path = "engine/run.rs"]
mod run;
#[path = "scenes/mod.rs"]
mod scenes;
