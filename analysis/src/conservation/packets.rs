//! Packets of many datagrams (`UDP_SEGMENT`, `UDP_GRO`): the kernel counts them, and not
//! what is in them.

use model::Cell;
use model::end::Counts;
use model::kernel::{HostCounters, UdpCounters};
use model::trial::Measured;

use super::{Ledger, arrived, hosts, sum};

/// Counts of a stream's ends over the whole trial, forward and back.
pub(super) struct Ends {
    pub(super) sent: [Counts; 2],
    pub(super) received: [Counts; 2],
}

impl Ends {
    /// Adds the balance of what the kernel counts: of packets where both ends have the
    /// same ones and no more arrive than left, of datagrams otherwise.
    pub(super) fn balance(&self, measured: &Measured, cell: &Cell, ledger: &mut Ledger) {
        let packs = [cell.api.packs(), cell.receive().packs()];
        let mut hosts = hosts(measured, cell);
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
                sent.iter().for_each(|sent| host.udp.unpack_sent(sent));
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

#[cfg(test)]
mod tests {
    use super::super::balance;
    use super::super::tests::stream;
    use crate::testing::cell;
    use model::trial::Measured;
    use model::{Api, Cell, Receive, Test};

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
}
