//! Habits of an application around its calls: work before each message, and its way of
//! waiting for what is to come.

use std::os::fd::{BorrowedFd, OwnedFd};

use model::Nanos;

use super::{Api, Batching, Moved, Transmit, TransmitPart, ZeroCopy};
use crate::clock;

/// Habit of an application around its calls.
pub trait Habit {
    /// Comes before each message is sent. The loop of batches does it before each of
    /// their messages itself.
    #[inline(always)]
    fn before_send(&self) {}

    /// Receives with an api.
    #[inline(always)]
    fn receive<A: Api>(&mut self, api: &mut A, limit: usize) -> Moved {
        api.receive(limit)
    }
}

/// Computes for this time before each message.
#[derive(Debug)]
pub struct Work(pub Nanos);

impl Habit for Work {
    #[inline(always)]
    fn before_send(&self) {
        work_for(self.0);
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

/// An api in the hands of an application with a habit.
#[derive(Debug)]
pub struct With<H, A> {
    habit: H,
    inner: A,
}

impl<H: Habit, A> With<H, A> {
    /// Gives the habit to whoever uses the api.
    pub const fn new(habit: H, inner: A) -> Self {
        Self { habit, inner }
    }
}

impl<H: Habit, A: Transmit> Transmit for With<H, A> {
    #[inline(always)]
    fn send(&mut self, from: usize) -> Moved {
        self.habit.before_send();
        self.inner.send(from)
    }
}

impl<H: Habit, A: TransmitPart> TransmitPart for With<H, A> {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        self.habit.before_send();
        self.inner.send_part(from, to)
    }
}

impl<H: Habit, A: Api> Api for With<H, A> {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> Moved {
        self.habit.receive(&mut self.inner, limit)
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

    fn batch(&mut self) -> Option<&mut dyn Batching> {
        self.inner.batch()
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.inner.has_more()
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        self.inner.take_alike(most)
    }

    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        self.inner.take_calls()
    }

    #[inline(always)]
    fn flush(&mut self) -> Moved {
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
