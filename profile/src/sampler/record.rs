//! The kernel's records (`struct perf_event_header` and what follows), read as
//! foreign bytes: no record is believed beyond its own length.

use model::Refusal;
use model::profile::SampleSource;

use super::open::Layout;
use crate::symbols::{CodeMap, Symbol};

const HEADER: usize = 8;
const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
/// A switch as an event of a whole CPU has it: with the other task's ids in front.
const SWITCH_CPU_WIDE: u32 = 15;
const KERNEL_SYMBOL: u32 = 17;

/// The part of a header's flags that says where the processor was.
const MODE: u16 = 7;
const MODE_USER: u16 = 2;
/// In a record of a switch: the thread went, rather than came.
const SWITCH_OUT: u16 = 1 << 13;
/// The thread that went could have gone on.
const SWITCH_OUT_RUNNABLE: u16 = 1 << 14;
/// In a record of a kernel symbol: the code is no longer there.
const SYMBOL_GONE: u16 = 1;
const SYMBOL_OF_BPF: u16 = 1;

/// Numbers from here up in a chain are no addresses but say whose addresses
/// follow (`enum perf_callchain_context`, -4095 to -1).
const CONTEXT_FIRST: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;

/// The most counters that a group can have here.
const READS: u64 = 8;

/// A record that contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Its length is impossible: nothing behind it can be read.
    #[error("a record of impossible length: the rest of the ring cannot be read")]
    Length,
    /// It is shorter than its kind.
    #[error("a record shorter than the content that it announces")]
    Content,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample.
    Sample(Sample<'a>),
    /// So many records found no room.
    Lost(u64),
    /// The kernel took a pause, at this time.
    Throttle(u64),
    /// A thread came to a CPU, or left it.
    Switch(Switch),
    /// A process or thread was made.
    Fork(Fork),
    /// Code of the kernel came or went: a program, a trampoline.
    Symbol(Symbol<'a>),
    /// Any other.
    Other,
}

/// A sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample<'a> {
    /// `true` if user code was running.
    pub user: bool,
    /// The address of the next instruction.
    pub ip: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its time, in ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// On which CPU.
    pub cpu: u32,
    reads: &'a [u8],
    read_size: usize,
    chain: &'a [u8],
}

/// A thread that came to a CPU or left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its time, in ns of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// `true` if it left.
    pub out: bool,
    /// `true` if it left and could have gone on, as the idle task always does (since Linux 4.17).
    pub runnable: bool,
    /// The thread that left before it, or came after it, where the record of a whole CPU says it.
    pub other: Option<u32>,
}

/// A process or thread that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fork {
    /// Its process.
    pub pid: u32,
    /// The process that made it: the same one where it is a thread.
    pub parent: u32,
}

impl<'a> Sample<'a> {
    /// The kernel's part of the chain, the innermost first: the address of the
    /// sample, then return addresses.
    pub fn kernel_chain(&self) -> impl Iterator<Item = u64> + 'a {
        let mut in_kernel = false;
        numbers(self.chain).filter(move |number| {
            if *number >= CONTEXT_FIRST {
                in_kernel = *number == CONTEXT_KERNEL;
                return false;
            }
            in_kernel
        })
    }

    /// Readings of counters: the counter's id and what it stands at.
    pub fn reads(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.reads.chunks_exact(self.read_size.max(16)).map(|read| {
            let mut read = numbers(read);
            let value = read.next().unwrap_or_default();
            (read.next().unwrap_or_default(), value)
        })
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|number| u64::from_ne_bytes(number.try_into().unwrap_or_default()))
}

/// The records of a ring, in order.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    bytes: &'a [u8],
    layout: &'a Layout,
}

impl<'a> Records<'a> {
    /// Reads `bytes`, which a sampler of this layout has made.
    pub const fn new(bytes: &'a [u8], layout: &'a Layout) -> Self {
        Self { bytes, layout }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let mut header = Reader(self.bytes);
        let fields = (header.word(), header.half(), header.half());
        let (Some(kind), Some(misc), Some(size)) = fields else { return self.give_up() };
        let size = usize::from(size);
        if size < HEADER || size > self.bytes.len() {
            return self.give_up();
        }
        let (record, rest) = self.bytes.split_at(size);
        self.bytes = rest;
        let body = Reader(&record[HEADER..]);
        Some(parse(kind, misc, body, self.layout).ok_or(Malformed::Content))
    }
}

impl<'a> Records<'a> {
    fn give_up(&mut self) -> Option<Result<Record<'a>, Malformed>> {
        self.bytes = &[];
        Some(Err(Malformed::Length))
    }
}

