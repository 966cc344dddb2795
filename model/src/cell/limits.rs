//! Cells that can be carried out: the limits of each level, and levels that do
//! not go together.

use std::net::IpAddr;

use super::{Cell, Factor, LevelError, STAMP};
use crate::address_list::Addresses;
use crate::api::{Api, MOST_BATCH};
use crate::condition::{MOST_BULK, MOST_PAIRS, MOST_UNITS};
use crate::over::Over;
use crate::quantity::{Bytes, Nanos};
use crate::receive::Receive;
use crate::traffic::{Arrivals, Family, Pacing, Protocol, Role, Test, Waiting};

/// Each has a thread at either end; a host of 128 CPUs can have eight on each.
const MOST_FLOWS: u32 = 1_024;
/// Beyond it a trial would not end when it should: work is not broken off.
const MOST_WORK: Nanos = Nanos::from_millis(10);
/// The most addresses of an association's end: a host has some paths, and a task stays small.
const MOST_ADDRESSES: usize = 8;
/// The most bytes of a message, and of a read.
const LARGEST_MESSAGE: u64 = 1 << 30;

impl Cell {
    /// A cell that an endpoint can carry out, without what means nothing to it.
    pub(super) fn checked(mut self) -> Result<Self, LevelError> {
        self.check_levels()?;
        let refused = |factor, reason: &str| Err(LevelError { factor, reason: reason.to_owned() });
        if self.protocol() == Protocol::Udp {
            let (size, family, limit) = (self.size.get(), self.family, self.family.largest_datagram());
            if size > limit {
                return refused(Factor::Size, &format!("{size} B does not fit a UDP datagram over {family}: at most {limit}"));
            }
            // These are TCP's; for UDP they would only multiply equal cells.
            self.nodelay = false;
            self.cc = None;
        }
        if self.api.over() == Over::Sctp {
            // It has a congestion control of its own.
            self.cc = None;
        }
        for (factor, size) in [(Factor::Size, self.size), (Factor::ReadSize, self.read_size)] {
            if size.get() > LARGEST_MESSAGE {
                return refused(factor, "a message or a read has at most 1G");
            }
        }
        if self.rate.is_none() {
            // Without a schedule there is nothing to wait for.
            self.pacing = Pacing::Sleep;
            self.arrivals = Arrivals::Periodic;
        }
        if !self.api.carries(self.test) {
            let tests = Test::ALL.iter().filter(|test| self.api.carries(**test)).map(|test| test.name()).collect::<Vec<_>>();
            return refused(Factor::Api, &format!("{} does not carry {}, but {}", self.api, self.test, tests.join(", ")));
        }
        if self.bidirectional && (self.api.over() == Over::Packets || self.receive().is_below_udp()) {
            let reason = format!("{} received by {} goes one way: its ends are not those of one socket", self.api, self.receive());
            return refused(Factor::Bidirectional, &reason);
        }
        if self.mix.is_some() && self.api.packs() {
            let reason = format!("{} makes packets of messages of one size: send a mix of sizes another way", self.api);
            return refused(Factor::Api, &reason);
        }
        if self.mix.is_some() && self.api.over() == Over::Packets && self.api.lends() {
            let reason = format!("{} lends whole frames, whose headers give their lengths: send a mix of sizes another way", self.api);
            return refused(Factor::Api, &reason);
        }
        if self.api == Api::Tun && self.family == Family::V6 {
            return refused(Factor::Family, "tun carries IPv4 alone: a host that forwards IPv6 does so for all of its devices");
        }
        if self.tos.is_some() && (self.api.over().is_local() || self.api.over() == Over::Packets) {
            let reason = format!("{} carries the messages of {}, where the kernel sets no header of IP", self.api.over(), self.api);
            return refused(Factor::Tos, &reason);
        }
        self.check_association()?;
        self.check_receive()?;
        self.check_waiting()?;
        self.check_external()?;
        self.check_hosts()?;
        if self.receive == Some(self.api.usual_receive(self.test)) {
            // Said or not, it is the same cell.
            self.receive = None;
        }
        if self.batches().is_none() {
            // Levels of it would only multiply equal cells.
            self.batch = 1;
        }
        if self.bidirectional && !self.test.is_stream() {
            let reason = "a request/response test sends both ways already: only streams can be bidirectional";
            return refused(Factor::Bidirectional, reason);
        }
        if self.stamp && self.test != Test::UdpStream {
            return refused(Factor::Stamp, "only the datagrams of UDP_STREAM can bear a number and a time");
        }
        if self.stamp && self.api.lends() {
            let reason = format!("the kernel may read a message over {} after the next is written: those cannot bear a number", self.api);
            return refused(Factor::Stamp, &reason);
        }
        if self.stamp && self.size.get() < STAMP {
            return refused(Factor::Stamp, "a number and a time take 16 bytes: the message size must be at least 16");
        }
        if self.test == Test::TcpCrr && self.waiting != Waiting::Block {
            return refused(
                Factor::Waiting,
                "each transaction of TCP_CRR waits for its connection: ways of waiting are for the other tests",
            );
        }
        if !self.test.is_stream() && self.read_size < self.size {
            let reason = "a request/response test reads whole messages: the read size must be at least the message size";
            return refused(Factor::ReadSize, reason);
        }
        Ok(self)
    }

