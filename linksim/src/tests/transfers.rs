//! The model of a transfer against theory and against 1988.

use model::Nanos;

use super::emulator::wire;
use crate::transfer::{AckPolicy, Load, SenderBuffer, Transfer, run};

const PACKET: u32 = 1_460;
const MIB: u64 = 1 << 20;

fn transfer(text: &str, speech: AckPolicy, sender: u32, receiver: u32) -> Transfer {
    let load = Load { sender_buffer: sender * PACKET, receiver_buffer: receiver * PACKET, resumes_at: None, bytes: MIB };
    run(wire(text), speech, load, 1).unwrap()
}

/// KiB a second.
fn rate(text: &str, packets: u32) -> f64 {
    transfer(text, AckPolicy::SEGMENT_FOR_SEGMENT, packets, packets).bytes_per_s / 1024.0
}

#[track_caller]
fn close(got: f64, expected: f64, share: f64) {
    assert!((got / expected - 1.0).abs() <= share, "{got} is not {expected}");
}

#[test]
fn a_wide_window_fills_the_wire() {
    close(rate("10M", 12), 1_158.8, 0.002);
    close(rate("10M medium=shared", 12), 1_098.8, 0.002);
    close(rate("100M medium=shared", 12), 10_988.0, 0.002);
}

/// Once a window covers the time that frames spend with the hosts, the wire is
/// never idle, whatever they do.
#[test]
fn slow_hosts_fill_the_wire_too() {
    for packets in [4, 7, 17] {
        close(rate("10M medium=shared host=delay:0.63ms", packets), 1_098.8, 0.01);
    }
}

#[test]
fn one_packet_at_a_time_takes_its_round_trip() {
    // 1,526 + 72 byte times on the wire, and four times a host.
    let round_trip = (1_526 + 72) as f64 * 0.8e-6 + 4.0 * 0.63e-3;
    close(rate("10M medium=half host=delay:0.63ms", 1), 1_460.0 / round_trip / 1024.0, 0.001);
    close(rate("10M medium=half host=serial:0.63ms", 1), 1_460.0 / round_trip / 1024.0, 0.001);
}

#[test]
fn the_smaller_buffer_decides() {
    let rate = |sender, receiver| transfer("10M delay=5ms", AckPolicy::SEGMENT_FOR_SEGMENT, sender, receiver);
    for (sender, receiver) in [(1, 17), (3, 5), (8, 4), (17, 1)] {
        let (both, least) = (rate(sender, receiver), rate(sender.min(receiver), sender.min(receiver)));
        assert_eq!(both, least);
        assert_eq!(both.most_in_flight, u64::from(sender.min(receiver)));
    }
}

#[test]
fn every_second_acknowledgement_is_saved_by_patience() {
    let speech = AckPolicy { per_ack: 2, ..AckPolicy::SEGMENT_FOR_SEGMENT };
    let wide = transfer("10M medium=shared", speech, 12, 12);
    close(wide.bytes_per_s / 1024.0, 1_128.0, 0.002);
    assert_eq!(wide.segments, 2 * wide.acknowledgements + wide.segments % 2);
    // A window of one segment waits for the patience of each acknowledgement.
    let narrow = transfer("10M medium=shared", speech, 1, 1);
    let round_trip = Nanos::from_millis(40).as_secs_f64() + (1_526 + 72) as f64 * 0.8e-6;
    close(narrow.bytes_per_s, 1_460.0 / round_trip, 0.002);
}

#[test]
fn linux_halves_segments_in_a_window_of_one() {
    let speech = AckPolicy { halves: true, ..AckPolicy::SEGMENT_FOR_SEGMENT };
    let one = transfer("10M", speech, 1, 1);
    assert_eq!((one.segments, one.most_in_flight), (MIB.div_ceil(730), 2));
    assert_eq!(transfer("10M", speech, 2, 2).segments, MIB.div_ceil(1_460));
}

/// The mean of several runs: collisions are resolved by chance.
fn mean(text: &str, packets: u32) -> f64 {
    let load = Load { sender_buffer: packets * PACKET, receiver_buffer: packets * PACKET, resumes_at: None, bytes: MIB };
    let runs = 20;
    (0..runs).map(|seed| run(wire(text), AckPolicy::SEGMENT_FOR_SEGMENT, load, seed).unwrap().bytes_per_s).sum::<f64>()
        / runs as f64
        / 1024.0
}

