//! Messages that a program's sockets take and give, counted in the kernel.
//!
//! Two tracepoints (`sock:sock_send_length` and `sock:sock_recv_length`, Linux 6.3) fire at
//! the end of each socket call, in the caller's context, with the socket and the result. A
//! program at each sums them up for the processes that are looked at, and puts each call into
//! a queue as long as there is room; [`log`] tells what the calls were. Children are added
//! before they run. What goes by splice from a socket fires neither tracepoint.
//!
//! What a call asks for is read from its caller's registers and memory ([`asked`]).

mod asked;
pub mod log;
pub(crate) mod program;

use std::io;

use model::attach::{CHILDREN, Messages, Totals};
use model::{Nanos, Refusal};

use crate::probe::btf;
use crate::system::read_limited;
use bpf::{Attached, Filter, Hash, Map, Numbers, Program, ProgramKind, Queue, Who};
use sys::clock::monotonic;
use sys::errno_name;
use sys::refused_call;

use log::Event;
use program::{Offsets, Parts, Place};

const MECHANISM: &str = "messages from socket tracepoints";
/// The most processes that are looked at, one after another.
const PROCESSES: usize = 16_384;

/// Calls of a window that are looked at one by one: some 0.1 s of reading them afterwards.
/// Further ones are in the sums alone.
pub const ROOM: usize = 200_000;

/// What was counted up to a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The moment, of the monotonic clock.
    pub time: Nanos,
    totals: Totals,
    beyond: u64,
}

/// Extent of what is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Sums alone.
    Sums,
    /// Every call, up to [`ROOM`] of them.
    Calls,
}

/// Counts the messages of some processes and of the children that they have from now on.
#[derive(Debug)]
pub struct MessageRecorder {
    members: Map<Hash>,
    sums: Map<Numbers>,
    queue: Option<Map<Queue>>,
    programs: Vec<Attached>,
    notes: Vec<Refusal>,
}

impl MessageRecorder {
    /// Counts from now on.
    ///
    /// # Errors
    /// What the kernel refused, with a remedy.
    pub fn open(processes: &[u32], detail: Detail) -> Result<Self, Refusal> {
        let types = read_limited(btf::KERNEL).map_err(|error| {
            let remedy = "Use a kernel with CONFIG_DEBUG_INFO_BTF; without it, sockets and samples alone are shown";
            refused_call(MECHANISM, btf::KERNEL, &error, remedy)
        })?;
        let members = Map::hash(8, 8, PROCESSES, MECHANISM)?;
        let sums = Map::numbers(Place::ALL, MECHANISM)?;
        let queue = (detail == Detail::Calls).then(|| Map::queue(Event::SIZE, ROOM, MECHANISM)).transpose()?;
        let mut this = Self { members, sums, queue, programs: Vec::new(), notes: Vec::new() };
        for process in processes {
            this.add(*process)?;
        }
        let filter = Filter::new(Who::Process(0));
        let offsets = Offsets::find(&types);
        let parts = Parts { members: &this.members, sums: &this.sums, queue: this.queue.as_ref(), filter, offsets: &offsets };
        let mut programs = Vec::new();
        for (name, way) in TRACEPOINTS {
            programs.push(attach(&types, name, &program::at_socket(&parts, way))?);
        }
        // Ids of children are the kernel's own, which this process would not know in a container.
        if filter.translates() {
            let answer = "this process has process ids of its own namespace";
            this.notes.push(Refusal::new(CHILDREN, answer, "Run outside the container"));
        } else {
            match program::at_fork(&parts).map(|code| attach(&types, "sched_process_fork", &code)) {
                Some(Ok(program)) => programs.push(program),
                Some(Err(refusal)) => this.notes.push(refusal),
                None => {}
            }
        }
        this.programs = programs;
        Ok(this)
    }

