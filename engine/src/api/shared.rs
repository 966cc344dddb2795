//! A ring of bytes in memory that two processes have: the limit of what carrying messages
//! between them can cost. One copy in, one copy out, and no system call but to wait.
//!
//! The memory holds two rings, one for each direction, each with a page of counters before
//! its bytes. One process writes a ring and one reads it. An end that finds it full, or
//! empty, sleeps on a futex (futex(2)); the other end looks whether it does after every
//! message. The counters are the other process's to write: what they say is checked
//! before it is used, and no place outside the ring follows from it.

use std::fs::File;
use std::hint;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use model::Cell;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use sys::mapping::SEALS;
use sys::{Access, Mapping, shared};

use super::CallOutcome;

/// Bytes of the counters before each ring.
const HEAD: usize = 4_096;
/// The least, the usual and the most bytes of a ring.
const LEAST: usize = 1 << 16;
const USUAL: usize = 1 << 20;
const MOST: usize = 1 << 28;
/// Bytes of the length before each message of a ring that keeps them apart; messages begin
/// at its multiples, so that no length lies on both ends of the ring.
const LENGTH: usize = 8;
/// Times that an end asks before its loop looks at the stage, where none sleeps.
const SPINS: u32 = 10_000;
/// Bytes of a ring for a cell: what it gives as the send buffer, and room for two messages.
pub fn ring_bytes(cell: &Cell) -> usize {
    let two = cell.largest().as_len().saturating_add(2 * LENGTH).saturating_mul(2);
    let asked = cell.sndbuf.map_or(USUAL, model::Bytes::as_len);
    // Of a stream of bytes a message goes in parts where it must.
    asked.max(two).clamp(LEAST, MOST).next_power_of_two()
}

/// Memory with a ring of `bytes` for each direction.
///
/// # Errors
/// A refusal of the system.
pub fn make(bytes: usize) -> io::Result<OwnedFd> {
    let file = shared::empty_file(c"ring", libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)?;
    file.set_len(2 * (HEAD + bytes) as u64)?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(SEALS))?;
    Ok(file.into())
}

/// A word of its own cache line: the two ends do not take it from each other for nothing.
#[repr(align(128))]
struct Line<T>(T);

/// Counters of a ring.
#[repr(C)]
struct Head {
    /// Bytes that were written since the beginning.
    written: Line<AtomicU64>,
    /// Bytes that were read.
    read: Line<AtomicU64>,
    /// 1 while the reader sleeps, and while the writer does.
    reader_sleeps: Line<AtomicU32>,
    writer_sleeps: Line<AtomicU32>,
    /// 1 once the writer writes no more, and once the reader reads no more.
    written_out: Line<AtomicU32>,
    read_out: Line<AtomicU32>,
}

const _: () = assert!(size_of::<Head>() <= HEAD, "the counters fit before the ring");

/// Maps the memory of both rings, which neither end can make shorter.
fn map(memory: &OwnedFd) -> io::Result<Mapping> {
    let sealed = fcntl(memory, FcntlArg::F_GET_SEALS).is_ok_and(|seals| SealFlag::from_bits_retain(seals).contains(SEALS));
    let length = usize::try_from(File::from(memory.try_clone()?).metadata()?.len()).unwrap_or(0);
    let ring = (length / 2).saturating_sub(HEAD);
    if !sealed || !ring.is_power_of_two() || !(LEAST..=MOST).contains(&ring) {
        return Err(io::Error::other("the memory that was passed is no ring"));
    }
    Mapping::of(memory, 0, length, Access::WriteAtOnce)
}

/// One direction of the memory, at one of its ends.
#[derive(Debug)]
pub struct Ring {
    mapping: Mapping,
    /// Offset of its counters.
    head: usize,
    capacity: usize,
    /// This end's own counter; the other may not set it back.
    own: u64,
    /// The other end's counter, as last seen.
    other: u64,
    patience: Duration,
    /// True where the other end may sleep.
    sleeps: bool,
}

