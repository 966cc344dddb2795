//! Endpoints on threads of this process, their host and controller played by
//! the tests, their traffic on loopback.

#[path = "../support/mod.rs"]
mod support;

mod counts;
mod ends;
mod options;
mod turns;
