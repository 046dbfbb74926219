//! The guide: what to choose, what numbers mean, and how to put pliant into something larger.
//!
//! | page | answers |
//! | --- | --- |
//! | [`methods`] | Which solver when? |
//! | [`contact`] | What keeps things apart, and how much does it promise? |
//! | [`units`] | What does this number mean? |
//! | [`tuning`] | It stretches, jitters, explodes or is too slow: what now? |
//! | [`determinism`] | What makes two machines agree, and what would break it? |
//! | [`features`] | What does each Cargo feature cost and bring? |
//! | [`embedding`] | Engines, renderers, networks, save games, threads |
//! | [`from_c`] | The same from C |
//!
//! The examples of the repository are complete programs: `hello_cloth`, `cape` (a character), `rollback` (networking), `own_kind`
//! (a constraint and a solver of one's own), and more.

#[cfg(feature = "collision")]
#[doc = include_str!("guide/contact.md")]
pub mod contact {}
#[doc = include_str!("guide/determinism.md")]
pub mod determinism {}
#[doc = include_str!("guide/embedding.md")]
pub mod embedding {}
#[doc = include_str!("guide/features.md")]
pub mod features {}
#[doc = include_str!("guide/from_c.md")]
pub mod from_c {}
#[doc = include_str!("guide/methods.md")]
pub mod methods {}
#[doc = include_str!("guide/tuning.md")]
pub mod tuning {}
#[doc = include_str!("guide/units.md")]
pub mod units {}
