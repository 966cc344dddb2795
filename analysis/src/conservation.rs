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

use std::collections::BTreeMap;

use model::end::Counts;
use model::kernel::{HostCounters, UdpCounters};
use model::trial::Measured;
use model::{Cell, Test};

use serde::Serialize;

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
            Test::UdpStream => {
                let back = |end: &model::end::EndReport| end.back.unwrap_or_default().total;
                let ends = Ends { sent: [*sender, back(&measured.receiver)], received: [*receiver, back(&measured.sender)] };
                ends.balance(measured, cell, self);
            }
            Test::UdpRr => self.both_ways(measured, &hosts(measured), [sender.sent, receiver.sent], [receiver.received, sender.received]),
            Test::TcpStream | Test::TcpMaerts | Test::TcpRr | Test::TcpCrr => return false,
        }
        for (name, count) in measured.sender.drops.iter().chain(&measured.receiver.drops) {
            *self.own.entry(name.clone()).or_default() += count;
        }
        true
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

/// The counters of the two hosts.
fn hosts(measured: &Measured) -> [HostCounters; 2] {
    [measured.sender_host, measured.receiver_host]
}

/// Errors of `InErrors` that have no counter of their own.
fn other_errors(udp: &UdpCounters) -> u64 {
    udp.in_errors.saturating_sub(sum([udp.rcvbuf_errors, udp.mem_errors, udp.in_csum_errors]))
}

/// Datagrams that reached a host's UDP.
fn arrived(udp: &UdpCounters) -> u64 {
    sum([udp.in_datagrams, udp.rcvbuf_errors, udp.mem_errors, udp.in_csum_errors, udp.no_ports, other_errors(udp)])
}

/// Counts of a stream's ends over the whole trial, forward and back.
struct Ends {
    sent: [Counts; 2],
    received: [Counts; 2],
}

impl Ends {
    /// Adds the balance of what the kernel counts: of packets where both ends have the
    /// same ones and no more arrive than left, of datagrams otherwise.
    fn balance(&self, measured: &Measured, cell: &Cell, ledger: &mut Ledger) {
        let packs = [cell.api.packs(), cell.receive().packs()];
        let mut hosts = hosts(measured);
        let whole = packs == [true, true] && self.have_the_same_packets() && arrived(&hosts[1].udp) <= hosts[0].udp.out_datagrams;
        if whole {
            ledger.packets = true;
            return ledger.both_ways(measured, &hosts, self.sent.map(|of| of.calls), self.received.map(|of| of.calls));
        }
        let together = !measured.isolated && !measured.apart;
        for (place, host) in hosts.iter_mut().enumerate() {
            // What this host sent, and what it took out: it receives what the other one sent.
            let [sent, received] = match together {
                true => [&self.sent, &self.received].map(|of| [of[0], of[1]]),
                false => [[self.sent[place], Counts::default()], [self.received[1 - place], Counts::default()]],
            };
            if packs[0] {
                sent.iter().for_each(|sent| count_datagrams_sent(&mut host.udp, sent));
            }
            if packs[1] {
                received.iter().for_each(|received| count_datagrams_received(&mut host.udp, received));
                if received.iter().any(|received| received.calls < received.received) {
                    let elsewhere = elsewhere(measured, host);
                    count_datagrams_dropped(&mut host.udp, self.lost(place, together).saturating_sub(elsewhere));
                }
            }
        }
        ledger.both_ways(measured, &hosts, self.sent.map(|of| of.sent), self.received.map(|of| of.received));
    }

    /// Returns whether the packets that were fetched hold as many datagrams as those that
    /// were sent, but for one that ends a batch: a device that cuts them, and a receiver that
    /// joins them again, makes others.
    fn have_the_same_packets(&self) -> bool {
        const MOST_APART: f64 = 0.01;
        let mean = |datagrams: u64, calls: u64| datagrams as f64 / calls as f64;
        self.sent.iter().zip(&self.received).filter(|(sent, received)| sent.calls > 0 && received.calls > 0).all(|(sent, received)| {
            let apart = mean(received.received, received.calls) / mean(sent.sent, sent.calls) - 1.0;
            apart.abs() <= MOST_APART + 1.0 / received.calls as f64
        })
    }

    /// Datagrams that were sent to a host and not taken out there.
    fn lost(&self, place: usize, together: bool) -> u64 {
        let lost = |way: usize| self.sent[way].sent.saturating_sub(self.received[way].received);
        if together { lost(0).saturating_add(lost(1)) } else { lost(1 - place) }
    }
}

