//! A cell: one combination of the levels that a study varies.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::api::Api;
use crate::condition::Conditions;
use crate::mix::Mix;
use crate::plan::Offload;
use crate::quantity::{Bytes, Nanos};
use crate::rate::OfferedRate;
use crate::traffic::{Family, Pacing, Protocol, Test, Waiting};

/// One combination of levels. What is `None` is left as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// What is done.
    pub test: Test,
    /// The version of IP below it.
    pub family: Family,
    /// How messages reach the kernel.
    pub api: Api,
    /// Messages that one call hands over or fetches; at least 1, and 1 where the
    /// api takes one a call.
    #[serde(default = "one", skip_serializing_if = "is_one")]
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
    /// How many flows run beside each other, each with a thread of its own; at least 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub flows: u32,
    /// What each flow offers; `None`: all that it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<OfferedRate>,
    /// How it waits, where a rate is offered.
    #[serde(default = "sleeping", skip_serializing_if = "is_sleeping")]
    pub pacing: Pacing,
    /// How both ends wait for what is to come. A requester with a rate waits as
    /// `pacing` says.
    #[serde(default = "blocking", skip_serializing_if = "is_blocking")]
    pub waiting: Waiting,
    /// CPU time that an end spends before each send, as an application's own work
    /// would; 0: none.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub work: Nanos,
    /// Whether the receiver sends as well, as many flows as the sender.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bidirectional: bool,
    /// Whether each datagram bears its number and the time it was sent.
    #[serde(default, skip_serializing_if = "is_false")]
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
    /// What it is run under.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

const fn blocking() -> Waiting {
    Waiting::Block
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_blocking(waiting: &Waiting) -> bool {
    *waiting == Waiting::Block
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_no_time(time: &Nanos) -> bool {
    time.get() == 0
}

const fn sleeping() -> Pacing {
    Pacing::Sleep
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_sleeping(pacing: &Pacing) -> bool {
    *pacing == Pacing::Sleep
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_false(choice: &bool) -> bool {
    !*choice
}

impl Cell {
    /// The least a cell can be: one message of a size, everything else as usual.
    pub const fn plain(test: Test, size: Bytes) -> Self {
        Self {
            test,
            family: Family::V4,
            api: Api::Send,
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
            waiting: Waiting::Block,
            work: Nanos::new(0),
            bidirectional: false,
            stamp: false,
            offloads: BTreeMap::new(),
            mix: None,
            count: None,
            conditions: Conditions::USUAL,
        }
    }

    /// The same cell with messages of many sizes.
    #[must_use]
    pub fn of_mix(&self, mix: Mix) -> Self {
        let read_size = match self.read_size == default_read_size(self.test, self.largest()) {
            true => default_read_size(self.test, mix.largest()),
            false => self.read_size,
        };
        Self { size: mix.size(), read_size, mix: Some(mix), ..self.clone() }
    }

    /// What its mix is predicted from: the series of cells that each send one
    /// size and are like it otherwise. Of any other cell its own series.
    pub fn series_of_sizes(&self) -> Series {
        let mut series = self.series();
        series.0.mix = None;
        series
    }

    /// The largest message that it sends.
    pub fn largest(&self) -> Bytes {
        self.mix.as_ref().map_or(self.size, Mix::largest)
    }

    /// The transport of this cell.
    pub const fn protocol(&self) -> Protocol {
        self.test.protocol()
    }

    /// The cell without its message size: what one cost model is fitted over.
    pub fn series(&self) -> Series {
        let mut cell = self.clone();
        if cell.read_size == default_read_size(cell.test, cell.largest()) {
            cell.read_size = default_read_size(cell.test, Bytes::new(0));
        }
        cell.size = Bytes::new(0);
        Series(cell)
    }

    /// The settings beyond test and size that differ from the usual, for a label.
    fn settings(&self) -> Vec<String> {
        let mut settings = Vec::new();
        if self.family == Family::V6 {
            settings.push("ipv6".to_owned());
        }
        if self.api != Api::Send {
            settings.push(self.api.to_string());
        }
        if self.batch != 1 {
            settings.push(format!("batches of {}", self.batch));
        }
        if self.protocol() == Protocol::Tcp {
            settings.push(if self.nodelay { "nodelay" } else { "nagle" }.to_owned());
        }
        if let Some(cc) = &self.cc {
            settings.push(cc.clone());
        }
        if let Some(size) = self.sndbuf {
            settings.push(format!("sndbuf={size}"));
        }
        if let Some(size) = self.rcvbuf {
            settings.push(format!("rcvbuf={size}"));
        }
        if self.flows != 1 {
            settings.push(format!("{} flows", self.flows));
        }
        if let Some(rate) = self.rate {
            settings.push(rate.to_string());
        }
        if self.pacing != Pacing::Sleep {
            settings.push(self.pacing.to_string());
        }
        if self.waiting != Waiting::Block {
            settings.push(format!("{}ning", self.waiting));
        }
        if self.work.get() > 0 {
            settings.push(format!("{} of work", self.work));
        }
        if self.bidirectional {
            settings.push("both ways".to_owned());
        }
        if self.stamp {
            settings.push("stamped".to_owned());
        }
        settings.extend(self.count.map(|count| format!("{count} messages")));
        settings.extend(self.conditions.words());
        settings.extend(self.mix.iter().map(|mix| mix.name.clone()));
        settings.extend(self.offloads.iter().map(|(offload, on)| format!("{offload} {}", on_off(*on))));
        settings
    }
}

/// What receive calls ask for when the plan does not say: a datagram of the
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Series(Cell);

impl Series {
    /// The test that all its cells run.
    pub const fn test(&self) -> Test {
        self.0.test
    }

    /// The version of IP below it.
    pub const fn family(&self) -> Family {
        self.0.family
    }

    /// What each flow offers, if not all that it can.
    pub const fn rate(&self) -> Option<OfferedRate> {
        self.0.rate
    }

    /// Whether both ends send.
    pub const fn bidirectional(&self) -> bool {
        self.0.bidirectional
    }

    /// Whether TCP_NODELAY is set.
    pub const fn nodelay(&self) -> bool {
        self.0.nodelay
    }

    /// The same cells under other conditions.
    #[must_use]
    pub fn under(&self, conditions: Conditions) -> Self {
        Self(Cell { conditions, ..self.0.clone() })
    }

    /// What its cells are run under.
    pub const fn conditions(&self) -> &Conditions {
        &self.0.conditions
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.0.test)?;
        let mut settings = self.0.settings();
        if self.0.read_size != default_read_size(self.0.test, Bytes::new(0)) {
            settings.push(format!("read={}", self.0.read_size));
        }
        match settings.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", settings.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cell;
    use crate::mix::Mix;
    use crate::plan::Offload;
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
