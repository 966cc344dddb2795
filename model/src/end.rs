//! Counts of one end of a trial.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::quantity::{Bytes, Nanos};
use crate::traffic::Role;

/// Everything one endpoint reports when its trial is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    /// The part it played.
    pub role: Role,
    /// The CPU its traffic thread was bound to; `None` when it was free to move.
    pub cpu: Option<u32>,
    /// The traffic threads, as this host numbers them, the first flow's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<u32>,
    /// The measured part, on this host's monotonic clock.
    pub window: Window,
    /// From the first message to the last, with warm-up and what came after
    /// the measured part; `None` at a receiver, which knows neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Window>,
    /// Counts of what was measured: within the window, and the message that opened it, if
    /// that was one of a number of messages ([`Counts::first`]).
    pub counts: Counts,
    /// Counts over the whole trial, with warm-up and drain.
    pub total: Counts,
    /// CPU time within the window.
    pub cpu_time: CpuTime,
    /// The part of the process's that it spent in user mode: split as getrusage(2) splits
    /// the time of the whole trial. `None` of a user's own program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_cpu: Option<Nanos>,
    /// Context switches of the traffic thread within the window.
    pub switches: Switches,
    /// Time within the window that the traffic thread was ready but waited for
    /// a CPU; `None` where the kernel does not tell.
    pub run_delay: Option<Nanos>,
    /// Socket options: asked, set, got.
    pub options: Vec<SocketOption>,
    /// TCP's own account at the end of the trial. Its counts are of the whole
    /// trial, from the making of the connection on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// The same at the start of the measured part: what its counts lack of those
    /// of `tcp`, or of a [`Progress`], came since. `None` where `tcp` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_at_start: Option<TcpInfo>,
    /// Data that a sender of a TCP stream had in flight, sampled while it sent;
    /// `None` where it was not sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
    /// Round-trip times in nanoseconds, an HdrHistogram V2 in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// Largest resident size of the endpoint's process.
    pub max_resident: Bytes,
    /// Each flow by itself, where there are several; the rest of the report is
    /// of all of them together. Their times and switches are added, of TCP's
    /// account the counts are added and the rest is of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowReport>,
    /// Counts of this end in the other's role, where both send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Back>,
    /// Adherence of a sender to its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Figures that this end read off the messages it received, where they carry a number
    /// and a time: of a sender those of the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<OneWay>,
    /// The addresses of each flow, those of the way back last; empty where they are no IP
    /// addresses, or no connection lasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<FlowAddresses>,
    /// Messages that the api itself dropped over the whole trial, by the names of its
    /// counters; empty where the kernel's counters hold every drop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drops: BTreeMap<String, u64>,
    /// Sends from the program's own pages over the whole trial; `None` of an api that
    /// lends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_copy: Option<ZeroCopy>,
    /// What there is to say of a user's own program that was this end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<Box<ExternalEnd>>,
    /// Progress within the window, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<Progress>,
}

/// An end that was a user's own program: how far what was measured from outside can be trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalEnd {
    /// The command.
    pub command: String,
    /// Largest error of the process clock over the window: what the kernel may not have
    /// charged a running thread yet, and what it ran on for while the clock was read.
    pub cpu_error: Nanos,
    /// CPU time within the window by the program's own account; `None` where it keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_cpu: Option<Nanos>,
    /// Most processes that it was at an edge of the window, itself among them.
    pub processes: u32,
    /// The counters that it keeps of its own, over the whole trial.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// What it did against the contract, in words; each becomes a warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

/// Sends from a program's own pages, as far as the kernel has reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroCopy {
    /// Sends that it is done with.
    pub sends: u64,
    /// Those of them whose bytes it copied after all.
    pub copied: u64,
}

impl ZeroCopy {
    /// Adds others.
    pub const fn add(&mut self, other: Self) {
        self.sends = self.sends.saturating_add(other.sends);
        self.copied = self.copied.saturating_add(other.copied);
    }
}

/// Segments that were sent and not yet acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The most that were seen at once (TCP_INFO's `tcpi_unacked`).
    pub most: u32,
    /// Number of samples.
    pub looks: u64,
}

