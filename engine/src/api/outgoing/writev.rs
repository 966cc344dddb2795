//! Many messages of a byte stream with one `writev` system call.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use super::many_messages::{BatchCall, ManyMessages};
use crate::api::headers::Headers;
use crate::api::{Handed, Moved, Place};

/// `writev(2)` of a piece of memory for each message.
pub type Writev = ManyMessages<WritevCall>;

/// The call, and its socket.
#[derive(Debug)]
pub struct WritevCall(RawFd);

impl BatchCall for WritevCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self(place.socket.as_raw_fd()))
    }

    fn send(&mut self, messages: &mut Headers, places: Range<usize>) -> Handed {
        let pieces = messages.pieces(places.clone());
        // SAFETY: every piece is readable for its length; all outlive the call. A peer that
        // has vanished is an errno: the endpoint's process ignores SIGPIPE.
        let answer = Moved::from_syscall(unsafe { libc::syscall(libc::SYS_writev, self.0, pieces.as_ptr(), pieces.len()) });
        if answer.0 <= 0 {
            return Handed { next: answer, ..Handed::default() };
        }
        let mut left = answer.0 as usize;
        let whole = places.take_while(|place| {
            let asked = messages.asked(*place);
            let went = asked <= left;
            left -= if went { asked } else { 0 };
            went
        });
        Handed { messages: whole.count(), calls: 1, next: Moved(left as isize) }
    }
}
