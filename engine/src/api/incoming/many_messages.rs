//! Ways of receiving with one call for many messages, which are handed out one by one.

use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::{io, mem, ptr};

use sys::socket::set_int;

use crate::api::headers::Headers;
use crate::api::{Buffer, CallOutcome, Incoming, KernelRefusal, Open, Place, headers};

/// The call, and what it fetched.
pub trait FetchMany: Sized {
    /// Readies a flow's socket before its ends join.
    ///
    /// # Errors
    /// A refusal of the system.
    fn prepare(_socket: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Readies it at a place.
    ///
    /// # Errors
    /// A refusal that keeps it from working here.
    fn open(place: &Place<'_>) -> io::Result<Self>;

    /// Fetches messages with one call, once all that were fetched before have been handed
    /// out. The answer is positive where it fetched something.
    fn fetch(&mut self, wait: bool) -> CallOutcome;

    /// Bytes of the next message that was fetched and not handed out, which it is now.
    fn next(&mut self) -> Option<usize>;

    /// Returns whether there is such a message.
    fn has_more(&self) -> bool;

    /// Hands out further messages as long as the last one, at most so many. Returns their number.
    #[inline(always)]
    fn take_alike(&mut self, _most: u64) -> u64 {
        0
    }

    /// The message that was handed out last.
    fn last(&self) -> &[u8];
}

/// A way of receiving with such a call.
///
/// A fetch counts as a call where it is made, its messages where they are
/// handed out. What one fetch took may so lie on both sides of an edge of the measured
/// window: at most as many messages as one call fetches, less one, that were fetched before
/// an edge are counted after it. They come in at the start and go out at the end, so that
/// the window's messages are wrong by less than a fetch either way; the totals of a trial
/// are exact.
#[derive(Debug)]
pub struct ManyMessages<F> {
    fetch: F,
    /// Calls that moved data and have not been told.
    calls: u64,
}

impl<F: FetchMany> Open for ManyMessages<F> {
    fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
        F::prepare(socket)
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { fetch: F::open(place)?, calls: 0 })
    }
}

impl<F: FetchMany> Incoming for ManyMessages<F> {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        if !self.fetch.has_more() {
            let answer = self.fetch.fetch(wait);
            if answer.0 <= 0 {
                return answer;
            }
            self.calls += 1;
        }
        self.fetch.next().map_or(CallOutcome::NOTHING, |length| CallOutcome(length.min(limit) as isize))
    }

    fn last(&self) -> &[u8] {
        self.fetch.last()
    }

    fn has_more(&self) -> bool {
        self.fetch.has_more()
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        self.fetch.take_alike(most)
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(mem::take(&mut self.calls))
    }
}

/// `recvmmsg(2)`, which waits for the first datagram alone.
pub type Recvmmsg = ManyMessages<RecvmmsgCall>;

/// The call, and the datagrams of the last one.
#[derive(Debug)]
pub struct RecvmmsgCall {
    socket: RawFd,
    rooms: Headers,
    /// Datagrams that the last call fetched, and those of them handed out.
    fetched: usize,
    handed_out: usize,
}

impl FetchMany for RecvmmsgCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        Ok(Self { socket: place.socket.as_raw_fd(), rooms: place.rooms(place.batch()), fetched: 0, handed_out: 0 })
    }

    fn fetch(&mut self, wait: bool) -> CallOutcome {
        let headers = self.rooms.all();
        let flags = libc::MSG_WAITFORONE | if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: every header points to its own iovec, and that to as many writable
        // bytes as it says; all outlive the call. No time limit is given.
        let answer = unsafe {
            libc::syscall(libc::SYS_recvmmsg, self.socket, headers.as_mut_ptr(), headers.len(), flags, ptr::null::<libc::timespec>())
        };
        let moved = CallOutcome::from_syscall(answer);
        if moved.0 > 0 {
            (self.fetched, self.handed_out) = (moved.0 as usize, 0);
        }
        moved
    }

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let length = self.has_more().then(|| self.rooms.moved(self.handed_out))?;
        self.handed_out += 1;
        Some(length)
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.handed_out < self.fetched
    }

    fn last(&self) -> &[u8] {
        self.rooms.place(self.handed_out.saturating_sub(1))
    }
}

