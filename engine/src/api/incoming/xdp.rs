//! Frames that a program in the kernel sends past its IP into memory of this process's:
//! AF_XDP, in copy mode, or without a copy where the device writes them there itself (the
//! kernel's Documentation/networking/af_xdp.rst).
//!
//! The program runs for each frame of the link's device; what is no UDP to the flow's port
//! goes on into the kernel. It is there from the joining of the ends to the end of the
//! trial's process.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::time::Duration;

use bpf::asm::{Assembler, Label, Reg, Test};
use bpf::xsk::{self, CHUNK, Descriptor, Mover};
use bpf::{FRAME, ProgramKind, XdpMode};
use model::Cell;

use super::packet::throw_away;
use super::readable_within;
use crate::api::frame::{self, ETHERNET};
use crate::api::outgoing::raw::fits;
use crate::api::place::{Frames, ROOM};
use crate::api::route::{self, Route};
use crate::api::{Buffer, CallOutcome, Carrier, Incoming, KernelRefusal, Open, Place};

/// What a refusal of the kernel's is about.
const MECHANISM: &str = "receiving by xdp";

/// Where the program runs, and who puts the frames into the memory.
pub trait Mode: fmt::Debug {
    /// The place.
    const PLACE: XdpMode;
    /// Who puts them there.
    const MOVER: Mover = Mover::Kernel;
}

/// In the driver.
#[derive(Debug)]
pub struct InDriver;

/// Above the driver.
#[derive(Debug)]
pub struct AboveDriver;

/// In the driver, whose device fills the memory.
#[derive(Debug)]
pub struct ByDevice;

impl Mode for InDriver {
    const PLACE: XdpMode = XdpMode::Native;
}

impl Mode for ByDevice {
    const PLACE: XdpMode = XdpMode::Native;
    const MOVER: Mover = Mover::Device;
}

impl Mode for AboveDriver {
    const PLACE: XdpMode = XdpMode::Generic;
}

/// By native XDP.
pub type Xdp = ByProgram<InDriver>;

/// By generic XDP.
pub type XdpGeneric = ByProgram<AboveDriver>;

/// By native XDP, without a copy.
pub type XdpZerocopy = ByProgram<ByDevice>;

/// A way of receiving such frames.
#[derive(Debug)]
pub struct ByProgram<M> {
    frames: Box<Frames>,
    ends: [SocketAddr; 2],
    /// Size of the messages, where they all have one: greetings have another.
    size: Option<usize>,
    /// Number of frames that were read, and of those whose memory was given back.
    read: u32,
    given_back: u32,
    /// The frame that is being looked at, and the message in it.
    held: Option<u64>,
    last: Range<usize>,
    patience: Duration,
    calls: u64,
    mode: PhantomData<M>,
}

/// Tries what receiving takes, without a device.
///
/// # Errors
/// The kernel's refusal.
pub fn try_xdp() -> io::Result<()> {
    xsk::xdp_socket()?;
    let what = "bpf(PROG_LOAD, XDP) needs CAP_BPF and CAP_NET_ADMIN in the machine's own user namespace";
    bpf::probe(ProgramKind::Xdp).map_err(|answer| KernelRefusal::error(what, answer))
}

impl<M: Mode> Open for ByProgram<M> {
    fn settle(flow: BorrowedFd<'_>, _cell: &Cell) -> io::Result<Option<Carrier>> {
        let flow = flow.try_clone_to_owned()?;
        let route = Route::look_up(&flow)?;
        let socket = xsk::xdp_socket()?;
        let mut memory = ManuallyDrop::new(Buffer::ones(ROOM as usize * CHUNK));
        // SAFETY: the memory is never given back; a frame is read between its coming and its
        // giving back alone.
        unsafe { xsk::register(&socket, NonNull::from(&mut **memory).cast(), ROOM as usize * CHUNK)? };
        for option in [xsk::XDP_UMEM_FILL_RING, xsk::XDP_UMEM_COMPLETION_RING, xsk::XDP_RX_RING] {
            xsk::make_ring(&socket, option)?;
        }
        let offsets = xsk::offsets(&socket)?;
        let received = xsk::map(&socket, offsets[0], xsk::PGOFF_RX_RING)?;
        let filled = xsk::offer(&socket, &offsets, 0, ROOM)?;
        xsk::bind(&socket, route.device, M::MOVER)?;
        let program = attach(&socket, &route, M::PLACE).map_err(io::Error::other)?;
        throw_away(&flow)?;
        Ok(Some(Carrier::Frames(Box::new(Frames { socket, received, filled, memory, _program: program }))))
    }

