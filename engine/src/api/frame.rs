//! Frames that a program makes itself: Ethernet, IP and UDP before each message.

use std::net::SocketAddr;
use std::ops::DerefMut;

use super::Buffer;
use super::route::Mac;

/// Bytes of the headers of Ethernet and UDP, and of IP by its version.
pub const ETHERNET: usize = 14;
const UDP: usize = 8;
const IPV4: usize = 20;
const IPV6: usize = 40;
/// Numbers of the protocols.
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
const IS_UDP: u8 = 17;
const TIME_TO_LIVE: u8 = 64;
const DO_NOT_CUT: u16 = 0x4000;

/// Bytes of IP and UDP before a message.
pub const fn heads(is_v6: bool) -> usize {
    UDP + if is_v6 { IPV6 } else { IPV4 }
}

/// A message with the headers before it.
///
/// The checksum of UDP is left out where the protocol lets it be (IPv4), as the usual calls
/// leave it to a device; IPv6 asks for it.
#[derive(Debug)]
pub struct Frame<M = Buffer> {
    /// Room for the head of Ethernet, the packet behind it.
    bytes: M,
    heads: usize,
    is_v6: bool,
    /// Length of the message that the headers tell of.
    length: usize,
    /// True where the message may have changed since its checksum was taken.
    changed: bool,
}

impl Frame {
    /// The frame of messages between two ends, the longest of which is `message`.
    pub fn new(ends: [SocketAddr; 2], macs: [Mac; 2], message: &[u8]) -> Self {
        let length = ETHERNET + heads(ends[1].is_ipv6()) + message.len();
        Self::over(Buffer::ones(length), ends, macs, message)
    }
}

impl<M: DerefMut<Target = [u8]>> Frame<M> {
    /// The same in memory that is as long as the headers and the message.
    pub fn over(mut bytes: M, ends: [SocketAddr; 2], macs: [Mac; 2], message: &[u8]) -> Self {
        let is_v6 = ends[1].is_ipv6();
        let heads = ETHERNET + heads(is_v6);
        bytes[heads..].copy_from_slice(message);
        bytes[..6].copy_from_slice(&macs[1]);
        bytes[6..12].copy_from_slice(&macs[0]);
        bytes[12..14].copy_from_slice(&if is_v6 { TYPE_IPV6 } else { TYPE_IPV4 }.to_be_bytes());
        let mut frame = Self { bytes, heads, is_v6, length: usize::MAX, changed: true };
        match ends {
            [SocketAddr::V4(from), SocketAddr::V4(to)] => {
                let ip = &mut frame.bytes[ETHERNET..ETHERNET + IPV4];
                ip.fill(0);
                ip[0] = 0x45;
                ip[6..8].copy_from_slice(&DO_NOT_CUT.to_be_bytes());
                (ip[8], ip[9]) = (TIME_TO_LIVE, IS_UDP);
                ip[12..16].copy_from_slice(&from.ip().octets());
                ip[16..20].copy_from_slice(&to.ip().octets());
            }
            [from, to] => {
                let ip = &mut frame.bytes[ETHERNET..ETHERNET + IPV6];
                ip.fill(0);
                ip[0] = 0x60;
                (ip[6], ip[7]) = (IS_UDP, TIME_TO_LIVE);
                for (place, end) in [(8, from), (24, to)] {
                    if let SocketAddr::V6(end) = end {
                        ip[place..place + 16].copy_from_slice(&end.ip().octets());
                    }
                }
            }
        }
        let udp = &mut frame.bytes[heads - UDP..heads];
        udp[..2].copy_from_slice(&ends[0].port().to_be_bytes());
        udp[2..4].copy_from_slice(&ends[1].port().to_be_bytes());
        frame.set_length(message.len());
        frame
    }

    /// The message, to be marked.
    pub fn message_mut(&mut self) -> &mut [u8] {
        self.changed = true;
        &mut self.bytes[self.heads..]
    }

    /// Bytes of the message in the frame that was made last.
    #[inline(always)]
    pub const fn message_length(&self) -> usize {
        self.length
    }

    /// The frame of the message's first `length` bytes, as far as it has them.
    #[inline(always)]
    pub fn of_length(&mut self, length: usize) -> &[u8] {
        let length = length.min(self.bytes.len() - self.heads);
        if length != self.length || self.changed {
            self.set_length(length);
        }
        &self.bytes[..self.heads + length]
    }

