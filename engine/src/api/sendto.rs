//! One `sendto` or `recvfrom` system call a message, on a socket that is not connected.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use nix::sys::socket::{SockaddrLike, SockaddrStorage, bind, getpeername, getsockname};

use super::one_call::{Calls, OneCall};
use super::{Moved, Place};

/// `sendto(2)` to the peer's address and `recvfrom(2)`: the kernel looks up the route of
/// every message. What strangers send to the address is taken and not handed out.
pub type Sendto = OneCall<SendtoRecvfrom>;

/// The two calls, and whom they are for.
#[derive(Debug)]
pub struct SendtoRecvfrom {
    peer: SockaddrStorage,
    from: libc::sockaddr_storage,
}

impl Calls for SendtoRecvfrom {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let socket = place.socket.as_raw_fd();
        let (own, peer): (SockaddrStorage, SockaddrStorage) = (getsockname(socket)?, getpeername(socket)?);
        // SAFETY: zeros are a valid address of no family.
        let nobody: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        // SAFETY: an address of no family dissolves the socket's association; the call reads
        // as many bytes as it is given.
        let answer = unsafe { libc::connect(socket, (&raw const nobody).cast(), size_of::<libc::sockaddr>() as u32) };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        // A port that the kernel chose goes with the association (__udp_disconnect() in the
        // kernel's net/ipv4/udp.c); the peer knows it.
        let now: SockaddrStorage = getsockname(socket)?;
        if now != own {
            bind(socket, &own)?;
        }
        Ok(Self { peer, from: nobody })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        // SAFETY: the message and the address are readable for their lengths and outlive the
        // call. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        Moved::from_call(unsafe {
            libc::sendto(socket, message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL, self.peer.as_ptr(), self.peer.len())
        })
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        loop {
            let mut length = size_of::<libc::sockaddr_storage>() as u32;
            // SAFETY: the room and the address are writable for their lengths and outlive the call.
            let moved = Moved::from_call(unsafe {
                libc::recvfrom(socket, room.as_mut_ptr().cast(), room.len(), flags, (&raw mut self.from).cast(), &raw mut length)
            });
            if moved.0 < 0 || self.is_from_peer(length) {
                return moved;
            }
        }
    }
}

impl SendtoRecvfrom {
    #[inline(always)]
    fn is_from_peer(&self, length: u32) -> bool {
        // SAFETY: the kernel wrote `length` bytes of an address, at most those that are there.
        let from = unsafe { SockaddrStorage::from_raw((&raw const self.from).cast(), Some(length)) };
        from == Some(self.peer)
    }
}