/// Datagrams that were lost before they reached a receive buffer, as far as counters hold them.
fn elsewhere(measured: &Measured, host: &HostCounters) -> u64 {
    let devices = sum([measured.sender_host.link.tx_dropped, measured.sender_host.link.tx_errors]);
    let devices = devices.max(sum([host.link.rx_dropped, host.link.rx_errors]));
    let wire = measured.wire.map_or(0, |wire| wire.missing());
    sum([devices.max(wire), host.udp.no_ports, host.udp.in_csum_errors, host.udp.mem_errors, host.ip.in_discards])
}

/// Puts the datagrams of `sent` in the place of its packets, one a call. Packets that a
/// queue dropped were as large as the others.
fn count_datagrams_sent(udp: &mut UdpCounters, sent: &Counts) {
    let dropped = sent.calls.saturating_sub(udp.out_datagrams).min(udp.sndbuf_errors);
    let in_each = sent.sent.checked_div(sent.calls).unwrap_or(1);
    udp.out_datagrams = udp.out_datagrams.saturating_add(dropped).saturating_sub(sent.calls).saturating_add(sent.sent);
    udp.out_datagrams = udp.out_datagrams.saturating_sub(dropped.saturating_mul(in_each));
    udp.sndbuf_errors = udp.sndbuf_errors.saturating_mul(in_each);
}

/// Puts the datagrams of `received` in the place of its packets, one a call.
fn count_datagrams_received(udp: &mut UdpCounters, received: &Counts) {
    udp.in_datagrams = udp.in_datagrams.saturating_sub(received.calls).saturating_add(received.received);
}

/// Puts datagrams in the place of packets that found no room in the receive buffer: of
/// `lost` ones as many as so many packets can have held.
fn count_datagrams_dropped(udp: &mut UdpCounters, lost: u64) {
    /// Most datagrams that the kernel joins: `UDP_GRO_CNT_MAX` of its net/ipv4/udp_offload.c.
    const MOST: u64 = 64;
    let datagrams = lost.clamp(udp.rcvbuf_errors, udp.rcvbuf_errors.saturating_mul(MOST));
    udp.in_errors = udp.in_errors.saturating_sub(udp.rcvbuf_errors).saturating_add(datagrams);
    udp.rcvbuf_errors = datagrams;
}

