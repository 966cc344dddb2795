//! Ways of sending with one call for many messages.

use std::io;
use std::ops::Range;

use crate::api::headers::Headers;
use crate::api::{Batching, Handed, Moved, Open, Outgoing, Place, ZeroCopy};

/// The call, on memory that it does not hold.
pub trait BatchCall: Sized {
    /// Readies the socket for it.
    ///
    /// # Errors
    /// Whatever keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Hands over the messages at `places`, at least one, in this order.
    fn send(&mut self, messages: &mut Headers, places: Range<usize>) -> Handed;

    /// Hands over what is held back.
    #[inline(always)]
    fn flush(&mut self) -> Moved {
        Moved(0)
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
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> Moved {
        let whole = self.messages.asked(place);
        self.messages.set_span(place, from, to.min(whole));
        let asked = self.messages.asked(place);
        let handed = self.call.send(&mut self.messages, place..place + 1);
        self.messages.set_span(place, 0, whole);
        if handed.messages == 1 { Moved(asked as isize) } else { handed.next }
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        self.messages.place_mut(place)
    }

    fn batching(&mut self) -> Option<&mut dyn Batching> {
        if self.messages.count() > 1 { Some(self) } else { None }
    }

    fn flush(&mut self) -> Moved {
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

    fn send_batch(&mut self, places: Range<usize>) -> Handed {
        self.call.send(&mut self.messages, places)
    }
}
