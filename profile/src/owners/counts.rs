//! Messages and bytes of each process and unit, counted where socket calls end
//! (`sock_send_length`, `sock_recv_length`, Linux 6.3).

use std::os::fd::OwnedFd;

use bpf::asm::{Assembler, Helper, Reg, Test};
use bpf::{Hash, Map, Numbers, Program, emit_count, emit_sum};

use super::fields::{emit_zeros, numbers};
use super::sockets::kernel_types;
use crate::messages::program::emit_result;
use crate::messages::{TRACEPOINTS, load, log};
use model::Refusal;
use sys::refused_call;

const MECHANISM: &str = "messages of every process";

/// The most processes that are counted apart between two readings.
const PROCESSES: u32 = 16_384;

/// Bytes of a key (process, cgroup) and of its four sums.
const KEY: i16 = 16;
const VALUE: i16 = 32;
/// Places of them on the stack.
const KEY_AT: i16 = -40;
const VALUE_AT: i16 = KEY_AT - VALUE;

/// Messages and bytes of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// The process, by its id in the first namespace; 0, which sends nothing, for all that found no place of their own.
    pub process: u32,
    /// Id of its cgroup (second version); 0 where it is not known.
    pub cgroup: u64,
    /// Sends that moved something.
    pub sends: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Receives that took something.
    pub receives: u64,
    /// Their bytes.
    pub received_bytes: u64,
}

impl Counted {
    fn new(process: u32, cgroup: u64, [sends, sent_bytes, receives, received_bytes]: [u64; 4]) -> Self {
        Self { process, cgroup, sends, sent_bytes, receives, received_bytes }
    }

    fn parse(key: &[u8], value: &[u8]) -> Option<Self> {
        let (mut key, mut sums) = (numbers(key), numbers(value));
        let mut sum = || sums.next();
        Some(Self::new(key.next()? as u32, key.next()?, [sum()?, sum()?, sum()?, sum()?]))
    }
}

/// Counts between start and stop: some 130 ns for each socket call of the machine.
#[derive(Debug)]
pub struct MessageCounts {
    sums: Map<Hash>,
    rest: Map<Numbers>,
    /// What had no place of its own up to the last reading.
    before: [u64; 4],
    programs: Vec<Program>,
    links: Vec<OwnedFd>,
}

impl MessageCounts {
    /// Loads the programs.
    ///
    /// # Errors
    /// What the kernel refused or lacks, with a remedy.
    pub fn load() -> Result<Self, Refusal> {
        let types = kernel_types(MECHANISM)?;
        let sums = Map::hash(KEY as usize, VALUE as usize, PROCESSES as usize, MECHANISM)?;
        let rest = Map::numbers(4, MECHANISM)?;
        let loaded = TRACEPOINTS.map(|(name, way)| load(&types, name, &program(&sums, &rest, way), MECHANISM));
        let programs = loaded.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { sums, rest, before: [0; 4], programs, links: Vec::new() })
    }

    /// Counts from now on.
    ///
    /// # Errors
    /// The system's answer.
    pub fn start(&mut self) -> Result<(), Refusal> {
        self.links = self.programs.iter().map(|program| program.link(None, MECHANISM)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Counts no longer. What was counted can be taken.
    pub fn stop(&mut self) {
        self.links.clear();
    }

    /// The counts since the last reading, in no order. A call that ends during the reading may not be counted.
    ///
    /// # Errors
    /// The system's answer.
    pub fn take(&mut self) -> Result<Vec<Counted>, Refusal> {
        let taken = self.sums.take_all(PROCESSES);
        let taken = taken.map_err(|error| refused_call(MECHANISM, "bpf(MAP_LOOKUP_AND_DELETE_BATCH)", &error, "Count again"))?;
        let mut counted: Vec<Counted> = taken.iter().filter_map(|(key, value)| Counted::parse(key, value)).collect();
        let now = [0, 1, 2, 3].map(|place| self.rest.number_at(place));
        let rest = [0, 1, 2, 3].map(|place| now[place].saturating_sub(self.before[place]));
        self.before = now;
        counted.extend((rest != [0; 4]).then(|| Counted::new(0, 0, rest)));
        Ok(counted)
    }
}

/// At the end of a socket call. `R6` is the context, then the way's place in the sums, `R9` the result.
fn program(sums: &Map<Hash>, rest: &Map<Numbers>, way: u64) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let [known, done] = [(); 2].map(|()| asm.label());
    let first = if way == log::IN { 2 } else { 0 };
    asm.copy(Reg::R6, Reg::R1);
    emit_result(&mut asm, way, done);
    asm.jump(Test::AtMost(Reg::R9, 0), done);
    asm.call(Helper::CurrentTask);
    asm.shift_right(Reg::R0, 32);
    asm.store(Reg::R10, KEY_AT, Reg::R0);
    asm.call(Helper::CurrentCgroup);
    asm.store(Reg::R10, KEY_AT + 8, Reg::R0);
    asm.lookup(sums.number(), KEY_AT);
    asm.jump(Test::Differs(Reg::R0, 0), known);
    emit_new(&mut asm, sums);
    asm.lookup(sums.number(), KEY_AT);
    asm.jump(Test::Differs(Reg::R0, 0), known);
    emit_count(&mut asm, rest, first as u32, done);
    emit_sum(&mut asm, rest, first as u32 + 1, Reg::R9, done);
    asm.jump(Test::Always, done);
    asm.place(known);
    asm.set(Reg::R1, 1);
    asm.add_in_memory(Reg::R0, first * 8, Reg::R1);
    asm.add_in_memory(Reg::R0, first * 8 + 8, Reg::R9);
    asm.place(done);
    asm.leave();
    asm.finish()
}

/// Makes a place for a process unless another CPU has just made it.
fn emit_new(asm: &mut Assembler, sums: &Map<Hash>) {
    const NEW_ONLY: i32 = 1;
    emit_zeros(asm, VALUE_AT, VALUE);
    asm.set_map(Reg::R1, sums.number());
    asm.stack_address(Reg::R2, i32::from(KEY_AT));
    asm.stack_address(Reg::R3, i32::from(VALUE_AT));
    asm.set(Reg::R4, NEW_ONLY);
    asm.call(Helper::Update);
}

#[cfg(test)]
mod tests {
    use super::Counted;
    use proptest::prelude::{any, prop, prop_assert, proptest};

    #[test]
    fn sums_read_as_they_were_written() {
        let bytes: Vec<u8> = (1..=6_u64).flat_map(u64::to_ne_bytes).collect();
        let counted = Counted::parse(&bytes[..16], &bytes[16..]);
        assert_eq!(counted, Some(Counted::new(1, 2, [3, 4, 5, 6])));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(key in prop::collection::vec(any::<u8>(), 0..40), value in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!((key.len() >= 16 && value.len() >= 32) == Counted::parse(&key, &value).is_some());
        }
    }
}
