//! The host side on a real kernel: two hosts, each a process with namespaces of
//! its own, joined by a link. Started again with an argument, this program is
//! one such host; the usual harness has threads, and a process with threads
//! gets no user namespace.
//!
//! A test that this machine does not allow prints `SKIPPED: name: reason`.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod child;
mod pair;
mod tests;

use std::process::ExitCode;

use testkit::claims;

fn main() -> ExitCode {
    if let Some(isolation) = std::env::var_os(pair::CHILD) {
        return child::run(&isolation.to_string_lossy());
    }
    pair::make_copy();
    let exit = claims::test(&[("", tests::ALL)]);
    pair::remove_copy();
    exit
}
