//! Bytes that a socket call asks for, read from what its caller handed over: a register, or the
//! pieces (`struct iovec`) in the caller's memory.
//!
//! Nothing watches the entry of calls, which would cost every call of every program. So it takes
//! other signs to tell which part of a call fires a tracepoint, where a call fires several
//! times:
//! - `sendmmsg` and `recvmmsg`, for each message: which one of the vector is not known, so neither is its size.
//! - `sendfile`, for some 64 KiB each: the pipe within the kernel that it goes through starts empty
//!   with each call.
//! - `splice`, for the sixteen buffers that a pipe has by default: that is a call here.

use bpf::asm::{Assembler, Helper, Label, Reg, Test};

use crate::probe::btf;

/// The size is known.
pub const TOLD: u64 = 1;
/// The call has more pieces than are added up: it asks for this at least.
pub const AT_LEAST: u64 = 2;
/// The call has fired before: its size was noted then.
pub const GOES_ON: u64 = 4;
/// Place of these flags in the kind of an event.
pub const FLAGS: i32 = 56;

/// Pieces of a call that are added up.
pub const PIECES: i16 = 8;
/// The most bytes that the kernel moves with one call (`MAX_RW_COUNT` with pages of 4 KiB).
pub const MOST: i32 = 0x7fff_f000;

/// Bytes of a piece, and the place of its length.
const PIECE: [i16; 2] = [16, 8];
/// Place of the pieces and their number in a `struct msghdr`.
const HEADER: i32 = 16;
/// Places on the stack, below that of the event: pieces, a header.
const PIECES_AT: i16 = -64 - PIECES * PIECE[0];
const HEADER_AT: i16 = PIECES_AT - 16;

/// Places of the registers that a task entered the kernel with, in `struct pt_regs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// Number of the system call.
    pub call: i16,
    /// Its second argument to its fifth.
    arguments: [i16; 4],
    /// Of a task the pipe of `sendfile`, and of that the buffers that were taken from it.
    pipe: Option<[i16; 2]>,
}

impl Registers {
    /// Those of this machine; `None` where the kernel's types do not have them.
    pub fn find(types: &[u8]) -> Option<Self> {
        let pipe = btf::member_offset(types, "task_struct", "splice_pipe").zip(btf::member_offset(types, "pipe_inode_info", "tail"));
        let pipe = pipe.map(<[i16; 2]>::from);
        if cfg!(target_arch = "x86_64") {
            let call = btf::member_offset(types, "pt_regs", "orig_ax")?;
            Some(Self { call, arguments: [104, 96, 56, 72], pipe })
        } else if cfg!(target_arch = "aarch64") {
            let call = btf::member_offset(types, "pt_regs", "syscallno")?;
            Some(Self { call, arguments: [8, 16, 24, 32], pipe })
        } else {
            None
        }
    }

    /// Place of an argument, the second to the fifth.
    const fn argument(self, number: usize) -> i16 {
        self.arguments[number - 2]
    }
}

/// Leaves the bytes asked for in `R7`, 0 where they are not known, and adds flags to `R6`. `R7` is the
/// task, `R8` points to its registers, and `R1` is the number of the call. Destroys `R0` to `R5`, and the
/// stack from -208 to -64.
pub fn emit(asm: &mut Assembler, registers: Registers) {
    let [plain, file, pipe, pieces, message] = [(); 5].map(|()| asm.label());
    let [vector, told, out] = [(); 3].map(|()| asm.label());
    let calls: [(&[libc::c_long], Label); 5] = [
        (&[libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_write, libc::SYS_read], plain),
        (&[libc::SYS_writev, libc::SYS_readv, libc::SYS_pwritev2, libc::SYS_preadv2], pieces),
        (&[libc::SYS_sendmsg, libc::SYS_recvmsg], message),
        (&[libc::SYS_sendfile], file),
        (&[libc::SYS_splice], pipe),
    ];
    for (numbers, place) in calls {
        for number in numbers {
            asm.jump(Test::Equal(Reg::R1, *number as i32), place);
        }
    }
    asm.set(Reg::R7, 0);
    asm.jump(Test::Always, out);

    asm.place(plain);
    asm.load(Reg::R7, Reg::R8, registers.argument(3));
    asm.jump(Test::Always, told);

    asm.place(file);
    match registers.pipe {
        Some([pipe, gone]) => {
            let first = asm.label();
            asm.load(Reg::R1, Reg::R7, pipe);
            asm.load_word(Reg::R1, Reg::R1, gone);
            asm.set(Reg::R7, 0);
            asm.jump(Test::Equal(Reg::R1, 0), first);
            emit_flag(asm, GOES_ON);
            asm.jump(Test::Always, out);
            asm.place(first);
            asm.load(Reg::R7, Reg::R8, registers.argument(4));
            asm.jump(Test::Always, told);
        }
        None => {
            asm.set(Reg::R7, 0);
            asm.jump(Test::Always, out);
        }
    }

    asm.place(pipe);
    asm.load(Reg::R7, Reg::R8, registers.argument(5));
    asm.jump(Test::Always, told);

    asm.place(pieces);
    asm.load(Reg::R3, Reg::R8, registers.argument(2));
    asm.load(Reg::R2, Reg::R8, registers.argument(3));
    asm.set(Reg::R7, 0);
    asm.jump(Test::Always, vector);

    asm.place(message);
    asm.load(Reg::R3, Reg::R8, registers.argument(2));
    asm.set(Reg::R7, 0);
    asm.add(Reg::R3, HEADER);
    asm.set(Reg::R2, 16);
    asm.stack_address(Reg::R1, i32::from(HEADER_AT));
    asm.call(Helper::ReadUser);
    asm.jump(Test::Differs(Reg::R0, 0), out);
    asm.load(Reg::R3, Reg::R10, HEADER_AT);
    asm.load(Reg::R2, Reg::R10, HEADER_AT + 8);

    // R3 is the address of the pieces, R2 their number.
    asm.place(vector);
    emit_pieces(asm, out);

    asm.place(told);
    emit_flag(asm, TOLD);
    let fits = asm.label();
    asm.set(Reg::R1, MOST);
    asm.jump(Test::Above(Reg::R1, Reg::R7), fits);
    asm.copy(Reg::R7, Reg::R1);
    asm.place(fits);
    asm.place(out);
}

/// Adds up the pieces at the address in `R3`, whose number is in `R2`, into `R7`.
fn emit_pieces(asm: &mut Assembler, out: Label) {
    let few = asm.label();
    // Everything is written here, since the kernel's verifier looks at the most that may be read.
    for place in 0..2 * PIECES {
        asm.store_number(Reg::R10, PIECES_AT + 8 * place, 0);
    }
    asm.jump(Test::Below(Reg::R2, i32::from(PIECES) + 1), few);
    emit_flag(asm, AT_LEAST);
    asm.set(Reg::R2, i32::from(PIECES));
    asm.place(few);
    asm.shift_left(Reg::R2, 4);
    asm.stack_address(Reg::R1, i32::from(PIECES_AT));
    asm.call(Helper::ReadUser);
    asm.jump(Test::Differs(Reg::R0, 0), out);
    for piece in 0..PIECES {
        asm.load(Reg::R1, Reg::R10, PIECES_AT + piece * PIECE[0] + PIECE[1]);
        asm.add_register(Reg::R7, Reg::R1);
    }
}

/// Adds a flag to the kind in `R6`.
fn emit_flag(asm: &mut Assembler, flag: u64) {
    asm.set_long(Reg::R1, flag << FLAGS);
    asm.or(Reg::R6, Reg::R1);
}