    /// Checks the way of receiving against the test and the way of sending.
    ///
    /// # Errors
    /// Those that do not go together, in words.
    pub fn check_receive(&self) -> Result<(), LevelError> {
        let (api, receive, test) = (self.api, self.receive(), self.test);
        let refused = |reason: String| Err(LevelError { factor: Factor::Receive, reason });
        if !receive.carries(test) {
            let tests = Test::ALL.iter().filter(|test| receive.carries(**test)).map(|test| test.name()).collect::<Vec<_>>();
            return refused(format!("{receive} does not receive {test}, but {}", tests.join(", ")));
        }
        if !receive.takes_from(api.over()) {
            let fitting = Receive::ALL.iter().filter(|receive| receive.takes_from(api.over()) && receive.carries(test));
            let fitting = fitting.map(|receive| receive.name()).collect::<Vec<_>>().join(", ");
            return refused(format!("{receive} takes nothing from {}, which carries the messages of {api}, but {fitting} can", api.over()));
        }
        if receive.is_below_udp() && api.packs() {
            return refused(format!("{receive} would see the packets of {api} before they are cut; take another way for either end"));
        }
        if !test.is_stream() && (api == Api::Sendto) != (receive == Receive::Recvfrom) {
            return refused(format!(
                "a {test} over {api} received by {receive} cannot be: an end has one socket, and the two disagree on whether it is connected; sendto goes with recvfrom"
            ));
        }
        Ok(())
    }

    /// Checks that streams and addresses of an association are those of one.
    fn check_association(&self) -> Result<(), LevelError> {
        let refused = |factor, reason: String| Err(LevelError { factor, reason });
        let factor = if self.nstreams.is_some() { Factor::Nstreams } else { Factor::Xbind };
        if (self.nstreams.is_some() || self.xbind.is_some()) && self.api.over() != Over::Sctp {
            return refused(factor, format!("{} makes no association of SCTP: take --api sctp", self.api));
        }
        if let Some(streams) = self.nstreams.filter(|streams| !(1..=u16::MAX.into()).contains(streams)) {
            return refused(Factor::Nstreams, format!("{streams} streams: 1 to {}", u16::MAX));
        }
        let Some(addresses) = self.xbind.as_ref().map(Addresses::all) else { return Ok(()) };
        let is_of_family = |address: &IpAddr| address.is_ipv6() == (self.family == Family::V6);
        if let Some(other) = addresses.iter().find(|address| !is_of_family(address) || address.is_unspecified()) {
            return refused(Factor::Xbind, format!("{other} is no address of {} that an end can have", self.family));
        }
        if addresses.len() > MOST_ADDRESSES {
            return refused(Factor::Xbind, format!("{} addresses: 1 to {MOST_ADDRESSES}", addresses.len()));
        }
        Ok(())
    }

    /// Checks the way of waiting against what carries the messages.
    fn check_waiting(&self) -> Result<(), LevelError> {
        let over = self.api.over();
        let cannot = match self.waiting {
            Waiting::Block | Waiting::Spin => false,
            Waiting::BusyPoll => over.is_local(),
            Waiting::Poll | Waiting::Select | Waiting::Epoll | Waiting::EpollEdge => over == Over::Memory,
        };
        let reason = format!("{over} cannot be waited for by {}; take block or spin", self.waiting);
        if cannot { Err(LevelError { factor: Factor::Waiting, reason }) } else { Ok(()) }
    }

    /// Checks that a program of the user's own is asked for no more than it can be told.
    fn check_external(&self) -> Result<(), LevelError> {
        let [sends, receives] = [Role::Sender, Role::Receiver].map(|role| self.external(role).is_some());
        if !sends && !receives {
            return Ok(());
        }
        self.check_stack()?;
        let refused = |factor, what: &str| {
            let reason = format!("{what} is for nettoll's own ends; an external endpoint sends messages of one size, as fast as it can");
            Err(LevelError { factor, reason })
        };
        match self {
            cell if cell.flows != 1 => refused(Factor::Flows, "more than one flow"),
            cell if cell.bidirectional => refused(Factor::Bidirectional, "sending both ways"),
            cell if cell.stamp => refused(Factor::Stamp, "a number in each message"),
            cell if cell.count.is_some() => refused(Factor::Count, "a number of messages in place of a time"),
            cell if cell.mix.is_some() => refused(Factor::Api, "a mix of sizes"),
            cell if cell.tos.is_some() => refused(Factor::Tos, "a type of service"),
            cell if sends && cell.rate.is_some() => refused(Factor::Rate, "a rate"),
            cell if sends && cell.work.get() > 0 => refused(Factor::Work, "work before each send"),
            cell if sends && receives && cell.waiting != Waiting::Block => refused(Factor::Waiting, "a way of waiting"),
            _ => Ok(()),
        }
    }

