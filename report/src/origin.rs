//! Where the rows of a table come from.

use std::collections::BTreeSet;

use model::Run;
use model::host::{HostFacts, hardware, hardware_of_many};
use model::recording::Recording;

use crate::clock;

/// The facts of a run or a recording, by name.
pub type Facts = [(&'static str, String); 6];

/// Facts of a run and its hosts, by name. They stand with every exported row, so that rows of several runs, and of several forms of
/// one run, can be joined.
pub fn facts(run: &Run, hosts: &[HostFacts]) -> Facts {
    let of_hosts = |fact: fn(&HostFacts) -> &str| {
        let facts: BTreeSet<&str> = hosts.iter().map(fact).collect();
        facts.into_iter().collect::<Vec<_>>().join(", ")
    };
    [
        ("run", run.id.clone()),
        ("started", clock::plain(run.started_ms)),
        ("nettoll", run.tool.clone()),
        ("kernel", of_hosts(|host| &host.kernel)),
        ("cpu", of_hosts(|host| &host.cpu_model)),
        ("machine", if run.plan.fleet.is_some() { hardware_of_many(hosts) } else { hardware(hosts) }),
    ]
}

/// The same of a recording.
pub fn of_recording(recording: &Recording) -> Facts {
    [
        ("run", recording.id.clone()),
        ("started", clock::plain(recording.started_ms)),
        ("nettoll", recording.tool.clone()),
        ("kernel", recording.kernel.clone()),
        ("cpu", recording.cpu_model.clone()),
        ("machine", recording.machine.clone()),
    ]
}
