//! Memory for the messages of a batch, and the headers through which calls reach it.

use std::ops::Range;
use std::{mem, slice};

use super::Buffer;

/// Headers for one call, each with an iovec over a place in memory.
#[derive(Debug)]
pub struct Headers {
    headers: Vec<libc::mmsghdr>,
    /// One for each header, in their order.
    iovecs: Vec<libc::iovec>,
    /// Only reached through `start`.
    _memory: Buffer,
    start: *mut u8,
    /// Bytes from one place to the next; 0 where all are the same.
    stride: usize,
    /// Bytes of each place.
    length: usize,
}

impl Headers {
    /// `count` places of `length` bytes in `memory`, which holds them all.
    pub fn over(mut memory: Buffer, count: usize, stride: usize, length: usize) -> Self {
        assert!(stride * (count - 1) + length <= memory.len(), "the memory holds every place");
        let start = memory.as_mut_ptr();
        let mut iovecs: Vec<libc::iovec> = (0..count)
            // SAFETY: the place lies in `memory`, as asserted.
            .map(|place| libc::iovec { iov_base: unsafe { start.add(place * stride) }.cast(), iov_len: length })
            .collect();
        let first = iovecs.as_mut_ptr();
        let header = |place| {
            // SAFETY: zeros are a valid header without an address, iovecs or control data.
            let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
            // SAFETY: there are `count` iovecs.
            header.msg_hdr.msg_iov = unsafe { first.add(place) };
            header.msg_hdr.msg_iovlen = 1;
            header
        };
        Self { headers: (0..count).map(header).collect(), iovecs, _memory: memory, start, stride, length }
    }

    /// All of them, for a call.
    pub fn all(&mut self) -> &mut [libc::mmsghdr] {
        &mut self.headers
    }

    /// Number of places.
    pub fn count(&self) -> usize {
        self.headers.len()
    }

    /// The pieces of memory of some places, for a call that takes them in a row.
    pub fn pieces(&self, places: Range<usize>) -> &[libc::iovec] {
        &self.iovecs[places]
    }

    /// Bytes that the last call moved at a place.
    #[inline(always)]
    pub fn moved(&self, place: usize) -> usize {
        self.headers[place].msg_len as usize
    }

    /// Bytes that the next call is to move there.
    pub fn asked(&self, place: usize) -> usize {
        // SAFETY: the header points to its iovec, which lives as long as `self` and is
        // not written meanwhile.
        unsafe { (*self.headers[place].msg_hdr.msg_iov).iov_len }
    }

    /// Has the next call move the bytes `from` to `to` of a place, as far as it has them.
    pub fn set_span(&mut self, place: usize, from: usize, to: usize) {
        let to = to.min(self.length);
        let from = from.min(to);
        let iovec = self.headers[place].msg_hdr.msg_iov;
        // SAFETY: the header points to its iovec, which only `self` reaches; the span
        // lies within the place, and that within the memory.
        unsafe { *iovec = libc::iovec { iov_base: self.start.add(place * self.stride + from).cast(), iov_len: to - from } };
    }

    /// The bytes of a place.
    pub fn place(&self, place: usize) -> &[u8] {
        assert!(place < self.headers.len(), "a place of the batch");
        // SAFETY: the place lies in the memory, is initialised, and nothing writes it while `self` is borrowed.
        unsafe { slice::from_raw_parts(self.start.add(place * self.stride), self.length) }
    }

    /// The same, to be written.
    pub fn place_mut(&mut self, place: usize) -> &mut [u8] {
        assert!(place < self.headers.len(), "a place of the batch");
        // SAFETY: as in `place`, and nothing else reads it while `self` is borrowed.
        unsafe { slice::from_raw_parts_mut(self.start.add(place * self.stride), self.length) }
    }
}

/// A header with one piece of memory, without an address or control data.
#[inline(always)]
pub fn of_one(piece: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: zeros are a valid header without an address, pieces or control data.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (piece, 1);
    header
}
