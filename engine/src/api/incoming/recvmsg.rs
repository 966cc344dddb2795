//! One `recvmsg` system call a message.

use std::io;
use std::os::fd::RawFd;

use super::one_room::{Fetch, OneRoom};
use crate::api::{Moved, Place, headers};

/// `recvmsg(2)`, with one piece of memory and no control data.
pub type Recvmsg = OneRoom<RecvmsgCall>;

/// The call.
#[derive(Debug)]
pub struct RecvmsgCall;

impl Fetch for RecvmsgCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        let mut piece = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        let mut header = headers::of_one(&mut piece);
        // SAFETY: the header has one piece, writable for its length; all outlive the call.
        Moved::from_syscall(unsafe { libc::syscall(libc::SYS_recvmsg, socket, &raw mut header, flags) })
    }
}
