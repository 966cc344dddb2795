//! The memory into which the kernel writes records.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use sys::{Access, Mapping, page_size};

/// Places in the first page (`struct perf_event_mmap_page`).
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// The most memory of all rings of one kind together. The rings of one bound thread rarely need a tenth.
pub(super) const ALL: usize = 256 << 20;
/// The most memory of one ring.
pub(super) const MOST: usize = 64 << 20;
/// The least: room for 128 samples of the usual size.
pub(super) const LEAST: usize = 64 << 10;

/// Bytes of each of some `rings` of which each may fill up to `wanted`: a power of two.
pub(super) fn bytes(wanted: usize, rings: usize) -> usize {
    let most = MOST.min(ALL / rings.max(1)).max(LEAST);
    // The largest power of two that is not above `most`.
    wanted.clamp(LEAST, 1 << most.ilog2()).next_power_of_two()
}

/// A ring shared with the kernel: one page of account, then the data.
#[derive(Debug)]
pub struct Ring {
    memory: Mapping,
    page: usize,
    bytes: usize,
}

impl Ring {
    /// Maps a ring of `bytes`, a power of two of pages, for an event.
    ///
    /// # Errors
    /// The system's answer: EPERM beyond the limit of locked memory.
    pub fn map(event: BorrowedFd, bytes: usize) -> io::Result<Self> {
        let page = page_size();
        let all = bytes.checked_add(page).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Self { memory: Mapping::of(event, 0, all, Access::Write)?, page, bytes })
    }

    /// The same of half the size as long as the system says that it is too much.
    ///
    /// # Errors
    /// The system's answer to the least.
    pub fn map_up_to(event: BorrowedFd, wanted: usize) -> io::Result<Self> {
        let mut bytes = wanted;
        loop {
            match Self::map(event, bytes) {
                Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)) && bytes > LEAST => bytes /= 2,
                mapped => return mapped,
            }
        }
    }

    /// Its size.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the kernel's records, and frees the room.
    ///
    /// # Errors
    /// When the account cannot be true.
    pub fn take(&mut self) -> io::Result<Vec<u8>> {
        let head = self.account(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.account(DATA_TAIL).load(Ordering::Relaxed);
        let written = head.wrapping_sub(tail);
        let count = usize::try_from(written).ok().filter(|count| *count <= self.bytes);
        let count =
            count.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("it claims {written} of {} bytes", self.bytes)))?;
        let at = (tail % self.bytes as u64) as usize;
        let first = count.min(self.bytes - at);
        let mut out = Vec::with_capacity(count);
        for (from, length) in [(at, first), (0, count - first)] {
            let start = self.page + from;
            // SAFETY: the kernel writes no byte between tail and head.
            out.extend_from_slice(unsafe { self.memory.bytes(start..start + length) });
        }
        self.account(DATA_TAIL).store(head, Ordering::Release);
        Ok(out)
    }

    fn account(&self, at: usize) -> &AtomicU64 {
        self.memory.word(at)
    }
}
