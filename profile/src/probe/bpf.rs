//! `bpf(2)`: the smallest program of each type that nettoll would use.

use std::io;

use super::descriptor;
use bpf::Load;

/// A type of program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Filters a socket. What an unprivileged user may load, if anything.
    SocketFilter,
    /// Runs at a kernel tracepoint.
    RawTracepoint,
    /// Runs at the entry of one kernel function, given by its id in the
    /// kernel's type information ([`super::btf::function_id`]).
    FunctionEntry(u32),
}

/// `return 0`: `r0 = 0` and `exit`, eight bytes each.
const RETURN_ZERO: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];

const COMMAND_LOAD: libc::c_int = 5;
const TYPE_SOCKET_FILTER: u32 = 1;
const TYPE_RAW_TRACEPOINT: u32 = 17;
const TYPE_TRACING: u32 = 26;
const ATTACH_ENTRY: u32 = 24;

/// Has the kernel verify and load a program that does nothing, and drops it.
/// It is attached nowhere.
///
/// # Errors
/// The system's answer, such as EPERM (no CAP_BPF, or forbidden altogether).
pub fn load(program: Program) -> io::Result<()> {
    let (kind, attach_type, attach_id) = match program {
        Program::SocketFilter => (TYPE_SOCKET_FILTER, 0, 0),
        Program::RawTracepoint => (TYPE_RAW_TRACEPOINT, 0, 0),
        Program::FunctionEntry(id) => (TYPE_TRACING, ATTACH_ENTRY, id),
    };
    let request = Load {
        kind,
        instructions: RETURN_ZERO.len() as u32,
        code: RETURN_ZERO.as_ptr() as u64,
        licence: c"GPL".as_ptr() as u64,
        attach_type,
        attach_id,
        ..Load::default()
    };
    // SAFETY: the kernel reads `request` and, through it, code and licence; all three outlive the call.
    let loaded = unsafe { libc::syscall(libc::SYS_bpf, COMMAND_LOAD, &raw const request, size_of::<Load>()) };
    descriptor(loaded).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{Program, load};

    #[test]
    fn every_type_has_an_answer() {
        for program in [Program::SocketFilter, Program::RawTracepoint, Program::FunctionEntry(u32::MAX)] {
            if let Err(error) = load(program) {
                assert!(error.raw_os_error().is_some(), "{error}");
            }
        }
        assert!(load(Program::FunctionEntry(u32::MAX)).is_err(), "there is no such function");
    }
}
