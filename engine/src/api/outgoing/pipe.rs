//! One `write` system call a message, into a pipe.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::one_message::{Call, OneMessage};
use crate::api::{Moved, Place};
use crate::wake::Alarm;

/// `write(2)` into the pipe that joins the ends.
pub type Pipe = OneMessage<WriteCall>;

/// The call, and the end of the pipe until the last message.
#[derive(Debug)]
pub struct WriteCall {
    pipe: Option<OwnedFd>,
    /// Its number; -1 after the last message.
    number: RawFd,
    _alarm: Alarm,
}

impl Call for WriteCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let pipe = place.passed()?;
        if let Some(size) = place.cell.sndbuf {
            let size = libc::c_int::try_from(size.get()).unwrap_or(libc::c_int::MAX);
            // SAFETY: the call reads no memory.
            if unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, size) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { number: pipe.as_raw_fd(), pipe: Some(pipe), _alarm: Alarm::every(place.patience)? })
    }

    #[inline(always)]
    fn send(&mut self, _socket: RawFd, message: &[u8]) -> Moved {
        // SAFETY: `message` is readable for its length and outlives the call; a descriptor
        // that is not open is an errno.
        Moved::from_syscall(unsafe { libc::syscall(libc::SYS_write, self.number, message.as_ptr(), message.len()) })
    }

    fn end(&mut self) {
        (self.pipe, self.number) = (None, -1);
    }
}
