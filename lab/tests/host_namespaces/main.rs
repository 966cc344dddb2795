//! The host side on a real kernel: two hosts, each a process with namespaces of
//! its own, joined by a link. Started anew with an argument, this program is
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

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(isolation) = std::env::var_os(pair::CHILD) {
        return child::run(&isolation.to_string_lossy());
    }
    pair::make_copy();
    let trials = tests::ALL.iter().map(|(name, test)| {
        Trial::test(*name, move || match test() {
            Err(pair::Skip(reason)) => {
                eprintln!("SKIPPED: {name}: {reason}");
                Ok(())
            }
            Ok(()) => Ok(()),
        })
    });
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials.collect());
    pair::remove_copy();
    conclusion.exit_code()
}