/// One of several flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// The CPU its thread was bound to; `None` when it was free to move.
    pub cpu: Option<u32>,
    /// Counts within the window.
    pub counts: Counts,
    /// Counts over the whole trial.
    pub total: Counts,
    /// Context switches of its thread within the window.
    pub switches: Switches,
    /// Time of its last message, of a trial of a number of messages; `None` of other trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Nanos>,
    /// TCP's own account at the end of the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// The same at the start of the measured part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_at_start: Option<TcpInfo>,
}

/// The two ends of a flow, as the kernel of the reporting one has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowAddresses {
    /// Address of the end that reports.
    pub local: SocketAddr,
    /// Address of the other.
    pub remote: SocketAddr,
}

/// Counts of an end in the other's role.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Back {
    /// Counts within the window.
    pub counts: Counts,
    /// Counts over the whole trial.
    pub total: Counts,
    /// TCP's own account at the end of the trial, of these flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// The same at the start of the measured part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_at_start: Option<TcpInfo>,
}

/// Adherence of a sender to its schedule within the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Messages that the schedule has in the window.
    pub intended: u64,
    /// Messages that had not been sent by the end of the window though their
    /// time had come.
    pub behind: u64,
    /// In a request/response test, requests of the window that were not sent later
    /// either. Those of `intended` that are neither here nor among the round trips
    /// had no answer. `None` in other tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsent: Option<u64>,
    /// Time from the intended to the real begin of each send, in ns: an
    /// HdrHistogram V2 in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<String>,
    /// In a request/response test, times from the actual send (what a closed
    /// loop would have seen); those of the report count from the intended one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncorrected: Option<String>,
}

/// Figures that a receiver read off messages that carry a number and a time, within the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneWay {
    /// Messages read.
    pub messages: u64,
    /// Numbers that were skipped and had not come by the end.
    pub missing: u64,
    /// Messages with a lower number than one before them.
    pub out_of_order: u64,
    /// Messages with a number that had come already.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub duplicates: u64,
    /// The difference that was taken off every time, in ns: receiver's clock
    /// less the sender's at the least of all. It holds the offset of the clocks
    /// and the shortest way.
    pub base: i64,
    /// Time that each message took beyond the shortest, in ns: an
    /// HdrHistogram V2 in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_base: Option<String>,
    /// Smoothed difference of the times of neighbours (RFC 3550, section 6.4.1), in ns.
    pub jitter: u64,
}

/// Progress of an end: one interval of its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Place of the interval.
    pub interval: Window,
    /// Counts within it, all flows together.
    pub counts: Counts,
    /// Counts of the other role within it, where both send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Counts>,
    /// TCP's account at the end of the interval. Of several flows the counts are
    /// added, from the making of the connections on; congestion window, round-trip
    /// times, sizes and times are those of the first flow alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// As in [`OneWay`], at the end of the interval, in ns: of what this end received, in
    /// whichever role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u64>,
    /// Numbers of messages to this end that were skipped and had not come by the end of the
    /// interval, less those of the intervals before. What is on its way is not skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
}

/// The measured part of a trial at one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Begin.
    pub start: Nanos,
    /// End; never before `start`.
    pub end: Nanos,
}

impl Window {
    /// The shortest over which a rate or a share of the time means something: the clocks of an edge
    /// are read one after the other, some 10 µs in all, which is 1 % of it.
    pub const LEAST_RESOLVED: Nanos = Nanos::from_millis(1);

    /// Returns whether the clocks resolve it: of a shorter one there is no rate and no share.
    pub const fn is_resolved(self) -> bool {
        self.length().get() >= Self::LEAST_RESOLVED.get()
    }

    /// Returns its length.
    pub const fn length(self) -> Nanos {
        self.end.since(self.start)
    }

    /// Returns whether a time in ns lies in it; its end does not.
    pub const fn contains(self, time: u64) -> bool {
        self.start.get() <= time && time < self.end.get()
    }
}

/// Traffic that went through the calls of one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Calls that moved data.
    pub calls: u64,
    /// Messages moved; for a TCP receiver, bytes over message size. In a
    /// request/response test, transactions.
    pub messages: u64,
    /// Bytes of payload moved; in a request/response test, those of requests
    /// and answers together.
    pub bytes: u64,
    /// Messages handed to the kernel. A requester and its answerer do both.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub sent: u64,
    /// Messages taken from the kernel.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub received: u64,
    /// Calls that moved less than they asked for. A TCP receiver's are usual.
    pub short: u64,
    /// Calls that failed for a reason other than a time limit.
    pub errors: u64,
    /// The errno of the last such call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_errno: Option<i32>,
    /// Requests whose answer did not come in time, or not at all.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub lost: u64,
    /// Answers that came after their request had been given up: they have their times, and their requests are
    /// among those lost.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub late: u64,
    /// Those of `messages` and `bytes` that came before the window: of a number of messages without
    /// a warm-up the first, which opens it. See [`Counts::in_window`].
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub first: Opening,
}

