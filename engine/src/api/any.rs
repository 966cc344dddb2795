//! Ways that are looked up with each call, in the hands of an application with habits: work
//! before each message, and its way of waiting for what is to come.

use std::os::fd::{BorrowedFd, OwnedFd};

use model::Nanos;
use model::end::Counts;
use sys::clock::spin_for;

use super::{Batching, CallOutcome, Incoming, LoopEnd, Outgoing, Wait, ZeroCopy, plain};
use crate::injection::Copier;
use crate::stage::{Part, Stage};

/// Any way of sending.
pub struct AnyOutgoing {
    pub(super) way: Box<dyn Outgoing>,
    /// Time that the application computes before each message; the loop of batches does so itself.
    pub(super) work: Nanos,
    /// What it copies from the kernel before each message.
    pub(super) copier: Option<Copier>,
}

/// Any way of receiving.
pub struct AnyIncoming {
    pub(super) way: Box<dyn Incoming>,
    /// `None`: the application waits in the receive call.
    pub(super) wait: Option<Wait>,
}

impl Outgoing for AnyOutgoing {
    fn send_until(&mut self, size: usize, stage: &Stage, part: Part, limit: u64) -> Counts {
        match self.work == Nanos::default() && self.copier.is_none() {
            true => self.way.send_until(size, stage, part, limit),
            false => plain::send_until(self, size, stage, part, limit),
        }
    }

    #[inline(always)]
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> CallOutcome {
        if self.work > Nanos::default() {
            spin_for(self.work);
        }
        if let Some(copier) = &mut self.copier {
            copier.copy();
        }
        self.way.send_span(place, from, to)
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        self.way.message_at(place)
    }

    fn batching(&mut self) -> Option<&mut dyn Batching> {
        self.way.batching()
    }

    #[inline(always)]
    fn flush(&mut self) -> CallOutcome {
        self.way.flush()
    }

    fn end(&mut self) {
        self.way.end();
    }

    fn leaves_by(&self) -> Option<&OwnedFd> {
        self.way.leaves_by()
    }

    fn system_calls(&self) -> u64 {
        self.way.system_calls()
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        self.way.zero_copy()
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        self.way.drops()
    }
}

impl Incoming for AnyIncoming {
    fn receive_while(&mut self, datagrams: bool, room: usize, stage: &Stage, part: Part, enough: u64) -> (Counts, LoopEnd) {
        match self.wait {
            None => self.way.receive_while(datagrams, room, stage, part, enough),
            Some(_) => plain::receive(self, datagrams, room, stage, part, enough),
        }
    }

    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        match &mut self.wait {
            Some(habit) if wait => habit.receive(&mut *self.way, limit),
            _ => self.way.receive(limit, wait),
        }
    }

    fn last(&self) -> &[u8] {
        self.way.last()
    }

    fn has_more(&self) -> bool {
        self.way.has_more()
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        self.way.take_alike(most)
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        self.way.waits_on()
    }

    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        self.way.take_calls()
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        self.way.drops()
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        self.way.zero_copy()
    }
}
