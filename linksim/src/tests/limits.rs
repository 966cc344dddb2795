//! Frames and limits against published and measured figures.

use model::condition::TrafficTotals;
use model::kernel::LinkCounters;
use model::{BitRate, Bytes, Family, Nanos, Protocol};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use crate::frame::{Cut, Frames, GAP, LEAST_FRAME, cost, occupancy};
use crate::limit::{LinkTotals, Medium, counted, used_by_pairs};

const TEN: BitRate = BitRate::new(10_000_000);

const UDP_HEADER: u32 = 8;

/// The fragment header of IPv6.
const FRAGMENT_HEADER: u32 = 8;

/// Fragments begin at multiples of this.
const FRAGMENT_UNIT: u32 = 8;

/// Cost of an acknowledgement in 1988. The published limit, 1,104 KB/s of
/// 1,460-byte segments on 10 Mb/s, leaves 1,614 byte times for a segment and
/// its acknowledgement, 1,538 and 76: the least frame and the gap, without a
/// preamble. This is inferred from the published figures, which give no sum.
const ACKNOWLEDGEMENT_1988: u32 = LEAST_FRAME + GAP;

/// The arithmetic of whole messages, with which the counts of devices are compared.
impl Frames {
    /// So many of the same.
    pub const fn times(self, count: u64) -> Self {
        Self { count: self.count.saturating_mul(count), bytes: self.bytes.saturating_mul(count), cost: self.cost.saturating_mul(count) }
    }

    /// These and others.
    pub const fn and(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            bytes: self.bytes.saturating_add(other.bytes),
            cost: self.cost.saturating_add(other.cost),
        }
    }
}

impl Cut {
    /// The segments of so many bytes of a stream, as large as they may be.
    pub const fn stream(self, bytes: u64) -> Frames {
        let most = self.segment_payload() as u64;
        if most == 0 {
            return Frames::NONE;
        }
        let whole = self.segment(self.segment_payload()).times(bytes / most);
        match bytes % most {
            0 => whole,
            // Less than a segment, which is less than 64 KiB.
            rest => whole.and(self.segment(rest as u32)),
        }
    }

    /// The frames of a datagram with so much payload: one, or fragments.
    pub const fn datagram(self, payload: u32) -> Frames {
        let packet = self.ip_header().saturating_add(UDP_HEADER).saturating_add(payload);
        if packet <= self.mtu {
            return Frames::of_packet(packet);
        }
        let headers = match self.family {
            Family::V4 => self.ip_header(),
            Family::V6 => self.ip_header() + FRAGMENT_HEADER,
        };
        let each = self.mtu.saturating_sub(headers) / FRAGMENT_UNIT * FRAGMENT_UNIT;
        if each == 0 {
            return Frames::NONE;
        }
        let data = UDP_HEADER.saturating_add(payload);
        // The last fragment may be longer than the others by less than a unit:
        // it has no follower that would have to begin at a multiple.
        let last = self.mtu.saturating_sub(headers);
        let full = data.saturating_sub(last).div_ceil(each);
        Frames::of_packet(headers + each).times(full as u64).and(Frames::of_packet(headers + (data - full * each)))
    }
}

impl LinkTotals {
    /// Messages of `size` bytes of payload as they ought to be carried: segments
    /// as large as they may be, with an acknowledgement for every `per_ack`, or
    /// datagrams.
    pub fn expected(cut: Cut, protocol: Protocol, size: u32, per_ack: u32) -> Self {
        match protocol {
            Protocol::Udp => Self { payload: u64::from(size), forward: cut.datagram(size), back: Frames::NONE },
            Protocol::Tcp => {
                let forward = cut.segment(size.min(cut.segment_payload())).times(u64::from(per_ack.max(1)));
                let payload = u64::from(size.min(cut.segment_payload())) * u64::from(per_ack.max(1));
                Self { payload, forward, back: cut.acknowledgement() }
            }
        }
    }
}

fn kib(bytes_per_s: f64) -> f64 {
    bytes_per_s / 1024.0
}

fn stream(per_ack: u32, medium: Medium) -> f64 {
    kib(LinkTotals::expected(Cut::PLAIN, Protocol::Tcp, 1_460, per_ack).limit(medium, TEN).unwrap())
}

#[test]
fn a_full_segment_costs_1538_byte_times_and_an_acknowledgement_84() {
    assert_eq!(Cut::PLAIN.segment(1_460), Frames { count: 1, bytes: 1_514, cost: 1_538 });
    assert_eq!(Cut::PLAIN.acknowledgement(), Frames { count: 1, bytes: 54, cost: 84 });
    assert_eq!((cost(60), cost(61), occupancy(1_514)), (84, 85, 1_526));
}

#[test]
fn the_limit_of_1988_is_1104() {
    let carried = LinkTotals {
        back: Frames { count: 1, bytes: 54, cost: u64::from(ACKNOWLEDGEMENT_1988) },
        ..LinkTotals::expected(Cut::PLAIN, Protocol::Tcp, 1_460, 1)
    };
    let limit = kib(carried.limit(Medium::Shared, TEN).unwrap());
    assert_eq!(limit.floor(), 1_104.0, "{limit}");
}

