//! Habits of an application around its calls: work before each message, and its way of
//! waiting for what is to come.

use std::os::fd::{BorrowedFd, OwnedFd};

use model::Nanos;
use model::end::Counts;
use sys::clock::spin_for;

use super::{Api, Batching, CallOutcome, Halves, LoopEnd, Receive, Transmit, TransmitPart, Wait, ZeroCopy, plain};
use crate::injection::Copier;
use crate::stage::{Part, Stage};

/// An api in the hands of an application with habits.
#[derive(Debug)]
pub struct With {
    /// Time that it computes before each message; the loop of batches does so itself.
    work: Nanos,
    /// What it copies from the kernel before each message.
    copier: Option<Copier>,
    /// `None`: it waits in the receive call.
    wait: Option<Wait>,
    inner: Halves,
}

impl With {
    /// Gives habits to the user of an api.
    pub const fn new(work: Nanos, copier: Option<Copier>, wait: Option<Wait>, inner: Halves) -> Self {
        Self { work, copier, wait, inner }
    }

    #[inline(always)]
    fn before_send(&mut self) {
        if self.work > Nanos::default() {
            spin_for(self.work);
        }
        if let Some(copier) = &mut self.copier {
            copier.copy();
        }
    }
}

impl Transmit for With {
    #[inline(always)]
    fn send(&mut self, from: usize) -> CallOutcome {
        self.before_send();
        self.inner.send(from)
    }
}

impl TransmitPart for With {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> CallOutcome {
        self.before_send();
        self.inner.send_part(from, to)
    }
}

impl Receive for With {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> CallOutcome {
        match &mut self.wait {
            None => self.inner.receive(limit),
            Some(wait) => wait.receive(&mut self.inner, limit),
        }
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        self.inner.take_alike(most)
    }

    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        self.inner.take_calls()
    }
}

impl Api for With {
    fn send_until(&mut self, size: usize, stage: &Stage, part: Part, limit: u64) -> Counts {
        plain::send_until(self, size, stage, part, limit)
    }

    fn receive_while(&mut self, datagrams: bool, room: usize, stage: &Stage, part: Part, enough: u64) -> (Counts, LoopEnd) {
        plain::receive(self, datagrams, room, stage, part, enough)
    }

    fn receive_now(&mut self, limit: usize) -> CallOutcome {
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

    fn batch(&mut self) -> Option<&mut dyn Batching> {
        self.inner.batch()
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.inner.has_more()
    }

    #[inline(always)]
    fn flush(&mut self) -> CallOutcome {
        self.inner.flush()
    }

    fn end(&mut self) {
        self.inner.end();
    }

    fn leaves_by(&self) -> &OwnedFd {
        self.inner.leaves_by()
    }

    fn system_calls(&self) -> u64 {
        self.inner.system_calls()
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        self.inner.zero_copy()
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        self.inner.drops()
    }
}