impl Ring {
    /// The ring in `memory` of the way there, or of the way back. A wait ends after
    /// `patience`; where no end `sleeps`, none is woken.
    ///
    /// # Errors
    /// Memory that is no ring, a refusal of the system.
    pub fn open(memory: &OwnedFd, back: bool, patience: Duration, sleeps: bool) -> io::Result<Self> {
        let mapping = map(memory)?;
        let half = mapping.length() / 2;
        Ok(Self { head: if back { half } else { 0 }, capacity: half - HEAD, mapping, own: 0, other: 0, patience, sleeps })
    }

    fn head(&self) -> &Head {
        // SAFETY: `head` is the offset of a page within the mapping, which begins on a page;
        // any bits are valid counters.
        unsafe { self.mapping.place(self.head, size_of::<Head>()).cast::<Head>().as_ref() }
    }

    /// Address of the byte that comes at `position`.
    fn at(&self, position: u64) -> *mut u8 {
        self.mapping.place(self.head + HEAD + (position as usize & (self.capacity - 1)), 0).as_ptr()
    }

    /// Bytes from `position` to the end of the ring.
    const fn to_the_end(&self, position: u64) -> usize {
        self.capacity - (position as usize & (self.capacity - 1))
    }

    fn copy_in(&self, position: u64, bytes: &[u8]) {
        let first = bytes.len().min(self.to_the_end(position));
        // SAFETY: no more than the ring has room for, in two parts that each lie within it;
        // the other end reads them when it is told of them.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(position), first);
            ptr::copy_nonoverlapping(bytes.as_ptr().add(first), self.at(position + first as u64), bytes.len() - first);
        }
    }

    fn copy_out(&self, position: u64, room: &mut [u8]) {
        let first = room.len().min(self.to_the_end(position));
        // SAFETY: as in `copy_in`; the room is writable for its length.
        unsafe {
            ptr::copy_nonoverlapping(self.at(position), room.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(self.at(position + first as u64), room.as_mut_ptr().add(first), room.len() - first);
        }
    }

    /// Bytes that lie in the ring: at most its capacity, or the other end's counter is a lie.
    fn held(&self, written: u64, read: u64) -> Result<usize, CallOutcome> {
        let held = written.wrapping_sub(read);
        if held <= self.capacity as u64 { Ok(held as usize) } else { Err(CallOutcome(-(libc::EBADMSG as isize))) }
    }

    /// Room for the writer, of which it needs `wanted`: it looks at the reader's counter
    /// only where what it saw last does not do.
    fn room(&mut self, wanted: usize) -> Result<usize, CallOutcome> {
        let room = self.capacity - self.held(self.own, self.other)?;
        if room >= wanted {
            return Ok(room);
        }
        self.other = self.head().read.0.load(Ordering::Acquire);
        Ok(self.capacity - self.held(self.own, self.other)?)
    }

    /// Bytes for the reader, of which it needs `wanted`.
    fn there(&mut self, wanted: usize) -> Result<usize, CallOutcome> {
        let there = self.held(self.other, self.own)?;
        if there >= wanted {
            return Ok(there);
        }
        self.other = self.head().written.0.load(Ordering::Acquire);
        self.held(self.other, self.own)
    }

    /// Writes as many bytes as there is room for, or a whole message with its length before
    /// it. Waits until there is room for some.
    pub fn write(&mut self, bytes: &[u8], whole: bool) -> CallOutcome {
        let wanted = if whole { LENGTH + bytes.len().next_multiple_of(LENGTH) } else { 1 };
        loop {
            match self.room(wanted) {
                Err(lie) => return lie,
                Ok(room) if room >= wanted => return self.put(bytes, room, whole),
                Ok(_) if self.head().read_out.0.load(Ordering::Acquire) != 0 => return CallOutcome(-(libc::EPIPE as isize)),
                Ok(_) => {
                    let moved = self.sleep(|head| &head.writer_sleeps.0, |ring| ring.room(wanted).is_ok_and(|room| room < wanted));
                    if moved.0 < 0 {
                        return moved;
                    }
                }
            }
        }
    }

    fn put(&mut self, bytes: &[u8], room: usize, whole: bool) -> CallOutcome {
        let length = if whole { bytes.len() } else { bytes.len().min(room) };
        let mut end = self.own;
        if whole {
            self.copy_in(end, &(length as u64).to_ne_bytes());
            end += LENGTH as u64;
        }
        self.copy_in(end, &bytes[..length]);
        end += (if whole { length.next_multiple_of(LENGTH) } else { length }) as u64;
        self.own = end;
        self.head().written.0.store(end, Ordering::Release);
        self.wake(|head| &head.reader_sleeps.0);
        CallOutcome(length as isize)
    }

    /// Reads as many bytes as there are and the room takes, or one message, of which what
    /// finds no room is lost. `wait` says whether to wait for some; 0 bytes are the end.
    pub fn read(&mut self, room: &mut [u8], whole: bool, wait: bool) -> CallOutcome {
        let wanted = if whole { LENGTH } else { 1 };
        loop {
            // What was written before the writer's end is there when that is seen.
            let over = self.head().written_out.0.load(Ordering::Acquire) != 0;
            match self.there(wanted) {
                Err(lie) => return lie,
                Ok(there) if there >= wanted => return self.get(room, there, whole),
                Ok(_) if over => return CallOutcome(0),
                Ok(_) if !wait => return CallOutcome::NOTHING,
                Ok(_) => {
                    let moved = self.sleep(|head| &head.reader_sleeps.0, |ring| ring.there(wanted).is_ok_and(|there| there < wanted));
                    if moved.0 < 0 {
                        return moved;
                    }
                }
            }
        }
    }

    fn get(&mut self, room: &mut [u8], there: usize, whole: bool) -> CallOutcome {
        let (length, taken, end) = if whole {
            let mut length = [0; LENGTH];
            self.copy_out(self.own, &mut length);
            let length = usize::try_from(u64::from_ne_bytes(length)).unwrap_or(usize::MAX);
            if length > there - LENGTH {
                return CallOutcome(-(libc::EBADMSG as isize));
            }
            (length.min(room.len()), LENGTH + length.next_multiple_of(LENGTH), LENGTH as u64)
        } else {
            let length = there.min(room.len());
            (length, length, 0)
        };
        self.copy_out(self.own + end, &mut room[..length]);
        self.own += taken as u64;
        self.head().read.0.store(self.own, Ordering::Release);
        // A writer that waits for room is woken once half of it is there, and not for each
        // message.
        if self.held(self.other, self.own).is_ok_and(|held| held <= self.capacity / 2) {
            self.wake(|head| &head.writer_sleeps.0);
        }
        CallOutcome(length as isize)
    }

    /// Says that nothing more will be written.
    pub fn end_writing(&self) {
        self.head().written_out.0.store(1, Ordering::Release);
        wake(&self.head().reader_sleeps.0);
    }

    /// Says that nothing more will be read.
    pub fn end_reading(&self) {
        self.head().read_out.0.store(1, Ordering::Release);
        wake(&self.head().writer_sleeps.0);
    }

    /// Sleeps while there is `nothing`, until it is woken or its patience is over. Where
    /// nobody wakes it, it asks again for a while.
    #[cold]
    fn sleep(&mut self, word: fn(&Head) -> &AtomicU32, nothing: impl Fn(&mut Self) -> bool) -> CallOutcome {
        if !self.sleeps {
            let there = (0..SPINS).any(|_| {
                hint::spin_loop();
                !nothing(self)
            });
            return if there { CallOutcome(0) } else { CallOutcome::NOTHING };
        }
        word(self.head()).store(1, Ordering::Relaxed);
        // Either this end sees what the other wrote, or the other sees that this one sleeps.
        fence(Ordering::SeqCst);
        let moved = match nothing(self) {
            true => wait(word(self.head()), self.patience),
            false => CallOutcome(0),
        };
        word(self.head()).store(0, Ordering::Relaxed);
        moved
    }

    #[inline(always)]
    fn wake(&self, word: fn(&Head) -> &AtomicU32) {
        if !self.sleeps {
            return;
        }
        fence(Ordering::SeqCst);
        if word(self.head()).load(Ordering::Relaxed) != 0 {
            wake(word(self.head()));
        }
    }
}

