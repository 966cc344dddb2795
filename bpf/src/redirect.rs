//! A program that runs for each frame that comes to a device, and sends those that are chosen into a
//! socket of AF_XDP; the others go on into the kernel.

use std::os::fd::BorrowedFd;

use model::Refusal;

use crate::asm::{Assembler, Helper, Label, Reg, Test};
use crate::map::{Map, Sockets};
use crate::program::{Attached, Program, ProgramKind, XdpMode};

/// Register that has the address of the frame while it is looked at. R5 is free to load into.
pub const FRAME: Reg = Reg::R2;

/// Sends chosen frames of a device into a socket, until what is returned is gone. `choose` writes
/// what looks at a frame of `least` bytes or more: it jumps to the label with one that is to go on.
///
/// # Errors
/// The system's answer, for `mechanism`.
pub fn redirect(
    socket: BorrowedFd<'_>,
    device: u32,
    mode: XdpMode,
    least: i32,
    choose: impl FnOnce(&mut Assembler, Label),
    mechanism: &str,
) -> Result<Attached, Refusal> {
    let sockets = Map::sockets(1, mechanism)?;
    sockets.put(0, socket, mechanism)?;
    let program = Program::load(&program(&sockets, least, choose), ProgramKind::Xdp, mechanism)?;
    program.attach_to_device(device, mode, mechanism)
}

fn program(sockets: &Map<Sockets>, least: i32, choose: impl FnOnce(&mut Assembler, Label)) -> Vec<[u8; 8]> {
    /// Fields of `struct xdp_md`: the frame's begin and end, and the queue.
    const BEGIN: i16 = 0;
    const END: i16 = 4;
    const QUEUE: i16 = 16;
    /// `XDP_PASS`.
    const GO_ON: i32 = 2;
    let mut asm = Assembler::default();
    let go_on = asm.label();
    asm.load_word(FRAME, Reg::R1, BEGIN);
    asm.load_word(Reg::R3, Reg::R1, END);
    asm.load_word(Reg::R6, Reg::R1, QUEUE);
    asm.copy(Reg::R4, FRAME);
    asm.add(Reg::R4, least);
    asm.jump(Test::Above(Reg::R4, Reg::R3), go_on);
    choose(&mut asm, go_on);
    asm.set_map(Reg::R1, sockets.number());
    asm.copy(Reg::R2, Reg::R6);
    asm.set(Reg::R3, GO_ON);
    asm.call(Helper::RedirectByMap);
    asm.exit();
    asm.place(go_on);
    asm.set(Reg::R0, GO_ON);
    asm.exit();
    asm.finish()
}
