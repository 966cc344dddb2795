//! The programs that run in the kernel at each socket call, and at each fork.

use bpf::asm::{Assembler, Helper, Label, Reg, Test};
use bpf::{Filter, Hash, Map, Numbers, Queue, emit_count, emit_sum};

use super::asked::{self, Registers};
use super::log::{Event, IN};
use crate::probe::btf;

/// Places in the array of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Place {
    Sends,
    Sent,
    Receives,
    Received,
    Empty,
    Failed,
    /// Calls for which the queue had no room.
    Beyond,
}

impl Place {
    /// Their number.
    pub const ALL: usize = Self::Beyond as usize + 1;
}

/// Where the kernel keeps what the programs read; `None` where it does not say.
#[derive(Debug)]
pub struct Offsets {
    /// Family of a socket.
    family: Option<i16>,
    /// Its protocol.
    protocol: Option<i16>,
    /// The system call that a task is in, and its arguments.
    registers: Option<Registers>,
    /// Process of a task.
    process: Option<i16>,
}

impl Offsets {
    /// Looks them up in the kernel's type information.
    pub fn find(types: &[u8]) -> Self {
        Self {
            family: btf::member_offset(types, "sock_common", "skc_family"),
            protocol: btf::member_offset(types, "sock", "sk_protocol"),
            registers: Registers::find(types),
            process: btf::member_offset(types, "task_struct", "tgid"),
        }
    }
}

/// What the programs share.
#[derive(Debug)]
pub struct Parts<'a> {
    pub members: &'a Map<Hash>,
    pub sums: &'a Map<Numbers>,
    pub queue: Option<&'a Map<Queue>>,
    pub filter: Filter,
    pub offsets: &'a Offsets,
}

/// Flags of a receive call that takes nothing away: `MSG_PEEK`, and `MSG_ERRQUEUE`.
const TAKES_NOTHING: i32 = libc::MSG_PEEK | libc::MSG_ERRQUEUE;

/// The place of the event that is put together on the stack.
const AT: i16 = -24 - Event::SIZE as i16;
/// The place of its task.
const TASK: i16 = AT + 16;

/// `sock_send_length(socket, result, flags)`, and that of receiving.
///
/// `R6` is the context, then the packed kind of call; `R7` the task's numbers, then the task, then the
/// bytes asked for; `R8` the socket, then the caller's registers; `R9` the result.
pub fn at_socket(parts: &Parts, way: u64) -> Vec<[u8; 8]> {
    let mut asm = Assembler::default();
    let (done, refused, record) = (asm.label(), asm.label(), asm.label());
    asm.copy(Reg::R6, Reg::R1);
    parts.filter.emit_current(&mut asm, done);
    asm.copy(Reg::R1, Reg::R7);
    asm.shift_right(Reg::R1, 32);
    emit_known(&mut asm, parts.members, done);
    asm.load(Reg::R8, Reg::R6, 0);
    emit_result(&mut asm, way, done);
    asm.jump(Test::AtMost(Reg::R9, 0), refused);
    let (calls, bytes) = if way == IN { (Place::Receives, Place::Received) } else { (Place::Sends, Place::Sent) };
    emit_count(&mut asm, parts.sums, calls as u32, done);
    emit_sum(&mut asm, parts.sums, bytes as u32, Reg::R9, done);
    asm.jump(Test::Always, record);
    asm.place(refused);
    let (other, counted) = (asm.label(), asm.label());
    asm.jump(Test::Differs(Reg::R9, -libc::EAGAIN), other);
    emit_count(&mut asm, parts.sums, Place::Empty as u32, done);
    asm.jump(Test::Always, counted);
    asm.place(other);
    emit_count(&mut asm, parts.sums, Place::Failed as u32, done);
    asm.place(counted);
    asm.place(record);
    if let Some(queue) = parts.queue {
        emit_event(&mut asm, parts, queue, way, done);
    }
    asm.place(done);
    asm.leave();
    asm.finish()
}

