//! Apis: ways of handing messages to the kernel and of taking them from it.
//!
//! A new way of sending is a type in `outgoing/` and a row in the table
//! `model::apis!`, a new way of receiving a type in `incoming/` and a row in
//! `model::receives!`. Each implements [`Open`], and [`Outgoing`] or [`Incoming`];
//! [`Halves`] makes an [`Api`] of two of them.

mod any;
mod buffer;
mod frame;
mod halves;
pub(crate) mod headers;
mod incoming;
mod open;
mod outgoing;
mod place;
mod plain;
mod ring;
mod route;
pub(crate) mod shared;
mod trouble;
mod wait;
mod whole;

use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};

pub use buffer::Buffer;
pub use halves::Halves;
pub use incoming::xdp::try_xdp;
use model::Cell;
use model::end::Counts;
pub use model::end::ZeroCopy;
pub use open::{is_usual_pair, open, open_usual_pair, prepare, settle, try_receiving, try_sending};
pub(crate) use outgoing::{Completions, send_lent};
pub use outgoing::{raw, tun};
pub use place::{Carrier, Place};
pub(crate) use plain::count;
pub use plain::{LoopEnd, send_until};
pub use sys::KernelRefusal;
pub(crate) use sys::socket::{get_int, set_int};
pub(crate) use trouble::{DRAIN_LIMIT, Trouble, Verdict, flush, readable};
pub use wait::Wait;
pub(crate) use whole::{finish, send_rest};

use crate::stage::{Part, Stage};

/// Answer of a call: the bytes it moved when positive or zero, a negated errno when negative.
///
/// The kernel's own convention, kept because the hot loop can test it in one
/// comparison and a `Result` would be taken apart again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallOutcome(pub isize);

impl CallOutcome {
    /// Nothing is there, or no room: what a call that does not wait answers.
    pub(crate) const NOTHING: Self = Self(-(libc::EAGAIN as isize));

    /// The answer of a libc call, with the errno fetched when it failed.
    #[inline(always)]
    pub(crate) fn from_call(answer: isize) -> Self {
        if answer >= 0 { Self(answer) } else { Self::from_errno() }
    }

    /// The answer of a system call by its number. In a process with threads, such as an endpoint's,
    /// glibc's own `recv`, `send` and their like are cancellation points, which costs some 40 ns a
    /// call (glibc 2.36, with recv(2) of an empty socket); nothing here is cancelled.
    #[inline(always)]
    pub(crate) fn from_syscall(answer: libc::c_long) -> Self {
        Self::from_call(answer as isize)
    }

    /// The answer of a wait that found nothing: a signal that ended it is no silence.
    #[cold]
    pub(crate) fn of_wait(found: libc::c_int) -> Self {
        if found == 0 { Self::NOTHING } else { Self::from_errno() }
    }

    #[cold]
    fn from_errno() -> Self {
        Self(-(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize))
    }
}

/// The call of the sending loop for each message.
pub trait Transmit {
    /// Hands the message over, from its byte `from` up to `to`, as far as it has them.
    fn send_part(&mut self, from: usize, to: usize) -> CallOutcome;

    /// Hands the message over, from its byte `from` on.
    #[inline(always)]
    fn send(&mut self, from: usize) -> CallOutcome {
        self.send_part(from, usize::MAX)
    }
}

/// The calls of the receiving loop.
pub trait Receive {
    /// Takes one message, or of a stream what has arrived, at most `limit` bytes of
    /// it. Where a call fetches many messages, they are handed out one by one.
    fn receive(&mut self, limit: usize) -> CallOutcome;

    /// Hands out at once further messages, at most so many, that were fetched with the last one and
    /// are as long, where the kernel gave them as one packet. Returns their number.
    fn take_alike(&mut self, most: u64) -> u64;

    /// Kernel calls that moved data since the last time this was asked; `None` where each
    /// answer took one.
    fn take_calls(&mut self) -> Option<u64>;
}

impl<O: Outgoing + ?Sized> Transmit for O {
    #[inline(always)]
    fn send_part(&mut self, from: usize, to: usize) -> CallOutcome {
        self.send_span(0, from, to)
    }
}

impl<I: Incoming + ?Sized> Receive for I {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> CallOutcome {
        Incoming::receive(self, limit, true)
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        Incoming::take_alike(self, most)
    }

    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        Incoming::take_calls(self)
    }
}

/// A way of handing messages to the kernel.
pub trait Outgoing {
    /// Sends messages of `size` bytes, each by a call, while the trial is in `part`, `limit` at most.
    fn send_until(&mut self, size: usize, stage: &Stage, part: Part, limit: u64) -> Counts {
        send_until(self, size, stage, part, limit)
    }

    /// Hands over the message at `place` from its byte `from` up to `to`, as far as it has
    /// them, with a call of its own. A way that hands over one message a call has one place.
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> CallOutcome;

    /// The message at a place, to be marked. Where the cell stamps no message, all places
    /// may be one.
    fn message_at(&mut self, place: usize) -> &mut [u8];

    /// Itself, where one call hands over more than one message.
    fn batching(&mut self) -> Option<&mut dyn Batching> {
        None
    }

    /// Hands over what it still holds back. Loops ask for it before they wait, and
    /// at the end of a part. The answer is an errno, or nothing.
    #[inline(always)]
    fn flush(&mut self) -> CallOutcome {
        CallOutcome(0)
    }

    /// Says that no message comes any more: over what has no socket for it.
    fn end(&mut self) {}

    /// The socket that messages leave by; `None`: the flow's.
    fn leaves_by(&self) -> Option<&OwnedFd> {
        None
    }

