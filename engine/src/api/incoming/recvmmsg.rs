//! Many datagrams with one `recvmmsg` system call.

use std::os::fd::{AsRawFd, RawFd};
use std::{io, ptr};

use super::many_messages::{FetchMany, ManyMessages};
use crate::api::headers::Headers;
use crate::api::{Moved, Place};

/// `recvmmsg(2)`, which waits for the first datagram alone.
pub type Recvmmsg = ManyMessages<RecvmmsgCall>;

/// The call, and the datagrams of the last one.
#[derive(Debug)]
pub struct RecvmmsgCall {
    socket: RawFd,
    rooms: Headers,
    /// Datagrams that the last call fetched, and those of them handed out.
    fetched: usize,
    handed_out: usize,
}

impl FetchMany for RecvmmsgCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { socket: place.socket.as_raw_fd(), rooms: place.rooms(place.batch()), fetched: 0, handed_out: 0 })
    }

    fn fetch(&mut self, wait: bool) -> Moved {
        let headers = self.rooms.all();
        let flags = libc::MSG_WAITFORONE | if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: every header points to its own iovec, and that to as many writable
        // bytes as it says; all outlive the call. No time limit is given.
        let answer = unsafe {
            libc::syscall(libc::SYS_recvmmsg, self.socket, headers.as_mut_ptr(), headers.len(), flags, ptr::null::<libc::timespec>())
        };
        let moved = Moved::from_syscall(answer);
        if moved.0 > 0 {
            (self.fetched, self.handed_out) = (moved.0 as usize, 0);
        }
        moved
    }

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let length = self.has_more().then(|| self.rooms.moved(self.handed_out))?;
        self.handed_out += 1;
        Some(length)
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.handed_out < self.fetched
    }

    fn last(&self) -> &[u8] {
        self.rooms.place(self.handed_out.saturating_sub(1))
    }
}