/// Leaves the result of a socket call in `R9`, whose context is in `R6`; goes to `none` if it takes nothing away.
pub fn emit_result(asm: &mut Assembler, way: u64, none: Label) {
    asm.load(Reg::R9, Reg::R6, 8);
    if way == IN {
        asm.load(Reg::R1, Reg::R6, 16);
        asm.jump(Test::AnyBit(Reg::R1, TAKES_NOTHING), none);
    }
    // The kernel hands over an int: its upper half is not its sign.
    asm.shift_left(Reg::R9, 32);
    asm.shift_right_signed(Reg::R9, 32);
}

/// Puts the call into the queue. Laid out as [`Event`] reads it.
fn emit_event(asm: &mut Assembler, parts: &Parts, queue: &Map<Queue>, way: u64, done: Label) {
    asm.call(Helper::Time);
    asm.store(Reg::R10, AT, Reg::R0);
    asm.copy(Reg::R1, Reg::R8);
    asm.call(Helper::SocketCookie);
    asm.store(Reg::R10, AT + 8, Reg::R0);
    asm.store(Reg::R10, TASK, Reg::R7);
    // Call, then family, protocol and way, 16 bits each.
    asm.set(Reg::R6, way as i32);
    for offset in [parts.offsets.protocol, parts.offsets.family] {
        asm.shift_left(Reg::R6, 16);
        if let Some(offset) = offset {
            asm.load_half(Reg::R1, Reg::R8, offset);
            asm.or(Reg::R6, Reg::R1);
        }
    }
    asm.shift_left(Reg::R6, 16);
    asm.set(Reg::R7, 0);
    if let Some(registers) = parts.offsets.registers {
        asm.call(Helper::CurrentTaskTyped);
        asm.copy(Reg::R7, Reg::R0);
        asm.copy(Reg::R1, Reg::R0);
        asm.call(Helper::TaskRegisters);
        asm.copy(Reg::R8, Reg::R0);
        asm.load(Reg::R1, Reg::R8, registers.call);
        asm.keep_bits(Reg::R1, 16);
        asm.or(Reg::R6, Reg::R1);
        asked::emit(asm, registers);
    }
    asm.store(Reg::R10, AT + 24, Reg::R6);
    // The result below, what was asked for above.
    asm.shift_left(Reg::R7, 32);
    asm.keep_bits(Reg::R9, 32);
    asm.or(Reg::R7, Reg::R9);
    asm.store(Reg::R10, AT + 32, Reg::R7);
    asm.enqueue(queue.number(), AT);
    asm.jump(Test::Equal(Reg::R0, 0), done);
    emit_count(asm, parts.sums, Place::Beyond as u32, done);
}

/// `sched_process_fork(parent, child)`: a child of a process looked at is one, too. `None` where
/// the kernel does not say where a task keeps its process.
pub fn at_fork(parts: &Parts) -> Option<Vec<[u8; 8]>> {
    let process = parts.offsets.process?;
    let mut asm = Assembler::default();
    let done = asm.label();
    asm.copy(Reg::R6, Reg::R1);
    asm.load(Reg::R2, Reg::R6, 0);
    asm.load_word(Reg::R1, Reg::R2, process);
    asm.copy(Reg::R7, Reg::R1);
    emit_known(&mut asm, parts.members, done);
    asm.load(Reg::R2, Reg::R6, 8);
    asm.load_word(Reg::R8, Reg::R2, process);
    // A thread is of the same process.
    asm.jump(Test::Same(Reg::R7, Reg::R8), done);
    asm.store(Reg::R10, -16, Reg::R8);
    asm.update(parts.members.number(), -16, -16);
    asm.place(done);
    asm.leave();
    Some(asm.finish())
}

/// Goes to `unknown` unless the process in `R1` is looked at. Uses 8 bytes of stack at -16.
fn emit_known(asm: &mut Assembler, members: &Map<Hash>, unknown: Label) {
    asm.store(Reg::R10, -16, Reg::R1);
    asm.lookup(members.number(), -16);
    asm.jump(Test::Equal(Reg::R0, 0), unknown);
}