/// Room for what one call receives.
const ROOM: usize = 1 << 16;
/// Room for the control message of a size.
const CONTROL: usize = 64;

/// `recvmsg(2)` with `UDP_GRO`, and the datagrams of a packet one by one.
pub type Gro = ManyMessages<GroCall>;

/// The call, and the packet of the last one.
#[derive(Debug)]
pub struct GroCall {
    socket: RawFd,
    room: Buffer,
    control: Control,
    /// Bytes that the last call fetched, those handed out, and the size of each datagram.
    fetched: usize,
    handed_out: usize,
    each: usize,
    /// Where the datagram that was handed out last lies.
    last: Range<usize>,
}

/// Memory for control messages, aligned as the kernel writes them.
#[derive(Debug)]
#[repr(align(8))]
struct Control([u8; CONTROL]);

impl FetchMany for GroCall {
    /// Set before the ends join: packets that come before it would come cut.
    fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
        set_int(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, 1)
            .map_err(|answer| KernelRefusal::error("this kernel refuses UDP_GRO", answer))
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (socket, room, control) = (place.socket.as_raw_fd(), Buffer::ones(ROOM), Control([0; CONTROL]));
        Ok(Self { socket, room, control, fetched: 0, handed_out: 0, each: 0, last: 0..0 })
    }

    fn fetch(&mut self, wait: bool) -> CallOutcome {
        let mut piece = libc::iovec { iov_base: self.room.as_mut_ptr().cast(), iov_len: self.room.len() };
        let mut header = headers::of_one(&mut piece);
        (header.msg_control, header.msg_controllen) = (self.control.0.as_mut_ptr().cast(), CONTROL);
        let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: the header has one piece and control data, writable for their lengths; all
        // outlive the call.
        let moved = CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_recvmsg, self.socket, &raw mut header, flags) });
        if moved.0 > 0 {
            self.fetched = moved.0 as usize;
            (self.handed_out, self.each) = (0, datagram_size(&header).unwrap_or(self.fetched));
        }
        moved
    }

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if !self.has_more() {
            return None;
        }
        let end = self.fetched.min(self.handed_out + self.each);
        self.last = self.handed_out..end;
        self.handed_out = end;
        Some(self.last.len())
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.handed_out < self.fetched
    }

    #[inline(always)]
    fn take_alike(&mut self, most: u64) -> u64 {
        let whole = ((self.fetched - self.handed_out) / self.each.max(1)) as u64;
        let taken = whole.min(most) as usize;
        self.handed_out += taken * self.each;
        if taken > 0 {
            self.last = self.handed_out - self.each..self.handed_out;
        }
        taken as u64
    }

    fn last(&self) -> &[u8] {
        &self.room[self.last.clone()]
    }
}

/// Size of the datagrams of a packet; `None` of one that is a single datagram.
fn datagram_size(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel has filled the header's control data.
    let first = unsafe { libc::CMSG_FIRSTHDR(header).as_ref() }?;
    let is_size = (first.cmsg_level, first.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO);
    // SAFETY: this kind of message has an int behind its head.
    let size = is_size.then(|| unsafe { libc::CMSG_DATA(first).cast::<libc::c_int>().read_unaligned() })?;
    usize::try_from(size).ok().filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::{Buffer, CONTROL, Control, FetchMany, GroCall};

    fn fetched(bytes: usize, each: usize) -> GroCall {
        GroCall { socket: -1, room: Buffer::ones(4_096), control: Control([0; CONTROL]), fetched: bytes, handed_out: 0, each, last: 0..0 }
    }

    #[test]
    fn datagrams_of_one_packet_are_taken_at_once_but_for_a_shorter_last_one() {
        let mut call = fetched(10 * 100 + 30, 100);
        assert_eq!(call.next(), Some(100));
        assert_eq!((call.take_alike(4), call.last, call.handed_out), (4, 400..500, 500));
        let mut call = fetched(10 * 100 + 30, 100);
        assert_eq!((call.next(), call.take_alike(u64::MAX), call.next(), call.take_alike(9)), (Some(100), 9, Some(30), 0));
        assert!(!call.has_more());
    }
}
