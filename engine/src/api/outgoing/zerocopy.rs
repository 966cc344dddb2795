//! One `send` system call a message, from the program's own pages.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use super::completions::Completions;
use super::one_message::{Call, OneMessage};
use super::send::send_with;
use crate::api::{Moved, Place, ZeroCopy};

/// `send(2)` with `MSG_ZEROCOPY`, and the notices that the kernel is done with the memory.
/// Nothing is written to it meanwhile: the next message is sent before they have come.
pub type Zerocopy = OneMessage<ZerocopyCall>;

/// The call, and its notices.
#[derive(Debug)]
pub struct ZerocopyCall {
    completions: Completions,
}

impl Call for ZerocopyCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { completions: Completions::of(place.socket.as_raw_fd())? })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        send_lent(socket, message, &mut self.completions)
    }

    fn flush(&mut self, socket: RawFd) -> Moved {
        self.completions.take(socket);
        Moved(0)
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        Some(self.completions.seen())
    }
}

/// `send(2)` with `MSG_ZEROCOPY`. Where the kernel keeps too many notices, it is as if it
/// had no room; where it keeps none, the message is more than it lets a user lock.
#[inline(always)]
pub fn send_lent(socket: RawFd, message: &[u8], completions: &mut Completions) -> Moved {
    let moved = send_with(socket, message, libc::MSG_ZEROCOPY);
    if moved.0 > 0 {
        completions.after_send(socket);
    } else if moved.0 == -(libc::ENOBUFS as isize) && completions.are_outstanding() {
        completions.wait(socket);
        return Moved::NOTHING;
    }
    moved
}
