//! An application's own work before each message.

use std::os::fd::{BorrowedFd, OwnedFd};

use model::Nanos;

use super::{Api, Batch, Moved, Transmit, TransmitPart};
use crate::clock;

/// Computes for a time before each send. The loop of batches does it before each
/// of their messages itself.
#[derive(Debug)]
pub struct Working<A> {
    inner: A,
    work: Nanos,
}

impl<A> Working<A> {
    /// Looks at the clock for `work` before each send.
    pub const fn new(inner: A, work: Nanos) -> Self {
        Self { inner, work }
    }
}

/// Looks at the clock until `work` has passed.
#[inline(always)]
pub fn work_for(work: Nanos) {
    let end = clock::monotonic() + work;
    while clock::monotonic() < end {
        std::hint::spin_loop();
    }
}

impl<A: Transmit> Transmit for Working<A> {
    #[inline(always)]
    fn send(&mut self, from: usize) -> Moved {
        work_for(self.work);
        self.inner.send(from)
    }
}

impl<A: TransmitPart> TransmitPart for Working<A> {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        work_for(self.work);
        self.inner.send_part(from, to)
    }
}

impl<A: Api> Api for Working<A> {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> Moved {
        self.inner.receive(limit)
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
