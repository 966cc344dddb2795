//! Records that programs write and this process reads in place, without a call to the kernel (Linux 5.8).

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::asm::{Assembler, Helper, Reg};
use super::map::{Map, Records};
use super::refused;
use model::Refusal;
use sys::{Access, Mapping, page_size};

/// Bytes in front of each record: its length with two flags, then a number of the kernel's own.
const HEADER: usize = 8;
/// The record is being written.
const BUSY: u32 = 1 << 31;
/// The record is not to be read.
const DISCARDED: u32 = 1 << 30;
/// Flag of [`Helper::Output`]: no reader is woken.
const NO_WAKING: i32 = 1;

/// A ring for records of all CPUs.
#[derive(Debug)]
pub struct Ring {
    map: Map<Records>,
    /// How far this process has read: a page.
    read: Mapping,
    /// How far the kernel has written: a page; then the records, twice, so that each lies in one piece.
    written: Mapping,
    bytes: usize,
}

impl Ring {
    /// Makes a ring of at least `bytes`.
    ///
    /// # Errors
    /// The system's answer, for `mechanism`.
    pub fn new(bytes: usize, mechanism: &str) -> Result<Self, Refusal> {
        let (page, bytes) = (page_size(), bytes.max(page_size()).next_power_of_two());
        let map = Map::make(0, 0, bytes, mechanism)?;
        let mapped = |from: usize, length, access| {
            Mapping::of(map.as_fd(), from as libc::off_t, length, access).map_err(|error| refused(mechanism, "mmap(RINGBUF)", &error))
        };
        let (read, written) = (mapped(0, page, Access::Write)?, mapped(page, page + 2 * bytes, Access::Read)?);
        Ok(Self { map, read, written, bytes })
    }

    /// Writes `size` bytes at the stack's place `at` as a record, without waking a reader. Leaves 0 in `R0` where there is
    /// room; destroys `R1` to `R5`.
    pub fn emit_output(&self, asm: &mut Assembler, at: i16, size: i32) {
        asm.set_map(Reg::R1, self.map.number());
        asm.stack_address(Reg::R2, i32::from(at));
        asm.set(Reg::R3, size);
        asm.set(Reg::R4, NO_WAKING);
        asm.call(Helper::Output);
    }

    /// Hands over the records that are complete, in order, and frees their room: those that are there when it begins.
    ///
    /// # Errors
    /// When the account cannot be true.
    pub fn take(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let position = self.read.word::<AtomicU64>(0);
        let end = self.written.word::<AtomicU64>(0).load(Ordering::Acquire);
        let mut at = position.load(Ordering::Relaxed);
        while at < end {
            let start = page_size() + (at % self.bytes as u64) as usize;
            let length = self.written.word::<AtomicU32>(start).load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let size = (length & !DISCARDED) as usize;
            let whole = (size + HEADER).next_multiple_of(8);
            if whole as u64 > end - at || whole > self.bytes {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a record of {size} bytes where {} were written", end - at),
                ));
            }
            if length & DISCARDED == 0 {
                // SAFETY: a record that is complete is not written before this process has freed its room.
                each(unsafe { self.written.bytes(start + HEADER..start + HEADER + size) });
            }
            at += whole as u64;
            position.store(at, Ordering::Release);
        }
        Ok(())
    }
}
