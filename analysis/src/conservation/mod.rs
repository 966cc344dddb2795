//! Account of the datagrams of a UDP trial.
//!
//! A datagram is followed through three stages, and at each stage a counter may
//! explain only what is missing there. That is what keeps one lost datagram
//! from being counted twice: on veth with a recent kernel a drop at the peer's
//! backlog stands in the sender's `tx_dropped`, in the peer's `rx_dropped`, in
//! IP's `OutDiscards` and, because the error is reported upward, in UDP's
//! `SndbufErrors`; older kernels have it in `tx_dropped` alone.
//!
//! ```text
//! successful sends = OutDatagrams + dropped by the sender's queue (SndbufErrors)
//! OutDatagrams     = what reached the peer's UDP + lost on the way (fragments, devices, the wire, IP)
//! reached UDP      = InDatagrams (counts reads) + RcvbufErrors + MemErrors + InCsumErrors + NoPorts
//!                    + what InErrors holds besides those
//! ```
//!
//! Sources: udp_send_skb() and __udp_enqueue_schedule_skb() in the kernel's
//! net/ipv4/udp.c, ip_send_skb() and ip_do_fragment() in net/ipv4/ip_output.c,
//! veth_xmit() in drivers/net/veth.c; and 17 runs in network namespaces in
//! which the identity left nothing over.

mod packets;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::end::EndReport;
use model::kernel::{HostCounters, UdpCounters};
use model::trial::Measured;
use model::{Cell, Over, Protocol, Test};

use serde::Serialize;

use packets::Ends;

/// The balance of datagrams: sent, received, dropped and where.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Balance {
    /// Handed to the kernel by senders' calls that succeeded.
    pub sent: u64,
    /// Taken out by receivers' calls.
    pub received: u64,
    /// Each kernel counter that explains a loss, with its share, in order of
    /// the path; zeros are left out.
    pub dropped: Vec<(String, u64)>,
    /// The rest. 0 on isolated hosts.
    pub unaccounted: i64,
    /// True where packets of many datagrams stand among them, each as one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub packets: bool,
}

/// A counter that explains a loss, in the order in which a datagram meets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    SenderQueue,
    SenderIp,
    Fragments,
    SenderDevice,
    Wire,
    ReceiverDevice,
    ReceiverIp,
    NoPort,
    Checksum,
    Memory,
    ReceiveBuffer,
    OtherError,
}

impl Cause {
    const fn name(self) -> &'static str {
        match self {
            Self::SenderQueue => "SndbufErrors",
            Self::SenderIp => "IP OutDiscards",
            Self::Fragments => "fragments lost",
            Self::SenderDevice => "link tx_dropped",
            Self::Wire => "wire",
            Self::ReceiverDevice => "link rx_dropped",
            Self::ReceiverIp => "IP InDiscards",
            Self::NoPort => "NoPorts",
            Self::Checksum => "InCsumErrors",
            Self::Memory => "MemErrors",
            Self::ReceiveBuffer => "RcvbufErrors",
            Self::OtherError => "other InErrors",
        }
    }
}

/// The sum of many balances.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    sent: u64,
    received: u64,
    dropped: BTreeMap<Cause, u64>,
    /// Drops that the apis of the ends count themselves, which no counter of the
    /// kernel holds.
    own: BTreeMap<String, u64>,
    packets: bool,
}

/// The balance of one trial; `None` of a TCP trial.
///
/// Sent are the datagrams that an end handed to the kernel, received those that
/// it took out, over the whole trial: [`model::end::Counts::sent`] and
/// [`model::end::Counts::received`]. In UDP_RR both ways carry datagrams, and
/// both ends do both; requests and answers are balanced apart, each against the
/// counters of its own two ends, and added. Where calls hand over packets of datagrams and
/// fetch them as they were sent, such packets are balanced: the kernel counts them, and not
/// what is in them. Where packets are cut on the way, or one end alone knows of them,
/// datagrams are balanced.
///
/// On hosts that are not isolated the counters hold other people's datagrams
/// too, and what is left over may have either sign. Unless they are apart, both
/// hosts then are one, and the two ways of UDP_RR, or of a stream both ways, are balanced together,
/// so that the one set of counters is not used twice.
pub fn balance(measured: &Measured, cell: &Cell) -> Option<Balance> {
    let mut ledger = Ledger::default();
    ledger.add(measured, cell).then(|| ledger.balance())
}

