//! Many datagrams with one `recvmsg` system call, as one packet that the kernel put
//! together: UDP generic receive offload.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::many_messages::{FetchMany, ManyMessages};
use crate::api::{Buffer, Moved, Place, Refusal, headers};
use sys::socket::set_int;

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
        set_int(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, 1).map_err(|answer| Refusal::of("this kernel refuses UDP_GRO", answer))
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (socket, room, control) = (place.socket.as_raw_fd(), Buffer::ones(ROOM), Control([0; CONTROL]));
        Ok(Self { socket, room, control, fetched: 0, handed_out: 0, each: 0, last: 0..0 })
    }

    fn fetch(&mut self, wait: bool) -> Moved {
        let mut piece = libc::iovec { iov_base: self.room.as_mut_ptr().cast(), iov_len: self.room.len() };
        let mut header = headers::of_one(&mut piece);
        (header.msg_control, header.msg_controllen) = (self.control.0.as_mut_ptr().cast(), CONTROL);
        let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: the header has one piece and control data, writable for their lengths; all
        // outlive the call.
        let moved = Moved::from_syscall(unsafe { libc::syscall(libc::SYS_recvmsg, self.socket, &raw mut header, flags) });
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
