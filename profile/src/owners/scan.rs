//! The program at each sample: it writes down the task, and searches the interrupted stack for a socket.
//!
//! The kernel's code that works for a socket has the socket's address in a register, or on its stack two to seven words from
//! the end. So the program copies the registers, and 2 KiB from the stack pointer upwards, and takes each word for the
//! address of a socket: it is one if the functions of the protocol that it was made with are those of a protocol that is
//! known. Nothing is read through a word
//! that is no address in the kernel's map of memory: a device's registers, whose address a driver may have there, can
//! change when they are read.

use std::ops::RangeInclusive;

use bpf::asm::{Assembler, Helper, Label, Reg, Test};
use bpf::{Map, Numbers, Ring, Scratch, emit_count};

use super::fields::{Fields, Socket, emit_zeros};
use crate::probe::btf;

/// Bytes of the stack that are searched.
const DEPTH: i32 = 2_048;
/// Bytes of memory for registers and stack. The kernel's verifier takes the place of the stack's second part and its length
/// to be independent.
pub const MEMORY: usize = (MACHINE.registers + 2 * DEPTH) as usize;
/// Memory is there by pages of at least this size.
const PAGE: i32 = 4_096;

/// Bytes of a mark: time, task, cgroup, CPU, call, its argument, name of two numbers, socket.
pub const SIZE: i16 = 64 + Socket::SIZE;
/// The call of a task that is in none, as the kernel has it.
const NO_CALL: i32 = -1;

/// The place of the mark that is put together on the stack.
const AT: i16 = -24 - SIZE;
const SOCKET: i16 = AT + 64;
/// The place of what is read of a word.
const READ: i16 = AT - 8;

/// What a kind of machine has at which place of the program's context (`bpf_user_pt_regs_t`).
struct Machine {
    /// Bytes of registers at its start that may have any address.
    registers: i32,
    /// Place of the stack pointer.
    stack_pointer: i16,
    /// A system call's number, by name, and its first argument, in the registers that a task entered the kernel with.
    call: (&'static str, i16),
}

/// Whether this kind of machine is known.
pub const KNOWN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// This machine, where it is known.
const MACHINE: Machine = if cfg!(target_arch = "aarch64") {
    Machine { registers: 31 * 8, stack_pointer: 31 * 8, call: ("syscallno", 0) }
} else {
    Machine { registers: 15 * 8, stack_pointer: 19 * 8, call: ("orig_ax", 14 * 8) }
};
/// States of what is no whole socket: `TCP_TIME_WAIT`, `TCP_NEW_SYN_RECV`.
const NOT_WHOLE: [i32; 2] = [6, 12];

/// `PF_KTHREAD` of a task's flags.
const KERNEL_THREAD: i32 = 0x20_0000;

/// Places of what says which system call a task is in.
#[derive(Debug, Clone, Copy)]
pub struct CallPlaces {
    flags: i16,
    number: i16,
    argument: i16,
}

impl CallPlaces {
    /// Those of this machine; `None` where the kernel's types do not have them.
    pub fn find(types: &[u8]) -> Option<Self> {
        let (number, argument) = MACHINE.call;
        let flags = btf::member_offset(types, "task_struct", "flags")?;
        Some(Self { flags, number: btf::member_offset(types, "pt_regs", number)?, argument })
    }
}

/// What the program works with.
#[derive(Debug)]
pub struct Parts<'a> {
    pub memory: &'a Map<Scratch>,
    pub ring: &'a Ring,
    pub failures: &'a Map<Numbers>,
    pub fields: Fields,
    /// Addresses of the functions of known protocols.
    pub protocols: &'a [u64],
    /// Addresses that may be sockets'.
    pub addresses: RangeInclusive<u64>,
    pub call: Option<CallPlaces>,
}

/// Marks for which the ring had no room, in the array of failures.
pub const LOST: u32 = 0;

/// At each sample. `R6` is the context, then the memory, `R9` the stack pointer.
pub fn program(parts: &Parts) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let [found, write, done] = [(); 3].map(|()| asm.label());
    asm.copy(Reg::R6, Reg::R1);
    emit_zeros(&mut asm, AT, SIZE);
    for (place, helper) in [(0, Helper::Time), (8, Helper::CurrentTask), (16, Helper::CurrentCgroup), (24, Helper::Cpu)] {
        asm.call(helper);
        asm.store(Reg::R10, AT + place, Reg::R0);
    }
    asm.store_number(Reg::R10, AT + 32, NO_CALL);
    if let Some(places) = parts.call {
        emit_call(&mut asm, places);
    }
    asm.stack_address(Reg::R1, i32::from(AT + 48));
    asm.set(Reg::R2, 16);
    asm.call(Helper::CurrentName);
    // A stack below the kernel's addresses is a program's own.
    asm.load(Reg::R9, Reg::R6, MACHINE.stack_pointer);
    asm.jump(Test::AtLeast(Reg::R9, 0), write);
    asm.store_number(Reg::R10, READ, 0);
    asm.lookup(parts.memory.number(), READ);
    asm.jump(Test::Equal(Reg::R0, 0), write);
    emit_copy(&mut asm);
    asm.set_long(Reg::R9, *parts.addresses.start());
    asm.repeat(Reg::R7, MACHINE.registers + DEPTH, 8, |asm, next| {
        emit_word(asm, parts, next);
        asm.jump(Test::Always, found);
    });
    asm.jump(Test::Always, write);
    asm.place(found);
    parts.fields.emit(&mut asm, Reg::R8, SOCKET);
    asm.place(write);
    parts.ring.emit_output(&mut asm, AT, i32::from(SIZE));
    asm.jump(Test::Equal(Reg::R0, 0), done);
    emit_count(&mut asm, parts.failures, LOST, done);
    asm.place(done);
    // With 0, the sample would have no record.
    asm.set(Reg::R0, 1);
    asm.exit();
    asm.finish()
}

