//! The messages between controller, host and endpoint.
//!
//! ```text
//! controller --ToHost--> host --ToEndpoint--> endpoint
//! controller <-FromHost- host <-FromEndpoint- endpoint
//! ```
//!
//! A host starts a fresh endpoint for each trial and passes its messages on.
//! A trial at each end: `Prepare` -> `Ready`, `Connect` -> `Connected`, `Go` ->
//! `Flowing`; `Measure` opens the window of both ends at one time, and a trial of a
//! number of messages does without these two;
//! the sender says `Sent` when it has sent its last message, the receiver is
//! told so with `Drain`, and both end with `Done`. In any pass but a clean one
//! the host is told to `Observe` its endpoint before `Go`, and asked for what it
//! saw (`Observed`) when the endpoint is gone.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::adjust::{ArmReply, ArmRequest};
use crate::cell::Cell;
use crate::condition::{BackgroundReply, BackgroundRequest};
use crate::end::{EndReport, FlowAddresses, Progress, Window};
use crate::host::HostFacts;
use crate::kernel::{HostCounters, WireCounters};
use crate::pass::Pass;
use crate::plan::{LinkKind, Offload, TrialEnd};
use crate::profile::Observation;
use crate::program::Program;
use crate::quantity::{BitRate, Bytes, Nanos};
use crate::refusal::Refusal;
use crate::traffic::{Family, Role};
use crate::woven::Seat;

/// The version that both sides must speak. Each side's first message says it.
pub const CONTROL_VERSION: u32 = 1;

/// Task of an endpoint in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its part.
    pub role: Role,
    /// The cell to run.
    pub cell: Cell,
    /// The address it binds to, port included (0 lets the kernel choose).
    pub local: SocketAddr,
    /// The CPUs its traffic threads are bound to, in turn: flow `i` gets number
    /// `i` modulo their number. None: they are free to move.
    pub cpus: Vec<u32>,
    /// The kernel threads that take over softirq work of those CPUs, where they
    /// can be seen: their CPU time is counted with the endpoint's.
    pub ksoftirqd: Vec<u32>,
    /// Shows that both ends belong to this trial: each flow begins with a hash of
    /// it from the side that connects, and another from the side that answers. No
    /// message is sent to an address that has not shown one, and nothing at all
    /// to a stranger that has not.
    pub cookie: Cookie,
    /// End of the measured part.
    pub end: TrialEnd,
    /// Time for which messages flow before the measured part.
    pub warmup: Nanos,
    /// Time for which a receiver waits for more after the sender's end was announced.
    pub silence: Nanos,
    /// Time for which a requester waits for an answer before it counts it lost.
    pub answer_limit: Nanos,
    /// True where the kernel takes interrupt time out of process time, so that it
    /// has to be added.
    pub irq_time_subtracted: bool,
    /// Time between two reports of the endpoint's progress; `None`: none, which
    /// is the quietest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Nanos>,
    /// Limits that the host sets.
    #[serde(default)]
    pub limits: Limits,
    /// The command that is this end, where the cell has a user's program for it. An agent
    /// puts the one there that its operator gave the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// Seed of what the trial leaves to chance: the times of Poisson arrivals. The same
    /// for both ends.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub seed: u64,
    /// A known cost for its traffic threads. The endpoint's host puts it here, and takes out another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection: Option<Injection>,
    /// The seat of its first thread in a woven trial; `None`: it measures all the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woven: Option<Seat>,
    /// The hosts over which its flows are spread: flow `i` is at number `i` modulo their number. None: all are at
    /// this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<FlowHost>,
}

/// A host of some of an end's flows, on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowHost {
    /// A process in its network namespace.
    pub pid: u32,
    /// Its address.
    pub local: IpAddr,
}

impl Task {
    /// The host of a flow; `None`: this one.
    pub fn host_of(&self, flow: u32) -> Option<FlowHost> {
        let place = flow.checked_rem(u32::try_from(self.hosts.len()).ok()?)?;
        self.hosts.get(place as usize).copied()
    }
}