/// The published table has the wire rate next to that of the tasks. With the 1,614
/// byte times of a segment and its acknowledgement it follows to the last digit.
#[test]
fn the_published_wire_rates_follow_from_the_task_rates() {
    let table = include_str!("../../../reference/jacobson1988/tcp_socket_buffers.csv");
    let mut rows = 0;
    for row in table.lines().skip(1) {
        let fields: Vec<f64> = row.split(',').skip(1).map(|field| field.parse().unwrap()).collect();
        let [_, kilobytes, megabits] = fields[..] else { panic!("{row}") };
        let carried = LinkTotals {
            back: Frames { count: 1, bytes: 54, cost: u64::from(ACKNOWLEDGEMENT_1988) },
            ..LinkTotals::expected(Cut::PLAIN, Protocol::Tcp, 1_460, 1)
        };
        let wire = carried.wire_rate(Medium::Shared, kilobytes * 1_000.0).unwrap() / 1e6;
        assert!((wire - megabits).abs() < 0.06, "{row}: {wire}");
        rows += 1;
    }
    assert_eq!(rows, 12);
}

#[test]
fn limits_are_those_that_were_found_by_experiment() {
    let close = |got: f64, expected: f64| assert!((got - expected).abs() < 0.05, "{got} is not {expected}");
    close(stream(1, Medium::FullDuplex), 1_158.8);
    close(stream(1, Medium::Shared), 1_098.8);
    close(stream(2, Medium::Shared), 1_128.0);
    // The least datagrams: 14,880 a second at 10 Mb/s.
    let least = LinkTotals::expected(Cut::PLAIN, Protocol::Udp, 1, 1).limit(Medium::FullDuplex, TEN).unwrap();
    assert_eq!(least.floor(), 14_880.0);
}

#[test]
fn large_datagrams_are_cut_at_multiples_of_eight() {
    assert_eq!(Cut::PLAIN.datagram(1_472).count, 1);
    // 1,480 + 1: the second fragment has a byte of payload and is padded.
    assert_eq!(Cut::PLAIN.datagram(1_473), Frames { count: 2, bytes: 1_514 + 35, cost: 1_538 + 84 });
    // 8,200 bytes with the UDP header: five full fragments of 1,480 and 800.
    assert_eq!(Cut::PLAIN.datagram(8_192), Frames { count: 6, bytes: 5 * 1_514 + 834, cost: 5 * 1_538 + 858 });
    let v6 = Cut { family: Family::V6, ..Cut::PLAIN };
    assert_eq!(v6.datagram(1_452).count, 1);
    // 1,448 in each fragment but the last.
    assert_eq!(v6.datagram(1_453), Frames { count: 2, bytes: 62 + 1_448 + 62 + 13, cost: 1_534 + 99 });
    assert_eq!((v6.segment_payload(), Cut { timestamps: true, ..Cut::PLAIN }.segment_payload()), (1_440, 1_448));
}

#[test]
fn a_link_that_cannot_carry_a_byte_has_no_frames() {
    let narrow = Cut { mtu: 20, ..Cut::PLAIN };
    assert_eq!((narrow.stream(100), narrow.datagram(100)), (Frames::NONE, Frames::NONE));
    assert_eq!(LinkTotals { payload: 0, forward: Frames::NONE, back: Frames::NONE }.limit(Medium::Shared, TEN), None);
}

proptest! {
    #[test]
    fn what_devices_count_costs_what_was_sent(size in 1_u32..65_508, count in 1_u64..1_000) {
        let frames = Cut::PLAIN.datagram(size).times(count);
        let found = counted(frames.count, frames.bytes);
        // A short last fragment among full ones: 6 bytes of padding at most are not seen.
        prop_assert!(found.cost <= frames.cost && frames.cost - found.cost <= 26 * count);
        if frames.count == count {
            prop_assert_eq!(found, frames);
        }
    }

    #[test]
    fn fragments_carry_all_bytes_once(size in 1_u32..65_508, mtu in 576_u32..9_000) {
        let cut = Cut { mtu, ..Cut::PLAIN };
        let frames = cut.datagram(size);
        prop_assert_eq!(frames.bytes - frames.count * 34, u64::from(size) + 8);
        prop_assert_eq!(cut.stream(u64::from(size)).bytes - cut.stream(u64::from(size)).count * 54, u64::from(size));
    }

    #[test]
    fn a_limit_is_never_above_the_rate(payload in 1_u64..1 << 40, forward in 1_u64..1 << 20, back in 0_u64..1 << 20, shared: bool) {
        let medium = if shared { Medium::Shared } else { Medium::FullDuplex };
        let device = |frames: u64, bytes: u64| LinkCounters { tx_packets: frames, tx_bytes: bytes, ..LinkCounters::default() };
        let carried = LinkTotals::from_counters(payload, &device(forward, payload + forward * 54), &device(back, back * 54));
        let limit = carried.limit(medium, TEN).unwrap();
        prop_assert!(limit < 1_250_000.0);
        let wire = carried.wire_rate(medium, limit).unwrap();
        prop_assert!((wire / 1e7 - 1.0).abs() < 1e-9);
    }
}

#[test]
fn what_pairs_use_is_their_frames_with_preamble_and_gap() {
    let pair = TrafficTotals {
        bytes: Bytes::new(91_500),
        elapsed: Nanos::from_millis(1_000),
        // Segments of 1,460 bytes and an acknowledgement, of 54 bytes as counted, for each second one.
        frames: [64, 32],
        frame_bytes: [64 * 1_514, 32 * 54],
    };
    let share = |link: &str, pairs: &[TrafficTotals]| used_by_pairs(&link.parse().unwrap(), pairs);
    let forward = 64.0 * 1_538.0 * 8.0 / 1e7;
    let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
    assert!(close(share("switch 10M", &[pair]), forward));
    assert!(close(share("shared-wire 10M", &[pair, pair]), 2.0 * (forward + 32.0 * 84.0 * 8.0 / 1e7)));
    assert_eq!((share("switch", &[pair]), share("switch 10M", &[TrafficTotals::default()])), (None, Some(0.0)));
}
