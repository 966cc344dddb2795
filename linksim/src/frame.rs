//! Costs of messages on an Ethernet, in byte times: the time that one byte
//! takes, so that the figures hold for any rate.
//!
//! Sources: IEEE 802.3 (preamble 7 + 1, header 14, check 4, gap 12, least frame
//! 64); RFC 791, 8200 (headers, fragments); RFC 9293, 7323 (segments,
//! timestamps); RFC 768.

use model::Family;

/// Preamble and start delimiter before a frame.
pub const PREAMBLE: u32 = 8;
/// The silence after a frame, 96 bit times.
pub const GAP: u32 = 12;
/// Two addresses and a type.
pub const HEADER: u32 = 14;
/// The frame check sequence.
pub const CHECK: u32 = 4;
/// The least frame, from its first address to its check. Shorter ones are padded.
pub const LEAST_FRAME: u32 = 64;
/// Cost of a frame beyond the bytes that a device counts of it.
pub const OVERHEAD: u32 = PREAMBLE + GAP + CHECK;
/// Cost of the least frame.
pub const LEAST_COST: u32 = PREAMBLE + LEAST_FRAME + GAP;
/// The IP packet that an Ethernet carries unless told otherwise.
pub const USUAL_MTU: u32 = 1500;

/// Cost of an acknowledgement in 1988. The published limit, 1,104 KB/s of
/// 1,460-byte segments on 10 Mb/s, leaves 1,614 byte times for a segment and
/// its acknowledgement, 1,538 and 76: the least frame and the gap, without a
/// preamble. This is inferred from the published figures, which give no sum.
pub const ACKNOWLEDGEMENT_1988: u32 = LEAST_FRAME + GAP;

const TCP_HEADER: u32 = 20;
const UDP_HEADER: u32 = 8;
/// Kind, length and two times (RFC 7323), padded to whole words.
const TIMESTAMPS: u32 = 12;
/// The fragment header of IPv6.
const FRAGMENT_HEADER: u32 = 8;
/// Fragments begin at multiples of this.
const FRAGMENT_UNIT: u32 = 8;

/// Byte times of a frame of so many bytes, as a device counts them: header and
/// packet, without check, preamble and gap.
pub const fn cost(counted: u32) -> u32 {
    let cost = counted.saturating_add(OVERHEAD);
    if cost < LEAST_COST { LEAST_COST } else { cost }
}

/// Byte times from a frame's first bit to its last: its cost without the gap.
pub const fn occupancy(counted: u32) -> u32 {
    cost(counted) - GAP
}

/// Frames on their way in one direction, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frames {
    /// How many.
    pub count: u64,
    /// Their bytes as a device counts them.
    pub bytes: u64,
    /// Byte times on the wire.
    pub cost: u64,
}

impl Frames {
    /// Nothing.
    pub const NONE: Self = Self { count: 0, bytes: 0, cost: 0 };

    /// One frame that carries an IP packet of so many bytes.
    pub const fn of_packet(packet: u32) -> Self {
        let counted = HEADER.saturating_add(packet);
        Self { count: 1, bytes: counted as u64, cost: cost(counted) as u64 }
    }

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

/// The way in which hosts cut messages into packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The version of IP.
    pub family: Family,
    /// Largest IP packet; at least 68 with IPv4 and 1,280 with IPv6.
    pub mtu: u32,
    /// True where TCP puts the time into every segment.
    pub timestamps: bool,
}

impl Cut {
    /// IPv4 on an Ethernet, without TCP's timestamps: segments of 1,460 bytes.
    pub const PLAIN: Self = Self { family: Family::V4, mtu: USUAL_MTU, timestamps: false };

    const fn ip_header(self) -> u32 {
        match self.family {
            Family::V4 => 20,
            Family::V6 => 40,
        }
    }

    const fn segment_headers(self) -> u32 {
        self.ip_header() + TCP_HEADER + if self.timestamps { TIMESTAMPS } else { 0 }
    }

    /// The most payload of a TCP segment.
    pub const fn segment_payload(self) -> u32 {
        self.mtu.saturating_sub(self.segment_headers())
    }

    /// The frame of a TCP segment with so much payload.
    pub const fn segment(self, payload: u32) -> Frames {
        Frames::of_packet(self.segment_headers().saturating_add(payload))
    }

    /// The frame of an acknowledgement without payload.
    pub const fn acknowledgement(self) -> Frames {
        self.segment(0)
    }

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
