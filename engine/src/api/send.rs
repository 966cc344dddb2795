//! One `send` or `recv` system call a message.

use std::io;
use std::os::fd::RawFd;

use super::one_call::{Calls, OneCall};
use super::{Moved, Place};

/// Plain `send(2)` and `recv(2)`.
pub type Send = OneCall<SendRecv>;

/// The two calls.
#[derive(Debug)]
pub struct SendRecv;

impl Calls for SendRecv {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        send_with(socket, message, 0)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        receive_with(socket, room, flags)
    }
}

/// `send(2)` with flags.
#[inline(always)]
pub fn send_with(socket: RawFd, message: &[u8], flags: libc::c_int) -> Moved {
    // SAFETY: `message` is readable for its length and outlives the call; a descriptor
    // that is not open is an errno. MSG_NOSIGNAL: so is a vanished peer, and no signal.
    Moved::from_call(unsafe { libc::send(socket, message.as_ptr().cast(), message.len(), flags | libc::MSG_NOSIGNAL) })
}

/// `recv(2)` with flags.
#[inline(always)]
pub fn receive_with(socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
    // SAFETY: `room` is writable for its length and outlives the call; a descriptor that
    // is not open is an errno.
    Moved::from_call(unsafe { libc::recv(socket, room.as_mut_ptr().cast(), room.len(), flags) })
}
