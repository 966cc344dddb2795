//! An api of two halves: a way of sending and a way of receiving, over a flow's socket.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use model::Nanos;
use model::end::Counts;

use super::any::{AnyIncoming, AnyOutgoing};
use super::{Api, Batching, CallOutcome, Incoming, LoopEnd, Outgoing, Place, Receive, Transmit, Wait, ZeroCopy};
use crate::injection::Copier;
use crate::stage::{Part, Stage};

/// A way of sending with a way of receiving: any with any, whose calls are looked up, or two that are named.
pub struct Halves<O = AnyOutgoing, I = AnyIncoming> {
    outgoing: O,
    incoming: I,
    // Last: the halves use it as long as they live.
    socket: OwnedFd,
}

impl<O, I> std::fmt::Debug for Halves<O, I> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Halves").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl<O, I> Halves<O, I> {
    /// Puts two halves together that were opened at a place.
    pub fn new(outgoing: O, incoming: I, place: Place<'_>) -> Self {
        Self { outgoing, incoming, socket: place.socket }
    }
}

impl Halves {
    /// The same of any, without habits.
    pub fn of_any(outgoing: Box<dyn Outgoing>, incoming: Box<dyn Incoming>, place: Place<'_>) -> Self {
        let outgoing = AnyOutgoing { way: outgoing, work: Nanos::default(), copier: None };
        Self::new(outgoing, AnyIncoming { way: incoming, wait: None }, place)
    }

    /// Gives habits to its user.
    pub fn set_habits(&mut self, work: Nanos, copier: Option<Copier>, wait: Option<Wait>) {
        (self.outgoing.work, self.outgoing.copier, self.incoming.wait) = (work, copier, wait);
    }
}

impl<O: Outgoing, I> Transmit for Halves<O, I> {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> CallOutcome {
        self.outgoing.send_span(0, from, to)
    }
}

impl<O, I: Incoming> Receive for Halves<O, I> {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> CallOutcome {
        self.incoming.receive(limit, true)
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        self.incoming.take_alike(most)
    }

    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        self.incoming.take_calls()
    }
}

impl<O: Outgoing, I: Incoming> Api for Halves<O, I> {
    fn send_until(&mut self, size: usize, stage: &Stage, part: Part, limit: u64) -> Counts {
        self.outgoing.send_until(size, stage, part, limit)
    }

    fn receive_while(&mut self, datagrams: bool, room: usize, stage: &Stage, part: Part, enough: u64) -> (Counts, LoopEnd) {
        self.incoming.receive_while(datagrams, room, stage, part, enough)
    }

    #[inline(always)]
    fn receive_now(&mut self, limit: usize) -> CallOutcome {
        self.incoming.receive(limit, false)
    }

    fn message(&mut self) -> &mut [u8] {
        self.outgoing.message_at(0)
    }

    fn room(&self) -> &[u8] {
        self.incoming.last()
    }

    fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    fn waits_on(&self) -> BorrowedFd<'_> {
        self.incoming.waits_on().unwrap_or_else(|| self.socket.as_fd())
    }

    fn batch(&mut self) -> Option<&mut dyn Batching> {
        self.outgoing.batching()
    }

    #[inline(always)]
    fn flush(&mut self) -> CallOutcome {
        self.outgoing.flush()
    }

    fn end(&mut self) {
        self.outgoing.end();
    }

    fn leaves_by(&self) -> &OwnedFd {
        self.outgoing.leaves_by().unwrap_or(&self.socket)
    }

    fn system_calls(&self) -> u64 {
        self.outgoing.system_calls()
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        self.outgoing.zero_copy().or_else(|| self.incoming.zero_copy())
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        [self.outgoing.drops(), self.incoming.drops()].concat()
    }
}
