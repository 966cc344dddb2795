//! Counting calls of functions by BPF programs at their entries.

use model::profile::{CallCounts, CountTier};

use super::event::unless_missed;
use crate::errno_name;
use crate::probe::btf;
use crate::system::read_limited;
use bpf::asm::Assembler;
use bpf::{Attached, Filter, Map, Numbers, Program, ProgramKind, Who, emit_count};
use model::Unavailable;

const MECHANISM: &str = "counts at function entries";

/// Counters at the entries of functions, for one process.
#[derive(Debug)]
pub struct FunctionCounter {
    array: Map<Numbers>,
    programs: Vec<(String, u32, Attached)>,
    refused: Vec<(String, String)>,
}

impl FunctionCounter {
    /// Loads a program for each function of the kernel proper. They count at
    /// once. `done` is called after each: to put a program at a function and to take it away, a
    /// kernel stops every CPU or waits for every task, which a slow machine needs a second for.
    /// A name that the kernel's type information does not have as a function
    /// (inlined, renamed by the compiler, of a module) is refused by itself.
    ///
    /// # Errors
    /// When the kernel refuses the first one that it knows: then it refuses all, and no other is tried.
    pub fn open(who: Who, names: &[&str], done: &mut dyn FnMut()) -> Result<Self, Unavailable> {
        let types = read_limited(btf::KERNEL).map_err(|error| {
            let remedy = "Use a kernel with CONFIG_DEBUG_INFO_BTF; counts come from tracepoints without it";
            Unavailable::new(MECHANISM, format!("{}: {}", btf::KERNEL, errno_name(&error)), remedy)
        })?;
        let ids = btf::function_ids(&types, names);
        done();
        let array = Map::numbers(names.len().max(1), MECHANISM)?;
        let filter = Filter::new(who);
        let mut this = Self { array, programs: Vec::new(), refused: Vec::new() };
        for (place, name) in names.iter().enumerate() {
            let Some(id) = ids.get(name).copied() else {
                this.refused.push(((*name).to_owned(), format!("{}: no function of that name", btf::KERNEL)));
                continue;
            };
            match this.attach(filter, place as u32, id) {
                Ok(program) => this.programs.push(((*name).to_owned(), place as u32, program)),
                Err(refusal) if this.programs.is_empty() => return Err(refusal),
                Err(refusal) => this.refused.push(((*name).to_owned(), refusal.answer)),
            }
            done();
        }
        Ok(this)
    }

    fn attach(&self, filter: Filter, place: u32, id: u32) -> Result<Attached, Unavailable> {
        let mut asm = Assembler::default();
        let done = asm.label();
        filter.emit(&mut asm, done);
        emit_count(&mut asm, &self.array, place, done);
        asm.place(done);
        asm.leave();
        Program::load(&asm.finish(), ProgramKind::FunctionEntry(id), MECHANISM)?.attach(None, MECHANISM)
    }

    /// The counts so far. The process may be gone.
    pub fn counts(&self) -> CallCounts {
        let mut counts = CallCounts::default();
        for (name, place, program) in &self.programs {
            match unless_missed(self.array.number_at(*place), program.missed()) {
                Ok(count) => {
                    counts.tier.insert(name.clone(), CountTier::Fentry);
                    counts.calls.insert(name.clone(), count);
                }
                Err(reason) => {
                    counts.refused.insert(name.clone(), reason);
                }
            }
        }
        counts.refused.extend(self.refused.iter().cloned());
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