    fn open(place: &Place<'_>) -> io::Result<Self> {
        let (frames, ends) = (place.frames()?, route::ends(&place.socket)?);
        fits(place, ends[1].is_ipv6(), "received by xdp")?;
        let size = place.cell.mix.is_none().then(|| place.cell.size.as_len());
        Ok(Self {
            frames,
            ends,
            size,
            read: 0,
            given_back: ROOM,
            held: None,
            last: 0..0,
            patience: place.patience,
            calls: 0,
            mode: PhantomData,
        })
    }
}

/// Has UDP to the port of a flow go to a socket, and lets everything else go on.
fn attach(socket: &OwnedFd, route: &Route, mode: XdpMode) -> Result<bpf::Attached, model::Refusal> {
    let end = route.ends[0];
    let (kind, protocol, port, least) = if end.is_ipv6() { (0x86dd_u16, 20, 56, 62) } else { (0x0800, 23, 36, 42) };
    let in_order = |number: u16| i32::from(number.to_be());
    let choose = |asm: &mut Assembler, go_on: Label| {
        asm.load_half(Reg::R5, FRAME, 12);
        asm.jump(Test::Differs(Reg::R5, in_order(kind)), go_on);
        asm.load_byte(Reg::R5, FRAME, protocol);
        asm.jump(Test::Differs(Reg::R5, 17), go_on);
        if end.is_ipv4() {
            // A head with options is somebody else's.
            asm.load_byte(Reg::R5, FRAME, 14);
            asm.jump(Test::Differs(Reg::R5, 0x45), go_on);
        }
        asm.load_half(Reg::R5, FRAME, port);
        asm.jump(Test::Differs(Reg::R5, in_order(end.port())), go_on);
    };
    bpf::redirect(socket.as_fd(), route.device, mode, least, choose, MECHANISM)
}

impl<M> ByProgram<M> {
    /// Gives the memory of the frame that was looked at last back to the kernel.
    fn give_back(&mut self) {
        if let Some(address) = self.held.take() {
            self.frames.filled.write(self.given_back, address / CHUNK as u64 * CHUNK as u64);
            self.given_back = self.given_back.wrapping_add(1);
            self.frames.filled.set_produced(self.given_back);
        }
    }

    /// The bytes of the memory.
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        // SAFETY: callers keep the range within a frame that the kernel has handed over, and
        // that has not been given back.
        unsafe { std::slice::from_raw_parts(self.frames.memory.as_ptr().add(range.start), range.len()) }
    }

    /// The message of the next frame that has one.
    fn next_message(&mut self) -> Option<Range<usize>> {
        while self.read != self.frames.received.produced() {
            self.give_back();
            let Descriptor { address, length, .. } = self.frames.received.read(self.read);
            self.read = self.read.wrapping_add(1);
            self.frames.received.set_consumed(self.read);
            let frame = address as usize..(address as usize).saturating_add(length as usize);
            if frame.end > ROOM as usize * CHUNK {
                continue;
            }
            self.held = Some(address);
            let message = frame::message_of(self.bytes(frame.clone()), ETHERNET, &[self.ends[1], self.ends[0]]);
            if let Some(message) = message.filter(|message| self.size.is_none_or(|size| size == message.len())) {
                return Some(frame.start + message.start..frame.start + message.end);
            }
        }
        None
    }

    fn wait(&mut self) -> libc::c_int {
        self.calls += 1;
        readable_within(self.frames.socket.as_raw_fd(), self.patience)
    }
}

impl<M> Incoming for ByProgram<M> {
    #[inline(always)]
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        loop {
            if let Some(message) = self.next_message() {
                self.last = message;
                return CallOutcome(self.last.len().min(limit) as isize);
            }
            let found = if wait { self.wait() } else { 0 };
            if found <= 0 {
                return CallOutcome::of_wait(found);
            }
        }
    }

    fn last(&self) -> &[u8] {
        self.bytes(self.last.clone())
    }

    fn has_more(&self) -> bool {
        self.read != self.frames.received.produced()
    }

    fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.frames.socket.as_fd())
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(mem::take(&mut self.calls))
    }

    /// Frames for which there was no memory, or no place.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        let counters = xsk::dropped(&self.frames.socket).into_iter().flatten();
        counters.filter(|(_, count)| *count > 0).collect()
    }
}