/// A known cost that a proof of receipts puts into the path of each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Injection {
    /// Work of the sender's own before each message.
    Work(Nanos),
    /// A copy of this number of bytes from the kernel to the sender before each message.
    Copy(u32),
    /// A filter of the sender's system calls (seccomp), with so many instructions for those that send.
    Filter(u32),
    /// A classifier (cls_bpf) of so many instructions where packets leave the sender's device.
    Classifier(u32),
    /// So many rules of nftables where packets come in at the receiver.
    Rules(u32),
}

impl Injection {
    /// The most instructions of a program: the kernel takes 4,096 of a classic one.
    pub const MOST_INSTRUCTIONS: u32 = 4_000;
    /// The most bytes of a copy: what a datagram between two sockets of a machine has room for anywhere.
    pub const MOST_BYTES: u32 = 160 << 10;
    /// The most rules: one request makes them all.
    pub const MOST_RULES: u32 = 1_000;

    /// The end whose host has it.
    pub const fn role(self) -> Role {
        match self {
            Self::Work(_) | Self::Copy(_) | Self::Filter(_) | Self::Classifier(_) => Role::Sender,
            Self::Rules(_) => Role::Receiver,
        }
    }

    /// Returns whether it changes the network of its host, which must be a namespace of nettoll's own.
    pub const fn changes_network(self) -> bool {
        matches!(self, Self::Classifier(_) | Self::Rules(_))
    }

    /// Returns whether it is no larger than a host puts in.
    pub const fn is_bounded(self) -> bool {
        match self {
            Self::Work(work) => work.get() <= 1_000_000,
            Self::Copy(bytes) => bytes <= Self::MOST_BYTES,
            Self::Filter(instructions) | Self::Classifier(instructions) => instructions <= Self::MOST_INSTRUCTIONS,
            Self::Rules(rules) => rules <= Self::MOST_RULES,
        }
    }
}

/// Sixteen random bytes, in hexadecimal digits on the way.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cookie(pub [u8; 16]);

impl TryFrom<String> for Cookie {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let number = u128::from_str_radix(&word, 16).map_err(|error| format!("'{word}' is no cookie: {error}"))?;
        Ok(Self(number.to_be_bytes()))
    }
}

impl From<Cookie> for String {
    fn from(cookie: Cookie) -> Self {
        format!("{:032x}", u128::from_be_bytes(cookie.0))
    }
}

impl std::fmt::Debug for Cookie {
    /// Not its bytes: it is a secret of the trial.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Cookie(..)")
    }
}

/// Limits of a host for one trial. A trial that goes beyond is ended, and that is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From its preparation to its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// Bytes of payload that one end may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

/// From the host to its endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToEndpoint {
    /// Open the socket, bind, listen.
    Prepare(Box<Task>),
    /// Connect to the other end, or accept it.
    Connect {
        /// Addresses that the other end is bound to: one, or for UDP one a flow.
        peers: Vec<SocketAddr>,
    },
    /// Let messages flow.
    Go,
    /// Measure for as long as the task says, from a time on. Of a trial that ends after some
    /// time, once every flow of both ends has moved data.
    Measure {
        /// On this host's monotonic clock. One that has passed: at once, and not beyond the end
        /// that it would have had.
        at: Nanos,
    },
    /// The other end has sent its last message: receive what is left.
    Drain(SentTotals),
}

/// From an endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromEndpoint {
    /// The first message.
    Hello {
        /// [`CONTROL_VERSION`] of the endpoint.
        version: u32,
    },
    /// The sockets are open.
    Ready {
        /// Addresses that they are bound to: one, or for UDP one a flow.
        addresses: Vec<SocketAddr>,
        /// Reason why a traffic thread could not be bound to its CPU, if so.
        not_bound: Option<String>,
        /// The process of the user's program that is this end, where one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<u32>,
    },
    /// Both ends are joined.
    Connected {
        /// The addresses of each flow, as in [`EndReport::addresses`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        addresses: Vec<FlowAddresses>,
    },
    /// Every flow of this end has moved a message, in a trial that ends after some time.
    Flowing,
    /// Progress, as often as the task asked for it.
    Progress(Box<Progress>),
    /// This end has sent its last message. Both ends say it where both send.
    Sent(SentTotals),
    /// The trial is over.
    Done(Box<EndReport>),
    /// The trial failed here.
    Failed {
        /// The attempt, the system's answer, and the remedy.
        error: String,
    },
}

