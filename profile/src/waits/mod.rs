//! Time of a thread while it is not on a CPU: from the
//! scheduler's tracepoints, independent of `/proc/PID/schedstat`.
//!
//! A program at `sched_switch` and one at `sched_wakeup` put each event of the
//! process's threads into a queue; what the events mean is worked out afterwards
//! ([`WaitLog`]).

mod log;

use std::io;

use model::Nanos;

use bpf::asm::{Assembler, Helper, Label, Reg, Test};
use bpf::{Attached, Filter, Hash, Map, Numbers, Program, ProgramKind, Queue, Who, emit_count};
use model::Refusal;
use sys::clock::monotonic;
use sys::errno_name;

pub use log::{Event, EventKind, WaitLog};

const MECHANISM: &str = "waits from scheduler tracepoints";

/// The most threads that are followed.
const THREADS: usize = 1024;
/// Events a second that there is room for: a thread that blocks for every
/// message of 3 µs makes a million.
const EVENTS_PER_SECOND: u64 = 1_000_000;
/// Bounds of the room for events, of 24 bytes each.
const EVENTS_LEAST: usize = 64 << 10;
const EVENTS_MOST: usize = 4 << 20;

/// An event in the queue: time, thread, kind.
const EVENT: usize = 24;

/// The place in the array of failures.
const LOST: u32 = 0;

/// Follows the threads of one process.
#[derive(Debug)]
pub struct WaitRecorder {
    queue: Map<Queue>,
    failures: Map<Numbers>,
    _tasks: Map<Hash>,
    programs: Vec<Attached>,
    started: Nanos,
    capacity: usize,
}

impl WaitRecorder {
    /// Follows the threads of `who` from now on, for at most `longest`. Events
    /// of a thread are known from the first time that it leaves a CPU.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open(who: Who, longest: Nanos) -> Result<Self, Refusal> {
        let wanted = usize::try_from(longest.get().saturating_mul(EVENTS_PER_SECOND / 1_000) / 1_000_000).unwrap_or(EVENTS_MOST);
        let capacity = wanted.clamp(EVENTS_LEAST, EVENTS_MOST);
        let queue = Map::queue(EVENT, capacity, MECHANISM)?;
        let failures = Map::numbers(1, MECHANISM)?;
        let tasks = Map::hash(8, 8, THREADS, MECHANISM)?;
        let filter = Filter::new(who);
        let maps = Maps { queue: &queue, failures: &failures, tasks: &tasks };
        let mut programs = Vec::new();
        for (tracepoint, code) in [("sched_wakeup", wakeup(maps)), ("sched_switch", switch(maps, filter))] {
            programs.push(Program::load(&code, ProgramKind::RawTracepoint, MECHANISM)?.attach(Some(tracepoint), MECHANISM)?);
        }
        Ok(Self { queue, failures, _tasks: tasks, programs, started: monotonic(), capacity })
    }

    /// Everything that was seen. Takes about 0.5 µs for each event, so call it
    /// when the trial is over.
    ///
    /// # Errors
    /// When the events cannot be read.
    pub fn finish(self) -> Result<WaitLog, Refusal> {
        let missed: u64 = self.programs.iter().map(Attached::missed).sum();
        drop(self.programs);
        let mut events = Vec::new();
        while let Some(event) = self.queue.take().map_err(|error| unreadable(&error))? {
            events.extend(Event::parse(&event));
            if events.len() > self.capacity {
                break;
            }
        }
        let lost = missed + self.failures.number_at(LOST);
        Ok(WaitLog::new(events, lost, self.started))
    }
}

fn unreadable(error: &io::Error) -> Refusal {
    Refusal::new(MECHANISM, format!("bpf(MAP_LOOKUP_AND_DELETE_ELEM): {}", errno_name(error)), "Repeat the trial")
}

#[derive(Clone, Copy)]
struct Maps<'a> {
    queue: &'a Map<Queue>,
    failures: &'a Map<Numbers>,
    /// By the address of the kernel's description of the task: its thread's id.
    /// The address is a name only; nothing is read through it.
    tasks: &'a Map<Hash>,
}

/// The place of the event that is put together on the stack.
const AT: i16 = -48;

/// Puts the event of the kind in `R8` about the thread in `R7` into the queue,
/// with the time in `R9`. Destroys `R0` to `R5`.
fn emit_event(asm: &mut Assembler, maps: Maps, done: Label) {
    asm.store(Reg::R10, AT, Reg::R9);
    asm.store(Reg::R10, AT + 8, Reg::R7);
    asm.store(Reg::R10, AT + 16, Reg::R8);
    asm.enqueue(maps.queue.number(), AT);
    let pushed = asm.label();
    asm.jump(Test::Equal(Reg::R0, 0), pushed);
    emit_count(asm, maps.failures, LOST, done);
    asm.place(pushed);
}

/// Goes to `unknown` unless the task whose address is in `from` is one of those
/// followed; leaves its thread's id in `R7`.
fn emit_lookup(asm: &mut Assembler, maps: Maps, from: Reg, unknown: Label) {
    asm.store(Reg::R10, -24, from);
    asm.lookup(maps.tasks.number(), -24);
    asm.jump(Test::Equal(Reg::R0, 0), unknown);
    asm.load(Reg::R7, Reg::R0, 0);
}

/// `sched_wakeup(task)`, which fires once the task is in a queue: the scheduler's own wait begins there, and the time that
/// this program takes is not added to it.
fn wakeup(maps: Maps) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let done = asm.label();
    asm.load(Reg::R2, Reg::R1, 0);
    emit_lookup(&mut asm, maps, Reg::R2, done);
    asm.call(Helper::Time);
    asm.copy(Reg::R9, Reg::R0);
    asm.set(Reg::R8, EventKind::Woken as i32);
    emit_event(&mut asm, maps, done);
    asm.place(done);
    asm.leave();
    asm.finish()
}

/// `sched_switch(preempted, previous, next, ...)`, which fires while the
/// previous task is still the current one.
fn switch(maps: Maps, filter: Filter) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let (done, next, known) = (asm.label(), asm.label(), asm.label());
    asm.copy(Reg::R6, Reg::R1);
    asm.call(Helper::Time);
    asm.copy(Reg::R9, Reg::R0);
    filter.emit(&mut asm, next);
    // Only the thread's id is wanted.
    asm.keep_bits(Reg::R7, 32);
    asm.load(Reg::R2, Reg::R6, 8);
    asm.store(Reg::R10, -24, Reg::R2);
    asm.store(Reg::R10, -32, Reg::R7);
    asm.update(maps.tasks.number(), -24, -32);
    asm.jump(Test::Equal(Reg::R0, 0), known);
    emit_count(&mut asm, maps.failures, LOST, done);
    asm.place(known);
    // Preempted or not is 1 or 0, as are the kinds' numbers.
    asm.load(Reg::R8, Reg::R6, 0);
    emit_event(&mut asm, maps, done);
    asm.place(next);
    asm.load(Reg::R2, Reg::R6, 16);
    emit_lookup(&mut asm, maps, Reg::R2, done);
    asm.set(Reg::R8, EventKind::Came as i32);
    emit_event(&mut asm, maps, done);
    asm.place(done);
    asm.leave();
    asm.finish()
}
