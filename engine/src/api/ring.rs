//! A ring of io_uring.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};

use io_uring::types::CancelBuilder;
use io_uring::{IoUring, Probe, opcode};

use super::KernelRefusal;

const OLDER: &str = "this kernel's io_uring is older than that of Linux 6.0";

/// Refuses a kernel that lacks an operation of those that are used.
fn check(probe: &Probe) -> io::Result<()> {
    // It came with the receive that stays (Linux 6.0), which cannot be asked for by itself.
    match probe.is_supported(opcode::SendZc::CODE) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::Unsupported, OLDER)),
    }
}

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
            KernelRefusal::error(why, answer)
        };
        let mut builder = IoUring::builder();
        if polled {
            builder.setup_sqpoll(IDLE_MS);
        }
        let ring = builder.build(entries.max(1).next_power_of_two() as u32).map_err(refused)?;
        let mut probe = Probe::new();
        // A kernel that cannot be asked is older still (Linux 5.6).
        ring.submitter().register_probe(&mut probe).map_err(|answer| KernelRefusal::error(OLDER, answer))?;
        check(&probe)?;
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

#[cfg(test)]
mod tests {
    use super::{Probe, Ring, check};
    use crate::api::KernelRefusal;

    /// The refusal of a ring on a thread whose calls of this number a filter answers with `errno`.
    fn filtered(call: libc::c_long, errno: i32) -> (String, Option<i32>) {
        let tried = move || {
            let word = |code: u32, number: u32, yes: u8, no: u8| libc::sock_filter { code: code as u16, jt: yes, jf: no, k: number };
            let mut filter = [
                // The number of the call, the first of `struct seccomp_data`.
                word(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
                word(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 0, 1),
                word(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32, 0, 0),
                word(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
            ];
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            // SAFETY: the calls take numbers and one program, which outlives them; they change this thread alone.
            let set = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
            };
            assert!(set, "{}", std::io::Error::last_os_error());
            let refused = Ring::new(8, false).unwrap_err();
            (refused.to_string(), KernelRefusal::errno(&refused))
        };
        std::thread::spawn(tried).join().unwrap()
    }

    #[test]
    fn a_refusal_says_what_the_kernel_lacks() {
        for (call, errno, words) in [
            (libc::SYS_io_uring_setup, libc::ENOSYS, "this kernel has no io_uring"),
            (libc::SYS_io_uring_setup, libc::EPERM, "io_uring_disabled"),
            (libc::SYS_io_uring_setup, libc::ENOMEM, "ulimit -l"),
            (libc::SYS_io_uring_register, libc::EINVAL, "older than that of Linux 6.0"),
        ] {
            let (told, kept) = filtered(call, errno);
            assert!(told.contains(words) && kept == Some(errno), "{told}");
        }
    }

    #[test]
    fn operations_are_asked_for_and_not_versions() {
        // One that the kernel did not fill in has none.
        assert!(check(&Probe::new()).unwrap_err().to_string().contains("older than that of Linux 6.0"));
    }
}
