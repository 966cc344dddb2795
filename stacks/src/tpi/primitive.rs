//! The two primitives that carry datagrams: `T_UNITDATA_REQ` down, `T_UNITDATA_IND` up. Each is a
//! type, the length and the offset of an address, and the same of options, of which there are
//! none; what comes up a stream is read as if a stranger had written it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::block::{Block, Kind};

/// `PRIM_type` of a request to send a datagram (sys/tihdr.h).
pub const T_UNITDATA_REQ: u32 = 8;
/// `PRIM_type` of a datagram that has come.
pub const T_UNITDATA_IND: u32 = 20;

/// Bytes before the address.
const FIXED: usize = 20;
/// Bytes of an address: family (2), port (2), and one of IPv4 (4) or IPv6 (16).
const ADDRESS: [usize; 2] = [8, 20];

/// An address as a primitive holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    bytes: [u8; ADDRESS[1]],
    length: usize,
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let mut bytes = [0; ADDRESS[1]];
        let (family, length) = match address.ip() {
            IpAddr::V4(ip) => {
                bytes[4..8].copy_from_slice(&ip.octets());
                (libc::AF_INET, ADDRESS[0])
            }
            IpAddr::V6(ip) => {
                bytes[4..20].copy_from_slice(&ip.octets());
                (libc::AF_INET6, ADDRESS[1])
            }
        };
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        Self { bytes, length }
    }
}

/// Writes a primitive with its address into a block.
pub fn write(block: &mut Block, primitive: u32, address: &Address) {
    let room = block.room();
    let words = [primitive, address.length as u32, FIXED as u32, 0, 0];
    for (place, word) in room.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    room[FIXED..FIXED + address.length].copy_from_slice(&address.bytes[..address.length]);
    block.set(0, FIXED + address.length);
}

/// Reads the address out of a primitive; `None` where it is another primitive, or its lengths
/// lead beyond its end.
pub fn read(block: &Block, primitive: u32) -> Option<SocketAddr> {
    let bytes = block.bytes();
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if block.kind != Kind::Proto || word(0)? != primitive {
        return None;
    }
    let (length, offset) = (word(4)? as usize, word(8)? as usize);
    let address = bytes.get(offset..offset.checked_add(length)?)?;
    let family = i32::from(u16::from_ne_bytes(address.get(..2)?.try_into().ok()?));
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    let ip = match (family, address.get(4..)?) {
        (libc::AF_INET, rest) => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(rest).ok()?)),
        (libc::AF_INET6, rest) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(rest).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::super::block::{PROTO_ROOM, Pool};
    use super::{Address, T_UNITDATA_IND, T_UNITDATA_REQ, read, write};
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use std::net::SocketAddr;

    proptest! {
        #[test]
        fn what_is_written_is_read(address in any::<SocketAddr>()) {
            let mut block = Pool::new(0).proto();
            write(&mut block, T_UNITDATA_REQ, &Address::from(address));
            let plain = SocketAddr::new(address.ip(), address.port());
            prop_assert_eq!(read(&block, T_UNITDATA_REQ), Some(plain));
            prop_assert_eq!(read(&block, T_UNITDATA_IND), None);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..PROTO_ROOM)) {
            let mut block = Pool::new(0).proto();
            block.room()[..bytes.len()].copy_from_slice(&bytes);
            block.set(0, bytes.len());
            let _ = read(&block, T_UNITDATA_IND);
            if bytes.len() >= 4 {
                block.room()[..4].copy_from_slice(&T_UNITDATA_IND.to_ne_bytes());
                let _ = read(&block, T_UNITDATA_IND);
            }
        }
    }

    #[test]
    fn lengths_that_lead_beyond_the_end_are_refused() {
        let mut block = Pool::new(0).proto();
        for (length, offset) in [(8_u32, 60_u32), (u32::MAX, 20), (3, 20), (8, u32::MAX)] {
            write(&mut block, T_UNITDATA_IND, &Address::from(SocketAddr::from(([192, 0, 2, 1], 7))));
            block.room()[4..8].copy_from_slice(&length.to_ne_bytes());
            block.room()[8..12].copy_from_slice(&offset.to_ne_bytes());
            assert_eq!(read(&block, T_UNITDATA_IND), None, "{length} at {offset}");
        }
    }
}
