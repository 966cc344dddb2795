//! Asking again and again instead of waiting in a call.

use std::os::fd::{BorrowedFd, OwnedFd};

use model::Nanos;

use super::{Api, Batch, Moved, Transmit, TransmitPart};
use crate::clock;

/// Receives without waiting in the kernel, over and over until something has come.
#[derive(Debug)]
pub struct Spinning<A> {
    inner: A,
    longest: Nanos,
}

impl<A> Spinning<A> {
    /// A call ends after `longest` with nothing, so that its loop can look at the stage.
    pub const fn new(inner: A, longest: Nanos) -> Self {
        Self { inner, longest }
    }
}

impl<A: Transmit> Transmit for Spinning<A> {
    #[inline(always)]
    fn send(&mut self, from: usize) -> Moved {
        self.inner.send(from)
    }
}

impl<A: TransmitPart> TransmitPart for Spinning<A> {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        self.inner.send_part(from, to)
    }
}

impl<A: Api> Api for Spinning<A> {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> Moved {
        let mut since = None;
        loop {
            let moved = self.inner.receive_now(limit);
            if moved.0 != -(libc::EAGAIN as isize) {
                return moved;
            }
            let now = clock::monotonic();
            if now.since(*since.get_or_insert(now)) >= self.longest {
                return moved;
            }
            std::hint::spin_loop();
        }
    }

    fn receive_now(&mut self, limit: usize) -> Moved {
        self.inner.receive_now(limit)
    }

    fn message(&mut self) -> &mut [u8] {
        self.inner.message()
    }

    fn room(&self) -> &[u8] {
        self.inner.room()
    }

    fn socket(&self) -> &OwnedFd {
        self.inner.socket()
    }

    fn waits_on(&self) -> BorrowedFd<'_> {
        self.inner.waits_on()
    }

    fn batch(&mut self) -> Option<&mut dyn Batch> {
        self.inner.batch()
    }

    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        self.inner.take_calls()
    }

    #[inline(always)]
    fn flush(&mut self) -> Moved {
        self.inner.flush()
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        self.inner.drops()
    }

    fn largest(&self) -> Option<usize> {
        self.inner.largest()
    }
}