/// 4BSD between two Sun-3/60: the ends of the published curve, with 0.63 ms of
/// host time for a frame. Its units are 1,000 bytes (see the wire rates).
#[test]
fn host_time_gives_the_published_ends_of_the_curve() {
    let table = include_str!("../../../reference/jacobson1988/tcp_socket_buffers.csv");
    let published: Vec<f64> = table.lines().skip(1).map(|row| row.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(published.len(), 12);
    for text in ["10M medium=half host=delay:0.63ms", "10M medium=shared host=delay:0.63ms"] {
        let rates: Vec<f64> = (1..=12).map(|packets| mean(text, packets) * 1.024).collect();
        eprintln!("{text}: {rates:.0?}");
        close(rates[0], published[0], 0.03);
        let rise = rates[11] / rates[0];
        assert!((2.3..=3.0).contains(&rise), "{text}: {rise}; published {}", published[11] / published[0]);
        // The original comes to within 12 % of its plateau more slowly than these.
        close(rates[11], published[11], 0.13);
    }
}

#[test]
fn without_collisions_more_buffer_is_never_less_goodput() {
    for order in ["delay", "serial"] {
        let rates: Vec<f64> = (1..=17).map(|packets| rate(&format!("10M medium=shared host={order}:0.63ms"), packets)).collect();
        assert!(rates.windows(2).all(|pair| pair[1] >= pair[0] * 0.999), "{order}: {rates:?}");
    }
}

#[test]
fn collisions_cost_time() {
    let half = transfer("10M medium=half", AckPolicy::SEGMENT_FOR_SEGMENT, 12, 12);
    assert!(half.collisions > 0 && transfer("10M medium=shared", AckPolicy::SEGMENT_FOR_SEGMENT, 12, 12).collisions == 0);
    let [shared, half, slow] = ["10M medium=shared", "10M medium=half", "10M medium=half recovery-a=0.5ms"].map(|text| mean(text, 12));
    eprintln!("shared {shared:.0}, half {half:.0}, slow chip {slow:.0} KiB/s");
    assert!(half < shared && half > 0.75 * shared && slow < half, "{shared} {half} {slow}");
}

#[test]
fn what_is_lost_is_said() {
    let load = Load { sender_buffer: PACKET, receiver_buffer: PACKET, resumes_at: None, bytes: MIB };
    assert_eq!(run(wire("10M loss=100%"), AckPolicy::SEGMENT_FOR_SEGMENT, load, 1), None);
    assert_eq!(run(wire("10M"), AckPolicy::SEGMENT_FOR_SEGMENT, Load { sender_buffer: 0, ..load }, 1), None);
}

#[test]
fn linux_makes_so_many_segments_of_a_send_buffer() {
    // The least that the kernel gives, and what was seen in flight of others.
    for (sndbuf, segments, resumes_at) in [(4_608, 3, 1), (6_600, 3, 1), (6_920, 4, 2), (9_200, 5, 2), (10_600, 5, 3), (19_800, 9, 5)] {
        assert_eq!(SenderBuffer::from_sockopt(sndbuf, PACKET), SenderBuffer { segments, resumes_at }, "{sndbuf}");
    }
}

/// A sender that is woken only when a third of its buffer is free waits for more
/// acknowledgements than one that goes on at once, and a larger buffer may be
/// slower than a smaller one.
#[test]
fn a_writer_that_is_woken_late_leaves_the_wire_idle() {
    let speech = AckPolicy { per_ack: 2, ..AckPolicy::SEGMENT_FOR_SEGMENT };
    let rate = |sndbuf: u32| {
        let buffer = SenderBuffer::from_sockopt(sndbuf, PACKET);
        let load = Load {
            sender_buffer: buffer.segments * PACKET,
            receiver_buffer: 64 * PACKET,
            resumes_at: Some(buffer.resumes_at * PACKET),
            bytes: MIB,
        };
        run(wire("10M delay=4ms"), speech, load, 1).unwrap().bytes_per_s / 1_000.0
    };
    // Measured on 6.18 over the same wire, in KB/s of 1,000 bytes.
    for (sndbuf, measured) in [(6_400, 308.0), (8_400, 548.0), (9_400, 447.0), (10_600, 618.0), (13_000, 537.0), (15_000, 620.0)] {
        eprintln!("{sndbuf}: {:.0} of {measured}", rate(sndbuf));
    }
    assert!(rate(9_400) < rate(8_400) && rate(10_600) > rate(9_400));
}
