//! One `read` system call for what has come through a pipe.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use super::is_readable;
use super::one_room::{Fetch, OneRoom};
use crate::api::{Moved, Place};
use crate::wake::Alarm;

/// `read(2)` from the pipe that joins the ends.
pub type Read = OneRoom<ReadCall>;

/// The call, and the end of the pipe.
#[derive(Debug)]
pub struct ReadCall {
    pipe: OwnedFd,
    _alarm: Alarm,
}

impl Fetch for ReadCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { pipe: place.passed()?, _alarm: Alarm::every(place.patience)? })
    }

    #[inline(always)]
    fn receive(&mut self, _socket: RawFd, room: &mut [u8], flags: libc::c_int) -> Moved {
        let pipe = self.pipe.as_raw_fd();
        // A read waits unless the pipe itself is told not to, for all calls.
        if flags & libc::MSG_DONTWAIT != 0 && !is_readable(pipe) {
            return Moved::NOTHING;
        }
        // SAFETY: `room` is writable for its length and outlives the call.
        Moved::from_syscall(unsafe { libc::syscall(libc::SYS_read, pipe, room.as_mut_ptr(), room.len()) })
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.pipe.as_fd())
    }
}
