//! Many sends with one `io_uring_enter` system call.

use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode, squeue};

use super::many_messages::{BatchCall, ManyMessages};
use crate::api::headers::Headers;
use crate::api::ring::Ring;
use crate::api::{BatchOutcome, CallOutcome, Place, ZeroCopy};

/// Sends of a batch as requests of one `io_uring_enter`, and their answers.
pub type Uring = ManyMessages<Requests<Plain>>;

/// The same, which a thread of the kernel's takes from the ring (`IORING_SETUP_SQPOLL`).
pub type UringSqpoll = ManyMessages<Requests<Sqpoll>>;

/// The same from the program's own pages (`IORING_OP_SEND_ZC`).
pub type UringZerocopy = ManyMessages<Requests<Lent>>;

/// A kind of requests.
pub trait Kind {
    /// Returns whether a thread of the kernel's takes them.
    const POLLED: bool = false;
    /// Returns whether they lend their memory to the kernel.
    const LENT: bool = false;
}

/// Handed over by the call.
#[derive(Debug)]
pub struct Plain;

/// Taken by a thread of the kernel's.
#[derive(Debug)]
pub struct Sqpoll;

/// Sent from the program's pages.
#[derive(Debug)]
pub struct Lent;

impl Kind for Plain {}

impl Kind for Sqpoll {
    const POLLED: bool = true;
}

impl Kind for Lent {
    const LENT: bool = true;
}

/// Requests of a kind.
#[derive(Debug)]
pub struct Requests<K> {
    ring: Ring,
    socket: RawFd,
    /// Answers to the last batch, by their places.
    answers: Vec<i32>,
    /// One that fails or falls short keeps those behind it from being sent: messages that
    /// have an order are not to overtake it.
    linked: bool,
    byte_stream: bool,
    limit: Timespec,
    zero_copy: ZeroCopy,
    /// Number of the batch: answers that came too late for theirs are not the next one's.
    batch: u32,
    kind: PhantomData<K>,
}

impl<K: Kind> BatchCall for Requests<K> {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (batch, byte_stream, cell) = (place.batch(), place.is_byte_stream(), place.cell);
        Ok(Self {
            // The kernel's thread answers before it says that it has taken the request.
            ring: Ring::new(if K::POLLED { 2 * batch } else { batch }, K::POLLED)?,
            socket: place.socket.as_raw_fd(),
            answers: vec![0; batch],
            linked: byte_stream || cell.stamp || cell.mix.is_some(),
            byte_stream,
            limit: Timespec::from(place.patience),
            zero_copy: ZeroCopy::default(),
            batch: 0,
            kind: PhantomData,
        })
    }

    fn send(&mut self, messages: &mut Headers, places: Range<usize>) -> BatchOutcome {
        let calls = match self.hand_over(messages, places.clone()) {
            Ok(calls) => calls,
            Err(next) => return BatchOutcome { next, ..BatchOutcome::default() },
        };
        let is_whole = |place: &usize| self.answers[*place] as isize == messages.asked(*place) as isize;
        let whole = places.clone().filter(is_whole).count();
        let first = places.clone().find(|place| !is_whole(place));
        // Messages without an order are all alike: which of them failed says nothing.
        let went = if self.linked { first.map_or(whole, |first| first - places.start) } else { whole };
        let next = first.map_or(CallOutcome(0), |first| CallOutcome(self.answer(first)));
        BatchOutcome { messages: went, calls: if next.0 < 0 && went == 0 { 0 } else { calls }, next }
    }

    fn flush(&mut self) -> CallOutcome {
        if K::LENT {
            self.take();
        }
        CallOutcome(0)
    }

    fn zero_copy(&self) -> Option<ZeroCopy> {
        K::LENT.then_some(self.zero_copy)
    }
}

impl<K: Kind> Requests<K> {
    /// The request for the message at a place.
    fn request(&self, messages: &Headers, place: usize) -> squeue::Entry {
        /// `IORING_SEND_ZC_REPORT_USAGE` of the kernel's include/uapi/linux/io_uring.h.
        const REPORT_USAGE: u16 = 1 << 3;
        // A message of a stream is to go whole, which the socket alone would not wait for.
        let flags = libc::MSG_NOSIGNAL | if self.byte_stream { libc::MSG_WAITALL } else { 0 };
        let piece = messages.pieces(place..place + 1)[0];
        let (socket, start, length) = (Fd(self.socket), piece.iov_base.cast_const().cast(), piece.iov_len as u32);
        let entry = match K::LENT {
            true => opcode::SendZc::new(socket, start, length).flags(flags).zc_flags(REPORT_USAGE).build(),
            false => opcode::Send::new(socket, start, length).flags(flags).build(),
        };
        entry.user_data(u64::from(self.batch) << 32 | place as u64)
    }

    /// Takes what the ring has to say; returns the number of answers.
    fn take(&mut self) -> usize {
        /// `IORING_NOTIF_USAGE_ZC_COPIED`, likewise.
        const COPIED: i32 = 1 << 31;
        let mut answers = 0;
        for entry in self.ring.completion() {
            let (batch, place) = (entry.user_data() >> 32, entry.user_data() as u32 as usize);
            if cqueue::notif(entry.flags()) {
                self.zero_copy.add(ZeroCopy { sends: 1, copied: u64::from(entry.result() & COPIED != 0) });
            } else if let Some(answer) = self.answers.get_mut(place).filter(|_| batch == u64::from(self.batch)) {
                *answer = entry.result();
                answers += 1;
            }
        }
        answers
    }

    /// The answer to the message at a place. One that was taken back after the time limit
    /// of a blocked call is as one that found no room.
    fn answer(&self, place: usize) -> isize {
        match self.answers[place] as isize {
            answer if answer == -(libc::ECANCELED as isize) => -(libc::EAGAIN as isize),
            answer => answer,
        }
    }

    /// Hands over the messages at `places` and waits for all answers; returns the calls
    /// that it took.
    fn hand_over(&mut self, messages: &Headers, places: Range<usize>) -> Result<u64, CallOutcome> {
        let last = places.end - 1;
        self.batch = self.batch.wrapping_add(1);
        for place in places.clone() {
            let entry = self.request(messages, place);
            let entry = if self.linked && place < last { entry.flags(squeue::Flags::IO_LINK) } else { entry };
            // SAFETY: the message is readable for its length and stays so until the answer has
            // come, which is waited for below; the kernel keeps pages that it was lent.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                return Err(CallOutcome(-(libc::EBUSY as isize)));
            }
        }
        let (mut missing, mut calls) = (places.len(), 0);
        let limit = self.limit;
        let timed = SubmitArgs::new().timespec(&limit);
        while missing > 0 {
            let answer = self.ring.submitter().submit_with_args(missing, &timed);
            calls += 1;
            match answer.as_ref().map_err(io::Error::raw_os_error) {
                // A signal says that the stage has changed: what has room goes on.
                Ok(_) | Err(Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                // Nothing moved for so long: take back what waits for room.
                Err(Some(libc::ETIME)) => self.ring.cancel_all(),
                Err(errno) => return Err(CallOutcome(-(errno.unwrap_or(libc::EIO) as isize))),
            }
            missing = missing.saturating_sub(self.take());
        }
        Ok(calls)
    }
}
