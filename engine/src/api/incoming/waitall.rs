//! One `recv` system call that returns when all that it asked for has come.

use std::io;
use std::os::fd::RawFd;

use super::one_room::{Fetch, OneRoom};
use super::recv::receive_with;
use crate::api::{Moved, Place};

/// `recv(2)` with `MSG_WAITALL`. What has come by the time limit of a call, or before the
/// end of the stream, is returned as it is.
pub type Waitall = OneRoom<WaitallCall>;

/// The call.
#[derive(Debug)]
pub struct WaitallCall;

impl Fetch for WaitallCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn receive(&mut self, socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        receive_with(socket, room, flags | libc::MSG_WAITALL)
    }
}
