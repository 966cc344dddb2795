//! Address resolution over Ethernet (RFC 826): how a stack of its own finds the hardware address of
//! the other.

use std::net::Ipv4Addr;

use sys::device::Mac;

/// Bytes of such a frame, Ethernet's head among them.
pub const FRAME: usize = 42;
/// Type of its frames.
pub const KIND: u16 = 0x0806;

/// Ethernet and IPv4, with the lengths of their addresses.
const OVER: [u8; 6] = [0, 1, 8, 0, 6, 4];
const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// An end of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station {
    /// Its hardware address.
    pub mac: Mac,
    /// Its address of IPv4.
    pub ip: Ipv4Addr,
}

/// What a frame asks or answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arp {
    /// True where it asks for the address of `to`.
    pub asks: bool,
    /// Who sent it.
    pub from: Station,
    /// Who is asked, or was asking.
    pub to: Ipv4Addr,
}

/// Asks everybody on the link for the hardware address of `to`.
pub fn ask(from: Station, to: Ipv4Addr) -> [u8; FRAME] {
    written(REQUEST, from, Station { mac: [0; 6], ip: to }, [0xff; 6])
}

/// Answers `to`, who asked.
pub fn answer(from: Station, to: Station) -> [u8; FRAME] {
    written(REPLY, from, to, to.mac)
}

fn written(operation: u16, from: Station, to: Station, target: Mac) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    let parts: [&[u8]; 9] =
        [&target, &from.mac, &KIND.to_be_bytes(), &OVER, &operation.to_be_bytes(), &from.mac, &from.ip.octets(), &to.mac, &to.ip.octets()];
    let mut at = 0;
    for part in parts {
        frame[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    frame
}

/// Reads a frame; `None` where it is none of address resolution.
pub fn read(frame: &[u8]) -> Option<Arp> {
    let frame: &[u8; FRAME] = frame.first_chunk()?;
    let operation = u16::from_be_bytes([frame[20], frame[21]]);
    let is_arp = frame[12..14] == KIND.to_be_bytes() && frame[14..20] == OVER && matches!(operation, REQUEST | REPLY);
    let ip = |at: usize| Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
    let mac = frame[22..].first_chunk()?;
    is_arp.then(|| Arp { asks: operation == REQUEST, from: Station { mac: *mac, ip: ip(28) }, to: ip(38) })
}

#[cfg(test)]
mod tests {
    use super::{Arp, FRAME, Station, answer, ask, read};
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use std::net::Ipv4Addr;

    const OWN: Station = Station { mac: [2, 0, 0, 0, 0, 1], ip: Ipv4Addr::new(192, 0, 2, 1) };

    #[test]
    fn a_request_is_that_of_the_standard() {
        let known = [
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0,
            0, 0, 192, 0, 2, 2,
        ];
        assert_eq!(ask(OWN, Ipv4Addr::new(192, 0, 2, 2)), known);
    }

    #[test]
    fn an_answer_goes_to_who_asked() {
        let other = Station { mac: [2, 0, 0, 0, 0, 2], ip: Ipv4Addr::new(192, 0, 2, 2) };
        let asked = read(&ask(other, OWN.ip)).unwrap();
        assert_eq!(asked, Arp { asks: true, from: other, to: OWN.ip });
        let told = answer(OWN, asked.from);
        assert_eq!(told[..6], other.mac);
        assert_eq!(read(&told), Some(Arp { asks: false, from: OWN, to: other.ip }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..60), arp in any::<bool>()) {
            if arp && bytes.len() >= FRAME {
                bytes[12..20].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4]);
            }
            if let Some(found) = read(&bytes) {
                prop_assert_eq!(&bytes[22..28], &found.from.mac);
            }
        }
    }
}