impl Ledger {
    /// Adds one trial; `false` when it is not of UDP and nothing was added.
    pub fn add(&mut self, measured: &Measured, cell: &Cell) -> bool {
        let (sender, receiver) = (&measured.sender.total, &measured.receiver.total);
        match cell.test {
            test if cell.api.over().is_local() => {
                // No network lies between the ends, and no counter of one says anything.
                if test.protocol() == Protocol::Tcp {
                    return false;
                }
                let back = [&measured.sender, &measured.receiver].map(|end| end.back.unwrap_or_default().total);
                self.sent = self.sent.saturating_add(sum([sender.sent, receiver.sent, back[0].sent, back[1].sent]));
                self.received = self.received.saturating_add(sum([sender.received, receiver.received, back[0].received, back[1].received]));
            }
            Test::UdpStream if cell.is_apart() => self.beside_the_kernel(measured),
            Test::UdpStream => {
                let back = |end: &EndReport| end.back.unwrap_or_default().total;
                let ends = Ends { sent: [*sender, back(&measured.receiver)], received: [*receiver, back(&measured.sender)] };
                ends.balance(measured, cell, self);
            }
            Test::UdpRr => {
                self.both_ways(measured, &hosts(measured, cell), [sender.sent, receiver.sent], [receiver.received, sender.received])
            }
            Test::TcpStream | Test::TcpMaerts | Test::TcpRr | Test::TcpCrr => return false,
        }
        for (name, count) in measured.sender.drops.iter().chain(&measured.receiver.drops) {
            *self.own.entry(name.clone()).or_default() += count;
        }
        true
    }

    /// Datagrams of a stack of its own, which no UDP of the kernel's sees: what the stack lost it counts
    /// itself, and the rest was lost by devices and IP on the way. Over loopback they cross none of
    /// this host's.
    fn beside_the_kernel(&mut self, measured: &Measured) {
        let (sent, received) = (measured.sender.total.sent, measured.receiver.total.received);
        self.sent = self.sent.saturating_add(sent);
        self.received = self.received.saturating_add(received);
        let own = measured.sender.drops.values().chain(measured.receiver.drops.values()).fold(0, |sum: u64, one| sum.saturating_add(*one));
        if measured.isolated {
            let [here, there] = [measured.sender_host, measured.receiver_host];
            let mut wire = measured.wire.map_or(0, |wire| wire.missing());
            self.on_the_way(sent.saturating_sub(received).saturating_sub(own), 0, &here, &there, &mut wire);
        }
    }

    /// Datagrams forward and back: what was sent and what was taken out of each.
    fn both_ways(&mut self, measured: &Measured, [here, there]: &[HostCounters; 2], sent: [u64; 2], received: [u64; 2]) {
        // It counts both ways together: what one has explained is not left for the other.
        let mut wire = measured.wire.map_or(0, |wire| wire.missing());
        if !measured.isolated && !measured.apart {
            return self.one_way(sum(sent), sum(received), here, there, &mut wire);
        }
        self.one_way(sent[0], received[0], here, there, &mut wire);
        // Of a stream one way nothing comes back, and no counter of it says anything.
        if sent[1] > 0 || received[1] > 0 {
            self.one_way(sent[1], received[1], there, here, &mut wire);
        }
    }

    /// Returns whether there is anything in it.
    pub fn any(&self) -> bool {
        self.sent > 0 || self.received > 0 || !self.dropped.is_empty()
    }

    /// The balance so far.
    pub fn balance(&self) -> Balance {
        let dropped = self.dropped.iter().map(|(cause, count)| (cause.name().to_owned(), *count));
        let dropped = dropped.chain(self.own.iter().map(|(name, count)| (name.clone(), *count))).collect();
        let explained = self.dropped.values().chain(self.own.values()).fold(0, |sum: u64, count| sum.wrapping_add(*count));
        let unaccounted = self.sent.wrapping_sub(self.received).wrapping_sub(explained) as i64;
        Balance { sent: self.sent, received: self.received, dropped, unaccounted, packets: self.packets }
    }

    /// `sent` datagrams from `here`, `received` of them taken out `there`.
    fn one_way(&mut self, sent: u64, received: u64, here: &HostCounters, there: &HostCounters, wire: &mut u64) {
        self.sent = self.sent.saturating_add(sent);
        self.received = self.received.saturating_add(received);
        // Calls that failed for lack of room count in SndbufErrors too; they
        // sent nothing, so only the gap counts.
        let queue = self.explain(Cause::SenderQueue, sent.saturating_sub(here.udp.out_datagrams), here.udp.sndbuf_errors);
        let udp = &there.udp;
        self.on_the_way(here.udp.out_datagrams.saturating_sub(arrived(udp)), queue, here, there, wire);
        self.count(Cause::NoPort, udp.no_ports);
        self.count(Cause::Checksum, udp.in_csum_errors);
        self.count(Cause::Memory, udp.mem_errors);
        self.count(Cause::ReceiveBuffer, udp.rcvbuf_errors);
        self.count(Cause::OtherError, other_errors(udp));
    }

