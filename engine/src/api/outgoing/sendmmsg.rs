//! Many messages with one `sendmmsg` system call.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use super::many_messages::{BatchCall, ManyMessages};
use crate::api::headers::Headers;
use crate::api::{Handed, Moved, Place};

/// `sendmmsg(2)`, with a header for each message.
pub type Sendmmsg = ManyMessages<SendmmsgCall>;

/// The call, and its socket.
#[derive(Debug)]
pub struct SendmmsgCall(RawFd);

impl BatchCall for SendmmsgCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self(place.socket.as_raw_fd()))
    }

    fn send(&mut self, messages: &mut Headers, places: Range<usize>) -> Handed {
        let first = places.start;
        let headers = &mut messages.all()[places];
        // SAFETY: every header points to its own iovec, and that to bytes that are
        // readable for its length; all outlive the call. MSG_NOSIGNAL: a vanished peer is
        // an errno, not a signal.
        let answer = unsafe { libc::syscall(libc::SYS_sendmmsg, self.0, headers.as_mut_ptr(), headers.len(), libc::MSG_NOSIGNAL) };
        let answer = Moved::from_syscall(answer);
        if answer.0 <= 0 {
            return Handed { next: answer, ..Handed::default() };
        }
        // Of a byte stream the last of them may be cut short; the call then ends with it.
        let last = first + answer.0 as usize - 1;
        let (moved, whole) = (messages.moved(last), messages.asked(last));
        match moved < whole {
            true => Handed { messages: last - first, calls: 1, next: Moved(moved as isize) },
            false => Handed { messages: last - first + 1, calls: 1, next: Moved(0) },
        }
    }
}
