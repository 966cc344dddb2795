//! One `sendmsg` or `recvmsg` system call a message.

use std::os::fd::RawFd;
use std::{io, mem};

use super::one_call::{Calls, OneCall};
use super::{Moved, Place};

/// `sendmsg(2)` and `recvmsg(2)`, with one piece of memory and no control data.
pub type Sendmsg = OneCall<SendmsgRecvmsg>;

/// The two calls.
#[derive(Debug)]
pub struct SendmsgRecvmsg;

impl Calls for SendmsgRecvmsg {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        let mut piece = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
        let header = header_of(&mut piece);
        // SAFETY: the header has one piece, readable for its length, which the call does not
        // write; all outlive it. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        Moved::from_call(unsafe { libc::sendmsg(socket, &raw const header, libc::MSG_NOSIGNAL) })
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        let mut piece = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let mut header = header_of(&mut piece);
        // SAFETY: the header has one piece, writable for its length; all outlive the call.
        Moved::from_call(unsafe { libc::recvmsg(socket, &raw mut header, flags) })
    }
}

/// A header with one piece of memory, without an address or control data.
#[inline(always)]
fn header_of(piece: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: zeros are a valid header without an address, pieces or control data.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (piece, 1);
    header
}
