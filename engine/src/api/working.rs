//! An application's own work before each message.

use std::os::fd::OwnedFd;

use model::Nanos;

use super::{Api, Moved, Transmit, TransmitPart};
use crate::clock;

/// Computes for a time before each send.
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

    #[inline(always)]
    fn work(&self) {
        let end = clock::monotonic() + self.work;
        while clock::monotonic() < end {
            std::hint::spin_loop();
        }
    }
}

impl<A: Transmit> Transmit for Working<A> {
    #[inline(always)]
    fn send(&mut self, from: usize) -> Moved {
        self.work();
        self.inner.send(from)
    }
}

impl<A: TransmitPart> TransmitPart for Working<A> {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        self.work();
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
}
