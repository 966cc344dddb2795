//! One `sendfile` system call a message, from a file in memory.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use super::one_message::{Call, OneMessage};
use crate::api::memory_file::memory_file;
use crate::api::{Moved, Place};

/// `sendfile(2)` from the pages of a file, without a copy.
pub type Sendfile = OneMessage<SendfileCall>;

/// The call, and the file that has the message.
#[derive(Debug)]
pub struct SendfileCall {
    file: File,
    length: usize,
}

impl Call for SendfileCall {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let message = place.message();
        Ok(Self { file: memory_file(&message)?, length: message.len() })
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        // The rest of a message ends where the file does; of a shorter one these bytes are as
        // good as others.
        let mut from = (self.length - message.len()) as libc::off_t;
        // SAFETY: the offset outlives the call; descriptors that are not open are an errno.
        Moved::from_call(unsafe { libc::sendfile(socket, self.file.as_raw_fd(), &raw mut from, message.len()) })
    }
}
