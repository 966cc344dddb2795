//! One request to receive that stays, and the buffers that it fills.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use crate::api::ring::Ring;
use crate::api::{Buffer, CallOutcome, Incoming, KernelRefusal, Open, Place};

/// Memory for what has come and was not handed out.
const ROOM: usize = 1 << 20;
/// Number of buffers, whatever their size.
const FEWEST: usize = 8;
const MOST: usize = 1_024;
/// No datagram is larger: its length has 16 bits.
const LARGEST_DATAGRAM: usize = 1 << 16;
/// The only group of buffers.
const GROUP: u16 = 0;

/// A multishot receive.
#[derive(Debug)]
pub struct Multishot {
    ring: Ring,
    socket: RawFd,
    buffers: Buffers,
    byte_stream: bool,
    /// The request is with the kernel.
    armed: bool,
    /// The buffer that is handed out, and the bytes in it that are left.
    current: Option<(u16, Range<usize>)>,
    /// The buffer and its bytes that were handed out last.
    last: (u16, Range<usize>),
    /// That buffer, once all of it has been handed out: the kernel gets it back with the
    /// next call.
    spent: Option<u16>,
    limit: Timespec,
    calls: u64,
}

impl Open for Multishot {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (ring, byte_stream) = (Ring::new(MOST, false)?, place.is_byte_stream());
        let read_size = place.cell.read_size.as_len();
        // Of a byte stream a smaller buffer is a shorter read; a datagram is to fit.
        let most = if byte_stream { ROOM / FEWEST } else { LARGEST_DATAGRAM };
        let buffers = Buffers::register(&ring, read_size.min(most))?;
        let (socket, limit) = (place.socket.as_raw_fd(), Timespec::from(place.patience));
        let mut incoming =
            Self { ring, socket, buffers, byte_stream, armed: false, current: None, last: (0, 0..0), spent: None, limit, calls: 0 };
        // Whoever waits for the ring to become readable waits for this request.
        incoming.arm()?;
        incoming.ring.submit()?;
        Ok(incoming)
    }
}

impl Incoming for Multishot {
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        if let Some(buffer) = self.spent.take() {
            self.buffers.provide(buffer);
        }
        loop {
            if let Some(moved) = self.hand_out(limit) {
                return moved;
            }
            if let Some(entry) = self.ring.completion().next() {
                self.armed &= cqueue::more(entry.flags());
                match (entry.result(), cqueue::buffer_select(entry.flags())) {
                    // All buffers were full: the next request finds those that are free again.
                    (answer, _) if answer == -libc::ENOBUFS => {}
                    (answer, Some(buffer)) if answer > 0 => self.current = Some((buffer, 0..answer as usize)),
                    (answer, buffer) => {
                        buffer.into_iter().for_each(|buffer| self.buffers.provide(buffer));
                        return CallOutcome(answer as isize);
                    }
                }
                continue;
            }
            if !self.armed {
                if let Err(error) = self.arm() {
                    return refused(&error);
                }
            } else if !wait {
                return CallOutcome(-(libc::EAGAIN as isize));
            }
            if let Err(moved) = self.enter(wait) {
                return moved;
            }
        }
    }

    fn last(&self) -> &[u8] {
        let (buffer, bytes) = &self.last;
        &self.buffers.bytes(*buffer)[bytes.clone()]
    }

    fn has_more(&self) -> bool {
        self.current.is_some() || !self.armed
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the ring's descriptor is open as long as the ring is borrowed.
        Some(unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) })
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.calls))
    }
}

impl Multishot {
    /// The next part of the current buffer: of a stream at most `limit` bytes, of a datagram
    /// no more than once.
    fn hand_out(&mut self, limit: usize) -> Option<CallOutcome> {
        let (buffer, left) = self.current.take()?;
        let end = left.end.min(left.start + limit);
        self.last = (buffer, left.start..end);
        let moved = CallOutcome(self.last.1.len() as isize);
        match self.byte_stream && end < left.end {
            true => self.current = Some((buffer, end..left.end)),
            false => self.spent = Some(buffer),
        }
        Some(moved)
    }

    fn arm(&mut self) -> io::Result<()> {
        let entry = opcode::RecvMulti::new(Fd(self.socket), GROUP).build();
        // SAFETY: the buffers of the group live as long as the ring, and longer than the
        // request, which is taken back when this is dropped.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        self.armed = true;
        Ok(())
    }

    /// Submits the request, where it is new, and waits for something to come.
    fn enter(&mut self, wait: bool) -> Result<(), CallOutcome> {
        let args = SubmitArgs::new().timespec(&self.limit);
        let answer = if wait { self.ring.submitter().submit_with_args(1, &args) } else { self.ring.submit() };
        match answer.map_err(|error| error.raw_os_error()) {
            Ok(_) => self.calls += u64::from(wait),
            Err(Some(libc::ETIME)) => return Err(CallOutcome(-(libc::EAGAIN as isize))),
            Err(errno) => return Err(CallOutcome(-(errno.unwrap_or(libc::EIO) as isize))),
        }
        Ok(())
    }
}

fn refused(error: &io::Error) -> CallOutcome {
    CallOutcome(-(error.raw_os_error().unwrap_or(libc::EIO) as isize))
}

/// Buffers that the kernel takes one after the other.
#[derive(Debug)]
struct Buffers {
    /// The ring of those that the kernel may take.
    ring: Buffer,
    memory: Buffer,
    stride: usize,
    count: u16,
    tail: u16,
}

impl Buffers {
    /// As many of `room` bytes as fit the memory, given to `ring`.
    fn register(ring: &IoUring, room: usize) -> io::Result<Self> {
        // Cache lines are not shared.
        let stride = room.next_multiple_of(64);
        let count = (ROOM / stride).clamp(FEWEST, MOST).next_power_of_two().min(MOST) as u16;
        let entries = Buffer::repeating(usize::from(count) * size_of::<BufRingEntry>(), 1, |_| 0);
        let memory = Buffer::ones(usize::from(count) * stride);
        // SAFETY: the memory of the entries begins on a page, holds `count` of them and
        // lives as long as the ring.
        let answer = unsafe { ring.submitter().register_buf_ring_with_flags(entries.as_ptr() as u64, count, GROUP, 0) };
        answer.map_err(|answer| KernelRefusal::error(format!("io_uring refuses a ring of {count} buffers"), answer))?;
        let mut buffers = Self { ring: entries, memory, stride, count, tail: 0 };
        (0..count).for_each(|buffer| buffers.provide(buffer));
        Ok(buffers)
    }

    /// Gives a buffer to the kernel.
    fn provide(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        let start = self.memory[usize::from(buffer) * self.stride..].as_ptr();
        let ring: *mut BufRingEntry = self.ring.as_mut_ptr().cast();
        // SAFETY: the place is below the number of entries; the kernel does not read it
        // before the tail says so.
        let entry = unsafe { &mut *ring.add(place) };
        entry.set_addr(start as u64);
        entry.set_len(self.stride as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the ring's first entry, aligned, and only this side writes it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(ring).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn bytes(&self, buffer: u16) -> &[u8] {
        &self.memory[usize::from(buffer) * self.stride..][..self.stride]
    }
}
