//! The memory into which the kernel writes records.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::system::page_size;

/// Places in the first page (`struct perf_event_mmap_page`).
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// A ring shared with the kernel: one page of account, then the data.
#[derive(Debug)]
pub struct Ring {
    start: NonNull<u8>,
    page: usize,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is valid in every thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `bytes`, a power of two of pages, for an event.
    ///
    /// # Errors
    /// The system's answer: EPERM beyond the limit of locked memory.
    pub fn map(event: BorrowedFd, bytes: usize) -> io::Result<Self> {
        let page = page_size();
        let all = bytes.checked_add(page).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place of a new mapping; nothing of ours is replaced.
        let start = unsafe { libc::mmap(ptr::null_mut(), all, protection, libc::MAP_SHARED, event.as_raw_fd(), 0) };
        match NonNull::new(start.cast()) {
            Some(start) if start.as_ptr() != libc::MAP_FAILED.cast() => Ok(Self { start, page, bytes }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Appends what the kernel has written to `out`, and frees the room.
    ///
    /// # Errors
    /// When the account cannot be true.
    pub fn take(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let head = self.account(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.account(DATA_TAIL).load(Ordering::Relaxed);
        let written = head.wrapping_sub(tail);
        let count = usize::try_from(written).ok().filter(|count| *count <= self.bytes);
        let count =
            count.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("it claims {written} of {} bytes", self.bytes)))?;
        let at = (tail % self.bytes as u64) as usize;
        let first = count.min(self.bytes - at);
        out.reserve(count);
        for (from, length) in [(at, first), (0, count - first)] {
            // SAFETY: `from + length` is at most `bytes`, which are mapped behind the first page; the kernel
            // writes no byte between tail and head; `out` has room for `count` more bytes, and lies elsewhere.
            unsafe {
                let source = self.start.as_ptr().add(self.page + from);
                ptr::copy_nonoverlapping(source, out.as_mut_ptr().add(out.len()), length);
                out.set_len(out.len() + length);
            }
        }
        self.account(DATA_TAIL).store(head, Ordering::Release);
        Ok(())
    }

    fn account(&self, at: usize) -> &AtomicU64 {
        // SAFETY: `at` lies in the first page, is a multiple of eight, and the kernel
        // treats the place as a number that both sides read and write whole.
        unsafe { &*self.start.as_ptr().add(at).cast::<AtomicU64>() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.page + self.bytes) };
    }
}
