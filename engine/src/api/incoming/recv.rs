//! One `recv` system call a message, or for what has come of a byte stream.

use std::io;
use std::os::fd::RawFd;
use std::ptr;

use super::one_room::{Fetch, OneRoom};
use crate::api::{Moved, Place};

/// Plain `recv(2)`.
pub type Recv = OneRoom<RecvCall>;

/// The call.
#[derive(Debug)]
pub struct RecvCall;

impl Fetch for RecvCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        receive_with(socket, room, flags)
    }
}

/// `recv(2)` with flags.
#[inline(always)]
pub fn receive_with(socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
    let nobody = ptr::null::<libc::sockaddr>();
    // SAFETY: `room` is writable for its length and outlives the call; a descriptor that
    // is not open is an errno.
    Moved::from_syscall(unsafe { libc::syscall(libc::SYS_recvfrom, socket, room.as_mut_ptr(), room.len(), flags, nobody, nobody) })
}
