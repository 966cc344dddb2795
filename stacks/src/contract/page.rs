//! The page that a program shares with its harness.

use std::fs::OpenOptions;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use sys::{Access, Mapping};

/// The stage in which a sender stops.
pub const STOP: u8 = 3;
/// Most counters of its own that a program may have.
pub const MOST_COUNTERS: usize = 8;

/// Length of the file.
const LENGTH: usize = 4_096;
/// Offsets, as docs/endpoint.md has them; the stage is byte 0.
const MESSAGES: usize = 64;
const BYTES: usize = 72;
const CALLS: usize = 80;
const OWN: usize = 96;

/// The page, mapped.
#[derive(Debug)]
pub struct Page(Mapping);

impl Page {
    /// Opens and maps it.
    ///
    /// # Errors
    /// A file that is not there, too short, or cannot be mapped.
    pub fn open(path: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < LENGTH as u64 {
            // A mapping beyond its end would be a fault at the first count.
            return Err(io::Error::other("the file is shorter than 4,096 bytes"));
        }
        Ok(Self(Mapping::of(&file, 0, LENGTH, Access::Write)?))
    }

    /// The part of the trial: 0 warm-up, 1 measured, 2 afterwards, [`STOP`].
    pub fn stage(&self) -> u8 {
        self.0.word::<AtomicU8>(0).load(Ordering::Relaxed)
    }

    /// Writes the counts so far: messages, their bytes, and the kernel calls that moved them.
    pub fn count(&self, messages: u64, bytes: u64, calls: u64) {
        self.word(CALLS).store(calls, Ordering::Relaxed);
        self.word(BYTES).store(bytes, Ordering::Relaxed);
        // Last: whoever reads it first never sees more messages than bytes.
        self.word(MESSAGES).store(messages, Ordering::Release);
    }

    /// Writes the counters of its own, in the order in which they were named.
    pub fn own<const N: usize>(&self, counters: [u64; N]) {
        const { assert!(N <= MOST_COUNTERS) };
        for (place, value) in counters.into_iter().enumerate() {
            self.word(OWN + 8 * place).store(value, Ordering::Relaxed);
        }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        self.0.word(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn counts_stand_where_the_contract_has_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        assert!(Page::open(path).is_err(), "an empty file cannot be mapped");
        let mut bytes = vec![0; 4_096];
        bytes[0] = 2;
        std::fs::write(path, &bytes).unwrap();
        let page = Page::open(path).unwrap();
        page.count(7, 448, 8);
        page.own([5, 6]);
        let seen = std::fs::read(path).unwrap();
        let at = |offset: usize| u64::from_ne_bytes(seen[offset..offset + 8].try_into().unwrap());
        assert_eq!([at(64), at(72), at(80), at(88), at(96), at(104)], [7, 448, 8, 0, 5, 6]);
        assert_eq!(page.stage(), 2);
    }
}
