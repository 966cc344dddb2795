//! One trial, for the habit of the hand: what `nettoll -c` prints.
//!
//! ```text
//! TrialFacts (plan, hosts) -> header
//! progress of both ends -> Intervals -> Row -> a line each
//! TrialRecord -> summary | json, in which iperf3's names mean what they mean there
//! ```

mod brief;
mod header;
mod interval;
pub mod json;
mod summary;
mod summary_parts;

use model::host::HostFacts;
use model::plan::{HOST_NAMES, PlanEnd};
use model::{Api, Arrivals, Cell, Family, Pacing, Plan, Protocol, Role, Waiting, Warning};

pub use header::header;
pub use interval::{Intervals, Row, complete};
pub use summary::{partial, summary};

/// Facts known before the first message.
#[derive(Debug, Clone, Copy)]
pub struct TrialFacts<'a> {
    /// A plan of one cell.
    pub plan: &'a Plan,
    /// Host `b` sends.
    pub swapped: bool,
    /// Name that the user gave the other host.
    pub remote: &'a str,
    /// Its address, if it is known.
    pub address: Option<std::net::IpAddr>,
    /// The facts of both hosts.
    pub hosts: &'a [HostFacts],
    /// Warnings of the whole run.
    pub warnings: &'a [Warning],
    /// The version of nettoll.
    pub tool: &'a str,
}

impl TrialFacts<'_> {
    /// The cell; `None` of a plan without one.
    fn cell(&self) -> Option<&Cell> {
        self.plan.cells.first()
    }

    /// Returns whether the end of a role is on this machine.
    fn is_here(&self, role: Role) -> bool {
        (role == Role::Sender) != self.swapped
    }

    /// The facts of the host that a role is on.
    fn facts(&self, role: Role) -> Option<&HostFacts> {
        let name = HOST_NAMES[usize::from(!self.is_here(role))];
        self.hosts.iter().find(|host| host.name == name)
    }

    /// Place of the end of a role, in a word.
    fn place(&self, role: Role) -> &str {
        if self.is_here(role) { "here" } else { self.remote }
    }

    /// The study that measures the same often enough for intervals: a command
    /// for the shell, in lines that need no wrapping.
    fn study(&self) -> Vec<String> {
        let Some(cell) = self.cell() else { return vec!["nettoll study quick".to_owned()] };
        let mut flags = vec![format!("--test {}", cell.test), format!("--size {}", bare(&cell.size))];
        if let PlanEnd::Length(length) = self.plan.end {
            flags.push(format!("--length {}", bare(&length)));
        }
        flags.extend((cell.family == Family::V6).then(|| "-6".to_owned()));
        flags.extend((cell.flows > 1).then(|| format!("--flows {}", cell.flows)));
        flags.extend(cell.rate.map(|rate| format!("--rate {}", written(rate))));
        flags.extend((cell.pacing != Pacing::Sleep).then(|| format!("--pacing {}", cell.pacing)));
        flags.extend((cell.arrivals != Arrivals::Periodic).then(|| format!("--arrivals {}", cell.arrivals)));
        // A preset may have it either way.
        flags.extend((cell.protocol() == Protocol::Tcp).then(|| format!("--nodelay={}", cell.nodelay)));
        flags.extend(cell.cc.as_ref().map(|cc| format!("--cc {cc}")));
        flags.extend(cell.sndbuf.map(|size| format!("--sndbuf {}", bare(&size))));
        flags.extend(cell.rcvbuf.map(|size| format!("--rcvbuf {}", bare(&size))));
        flags.extend(cell.bidirectional.then(|| "--bidir".to_owned()));
        flags.extend((cell.api != Api::Send).then(|| format!("--api {}", cell.api)));
        flags.extend(cell.receive.map(|receive| format!("--receive {receive}")));
        flags.extend((Some(cell.batch) != cell.batches() && cell.batch > 1).then(|| format!("--batch {}", cell.batch)));
        flags.extend((cell.waiting != Waiting::Block).then(|| format!("--waiting {}", cell.waiting)));
        flags.extend((cell.work.get() > 0).then(|| format!("--work {}", bare(&cell.work))));
        flags.extend(cell.tos.map(|tos| format!("--tos {tos}")));
        flags.extend(cell.nstreams.map(|streams| format!("--nstreams {streams}")));
        flags.extend(cell.xbind.as_ref().map(|addresses| format!("--xbind {addresses}")));
        flags.extend(cell.stamp.then(|| "--stamp".to_owned()));
        let mut lines = vec![format!("nettoll study quick --host b={}", self.remote)];
        let mut line = String::from(" ");
        for flag in flags {
            if line.len() + flag.len() > LINE {
                lines.push(std::mem::replace(&mut line, String::from(" ")));
            }
            line = format!("{line} {flag}");
        }
        lines.push(line);
        let last = lines.len() - 1;
        lines[..last].iter_mut().for_each(|line| line.push_str(" \\"));
        lines
    }
}

/// Room for flags on a line of a command, next to its indent and what follows it.
const LINE: usize = 70;

/// A quantity without the blank before its unit.
fn bare(quantity: &impl ToString) -> String {
    quantity.to_string().replace(' ', "")
}

/// A rate as a user writes it.
fn written(rate: model::OfferedRate) -> String {
    match rate {
        model::OfferedRate::Bits(bits) => bits.get().to_string(),
        model::OfferedRate::Messages(rate) => format!("{rate}/s"),
    }
}
