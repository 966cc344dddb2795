//! UDP over IPv4, without options and fragments: headers written before a payload whose sum is
//! known, and read off packets that anybody may have sent.

use std::net::SocketAddrV4;

use super::checksum::{fold, sum};
use crate::error::StackError;

/// Bytes of both headers.
pub const HEADERS: usize = IP + UDP;
/// The most payload that a packet can hold.
pub const LARGEST: usize = 65_535 - HEADERS;

const IP: usize = 20;
const UDP: usize = 8;
const PROTOCOL: u8 = 17;

/// Refuses messages of `size` bytes that do not fit the largest packet of the way to the other end;
/// `why` says what the stack would make of longer ones.
///
/// # Errors
/// A message that does not fit.
pub fn fits(size: usize, mtu: usize, why: &str) -> Result<(), StackError> {
    let most = mtu.saturating_sub(HEADERS).min(LARGEST);
    if size <= most {
        return Ok(());
    }
    Err(StackError::contract(format!(
        "a datagram of {size} B does not fit the MTU of {mtu} on the way to the other end, and {why}: take messages of at most {most} B, or \
         a larger MTU"
    )))
}

/// Writes the headers of a datagram of `length` bytes whose words have the sum `payload`.
///
/// # Panics
/// More than [`LARGEST`] bytes: a fault of this program.
pub fn write(headers: &mut [u8; HEADERS], from: SocketAddrV4, to: SocketAddrV4, length: usize, payload: u32) {
    assert!(length <= LARGEST, "{length}");
    let (whole, datagram) = ((HEADERS + length) as u16, (UDP + length) as u16);
    // Version and length; no fragment, so that the identification says nothing (RFC 6864); 64 hops.
    headers[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, PROTOCOL, 0, 0]);
    headers[2..4].copy_from_slice(&whole.to_be_bytes());
    headers[12..16].copy_from_slice(&from.ip().octets());
    headers[16..20].copy_from_slice(&to.ip().octets());
    let ip = !fold(sum(&headers[..IP]));
    headers[10..12].copy_from_slice(&ip.to_ne_bytes());
    headers[20..22].copy_from_slice(&from.port().to_be_bytes());
    headers[22..24].copy_from_slice(&to.port().to_be_bytes());
    headers[24..26].copy_from_slice(&datagram.to_be_bytes());
    headers[26..28].copy_from_slice(&[0, 0]);
    let check = match !fold(payload + before_payload(headers)) {
        // 0 means that there is none (RFC 768).
        0 => 0xffff,
        check => check,
    };
    headers[26..28].copy_from_slice(&check.to_ne_bytes());
}

/// The sum of what the checksum covers besides the payload: addresses, protocol, length, and UDP's header.
fn before_payload(headers: &[u8; HEADERS]) -> u32 {
    let length = u16::from_ne_bytes([headers[24], headers[25]]);
    sum(&headers[12..HEADERS]) + u32::from(u16::from_ne_bytes([0, PROTOCOL])) + u32::from(length)
}

/// A datagram in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Source.
    pub from: SocketAddrV4,
    /// Destination.
    pub to: SocketAddrV4,
    /// Place of the payload in the packet.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Sum of all that the checksum covers but the payload, the checksum among it; `None` where
    /// the sender made none.
    pub sum: Option<u32>,
}

impl Datagram {
    /// Returns whether a payload with this sum is the one that was sent.
    pub fn is_whole(sum: Option<u32>, payload: u32) -> bool {
        sum.is_none_or(|sum| fold(sum + payload) == 0xffff)
    }
}

/// Reads a packet; `None` where it is no whole datagram of UDP over IPv4 with a right header.
pub fn read(packet: &[u8]) -> Option<Datagram> {
    let headers: &[u8; HEADERS] = packet.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([headers[at], headers[at + 1]]);
    let (whole, datagram) = (usize::from(word(2)), usize::from(word(24)));
    // Options, fragments and what only claims to be longer are not for this stack.
    let plain = headers[0] == 0x45 && headers[9] == PROTOCOL && word(6) & 0x3fff == 0;
    if !plain || whole > packet.len() || datagram < UDP || IP + datagram > whole || fold(sum(&headers[..IP])) != 0xffff {
        return None;
    }
    let address =
        |at: usize, port: usize| SocketAddrV4::new([headers[at], headers[at + 1], headers[at + 2], headers[at + 3]].into(), word(port));
    Some(Datagram {
        from: address(12, 20),
        to: address(16, 22),
        start: HEADERS,
        end: IP + datagram,
        sum: (word(26) != 0).then(|| before_payload(headers)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::checksum::sum;
    use super::{Datagram, HEADERS, read, write};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::net::SocketAddrV4;

    fn packet(from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; HEADERS];
        packet.extend(payload);
        write(packet.first_chunk_mut().unwrap(), from, to, payload.len(), sum(payload));
        packet
    }

    #[test]
    fn headers_are_those_of_the_standards() {
        // Worked out by another program, word by word, after RFC 791 and RFC 768.
        let known = [
            0x45, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x40, 0x11, 0xf6, 0xca, 0xc0, 0x00, 0x02, 0x01, 0xc0, 0x00, 0x02, 0x02, 0x00,
            0x07, 0x00, 0x09, 0x00, 0x0b, 0xb7, 0x61,
        ];
        let sent = packet("192.0.2.1:7".parse().unwrap(), "192.0.2.2:9".parse().unwrap(), b"abc");
        assert_eq!(sent[..HEADERS], known);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(from in any::<SocketAddrV4>(), to in any::<SocketAddrV4>(), payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            let packet = packet(from, to, &payload);
            let read = read(&packet).unwrap();
            prop_assert_eq!((read.from, read.to, &packet[read.start..read.end]), (from, to, &payload[..]));
            prop_assert!(Datagram::is_whole(read.sum, sum(&payload)));
        }

        #[test]
        fn a_flipped_bit_is_seen(payload in proptest::collection::vec(any::<u8>(), 1..200), at in any::<usize>(), bit in 0..8) {
            let mut packet = packet(SocketAddrV4::new([192, 0, 2, 1].into(), 7), SocketAddrV4::new([192, 0, 2, 2].into(), 9), &payload);
            let at = HEADERS + at % payload.len();
            packet[at] ^= 1_u8 << bit;
            let read = read(&packet).unwrap();
            prop_assert!(!Datagram::is_whole(read.sum, sum(&packet[HEADERS..])));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..100), plain in any::<bool>()) {
            if plain && bytes.len() >= 12 {
                bytes[0] = 0x45;
                bytes[6] = 0;
                bytes[7] = 0;
                bytes[9] = 17;
            }
            if let Some(read) = read(&bytes) {
                prop_assert!(read.start <= read.end && read.end <= bytes.len());
            }
        }
    }
}