/// Messages and bytes that one end has sent, from its first message to its last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentTotals {
    /// Messages of each flow.
    pub messages: Vec<u64>,
    /// Bytes of all flows.
    pub bytes: u64,
}

impl SentTotals {
    /// The counts of a single flow.
    pub fn one(messages: u64, bytes: u64) -> Self {
        Self { messages: vec![messages], bytes }
    }

    /// Messages of all flows.
    pub fn all(&self) -> u64 {
        self.messages.iter().fold(0, |sum, messages| sum.saturating_add(*messages))
    }
}

/// From the controller to a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToHost {
    /// The first message.
    Hello {
        /// [`CONTROL_VERSION`] of the controller.
        version: u32,
    },
    /// Make a virtual Ethernet pair, its far end in another host's namespace.
    MakeLink {
        /// Device here.
        device: String,
        /// Device there.
        far_device: String,
        /// A process in the other host's namespace.
        far_pid: u32,
    },
    /// Make the wire between other hosts and take its ends to them.
    MakeWire(Box<WireTask>),
    /// Read what the wire did with frames.
    WireCounters,
    /// Bring up and configure this end of the link.
    Configure(Box<LinkEnd>),
    /// Read the counters of `device` and of `family`.
    Counters {
        /// The link's device.
        device: String,
        /// IP version whose counters are wanted.
        family: Family,
    },
    /// Gather the facts.
    Facts {
        /// The link's device.
        device: String,
        /// CPUs that the host's endpoints are bound to.
        endpoint_cpus: Vec<u32>,
    },
    /// Say by which device and address the host reaches another.
    Route {
        /// Any port of the other. The scope of a link-local address is this host's.
        to: SocketAddr,
    },
    /// Say which CPUs endpoints are best bound to.
    Cpus,
    /// Say what time it is.
    Clock,
    /// Wait until the host is free for a trial. A host of the controller's own
    /// is always free.
    Turn,
    /// Say how many others had the host at the same time, in this turn so far.
    Company,
    /// The trial is over: the host is free for others. Not answered.
    Release,
    /// Start an endpoint.
    Start,
    /// For the arm of the trial.
    Arm(ArmRequest),
    /// For the conditions of the trial.
    #[serde(rename = "beside")]
    Background(BackgroundRequest),
    /// For the endpoint.
    Endpoint(ToEndpoint),
    /// Measure what a sample costs on the CPUs of an endpoint: takes a tenth of a second,
    /// and the CPU.
    SampleCost {
        /// The CPUs of its traffic threads; none where they may run anywhere.
        cpus: Vec<CpuPlace>,
    },
    /// Put a known cost into the trials to come, in the place of the one before.
    Inject {
        /// `None`: no more of it.
        injection: Option<Injection>,
        /// The link's device.
        device: String,
    },
    /// Measure what a known cost takes on a CPU.
    Calibrate {
        /// The cost.
        injection: Injection,
        /// The CPU.
        cpu: u32,
    },
    /// Watch the endpoint, which is joined to the other and waits.
    Observe(Observe),
    /// Switch the samplers of the watched endpoint, whose messages do not flow meanwhile, on or off.
    Sampling {
        /// They are to be on.
        on: bool,
    },
    /// The endpoint is gone: tell what was seen of it.
    Observed {
        /// The part of the trial that it measured.
        window: Window,
        /// Its traffic threads.
        threads: Vec<u32>,
    },
    /// End the endpoint, if there is one. The answer repeats the mark, so that
    /// the controller knows that no answer to an earlier command is to come.
    Stop {
        /// Different for each.
        mark: u64,
    },
}

/// Observation of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observe {
    /// The pass; [`Pass::Clean`] where the other end alone is watched.
    pub pass: Pass,
    /// Distance of two samples by the CPU clock.
    pub period: Nanos,
    /// No trial takes longer from here to its end: what is seen needs room.
    pub longest: Nanos,
    /// The CPUs of its traffic threads.
    pub cpus: Vec<CpuPlace>,
}

