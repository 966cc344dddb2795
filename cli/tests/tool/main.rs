//! The whole tool, from its arguments to what it prints, stores and leaves
//! behind, on real traffic over links that it makes itself.
//!
//! No claim here is about speed: only counts, identities and what is said. A
//! test that this machine does not allow is counted as ignored and prints
//! `SKIPPED: name: reason`.
//!
//! A port in use is not among the bad input: the kernel chooses the ports of
//! every trial (they are bound to 0) in namespaces that hold nothing else, so
//! no user can ask for a busy one. The tests of `engine` hold EADDRINUSE.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod support;

mod agents;
mod arms;
mod attach;
mod bad_input;
mod batches;
mod buffers;
mod compare;
mod conditions;
mod conservation;
mod crossing;
mod damaged;
mod docs;
mod endpoint;
mod events;
mod export;
mod forms;
mod gate;
mod help;
mod history;
mod host_wide;
mod hostile;
mod incast;
mod interrupted;
mod kills;
mod links;
mod losses;
mod microscope;
mod oneshot;
mod options;
mod packaging;
mod picture;
mod plans;
mod receipt;
mod reference;
mod resume;
mod services;
mod stacks;
mod stored_runs;
mod top;
mod ways;
mod wires;
mod workload;
mod woven;

use std::process::ExitCode;

use testkit::claims::Claims;

use support::tool;

pub(crate) use testkit::claims;

const MODULES: &[(&str, Claims)] = &[
    ("conservation", conservation::ALL),
    ("batches", batches::ALL),
    ("losses", losses::ALL),
    ("options", options::ALL),
    ("buffers", buffers::ALL),
    ("links", links::ALL),
    ("incast", incast::ALL),
    ("wires", wires::ALL),
    ("crossing", crossing::ALL),
    ("plans", plans::ALL),
    ("receipt", receipt::ALL),
    ("bad_input", bad_input::ALL),
    ("damaged", damaged::ALL),
    ("arms", arms::ALL),
    ("compare", compare::ALL),
    ("host_wide", host_wide::ALL),
    ("conditions", conditions::ALL),
    ("kills", kills::ALL),
    ("events", events::ALL),
    ("interrupted", interrupted::ALL),
    ("resume", resume::ALL),
    ("hostile", hostile::ALL),
    ("stored_runs", stored_runs::ALL),
    ("top", top::ALL),
    ("top::agreement", top::agreement::ALL),
    ("top::causes", top::causes::ALL),
    ("top::networks", top::networks::ALL),
    ("top::large", top::large::ALL),
    ("top::recordings", top::recordings::ALL),
    ("attach", attach::ALL),
    ("attach::advice", attach::advice::ALL),
    ("attach::sizes", attach::sizes::ALL),
    ("attach::offloads", attach::offloads::ALL),
    ("attach::hostile", attach::hostile::ALL),
    ("endpoint", endpoint::ALL),
    ("stacks", stacks::ALL),
    ("reference", reference::ALL),
    ("history", history::ALL),
    ("export", export::ALL),
    ("ways", ways::ALL),
    ("workload", workload::ALL),
    ("woven", woven::ALL),
    ("oneshot", oneshot::ALL),
    ("microscope", microscope::ALL),
    ("forms", forms::ALL),
    ("help", help::ALL),
    ("gate", gate::ALL),
    ("gate::gitlab", gate::gitlab::ALL),
    ("packaging", packaging::ALL),
    ("docs", docs::ALL),
    ("picture", picture::ALL),
    ("agents::arms", agents::arms::ALL),
    ("agents::studies", agents::studies::ALL),
    ("agents::slow", agents::slow::ALL),
    ("agents::peers", agents::peers::ALL),
    ("agents::paths", agents::paths::ALL),
    ("agents::killed", agents::killed::ALL),
    ("agents::clocks", agents::clocks::ALL),
    ("agents::turns", agents::turns::ALL),
    ("agents::many", agents::many::ALL),
    ("agents::incast", agents::incast::ALL),
    ("agents::oneshot", agents::oneshot::ALL),
    ("agents::strangers", agents::strangers::ALL),
    ("agents::capabilities", agents::capabilities::ALL),
    ("agents::commands", agents::commands::ALL),
    ("agents::commands_faults", agents::commands_faults::ALL),
    ("agents::fleet", agents::fleet::ALL),
];

fn main() -> ExitCode {
    if let Some(exit) = agents::roles::play().or_else(attach::server::play) {
        return exit;
    }
    tool::make_copy();
    // Services are tested where they were unpacked (make test-services), and nothing else is then.
    let exit = claims::test(if services::are_here() { services::MODULES } else { MODULES });
    tool::remove_copy();
    exit
}
