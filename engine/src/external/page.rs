//! The page that the harness and a user's program share: a file in memory, so that a
//! language that cannot map memory can read and write it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::{FcntlArg, fcntl};
use sys::mapping::SEALS;
use sys::{Access, Mapping, shared};

use crate::stage::Part;

/// Length of the file.
const LENGTH: usize = 4_096;
/// Offsets of the counters in it, as docs/endpoint.md has them; the stage is byte 0.
const MESSAGES: usize = 64;
const BYTES: usize = 72;
const CALLS: usize = 80;
const OWN_CPU: usize = 88;
const COUNTERS: usize = 96;

/// Most counters of its own that a program may have.
pub const MOST_COUNTERS: usize = 8;

/// A page that a program inherits by its descriptor.
#[derive(Debug)]
pub struct Page {
    file: File,
    memory: Mapping,
}

/// The content that a program has written so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramCounts {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Kernel calls that moved them; 0 where it does not count them.
    pub calls: u64,
    /// Its own CPU time in ns; 0 where it keeps none.
    pub own_cpu: u64,
}

impl Page {
    /// An empty page.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn new() -> io::Result<Self> {
        // Not closed on exec: the program opens it by its number.
        let file = shared::empty_file(c"nettoll-page", libc::MFD_ALLOW_SEALING)?;
        file.set_len(LENGTH as u64)?;
        let memory = Mapping::of(&file, 0, LENGTH, Access::WriteAtOnce)?;
        // Shorter, it would take the harness with it (SIGBUS).
        fcntl(&file, FcntlArg::F_ADD_SEALS(SEALS))?;
        Ok(Self { file, memory })
    }

    /// Path by which the program opens it.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// Says which part of the trial it is.
    pub fn enter(&self, part: Part) {
        // The stage is a byte on a cache line of its own; the bytes after it are nobody's.
        self.word(0).store(u64::from((part as u8).min(3)).to_le(), Ordering::Relaxed);
    }

    /// The content that the program has written.
    pub fn said(&self) -> ProgramCounts {
        let at = |offset| self.word(offset).load(Ordering::Relaxed);
        // Messages first: a program that counts them last is never ahead of its bytes.
        ProgramCounts { messages: at(MESSAGES), bytes: at(BYTES), calls: at(CALLS), own_cpu: at(OWN_CPU) }
    }

    /// The first `many` counters of the program's own.
    pub fn counters(&self, many: usize) -> impl Iterator<Item = u64> {
        (0..many.min(MOST_COUNTERS)).map(|place| self.word(COUNTERS + 8 * place).load(Ordering::Relaxed))
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        self.memory.word(offset)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::{Page, ProgramCounts};
    use crate::stage::Part;

    #[test]
    fn a_file_and_memory_show_the_same() {
        let page = Page::new().unwrap();
        let file = std::fs::OpenOptions::new().read(true).write(true).open(page.path()).unwrap();
        page.enter(Part::Tail);
        let mut stage = [0];
        file.read_exact_at(&mut stage, 0).unwrap();
        assert_eq!(stage, [2]);
        file.write_all_at(&[7u64, 448, 3, 9].map(u64::to_ne_bytes).concat(), 64).unwrap();
        assert_eq!(page.said(), ProgramCounts { messages: 7, bytes: 448, calls: 3, own_cpu: 9 });
        file.write_all_at(&[5u64, 6].map(u64::to_ne_bytes).concat(), 96).unwrap();
        assert_eq!(page.counters(3).collect::<Vec<_>>(), [5, 6, 0]);
    }

    #[test]
    fn a_program_cannot_make_it_shorter() {
        let page = Page::new().unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(page.path()).unwrap();
        assert!(file.set_len(0).is_err());
        assert_eq!(page.said(), ProgramCounts::default());
    }
}
