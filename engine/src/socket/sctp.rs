//! Streams and addresses of an SCTP association. Numbers and shapes are those of the kernel's
//! include/uapi/linux/sctp.h.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use model::sorting::Order as _;
use socket2::Socket;

use crate::error::SocketError;

const SCTP_INITMSG: libc::c_int = 2;
const SCTP_STATUS: libc::c_int = 14;
const SCTP_SOCKOPT_BINDX_ADD: libc::c_int = 100;
const SCTP_GET_LOCAL_ADDRS: libc::c_int = 109;
/// `sstat_outstrms` in `struct sctp_status`.
const OUTGOING: std::ops::Range<usize> = 18..20;
/// Bytes before the addresses in `struct sctp_getaddrs`: the association, and their number.
const BEFORE_ADDRESSES: usize = 8;

/// Sets the streams that an end offers when an association is made.
///
/// # Errors
/// A refusal of the system.
pub(super) fn set_streams(socket: &Socket, streams: u32) -> io::Result<()> {
    let outgoing = u16::try_from(streams).unwrap_or(u16::MAX).to_ne_bytes();
    // `struct sctp_initmsg`; 0 leaves a field as it is.
    let initmsg = [outgoing, [0; 2], [0; 2], [0; 2]].concat();
    sys::socket::set(socket.as_raw_fd(), libc::IPPROTO_SCTP, SCTP_INITMSG, &initmsg)
}

/// Gives the end that connects the addresses that it has in an association. All have the port of the first.
///
/// # Errors
/// A refusal of the system.
pub(super) fn bind(socket: &Socket, addresses: &[IpAddr], port: u16) -> Result<(), SocketError> {
    let packed: Vec<u8> = addresses.iter().flat_map(|address| bytes(SocketAddr::new(*address, port))).collect();
    let set = sys::socket::set(socket.as_raw_fd(), libc::IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, &packed);
    let list = || addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
    set.map_err(|answer| SocketError::new(format!("bind the association to {} (sctp_bindx)", list()), answer))
}

/// In the order of the addresses themselves: the kernel keeps its own.
pub(super) fn joined(addresses: &[IpAddr]) -> String {
    let mut addresses: Vec<IpAddr> = addresses.to_vec();
    addresses.order();
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join("+")
}

/// Streams that this end may send by.
///
/// # Errors
/// The kernel's answer.
pub(super) fn streams_of(socket: &Socket) -> io::Result<u16> {
    let mut room = [0; 256];
    let length = sys::socket::get(socket.as_raw_fd(), libc::IPPROTO_SCTP, SCTP_STATUS, &mut room)?;
    let field = room[..length].get(OUTGOING).and_then(|bytes| bytes.try_into().ok());
    field.map(u16::from_ne_bytes).ok_or_else(|| io::Error::other("a status without streams"))
}

/// Addresses of this end of the association.
///
/// # Errors
/// The kernel's answer.
pub(super) fn addresses_of(socket: &Socket) -> io::Result<Vec<IpAddr>> {
    let mut room = [0; 1_024];
    // The length that the kernel returns is that of the addresses, without what stands before them
    // (sctp_getsockopt_local_addrs() in its net/sctp/socket.c). Their number is in the answer.
    sys::socket::get(socket.as_raw_fd(), libc::IPPROTO_SCTP, SCTP_GET_LOCAL_ADDRS, &mut room)?;
    Ok(unpacked(&room))
}

/// `struct sockaddr_in` or `sockaddr_in6`, as sctp_bindx(3) packs them.
fn bytes(address: SocketAddr) -> Vec<u8> {
    match address {
        SocketAddr::V4(v4) => [&family(libc::AF_INET)[..], &v4.port().to_be_bytes(), &v4.ip().octets(), &[0; 8]].concat(),
        SocketAddr::V6(v6) => {
            let (flow, scope) = (v6.flowinfo().to_be_bytes(), v6.scope_id().to_ne_bytes());
            [&family(libc::AF_INET6)[..], &v6.port().to_be_bytes(), &flow, &v6.ip().octets(), &scope].concat()
        }
    }
}

fn family(number: libc::c_int) -> [u8; 2] {
    (number as libc::sa_family_t).to_ne_bytes()
}

/// The addresses of a `struct sctp_getaddrs`; those after one that is cut off, or of another family, are left out.
fn unpacked(answer: &[u8]) -> Vec<IpAddr> {
    let count = answer.get(4..BEFORE_ADDRESSES).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes);
    let mut rest = answer.get(BEFORE_ADDRESSES..).unwrap_or_default();
    let mut next = || {
        let (head, _) = rest.split_first_chunk::<2>()?;
        let (address, length) = match libc::c_int::from(libc::sa_family_t::from_ne_bytes(*head)) {
            libc::AF_INET => (IpAddr::from(Ipv4Addr::from(*rest.get(4..)?.first_chunk::<4>()?)), 16),
            libc::AF_INET6 => (IpAddr::from(Ipv6Addr::from(*rest.get(8..)?.first_chunk::<16>()?)), 28),
            _ => return None,
        };
        rest = rest.get(length..)?;
        Some(address)
    };
    (0..count).map_while(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use super::{bytes, unpacked};

    #[test]
    fn addresses_are_unpacked_as_they_were_packed() {
        let addresses: Vec<IpAddr> = ["192.0.2.1", "2001:db8::7", "198.51.100.1"].map(|address| address.parse().unwrap()).to_vec();
        let packed: Vec<u8> = addresses.iter().flat_map(|address| bytes(SocketAddr::new(*address, 5_201))).collect();
        assert_eq!(packed.len(), 16 + 28 + 16);
        let answer = [&[0; 4][..], &3_u32.to_ne_bytes(), &packed].concat();
        assert_eq!(unpacked(&answer), addresses);
        // Cut off, of another family, or more than there are.
        assert_eq!(unpacked(&answer[..8 + 16 + 27]), addresses[..1]);
        assert_eq!(unpacked(&[&[0; 4][..], &u32::MAX.to_ne_bytes(), &packed[..16], &[1, 0, 0, 0]].concat()), addresses[..1]);
        assert_eq!(unpacked(&answer[..7]), [] as [IpAddr; 0]);
    }
}
