//! Background of a trial: requests to a host for it, and what it took.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::Priority;
use super::per_end::PerEnd;
use crate::quantity::{BitRate, Bytes, Nanos};

/// To a host, for the conditions of a trial. Each is undone by its opposite, and
/// when the host's process ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundRequest {
    /// Put units of load on CPUs; answered with [`BackgroundReply::Done`] once each works.
    Load {
        /// At least 1.
        units: u32,
        /// CPUs that they run on.
        cpus: Vec<u32>,
    },
    /// End the load; answered with [`BackgroundReply::Load`].
    Unload,
    /// Have sinks for other traffic; answered with [`BackgroundReply::Listening`].
    Sink {
        /// Address that they listen on; port 0.
        at: SocketAddr,
        /// The device whose received frames are counted; `None` where they are
        /// those of the trial as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
        /// CPUs to be left to the ends of the trial, where there are others.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        avoid: Vec<u32>,
    },
    /// Start to send other traffic; answered with [`BackgroundReply::Done`] once it flows.
    Send(Traffic),
    /// End other traffic, here as a sender or a sink; answered with [`BackgroundReply::Traffic`].
    Quiet,
    /// Have the endpoint scheduled so; answered with [`BackgroundReply::Done`] once that
    /// is read back.
    Schedule(Priority),
    /// Have packets that `device` receives handled on a CPU; `None`: as usual.
    /// Answered with [`BackgroundReply::Done`] once that is read back.
    Softirq {
        /// The link's device.
        device: String,
        /// The CPU.
        cpu: Option<u32>,
    },
}

/// Traffic next to a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Address of its sink.
    pub to: SocketAddr,
    /// TCP connections.
    pub flows: u32,
    /// Bytes of a message.
    pub size: Bytes,
    /// Payload a second of each flow; `None`: all that goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Bytes that each flow may have in flight (SO_SNDBUF); `None`: as the kernel
    /// has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sndbuf: Option<Bytes>,
    /// The device whose received frames are counted; `None` where they are those
    /// of the trial as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// CPUs to be left to the ends of the trial, where there are others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<u32>,
}

/// From a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundReply {
    /// It is as asked.
    Done,
    /// Address of the sink.
    Listening(SocketAddr),
    /// Usage of the load.
    Load(LoadUsage),
    /// Traffic that was sent or received.
    Traffic(TrafficTotals),
}

/// Usage of a host load between the edges of the measured window, within some
/// milliseconds; where those could not be seen, from its beginning to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadUsage {
    /// CPU time of all units, the kernel's work for them included.
    pub cpu: Nanos,
    /// Time for which they ran.
    pub elapsed: Nanos,
    /// Jobs that were finished, all units together.
    pub jobs: u64,
    /// Jobs whose first choice this host lacks, with what was run instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Replaced>,
    /// Reason why the units were not in a pid namespace of their own, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_caged: Option<String>,
}

/// A job that is done by something else than in 1984.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// The job: `compile`.
    pub job: String,
    /// Program that does it here: `gcc`, or `built in`.
    pub by: String,
}

/// Totals of other traffic from its beginning to when its sender was asked to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficTotals {
    /// Payload that its sinks received in that time.
    pub bytes: Bytes,
    /// Time for which it flowed, its connections being there already.
    pub elapsed: Nanos,
    /// Frames that came through the link in that time, to its receiver's device and
    /// back to its sender's; 0 where they are those of the trial as well.
    #[serde(default)]
    pub frames: [u64; 2],
    /// Bytes of those frames, with the link's header.
    #[serde(default)]
    pub frame_bytes: [u64; 2],
}

/// Conditions of a trial as they really were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedConditions {
    /// Load on the sender's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_load: Option<LoadUsage>,
    /// Load on the receiver's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_load: Option<LoadUsage>,
    /// Traffic of each pair of other hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<TrafficTotals>,
    /// Traffic of the bulk flows, all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bulk: Option<TrafficTotals>,
    /// Scheduling of each end, read back, where it was asked for.
    #[serde(skip_serializing_if = "PerEnd::is_usual")]
    pub priority: PerEnd<Priority>,
    /// The CPU that handled what the receiver's device received, read back, where
    /// it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softirq: Option<u32>,
}
