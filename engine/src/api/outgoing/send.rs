//! One `send` system call a message.

use std::io;
use std::os::fd::RawFd;
use std::ptr;

use super::one_message::{Call, OneMessage};
use crate::api::{Moved, Place};

/// Plain `send(2)`.
pub type Send = OneMessage<SendCall>;

/// The call.
#[derive(Debug)]
pub struct SendCall;

impl Call for SendCall {
    fn open(_: &Place<'_>) -> io::Result<Self> {
        Ok(Self)
    }

    #[inline(always)]
    fn send(&mut self, socket: RawFd, message: &[u8]) -> Moved {
        send_with(socket, message, 0)
    }
}

/// `send(2)` with flags.
#[inline(always)]
pub fn send_with(socket: RawFd, message: &[u8], flags: libc::c_int) -> Moved {
    // SAFETY: `message` is readable for its length and outlives the call; a descriptor
    // that is not open is an errno. MSG_NOSIGNAL: so is a vanished peer, and no signal.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket,
            message.as_ptr(),
            message.len(),
            flags | libc::MSG_NOSIGNAL,
            ptr::null::<libc::sockaddr>(),
            0,
        )
    };
    Moved::from_syscall(answer)
}
