//! Trials as kernels have counted them, and what is left over.

use super::{Balance, balance};
use crate::testing::{cell, measured};
use model::Test;
use model::trial::Measured;
use proptest::prelude::{any, prop_assert_eq, proptest};

/// A stream of `sent` datagrams of which `received` were taken out.
pub(super) fn stream(sent: u64, received: u64) -> Measured {
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

#[test]
fn what_no_network_carries_is_compared_with_no_counter_of_one() {
    let mut trial = stream(1_000, 1_000);
    (trial.sender_host.udp.out_datagrams, trial.receiver_host.udp.in_datagrams) = (0, 0);
    let over = |api: model::Api| model::Cell { api, ..cell(Test::UdpStream, 1024) };
    for api in [model::Api::UnixDgram, model::Api::UnixSeqpacket, model::Api::Shm] {
        let found = balance(&trial, &over(api)).unwrap();
        assert_eq!((found.sent, found.received, found.unaccounted), (1_000, 1_000, 0), "{api}: {found:?}");
    }
    trial.receiver.total.received = 990;
    assert_eq!(balance(&trial, &over(model::Api::UnixDgram)).unwrap().unaccounted, 10);
    let stream = model::Cell { api: model::Api::Pipe, ..cell(Test::TcpStream, 1024) };
    assert_eq!(balance(&trial, &stream), None);
}

#[test]
fn what_passes_no_udp_is_not_looked_for_in_its_counters() {
    let mut trial = stream(1_000, 960);
    trial.sender_host.udp.out_datagrams = 0;
    (trial.receiver_host.udp.rcvbuf_errors, trial.receiver_host.udp.in_errors) = (30, 30);
    trial.receiver_host.link.rx_dropped = 10;
    trial.receiver_host.udp.in_datagrams = 960;
    let own_heads = model::Cell { api: model::Api::Packet, ..cell(Test::UdpStream, 1024) };
    let found = balance(&trial, &own_heads).unwrap();
    assert_eq!((found.sent, found.unaccounted), (1_000, 0), "{found:?}");
    // Below the receiver's UDP, whose socket threw away all of them.
    trial.sender_host.udp.out_datagrams = 1_000;
    trial.receiver_host.udp = model::kernel::UdpCounters { in_errors: 990, ..Default::default() };
    trial.receiver.drops.insert("packet ring tp_drops".to_owned(), 30);
    let below = model::Cell { receive: Some(model::Receive::Packet), ..cell(Test::UdpStream, 1024) };
    let found = balance(&trial, &below).unwrap();
    let dropped = [("link rx_dropped".to_owned(), 10), ("packet ring tp_drops".to_owned(), 30)];
    assert_eq!((found.dropped.as_slice(), found.unaccounted), (&dropped[..], 0), "{found:?}");
    trial.receiver.total.received -= 5;
    assert_eq!(balance(&trial, &below).unwrap().unaccounted, 5);
}
