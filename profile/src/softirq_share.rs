//! Share of a system call that is work of the kernel's softirqs, by time stamps
//! at tracepoints: the check on what samples say of it.

use model::Nanos;

use crate::counts::table::system_call;
use crate::errno_name;
use bpf::asm::{Assembler, Helper, Label, Reg, Test};
use bpf::{Attached, Filter, Hash, Map, Program, ProgramKind, Who};
use model::Unavailable;

const MECHANISM: &str = "softirq time by tracepoints";

/// The most threads that are told apart.
const THREADS: usize = 1024;

/// The account of one thread: places in a value of the map, in bytes.
const CALL_START: i16 = 0;
const SOFTIRQ_START: i16 = 8;
const SOFTIRQ_IN_CALL: i16 = 16;
const CALL_TOTAL: i16 = 24;
const SOFTIRQ_TOTAL: i16 = 32;
const CALLS: i16 = 40;
const ACCOUNT: usize = 48;

/// A recorder of one system call of one process.
#[derive(Debug)]
pub struct SoftirqRecorder {
    accounts: Map<Hash>,
    programs: Vec<Attached>,
}

/// Result over all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SoftirqShare {
    /// Calls that began and ended while it was recorded.
    pub calls: u64,
    /// Time from the entry of each call to its exit, and whatever came between.
    pub total: Nanos,
    /// The part of it between the entry of a softirq and its exit.
    pub softirq: Nanos,
}

impl SoftirqShare {
    /// The softirqs' share of the time in the call; `None` without a call.
    pub fn share(&self) -> Option<f64> {
        (self.total.get() > 0).then(|| self.softirq.get() as f64 / self.total.get() as f64)
    }
}

impl SoftirqRecorder {
    /// Records the system call `name` (`sendto`, `recvfrom`) of `who` from now on.
    ///
    /// # Errors
    /// When the kernel refuses one of the four programs, or the call is not known.
    pub fn open(who: Who, name: &str) -> Result<Self, Unavailable> {
        let number = system_call(name).ok_or_else(|| {
            Unavailable::new(MECHANISM, format!("no number is known for the system call {name}"), "Ask for one that moves messages")
        })?;
        let accounts = Map::hash(8, ACCOUNT, THREADS, MECHANISM)?;
        let filter = Filter::new(who);
        let programs = [
            ("sys_enter", call_begins(&accounts, filter, number)),
            ("sys_exit", call_ends(&accounts, filter)),
            ("softirq_entry", softirq_begins(&accounts, filter)),
            ("softirq_exit", softirq_ends(&accounts, filter)),
        ];
        let attach = |(tracepoint, code): &(&str, Vec<[u8; 8]>)| {
            Program::load(code, ProgramKind::RawTracepoint, MECHANISM)?.attach(Some(tracepoint), MECHANISM)
        };
        Ok(Self { programs: programs.iter().map(attach).collect::<Result<_, _>>()?, accounts })
    }

