//! Many messages of a byte stream with one `writev` system call.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use crate::api::headers::Headers;
use crate::api::{Handed, Moved, Open, Outgoing, Place};

/// `writev(2)` of a piece of memory for each message.
#[derive(Debug)]
pub struct Writev {
    socket: RawFd,
    messages: Headers,
}

impl Open for Writev {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { socket: place.socket.as_raw_fd(), messages: place.messages(place.batch()) })
    }
}

impl Writev {
    /// One call for the messages at `places`; answers their bytes.
    fn call(&self, places: Range<usize>) -> Moved {
        let pieces = self.messages.pieces(places);
        // SAFETY: every piece is readable for its length; all outlive the call. A peer that
        // has vanished is an errno: the endpoint's process ignores SIGPIPE.
        Moved::from_call(unsafe { libc::writev(self.socket, pieces.as_ptr(), pieces.len() as libc::c_int) })
    }
}

impl Outgoing for Writev {
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> Moved {
        let whole = self.messages.asked(place);
        self.messages.set_span(place, from, to.min(whole));
        let moved = self.call(place..place + 1);
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
        let answer = self.call(places.clone());
        if answer.0 <= 0 {
            return Handed { next: answer, ..Handed::default() };
        }
        let mut left = answer.0 as usize;
        let whole = places.take_while(|place| {
            let asked = self.messages.asked(*place);
            let went = asked <= left;
            left -= if went { asked } else { 0 };
            went
        });
        Handed { messages: whole.count(), calls: 1, next: Moved(left as isize) }
    }
}
