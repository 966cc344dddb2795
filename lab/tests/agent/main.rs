//! Agents and controllers over real connections: who is let in, whose turn it
//! is, and what strangers and faults can do.
//!
//! All of it happens in a network namespace of this program's own, so that
//! there are addresses that are not loopback's, and nothing leaves it. Started
//! again with an argument, the program is an agent, a controller, a host or an
//! endpoint. A test that this machine does not allow is counted as ignored and
//! prints `SKIPPED: name: reason`.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod support;

mod attacks;
mod faults;
mod flood;
mod limits;
mod reach;
mod tls;
mod trust;
mod turns;
mod versions;

use std::process::ExitCode;

use testkit::claims::Claims;

use support::{inside, roles};

pub(crate) use testkit::claims;

const MODULES: &[(&str, Claims)] = &[
    ("trust", trust::ALL),
    ("versions", versions::ALL),
    ("tls", tls::ALL),
    ("faults", faults::ALL),
    ("turns", turns::ALL),
    ("limits", limits::ALL),
    ("reach", reach::ALL),
    ("flood", flood::ALL),
    ("attacks", attacks::ALL),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some("__host"), _) => return roles::host(),
        (Some("__endpoint"), _) => return roles::endpoint(),
        (Some("__agent"), Some(spec)) => return roles::agent(&spec),
        (Some("__controller"), Some(spec)) => return roles::controller(&spec),
        _ => {}
    }
    if let Some(exit) = inside::run() {
        return exit;
    }
    claims::test(MODULES)
}
