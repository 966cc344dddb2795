//! Sources of connections, which have a number of places each.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Returns the network that a peer counts with: its address, of IPv6 the /64 that
/// one machine usually has to itself.
pub fn source(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}
