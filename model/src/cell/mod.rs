//! A cell: one combination of the levels that a study varies.

pub mod factor;
mod level;
mod limits;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::address_list::Addresses;
use crate::api::Api;
use crate::condition::Conditions;
use crate::link::Offload;
use crate::mix::Mix;
use crate::program::Program;
use crate::quantity::{Bytes, Nanos};
use crate::rate::OfferedRate;
use crate::receive::Receive;
use crate::tos::Tos;
use crate::traffic::{Arrivals, Family, Pacing, Protocol, Role, Test, Waiting};

pub use factor::{Factor, Level, LevelError};
pub use level::Value;

/// Bytes of the number and the time in a stamped message.
pub const STAMP: u64 = 16;

/// One combination of levels. What is `None` is left as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The test.
    pub test: Test,
    /// The version of IP below it.
    pub family: Family,
    /// Way in which messages reach the kernel.
    pub api: Api,
    /// Way in which they are taken from it; `None`: the one that goes with the api.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive: Option<Receive>,
    /// Messages that one call hands over or fetches; at least 1, and 1 where neither
    /// end moves several a call.
    #[serde(default = "one", skip_serializing_if = "crate::is_one")]
    pub batch: u32,
    /// Bytes of payload that one send call hands over; at least 1. Of a mix the
    /// mean, to the byte.
    pub size: Bytes,
    /// Bytes that one receive call asks for; at least 1.
    pub read_size: Bytes,
    /// TCP_NODELAY at both ends. Without meaning for UDP.
    pub nodelay: bool,
    /// TCP congestion control at both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<String>,
    /// SO_SNDBUF at both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sndbuf: Option<Bytes>,
    /// SO_RCVBUF at both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcvbuf: Option<Bytes>,
    /// Number of concurrent flows, each with a thread of its own; at least 1.
    #[serde(default = "one", skip_serializing_if = "crate::is_one")]
    pub flows: u32,
    /// Rate that each flow offers; `None`: all that it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<OfferedRate>,
    /// Way in which it waits, where a rate is offered.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub pacing: Pacing,
    /// Times at which its messages are due, where a rate is offered.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub arrivals: Arrivals,
    /// Way in which both ends wait for what is to come. A requester with a rate waits as
    /// `pacing` says.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub waiting: Waiting,
    /// CPU time that an end spends before each send, as an application's own work
    /// would; 0: none.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub work: Nanos,
    /// True where the receiver sends as well, as many flows as the sender.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub bidirectional: bool,
    /// True where each datagram bears its number and the time it was sent.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub stamp: bool,
    /// Features of the link's devices at both ends; those that are not named are
    /// as the link has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<Offload, bool>,
    /// The sizes that messages have, where they are not all of one; streams alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// Measured messages of a trial, in place of the plan's end; at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Type of service in the header of IP, at both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tos: Option<Tos>,
    /// Streams that each end of an SCTP association offers for sending; one of them carries the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nstreams: Option<u32>,
    /// Addresses of the end that connects an SCTP association; `None`: the one that it is reached at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xbind: Option<Addresses>,
    /// Conditions that it is run under.
    #[serde(default, skip_serializing_if = "Conditions::is_usual")]
    pub conditions: Conditions,
}

/// A switch in words.
pub const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

const fn one() -> u32 {
    1
}

impl Cell {
    /// The least a cell can be: one message of a size, everything else as usual.
    pub const fn plain(test: Test, size: Bytes) -> Self {
        Self {
            test,
            family: Family::V4,
            api: Api::Send,
            receive: None,
            batch: 1,
            size,
            read_size: default_read_size(test, size),
            nodelay: false,
            cc: None,
            sndbuf: None,
            rcvbuf: None,
            flows: 1,
            rate: None,
            pacing: Pacing::Sleep,
            arrivals: Arrivals::Periodic,
            waiting: Waiting::Block,
            work: Nanos::new(0),
            bidirectional: false,
            stamp: false,
            offloads: BTreeMap::new(),
            mix: None,
            count: None,
            tos: None,
            nstreams: None,
            xbind: None,
            conditions: Conditions::USUAL,
        }
    }

    /// The same cell with messages of many sizes.
    #[must_use]
    pub fn of_mix(&self, mix: Mix) -> Self {
        let mut cell = self.clone();
        cell.with_derived(|cell| (cell.size, cell.mix) = (mix.size(), Some(mix)));
        cell
    }

