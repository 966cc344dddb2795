//! What the tests of all crates share. It is a dev-dependency and never shipped.
//!
//! - [`claims`]: test programs whose claims this machine may not allow, and which say so;
//! - [`made`]: a plan, a run, the report of an end and a trial, made up.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a step that fails is a test that fails")]

pub mod claims;
pub mod made;

pub use claims::{Skip, within};
