//! A ring of io_uring.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};

use io_uring::types::CancelBuilder;
use io_uring::{IoUring, Probe, opcode};

use super::Refusal;

/// A ring that takes its requests back before it goes, while their memory is still
/// there. Fields with that memory stand behind it.
pub struct Ring(IoUring);

impl Ring {
    /// A ring for `entries` requests at once; of a `polled` one a thread of the kernel's takes
    /// them.
    ///
    /// # Errors
    /// A refusal of the kernel, in words.
    pub fn new(entries: usize, polled: bool) -> io::Result<Self> {
        /// The kernel's thread sleeps after so long without a request, in ms.
        const IDLE_MS: u32 = 10;
        let refused = |answer: io::Error| {
            let why = match answer.raw_os_error() {
                Some(libc::ENOSYS) => "this kernel has no io_uring",
                Some(libc::EPERM) => "kernel.io_uring_disabled or a seccomp filter refuses io_uring",
                Some(libc::ENOMEM) => "io_uring needs more locked memory: raise `ulimit -l`",
                _ => "io_uring",
            };
            Refusal::of(why, answer)
        };
        let mut builder = IoUring::builder();
        if polled {
            builder.setup_sqpoll(IDLE_MS);
        }
        let ring = builder.build(entries.max(1).next_power_of_two() as u32).map_err(refused)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        // It came with the receive that stays (Linux 6.0), which cannot be asked for by itself.
        if !probe.is_supported(opcode::SendZc::CODE) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel's io_uring is older than that of Linux 6.0"));
        }
        Ok(Self(ring))
    }

    /// Takes all requests back and waits until they are.
    pub fn cancel_all(&self) {
        // Where there are none, that is the answer.
        let _ = self.0.submitter().register_sync_cancel(None, CancelBuilder::any());
    }
}

impl Deref for Ring {
    type Target = IoUring;

    fn deref(&self) -> &IoUring {
        &self.0
    }
}

impl DerefMut for Ring {
    fn deref_mut(&mut self) -> &mut IoUring {
        &mut self.0
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.cancel_all();
    }
}
