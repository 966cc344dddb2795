//! Parts that the tests of all crates share. A dev-dependency, and one of `stress`; never
//! shipped.
//!
//! - [`claims`]: test programs whose claims this machine may not allow, and which say so;
//! - [`made`]: a plan, a run, the report of an end and a trial, made up;
//! - [`processes`]: the processes of a tool under test.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a step that fails is a test that fails")]

pub mod claims;
pub mod made;
pub mod processes;

pub use claims::{Skip, within};