    /// Returns what was measured so far.
    ///
    /// # Errors
    /// When it cannot be read, or the kernel passed over events.
    pub fn share(&self) -> Result<SoftirqShare, Unavailable> {
        let missed: u64 = self.programs.iter().map(Attached::missed).sum();
        if missed > 0 {
            return Err(Unavailable::new(MECHANISM, format!("the kernel passed over {missed} events"), "Repeat the trial"));
        }
        let accounts = self
            .accounts
            .entries(THREADS)
            .map_err(|error| Unavailable::new(MECHANISM, format!("bpf(MAP_GET_NEXT_KEY): {}", errno_name(&error)), "Repeat the trial"))?;
        let mut share = SoftirqShare::default();
        for (_, account) in accounts {
            let number = |at: i16| {
                account.get(at as usize..at as usize + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
            };
            share.calls += number(CALLS);
            share.total = share.total + Nanos::new(number(CALL_TOTAL));
            share.softirq = share.softirq + Nanos::new(number(SOFTIRQ_TOTAL));
        }
        Ok(share)
    }
}

/// Leaves the account of the current thread in `R8` and the time in `R9`, or
/// goes to `done`. The account's key is on the stack at -16.
fn emit_account(asm: &mut Assembler, accounts: &Map<Hash>, filter: Filter, missing: Label, done: Label) {
    filter.emit(asm, done);
    asm.call(Helper::Time);
    asm.copy(Reg::R9, Reg::R0);
    asm.store(Reg::R10, -16, Reg::R7);
    emit_lookup(asm, accounts, missing);
}

fn emit_lookup(asm: &mut Assembler, accounts: &Map<Hash>, missing: Label) {
    asm.set_map(Reg::R1, accounts.number());
    asm.stack_address(Reg::R2, -16);
    asm.call(Helper::Lookup);
    asm.jump(Test::Equal(Reg::R0, 0), missing);
    asm.copy(Reg::R8, Reg::R0);
}

/// `account[sum] += now - account[start]`; the start is then 0.
fn emit_add_since(asm: &mut Assembler, start: i16, sum: i16, done: Label) {
    asm.load(Reg::R1, Reg::R8, start);
    asm.jump(Test::Equal(Reg::R1, 0), done);
    asm.subtract(Reg::R9, Reg::R1);
    asm.load(Reg::R2, Reg::R8, sum);
    asm.add_register(Reg::R2, Reg::R9);
    asm.store(Reg::R8, sum, Reg::R2);
    asm.store_number(Reg::R8, start, 0);
}

fn call_begins(accounts: &Map<Hash>, filter: Filter, number: i32) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let (done, missing, found) = (asm.label(), asm.label(), asm.label());
    asm.load(Reg::R2, Reg::R1, 8);
    asm.jump(Test::Differs(Reg::R2, number), done);
    emit_account(&mut asm, accounts, filter, missing, done);
    asm.jump(Test::Always, found);
    asm.place(missing);
    let empty = -16 - ACCOUNT as i16;
    for at in (0..ACCOUNT as i16).step_by(8) {
        asm.store_number(Reg::R10, empty + at, 0);
    }
    asm.set_map(Reg::R1, accounts.number());
    asm.stack_address(Reg::R2, -16);
    asm.stack_address(Reg::R3, i32::from(empty));
    asm.set(Reg::R4, 0);
    asm.call(Helper::Update);
    emit_lookup(&mut asm, accounts, done);
    asm.place(found);
    asm.store(Reg::R8, CALL_START, Reg::R9);
    asm.store_number(Reg::R8, SOFTIRQ_START, 0);
    asm.store_number(Reg::R8, SOFTIRQ_IN_CALL, 0);
    asm.place(done);
    asm.leave();
    asm.finish()
}

fn call_ends(accounts: &Map<Hash>, filter: Filter) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let done = asm.label();
    emit_account(&mut asm, accounts, filter, done, done);
    emit_add_since(&mut asm, CALL_START, CALL_TOTAL, done);
    asm.load(Reg::R1, Reg::R8, SOFTIRQ_TOTAL);
    asm.load(Reg::R2, Reg::R8, SOFTIRQ_IN_CALL);
    asm.add_register(Reg::R1, Reg::R2);
    asm.store(Reg::R8, SOFTIRQ_TOTAL, Reg::R1);
    asm.load(Reg::R1, Reg::R8, CALLS);
    asm.add(Reg::R1, 1);
    asm.store(Reg::R8, CALLS, Reg::R1);
    asm.place(done);
    asm.leave();
    asm.finish()
}

fn softirq_begins(accounts: &Map<Hash>, filter: Filter) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let done = asm.label();
    emit_account(&mut asm, accounts, filter, done, done);
    asm.load(Reg::R1, Reg::R8, CALL_START);
    asm.jump(Test::Equal(Reg::R1, 0), done);
    asm.store(Reg::R8, SOFTIRQ_START, Reg::R9);
    asm.place(done);
    asm.leave();
    asm.finish()
}

fn softirq_ends(accounts: &Map<Hash>, filter: Filter) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let done = asm.label();
    emit_account(&mut asm, accounts, filter, done, done);
    emit_add_since(&mut asm, SOFTIRQ_START, SOFTIRQ_IN_CALL, done);
    asm.place(done);
    asm.leave();
    asm.finish()
}
