//! Memory that the kernel maps into the process: files, rings of sockets and events, plain memory.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use nix::fcntl::SealFlag;

/// Use of a mapping, and when its pages are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write; a page is there once it is touched.
    Write,
    /// Read and write; all pages are there at once (`MAP_POPULATE`).
    WriteAtOnce,
    /// Read alone.
    Read,
}

/// Mapped memory, which goes with this value. It begins on a page.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory is mapped for the process and valid in every thread; safe calls reach it by
// atomic numbers alone.
unsafe impl Send for Mapping {}
// SAFETY: likewise.
unsafe impl Sync for Mapping {}

/// Bytes of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: takes a number only.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4_096)
}

/// Seals that keep a process that shares the memory of a file from taking it away.
pub const SEALS: SealFlag = SealFlag::F_SEAL_SHRINK.union(SealFlag::F_SEAL_GROW).union(SealFlag::F_SEAL_SEAL);

mod word {
    /// Numbers of which any bytes are one, and which all sides read and write whole.
    pub trait Word {}
    impl Word for super::AtomicU8 {}
    impl Word for super::AtomicU32 {}
    impl Word for super::AtomicU64 {}
}

impl Mapping {
    /// Maps `length` bytes of a file, shared with all who have it, from the offset `from` on.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn of(file: impl AsFd, from: libc::off_t, length: usize, access: Access) -> io::Result<Self> {
        Self::map(file.as_fd().as_raw_fd(), from, length, libc::MAP_SHARED, access)
    }

    /// Maps memory that is no file's and this process's own: zeroes.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn of_no_file(length: usize) -> io::Result<Self> {
        Self::map(-1, 0, length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, Access::WriteAtOnce)
    }

    fn map(file: libc::c_int, from: libc::off_t, length: usize, flags: libc::c_int, access: Access) -> io::Result<Self> {
        let (protection, more) = match access {
            Access::Write => (libc::PROT_READ | libc::PROT_WRITE, 0),
            Access::WriteAtOnce => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_POPULATE),
            Access::Read => (libc::PROT_READ, 0),
        };
        // SAFETY: the kernel chooses the place of a new mapping; nothing of the process is replaced.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags | more, file, from) };
        match NonNull::new(start.cast()) {
            Some(mapped) if start != libc::MAP_FAILED => Ok(Self { start: mapped, length }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The first byte.
    #[inline]
    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Number of bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The byte at `at`, of `length` that are there.
    ///
    /// # Panics
    /// Where they lie beyond the mapping.
    #[inline]
    pub fn place(&self, at: usize, length: usize) -> NonNull<u8> {
        assert!(at <= self.length && length <= self.length - at, "bytes of the mapping");
        // SAFETY: within the mapping, or at its end.
        unsafe { self.start.add(at) }
    }

    /// The number at `at`, which others may write as well. One of a mapping by [`Access::Read`] is only to be read: a
    /// write ends the process.
    ///
    /// # Panics
    /// Where it lies beyond the mapping, or is not aligned.
    #[inline]
    pub fn word<T: word::Word>(&self, at: usize) -> &T {
        assert!(at.is_multiple_of(align_of::<T>()), "an aligned number");
        // SAFETY: within the mapping, which lives as long as the reference and begins on a page;
        // any bytes are such a number.
        unsafe { self.place(at, size_of::<T>()).cast::<T>().as_ref() }
    }

    /// Bytes of the mapping.
    ///
    /// # Panics
    /// Where they lie beyond it.
    ///
    /// # Safety
    /// No one writes them while the reference lives: neither this process nor another, nor the kernel.
    #[inline]
    pub unsafe fn bytes(&self, range: Range<usize>) -> &[u8] {
        let length = range.len();
        // SAFETY: within the mapping; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(self.place(range.start, length).as_ptr(), length) }
    }

    /// Bytes of the mapping, to be written. It must not be mapped by [`Access::Read`].
    ///
    /// # Panics
    /// Where they lie beyond it.
    ///
    /// # Safety
    /// No one else reads or writes them while the reference lives.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "parts of one mapping have owners of their own")]
    pub unsafe fn bytes_mut(&self, range: Range<usize>) -> &mut [u8] {
        let length = range.len();
        // SAFETY: within the mapping; the caller keeps all others away.
        unsafe { std::slice::from_raw_parts_mut(self.place(range.start, length).as_ptr(), length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly this was mapped, and no reference into it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    use super::{Access, Mapping};

    #[test]
    fn a_file_and_its_mappings_show_the_same() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 3 * 4_096]).unwrap();
        let [writes, reads] =
            [(4_096, Access::WriteAtOnce), (0, Access::Read)].map(|(from, access)| Mapping::of(&file, from, 8_192, access).unwrap());
        writes.word::<AtomicU32>(8).store(0x0102_0304, Ordering::Relaxed);
        assert_eq!(reads.word::<AtomicU32>(4_104).load(Ordering::Relaxed), 0x0102_0304);
        // SAFETY: nothing writes there.
        assert_eq!(unsafe { reads.bytes(0..3) }, [7; 3]);
        let beyond: [&dyn Fn() -> *const u8; 3] = [
            &|| std::ptr::from_ref(reads.word::<AtomicU64>(8_188)).cast(),
            &|| std::ptr::from_ref(reads.word::<AtomicU64>(4)).cast(),
            &|| reads.place(8_192, 1).as_ptr(),
        ];
        assert!(beyond.iter().all(|read| catch_unwind(AssertUnwindSafe(read)).is_err()));
        assert_eq!(reads.place(8_192, 0).as_ptr().addr() - reads.start().as_ptr().addr(), reads.length());
    }

    #[test]
    fn memory_of_no_file_is_zero_and_a_refusal_has_its_errno() {
        let memory = Mapping::of_no_file(4_096).unwrap();
        // SAFETY: nothing else has it.
        let bytes = unsafe { memory.bytes_mut(0..4_096) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes.fill(1);
        let refused = Mapping::of(File::open("/proc/self/status").unwrap(), 0, 4_096, Access::Write).unwrap_err();
        assert!(refused.raw_os_error().is_some(), "{refused}");
        let short = Mapping::of_no_file(0).unwrap_err();
        assert_eq!(short.raw_os_error(), Some(libc::EINVAL));
    }
}
