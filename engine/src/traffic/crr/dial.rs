//! Makes one connection after another to the same place.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use model::control::Task;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use super::{is_over, timed_out};
use crate::socket;

/// Time that a wait for a connection lasts before it looks at the clock.
const LOOK: Duration = Duration::from_millis(50);

/// Connects from where a first connection was made to where it went.
pub(super) struct Dialler<'a> {
    task: &'a Task,
    domain: Domain,
    peer: SocketAddr,
    to: SockAddr,
    /// `None` where the kernel chooses this address by itself.
    from: Option<SockAddr>,
}

impl<'a> Dialler<'a> {
    /// Like `first`, which is connected.
    pub fn like(first: &OwnedFd, task: &'a Task) -> io::Result<Self> {
        let first = SockRef::from(first);
        let unknown = || io::Error::other("the first connection has no IP address");
        let to = first.peer_addr()?;
        let peer = to.as_socket().ok_or_else(unknown)?;
        let mut local = first.local_addr()?.as_socket().ok_or_else(unknown)?;
        local.set_port(0);
        let from = (chosen_for(peer)?.ip() != local.ip()).then(|| local.into());
        Ok(Self { task, domain: Domain::for_address(peer), peer, to, from })
    }

    /// Address that the connections go to.
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// A connection, its socket set like the first one.
    pub fn dial(&self, give_up: Instant) -> io::Result<Socket> {
        let socket = Socket::new(self.domain, Type::STREAM, None)?;
        socket::set_like_the_first(&socket, self.task).map_err(io::Error::other)?;
        if let Some(from) = &self.from {
            // Without this a port would be taken that no other connection can have.
            setsockopt(&socket, IpBindAddressNoPort, &true)?;
            socket.bind(from)?;
        }
        match socket.connect(&self.to) {
            Ok(()) => Ok(socket),
            // A signal or the time limit of calls ended the call, not the connecting.
            Err(answer) if matches!(answer.raw_os_error(), Some(libc::EINTR | libc::EINPROGRESS | libc::EAGAIN)) => {
                wait_for(&socket, give_up)?;
                Ok(socket)
            }
            Err(answer) => Err(answer),
        }
    }
}

/// The address that the kernel gives to what is sent to `peer`. Nothing is sent.
fn chosen_for(peer: SocketAddr) -> io::Result<SocketAddr> {
    let any: SocketAddr = if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(peer)?;
    socket.local_addr()
}

#[cold]
fn wait_for(socket: &Socket, give_up: Instant) -> io::Result<()> {
    let look = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
    loop {
        if let Ok(1..) = poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)], look) {
            return socket.take_error()?.map_or(Ok(()), Err);
        }
        if is_over(give_up) {
            return Err(timed_out());
        }
    }
}

/// Returns whether an answer means that no local port is left.
pub(super) fn is_exhausted(answer: &io::Error) -> bool {
    matches!(answer.raw_os_error(), Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE))
}

/// Says so, with what to do.
pub(super) fn exhausted(peer: SocketAddr, made: u64, answer: &io::Error) -> io::Error {
    io::Error::other(format!(
        "connect to {peer}: {answer}: after {made} connections no local port is left; a closed connection keeps its port for 60 s \
         (TIME_WAIT); widen net.ipv4.ip_local_port_range, set net.ipv4.tcp_tw_reuse=1, or make fewer connections: \
         a number of messages, a shorter trial or a lower rate"
    ))
}
