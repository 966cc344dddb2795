//! One `sendmsg` system call a message.

use std::io;
use std::os::fd::RawFd;

use super::one_message::{Call, OneMessage};
use crate::api::{Moved, Place, headers};

/// `sendmsg(2)`, with one piece of memory and no control data.
pub type Sendmsg = OneMessage<SendmsgCall>;

/// The call.
#[derive(Debug)]
pub struct SendmsgCall;

impl Call for SendmsgCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        let mut piece = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
        let header = headers::of_one(&mut piece);
        // SAFETY: the header has one piece, readable for its length, which the call does not
        // write; all outlive it. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        Moved::from_syscall(unsafe { libc::syscall(libc::SYS_sendmsg, socket, &raw const header, libc::MSG_NOSIGNAL) })
    }
}
