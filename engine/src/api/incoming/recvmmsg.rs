//! Many datagrams with one `recvmmsg` system call.

use std::os::fd::{AsRawFd, RawFd};
use std::{io, mem, ptr};

use crate::api::headers::Headers;
use crate::api::{Incoming, Moved, Open, Place};

/// `recvmmsg(2)`, which waits for the first datagram alone.
///
/// A fetch counts as a call where it is made, its datagrams as messages where they are
/// handed out. What one fetch took may so lie on both sides of an edge of the measured
/// window: at most `batch` - 1 messages that were fetched before an edge are counted
/// after it. They come in at the start and go out at the end, so that the window's
/// messages are wrong by less than `batch` either way; the totals of a trial are exact.
#[derive(Debug)]
pub struct Recvmmsg {
    socket: RawFd,
    rooms: Headers,
    /// Datagrams that the last call fetched, and those of them handed out.
    fetched: usize,
    handed_out: usize,
    /// Calls that moved data and have not been told.
    calls: u64,
}

impl Open for Recvmmsg {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (socket, rooms) = (place.socket.as_raw_fd(), place.rooms(place.batch()));
        Ok(Self { socket, rooms, fetched: 0, handed_out: 0, calls: 0 })
    }
}

impl Recvmmsg {
    fn fetch(&mut self, wait: bool) -> Moved {
        let headers = self.rooms.all();
        let flags = libc::MSG_WAITFORONE | if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: every header points to its own iovec, and that to as many writable
        // bytes as it says; all outlive the call. No time limit is given.
        let answer = unsafe { libc::recvmmsg(self.socket, headers.as_mut_ptr(), headers.len() as libc::c_uint, flags, ptr::null_mut()) };
        let moved = Moved::from_call(answer as isize);
        if moved.0 > 0 {
            (self.fetched, self.handed_out) = (moved.0 as usize, 0);
            self.calls += 1;
        }
        moved
    }
}

impl Incoming for Recvmmsg {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> Moved {
        if self.handed_out == self.fetched {
            let answer = self.fetch(wait);
            if answer.0 <= 0 {
                return answer;
            }
        }
        let length = self.rooms.moved(self.handed_out).min(limit);
        self.handed_out += 1;
        Moved(length as isize)
    }

    fn last(&self) -> &[u8] {
        self.rooms.place(self.handed_out.saturating_sub(1))
    }

    fn has_more(&self) -> bool {
        self.handed_out < self.fetched
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(mem::take(&mut self.calls))
    }
}
