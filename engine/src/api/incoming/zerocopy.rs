//! Pages of segments mapped into the receiver's memory, in place of a copy
//! (`TCP_ZEROCOPY_RECEIVE`).
//!
//! The kernel maps whole pages alone: it says how much of what has come it cannot map, and
//! that is taken by `recv`. On most paths that is nearly all.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use model::end::ZeroCopy;
use sys::{Access, Mapping, page_size};

use super::one_room::receive_with;
use super::{is_readable, readable_within};
use crate::api::{Buffer, CallOutcome, Incoming, KernelRefusal, Open, Place};

/// Of the kernel's include/uapi/linux/tcp.h.
const TCP_ZEROCOPY_RECEIVE: libc::c_int = 35;

/// `struct tcp_zerocopy_receive`, as far as the first kernel that had it knew it (4.18) and
/// the answers that followed (5.6).
#[repr(C)]
#[derive(Debug, Default)]
struct Request {
    address: u64,
    length: u32,
    recv_skip_hint: u32,
    inq: u32,
    err: i32,
}

/// Maps what it can, and copies the rest.
#[derive(Debug)]
pub struct Zerocopy {
    socket: RawFd,
    /// Memory for the socket's pages.
    mapping: Mapping,
    /// Bytes of a page of it.
    page: usize,
    room: Buffer,
    patience: Duration,
    /// Bytes that the next call is to copy, as the last one said.
    to_copy: usize,
    /// Bytes of what was received last: mapped, or copied.
    last: (bool, usize),
    calls: u64,
    received: u64,
    copied: u64,
}

impl Open for Zerocopy {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (socket, room) = (place.socket.as_raw_fd(), place.room());
        let page = page_size();
        let length = room.len().next_multiple_of(page);
        // Of the socket's kind (tcp_mmap() in the kernel's net/ipv4/tcp.c).
        let mapping = Mapping::of(&place.socket, 0, length, Access::Read)
            .map_err(|answer| KernelRefusal::error("this kernel refuses TCP_ZEROCOPY_RECEIVE (mmap of a TCP socket)", answer))?;
        Ok(Self { socket, mapping, page, room, patience: place.patience, to_copy: 0, last: (false, 0), calls: 0, received: 0, copied: 0 })
    }
}

impl Zerocopy {
    /// Has the kernel map what has come, at most `limit` bytes. The bytes, or 0 where
    /// it mapped nothing; `to_copy` then says what there is to copy.
    fn map(&mut self, limit: usize) -> CallOutcome {
        let length = limit.min(self.mapping.length()) / self.page * self.page;
        let mut request = Request { address: self.mapping.start().as_ptr() as u64, length: length as u32, ..Request::default() };
        let mut size = size_of::<Request>() as libc::socklen_t;
        // SAFETY: the call reads and writes the request, and maps pages into memory that
        // nobody looks at meanwhile.
        let answer =
            unsafe { libc::getsockopt(self.socket, libc::IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, (&raw mut request).cast(), &raw mut size) };
        match CallOutcome::from_call(answer as isize).0 {
            errno @ ..0 => CallOutcome(errno),
            _ => {
                self.to_copy = request.recv_skip_hint as usize;
                CallOutcome((request.length as usize).min(length) as isize)
            }
        }
    }

    fn took(&mut self, moved: CallOutcome, copied: bool) -> CallOutcome {
        if moved.0 > 0 {
            self.last = (copied, moved.0 as usize);
            self.calls += 1;
            self.received += moved.0 as u64;
            self.copied += if copied { moved.0 as u64 } else { 0 };
        }
        moved
    }

    fn copy(&mut self, limit: usize) -> CallOutcome {
        let limit = limit.min(self.room.len());
        let moved = receive_with(self.socket, &mut self.room[..limit], libc::MSG_DONTWAIT);
        self.took(moved, true)
    }
}

impl Incoming for Zerocopy {
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        if self.to_copy > 0 {
            let left = std::mem::take(&mut self.to_copy).min(limit);
            return self.copy(left);
        }
        if !(is_readable(self.socket) || wait && readable_within(self.socket, self.patience) > 0) {
            return CallOutcome::NOTHING;
        }
        // Less than a page cannot be mapped.
        if limit < self.page {
            return self.copy(limit);
        }
        match self.map(limit) {
            // The end of the stream.
            CallOutcome(errno) if errno == -(libc::EIO as isize) => CallOutcome(0),
            CallOutcome(0) if self.to_copy == 0 => self.copy(limit),
            CallOutcome(0) => {
                let left = std::mem::take(&mut self.to_copy).min(limit);
                self.copy(left)
            }
            moved => self.took(moved, false),
        }
    }

    fn last(&self) -> &[u8] {
        match self.last {
            (true, length) => &self.room[..length],
            // SAFETY: the kernel has mapped that many bytes, and maps others only at the
            // next call.
            (false, length) => unsafe { self.mapping.bytes(0..length) },
        }
    }

    fn has_more(&self) -> bool {
        self.to_copy > 0
    }

    /// The calls that ask whether something has come are not counted.
    fn take_calls(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.calls))
    }

    /// Bytes that were received, and those of them that were copied.
    fn zero_copy(&self) -> Option<ZeroCopy> {
        Some(ZeroCopy { sends: self.received, copied: self.copied })
    }
}
