//! Ways of sending with one call for many messages.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use crate::api::headers::Headers;
use crate::api::{BatchOutcome, Batching, CallOutcome, Open, Outgoing, Place, ZeroCopy};

/// The call, on memory that it does not hold.
pub trait BatchCall: Sized {
    /// Readies the socket for it.
    ///
    /// # Errors
    /// A refusal that keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Hands over the messages at `places`, at least one, in this order.
    fn send(&mut self, messages: &mut Headers, places: Range<usize>) -> BatchOutcome;

    /// Hands over what is held back.
    #[inline(always)]
    fn flush(&mut self) -> CallOutcome {
        CallOutcome(0)
    }

    /// Where it lends its memory to the kernel: what became of that.
    fn zero_copy(&self) -> Option<ZeroCopy> {
        None
    }
}

/// A way of sending with such a call: a place in memory for each message of a batch.
#[derive(Debug)]
pub struct ManyMessages<C> {
    // Before the messages: it may have lent them to the kernel.
    call: C,
    messages: Headers,
}

impl<C: BatchCall> Open for ManyMessages<C> {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { call: C::open(place)?, messages: place.messages(place.batch()) })
    }
}

impl<C: BatchCall> Outgoing for ManyMessages<C> {
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> CallOutcome {
        let whole = self.messages.asked(place);
        self.messages.set_span(place, from, to.min(whole));
        let asked = self.messages.asked(place);
        let handed = self.call.send(&mut self.messages, place..place + 1);
        self.messages.set_span(place, 0, whole);
        if handed.messages == 1 { CallOutcome(asked as isize) } else { handed.next }
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        self.messages.place_mut(place)
    }

    fn batching(&mut self) -> Option<&mut dyn Batching> {
        if self.messages.count() > 1 { Some(self) } else { None }
    }

    fn flush(&mut self) -> CallOutcome {
        self.call.flush()
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        self.call.zero_copy()
    }
}

impl<C: BatchCall> Batching for ManyMessages<C> {
    fn capacity(&self) -> usize {
        self.messages.count()
    }

    fn set_length(&mut self, place: usize, length: usize) {
        self.messages.set_span(place, 0, length);
    }

    fn send_batch(&mut self, places: Range<usize>) -> BatchOutcome {
        self.call.send(&mut self.messages, places)
    }
}

/// `sendmmsg(2)`, with a header for each message.
pub type Sendmmsg = ManyMessages<SendmmsgCall>;

/// The call, and its socket.
#[derive(Debug)]
pub struct SendmmsgCall(RawFd);

impl BatchCall for SendmmsgCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self(place.socket.as_raw_fd()))
    }

    fn send(&mut self, messages: &mut Headers, places: Range<usize>) -> BatchOutcome {
        let first = places.start;
        let headers = &mut messages.all()[places];
        // SAFETY: every header points to its own iovec, and that to bytes that are
        // readable for its length; all outlive the call. MSG_NOSIGNAL: a vanished peer is
        // an errno, not a signal.
        let answer = unsafe { libc::syscall(libc::SYS_sendmmsg, self.0, headers.as_mut_ptr(), headers.len(), libc::MSG_NOSIGNAL) };
        let answer = CallOutcome::from_syscall(answer);
        if answer.0 <= 0 {
            return BatchOutcome { next: answer, ..BatchOutcome::default() };
        }
        // Of a byte stream the last of them may be cut short; the call then ends with it.
        let last = first + answer.0 as usize - 1;
        let (moved, whole) = (messages.moved(last), messages.asked(last));
        match moved < whole {
            true => BatchOutcome { messages: last - first, calls: 1, next: CallOutcome(moved as isize) },
            false => BatchOutcome { messages: last - first + 1, calls: 1, next: CallOutcome(0) },
        }
    }
}

/// `writev(2)` of a piece of memory for each message.
pub type Writev = ManyMessages<WritevCall>;

/// The call, and its socket.
#[derive(Debug)]
pub struct WritevCall(RawFd);

impl BatchCall for WritevCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self(place.socket.as_raw_fd()))
    }

    fn send(&mut self, messages: &mut Headers, places: Range<usize>) -> BatchOutcome {
        let pieces = messages.pieces(places.clone());
        // SAFETY: every piece is readable for its length; all outlive the call. A peer that
        // has vanished is an errno: the endpoint's process ignores SIGPIPE.
        let answer = CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_writev, self.0, pieces.as_ptr(), pieces.len()) });
        if answer.0 <= 0 {
            return BatchOutcome { next: answer, ..BatchOutcome::default() };
        }
        let mut left = answer.0 as usize;
        let whole = places.take_while(|place| {
            let asked = messages.asked(*place);
            let went = asked <= left;
            left -= if went { asked } else { 0 };
            went
        });
        BatchOutcome { messages: whole.count(), calls: 1, next: CallOutcome(left as isize) }
    }
}
