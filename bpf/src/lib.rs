//! BPF programs and maps, assembled here and loaded by `bpf(2)`: no compiler, no type
//! information, nothing on disk. They end with this process. [`xsk`] has the AF_XDP sockets
//! that such a program sends frames to. A map's reader knows the meaning of its counts.

pub mod asm;
mod identity;
mod loaded;
mod map;
mod program;
mod redirect;
mod ring;
pub mod xsk;

use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

use model::Refusal;

use asm::{Assembler, Label, Reg, Test};
pub use identity::{Filter, Who};
pub use loaded::compiled;
pub use map::{Hash, Map, MapKind, Numbers, Queue, Records, Scratch, Sockets};
pub use program::{Attached, Program, ProgramKind, XdpMode, probe};
pub use redirect::{FRAME, redirect};
pub use ring::Ring;

/// Attempts at a call that the kernel answers with `EAGAIN`: its verifier gives up where a signal waits
/// for the task. libbpf makes as many.
const ATTEMPTS: u32 = 5;

/// `bpf(2)`.
///
/// # Safety
/// `T` is a structure of plain numbers; each address in it is 0, or is good for what
/// the command makes the kernel read and write there until the call returns.
unsafe fn call<T>(command: libc::c_int, request: &mut T) -> io::Result<libc::c_long> {
    let mut others = 1..ATTEMPTS;
    loop {
        // SAFETY: the kernel reads and writes at most `size_of::<T>()` bytes of `request`; the caller
        // answers for the rest.
        let answer = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *request, size_of::<T>()) };
        if answer >= 0 {
            return Ok(answer);
        }
        let error = io::Error::last_os_error();
        let again = match error.raw_os_error() {
            Some(libc::EAGAIN) => others.next().is_some(),
            Some(libc::EPERM | libc::ENOMEM) => lock_more_memory(),
            _ => false,
        };
        if !again {
            return Err(error);
        }
    }
}

/// Lets this process lock as much memory as it likes: kernels before 5.11 count maps and
/// programs as locked memory, of which a process may have 64 KiB, and answer `EPERM` beyond. Returns
/// whether the limit was raised, which root alone may do, and which helps once.
fn lock_more_memory() -> bool {
    static RAISED: AtomicBool = AtomicBool::new(false);
    let all = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel reads one `rlimit`, which outlives the call.
    !RAISED.swap(true, Ordering::Relaxed) && unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const all) } == 0
}

/// The remedy of a refusal of BPF.
fn remedy(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!(
            "Run as root or with CAP_BPF and CAP_PERFMON; kernel.unprivileged_bpf_disabled is {}. Lockdown, a security module or a container may refuse it to root too",
            sysctl("kernel.unprivileged_bpf_disabled")
        ),
        Some(libc::ENOSYS) => "This kernel has no BPF (CONFIG_BPF_SYSCALL), or a sandbox hides it".to_owned(),
        Some(libc::ENOENT) => "This kernel has no tracepoint of that name".to_owned(),
        Some(libc::ENOMEM) => "Free memory, or raise `ulimit -l` on kernels before 5.11".to_owned(),
        _ => "This kernel does not take the program; its counts are missing".to_owned(),
    }
}

/// A sysctl's value by its dotted name; `unknown` where it cannot be read.
pub fn sysctl(name: &str) -> String {
    fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

fn refused(mechanism: &str, tried: &str, error: &io::Error) -> Refusal {
    sys::refused_call(mechanism, tried, error, remedy(error))
}

/// Adds 1 to the number at `place` of an array of numbers; jumps to `done`
/// if there is no such place. Uses 4 bytes of stack at -16; destroys `R0` to `R5`.
pub fn emit_count(asm: &mut Assembler, array: &Map<Numbers>, place: u32, done: Label) {
    emit_place(asm, array, place, done);
    asm.set(Reg::R1, 1);
    asm.add_in_memory(Reg::R0, 0, Reg::R1);
}

/// Adds a register, one of `R6` to `R9`, to the number at `place` likewise.
pub fn emit_sum(asm: &mut Assembler, array: &Map<Numbers>, place: u32, of: Reg, done: Label) {
    emit_place(asm, array, place, done);
    asm.add_in_memory(Reg::R0, 0, of);
}

/// Leaves the address of a number in `R0`.
fn emit_place(asm: &mut Assembler, array: &Map<Numbers>, place: u32, done: Label) {
    asm.store_number(Reg::R10, -16, place as i32);
    asm.lookup(array.number(), -16);
    asm.jump(Test::Equal(Reg::R0, 0), done);
}
