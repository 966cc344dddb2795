//! Memory that messages are sent from and received into.

use std::ops::{Deref, DerefMut};

/// Alignment of buffers: a page. The kernel's copies are slower
/// to and from odd addresses, and what the heap happens to give should not
/// decide what a message costs.
const ALIGNMENT: usize = 4_096;

/// Bytes that begin on a page, all of them touched.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// `length` bytes, all of them 1.
    pub fn ones(length: usize) -> Self {
        let bytes = vec![1; length.saturating_add(ALIGNMENT)];
        // An address is never further from the next page than a page.
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { bytes, start, length }
    }

    /// `length` bytes that are the same every `period`, at least 1: a large message
    /// is filled while its trial has begun, and copying is faster than working out.
    pub fn repeating(length: usize, period: usize, fill: impl Fn(usize) -> u8) -> Self {
        let mut buffer = Self::ones(length);
        let mut done = period.clamp(1, length.max(1)).min(length);
        buffer[..done].iter_mut().enumerate().for_each(|(place, byte)| *byte = fill(place));
        while done < length {
            // What is there is whole periods, but for the last copy.
            let more = done.min(length - done);
            buffer.copy_within(..more, done);
            done += more;
        }
        buffer
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::{ALIGNMENT, Buffer};

    #[test]
    fn a_buffer_begins_on_a_page_and_holds_what_was_asked() {
        for length in [1, 1_473, 4_096, 131_072] {
            let buffer = Buffer::repeating(length, length, |place| (place % 251) as u8);
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % ALIGNMENT), (length, 0));
            assert!(buffer.iter().enumerate().all(|(place, byte)| *byte == (place % 251) as u8));
            assert_eq!(*Buffer::repeating(length, 251, |place| place as u8), *buffer);
        }
    }
}
