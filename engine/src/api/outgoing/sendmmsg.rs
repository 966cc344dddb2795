//! Many messages with one `sendmmsg` system call.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use crate::api::headers::Headers;
use crate::api::{Handed, Moved, Open, Outgoing, Place};

/// `sendmmsg(2)`, with a header for each message.
#[derive(Debug)]
pub struct Sendmmsg {
    socket: RawFd,
    messages: Headers,
}

impl Open for Sendmmsg {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { socket: place.socket.as_raw_fd(), messages: place.messages(place.batch()) })
    }
}

impl Sendmmsg {
    /// One call for the messages at `places`; answers how many it took.
    #[inline(always)]
    fn call(&mut self, places: Range<usize>) -> Moved {
        let headers = &mut self.messages.all()[places];
        // SAFETY: every header points to its own iovec, and that to bytes that are
        // readable for its length; all outlive the call. MSG_NOSIGNAL: a vanished peer is
        // an errno, not a signal.
        let answer = unsafe { libc::sendmmsg(self.socket, headers.as_mut_ptr(), headers.len() as libc::c_uint, libc::MSG_NOSIGNAL) };
        Moved::from_call(answer as isize)
    }
}

impl Outgoing for Sendmmsg {
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> Moved {
        let whole = self.messages.asked(place);
        self.messages.set_span(place, from, to.min(whole));
        let answer = self.call(place..place + 1);
        let moved = if answer.0 == 1 { Moved(self.messages.moved(place) as isize) } else { answer };
        self.messages.set_span(place, 0, whole);
        moved
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        self.messages.place_mut(place)
    }

    fn capacity(&self) -> usize {
        self.messages.count()
    }

    fn set_length(&mut self, place: usize, length: usize) {
        self.messages.set_span(place, 0, length);
    }

    fn send_batch(&mut self, places: Range<usize>) -> Handed {
        let first = places.start;
        let answer = self.call(places);
        if answer.0 <= 0 {
            return Handed { next: answer, ..Handed::default() };
        }
        // Of a byte stream the last of them may be cut short; the call then ends with it.
        let last = first + answer.0 as usize - 1;
        let (moved, whole) = (self.messages.moved(last), self.messages.asked(last));
        match moved < whole {
            true => Handed { messages: last - first, calls: 1, next: Moved(moved as isize) },
            false => Handed { messages: last - first + 1, calls: 1, next: Moved(0) },
        }
    }
}
