//! Memory for frames that the kernel knows, in pieces that each have one owner: a frame is with this
//! process or with the kernel, and never with both.

use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::rc::Rc;

use bpf::xsk::CHUNK;
use sys::Mapping;

/// Memory of one frame. The last one that goes takes all memory along; a socket that still has it holds
/// the pages themselves.
#[derive(Debug)]
pub struct Frame {
    memory: Rc<Mapping>,
    number: usize,
}

impl Frame {
    /// Maps memory for `count` frames.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn map(count: usize) -> io::Result<(Rc<Mapping>, Vec<Self>)> {
        let memory = Rc::new(Mapping::of_no_file(count * CHUNK)?);
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

    const fn range(&self) -> Range<usize> {
        self.number * CHUNK..(self.number + 1) * CHUNK
    }
}

impl Deref for Frame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the frame lies within the memory, which lives as long as it does; no other frame
        // has its place, and the kernel has it only while this value is put away (`Xdp::lent`).
        unsafe { self.memory.bytes(self.range()) }
    }
}

impl DerefMut for Frame {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has it while `self` is borrowed.
        unsafe { self.memory.bytes_mut(self.range()) }
    }
}

/// Memory of a packet.
#[derive(Debug)]
pub enum Room {
    /// Of its own.
    Heap(Box<[u8]>),
    /// A frame that a device takes and brings without a copy in this process.
    Frame(Frame),
}

impl Room {
    /// Memory of its own.
    pub fn heap(bytes: usize) -> Self {
        Self::Heap(vec![0; bytes].into())
    }
}

impl Deref for Room {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Frame(frame) => frame,
        }
    }
}

impl DerefMut for Room {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Frame(frame) => frame,
        }
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
