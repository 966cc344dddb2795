//! Counting tracepoints, and calls of functions at their entries, by a BPF program at each.

use model::Refusal;
use model::profile::CallCounts;

use crate::probe::btf;
use crate::system::read_limited;
use bpf::asm::Assembler;
use bpf::{Attached, Filter, Map, Numbers, Program, ProgramKind, Who, emit_count};
use sys::refused_call;

const EVENTS: &str = "tracepoint counts";
const ENTRIES: &str = "counts at function entries";

/// Counters of tracepoints and of functions, for one process.
#[derive(Debug)]
pub struct CallCounter {
    filter: Filter,
    array: Map<Numbers>,
    /// Each at the place of its number in the array.
    programs: Vec<(String, Attached)>,
    refused: Vec<(String, String)>,
    notes: Vec<Refusal>,
}

impl CallCounter {
    /// Loads a program for each tracepoint (`net:netif_rx`) and each function of the kernel proper. They count at
    /// once. `done` is called after each function: to put a program there and to take it away, a kernel stops every
    /// CPU or waits for every task, which a slow machine needs a second for. What this kernel does not have by its
    /// name (a function that is inlined, renamed by the compiler, or of a module) is refused by itself.
    ///
    /// # Errors
    /// When nothing can be counted.
    pub fn open(who: Who, tracepoints: &[&str], functions: &[&str], done: &mut dyn FnMut()) -> Result<Self, Refusal> {
        let array = Map::numbers((tracepoints.len() + functions.len()).max(1), EVENTS)?;
        let mut this = Self { filter: Filter::new(who), array, programs: Vec::new(), refused: Vec::new(), notes: Vec::new() };
        this.add_events(tracepoints);
        if !functions.is_empty() {
            let entries = this.add_entries(functions, done);
            this.notes.extend(entries.err());
        }
        if this.programs.is_empty() && !this.notes.is_empty() { Err(this.notes.swap_remove(0)) } else { Ok(this) }
    }

    fn add_events(&mut self, names: &[&str]) {
        let mut first = None;
        for name in names {
            let event = name.split_once(':').map_or(*name, |(_, event)| event);
            if let Err(refusal) = self.add(name, ProgramKind::RawTracepoint, Some(event)) {
                self.refused.push(((*name).to_owned(), refusal.answer.clone()));
                first.get_or_insert(refusal);
            }
        }
        self.notes.extend(first.filter(|_| self.programs.is_empty()));
    }

    /// A kernel that refuses the first function that it knows refuses all, and no other is tried.
    fn add_entries(&mut self, names: &[&str], done: &mut dyn FnMut()) -> Result<(), Refusal> {
        let types = read_limited(btf::KERNEL).map_err(|error| {
            refused_call(ENTRIES, btf::KERNEL, &error, "Use a kernel with CONFIG_DEBUG_INFO_BTF; without it tracepoints alone are counted")
        })?;
        let ids = btf::function_ids(&types, names);
        done();
        let before = self.programs.len();
        for name in names {
            let added = match ids.get(name) {
                Some(id) => self.add(name, ProgramKind::FunctionEntry(*id), None),
                None => Err(Refusal::new(ENTRIES, format!("{}: no function of that name", btf::KERNEL), "")),
            };
            match added {
                Ok(()) => {}
                Err(refusal) if ids.contains_key(name) && self.programs.len() == before => return Err(refusal),
                Err(refusal) => self.refused.push(((*name).to_owned(), refusal.answer)),
            }
            done();
        }
        Ok(())
    }

    fn add(&mut self, name: &str, kind: ProgramKind, tracepoint: Option<&str>) -> Result<(), Refusal> {
        let mechanism = if tracepoint.is_some() { EVENTS } else { ENTRIES };
        let mut asm = Assembler::default();
        let done = asm.label();
        self.filter.emit(&mut asm, done);
        emit_count(&mut asm, &self.array, self.programs.len() as u32, done);
        asm.place(done);
        asm.leave();
        let attached = Program::load(&asm.finish(), kind, mechanism)?.attach(tracepoint, mechanism)?;
        self.programs.push((name.to_owned(), attached));
        Ok(())
    }

    /// Returns what cannot be counted as a whole: tracepoints, or functions.
    pub fn notes(&self) -> &[Refusal] {
        &self.notes
    }

    /// The counts so far. The process may be gone.
    pub fn counts(&self) -> CallCounts {
        let mut counts = CallCounts { refused: self.refused.iter().cloned().collect(), ..CallCounts::default() };
        for (place, (name, program)) in self.programs.iter().enumerate() {
            match program.missed() {
                0 => {
                    counts.calls.insert(name.clone(), self.array.number_at(place as u32));
                }
                missed => {
                    let reason = format!("the kernel passed over {missed} events that fired while one was being counted");
                    counts.refused.insert(name.clone(), reason);
                }
            }
        }
        counts
    }

    /// Takes the programs away; `done` is called after each.
    pub fn close(self, done: &mut dyn FnMut()) {
        for program in self.programs {
            drop(program);
            done();
        }
    }
}
