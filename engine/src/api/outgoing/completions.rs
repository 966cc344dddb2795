//! Notices that the kernel is done with memory that it was lent (`MSG_ZEROCOPY`).

use std::io;
use std::os::fd::RawFd;

use crate::api::{KernelRefusal, ZeroCopy, headers};
use sys::socket::set_int;

/// Room for the control message of a notice: an error with the address behind it.
const CONTROL: usize = 128;
/// A notice is asked for after so many sends: before there are so many that the kernel
/// refuses more (net.core.optmem_max).
const EVERY: u32 = 16;

/// Notices of one socket, and what they said.
#[derive(Debug, Default)]
pub struct Completions {
    control: Control,
    /// Sends since the last look for notices, and all of them.
    since_look: u32,
    sends: u64,
    seen: ZeroCopy,
}

/// Memory for a control message, aligned as the kernel writes it.
#[derive(Debug)]
#[repr(align(8))]
struct Control([u8; CONTROL]);

impl Default for Control {
    fn default() -> Self {
        Self([0; CONTROL])
    }
}

impl Completions {
    /// Has the kernel send from a program's pages, and tell when it is done.
    ///
    /// # Errors
    /// A refusal of the kernel.
    pub fn enable(socket: RawFd) -> io::Result<Self> {
        set_int(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1)
            .map_err(|answer| KernelRefusal::error("this kernel refuses SO_ZEROCOPY", answer))?;
        Ok(Self::default())
    }

    /// Counts a send, and looks for notices now and then.
    #[inline(always)]
    pub fn after_send(&mut self, socket: RawFd) {
        self.sends += 1;
        self.since_look += 1;
        if self.since_look >= EVERY {
            self.take(socket);
        }
    }

    /// Returns whether the kernel has notices still to give.
    pub const fn are_outstanding(&self) -> bool {
        self.sends > self.seen.sends
    }

    /// Waits a moment for a notice: too many had not been taken.
    #[cold]
    pub fn wait(&mut self, socket: RawFd) {
        const MOMENT_MS: libc::c_int = 1;
        let mut entry = libc::pollfd { fd: socket, events: 0, revents: 0 };
        // SAFETY: one entry, which outlives the call. A notice is an error to it, which needs no asking.
        unsafe { libc::poll(&raw mut entry, 1, MOMENT_MS) };
        self.take(socket);
    }

    /// Takes the notices that are there. One tells of several sends where they follow one
    /// another.
    pub fn take(&mut self, socket: RawFd) {
        self.since_look = 0;
        loop {
            let mut piece = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
            let mut header = headers::of_one(&mut piece);
            (header.msg_control, header.msg_controllen) = (self.control.0.as_mut_ptr().cast(), CONTROL);
            // SAFETY: the header has no room for data, and control data that is writable for
            // its length and outlives the call. The queue of errors never waits.
            if unsafe { libc::recvmsg(socket, &raw mut header, libc::MSG_ERRQUEUE) } < 0 {
                return;
            }
            if let Some(notice) = notice(&header) {
                self.seen.add(notice);
            }
        }
    }

    /// Sends that the notices have reported so far.
    pub const fn seen(&self) -> ZeroCopy {
        self.seen
    }
}

/// The sends that a notice tells of.
fn notice(header: &libc::msghdr) -> Option<ZeroCopy> {
    /// `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED` of the kernel's
    /// include/uapi/linux/errqueue.h.
    const ORIGIN: u8 = 5;
    const COPIED: u8 = 1;
    // SAFETY: the kernel has filled the header's control data.
    let first = unsafe { libc::CMSG_FIRSTHDR(header).as_ref() }?;
    if first.cmsg_len < size_of::<libc::cmsghdr>() + size_of::<libc::sock_extended_err>() {
        return None;
    }
    // SAFETY: the message is long enough for an error behind its head.
    let error = unsafe { libc::CMSG_DATA(first).cast::<libc::sock_extended_err>().read_unaligned() };
    let sends = u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1;
    (error.ee_origin == ORIGIN && error.ee_errno == 0)
        .then_some(ZeroCopy { sends, copied: if error.ee_code & COPIED == 0 { 0 } else { sends } })
}
