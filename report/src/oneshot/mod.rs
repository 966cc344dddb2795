//! One trial, for the habit of the hand: what `nettoll -c` prints.
//!
//! ```text
//! Setting (plan, hosts) -> header
//! progress of both ends -> Intervals -> Row -> a line each
//! TrialRecord -> summary | json, in which iperf3's names mean what they mean there
//! ```

mod header;
mod interval;
pub mod json;
mod summary;
mod summary_parts;

use model::host::HostFacts;
use model::plan::{HOST_NAMES, TrialEnd};
use model::{Cell, Plan, Role, Warning};

pub use header::header;
pub use interval::{Intervals, Row};
pub use summary::{partial, summary};

/// What is known before the first message.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// A plan of one cell.
    pub plan: &'a Plan,
    /// Whether host `b` sends.
    pub swapped: bool,
    /// What the other host was called by the user.
    pub remote: &'a str,
    /// Its address, if it is known.
    pub address: Option<std::net::IpAddr>,
    /// The facts of both hosts.
    pub hosts: &'a [HostFacts],
    /// What is to be known of the whole run.
    pub warnings: &'a [Warning],
    /// The version of nettoll.
    pub tool: &'a str,
}

impl Setting<'_> {
    /// The cell; `None` of a plan without one.
    fn cell(&self) -> Option<&Cell> {
        self.plan.cells.first()
    }

    /// Whether the end of a role is on this machine.
    fn is_here(&self, role: Role) -> bool {
        (role == Role::Sender) != self.swapped
    }

    /// The facts of the host that a role is on.
    fn facts(&self, role: Role) -> Option<&HostFacts> {
        let name = HOST_NAMES[usize::from(!self.is_here(role))];
        self.hosts.iter().find(|host| host.name == name)
    }

    /// Where the end of a role is, in a word.
    fn place(&self, role: Role) -> &str {
        if self.is_here(role) { "here" } else { self.remote }
    }

    /// The study that measures the same often enough for intervals: a command
    /// for the shell, in lines that need no wrapping.
    fn study(&self) -> [String; 2] {
        let Some(cell) = self.cell() else { return ["nettoll study quick".to_owned(), String::new()] };
        let mut words = vec![format!("--test {} --size {}", cell.test, cell.size)];
        if let TrialEnd::Length(length) = self.plan.end {
            words.push(format!("--length {}", length.to_string().replace(' ', "")));
        }
        words.extend((cell.flows > 1).then(|| format!("--flows {}", cell.flows)));
        words.extend(cell.rate.map(|rate| format!("--rate {}", written(rate))));
        [format!("nettoll study quick --host b={} \\", self.remote), format!("  {}", words.join(" "))]
    }
}

/// A rate as a user writes it.
fn written(rate: model::OfferedRate) -> String {
    match rate {
        model::OfferedRate::Bits(bits) => bits.get().to_string(),
        model::OfferedRate::Messages(rate) => format!("{rate}/s"),
    }
}
