// SPDX-License-Identifier: GPL-2.0-or-later
//! The cache lines that a message touches.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a line, as a power of two.
pub const SHIFT: u32 = 6;

/// A hash of line numbers: one multiplication, since there are millions.
#[derive(Default)]
pub struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // The odd number nearest to 2^64 over the golden ratio (Knuth, volume 3, 6.4).
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

/// Lines by the message that touched them last.
#[derive(Default)]
pub struct Lines {
    seen: HashMap<u64, u64, BuildHasherDefault<LineHasher>>,
    count: u64,
    message: u64,
}

impl Lines {
    /// Notes a line, which counts once a message.
    pub fn touch(&mut self, line: u64) {
        let message = self.message;
        if self.seen.insert(line, message + 1) != Some(message + 1) {
            self.count += 1;
        }
    }

    /// Number of lines since the last call, and begins again.
    pub fn take(&mut self) -> u64 {
        self.message += 1;
        std::mem::take(&mut self.count)
    }
}

/// Lines of code, of loads and of stores.
#[derive(Default)]
pub struct WorkingSet {
    /// Of instructions.
    pub code: Lines,
    /// Of loads.
    pub read: Lines,
    /// Of stores.
    pub written: Lines,
}

impl WorkingSet {
    /// Numbers of all three since the last call.
    pub fn take(&mut self) -> [u64; 3] {
        [self.code.take(), self.read.take(), self.written.take()]
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn a_line_counts_once_a_message() {
        let mut lines = Lines::default();
        [1, 2, 1, 3].into_iter().for_each(|line| lines.touch(line));
        assert_eq!(lines.take(), 3);
        [1, 1].into_iter().for_each(|line| lines.touch(line));
        assert_eq!((lines.take(), lines.take()), (1, 0));
    }
}
