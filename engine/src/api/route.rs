//! The way of a flow's frames: the device that they leave by, and the addresses of both
//! ends on its link. Asked of the kernel by rtnetlink(7), once, before the traffic.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{SockaddrStorage, getpeername, getsockname};
use sys::netlink::{Channel, Message, Protocol, attribute, number};

/// A hardware address of Ethernet.
pub type Mac = [u8; 6];

/// The way of a flow's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Number of the device.
    pub device: u32,
    /// Hardware address of the device, and of the next hop.
    pub macs: [Mac; 2],
    /// Addresses of the flow's socket and of its peer.
    pub ends: [SocketAddr; 2],
}

/// The addresses of a connected socket and of its peer.
///
/// # Errors
/// A refusal of the system, and addresses of another family than IP.
pub fn ends(socket: &OwnedFd) -> io::Result<[SocketAddr; 2]> {
    let ip = |address: SockaddrStorage| -> io::Result<SocketAddr> {
        let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
        let v6 = address.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into()));
        v4.or(v6).ok_or_else(|| io::Error::other("the flow's socket has no IP address"))
    };
    let number = socket.as_raw_fd();
    Ok([ip(getsockname(number)?)?, ip(getpeername(number)?)?])
}

impl Route {
    /// The way from a connected socket to its peer. The next hop must be known to the
    /// kernel: what the ends sent each other before has seen to that.
    ///
    /// # Errors
    /// A refusal of the system, loopback, a device that is not of Ethernet.
    pub fn look_up(socket: &OwnedFd) -> io::Result<Self> {
        let ends = ends(socket)?;
        let mut netlink = Channel::open(Protocol::NetlinkRoute)?;
        let (device, hop) = route(&mut netlink, ends[1].ip())?;
        let own = nix::ifaddrs::getifaddrs()?.find_map(|found| {
            let link = found.address?;
            let link = link.as_link_addr()?;
            (link.ifindex() as u32 == device).then_some((found.flags, link.addr()))
        });
        let own = match own {
            Some((flags, _)) if flags.contains(nix::net::if_::InterfaceFlags::IFF_LOOPBACK) => None,
            Some((_, own)) => own.filter(|own| *own != [0; 6]),
            None => None,
        };
        let wrong = "frames need a device of Ethernet between two hosts, such as veth; loopback is none";
        let own = own.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, wrong))?;
        let unknown = || io::Error::other(format!("the kernel knows no hardware address of {hop}, the next hop to {}", ends[1].ip()));
        let next = neighbour(&mut netlink, device, hop)?.ok_or_else(unknown)?;
        Ok(Self { device, macs: [own, next], ends })
    }
}

/// Message types and attributes of the kernel's include/uapi/linux/rtnetlink.h and
/// neighbour.h.
const RTM_GETROUTE: u16 = 26;
const RTM_GETNEIGH: u16 = 30;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// Length of what stands before the attributes of routes and neighbours.
const BODY: usize = 12;

/// The device towards an address, and the next hop.
fn route(netlink: &mut Channel, to: IpAddr) -> io::Result<(u32, IpAddr)> {
    let (family, address) = bytes(to);
    let mut body = vec![family, 8 * address.len() as u8];
    body.resize(BODY, 0);
    body.extend([4 + address.len() as u16, RTA_DST].into_iter().flat_map(u16::to_ne_bytes));
    body.extend(&address);
    let found = netlink.ask(&format!("ask the kernel for the route to {to}"), RTM_GETROUTE, 0, &body)?;
    let value = |wanted| attribute(found.first()?.body.get(BODY..)?, wanted);
    let device = value(RTA_OIF).and_then(number).ok_or_else(|| io::Error::other(format!("the kernel has no route to {to}")))?;
    Ok((device, value(RTA_GATEWAY).and_then(address_of).unwrap_or(to)))
}

/// The hardware address of a neighbour; `None` of one that is not known.
fn neighbour(netlink: &mut Channel, device: u32, hop: IpAddr) -> io::Result<Option<Mac>> {
    let mut body = vec![bytes(hop).0];
    body.resize(BODY, 0);
    let all = netlink.ask("ask the kernel for its neighbours", RTM_GETNEIGH, libc::NLM_F_DUMP as u16, &body)?;
    let mac = |found: &Message| {
        let values = found.body.get(BODY..).filter(|_| found.body.get(4..).and_then(number) == Some(device))?;
        attribute(values, NDA_DST).and_then(address_of).filter(|found| *found == hop)?;
        attribute(values, NDA_LLADDR)?.try_into().ok()
    };
    Ok(all.iter().find_map(mac))
}

fn bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (libc::AF_INET as u8, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6 as u8, v6.octets().to_vec()),
    }
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    v4.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use sys::netlink::{Channel, Protocol};

    use super::{Route, route};

    #[test]
    fn loopback_is_no_link() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        let mut netlink = Channel::open(Protocol::NetlinkRoute).unwrap();
        assert_eq!(route(&mut netlink, "127.0.0.1".parse().unwrap()).unwrap(), (1, "127.0.0.1".parse().unwrap()));
        let refused = Route::look_up(&socket.into()).unwrap_err();
        assert!(refused.to_string().contains("loopback is none"), "{refused}");
    }
}
