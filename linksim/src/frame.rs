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
/// The IP packet that an Ethernet carries by default.
pub const USUAL_MTU: u32 = 1500;

const TCP_HEADER: u32 = 20;
/// Kind, length and two times (RFC 7323), padded to whole words.
const TIMESTAMPS: u32 = 12;

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
    /// Their number.
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

    pub(crate) const fn ip_header(self) -> u32 {
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
}