    /// The series that its mix is predicted from: cells that each send one size
    /// and are like it otherwise. For any other cell its own series.
    pub fn series_of_sizes(&self) -> Series {
        let mut series = self.series();
        series.cell.mix = None;
        Factor::ReadSize.erase(&mut series.cell);
        series
    }

    /// The cell with other levels.
    ///
    /// # Errors
    /// Levels that do not go together, or with the cell.
    pub fn with<'a>(&self, levels: impl IntoIterator<Item = &'a Level>) -> Result<Self, LevelError> {
        let mut cell = self.clone();
        let mut named = [false; 2];
        for level in levels {
            named[0] |= matches!(level, Level::Api(ways) if ways.receiver.is_some());
            named[1] |= matches!(level, Level::Receive(_));
            level.apply(&mut cell);
        }
        if named == [true; 2] {
            let reason = "the receiver's way is named by api as well, as receiver:WAY; name it once".to_owned();
            return Err(LevelError { factor: Factor::Receive, reason });
        }
        cell.checked()
    }

    fn usual_read_size(&self) -> Bytes {
        default_read_size(self.test, self.largest())
    }

    fn usual_batch(&self) -> u32 {
        self.batches().unwrap_or(1)
    }

    /// Messages that one call moves at the end that moves more than one a call, where the
    /// plan does not say; `None` where neither does.
    pub fn batches(&self) -> Option<u32> {
        self.api.batch(self.test).or_else(|| self.receive().batch(self.test))
    }

    /// Returns whether an end has a socket that is not connected to the other.
    pub fn is_unconnected(&self) -> bool {
        self.api == Api::Sendto || self.receive() == Receive::Recvfrom
    }

    /// The way in which messages are taken from the kernel.
    pub fn receive(&self) -> Receive {
        self.receive.unwrap_or_else(|| self.api.usual_receive(self.test))
    }

    /// Returns whether its messages pass the kernel's transports by: its ends are a stack of their own.
    pub fn is_apart(&self) -> bool {
        self.external(Role::Sender).and_then(Program::shipped).is_some_and(|shipped| shipped.apart)
    }

    /// The program that is the end with a role, where one is: a user's own, or one that nettoll brings along.
    pub fn external(&self, role: Role) -> Option<Program> {
        match role {
            Role::Sender => self.api.program(),
            Role::Receiver => self.receive().program(),
        }
    }

    /// Hosts over which the flows of an end are spread.
    pub const fn hosts(&self, role: Role) -> u32 {
        match role {
            Role::Sender => self.conditions.senders,
            Role::Receiver => self.conditions.receivers,
        }
    }

    /// Flows where the plan does not say: one for each of the hosts of the end that has several.
    fn usual_flows(&self) -> u32 {
        self.conditions.most_hosts()
    }

    /// Changes the cell. A read size, a batch and a number of flows that were the usual ones follow.
    fn with_derived(&mut self, change: impl FnOnce(&mut Self)) {
        let follow = (self.read_size == self.usual_read_size(), self.batch == self.usual_batch(), self.flows == self.usual_flows());
        change(self);
        if follow.0 {
            self.read_size = self.usual_read_size();
        }
        if follow.1 {
            self.batch = self.usual_batch();
        }
        if follow.2 {
            self.flows = self.usual_flows();
        }
    }

    /// The largest message that it sends.
    pub fn largest(&self) -> Bytes {
        self.mix.as_ref().map_or(self.size, Mix::largest)
    }

    /// The transport of this cell.
    pub const fn protocol(&self) -> Protocol {
        self.test.protocol()
    }

    /// Traffic threads of an end: one for each flow, and one for each on the way back.
    pub const fn threads(&self) -> u32 {
        self.flows.saturating_mul(if self.bidirectional { 2 } else { 1 })
    }

    /// The cell with the usual way of sending and receiving: cells that are equal so differ in their way alone.
    pub fn without_way(&self) -> Self {
        let mut cell = self.clone();
        [Factor::Api, Factor::Receive, Factor::Batch].into_iter().for_each(|factor| factor.erase(&mut cell));
        cell
    }

    /// The series that it belongs to: what one cost model is fitted over.
    pub fn series(&self) -> Series {
        let read_size = (self.read_size != self.usual_read_size()).then_some(self.read_size);
        let mut cell = self.clone();
        Factor::ReadSize.erase(&mut cell);
        Factor::Size.erase(&mut cell);
        Series { cell, read_size }
    }
}

