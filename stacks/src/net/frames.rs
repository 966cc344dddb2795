//! Memory for frames that the kernel knows, in pieces that each have one owner: a frame is with this
//! process or with the kernel, and never with both.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::rc::Rc;

use bpf::xsk::CHUNK;

/// The memory of all frames, mapped.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    length: usize,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no frame is left. A socket that still has it
        // holds the pages themselves, which are nobody else's.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

impl Memory {
    /// Its first byte.
    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its bytes.
    pub const fn length(&self) -> usize {
        self.length
    }
}

/// Memory of one frame.
#[derive(Debug)]
pub struct Frame {
    memory: Rc<Memory>,
    number: usize,
}

impl Frame {
    /// Maps memory for `count` frames.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn map(count: usize) -> io::Result<(Rc<Memory>, Vec<Self>)> {
        let length = count * CHUNK;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: a new mapping, which nothing else has.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, -1, 0) };
        let start = NonNull::new(mapped.cast::<u8>()).filter(|_| mapped != libc::MAP_FAILED);
        let memory = Rc::new(Memory { start: start.ok_or_else(io::Error::last_os_error)?, length });
        let frames = (0..count).map(|number| Self { memory: Rc::clone(&memory), number }).collect();
        Ok((memory, frames))
    }

    /// Its place among all.
    pub const fn number(&self) -> usize {
        self.number
    }

    /// Where its first byte lies in the memory.
    pub const fn address(&self) -> u64 {
        (self.number * CHUNK) as u64
    }
}

impl Deref for Frame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the frame lies within the memory, which lives as long as it does; no other frame
        // has its place, and the kernel has it only while this value is put away (`Xdp::lent`).
        unsafe { std::slice::from_raw_parts(self.memory.start.add(self.number * CHUNK).as_ptr(), CHUNK) }
    }
}

impl DerefMut for Frame {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has it while `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start.add(self.number * CHUNK).as_ptr(), CHUNK) }
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Frame};

    #[test]
    fn frames_do_not_overlap() {
        let (memory, mut frames) = Frame::map(3).unwrap();
        assert_eq!((memory.length(), memory.start().as_ptr().addr() % 4_096), (3 * CHUNK, 0));
        drop(memory);
        for frame in &mut frames {
            let mark = frame.number() as u8 + 1;
            frame.fill(mark);
        }
        let last = frames.pop().unwrap();
        drop(frames);
        assert!(last.len() == CHUNK && last.iter().all(|byte| *byte == 3));
        assert_eq!((last.number(), last.address()), (2, 2 * CHUNK as u64));
    }
}
