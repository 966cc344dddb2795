//! Endpoints on threads of this process, their host and controller played by
//! the tests, their traffic on loopback.

// Clippy's exception for tests does not reach what they share.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../support/mod.rs"]
mod support;

mod apis;
mod callers;
mod counts;
mod ends;
mod faults;
mod flows;
mod limits;
mod options;
mod progress;
mod strangers;
mod turns;
mod waiting;
