//! A provider above the kernel's sockets, as `XTI over sockets` was in 2007: a request is carried
//! out with `sendto`, and `recvfrom` brings what is indicated. To a program that calls these itself
//! it adds a copy and a queue at either end.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use model::Protocol;
use socket2::{Domain, SockAddr, Socket, Type};

use super::block::Block;
use super::head::Provider;
use crate::contract::Setup;
use crate::error::StackError;

/// A socket that is not connected, and the calls made on it.
#[derive(Debug)]
pub struct OverSockets {
    socket: UdpSocket,
    port: u16,
    read: usize,
    calls: u64,
}

impl OverSockets {
    /// Binds a socket with the options that are asked for.
    ///
    /// # Errors
    /// A trial over TCP, a refusal of the system.
    pub fn open(setup: &Setup) -> Result<Self, StackError> {
        setup.only(Protocol::Udp, "tpi-sockets")?;
        let failed = |tried: String| move |answer| StackError::system(tried, answer);
        let socket = Socket::new(Domain::for_address(setup.bind), Type::DGRAM, None).map_err(failed("open a UDP socket".to_owned()))?;
        for (name, bytes, set) in [
            ("SO_SNDBUF", setup.sndbuf, Socket::set_send_buffer_size as fn(&Socket, usize) -> io::Result<()>),
            ("SO_RCVBUF", setup.rcvbuf, Socket::set_recv_buffer_size),
        ] {
            if let Some(bytes) = bytes {
                set(&socket, bytes).map_err(failed(format!("set {name} to {bytes}")))?;
            }
        }
        socket.bind(&SockAddr::from(setup.bind)).map_err(failed(format!("bind to {}", setup.bind)))?;
        let socket = UdpSocket::from(socket);
        let port = socket.local_addr().map_err(failed("read the port of the socket".to_owned()))?.port();
        Ok(Self { socket, port, read: setup.read, calls: 0 })
    }
}

impl Provider for OverSockets {
    const HEADROOM: usize = 0;
    const QUEUES: bool = true;

    fn port(&self) -> u16 {
        self.port
    }

    fn connect(&mut self, _peer: SocketAddr) -> Result<(), StackError> {
        // Every request bears its address.
        Ok(())
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) -> u32 {
        to.copy_from_slice(from);
        0
    }

    fn request(&mut self, to: SocketAddr, data: &mut Block) -> io::Result<()> {
        let sent = retried(|| self.socket.send_to(data.bytes(), to))?;
        self.calls += 1;
        match sent == data.bytes().len() {
            true => Ok(()),
            false => Err(io::Error::other(format!("the kernel took {sent} B of a datagram"))),
        }
    }

    fn fetch(&mut self, data: &mut Block, wait: bool) -> io::Result<Option<SocketAddr>> {
        let (read, room) = (self.read, data.room());
        let got = match wait {
            true => retried(|| self.socket.recv_from(&mut room[..read])),
            false => self.at_once(&mut room[..read]),
        };
        match got {
            Ok((length, from)) => {
                self.calls += 1;
                data.set(0, length);
                Ok(Some(from))
            }
            Err(answer) if answer.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(answer) => Err(answer),
        }
    }

    fn accepts(&mut self, _data: &Block, _copied: usize, _sum: u32) -> bool {
        // The kernel has checked it.
        true
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    fn dropped(&self) -> u64 {
        0
    }

    fn dropped_below(&self) -> u64 {
        // The host's counters hold it.
        0
    }
}

impl OverSockets {
    /// Takes what is there, without waiting (`MSG_DONTWAIT`).
    fn at_once(&self, room: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut fetch = |storage: *mut libc::sockaddr_storage, length: *mut libc::socklen_t| {
            // SAFETY: the room is as long as is said, and so is the storage for the address.
            let got = unsafe {
                libc::recvfrom(self.socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_DONTWAIT, storage.cast(), length)
            };
            usize::try_from(got).map_err(|_| io::Error::last_os_error())
        };
        // SAFETY: the kernel writes an address and its length, where the call succeeds.
        let (got, from) = unsafe { SockAddr::try_init(|storage, length| fetch(storage.cast(), length)) }?;
        let from = from.as_socket().ok_or_else(|| io::Error::other("a datagram without an address"))?;
        Ok((got, from))
    }
}

/// Calls again what a signal broke off.
fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(answer) if answer.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}
