//! The loops that have a schedule, stamp their messages, or make a connection
//! for each, against peers that do what a test needs.

// Clippy's exception for tests does not reach what they share.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod answerers;
mod batches;
mod crr;
mod flow;
mod mixes;
mod open_requests;
mod open_streams;
mod stamped;
