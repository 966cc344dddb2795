//! The messages between controller, host and endpoint.
//!
//! ```text
//! controller --ToHost--> host --ToEndpoint--> endpoint
//! controller <-FromHost- host <-FromEndpoint- endpoint
//! ```
//!
//! A host starts a fresh endpoint for each trial and passes its messages on.
//! A trial at each end: `Prepare` -> `Ready`, `Connect` -> `Connected`, `Go`;
//! the sender says `Sent` when it has sent its last message, the receiver is
//! told so with `Drain`, and both end with `Done`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::end::EndReport;
use crate::host::HostFacts;
use crate::kernel::HostCounters;
use crate::plan::{Offload, TrialEnd};
use crate::quantity::Nanos;
use crate::traffic::{Family, Role};

/// The version that both sides must speak. Each side's first message says it.
pub const CONTROL_VERSION: u32 = 1;

/// What an endpoint is to do in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its part.
    pub role: Role,
    /// What to run.
    pub cell: Cell,
    /// The address it binds to, port included (0 lets the kernel choose).
    pub local: SocketAddr,
    /// The CPU its traffic thread is bound to.
    pub cpu: Option<u32>,
    /// The kernel thread that takes over softirq work of that CPU, if it can
    /// be seen: its CPU time is counted with the endpoint's.
    pub ksoftirqd: Option<u32>,
    /// When the measured part ends.
    pub end: TrialEnd,
    /// How long messages flow before the measured part.
    pub warmup: Nanos,
    /// How long a receiver waits for more after the sender's end was announced.
    pub silence: Nanos,
    /// How long a requester waits for an answer before it counts it lost.
    pub answer_limit: Nanos,
    /// Whether the kernel takes interrupt time out of process time, so that it
    /// has to be added.
    pub irq_time_subtracted: bool,
}

/// From the host to its endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToEndpoint {
    /// Open the socket, bind, listen.
    Prepare(Box<Task>),
    /// Connect to the other end, or accept it.
    Connect {
        /// Where the other end is bound.
        peer: SocketAddr,
    },
    /// Let messages flow.
    Go,
    /// The sender has finished: receive what is left.
    Drain {
        /// Messages it sent, from the first to the last.
        messages: u64,
        /// Their bytes.
        bytes: u64,
    },
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
    /// The socket is open.
    Ready {
        /// Where it is bound.
        address: SocketAddr,
        /// Why its traffic thread could not be bound to its CPU, if so.
        not_bound: Option<String>,
    },
    /// Both ends are joined.
    Connected,
    /// The sender has sent its last message.
    Sent {
        /// Messages sent, from the first to the last.
        messages: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The trial is over.
    Done(Box<EndReport>),
    /// The trial failed here.
    Failed {
        /// What was tried, what the system answered, what to do.
        error: String,
    },
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
    /// Start an endpoint.
    Start,
    /// For the endpoint.
    Endpoint(ToEndpoint),
    /// End the endpoint, if there is one. The answer repeats the mark, so that
    /// the controller knows that no answer to an earlier command is to come.
    Stop {
        /// Different for each.
        mark: u64,
    },
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
    },
    /// The last command is carried out.
    Done,
    /// The end of the link is up.
    Configured {
        /// Settings of the host's namespace that could not be made, each with
        /// the system's answer.
        unset: Vec<(String, String)>,
    },
    /// Counters as asked.
    Counters(Box<HostCounters>),
    /// Facts as asked.
    Facts(Box<HostFacts>),
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
        /// What was tried, what the system answered, what to do.
        error: String,
    },
}