    /// Explains `gap` datagrams that left UDP and did not reach it at the peer.
    /// `reported` of the drops below were reported upward and are explained.
    fn on_the_way(&mut self, mut gap: u64, reported: u64, here: &HostCounters, there: &HostCounters, wire: &mut u64) {
        gap -= self.explain(Cause::SenderIp, gap, here.ip.out_discards.saturating_sub(reported));
        // A packet dropped between the two devices may stand at both.
        let at_sender = sum([here.link.tx_dropped, here.link.tx_errors]).saturating_sub(reported);
        let at_receiver = sum([there.link.rx_dropped, there.link.rx_errors]).saturating_sub(reported);
        let mut devices = at_sender.max(at_receiver);
        // Devices count fragments. A datagram is lost with the first of them,
        // so whole datagrams are what was cut but never put together; a drop
        // must be on record for each, or it is a mystery and stays one.
        let not_whole = here.ip.frag_oks.saturating_sub(there.ip.reasm_oks);
        let evidence = sum([devices, *wire, there.ip.reasm_fails, there.ip.in_discards]);
        let fragments = self.explain(Cause::Fragments, gap.min(not_whole), evidence);
        gap -= fragments;
        devices = devices.saturating_sub(fragments);
        let by_sender = self.explain(Cause::SenderDevice, gap.min(devices), at_sender);
        gap -= by_sender;
        let on_wire = self.explain(Cause::Wire, gap, wire.saturating_sub(fragments));
        *wire -= on_wire;
        gap -= on_wire;
        gap -= self.explain(Cause::ReceiverDevice, gap, devices - by_sender);
        let left = there.ip.in_discards.saturating_sub(fragments);
        self.explain(Cause::ReceiverIp, gap, left);
    }

    /// Books on a cause as much of a gap as its counter holds.
    fn explain(&mut self, cause: Cause, gap: u64, counter: u64) -> u64 {
        let explained = gap.min(counter);
        self.count(cause, explained);
        explained
    }

    fn count(&mut self, cause: Cause, datagrams: u64) {
        if datagrams > 0 {
            let counted = self.dropped.entry(cause).or_default();
            *counted = counted.saturating_add(datagrams);
        }
    }
}

/// The counters of the two hosts, as if all datagrams of the ends had passed UDP there: of
/// those whose heads the sender made, and of those that the receiver took below UDP, UDP's
/// own counters hold none, or hold what the flow's socket threw away.
fn hosts(measured: &Measured, cell: &Cell) -> [HostCounters; 2] {
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let [mut here, mut there] = [measured.sender_host, measured.receiver_host];
    if cell.api.over() == Over::Packets {
        let back = if cell.test.is_stream() { 0 } else { receiver.total.sent };
        let together = !measured.isolated && !measured.apart;
        // What the way dropped itself never left.
        let left = |sent: u64, end: &EndReport| end.drops.values().fold(sent, |left, dropped| left.saturating_sub(*dropped));
        let back = if back > 0 { left(back, receiver) } else { 0 };
        here.udp.out_datagrams = sum([here.udp.out_datagrams, left(sender.total.sent, sender), if together { back } else { 0 }]);
        there.udp.out_datagrams = sum([there.udp.out_datagrams, back]);
    }
    if cell.receive().is_below_udp() {
        let dropped = receiver.drops.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        there.udp = UdpCounters {
            in_datagrams: sum([receiver.total.received, dropped]),
            out_datagrams: there.udp.out_datagrams,
            ..UdpCounters::default()
        };
    }
    [here, there]
}

/// Errors of `InErrors` that have no counter of their own.
fn other_errors(udp: &UdpCounters) -> u64 {
    udp.in_errors.saturating_sub(sum([udp.rcvbuf_errors, udp.mem_errors, udp.in_csum_errors]))
}

/// Datagrams that reached a host's UDP.
pub(crate) fn arrived(udp: &UdpCounters) -> u64 {
    sum([udp.in_datagrams, udp.rcvbuf_errors, udp.mem_errors, udp.in_csum_errors, udp.no_ports, other_errors(udp)])
}

/// A sum that a damaged record cannot make overflow.
fn sum<const N: usize>(counts: [u64; N]) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
