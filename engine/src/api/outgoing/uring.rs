//! Many sends with one `io_uring_enter` system call.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{opcode, squeue};

use crate::api::headers::Headers;
use crate::api::ring::Ring;
use crate::api::{Handed, Moved, Open, Outgoing, Place};

/// Sends of a batch as requests of one call, and their answers.
#[derive(Debug)]
pub struct Uring {
    ring: Ring,
    socket: RawFd,
    messages: Headers,
    /// Answers to the last batch, by their places.
    answers: Vec<i32>,
    /// One that fails or falls short keeps those behind it from being sent: messages that
    /// have an order are not to overtake it.
    linked: bool,
    byte_stream: bool,
    limit: Timespec,
}

impl Open for Uring {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (batch, byte_stream, cell) = (place.batch(), place.is_byte_stream(), &place.task.cell);
        Ok(Self {
            ring: Ring::new(batch)?,
            socket: place.socket.as_raw_fd(),
            messages: place.messages(batch),
            answers: vec![0; batch],
            linked: byte_stream || cell.stamp || cell.mix.is_some(),
            byte_stream,
            limit: Timespec::from(place.patience),
        })
    }
}

impl Outgoing for Uring {
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> Moved {
        let whole = self.messages.asked(place);
        self.messages.set_span(place, from, to.min(whole));
        let answer = self.hand_over(place..place + 1);
        self.messages.set_span(place, 0, whole);
        match answer {
            Ok(_) => Moved(self.answer(place)),
            Err(error) => error,
        }
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        self.messages.place_mut(place)
    }

    fn capacity(&self) -> usize {
        self.messages.count()
    }

    fn set_length(&mut self, place: usize, length: usize) {
        self.messages.set_span(place, 0, length);
    }

    fn send_batch(&mut self, places: Range<usize>) -> Handed {
        let calls = match self.hand_over(places.clone()) {
            Ok(calls) => calls,
            Err(next) => return Handed { next, ..Handed::default() },
        };
        let is_whole = |place: &usize| self.answers[*place] as isize == self.messages.asked(*place) as isize;
        let whole = places.clone().filter(is_whole).count();
        let first = places.clone().find(|place| !is_whole(place));
        // Messages without an order are all alike: which of them failed says nothing.
        let messages = if self.linked { first.map_or(whole, |first| first - places.start) } else { whole };
        let next = first.map_or(Moved(0), |first| Moved(self.answer(first)));
        Handed { messages, calls: if next.0 < 0 && messages == 0 { 0 } else { calls }, next }
    }
}

impl Uring {
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
    fn hand_over(&mut self, places: Range<usize>) -> Result<u64, Moved> {
        let last = places.end - 1;
        // A message of a stream is to go whole, which the socket alone would not wait for.
        let flags = libc::MSG_NOSIGNAL | if self.byte_stream { libc::MSG_WAITALL } else { 0 };
        for place in places.clone() {
            let piece = self.messages.pieces(place..place + 1)[0];
            let send = opcode::Send::new(Fd(self.socket), piece.iov_base.cast(), piece.iov_len as u32);
            let entry = send.flags(flags).build().user_data(place as u64);
            let entry = if self.linked && place < last { entry.flags(squeue::Flags::IO_LINK) } else { entry };
            // SAFETY: the piece is readable for its length and stays so until the answer has
            // come, which is waited for below.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                return Err(Moved(-(libc::EBUSY as isize)));
            }
        }
        let (mut missing, mut calls) = (places.len(), 0);
        let timed = SubmitArgs::new().timespec(&self.limit);
        while missing > 0 {
            let answer = self.ring.submitter().submit_with_args(missing, &timed);
            calls += 1;
            match answer.as_ref().map_err(io::Error::raw_os_error) {
                // A signal says that the stage has changed: what has room goes on.
                Ok(_) | Err(Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                // Nothing moved for so long: take back what waits for room.
                Err(Some(libc::ETIME)) => self.ring.cancel_all(),
                Err(errno) => return Err(Moved(-(errno.unwrap_or(libc::EIO) as isize))),
            }
            for entry in self.ring.completion() {
                if let Some(answer) = self.answers.get_mut(entry.user_data() as usize) {
                    *answer = entry.result();
                    missing -= 1;
                }
            }
        }
        Ok(calls)
    }
}
