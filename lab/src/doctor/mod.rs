//! Offers of this machine to a study, found by trying.
//!
//! Never by the kernel's version: distributions carry features back, and
//! administrators and sandboxes take them away. Each attempt is made once, is
//! bounded in time and leaves nothing behind; a refusal is final and comes with
//! what to do. What has to be tried on a device is tried in a namespace of a
//! child process (`scratch`), never on the machine's own.

mod answer;
mod scratch;

mod bpf;
mod clock;
mod cpu;
mod device;
mod limit;
mod namespace;
mod perf;
mod socket;
mod ways;

pub use scratch::Scratch;

use std::io;

use model::Refusal;
use model::check::{Check, Need, State};

/// Tries everything and says what is there, area by area in the order of
/// [`model::check::Area`]. Takes a fraction of a second; some ten seconds where
/// another program holds the kernel's network lock. Starts child processes,
/// which have ended when this returns.
pub fn examine() -> Vec<Check> {
    let scratch = scratch::Findings::gather();
    [
        cpu::checks(),
        clock::checks(),
        namespace::checks(&scratch),
        socket::checks(),
        socket::options(),
        ways::checks(),
        device::offloads(),
        perf::checks(),
        bpf::checks(),
        device::queueing(&scratch),
        limit::checks(),
    ]
    .concat()
}

/// Tries a link and a rate limit in namespaces of this process, which must have one thread, and writes the
/// errno of each step to standard output, 0 of success.
///
/// # Errors
/// The step that was refused.
pub fn try_requests(scratch: Scratch) -> io::Result<()> {
    scratch::answer(scratch)
}

/// The first refusal of this machine that leaves a study without receipts; `None` where it
/// can make them.
pub fn no_receipts() -> Option<Refusal> {
    perf::of_receipts().into_iter().find_map(|check| match check.state {
        State::Absent { answer, remedy } => Some(Refusal { what: check.name, answer, remedy }),
        State::Present { .. } => None,
    })
}

/// Returns whether the study `quick` can run: nothing that it requires is absent. It
/// does without namespaces, on loopback and with a warning.
pub fn quick_can_run(checks: &[Check]) -> bool {
    let mut required = checks.iter().filter(|check| check.need == Need::Required).peekable();
    // Nothing examined is nothing known.
    required.peek().is_some() && required.all(Check::is_present)
}

#[cfg(test)]
mod tests {
    use super::quick_can_run;
    use model::check::{Area, Check, Need};

    #[test]
    fn only_what_quick_requires_stops_it() {
        let tcp = Check::present(Area::Sockets, "TCP", Need::Required, "");
        let no_tcp = Check::absent(Area::Sockets, "TCP", Need::Required, "EPERM", "leave the sandbox");
        let no_bpf = Check::absent(Area::Bpf, "BTF", Need::Optional, "ENOENT", "rebuild");
        assert!(quick_can_run(&[tcp.clone(), no_bpf]));
        assert!(!quick_can_run(&[tcp, no_tcp]));
        assert!(!quick_can_run(&[]));
    }
}