/// Writes down the system call that the current task is in. A thread of the kernel, and the idle task, has no registers
/// of a caller.
fn emit_call(asm: &mut Assembler, places: CallPlaces) {
    let none = asm.label();
    asm.load(Reg::R1, Reg::R10, AT + 8);
    asm.jump(Test::Equal(Reg::R1, 0), none);
    asm.call(Helper::CurrentTaskTyped);
    asm.load_word(Reg::R1, Reg::R0, places.flags);
    asm.jump(Test::AnyBit(Reg::R1, KERNEL_THREAD), none);
    asm.copy(Reg::R1, Reg::R0);
    asm.call(Helper::TaskRegisters);
    // An int, which is below 0 in a task that an interrupt brought into the kernel.
    asm.load_word(Reg::R1, Reg::R0, places.number);
    asm.shift_left(Reg::R1, 32);
    asm.shift_right_signed(Reg::R1, 32);
    asm.store(Reg::R10, AT + 32, Reg::R1);
    asm.load(Reg::R1, Reg::R0, places.argument);
    asm.store(Reg::R10, AT + 40, Reg::R1);
    asm.place(none);
}

/// Copies the registers of the context in `R6` to the memory at `R0`, which goes to `R6`; then the stack from `R9` upwards:
/// to the end of its page, then of the next page, which need not be there and is then zeros. Destroys `R0` to `R5` and
/// `R7` to `R9`.
fn emit_copy(asm: &mut Assembler) {
    let within = asm.label();
    for place in (0..MACHINE.registers as i16).step_by(8) {
        asm.load(Reg::R1, Reg::R6, place);
        asm.store(Reg::R0, place, Reg::R1);
    }
    asm.copy(Reg::R6, Reg::R0);
    asm.copy(Reg::R7, Reg::R0);
    asm.add(Reg::R7, MACHINE.registers);
    asm.and(Reg::R9, -8);
    asm.copy(Reg::R1, Reg::R9);
    asm.and(Reg::R1, PAGE - 1);
    asm.set(Reg::R8, PAGE);
    asm.subtract_register(Reg::R8, Reg::R1);
    asm.jump(Test::Below(Reg::R8, DEPTH + 1), within);
    asm.set(Reg::R8, DEPTH);
    asm.place(within);
    asm.copy(Reg::R1, Reg::R7);
    asm.copy(Reg::R2, Reg::R8);
    asm.copy(Reg::R3, Reg::R9);
    asm.call(Helper::ReadKernel);
    asm.copy(Reg::R1, Reg::R7);
    asm.add_register(Reg::R1, Reg::R8);
    asm.set(Reg::R2, DEPTH);
    asm.subtract_register(Reg::R2, Reg::R8);
    asm.copy(Reg::R3, Reg::R9);
    asm.add_register(Reg::R3, Reg::R8);
    asm.call(Helper::ReadKernel);
}

/// Leaves in `R8` the word at `R7` of the memory at `R6`, and goes to `next` unless it is the address of a socket. `R9` is
/// the lowest address that may be one.
fn emit_word(asm: &mut Assembler, parts: &Parts, next: Label) {
    let known = asm.label();
    asm.copy(Reg::R1, Reg::R6);
    asm.add_register(Reg::R1, Reg::R7);
    asm.load(Reg::R8, Reg::R1, 0);
    asm.copy(Reg::R1, Reg::R8);
    asm.subtract_register(Reg::R1, Reg::R9);
    asm.set_long(Reg::R2, parts.addresses.end() - parts.addresses.start());
    asm.jump(Test::Above(Reg::R1, Reg::R2), next);
    asm.jump(Test::AnyBit(Reg::R8, 7), next);
    asm.read_kernel(READ, 8, Reg::R8, parts.fields.creator);
    asm.jump(Test::Differs(Reg::R0, 0), next);
    asm.load(Reg::R1, Reg::R10, READ);
    for protocol in parts.protocols {
        asm.set_long(Reg::R2, *protocol);
        asm.jump(Test::Same(Reg::R1, Reg::R2), known);
    }
    asm.jump(Test::Always, next);
    asm.place(known);
    asm.read_kernel(READ, 1, Reg::R8, parts.fields.state);
    asm.load_byte(Reg::R1, Reg::R10, READ);
    for state in NOT_WHOLE {
        asm.jump(Test::Equal(Reg::R1, state), next);
    }
}
