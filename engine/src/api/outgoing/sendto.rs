//! One `sendto` system call a message, on a socket that is not connected.

use std::io;
use std::os::fd::RawFd;

use nix::sys::socket::{SockaddrLike, SockaddrStorage};

use super::one_message::{Call, OneMessage};
use crate::api::{Moved, Place};

/// `sendto(2)` to the peer's address: the kernel looks up the route of every message.
pub type Sendto = OneMessage<SendtoCall>;

/// The call, and whom it is for.
#[derive(Debug)]
pub struct SendtoCall {
    peer: SockaddrStorage,
}

impl Call for SendtoCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { peer: place.disconnected()? })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        // SAFETY: the message and the address are readable for their lengths and outlive the
        // call. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        Moved::from_syscall(unsafe {
            libc::syscall(
                libc::SYS_sendto,
                socket,
                message.as_ptr(),
                message.len(),
                libc::MSG_NOSIGNAL,
                self.peer.as_ptr(),
                self.peer.len(),
            )
        })
    }
}