/// Bytes that receive calls ask for when the plan does not say: a datagram of the
/// message's size for UDP and for request/response, and 128 KiB of a TCP
/// stream, so that the read size does not throttle the stream.
pub const fn default_read_size(test: Test, size: Bytes) -> Bytes {
    match test {
        Test::TcpStream | Test::TcpMaerts => Bytes::new(128 << 10),
        Test::UdpStream | Test::TcpRr | Test::UdpRr | Test::TcpCrr => size,
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mean = if self.mix.is_some() { "mean " } else { "" };
        write!(f, "{} {mean}{} B", self.series(), self.size.get())
    }
}

/// Cells that differ in message size alone. Printed, it names the settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// Its member with messages of one byte and the usual read size.
    cell: Cell,
    /// Bytes that a receive call asks for; `None`: the usual for each size.
    read_size: Option<Bytes>,
}

impl Series {
    /// The test that all its cells run.
    pub const fn test(&self) -> Test {
        self.cell.test
    }

    /// The version of IP below it.
    pub const fn family(&self) -> Family {
        self.cell.family
    }

    /// Rate that each flow offers; `None`: all that it can.
    pub const fn rate(&self) -> Option<OfferedRate> {
        self.cell.rate
    }

    /// Returns whether both ends send.
    pub const fn bidirectional(&self) -> bool {
        self.cell.bidirectional
    }

    /// Returns whether small messages are not held back: TCP_NODELAY is set, or there is no
    /// TCP below.
    pub const fn nodelay(&self) -> bool {
        self.cell.nodelay || self.cell.api.over().is_local()
    }

    /// Settings beyond test and size that differ from the usual, for a label.
    fn settings(&self) -> Vec<String> {
        let words = |factor: &&Factor| factor.words(&self.cell);
        let (features, others): (Vec<&Factor>, Vec<&Factor>) = Factor::ALL.iter().partition(|factor| factor.offload().is_some());
        let mut settings: Vec<String> = others.iter().filter_map(words).collect();
        settings.extend(self.cell.mix.iter().map(|mix| mix.name.clone()));
        settings.extend(features.iter().filter_map(words));
        settings.extend(self.read_size.map(|size| format!("read={size}")));
        settings
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let settings = self.settings();
        match settings.is_empty() {
            true => write!(f, "{}", self.cell.test),
            false => write!(f, "{} ({})", self.cell.test, settings.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cell;
    use crate::link::Offload;
    use crate::mix::Mix;
    use crate::quantity::Bytes;
    use crate::traffic::{Family, Test};

    fn cell(test: Test, size: u64) -> Cell {
        Cell::plain(test, Bytes::new(size))
    }

    #[test]
    fn cells_of_one_series_differ_in_size_alone() {
        assert_eq!(cell(Test::UdpStream, 1).series(), cell(Test::UdpStream, 1473).series());
        assert_ne!(cell(Test::UdpStream, 1).series(), cell(Test::TcpStream, 1).series());
        let odd = Cell { read_size: Bytes::new(7), ..cell(Test::TcpStream, 1) };
        assert_ne!(odd.series(), cell(Test::TcpStream, 1).series());
        assert_eq!(odd.series().to_string(), "TCP_STREAM (nagle, read=7)");
    }

    #[test]
    fn a_label_names_what_is_unusual() {
        let plain = cell(Test::UdpStream, 64);
        assert_eq!(plain.to_string(), "UDP_STREAM 64 B");
        let tuned = Cell { family: Family::V6, nodelay: true, cc: Some("reno".into()), ..cell(Test::TcpStream, 64) };
        assert_eq!(tuned.to_string(), "TCP_STREAM (ipv6, nodelay, reno) 64 B");
        let summed = Cell { offloads: [(Offload::Tx, false), (Offload::Gro, true)].into(), ..plain };
        assert_eq!(summed.to_string(), "UDP_STREAM (tx off, gro on) 64 B");
    }

    #[test]
    fn a_cell_of_a_mix_reads_its_largest_message_and_shows_its_mean() {
        let mixed = cell(Test::UdpStream, 64).of_mix(Mix::new("W1", 1, &[(8, 0.5), (1_000, 0.5)]).unwrap());
        assert_eq!(mixed.to_string(), "UDP_STREAM (W1) mean 504 B");
        assert_eq!((mixed.read_size, mixed.largest()), (Bytes::new(1_000), Bytes::new(1_000)));
        assert_ne!(mixed.series(), cell(Test::UdpStream, 64).series());
        assert_eq!(mixed.series_of_sizes(), cell(Test::UdpStream, 64).series());
        let stream = cell(Test::TcpStream, 64);
        assert_eq!(stream.of_mix(Mix::new("W1", 1, &[(8, 1.0)]).unwrap()).read_size, stream.read_size);
    }
}
