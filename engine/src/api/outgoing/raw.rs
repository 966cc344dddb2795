//! Packets whose heads the program makes itself: raw sockets below UDP, and packet sockets
//! below IP.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use crate::api::frame::{self, ETHERNET, Frame};
use crate::api::route::{self, Route};
use crate::api::{CallOutcome, KernelRefusal, Open, Outgoing, Place, set_int};
use sys::socket::get_int;

/// One `send` system call a packet of IP, on a raw socket (raw(7)).
pub type Raw = OwnHeads<RawSocket>;

/// One `send` system call a frame of Ethernet, on a packet socket (packet(7)).
pub type Packet = OwnHeads<PacketSocket>;

/// A socket that takes packets with their headers.
pub trait HeadsIncluded: Sized {
    /// Bytes of a frame before what it takes.
    const SKIP: usize;

    /// The socket, bound to where its packets go; and where it has one, the route there.
    ///
    /// # Errors
    /// A refusal that keeps it from working here.
    fn socket(flow: &OwnedFd) -> io::Result<(OwnedFd, Option<Route>)>;
}

/// A way of sending with such a socket.
#[derive(Debug)]
pub struct OwnHeads<S> {
    socket: OwnedFd,
    number: RawFd,
    frame: Frame,
    kind: std::marker::PhantomData<S>,
}

/// Below UDP: the program makes the headers of IP and of UDP.
#[derive(Debug)]
pub struct RawSocket;

/// Below IP: that of Ethernet as well.
#[derive(Debug)]
pub struct PacketSocket;

impl<S: HeadsIncluded> Open for OwnHeads<S> {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let ends = route::ends(&place.socket)?;
        fits(place, ends[1].is_ipv6(), &format!("over {}", place.cell.api))?;
        let (socket, route) = S::socket(&place.socket)?;
        if let Some(size) = place.cell.sndbuf {
            let size = libc::c_int::try_from(size.get()).unwrap_or(libc::c_int::MAX);
            set_int(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, size)?;
        }
        socket2::SockRef::from(&socket).set_write_timeout(Some(place.patience.max(Duration::from_millis(1))))?;
        let frame = Frame::new(ends, route.map_or([[0; 6]; 2], |route| route.macs), &place.message());
        Ok(Self { number: socket.as_raw_fd(), socket, frame, kind: std::marker::PhantomData })
    }
}

impl<S: HeadsIncluded> Outgoing for OwnHeads<S> {
    /// A datagram goes whole: it begins at its first byte.
    #[inline(always)]
    fn send_span(&mut self, _place: usize, _from: usize, to: usize) -> CallOutcome {
        let packet = &self.frame.of_length(to)[S::SKIP..];
        let kernel = ptr::null::<libc::sockaddr>();
        // SAFETY: `packet` is readable for its length and outlives the call.
        let moved = unsafe { libc::syscall(libc::SYS_sendto, self.number, packet.as_ptr(), packet.len(), 0, kernel, 0) };
        if moved >= 0 { CallOutcome(self.frame.message_length() as isize) } else { refused() }
    }

    fn message_at(&mut self, _place: usize) -> &mut [u8] {
        self.frame.message_mut()
    }

    fn leaves_by(&self) -> Option<&OwnedFd> {
        Some(&self.socket)
    }
}

/// What a full queue, or a peer that takes no more, refused was not sent: the loop comes
/// again with it. Of the usual datagrams the kernel drops it without a word.
#[cold]
fn refused() -> CallOutcome {
    match CallOutcome::from_call(-1).0 {
        errno if errno == -(libc::ENOBUFS as isize) => CallOutcome::NOTHING,
        other => CallOutcome(other),
    }
}

/// Sees to it that a datagram fits the path's MTU: nobody cuts a packet whose heads are
/// the program's.
pub(in crate::api) fn fits(place: &Place<'_>, is_v6: bool, way: &str) -> io::Result<()> {
    let (level, option) = if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    let mtu = get_int(place.socket.as_raw_fd(), level, option)?;
    let (size, most) = (place.cell.largest().as_len(), usize::try_from(mtu).unwrap_or(0).saturating_sub(frame::heads(is_v6)));
    if size <= most {
        return Ok(());
    }
    let text = format!("a message of {size} B does not fit the MTU of {mtu} B: datagrams {way} have at most {most} B here");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

impl HeadsIncluded for RawSocket {
    const SKIP: usize = ETHERNET;

    fn socket(flow: &OwnedFd) -> io::Result<(OwnedFd, Option<Route>)> {
        let to = route::ends(flow)?[1];
        let domain = if to.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
        // Of this protocol nothing is ever received.
        let socket = open_socket(domain, libc::IPPROTO_RAW, "socket SOCK_RAW")?;
        let mut goal = to;
        goal.set_port(0);
        socket2::SockRef::from(&socket).connect(&goal.into())?;
        Ok((socket, None))
    }
}

impl HeadsIncluded for PacketSocket {
    const SKIP: usize = 0;

    fn socket(flow: &OwnedFd) -> io::Result<(OwnedFd, Option<Route>)> {
        let socket = packet_socket()?;
        let route = Route::look_up(flow)?;
        bind_to_device(&socket, route.device, 0)?;
        Ok((socket, Some(route)))
    }
}

/// A packet socket that receives nothing so far.
///
/// # Errors
/// A refusal of the system, with what it takes.
pub fn packet_socket() -> io::Result<OwnedFd> {
    open_socket(libc::AF_PACKET, 0, "socket AF_PACKET")
}

fn open_socket(domain: libc::c_int, protocol: libc::c_int, what: &str) -> io::Result<OwnedFd> {
    // SAFETY: the call reads no memory.
    let socket = unsafe { libc::socket(domain, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) };
    if socket < 0 {
        let answer = io::Error::last_os_error();
        return Err(KernelRefusal::error(format!("{what} needs CAP_NET_RAW in the host's network namespace"), answer));
    }
    // SAFETY: the descriptor is open and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Binds a packet socket to a device, and to a protocol where it is to receive.
///
/// # Errors
/// A refusal of the system.
pub fn bind_to_device(socket: &OwnedFd, device: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: zeros are a valid address.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = device as libc::c_int;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the call reads the address, which outlives it.
    match unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
