//! Many messages of a byte stream with one `writev` system call.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::headers::Headers;
use super::send::receive_with;
use super::{Api, Batch, Buffer, Handed, Moved, Open, Place, Transmit, TransmitPart};

/// `writev(2)` of a piece of memory for each message, and `recv(2)`.
#[derive(Debug)]
pub struct Writev {
    raw: RawFd,
    outgoing: Headers,
    room: Buffer,
    socket: OwnedFd,
}

impl Writev {
    /// One call for the messages at `places`; answers their bytes.
    fn call(&self, places: Range<usize>) -> Moved {
        let pieces = self.outgoing.pieces(places);
        // SAFETY: every piece is readable for its length; all outlive the call. A peer that
        // has vanished is an errno: the endpoint's process ignores SIGPIPE.
        Moved::from_call(unsafe { libc::writev(self.raw, pieces.as_ptr(), pieces.len() as libc::c_int) })
    }

    /// One call for a part of the message at `place`; answers its bytes.
    fn write_span(&mut self, place: usize, from: usize, to: usize) -> Moved {
        let whole = self.outgoing.asked(place);
        self.outgoing.set_span(place, from, to);
        let moved = self.call(place..place + 1);
        self.outgoing.set_span(place, 0, whole);
        moved
    }
}

impl Transmit for Writev {
    fn send(&mut self, from: usize) -> Moved {
        self.write_span(0, from, self.outgoing.length())
    }
}

impl TransmitPart for Writev {
    fn send_part(&mut self, from: usize, to: usize) -> Moved {
        self.write_span(0, from, to)
    }
}

impl Batch for Writev {
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
        let answer = self.call(places.clone());
        if answer.0 <= 0 {
            return Handed { next: answer, ..Handed::default() };
        }
        let mut left = answer.0 as usize;
        let whole = places.take_while(|place| {
            let asked = self.outgoing.asked(*place);
            let went = asked <= left;
            left -= if went { asked } else { 0 };
            went
        });
        Handed { messages: whole.count(), calls: 1, next: Moved(left as isize) }
    }

    fn send_rest(&mut self, place: usize, from: usize) -> Moved {
        self.write_span(place, from, self.outgoing.asked(place))
    }
}

impl Open for Writev {
    fn open(place: Place<'_>) -> io::Result<Self> {
        let batch = place.batch();
        let (messages, apart) = place.messages(batch);
        Ok(Self {
            raw: place.socket.as_raw_fd(),
            outgoing: Headers::over(messages, batch, apart, place.task.cell.largest().as_len()),
            room: place.room(),
            socket: place.socket,
        })
    }
}

impl Api for Writev {
    #[inline(always)]
    fn receive(&mut self, limit: usize) -> Moved {
        let limit = limit.min(self.room.len());
        receive_with(self.raw, &mut self.room[..limit], 0)
    }

    fn receive_now(&mut self, limit: usize) -> Moved {
        let limit = limit.min(self.room.len());
        receive_with(self.raw, &mut self.room[..limit], libc::MSG_DONTWAIT)
    }

    fn message(&mut self) -> &mut [u8] {
        self.outgoing.place_mut(0)
    }

    fn room(&self) -> &[u8] {
        &self.room
    }

    fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    fn batch(&mut self) -> Option<&mut dyn Batch> {
        if self.capacity() > 1 { Some(self) } else { None }
    }
}
