//! One `recv` system call that throws away what has come.

use std::io;
use std::os::fd::RawFd;

use super::one_room::{Fetch, OneRoom};
use super::recv::receive_with;
use crate::api::{Moved, Place};

/// `recv(2)` with `MSG_TRUNC`: the kernel hands over no bytes of a TCP stream and counts
/// them as taken. What is left is the cost without the receiver's copy.
pub type Trunc = OneRoom<TruncCall>;

/// The call.
#[derive(Debug)]
pub struct TruncCall;

impl Fetch for TruncCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        receive_with(socket, room, flags | libc::MSG_TRUNC)
    }
}