    /// Writes the lengths and what follows from them.
    fn set_length(&mut self, length: usize) {
        let udp_length = (UDP + length) as u16;
        let (ip, rest) = self.bytes[ETHERNET..].split_at_mut(self.heads - UDP - ETHERNET);
        rest[4..6].copy_from_slice(&udp_length.to_be_bytes());
        rest[6..8].fill(0);
        if self.is_v6 {
            ip[4..6].copy_from_slice(&udp_length.to_be_bytes());
            // The addresses, the length and the protocol stand for a head before UDP's.
            let before = sum(&ip[8..40]) + u64::from(udp_length) + u64::from(IS_UDP);
            let checksum = folded(before + sum(&rest[..UDP + length]));
            // A zero would say that there is none.
            rest[6..8].copy_from_slice(&if checksum == 0 { u16::MAX } else { checksum }.to_be_bytes());
        } else {
            ip[2..4].copy_from_slice(&(IPV4 as u16 + udp_length).to_be_bytes());
            ip[10..12].fill(0);
            let checksum = folded(sum(ip));
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        (self.length, self.changed) = (length, false);
    }
}

/// The sum of the 16-bit words of some bytes; the last of an odd number is a word's first.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>() + last
}

/// The checksum of the Internet (RFC 1071) of a sum of words.
fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The message in a frame of Ethernet, or in a packet of IP where `ethernet` is 0: what
/// UDP carries between two ends; `None` of anything else.
pub fn message_of(frame: &[u8], ethernet: usize, ends: &[SocketAddr; 2]) -> Option<std::ops::Range<usize>> {
    let ip = frame.get(ethernet..)?;
    let (head, from_to, length) = match (ip.first()? >> 4, ends[0].is_ipv6()) {
        (4, false) => {
            let head = usize::from(ip[0] & 0xf) * 4;
            let cut = u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x3fff != 0;
            let is_udp = *ip.get(9)? == IS_UDP && !cut;
            (is_udp && head >= IPV4).then_some((head, ip.get(12..20)?, 4))?
        }
        (6, true) => (*ip.get(6)? == IS_UDP).then_some((IPV6, ip.get(8..40)?, 16))?,
        _ => return None,
    };
    let udp = ip.get(head..head + UDP)?;
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    let same = |bytes: &[u8], end: &SocketAddr| match end {
        SocketAddr::V4(end) => bytes == end.ip().octets(),
        SocketAddr::V6(end) => bytes == end.ip().octets(),
    };
    let ours = same(&from_to[..length], &ends[0]) && same(&from_to[length..], &ends[1]);
    let (from, to) = (ethernet + head + UDP, ethernet + head + usize::from(port(4)));
    (ours && port(0) == ends[0].port() && port(2) == ends[1].port() && from <= to && to <= frame.len()).then_some(from..to)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{ETHERNET, Frame, folded, heads, message_of, sum};
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    fn ends(text: [&str; 2]) -> [SocketAddr; 2] {
        text.map(|end| end.parse().unwrap())
    }

    const V4: [&str; 2] = ["10.0.0.1:1000", "10.0.0.2:2000"];
    const V6: [&str; 2] = ["[fd00::1]:1000", "[fd00::2]:2000"];

    #[test]
    fn the_sums_of_a_frame_are_right() {
        let mut frame = Frame::new(ends(V4), [[1; 6], [2; 6]], b"abc");
        let bytes = frame.of_length(usize::MAX);
        assert_eq!((bytes.len(), &bytes[..6], &bytes[6..12], &bytes[12..14]), (45, &[2; 6][..], &[1; 6][..], &[8, 0][..]));
        assert_eq!(folded(sum(&bytes[ETHERNET..ETHERNET + 20])), 0, "a head with its checksum sums to nothing");
        // Example of RFC 1071, section 3.
        assert_eq!(sum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), 0x2_ddf0);
        let mut frame = Frame::new(ends(V6), [[1; 6], [2; 6]], b"abc");
        for length in [1, 3, 2] {
            frame.message_mut()[0] ^= 7;
            let bytes = frame.of_length(length);
            let udp = &bytes[ETHERNET + 40..];
            let before = sum(&bytes[ETHERNET + 8..ETHERNET + 40]) + udp.len() as u64 + 17;
            assert_eq!(folded(before + sum(udp)), 0, "{length}");
        }
    }

    #[test]
    fn a_message_is_found_in_its_frame_and_no_other() {
        for text in [V4, V6] {
            let (ours, others) = (ends(text), ends([text[1], text[0]]));
            let mut frame = Frame::new(ours, [[1; 6], [2; 6]], b"abcdef");
            let bytes = frame.of_length(4).to_vec();
            let found = message_of(&bytes, ETHERNET, &ours).unwrap();
            assert_eq!(&bytes[found], b"abcd");
            assert_eq!(message_of(&bytes, ETHERNET, &others), None);
            assert_eq!(message_of(&bytes[ETHERNET..], 0, &ours), Some(heads(ours[0].is_ipv6())..bytes.len() - ETHERNET));
            assert_eq!(message_of(&bytes[..bytes.len() - 1], ETHERNET, &ours), None, "it is cut");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_none(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            for text in [V4, V6] {
                let found = message_of(&bytes, ETHERNET, &ends(text));
                prop_assert_eq!(found.map(|range| bytes.get(range).is_some()).unwrap_or(true), true);
            }
        }
    }
}
