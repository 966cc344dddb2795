//! Parts that the tests of all crates share. A dev-dependency, and one of `bench`;
//! never shipped.
//!
//! - [`claims`]: test programs whose claims this machine may not allow, and which say so;
//! - [`elf`]: programs with any number of symbols;
//! - [`guest`]: programs with the libraries that a guest lacks;
//! - [`made`]: a plan, a run, the report of an end and a trial, made up;
//! - [`processes`]: the processes of a tool under test;
//! - [`servers`]: Redis, memcached, nginx and PostgreSQL.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a step that fails is a test that fails")]

pub mod claims;
pub mod elf;
pub mod guest;
pub mod made;
pub mod processes;
pub mod servers;

pub use claims::{Skip, within};
