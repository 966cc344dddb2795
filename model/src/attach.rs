//! What is stored about a program of another user that was observed while it ran.
//!
//! An attached run has windows instead of trials: stretches of time in which one kind of look
//! is taken at the program. `attach.json` holds an [`Attachment`], `windows.jsonl` a
//! [`WindowRecord`] a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::end::{TcpInfo, Window};
use crate::link::Offload;
use crate::profile::{HardwareCounts, Profile, Waits};
use crate::quantity::Nanos;
use crate::refusal::Refusal;
use crate::run::Status;
use crate::sorting::Order;
use crate::wakeups::WakeupCost;

/// The version of `attach.json` and of a line of `windows.jsonl` that this build writes and reads.
pub const ATTACH_FORMAT: u32 = 1;

/// The refusal where children are known only when a window begins.
pub const CHILDREN: &str = "children from their first instruction";

choice! {
    /// The look that is taken at a program in one window; never two at once.
    Look, "a look" {
        /// Clocks and counts alone: whose times are believed.
        Clean = "clean",
        /// A sampler of call chains.
        Time = "time",
        /// A program in the kernel at every message that a socket takes or gives.
        Messages = "messages",
        /// Scheduler tracepoints.
        Waits = "waits",
    }
}

/// One attached run: `attach.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// Version; a reader refuses one it does not know.
    pub format: u32,
    /// The name of the run directory.
    pub id: String,
    /// Start, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// The version of nettoll that observed.
    pub tool: String,
    /// Status.
    pub status: Status,
    /// What was asked for: `pid 4711`, `unit nginx`, `cgroup /x`, `command`.
    pub target: String,
    /// Name of the program's main process (`/proc/PID/comm`).
    pub program: String,
    /// The program's arguments, on request alone: they may hold secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
    /// The source of requests, as given: `sends`, `redis:127.0.0.1:6379`.
    pub requests: String,
    /// Length of a window.
    pub window: Nanos,
    /// Least distance of two samples, in ns; the windows of a block have up to a tenth more.
    pub period: u64,
    /// Time that a sample takes from what it interrupts; `None` where it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_cost: Option<Nanos>,
    /// Time that a wake-up is billed before the thread runs; `None` where it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeups: Option<WakeupCost>,
    /// Seed of the order of windows.
    pub seed: u64,
    /// Release of the kernel.
    pub kernel: String,
    /// Number of CPUs online.
    pub cpus: u32,
    /// True where this kernel takes interrupt time out of process clocks; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_time_subtracted: Option<bool>,
    /// CPUs that the program's main thread may use, where these are not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affinity: Vec<u32>,
    /// CPUs that its peers on this machine may use, where these are not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer_affinity: Vec<u32>,
    /// Names of the two arms that the program was switched between; empty of one state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
    /// What this machine refused for the whole observation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
}

/// The source of requests that counts the sends of the program.
pub const SENDS: &str = "sends";

impl Attachment {
    /// True where the program's sends are its requests.
    pub fn counts_sends(&self) -> bool {
        self.requests == SENDS
    }
}

/// One window: a line of `windows.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowRecord {
    /// Version; a reader refuses one it does not know.
    pub format: u32,
    /// The block it belongs to, from 0: a block has a window of each look.
    pub block: u32,
    /// The look taken.
    pub look: Look,
    /// The arm, by its place in [`Attachment::arms`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<usize>,
    /// Its start and end on this machine's monotonic clock.
    pub window: Window,
    /// Requests that the program answered meanwhile; `None` where the source could not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Clocks and counts of the program at the edges.
    pub clocks: Clocks,
    /// Sums of socket calls, where a counter was on in every window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// Share of the machine's CPU time that a hypervisor took, 0 to 1.
    #[serde(default)]
    pub stolen: f64,
    /// Samples, in a window of that look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Advance of hardware counters, chain by chain of `profile`, where the machine counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<HardwareCounts>,
    /// Samples in network softirqs that ran in other programs or in idle time, in a window of
    /// samples of whole CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// Samples in the program's own code, in a window of samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_code: Option<OwnCode>,
    /// Messages, in a window of that look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// Waits of all threads together, in a window of that look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// The sockets at the end of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<Sockets>,
    /// What this machine refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
}

impl WindowRecord {
    /// A window in which nothing but the edges was read.
    pub fn new(block: u32, look: Look, window: Window, clocks: Clocks) -> Self {
        Self {
            format: ATTACH_FORMAT,
            block,
            look,
            arm: None,
            window,
            requests: None,
            clocks,
            totals: None,
            stolen: 0.0,
            profile: None,
            counters: None,
            elsewhere: None,
            own_code: None,
            messages: None,
            waits: None,
            sockets: None,
            refused: Vec::new(),
        }
    }
}

