//! The way of a flow's frames: the device that they leave by, and the addresses of both
//! ends on its link. Asked of the kernel by rtnetlink(7), once, before the traffic.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::sys::socket::{SockaddrStorage, getpeername, getsockname};

use super::Refusal;

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
    pub fn of(socket: &OwnedFd) -> io::Result<Self> {
        let ends = ends(socket)?;
        let mut netlink = Netlink::open()?;
        let (device, hop) = netlink.route(ends[1].ip())?;
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
        let next = netlink.neighbour(device, hop)?.ok_or_else(unknown)?;
        Ok(Self { device, macs: [own, next], ends })
    }
}

/// Message types and attributes of the kernel's include/uapi/linux/rtnetlink.h and
/// neighbour.h, and of netlink.h.
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTM_NEWNEIGH: u16 = 28;
const RTM_GETNEIGH: u16 = 30;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// Lengths of the heads of netlink messages, of routes and neighbours, and of attributes.
const HEAD: usize = 16;
const BODY: usize = 12;
const ATTRIBUTE: usize = 4;

/// A socket of rtnetlink.
struct Netlink(std::fs::File);

impl Netlink {
    fn open() -> io::Result<Self> {
        // SAFETY: the call reads no memory.
        let socket = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
        if socket < 0 {
            return Err(Refusal::of("ask the kernel for the route (socket AF_NETLINK)", io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is open and has no other owner.
        Ok(Self(unsafe { std::fs::File::from_raw_fd(socket) }))
    }

    /// Sends a request and returns the messages of `answer`'s type.
    fn ask(&mut self, kind: u16, flags: libc::c_int, body: &[u8], answer: u16) -> io::Result<Vec<Vec<u8>>> {
        let mut request = ((HEAD + body.len()) as u32).to_ne_bytes().to_vec();
        request.extend(kind.to_ne_bytes());
        request.extend(((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
        request.extend([1_u32, 0].into_iter().flat_map(u32::to_ne_bytes));
        request.extend(body);
        self.0.write_all(&request)?;
        let (mut found, mut room) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let length = self.0.read(&mut room)?;
            for (kind, body) in messages(&room[..length]) {
                match kind {
                    NLMSG_DONE => return Ok(found),
                    NLMSG_ERROR => {
                        return Err(io::Error::from_raw_os_error(i32::from_ne_bytes(first(body).unwrap_or_default()).wrapping_neg()));
                    }
                    kind if kind == answer => found.push(body.to_vec()),
                    _ => {}
                }
            }
            // One route is one message; a list ends with its own.
            if flags & libc::NLM_F_DUMP == 0 {
                return Ok(found);
            }
        }
    }

    /// The device towards an address, and the next hop.
    fn route(&mut self, to: IpAddr) -> io::Result<(u32, IpAddr)> {
        let (family, address) = bytes(to);
        let mut body = vec![family, 8 * address.len() as u8];
        body.resize(BODY, 0);
        body.extend(((ATTRIBUTE + address.len()) as u16).to_ne_bytes());
        body.extend(RTA_DST.to_ne_bytes());
        body.extend(&address);
        let found = self.ask(RTM_GETROUTE, 0, &body, RTM_NEWROUTE)?;
        let none = || io::Error::other(format!("the kernel has no route to {to}"));
        let found = found.first().ok_or_else(none)?;
        let device = attribute(found, RTA_OIF).and_then(first).map(u32::from_ne_bytes).ok_or_else(none)?;
        Ok((device, attribute(found, RTA_GATEWAY).and_then(address_of).unwrap_or(to)))
    }

    /// The hardware address of a neighbour; `None` of one that is not known.
    fn neighbour(&mut self, device: u32, hop: IpAddr) -> io::Result<Option<Mac>> {
        let mut body = vec![bytes(hop).0];
        body.resize(BODY, 0);
        let all = self.ask(RTM_GETNEIGH, libc::NLM_F_DUMP, &body, RTM_NEWNEIGH)?;
        let is_it = |found: &&Vec<u8>| {
            let of_device = found.get(4..).and_then(first).map(u32::from_ne_bytes) == Some(device);
            of_device && attribute(found, NDA_DST).and_then(address_of) == Some(hop)
        };
        Ok(all.iter().find(is_it).and_then(|found| attribute(found, NDA_LLADDR)?.try_into().ok()))
    }
}

/// The first bytes of some, where there are as many.
fn first<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
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

/// The messages of an answer, each with its type and what follows its head.
fn messages(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while let Some(length) = first(bytes).map(|length| u32::from_ne_bytes(length) as usize) {
        let Some(message) = bytes.get(..length).filter(|message| message.len() >= HEAD) else { break };
        let kind = u16::from_ne_bytes([message[4], message[5]]);
        found.push((kind, &message[HEAD..]));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// The value of an attribute of a route or a neighbour.
fn attribute(body: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut rest = body.get(BODY..)?;
    while let Some([a, b, c, d]) = first(rest) {
        let (length, kind) = (u16::from_ne_bytes([a, b]) as usize, u16::from_ne_bytes([c, d]));
        let value = rest.get(ATTRIBUTE..length)?;
        if kind == wanted {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::{Netlink, Route, attribute, messages};
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn loopback_is_no_link() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        let mut netlink = Netlink::open().unwrap();
        assert_eq!(netlink.route("127.0.0.1".parse().unwrap()).unwrap(), (1, "127.0.0.1".parse().unwrap()));
        let refused = Route::of(&socket.into()).unwrap_err();
        assert!(refused.to_string().contains("loopback is none"), "{refused}");
    }

    #[test]
    fn attributes_are_found_in_their_order() {
        let mut body = vec![0; super::BODY];
        body.extend([6, 0, 7, 0, 1, 2, 0, 0, 5, 0, 4, 0, 9]);
        let read = |kind| attribute(&body, kind);
        assert_eq!((read(7), read(4), read(5)), (Some(&[1, 2][..]), Some(&[9][..]), None));
    }

    proptest! {
        #[test]
        fn any_answer_is_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for (_, body) in messages(&bytes) {
                attribute(body, 4);
            }
            attribute(&bytes, 1);
        }
    }
}
