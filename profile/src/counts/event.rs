//! Counting tracepoints.

use std::os::fd::{AsFd, OwnedFd};

use model::profile::{CallCounts, CountTier};

use super::table::system_call;
use super::tracefs::Tracefs;
use crate::perf::{self, Attributes};
use crate::{errno_name, refused_call};
use bpf::asm::{Assembler, Reg, Test};
use bpf::{Attached, Filter, Map, Numbers, Program, ProgramKind, Who, emit_count};
use model::Unavailable;

const MECHANISM: &str = "tracepoint counts";

/// Way of counting tracepoints here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Counters of perf events, with ids from tracefs.
    Perf,
    /// BPF programs at raw tracepoints, by name.
    Bpf,
}

impl Way {
    /// The way in words, for the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf tracepoint counters",
            Self::Bpf => "BPF at raw tracepoints",
        }
    }
}

/// Counters on tracepoints, for one process.
#[derive(Debug)]
pub struct EventCounter {
    kind: Kind,
    refused: Vec<(String, Unavailable)>,
}

#[derive(Debug)]
enum Kind {
    Perf(Vec<(String, OwnedFd)>),
    Bpf { array: Map<Numbers>, programs: Vec<(String, u32, Attached)> },
}

impl EventCounter {
    /// Opens a counter for each tracepoint (`net:netif_rx`,
    /// `syscalls:sys_enter_sendto`): perf's where tracefs is there and all
    /// threads are meant, BPF's otherwise. Perf's see the main thread and threads that
    /// start later. What this kernel lacks is told by [`EventCounter::refused`].
    ///
    /// # Errors
    /// When neither way is open; the refusal is the second way's, and says both.
    pub fn open(who: Who, names: &[&str]) -> Result<Self, Unavailable> {
        let without_perf = match (who, Tracefs::find()) {
            (Who::Process(pid), Ok(tracefs)) => match Self::with_perf(&tracefs, pid, names) {
                Ok(counter) => return Ok(counter),
                Err(refusal) => refusal.answer,
            },
            (Who::Process(_), Err(refusal)) => refusal.answer,
            (Who::Workers(_), _) => "perf cannot leave out the main thread".to_owned(),
        };
        Self::with_bpf(who, names).map_err(|refusal| Unavailable { answer: format!("{without_perf}; {}", refusal.answer), ..refusal })
    }

    /// Opens perf's counters, with ids from this tracefs.
    ///
    /// # Errors
    /// When not one of them opens: the first one's refusal.
    pub fn with_perf(tracefs: &Tracefs, pid: u32, names: &[&str]) -> Result<Self, Unavailable> {
        let (mut opened, mut refused) = (Vec::new(), Vec::new());
        for name in names {
            let event = tracefs.id(name).and_then(|id| {
                let flags = perf::DISABLED | perf::INHERIT;
                perf::open(Attributes { kind: perf::TYPE_TRACEPOINT, config: id, flags, ..Attributes::default() }, Some(pid), None, None)
            });
            match event {
                Ok(event) => opened.push(((*name).to_owned(), event)),
                Err(error) => {
                    let remedy = if error.raw_os_error() == Some(libc::ENOENT) {
                        "This kernel has no such tracepoint".to_owned()
                    } else {
                        perf::remedy(&error)
                    };
                    refused.push((
                        (*name).to_owned(),
                        refused_call(MECHANISM, &format!("perf_event_open(TRACEPOINT {name})"), &error, remedy),
                    ));
                }
            }
        }
        Self { kind: Kind::Perf(opened), refused }.unless_empty(names)
    }

    /// Loads BPF programs. They count at once.
    ///
    /// # Errors
    /// When not one of them loads: the first one's refusal.
    pub fn with_bpf(who: Who, names: &[&str]) -> Result<Self, Unavailable> {
        let array = Map::numbers(names.len().max(1), MECHANISM)?;
        let filter = Filter::new(who);
        let (mut programs, mut refused) = (Vec::new(), Vec::new());
        for (place, name) in names.iter().enumerate() {
            match attach(&array, filter, place as u32, name) {
                Ok(program) => programs.push(((*name).to_owned(), place as u32, program)),
                Err(refusal) => refused.push(((*name).to_owned(), refusal)),
            }
        }
        Self { kind: Kind::Bpf { array, programs }, refused }.unless_empty(names)
    }