/// Clocks and counts of a program over one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// CPU time of all its processes, with that of children that ended, which the kernel gives
    /// in steps of 10 ms.
    pub cpu: Nanos,
    /// The part of `cpu` that children spent that ended within the window.
    #[serde(default)]
    pub ended: Nanos,
    /// Processes at the end.
    pub processes: u32,
    /// Threads at the end.
    pub threads: u32,
    /// Processes that came and went within it, where they could be counted.
    #[serde(default)]
    pub came: u32,
    /// Times that a thread waited for something; each is a later wake-up.
    pub voluntary: u64,
    /// Times that a thread was taken off its CPU.
    pub involuntary: u64,
    /// Time that threads were ready and had no CPU; `None` on a kernel that does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay: Option<Nanos>,
}

/// Samples in softirqs of the network outside the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// In network softirqs in other programs, kernel threads and idle time.
    pub softirq: u64,
    /// Distance of two samples, in ns.
    pub period: u64,
}

/// Samples in the program's own code by function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCode {
    /// Functions by symbols of files or maps of run-time compilers, and their samples, the most
    /// first; at most 64.
    pub functions: Vec<(String, u64)>,
    /// Samples in other functions that have a name.
    pub rest: u64,
    /// Samples in code without a name.
    pub unnamed: u64,
}

/// Messages of a window, by what a program in the kernel saw at each socket call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Sums of all calls, exact.
    pub totals: Totals,
    /// Calls that were looked at one by one: `calls` and `patterns` are of these.
    pub kept: u64,
    /// Further calls, which are in the sums alone: there was no room for more.
    pub beyond: u64,
    /// By kind of call, the most frequent first.
    pub calls: Vec<CallKind>,
    /// Exchanges on one socket: data taken, then data given. The most frequent first.
    pub patterns: Vec<Pattern>,
    /// Exchanges of every kind.
    pub exchanges: u64,
    /// Sockets that gave or took data.
    pub sockets: u64,
}

/// Sums of socket calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Calls that gave data to a socket.
    pub sends: u64,
    /// Bytes that they gave.
    pub sent: u64,
    /// Calls that took data from a socket.
    pub receives: u64,
    /// Bytes that they took.
    pub received: u64,
    /// Calls that found nothing to take, or no room (EAGAIN).
    pub empty: u64,
    /// Other calls that failed, and those that saw the end of a connection.
    pub failed: u64,
}

impl Totals {
    /// The sums since earlier ones.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            sends: self.sends.saturating_sub(earlier.sends),
            sent: self.sent.saturating_sub(earlier.sent),
            receives: self.receives.saturating_sub(earlier.receives),
            received: self.received.saturating_sub(earlier.received),
            empty: self.empty.saturating_sub(earlier.empty),
            failed: self.failed.saturating_sub(earlier.failed),
        }
    }
}

choice! {
    /// Direction of a socket call's data.
    Way, "a way" {
        /// Out of the program.
        Out = "out",
        /// Into it.
        In = "in",
    }
}

/// Socket calls of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallKind {
    /// The system call by its kernel name: `sendto`, `writev`; `io_uring` where the data went by
    /// a ring, `other` where the call cannot move data by itself.
    pub call: String,
    /// Way of the data.
    pub way: Way,
    /// `tcp`, `udp`, `unix`, or the numbers of family and protocol.
    pub protocol: String,
    /// Calls that moved data.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Calls that found nothing, or no room (EAGAIN).
    pub empty: u64,
    /// Other failures.
    pub failed: u64,
    /// Calls that moved less than they asked for; `None` where it is not known of any call what it
    /// asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    /// Bytes asked for by the calls that moved data, without the `untold` ones; `None` as for `short`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    /// Sizes asked for and their calls, the most frequent first, at most 64 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked_sizes: Vec<(u64, u64)>,
    /// Calls of these that asked for more: of pieces beyond the eighth nothing is read.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub at_least: u64,
    /// Calls that moved data and of which it is not known what they asked for.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub untold: u64,
    /// Sizes moved and their calls, the most frequent first, at most 64 of them.
    pub sizes: Vec<(u64, u64)>,
}

impl CallKind {
    /// Calls that moved data and of which it is not known what they asked for.
    pub const fn unknown(&self) -> u64 {
        if self.short.is_some() { self.untold } else { self.calls }
    }