    /// System calls that stand behind each call that is counted.
    fn system_calls(&self) -> u64 {
        1
    }

    /// Where it lends its memory to the kernel: what became of that, over the whole trial.
    fn zero_copy(&self) -> Option<ZeroCopy> {
        None
    }

    /// Its own counters of messages that were handed over and dropped, over the whole trial.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A way of handing over many messages with one call, each from a place of its own. A loop
/// calls `send_batch` once a batch, so that call need not be direct.
pub trait Batching: Outgoing {
    /// Number of places: most messages that one call hands over; at least 2.
    fn capacity(&self) -> usize;

    /// Sets the length of the message at a place; it is at most that of the memory there.
    fn set_length(&mut self, place: usize, length: usize);

    /// Hands over the messages at `places`, in this order.
    fn send_batch(&mut self, places: Range<usize>) -> BatchOutcome;
}

/// A way of taking messages from the kernel.
pub trait Incoming {
    /// Receives, each time by a call that waits, while the trial is in `part`, until `enough` datagrams or bytes.
    fn receive_while(&mut self, datagrams: bool, room: usize, stage: &Stage, part: Part, enough: u64) -> (Counts, LoopEnd) {
        plain::receive(self, datagrams, room, stage, part, enough)
    }

    /// Takes one message, or of a stream what has arrived, at most `limit` bytes of
    /// it. Where a call fetches many messages, they are handed out one by one. `wait` says
    /// whether to wait for it.
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome;

    /// The message that was received last.
    fn last(&self) -> &[u8];

    /// Returns whether messages have been fetched that were not handed out, or a call can say
    /// something without waiting.
    #[inline(always)]
    fn has_more(&self) -> bool {
        false
    }

    /// Hands out at once further messages, at most so many, that were fetched with the last one and
    /// are as long, where the kernel gave them as one packet. Returns their number.
    #[inline(always)]
    fn take_alike(&mut self, _most: u64) -> u64 {
        0
    }

    /// The descriptor that is readable when there is something to receive; `None`: the
    /// flow's socket.
    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Kernel calls that moved data since the last time this was asked; `None` where each
    /// answer took one.
    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        None
    }

    /// Its own counters of messages that it dropped, over the whole trial.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Where it is to see the kernel's pages in place: what became of that, in bytes, over
    /// the whole trial.
    fn zero_copy(&self) -> Option<ZeroCopy> {
        None
    }
}

/// Messages that one hand-over of a batch moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchOutcome {
    /// Messages that went whole, from the first place on.
    pub messages: usize,
    /// Kernel calls that it took.
    pub calls: u64,
    /// The message after those, where they are not all: the bytes of it that
    /// went, 0 where it was not tried, a negated errno where it failed.
    pub next: CallOutcome,
}

/// A way of sending or of receiving before it is used.
pub trait Open: Sized {
    /// Readies a flow's socket before its ends join: what has to be set before the first
    /// message comes.
    ///
    /// # Errors
    /// A refusal of the system.
    fn prepare(_socket: BorrowedFd<'_>) -> std::io::Result<()> {
        Ok(())
    }

    /// Readies a flow's socket once its ends have joined, before the first message comes:
    /// what must not stand in the way of joining. Returns what else messages
    /// will come by, where it has opened such a thing; the place has it then.
    ///
    /// # Errors
    /// A refusal of the system.
    fn settle(_socket: BorrowedFd<'_>, _cell: &Cell) -> std::io::Result<Option<Carrier>> {
        Ok(None)
    }

    /// Opens it at a place. Allocates everything it will need.
    ///
    /// # Errors
    /// Whatever keeps this way from working here.
    fn open(place: &Place<'_>) -> std::io::Result<Self>;
}

/// One way of sending and receiving for a flow.
pub trait Api: Transmit + Receive {
    /// The sending loop over [`Transmit`]: see [`Outgoing::send_until`].
    fn send_until(&mut self, size: usize, stage: &Stage, part: Part, limit: u64) -> Counts;

    /// The receiving loop over [`Receive`]: see [`Incoming::receive_while`].
    fn receive_while(&mut self, datagrams: bool, room: usize, stage: &Stage, part: Part, enough: u64) -> (Counts, LoopEnd);

    /// As [`Receive::receive`], without waiting.
    fn receive_now(&mut self, limit: usize) -> CallOutcome;

    /// The message, to be marked.
    fn message(&mut self) -> &mut [u8];

    /// The message that was received last.
    fn room(&self) -> &[u8];

    /// The flow's socket, over which the ends found each other.
    fn socket(&self) -> &OwnedFd;

    /// The descriptor that is readable when there is something to receive.
    fn waits_on(&self) -> BorrowedFd<'_>;

    /// Its way of sending, where the cell hands over more than one message a call.
    fn batch(&mut self) -> Option<&mut dyn Batching>;

    /// Hands over what it still holds back. Loops ask for it before they wait, and
    /// at the end of a part. The answer is an errno, or nothing.
    fn flush(&mut self) -> CallOutcome;

    /// Says that no message comes any more: over what has no socket for it.
    fn end(&mut self);

    /// The socket that messages leave by.
    fn leaves_by(&self) -> &OwnedFd;

    /// System calls that stand behind each call to send that is counted.
    fn system_calls(&self) -> u64;

    /// Where it lends its memory to the kernel: what became of that, over the whole trial.
    fn zero_copy(&self) -> Option<ZeroCopy>;

    /// Counters of messages that its ways dropped themselves, over the whole trial.
    fn drops(&self) -> Vec<(&'static str, u64)>;
}