    fn unless_empty(mut self, names: &[&str]) -> Result<Self, Unavailable> {
        let none = match &self.kind {
            Kind::Perf(opened) => opened.is_empty(),
            Kind::Bpf { programs, .. } => programs.is_empty(),
        };
        if none && !names.is_empty() { Err(self.refused.swap_remove(0).1) } else { Ok(self) }
    }

    /// Returns how it counts.
    pub const fn way(&self) -> Way {
        match self.kind {
            Kind::Perf(_) => Way::Perf,
            Kind::Bpf { .. } => Way::Bpf,
        }
    }

    /// The tracepoints that are not counted, each with its reason.
    pub fn refused(&self) -> &[(String, Unavailable)] {
        &self.refused
    }

    /// Starts counting. (BPF programs count since they were opened; a process
    /// without traffic gives them nothing.)
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn start(&self) -> Result<(), Unavailable> {
        let Kind::Perf(opened) = &self.kind else { return Ok(()) };
        for (_, event) in opened {
            perf::enable(event.as_fd())
                .map_err(|error| refused_call(MECHANISM, "ioctl(PERF_EVENT_IOC_ENABLE)", &error, perf::remedy(&error)))?;
        }
        Ok(())
    }

    /// The counts so far. The process may be gone.
    pub fn counts(&self) -> CallCounts {
        let mut counts = CallCounts::default();
        let mut say = |name: &str, count: Result<u64, String>| match count {
            Ok(count) => {
                counts.tier.insert(name.to_owned(), CountTier::Tracepoint);
                counts.calls.insert(name.to_owned(), count);
            }
            Err(reason) => {
                counts.refused.insert(name.to_owned(), reason);
            }
        };
        match &self.kind {
            Kind::Perf(opened) => {
                for (name, event) in opened {
                    let count = perf::read(event).map_err(|error| format!("read: {}", errno_name(&error)));
                    say(name, count.and_then(|numbers| numbers.first().copied().ok_or_else(|| "an empty reading".to_owned())));
                }
            }
            Kind::Bpf { array, programs } => {
                for (name, place, program) in programs {
                    say(name, unless_missed(array.number_at(*place), program.missed()));
                }
            }
        }
        for (name, refusal) in &self.refused {
            say(name, Err(refusal.answer.clone()));
        }
        counts
    }
}

/// A count, unless its program passed over events.
pub(super) fn unless_missed(count: u64, missed: u64) -> Result<u64, String> {
    if missed == 0 { Ok(count) } else { Err(format!("the kernel passed over {missed} events that struck while one was being counted")) }
}

fn attach(array: &Map<Numbers>, filter: Filter, place: u32, name: &str) -> Result<Attached, Unavailable> {
    let event = name.split_once(':').map_or(name, |(_, event)| event);
    let call = name.strip_prefix("syscalls:sys_enter_");
    let number = call.map(|call| system_call(call).ok_or_else(|| unknown_call(call))).transpose()?;
    let mut asm = Assembler::default();
    let done = asm.label();
    if let Some(number) = number {
        // Its second argument is the number of the call.
        asm.load(Reg::R2, Reg::R1, 8);
        asm.jump(Test::Differs(Reg::R2, number), done);
    }
    filter.emit(&mut asm, done);
    emit_count(&mut asm, array, place, done);
    asm.place(done);
    asm.leave();
    let tracepoint = if call.is_some() { "sys_enter" } else { event };
    Program::load(&asm.finish(), ProgramKind::RawTracepoint, MECHANISM)?.attach(Some(tracepoint), MECHANISM)
}

fn unknown_call(call: &str) -> Unavailable {
    Unavailable::new(MECHANISM, format!("no number is known for the system call {call}"), "Count raw_syscalls:sys_enter instead")
}