    /// Adds calls of the same kind: sizes are all kept, and what is not known of these calls is not known of so many.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.empty += other.empty;
        self.failed += other.failed;
        self.at_least += other.at_least;
        self.untold += other.unknown();
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b)).or(a).or(b);
        (self.short, self.asked) = (sum(self.short, other.short), sum(self.asked, other.asked));
        for (sizes, others) in [(&mut self.sizes, &other.sizes), (&mut self.asked_sizes, &other.asked_sizes)] {
            let mut all: BTreeMap<u64, u64> = BTreeMap::new();
            for (size, calls) in sizes.iter().chain(others) {
                *all.entry(*size).or_default() += calls;
            }
            *sizes = frequent(all);
        }
    }
}

/// Sizes and their calls, the most frequent first.
pub fn frequent(sizes: BTreeMap<u64, u64>) -> Vec<(u64, u64)> {
    let mut sizes: Vec<(u64, u64)> = sizes.into_iter().collect();
    sizes.order_by_key(|(size, calls)| (std::cmp::Reverse(*calls), *size));
    sizes
}

/// Sends that a pattern keeps.
pub const MOST_SENDS: usize = 16;

/// An exchange on one socket: `receives` calls took `received` bytes, then `sends` gave the
/// sizes here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pattern {
    /// `tcp`, `udp`, `unix`.
    pub protocol: String,
    /// Calls that took data.
    pub receives: u32,
    /// Bytes taken.
    pub received: u64,
    /// Call that gave data first.
    pub call: String,
    /// Call that gave each piece, where these differ; empty where `call` gave all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Sizes given, in order; at most [`MOST_SENDS`], the last of which then holds the rest.
    pub sends: Vec<u64>,
    /// Longest time between two neighbouring sends, in ns, over all of these exchanges.
    pub apart: u64,
    /// Exchanges of this kind.
    pub count: u64,
}

/// The program's sockets at one moment, by `sock_diag` of its network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sockets {
    /// Sockets by protocol and state: `tcp established`, `udp`.
    pub count: BTreeMap<String, u64>,
    /// The connections that moved most, at most 64.
    pub connections: Vec<Connection>,
    /// Datagrams dropped at receive buffers of sockets that are still there.
    pub drops: u64,
    /// Sums over all connections: the sums that the kernel counts, not sizes or times.
    pub sums: TcpSums,
    /// Devices that connections leave by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
}

/// A device that connections of the program leave by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name in the program's network namespace.
    pub name: String,
    /// Its largest IP packet, in bytes; 0 where that is not known.
    pub mtu: u32,
    /// TCP connections that leave by it.
    pub connections: u64,
    /// Payload bytes of these that peers acknowledged, over their lives.
    pub acknowledged: u64,
    /// What it could do for a sender and is set not to.
    pub off: Vec<Offload>,
}

/// Sums over TCP connections that are there at one moment, of their whole lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpSums {
    /// Connections.
    pub connections: u64,
    /// Payload bytes acknowledged by peers.
    pub acknowledged: u64,
    /// Payload bytes received.
    pub received: u64,
    /// Segments sent again.
    pub resent: u64,
    /// Segments with data that were sent.
    pub data_out: u64,
    /// Segments with data that were received.
    pub data_in: u64,
    /// Time spent sending, in µs.
    pub busy: u64,
    /// Time held back by receivers' windows, in µs.
    pub window_limited: u64,
    /// Time held back by send buffers, in µs.
    pub buffer_limited: u64,
}

/// One connection or datagram socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Own address and port.
    pub local: String,
    /// The peer's.
    pub peer: String,
    /// Bytes in the receive queue; of a listener, connections that wait.
    pub receive_queue: u32,
    /// Bytes in the send queue.
    pub send_queue: u32,
    /// Size of the receive buffer.
    pub receive_buffer: u32,
    /// Size of the send buffer.
    pub send_buffer: u32,
    /// Datagrams dropped for want of room.
    pub drops: u32,
    /// TCP's own account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// Segments that wait for an acknowledgement.
    #[serde(default)]
    pub unacked: u32,
    /// Bytes that were not sent yet.
    #[serde(default)]
    pub unsent: u32,
    /// True where Nagle's algorithm is off; `None` where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::{Clocks, Look, WindowRecord};
    use crate::end::Window;

    #[test]
    fn a_window_reads_as_it_was_written() {
        let record = WindowRecord { requests: Some(7), ..WindowRecord::new(3, Look::Clean, Window::default(), Clocks::default()) };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<WindowRecord>(&text).unwrap(), record);
        assert!(!text.contains("profile"), "{text}");
    }
}