    /// Checks that flows over several hosts are of sockets that nettoll opens in their namespaces, and nothing else.
    fn check_hosts(&self) -> Result<(), LevelError> {
        let [senders, receivers] = [self.conditions.senders, self.conditions.receivers];
        let (hosts, factor) = if senders > 1 { (senders, Factor::Senders) } else { (receivers, Factor::Receivers) };
        let refused = |reason: String| Err(LevelError { factor, reason: format!("{hosts}: {reason}") });
        if hosts == 1 {
            return Ok(());
        }
        if senders > 1 && receivers > 1 {
            return refused(format!("{receivers} receivers at the same time; many send to one, or one to many"));
        }
        if self.flows < hosts {
            return refused(format!("{} flows do not reach as many hosts; leave out --flows, or ask for more", self.flows));
        }
        let what = match self {
            cell if cell.test == Test::TcpCrr => "TCP_CRR, whose connections the traffic threads make",
            cell if cell.api.over().is_local() => "an api that does not use the link",
            cell if cell.api.over() == Over::Packets || cell.receive().is_below_udp() => "an end below UDP, which has one device",
            cell if cell.external(Role::Sender).or(cell.external(Role::Receiver)).is_some() => "a program as an end",
            cell if !cell.conditions.link_load.is_none() => "a link load, whose pairs are these hosts",
            cell if !cell.offloads.is_empty() => "offloads as factors: set those of the link ([link.offloads])",
            _ => return Ok(()),
        };
        refused(format!("not with {what}"))
    }

    /// Checks that a stack of its own is both ends, and is asked for what it carries.
    fn check_stack(&self) -> Result<(), LevelError> {
        let [sends, receives] = [Role::Sender, Role::Receiver].map(|role| self.external(role));
        let stack = [sends, receives].into_iter().flatten().find(|program| program.shipped().is_some_and(|shipped| shipped.apart));
        let Some(stack) = stack else { return Ok(()) };
        if sends != receives {
            let reason = format!("{stack} is a stack of its own, which no other end understands: take --api {stack} without --receive");
            return Err(LevelError { factor: Factor::Receive, reason });
        }
        if self.family == Family::V6 && stack.shipped().is_some_and(|shipped| shipped.ipv4_alone) {
            return Err(LevelError { factor: Factor::Family, reason: format!("{stack} carries IPv4 alone") });
        }
        Ok(())
    }

    /// Checks each level by itself.
    fn check_levels(&self) -> Result<(), LevelError> {
        let refuse = |factor, reason: String| Err(LevelError { factor, reason });
        for (factor, size) in [
            (Factor::Size, Some(self.size.get())),
            (Factor::ReadSize, Some(self.read_size.get())),
            (Factor::Sndbuf, self.sndbuf.map(Bytes::get)),
            (Factor::Rcvbuf, self.rcvbuf.map(Bytes::get)),
        ] {
            if size == Some(0) {
                return refuse(factor, "0 bytes is not a size that can be measured: at least 1".to_owned());
            }
            if size.is_some_and(|size| size > i32::MAX as u64) {
                return refuse(factor, "a size has at most 2147483647 bytes".to_owned());
            }
        }
        if self.count.is_some_and(|count| count == 0 || count > i32::MAX as u64) {
            return refuse(Factor::Count, "a trial has 1 to 2147483647 messages".to_owned());
        }
        if !(1..=MOST_FLOWS).contains(&self.flows) {
            return refuse(Factor::Flows, format!("{} flows cannot be run: 1 to {MOST_FLOWS}", self.flows));
        }
        for (factor, hosts) in [(Factor::Senders, self.conditions.senders), (Factor::Receivers, self.conditions.receivers)] {
            if !(1..=MOST_PAIRS).contains(&hosts) {
                return refuse(factor, format!("{hosts} hosts cannot be made: 1 to {MOST_PAIRS}"));
            }
        }
        if !(1..=MOST_BATCH).contains(&self.batch) {
            return refuse(Factor::Batch, format!("{} messages a call: 1 to {MOST_BATCH}", self.batch));
        }
        if self.work > MOST_WORK {
            return refuse(Factor::Work, format!("{} before each send: at most {MOST_WORK}", self.work));
        }
        // TCP_CA_NAME_MAX of the kernel's include/net/tcp.h is 16 with the final zero.
        if let Some(name) = self.cc.as_ref().filter(|name| !(1..=15).contains(&name.len()) || name.contains(char::is_whitespace)) {
            let reason = format!("'{name}' cannot be the name of a congestion control: 1 to 15 characters without spaces");
            return refuse(Factor::Cc, reason);
        }
        let (load, bulk) = (self.conditions.load, self.conditions.bulk);
        if load.sender.max(load.receiver) > MOST_UNITS {
            return refuse(Factor::Load, format!("{load}: at most {MOST_UNITS} units at an end"));
        }
        if bulk > MOST_BULK {
            return refuse(Factor::Bulk, format!("{bulk}: 0 to {MOST_BULK}"));
        }
        Ok(())
    }
}