fn parse<'a>(kind: u32, misc: u16, mut body: Reader<'a>, layout: &Layout) -> Option<Record<'a>> {
    Some(match kind {
        SAMPLE => Record::Sample(sample(misc, body, layout)?),
        LOST => {
            body.long()?;
            Record::Lost(body.long()?)
        }
        LOST_SAMPLES => Record::Lost(body.long()?),
        THROTTLE => Record::Throttle(body.long()?),
        SWITCH | SWITCH_CPU_WIDE => {
            let other = if kind == SWITCH_CPU_WIDE { Some([body.word()?, body.word()?][1]) } else { None };
            let (out, runnable) = (misc & SWITCH_OUT != 0, misc & SWITCH_OUT_RUNNABLE != 0);
            Record::Switch(Switch { pid: body.word()?, tid: body.word()?, time: body.long()?, out, runnable, other })
        }
        FORK => Record::Fork(Fork { pid: body.word()?, parent: body.word()? }),
        KERNEL_SYMBOL => Record::Symbol(symbol(body)?),
        _ => Record::Other,
    })
}

/// The time is behind the name, which ends with zeros.
fn symbol(mut body: Reader) -> Option<Symbol> {
    let (start, length) = (body.long()?, body.word()?);
    let (kind, flags) = (body.half()?, body.half()?);
    let (name, time) = body.0.split_last_chunk()?;
    let name = name.split(|byte| *byte == 0).next()?;
    let (gone, bpf, end) = (flags & SYMBOL_GONE != 0, kind == SYMBOL_OF_BPF, start.saturating_add(length.into()));
    Some(Symbol { start, end, gone, bpf, name, time: u64::from_ne_bytes(*time) })
}

fn sample<'a>(misc: u16, mut body: Reader<'a>, layout: &Layout) -> Option<Sample<'a>> {
    let ip = body.long()?;
    let (pid, tid) = (body.word()?, body.word()?);
    let time = body.long()?;
    let cpu = body.word()?;
    body.word()?;
    let read_size = if layout.reads_lost { 24 } else { 16 };
    let reads = if layout.reads {
        let count = body.long().filter(|count| *count <= READS)?;
        body.bytes(count as usize * read_size)?
    } else {
        &[]
    };
    let frames = usize::try_from(body.long()?).ok()?;
    let chain = body.bytes(frames.checked_mul(8)?)?;
    Some(Sample { user: misc & MODE == MODE_USER, ip, pid, tid, time, cpu, reads, read_size, chain })
}

/// Takes numbers off the front, as long as there are bytes.
#[derive(Debug, Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn half(&mut self) -> Option<u16> {
        Some(u16::from_ne_bytes(self.bytes(2)?.try_into().ok()?))
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.bytes(8)?.try_into().ok()?))
    }
}

/// Everything that was written while a sampler ran, still in the kernel's form.
#[derive(Debug)]
pub struct Recording {
    /// Clock that spaces the samples.
    pub source: SampleSource,
    /// Their distance: ns of CPU time, or cycles.
    pub period: u64,
    /// Parts of a sample.
    pub layout: Layout,
    /// The bytes of each ring, in order.
    pub rings: Vec<Vec<u8>>,
    /// Samples for which there was no room, where the kernel counts them (from Linux
    /// 6.0). Older ones only say so in the ring.
    pub lost: Option<u64>,
    /// The sampling event's own count from start to finish, in the unit of the period: of
    /// a task the time, or the cycles, that it ran; of a CPU the time that passed.
    pub counted: Option<u64>,
    /// Times at which tasks came to a CPU and left it, in order, ring by ring as `rings`;
    /// `None` where the kernel refused or had no room.
    pub switches: Option<Vec<Vec<Switch>>>,
    /// Processes and threads that were made meanwhile.
    pub forks: Vec<Fork>,
    /// Files of the process's code.
    pub code: CodeMap,
    /// Limits met on the way.
    pub notes: Vec<Refusal>,
}

/// Tasks of a recording.
#[derive(Debug, Clone, Copy)]
pub enum Tasks<'a> {
    /// Every one, idle time too.
    All,
    /// The threads of one process.
    Process(u32),
    /// The threads of these processes.
    Processes(&'a [u32]),
    /// These threads.
    Threads(&'a [u32]),
}

impl Tasks<'_> {
    /// Returns whether a thread of a process is one of them.
    pub fn have(self, pid: u32, tid: u32) -> bool {
        match self {
            Self::All => true,
            Self::Process(wanted) => pid == wanted,
            Self::Processes(wanted) => wanted.contains(&pid),
            Self::Threads(wanted) => wanted.contains(&tid),
        }
    }
}

impl Recording {
    /// All records, ring after ring.
    pub fn records(&self) -> impl Iterator<Item = Result<Record<'_>, Malformed>> {
        self.rings.iter().flat_map(|ring| Records::new(ring, &self.layout))
    }
}

#[cfg(test)]
mod tests;
