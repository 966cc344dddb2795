//! Layout of the board's memory.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use model::Nanos;
use model::end::Switches;
use model::woven::{MOST_SEATS, Reading};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use sys::mapping::SEALS;
use sys::{Access, Mapping};

/// Edges that a seat keeps: more marks than one slice has.
const EDGES: usize = 64;
/// First number of a board, so that no other file is taken for one: "weave" and a version.
const MAGIC: u64 = 0x7765_6176_6500_0002;

/// Begin of a board.
#[repr(C, align(128))]
struct Header {
    magic: AtomicU64,
}

/// A line of memory that one side writes and the other reads once a message.
#[repr(C, align(128))]
pub struct PartLine {
    /// Part of the trial: [`crate::part::Part`].
    pub part: AtomicU8,
}

/// What a traffic thread does after the edge of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// It goes on. Nobody waits for the edge: a slice begins with it.
    GoOn = 0,
    /// It goes on; the controller waits for the edge.
    Tell = 1,
    /// It sleeps until the next mark; the controller waits for the edge.
    Stop = 2,
}

impl Order {
    pub(super) const fn split(word: u32) -> (u32, Self) {
        let order = match word & 3 {
            0 => Self::GoOn,
            1 => Self::Tell,
            _ => Self::Stop,
        };
        (word >> 2, order)
    }

    pub(super) const fn word(self, mark: u32) -> u32 {
        mark << 2 | self as u32
    }

    /// The word of the mark that follows `last`. 30 bits: it begins again after a month of slices, beyond 0, which is no
    /// mark.
    pub(super) fn following(self, last: u32) -> u32 {
        self.word((last.wrapping_add(1) & (u32::MAX >> 2)).max(1))
    }

    pub(super) const fn is_awaited(self) -> bool {
        !matches!(self, Self::GoOn)
    }
}

/// The talk of the controller with a traffic thread.
#[repr(C, align(128))]
pub struct TalkLine {
    /// The last mark: its number, and its [`Order`] in the last two bits. A futex. Of a thread that goes on, both sides
    /// may change it, by compare-exchange; else the controller alone.
    pub mark: AtomicU32,
    /// Number of the last mark that the thread has answered. A futex.
    pub answered: AtomicU32,
    /// The thread; 0 before it is there.
    pub thread: AtomicU32,
    /// Its process.
    pub process: AtomicU32,
    /// The order with which the thread ends its slice itself.
    pub end_order: AtomicU32,
    /// The time at which it does, by the monotonic clock; 0 where the controller ends it.
    pub end_at: AtomicU64,
}

/// Room for an edge.
#[repr(C, align(64))]
pub struct EdgeRoom {
    mark: AtomicU64,
    words: [AtomicU64; 7],
}

/// Memory of one seat.
#[repr(C)]
pub struct SeatMemory {
    pub line: PartLine,
    pub talk: TalkLine,
    edges: [EdgeRoom; EDGES],
}

impl EdgeRoom {
    fn write(&self, mark: u32, edge: &Reading) {
        let Switches { voluntary, involuntary } = edge.switches;
        // Half a word is enough: no thread sleeps 4 billion times in an instance.
        let switches = voluntary << 32 | involuntary & u64::from(u32::MAX);
        let words = [edge.time.get(), edge.cpu.get(), edge.run_delay.get(), edge.messages, edge.bytes, edge.calls, switches];
        for (room, word) in self.words.iter().zip(words) {
            room.store(word, Ordering::Relaxed);
        }
        self.mark.store(mark.into(), Ordering::Release);
    }

    fn read(&self, mark: u32) -> Option<Reading> {
        if self.mark.load(Ordering::Acquire) != u64::from(mark) {
            return None;
        }
        let [time, cpu, run_delay, messages, bytes, calls, switches] = self.words.each_ref().map(|word| word.load(Ordering::Relaxed));
        let switches = Switches { voluntary: switches >> 32, involuntary: switches & u64::from(u32::MAX) };
        Some(Reading { time: Nanos::new(time), cpu: Nanos::new(cpu), run_delay: Nanos::new(run_delay), messages, bytes, calls, switches })
    }
}

impl SeatMemory {
    /// Writes the edge of a mark.
    pub fn write(&self, mark: u32, edge: &Reading) {
        self.edges[mark as usize % EDGES].write(mark, edge);
    }

    /// The edge of a mark, where it was written and is still there.
    pub fn read(&self, mark: u32) -> Option<Reading> {
        self.edges[mark as usize % EDGES].read(mark)
    }

    /// Forgets all edges.
    pub fn forget_edges(&self) {
        // Of no mark: 0 is asked for as well.
        self.edges.iter().for_each(|room| room.mark.store(u64::MAX, Ordering::Relaxed));
    }
}

/// The board, mapped into this process.
#[derive(Debug)]
pub struct Memory {
    mapping: Mapping,
}

const LENGTH: usize = size_of::<Header>() + MOST_SEATS as usize * size_of::<SeatMemory>();

impl Memory {
    /// Makes an empty file a board, and maps it.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn make(file: &File) -> io::Result<Self> {
        file.set_len(LENGTH as u64)?;
        fcntl(file, FcntlArg::F_ADD_SEALS(SEALS))?;
        let board = Self { mapping: Mapping::of(file, 0, LENGTH, Access::WriteAtOnce)? };
        board.magic().store(MAGIC, Ordering::Release);
        Ok(board)
    }

    /// Maps a board that another process made.
    ///
    /// # Errors
    /// A refusal of the system, or that the file is no board.
    pub fn open(file: &File) -> io::Result<Self> {
        let no_board = || io::Error::other("the file is no board of a woven trial");
        // A file that is not in memory has no seals. A board that became shorter would end who has it mapped.
        let is_sealed = fcntl(file, FcntlArg::F_GET_SEALS).is_ok_and(|seals| SealFlag::from_bits_retain(seals).contains(SEALS));
        if !is_sealed || file.metadata()?.len() != LENGTH as u64 {
            return Err(no_board());
        }
        let board = Self { mapping: Mapping::of(file, 0, LENGTH, Access::WriteAtOnce)? };
        if board.magic().load(Ordering::Acquire) == MAGIC { Ok(board) } else { Err(no_board()) }
    }

    fn magic(&self) -> &AtomicU64 {
        self.mapping.word(offset_of!(Header, magic))
    }

    /// Memory of a seat; `None` of a number beyond the last.
    pub fn seat(&self, number: u32) -> Option<&SeatMemory> {
        if number >= MOST_SEATS {
            return None;
        }
        let place = self.mapping.place(size_of::<Header>() + number as usize * size_of::<SeatMemory>(), size_of::<SeatMemory>());
        // SAFETY: the place is that of a seat within the mapping, which begins on a page, at a multiple of the seat's
        // alignment; its memory consists of atomics, for which any bytes will do; it is mapped as long as `self` is.
        Some(unsafe { place.cast::<SeatMemory>().as_ref() })
    }
}