/// One end of a link, as it is to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkEnd {
    /// The device.
    pub device: String,
    /// Addresses, with the length of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Neighbours known beforehand, so that no trial waits for resolution.
    pub neighbours: Vec<(IpAddr, [u8; 6])>,
    /// Largest IP packet.
    pub mtu: Option<u32>,
    /// Features to set.
    pub offloads: BTreeMap<Offload, bool>,
    /// True where every packet must be one frame, and a segment of TCP as large as
    /// a frame allows: no features that bundle, and no timestamps.
    #[serde(default)]
    pub charged: bool,
    /// Rate at which this end may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

/// Rate at which a device may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Bits a second on the wire.
    pub rate: BitRate,
    /// Bytes that may wait; `None`: more than any send buffer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Bytes>,
    /// Byte times that a frame takes at least, where the host needs longer for
    /// it than the wire; what the least frame costs otherwise.
    #[serde(default)]
    pub least: u32,
}

/// A wire to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WireTask {
    /// Kind of link.
    pub kind: LinkKind,
    /// Largest IP packet, where it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Seed of all that is left to chance.
    pub seed: u64,
    /// Its ends, in turn of either side.
    pub ends: Vec<WireEnd>,
}

/// One end of a wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireEnd {
    /// Name of the device there.
    pub device: String,
    /// Its hardware address.
    pub mac: [u8; 6],
    /// A process in the namespace of the host that gets it.
    pub pid: u32,
}

/// Route from one host to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The device that the traffic takes.
    pub device: String,
    /// The address that it bears.
    pub source: SocketAddr,
    /// Largest IP packet of the device.
    pub mtu: Option<u32>,
}

/// A CPU for a traffic thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPlace {
    /// Its number.
    pub cpu: u32,
    /// The kernel thread that takes over its softirq work, if it can be seen.
    pub ksoftirqd: Option<u32>,
}

/// From a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromHost {
    /// The first message.
    Hello {
        /// [`CONTROL_VERSION`] of the host.
        version: u32,
        /// The host's process, which holds its namespace.
        pid: u32,
        /// Start of its machine (`boot_id` of the kernel): two hosts with the same are one machine.
        #[serde(default)]
        boot: String,
    },
    /// The last command is carried out.
    Done,
    /// The last command takes long, and gets on: one of its steps is done. Said every few seconds.
    Working,
    /// Answer for the arm of the trial.
    Arm(ArmReply),
    /// Answer for the conditions of the trial.
    #[serde(rename = "beside")]
    Background(BackgroundReply),
    /// The end of the link is up.
    Configured {
        /// Settings of the host's namespace that could not be made, each with
        /// the system's answer.
        unset: Vec<(String, String)>,
    },
    /// Counters as asked.
    Counters(Box<HostCounters>),
    /// Counts of the frames on the wire.
    Wire(WireCounters),
    /// Facts as asked.
    Facts(Box<HostFacts>),
    /// The way to another host.
    Route(Route),
    /// CPUs as asked, the best first; never none.
    Cpus(Vec<CpuPlace>),
    /// The host's time.
    Clock {
        /// Reading of its monotonic clock.
        now: Nanos,
    },
    /// Others are before this controller. Said again whenever it moves up.
    Waiting {
        /// Trials that come before its own; at least 1.
        place: u32,
    },
    /// The host is free for this controller's trial.
    Yours {
        /// True where trials of others may run next to it.
        shared: bool,
    },
    /// The most others that had the host at the same time.
    Company {
        /// Their number.
        others: u32,
    },
    /// The cost of a sample.
    SampleCost(Nanos),
    /// The time that a known cost takes.
    Calibrated(Nanos),
    /// The endpoint is watched.
    Observing,
    /// Nothing of what was asked for can be seen here, now or later.
    NotObserved(Refusal),
    /// Observation of the endpoint.
    Observation(Box<Observation>),
    /// The endpoint is ended.
    Stopped {
        /// The mark of the command.
        mark: u64,
    },
    /// From the endpoint.
    Endpoint(FromEndpoint),
    /// The endpoint ended.
    Gone {
        /// How, in words, such as `exit status: 0` or `signal: 9 (SIGKILL)`.
        status: String,
    },
    /// The last command failed.
    Failed {
        /// The attempt, the system's answer, and the remedy.
        error: String,
    },
}