/// A sum that a damaged record cannot make overflow.
fn sum<const N: usize>(counts: [u64; N]) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::{Balance, balance};
    use crate::testing::{cell, measured};
    use model::trial::Measured;
    use model::{Api, Cell, Receive, Test};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    /// A stream of `sent` datagrams of which `received` were taken out.
    fn stream(sent: u64, received: u64) -> Measured {
        let mut trial = measured(Test::UdpStream, 1024);
        trial.sender.total.sent = sent;
        trial.receiver.total.received = received;
        trial.sender_host.udp.out_datagrams = sent;
        trial.receiver_host.udp.in_datagrams = received;
        trial
    }

    fn of(trial: &Measured) -> Balance {
        balance(trial, &cell(Test::UdpStream, 1024)).unwrap()
    }

    fn dropped(trial: &Measured) -> Vec<(String, u64)> {
        of(trial).dropped
    }

    #[test]
    fn a_slow_reader() {
        let mut trial = stream(200_000, 29_550);
        trial.receiver_host.udp.rcvbuf_errors = 170_450;
        trial.receiver_host.udp.in_errors = 170_450;
        assert_eq!(dropped(&trial), [("RcvbufErrors".to_owned(), 170_450)]);
        assert_eq!(of(&trial).unaccounted, 0);
    }

    /// A stream over gso: `sent` datagrams in packets of `in_each`.
    fn packets(sent: u64, in_each: u64, receive: Option<Receive>) -> (Measured, Cell) {
        let mut trial = stream(sent, sent);
        trial.sender.total.calls = sent / in_each;
        trial.receiver.total.calls = sent / in_each;
        trial.sender_host.udp.out_datagrams = sent / in_each;
        trial.receiver_host.udp.in_datagrams = sent / in_each;
        (trial, Cell { api: Api::Gso, receive, batch: in_each as u32, ..cell(Test::UdpStream, 1024) })
    }

    #[test]
    fn packets_that_stay_whole_are_balanced_as_such() {
        let (mut trial, cell) = packets(3_200, 32, None);
        (trial.receiver.total.calls, trial.receiver.total.received) = (90, 2_880);
        trial.receiver_host.udp.in_datagrams = 90;
        trial.receiver_host.udp.rcvbuf_errors = 10;
        trial.receiver_host.udp.in_errors = 10;
        let found = balance(&trial, &cell).unwrap();
        assert_eq!((found.sent, found.received, found.unaccounted, found.packets), (100, 90, 0, true), "{found:?}");
    }

    #[test]
    fn packets_that_a_device_cuts_are_balanced_as_datagrams() {
        // Nobody joins them again: what arrives is datagrams.
        let (mut trial, cell) = packets(3_200, 32, None);
        (trial.receiver.total.calls, trial.receiver.total.received) = (3_000, 3_000);
        trial.receiver_host.udp.in_datagrams = 3_000;
        (trial.receiver_host.udp.rcvbuf_errors, trial.receiver_host.udp.in_errors) = (200, 200);
        let found = balance(&trial, &cell).unwrap();
        assert_eq!((found.sent, found.received, found.unaccounted), (3_200, 3_000, 0), "{found:?}");
        // Joined again to packets of other sizes.
        (trial.receiver.total.calls, trial.receiver.total.received) = (190, 3_100);
        trial.receiver_host.udp.in_datagrams = 190;
        (trial.receiver_host.udp.rcvbuf_errors, trial.receiver_host.udp.in_errors) = (7, 7);
        let found = balance(&trial, &cell).unwrap();
        assert_eq!(
            (found.received, found.dropped[0].clone(), found.unaccounted),
            (3_100, ("RcvbufErrors".to_owned(), 100), 0),
            "{found:?}"
        );
        // Those lost on the wire did not find the buffer full.
        trial.wire = Some(model::kernel::WireCounters { lost: 60, ..Default::default() });
        (trial.receiver.total.received, trial.sender_host.udp.out_datagrams) = (3_100, 100);
        let found = balance(&trial, &cell).unwrap();
        assert_eq!((found.dropped.last().cloned(), found.unaccounted), (Some(("RcvbufErrors".to_owned(), 40)), 0), "{found:?}");
        trial.wire = None;
        // Joined to fewer packets than left, and nothing lost.
        (trial.receiver.total.calls, trial.receiver.total.received) = (50, 3_200);
        (trial.receiver_host.udp.in_datagrams, trial.receiver_host.udp.rcvbuf_errors, trial.receiver_host.udp.in_errors) = (50, 0, 0);
        let found = balance(&trial, &cell).unwrap();
        assert_eq!((found.sent, found.received, found.unaccounted), (3_200, 3_200, 0), "{found:?}");
        (trial.receiver.total.calls, trial.receiver_host.udp.in_datagrams) = (190, 190);
        (trial.receiver_host.udp.rcvbuf_errors, trial.receiver_host.udp.in_errors) = (7, 7);
        // Seven packets cannot have held all that is missing.
        trial.receiver.total.received = 2_000;
        assert!(balance(&trial, &cell).unwrap().unaccounted > 0);
    }

    #[test]
    fn a_receiver_that_joined_nothing_lost_what_its_counters_say() {
        let mut trial = stream(1_000, 890);
        trial.receiver.total.calls = 890;
        trial.receiver_host.udp.in_datagrams = 890;
        (trial.receiver_host.udp.rcvbuf_errors, trial.receiver_host.udp.in_errors) = (10, 10);
        trial.wire = Some(model::kernel::WireCounters { lost: 100, ..Default::default() });
        let cell = Cell { receive: Some(Receive::Gro), ..cell(Test::UdpStream, 1024) };
        let found = balance(&trial, &cell).unwrap();
        assert_eq!(found.dropped, [("wire".to_owned(), 100), ("RcvbufErrors".to_owned(), 10)]);
        assert_eq!(found.unaccounted, 0);
    }

    #[test]
    fn packets_that_a_plain_receiver_takes_are_balanced_as_datagrams() {
        let (mut trial, cell) = packets(3_200, 32, Some(Receive::Recv));
        trial.receiver.total.calls = 3_200;
        trial.receiver_host.udp.in_datagrams = 3_200;
        let found = balance(&trial, &cell).unwrap();
        assert_eq!((found.sent, found.received, found.unaccounted, found.dropped.len()), (3_200, 3_200, 0, 0), "{found:?}");
        // Ten packets that the sender's queue dropped.
        (trial.sender_host.udp.out_datagrams, trial.sender_host.udp.sndbuf_errors) = (90, 10);
        (trial.receiver.total.received, trial.receiver_host.udp.in_datagrams) = (2_880, 2_880);
        let found = balance(&trial, &cell).unwrap();
        assert_eq!((found.dropped.as_slice(), found.unaccounted), (&[("SndbufErrors".to_owned(), 320)][..], 0), "{found:?}");
    }

    #[test]
    fn a_full_queue_of_the_sender_with_calls_that_succeed() {
        // Measured with a token bucket of 15,000 bytes.
        let mut trial = stream(100_000, 1_442);
        trial.sender_host.udp.out_datagrams = 1_561;
        trial.sender_host.udp.sndbuf_errors = 98_439;
        trial.receiver_host.udp.rcvbuf_errors = 119;
        assert_eq!(dropped(&trial), [("SndbufErrors".to_owned(), 98_439), ("RcvbufErrors".to_owned(), 119)]);
        assert_eq!(of(&trial).unaccounted, 0);
    }

    #[test]
    fn drops_that_only_an_api_counts_are_causes_of_their_own() {
        let mut trial = stream(1_000, 900);
        trial.receiver_host.udp.in_datagrams = 1_000;
        trial.receiver.drops = [("ring_full".to_owned(), 100)].into();
        assert_eq!(dropped(&trial), [("ring_full".to_owned(), 100)]);
        assert_eq!(of(&trial).unaccounted, 0);
    }

    #[test]
    fn one_drop_that_stands_in_four_counters_is_one() {
        let mut trial = stream(1_000, 900);
        trial.sender_host.udp.out_datagrams = 900;
        trial.sender_host.udp.sndbuf_errors = 100;
        trial.sender_host.ip.out_discards = 100;
        trial.sender_host.link.tx_dropped = 100;
        trial.receiver_host.link.rx_dropped = 100;
        assert_eq!(dropped(&trial), [("SndbufErrors".to_owned(), 100)]);
        assert_eq!(of(&trial).unaccounted, 0);
        // Seven more that no counter has are not explained by those 100.
        trial.receiver_host.udp.in_datagrams = 893;
        trial.receiver.total.received = 893;
        assert_eq!(of(&trial).unaccounted, 7);
    }

    #[test]
    fn an_older_kernel_has_it_in_tx_dropped_alone() {
        let mut trial = stream(1_000, 900);
        trial.sender_host.link.tx_dropped = 100;
        assert_eq!(dropped(&trial), [("link tx_dropped".to_owned(), 100)]);
        trial.receiver_host.link.rx_dropped = 100;
        assert_eq!(dropped(&trial), [("link tx_dropped".to_owned(), 100)]);
        assert_eq!(of(&trial).unaccounted, 0);
    }

    #[test]
    fn failed_calls_are_not_lost_datagrams() {
        let mut trial = stream(1_000, 1_000);
        trial.sender_host.udp.sndbuf_errors = 50;
        trial.sender.total.errors = 50;
        assert_eq!((dropped(&trial).len(), of(&trial).unaccounted), (0, 0));
    }

    #[test]
    fn what_a_wire_lost_explains_no_more_than_it_lost() {
        let wire = |lost| Some(model::kernel::WireCounters { lost, ..Default::default() });
        let mut trial = Measured { wire: wire(30), ..stream(1_000, 960) };
        assert_eq!((dropped(&trial), of(&trial).unaccounted), (vec![("wire".to_owned(), 30)], 10));
        trial.wire = wire(70);
        assert_eq!((dropped(&trial), of(&trial).unaccounted), (vec![("wire".to_owned(), 40)], 0));
        // What it lost of the answers does not explain the requests.
        let mut both = Measured { wire: wire(15), ..measured(Test::UdpRr, 64) };
        (both.sender.total.sent, both.receiver.total.received) = (100, 90);
        (both.receiver.total.sent, both.sender.total.received) = (90, 80);
        (both.sender_host.udp.out_datagrams, both.receiver_host.udp.in_datagrams) = (100, 90);
        (both.receiver_host.udp.out_datagrams, both.sender_host.udp.in_datagrams) = (90, 80);
        let balance = balance(&both, &cell(Test::UdpRr, 64)).unwrap();
        assert_eq!((balance.dropped, balance.unaccounted), (vec![("wire".to_owned(), 15)], 5));
    }

    #[test]
    fn fragments_count_as_datagrams_and_need_a_witness() {
        let mut trial = stream(1_000, 700);
        trial.sender_host.ip.frag_oks = 1_000;
        trial.sender_host.ip.frag_creates = 6_000;
        trial.receiver_host.ip.reasm_oks = 900;
        trial.receiver_host.udp.rcvbuf_errors = 200;
        assert_eq!(of(&trial).unaccounted, 100);
        trial.sender_host.link.tx_dropped = 340;
        assert_eq!(dropped(&trial), [("fragments lost".to_owned(), 100), ("RcvbufErrors".to_owned(), 200)]);
        assert_eq!(of(&trial).unaccounted, 0);
        trial.sender_host.link.tx_dropped = 0;
        trial.receiver_host.ip.reasm_fails = 120;
        assert_eq!(of(&trial).unaccounted, 0);
    }

    #[test]
    fn an_error_without_a_counter_of_its_own_stands_in_in_errors() {
        let mut trial = stream(361, 356);
        trial.receiver_host.udp.in_errors = 5;
        assert_eq!(dropped(&trial), [("other InErrors".to_owned(), 5)]);
        trial.receiver_host.udp.mem_errors = 5;
        assert_eq!(dropped(&trial), [("MemErrors".to_owned(), 5)]);
        assert_eq!(of(&trial).unaccounted, 0);
    }

    #[test]
    fn requests_and_answers_are_balanced_apart() {
        let mut trial = measured(Test::UdpRr, 1);
        let rr = cell(Test::UdpRr, 1);
        // 1,000 requests: 3 lost on the way, 2 answers lost.
        (trial.sender.total.sent, trial.sender.total.received) = (1_000, 995);
        (trial.receiver.total.received, trial.receiver.total.sent) = (997, 997);
        trial.sender_host.udp.out_datagrams = 1_000;
        trial.receiver_host.udp.in_datagrams = 997;
        trial.receiver_host.udp.rcvbuf_errors = 3;
        trial.receiver_host.udp.out_datagrams = 997;
        trial.sender_host.udp.in_datagrams = 995;
        trial.sender_host.udp.rcvbuf_errors = 2;
        let found = balance(&trial, &rr).unwrap();
        assert_eq!((found.sent, found.received, found.unaccounted), (1_997, 1_992, 0));
        assert_eq!(found.dropped, [("RcvbufErrors".to_owned(), 5)]);
        // The same on one host, whose counters hold both ways.
        trial.apart = true;
        let apart = balance(&trial, &cell(Test::UdpRr, 1024));
        trial.isolated = false;
        assert_eq!(balance(&trial, &cell(Test::UdpRr, 1024)), apart);
        trial.apart = false;
        trial.sender_host.udp.out_datagrams = 1_997;
        trial.sender_host.udp.in_datagrams = 1_992;
        trial.sender_host.udp.rcvbuf_errors = 5;
        trial.receiver_host = trial.sender_host;
        assert_eq!(balance(&trial, &rr), Some(found));
    }

    /// The answering end may fail to hand an answer over: it took one in more
    /// than it sent.
    #[test]
    fn an_answer_that_was_never_sent_is_not_lost() {
        let mut trial = measured(Test::UdpRr, 1);
        (trial.sender.total.sent, trial.sender.total.received) = (1_000, 999);
        (trial.receiver.total.received, trial.receiver.total.sent) = (1_000, 999);
        (trial.sender_host.udp.out_datagrams, trial.receiver_host.udp.in_datagrams) = (1_000, 1_000);
        (trial.receiver_host.udp.out_datagrams, trial.sender_host.udp.in_datagrams) = (999, 999);
        let found = balance(&trial, &cell(Test::UdpRr, 1)).unwrap();
        assert_eq!((found.sent, found.received, found.unaccounted), (1_999, 1_999, 0));
    }

    #[test]
    fn tcp_has_no_datagrams() {
        assert_eq!(balance(&measured(Test::TcpStream, 1), &cell(Test::TcpStream, 1)), None);
    }

    proptest! {
        #[test]
        fn what_is_left_over_is_exactly_that(counters in any::<[u16; 16]>(), fragments in any::<bool>()) {
            let mut trial = stream(counters[0].into(), counters[1].into());
            let at = |i: usize| u64::from(counters[i]);
            (trial.sender_host.udp.out_datagrams, trial.receiver_host.udp.in_datagrams) = (at(2), at(3));
            (trial.sender_host.udp.sndbuf_errors, trial.receiver_host.udp.rcvbuf_errors) = (at(4), at(5));
            (trial.sender_host.link.tx_dropped, trial.receiver_host.link.rx_dropped) = (at(6), at(7));
            (trial.sender_host.ip.out_discards, trial.receiver_host.ip.in_discards) = (at(8), at(9));
            (trial.receiver_host.udp.mem_errors, trial.receiver_host.udp.no_ports) = (at(10), at(11));
            if fragments {
                (trial.sender_host.ip.frag_oks, trial.receiver_host.ip.reasm_oks, trial.receiver_host.ip.reasm_fails) = (at(12), at(13), at(14));
            }
            let found = of(&trial);
            let sum: u64 = found.dropped.iter().map(|(_, count)| count).sum();
            prop_assert_eq!(found.unaccounted, found.sent as i64 - found.received as i64 - sum as i64);
            prop_assert_eq!(found.dropped.iter().filter(|(_, count)| *count == 0).count(), 0);
        }
    }
}
