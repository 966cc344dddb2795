//! Ways of sending with one call for one message.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::api::{Buffer, Moved, Open, Outgoing, Place, ZeroCopy};

/// The call, on memory that it does not hold.
pub trait Call: Sized {
    /// System calls of a message.
    const SYSTEM_CALLS: u64 = 1;

    /// Readies the socket for it.
    ///
    /// # Errors
    /// Whatever keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Hands over a message, or a part of one.
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved;

    /// Hands over what is held back.
    #[inline(always)]
    fn flush(&mut self, _socket: RawFd) -> Moved {
        Moved(0)
    }

    /// Says that no message comes any more.
    fn end(&mut self) {}

    /// Where it lends its memory to the kernel: what became of that.
    fn zero_copy(&self) -> Option<ZeroCopy> {
        None
    }
}

/// A way of sending with such a call.
#[derive(Debug)]
pub struct OneMessage<C> {
    socket: RawFd,
    message: Buffer,
    call: C,
}

impl<C: Call> Open for OneMessage<C> {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { call: C::open(place)?, message: place.message(), socket: place.socket.as_raw_fd() })
    }
}

impl<C: Call> Outgoing for OneMessage<C> {
    #[inline(always)]
    fn send_span(&mut self, _place: usize, from: usize, to: usize) -> Moved {
        let to = to.min(self.message.len());
        self.call.send(self.socket, &self.message[from.min(to)..to])
    }

    fn message_at(&mut self, _place: usize) -> &mut [u8] {
        &mut self.message
    }

    #[inline(always)]
    fn flush(&mut self) -> Moved {
        self.call.flush(self.socket)
    }

    fn end(&mut self) {
        self.call.end();
    }

    fn system_calls(&self) -> u64 {
        C::SYSTEM_CALLS
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        self.call.zero_copy()
    }
}