/// Traffic that came before a receiver's window and is measured all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Messages.
    pub messages: u64,
    /// Their bytes; of a stream those of the first call.
    pub bytes: u64,
}

impl Counts {
    /// The counts of which rates and costs are made: those of messages and bytes that came within
    /// the window.
    pub const fn in_window(&self) -> Self {
        let Opening { messages, bytes } = self.first;
        Self {
            messages: self.messages.saturating_sub(messages),
            bytes: self.bytes.saturating_sub(bytes),
            first: Opening { messages: 0, bytes: 0 },
            ..*self
        }
    }
}

/// CPU time of one end, in parts (its sum is what service demand divides).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// The process clock of the endpoint.
    pub process: Nanos,
    /// Interrupt and softirq time of the endpoint's CPU, where this kernel takes it
    /// out of the process clock; `None` when it leaves it in. What `ksoftirqd` does is in it as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq: Option<Nanos>,
    /// Kernel threads that worked for the endpoint (`ksoftirqd` of its CPU);
    /// `None` where they cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_threads: Option<Nanos>,
}

impl CpuTime {
    /// The sum of the parts, each once.
    pub fn sum(self) -> Nanos {
        self.process + self.irq.unwrap_or_default().max(self.kernel_threads.unwrap_or_default())
    }

    /// Interrupt time in ns without that of `ksoftirqd`, whose ticks the kernel counts as softirq; `None` where it is
    /// in the process clock. Of one trial it may be below 0, since it comes in ticks.
    pub fn irq_apart(self) -> Option<f64> {
        Some(self.irq?.get() as f64 - self.kernel_threads.unwrap_or_default().get() as f64)
    }
}

/// Context switches of one thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// It had to wait for something: each is a later wake-up.
    pub voluntary: u64,
    /// It was taken off its CPU.
    pub involuntary: u64,
}

/// One socket option through its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketOption {
    /// Its name in C.
    pub name: String,
    /// The value that the plan asked for; `None` left it to the kernel.
    pub asked: Option<OptionValue>,
    /// Value that the kernel gave right after setting it, or its errno in words.
    pub set: OptionValue,
    /// Value that the kernel gave at the end of the trial.
    pub got: OptionValue,
}

/// The value of a socket option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// A number, a size, or 0 and 1 for off and on.
    Number(i64),
    /// A name, or an error in words.
    Text(String),
}

/// The part of the kernel's `struct tcp_info` that reports use, under its
/// names. Counts are of the whole life of the connection. Times in microseconds, as the kernel has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpInfo {
    /// Segments sent again.
    pub total_retrans: u32,
    /// Smoothed round-trip time.
    pub rtt: u32,
    /// Its mean deviation.
    pub rttvar: u32,
    /// Least round-trip time seen.
    pub min_rtt: u32,
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    /// Largest segment sent.
    pub snd_mss: u32,
    /// Largest segment expected.
    pub rcv_mss: u32,
    /// Path MTU.
    pub pmtu: u32,
    /// Segments sent, with pure acknowledgements.
    pub segs_out: u32,
    /// Segments received, likewise.
    pub segs_in: u32,
    /// Segments sent that carried data.
    pub data_segs_out: u32,
    /// Segments received that carried data.
    pub data_segs_in: u32,
    /// Time spent sending.
    pub busy_time: u64,
    /// Time held back by the receiver's window.
    pub rwnd_limited: u64,
    /// Time held back by the send buffer.
    pub sndbuf_limited: u64,
    /// The receiver's window in bytes, as offered last; 0 where the kernel does
    /// not tell (before Linux 5.4).
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub snd_wnd: u32,
}

impl TcpInfo {
    /// Segments sent again since an earlier account of the same connections;
    /// since they were made where there is none.
    pub fn resent_since(&self, earlier: Option<Self>) -> u32 {
        self.total_retrans.saturating_sub(earlier.map_or(0, |earlier| earlier.total_retrans))
    }
}
