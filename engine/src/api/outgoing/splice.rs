//! A message's pages put into a pipe, and from it into the socket.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use super::one_message::{Call, OneMessage};
use crate::api::{Moved, Place};

/// `vmsplice(2)` of the message into a pipe and `splice(2)` from that into the socket: two
/// calls a message, and no copy.
pub type Splice = OneMessage<SpliceCalls>;

/// The two calls, and the pipe between them.
#[derive(Debug)]
pub struct SpliceCalls {
    pipe: (PipeReader, PipeWriter),
    /// Bytes in the pipe that the socket has not taken.
    held: usize,
}

impl Call for SpliceCalls {
    const SYSTEM_CALLS: u64 = 2;

    fn open(place: &Place<'_>) -> io::Result<Self> {
        let pipe = io::pipe()?;
        let wanted = libc::c_int::try_from(place.cell.largest().get()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call reads no memory. One that is refused leaves the usual size: a
        // longer message then goes in parts.
        unsafe { libc::fcntl(pipe.0.as_raw_fd(), libc::F_SETPIPE_SZ, wanted) };
        Ok(Self { pipe, held: 0 })
    }

    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        // What found no room is still in the pipe: the loop comes again with the same bytes.
        if self.held == 0 {
            let piece = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
            // SAFETY: the piece is readable for its length; the pages that the pipe refers to
            // are kept by the kernel, and nothing writes to them.
            let moved = Moved::from_syscall(unsafe {
                libc::syscall(libc::SYS_vmsplice, self.pipe.1.as_raw_fd(), &raw const piece, 1, libc::SPLICE_F_NONBLOCK)
            });
            if moved.0 <= 0 {
                return moved;
            }
            self.held = moved.0 as usize;
        }
        let here = ptr::null::<libc::loff_t>();
        // SAFETY: no offsets are given; descriptors that are not open are an errno.
        let moved = Moved::from_syscall(unsafe {
            libc::syscall(libc::SYS_splice, self.pipe.0.as_raw_fd(), here, socket, here, self.held, libc::SPLICE_F_MOVE)
        });
        self.held -= moved.0.clamp(0, self.held as isize) as usize;
        moved
    }
}
