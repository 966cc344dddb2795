//! Many messages with one `sendmmsg` or `recvmmsg` system call.

use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::{io, mem, ptr};

use super::headers::Headers;
use super::{Api, Batch, Handed, Moved, Open, Place, Transmit, TransmitPart};

/// `sendmmsg(2)` and, for datagrams, `recvmmsg(2)`. Of a byte stream the receiver
/// uses `recv(2)`: it has no messages to tell apart.
///
/// A fetch counts as a call where it is made, its datagrams as messages where they are
/// handed out. What one fetch took may so lie on both sides of an edge of the measured
/// window: at most `batch` - 1 messages that were fetched before an edge are counted
/// after it. They come in at the start and go out at the end, so that the window's
/// messages are wrong by less than `batch` either way; the totals of a trial are exact.
#[derive(Debug)]
pub struct Sendmmsg {
    raw: RawFd,
    outgoing: Headers,
    incoming: Headers,
    byte_stream: bool,
    /// Datagrams that the last call fetched, and those of them handed out.
    fetched: usize,
    handed_out: usize,
    /// Receive calls that moved data and have not been told.
    calls: u64,
    socket: OwnedFd,
}

impl Sendmmsg {
    #[inline(always)]
    fn receive_with(&mut self, limit: usize, flags: libc::c_int) -> Moved {
        if self.byte_stream {
            return self.receive_bytes(limit, flags);
        }
        if self.handed_out == self.fetched {
            let answer = self.fetch(flags);
            if answer.0 <= 0 {
                return answer;
            }
        }
        let length = self.incoming.moved(self.handed_out).min(limit);
        self.handed_out += 1;
        Moved(length as isize)
    }

    /// Fetches the datagrams that are there; waits for the first alone.
    fn fetch(&mut self, flags: libc::c_int) -> Moved {
        let headers = self.incoming.all();
        // SAFETY: every header points to its own iovec, and that to `stride` writable
        // bytes; all outlive the call. No time limit is given; `raw` is open as long as
        // `socket` is.
        let answer = unsafe {
            libc::recvmmsg(self.raw, headers.as_mut_ptr(), headers.len() as libc::c_uint, flags | libc::MSG_WAITFORONE, ptr::null_mut())
        };
        let moved = Moved::from_call(answer as isize);
        if moved.0 > 0 {
            (self.fetched, self.handed_out) = (moved.0 as usize, 0);
            self.calls += 1;
        }
        moved
    }

    fn receive_bytes(&mut self, limit: usize, flags: libc::c_int) -> Moved {
        let room = self.incoming.place_mut(0);
        let limit = limit.min(room.len());
        // SAFETY: `room` is writable for `limit` bytes and outlives the call; `raw` is
        // open as long as `socket` is.
        let moved = Moved::from_call(unsafe { libc::recv(self.raw, room.as_mut_ptr().cast(), limit, flags) });
        self.calls += u64::from(moved.0 > 0);
        moved
    }

    /// One call for the messages at `places`; answers how many it took.
    #[inline(always)]
    fn call(&mut self, places: Range<usize>) -> Moved {
        let headers = &mut self.outgoing.all()[places];
        // SAFETY: every header points to its own iovec, and that to bytes that are
        // readable for its length; all outlive the call. `raw` is open as long as
        // `socket` is. MSG_NOSIGNAL: a vanished peer is an errno, not a signal.
        let answer = unsafe { libc::sendmmsg(self.raw, headers.as_mut_ptr(), headers.len() as libc::c_uint, libc::MSG_NOSIGNAL) };
        Moved::from_call(answer as isize)
    }

    /// One call for a part of the message at `place`; answers its bytes.
    fn send_span(&mut self, place: usize, from: usize, to: usize) -> Moved {
        self.outgoing.set_span(place, from, to);
        let answer = self.call(place..place + 1);
        let moved = if answer.0 == 1 { Moved(self.outgoing.moved(place) as isize) } else { answer };
        self.outgoing.set_span(place, 0, self.outgoing.length());
        moved
    }
}

impl Transmit for Sendmmsg {
    fn send(&mut self, from: usize) -> Moved {
        self.send_span(0, from, self.outgoing.length())
    }
}

impl TransmitPart for Sendmmsg {
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        self.send_span(0, from, to)
    }
}

impl Batch for Sendmmsg {
    fn capacity(&self) -> usize {
        self.outgoing.count()
    }

    fn message_at(&mut self, place: usize) -> &mut [u8] {
        self.outgoing.place_mut(place)
    }

    fn set_length(&mut self, place: usize, length: usize) {
        self.outgoing.set_span(place, 0, length);
    }

    fn send_batch(&mut self, places: Range<usize>) -> Handed {
        let first = places.start;
        let answer = self.call(places);
        if answer.0 <= 0 {
            return Handed { next: answer, ..Handed::default() };
        }
        // Of a byte stream the last of them may be cut short; the call then ends with it.
        let last = first + answer.0 as usize - 1;
        let (moved, whole) = (self.outgoing.moved(last), self.outgoing.asked(last));
        match moved < whole {
            true => Handed { messages: last - first, calls: 1, next: Moved(moved as isize) },
            false => Handed { messages: last - first + 1, calls: 1, next: Moved(0) },
        }
    }

    fn send_rest(&mut self, place: usize, from: usize) -> Moved {
        let to = self.outgoing.asked(place);
        let moved = self.send_span(place, from, to);
        self.outgoing.set_span(place, 0, to);
        moved
    }
}

impl Open for Sendmmsg {
    fn open(place: Place<'_>) -> io::Result<Self> {
        let (batch, byte_stream) = (place.batch(), place.is_byte_stream());
        let (messages, apart) = place.messages(batch);
        let reads = if byte_stream { 1 } else { batch };
        let (rooms, stride) = place.rooms(reads);
        let cell = &place.task.cell;
        Ok(Self {
            raw: place.socket.as_raw_fd(),
            outgoing: Headers::over(messages, batch, apart, cell.largest().as_len()),
            incoming: Headers::over(rooms, reads, stride, cell.read_size.as_len()),
            byte_stream,
            fetched: 0,
            handed_out: 0,
            calls: 0,
            socket: place.socket,
        })
    }
}

impl Api for Sendmmsg {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> Moved {
        self.receive_with(limit, 0)
    }

    fn receive_now(&mut self, limit: usize) -> Moved {
        self.receive_with(limit, libc::MSG_DONTWAIT)
    }

    fn message(&mut self) -> &mut [u8] {
        self.outgoing.place_mut(0)
    }

    fn room(&self) -> &[u8] {
        self.incoming.place(self.handed_out.saturating_sub(1))
    }

    fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    fn has_more(&self) -> bool {
        self.handed_out < self.fetched
    }

    fn batch(&mut self) -> Option<&mut dyn Batch> {
        if self.capacity() > 1 { Some(self) } else { None }
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(mem::take(&mut self.calls))
    }
}