/// Waits while the word is 1. The answer is an errno, or nothing where it was woken or
/// the word is another.
fn wait(word: &AtomicU32, patience: Duration) -> CallOutcome {
    match shared::futex_wait(word, 1, patience).map_err(|answer| answer.raw_os_error()) {
        Ok(()) | Err(Some(libc::EAGAIN)) => CallOutcome(0),
        // As a socket says it whose time limit has passed.
        Err(Some(libc::ETIMEDOUT)) => CallOutcome::NOTHING,
        Err(errno) => CallOutcome(-(errno.unwrap_or(libc::EIO) as isize)),
    }
}

#[cold]
fn wake(word: &AtomicU32) {
    word.store(0, Ordering::Relaxed);
    shared::futex_wake(word);
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::sync::atomic::Ordering;
    use std::thread;
    use std::time::Duration;

    use super::{LEAST, Ring, make};

    fn ends(memory: &OwnedFd) -> (Ring, Ring) {
        let open = || Ring::open(memory, false, Duration::from_millis(20), true).unwrap();
        (open(), open())
    }

    #[test]
    fn what_is_written_is_read_however_the_ring_wraps() {
        let memory = make(LEAST).unwrap();
        for whole in [true, false] {
            let (mut writes, mut reads) = ends(&make(LEAST).unwrap());
            let writer = thread::spawn(move || {
                for number in 0..4_000_usize {
                    let message = vec![number as u8; 1 + number * 37 % 5_000];
                    let mut done = 0;
                    while done < message.len() {
                        let moved = writes.write(&message[done..], whole).0;
                        assert!(moved > 0 || moved == -(libc::EAGAIN as isize), "{moved}");
                        done += moved.max(0) as usize;
                    }
                }
                writes.end_writing();
            });
            let mut room = vec![0; 8_192];
            let (mut bytes, mut sum, mut messages) = (0, 0, 0_usize);
            loop {
                match reads.read(&mut room, whole, true).0 {
                    0 => break,
                    length @ 1.. => {
                        let length = length as usize;
                        assert!(!whole || room[..length].iter().all(|byte| *byte == messages as u8) && length == 1 + messages * 37 % 5_000);
                        (bytes, messages) = (bytes + length, messages + 1);
                        sum += room[..length].iter().map(|byte| usize::from(*byte)).sum::<usize>();
                    }
                    errno => assert_eq!(errno, -(libc::EAGAIN as isize)),
                }
            }
            writer.join().unwrap();
            let sizes = (0..4_000_usize).map(|number| (1 + number * 37 % 5_000, number as u8));
            let expected = sizes.fold((0, 0), |all, (size, byte)| (all.0 + size, all.1 + size * usize::from(byte)));
            assert_eq!((bytes, sum), expected);
        }
        drop(memory);
    }

    #[test]
    fn counters_that_lie_are_refused() {
        let memory = make(LEAST).unwrap();
        let (writes, mut reads) = ends(&memory);
        writes.head().written.0.store(LEAST as u64 + 1, Ordering::Release);
        assert_eq!(reads.read(&mut [0; 8], false, false).0, -(libc::EBADMSG as isize));
        // A length beyond what is there.
        let (writes, mut reads) = ends(&make(LEAST).unwrap());
        writes.copy_in(0, &u64::MAX.to_ne_bytes());
        writes.head().written.0.store(16, Ordering::Release);
        assert_eq!(reads.read(&mut [0; 8], true, false).0, -(libc::EBADMSG as isize));
    }

    #[test]
    fn a_full_ring_waits_and_an_end_is_told() {
        let (mut writes, mut reads) = ends(&make(LEAST).unwrap());
        assert_eq!(writes.write(&vec![1; LEAST], false).0, LEAST as isize);
        assert_eq!(writes.write(&[1], false).0, -(libc::EAGAIN as isize));
        assert_eq!(reads.read(&mut [0; 4], false, true).0, 4);
        reads.end_reading();
        assert_eq!(writes.write(&[1; 8], false).0, 4);
        assert_eq!(writes.write(&[1], false).0, -(libc::EPIPE as isize));
    }

    #[test]
    fn other_memory_is_no_ring() {
        let file = sys::shared::file_of(&[0; 8_192]).unwrap();
        assert!(Ring::open(&file.into(), false, Duration::ZERO, true).is_err());
    }
}