    /// Returns what is not as it could be. The recorder works nonetheless.
    pub fn notes(&self) -> &[Refusal] {
        &self.notes
    }

    /// Looks at another process as well.
    ///
    /// # Errors
    /// When there are too many.
    pub fn add(&self, process: u32) -> Result<(), Refusal> {
        let key = u64::from(process).to_ne_bytes();
        self.members
            .set(&key, &key)
            .map_err(|error| refused_call(MECHANISM, "bpf(MAP_UPDATE_ELEM)", &error, "Look at fewer processes at once"))
    }

    /// The processes looked at so far, whether they still run or not.
    pub fn processes(&self) -> Vec<u32> {
        let found = self.members.entries(PROCESSES).unwrap_or_default();
        let id = |(key, _): (Vec<u8>, Vec<u8>)| Some(u64::from_ne_bytes(key.try_into().ok()?) as u32);
        found.into_iter().filter_map(id).collect()
    }

    /// The sums so far.
    pub fn totals(&self) -> Totals {
        let at = |place: Place| self.sums.number_at(place as u32);
        Totals {
            sends: at(Place::Sends),
            sent: at(Place::Sent),
            receives: at(Place::Receives),
            received: at(Place::Received),
            empty: at(Place::Empty),
            failed: at(Place::Failed),
        }
    }

    /// The edge of a window, now.
    pub fn edge(&self) -> Edge {
        Edge { time: monotonic(), totals: self.totals(), beyond: self.sums.number_at(Place::Beyond as u32) }
    }

    /// Stops, and tells what was seen between two edges.
    ///
    /// # Errors
    /// When the calls cannot be read, or the kernel passed some over.
    pub fn finish(mut self, from: &Edge, to: &Edge) -> Result<Messages, Refusal> {
        let missed: u64 = self.programs.iter().map(Attached::missed).sum();
        self.programs.clear();
        if missed > 0 {
            let answer = format!("the kernel passed over {missed} calls");
            return Err(Refusal::new(MECHANISM, answer, "Observe again; the sums would be too small"));
        }
        let (mut events, mut taken) = (Vec::new(), 0);
        if let Some(queue) = &self.queue {
            while let Some(bytes) = queue.take().map_err(|error| unreadable(&error))? {
                let within = |event: &Event| (from.time.get()..to.time.get()).contains(&event.time);
                events.extend(Event::parse(&bytes).filter(within));
                taken += 1;
                // The programs are gone: there cannot be more.
                if taken > ROOM {
                    break;
                }
            }
        }
        Ok(log::summary(to.totals.since(from.totals), to.beyond.saturating_sub(from.beyond), events))
    }
}

/// The tracepoints at the end of a socket call, and the way of its data.
pub(crate) const TRACEPOINTS: [(&str, u64); 2] = [("sock_send_length", log::OUT), ("sock_recv_length", log::IN)];

/// Loads a program for a tracepoint with typed arguments.
pub(crate) fn load(types: &[u8], tracepoint: &str, code: &[[u8; 8]], mechanism: &str) -> Result<Program, Refusal> {
    let name = format!("btf_trace_{tracepoint}");
    let id = btf::typedef_id(types, &name).ok_or_else(|| {
        Refusal::new(
            mechanism,
            format!("this kernel has no tracepoint {tracepoint}"),
            "Use Linux 6.3 or later; sockets and samples are shown without it",
        )
    })?;
    Program::load(code, ProgramKind::TypedTracepoint(id), mechanism)
}

/// The same, tied to that.
fn attach(types: &[u8], tracepoint: &str, code: &[[u8; 8]]) -> Result<Attached, Refusal> {
    load(types, tracepoint, code, MECHANISM)?.attach(None, MECHANISM)
}

fn unreadable(error: &io::Error) -> Refusal {
    Refusal::new(MECHANISM, format!("bpf(MAP_LOOKUP_AND_DELETE_ELEM): {}", errno_name(error)), "Observe again")
}
