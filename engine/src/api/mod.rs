//! Apis: ways of handing messages to the kernel and of taking them from it.
//!
//! A new way is a file here, declared below, and a row in the table of apis,
//! `model::apis!`. One with a call for each message on the flow's socket
//! implements [`one_call::Calls`]; any other [`Open`] and [`Api`], and [`Batch`]
//! where a call hands over many messages.

mod buffer;
pub mod gso;
mod habit;
mod headers;
mod one_call;
mod place;
pub mod send;
pub mod send_more;
pub mod sendmmsg;
pub mod sendmsg;
pub mod sendto;
pub mod uring;
mod wait;
pub mod writev;

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

pub use buffer::Buffer;
pub use habit::{Habit, With, Work, work_for};
pub use place::Place;
pub use wait::Wait;

/// Answer of a call: the bytes it moved when positive or zero, a negated errno when negative.
///
/// The kernel's own convention, kept because the hot loop can test it in one
/// comparison and a `Result` would be taken apart again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved(pub isize);

impl Moved {
    /// The answer of a libc call, with the errno fetched when it failed.
    #[inline(always)]
    pub(crate) fn from_call(answer: isize) -> Self {
        if answer >= 0 { Self(answer) } else { Self::from_errno() }
    }

    #[cold]
    fn from_errno() -> Self {
        Self(-(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as isize))
    }
}

/// The call of the sending loop for each message.
pub trait Transmit {
    /// Hands the message over, from its byte `from` on.
    fn send(&mut self, from: usize) -> Moved;
}

/// The call for messages that are shorter than the longest.
pub trait TransmitPart {
    /// Hands the message over, from its byte `from` up to `to`.
    fn send_part(&mut self, from: usize, to: usize) -> Moved;
}

/// An api that hands over many messages with one call, each from a place of its
/// own. Its loop calls it once a batch, so the call need not be direct.
pub trait Batch {
    /// Most messages that one call hands over; at least 1.
    fn capacity(&self) -> usize;

    /// The message at a place below the capacity, to be marked. Where the cell
    /// stamps no message, all places may be one.
    fn message_at(&mut self, place: usize) -> &mut [u8];

    /// Sets the length of the message at a place; it is at most that of the memory there.
    fn set_length(&mut self, place: usize, length: usize);

    /// Hands over the messages at `places`, in this order.
    fn send_batch(&mut self, places: Range<usize>) -> Handed;

    /// Hands over the message at `place` from its byte `from` on, with a call of its own.
    fn send_rest(&mut self, place: usize, from: usize) -> Moved;
}

/// Messages that one hand-over of a batch moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handed {
    /// Messages that went whole, from the first place on.
    pub messages: usize,
    /// Kernel calls that it took.
    pub calls: u64,
    /// The message after those, where they are not all: the bytes of it that
    /// went, 0 where it was not tried, a negated errno where it failed.
    pub next: Moved,
}

/// An api before it is used.
pub trait Open: Api {
    /// Readies a flow's socket before its ends join: what has to be set before the first
    /// message comes.
    ///
    /// # Errors
    /// A refusal of the system.
    fn prepare(_socket: BorrowedFd<'_>) -> std::io::Result<()> {
        Ok(())
    }

    /// Opens it at a place. Allocates everything it will need.
    ///
    /// # Errors
    /// Whatever keeps this way from working here.
    fn open(place: Place<'_>) -> std::io::Result<Self>;
}

/// One way of sending and receiving for a flow.
pub trait Api: Transmit + TransmitPart + Sized {
    /// Takes one message, or of a stream what has arrived, at most `limit` bytes of
    /// it. Where a call fetches many messages, they are handed out one by one.
    fn receive(&mut self, limit: usize) -> Moved;

    /// The same, without waiting.
    fn receive_now(&mut self, limit: usize) -> Moved;

    /// The message, to be marked.
    fn message(&mut self) -> &mut [u8];

    /// The message that was received last.
    fn room(&self) -> &[u8];

    /// The flow's socket, over which the ends found each other.
    fn socket(&self) -> &OwnedFd;

    /// The descriptor that is readable when there is something to receive.
    fn waits_on(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }

    /// Returns whether messages have been fetched that were not handed out: nobody is to
    /// wait for others before.
    #[inline(always)]
    fn has_more(&self) -> bool {
        false
    }

    /// Its batches, where the cell hands over more than one message a call.
    fn batch(&mut self) -> Option<&mut dyn Batch> {
        None
    }

    /// Kernel calls of [`Self::receive`] and [`Self::receive_now`] that moved data
    /// since the last time this was asked; `None` where each is one.
    #[inline(always)]
    fn take_calls(&mut self) -> Option<u64> {
        None
    }

    /// Hands over what it still holds back. Loops ask for it before they wait, and
    /// at the end of a part. The answer is an errno, or nothing.
    #[inline(always)]
    fn flush(&mut self) -> Moved {
        Moved(0)
    }

    /// Its own counters of messages that it dropped, over the whole trial.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The largest message that it can carry, in bytes; `None` where the kernel
    /// answers for it.
    fn largest(&self) -> Option<usize> {
        None
    }
}

/// Work to be done with an api, whichever it is.
pub trait WithApi {
    /// Its result.
    type Output;

    /// Does it.
    ///
    /// # Errors
    /// Those of the work.
    fn run<A: Api>(self, api: A) -> std::io::Result<Self::Output>;
}

macro_rules! openers {
    ($($(#[$doc:meta])* $module:ident::$type:ident = $word:literal $properties:tt,)+) => {
        /// Opens the api of this name at a place and does some work with it.
        ///
        /// # Errors
        /// Whatever keeps the api from working here, and those of the work.
        pub fn open<W: WithApi>(name: model::Api, place: Place<'_>, work: W) -> std::io::Result<W::Output> {
            match name {
                $(model::Api::$type => work.run($module::$type::open(place)?),)+
            }
        }

        /// Readies a flow's socket for the api of this name, before its ends join.
        ///
        /// # Errors
        /// A refusal of the system.
        pub fn prepare(name: model::Api, socket: BorrowedFd<'_>) -> std::io::Result<()> {
            match name {
                $(model::Api::$type => $module::$type::prepare(socket),)+
            }
        }
    };
}
model::apis!(openers);
