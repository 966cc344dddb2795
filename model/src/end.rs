//! What one end of a trial counted.

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
    /// The measured part, on this host's monotonic clock.
    pub window: Window,
    /// From the first message to the last, with warm-up and what came after
    /// the measured part; `None` at a receiver, which knows neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Window>,
    /// Counts within the window.
    pub counts: Counts,
    /// Counts over the whole trial, with warm-up and drain.
    pub total: Counts,
    /// CPU time within the window.
    pub cpu_time: CpuTime,
    /// Context switches of the traffic thread within the window.
    pub switches: Switches,
    /// Time within the window that the traffic thread was ready but waited for
    /// a CPU; `None` where the kernel does not tell.
    pub run_delay: Option<Nanos>,
    /// Socket options: asked, set, got.
    pub options: Vec<SocketOption>,
    /// TCP's own account at the end of the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// Round-trip times in nanoseconds, an HdrHistogram V2 in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<String>,
    /// Largest resident size of the endpoint's process.
    pub max_resident: Bytes,
}

/// The measured part of a trial at one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When it began.
    pub start: Nanos,
    /// When it ended; never before `start`.
    pub end: Nanos,
}

impl Window {
    /// How long it was.
    pub const fn length(self) -> Nanos {
        self.end.since(self.start)
    }
}

/// What went through the traffic calls of one end.
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
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Messages taken from the kernel.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub received: u64,
    /// Calls that moved less than they asked for. A TCP receiver's are usual.
    pub short: u64,
    /// Calls that failed for a reason other than a time limit.
    pub errors: u64,
    /// The errno of the last such call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_errno: Option<i32>,
    /// Requests whose answer did not come in time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Answers that came after their request had been given up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// CPU time of one end, in parts (its sum is what service demand divides).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// The process clock of the endpoint.
    pub process: Nanos,
    /// Interrupt and softirq time of the endpoint's CPU that this kernel takes
    /// out of the process clock; `None` when it leaves it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq: Option<Nanos>,
    /// Kernel threads that worked for the endpoint (`ksoftirqd` of its CPU);
    /// `None` where they cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_threads: Option<Nanos>,
}

impl CpuTime {
    /// The sum of the parts.
    pub fn sum(self) -> Nanos {
        self.process + self.irq.unwrap_or_default() + self.kernel_threads.unwrap_or_default()
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
    /// What the plan asked for; `None` left it to the kernel.
    pub asked: Option<OptionValue>,
    /// What the kernel said right after setting it, or its errno in words.
    pub set: OptionValue,
    /// What the kernel said at the end of the trial.
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
/// names, at the end of the trial. Times in microseconds, as the kernel has them.
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
}
