//! Counts the system calls of a process between two of them.
//!
//! Reading a clock is no system call as long as the kernel's vDSO does it; the
//! watched process is started without one, so that every reading shows.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::ChildStdin;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::Skip;
use crate::child;

/// How often each system call was made.
pub type Calls = BTreeMap<i64, u64>;

const WORD: u64 = size_of::<usize>() as u64;
/// From `include/uapi/linux/auxvec.h`.
const AT_NULL: i64 = 0;
const AT_IGNORE: i64 = 1;
const AT_SYSINFO_EHDR: i64 = 33;

/// Starts the traffic of `input` in a process that is watched, and returns its
/// calls between the edges of the measured part. `meanwhile` plays the other
/// end, and gets the input to close it.
pub fn calls(input: &str, meanwhile: impl FnOnce(ChildStdin) + Send + 'static) -> Result<Calls, Skip> {
    let mut command = child::command("traffic");
    // SAFETY: between fork and exec this makes one system call.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let mut process = command.spawn().map_err(|answer| Skip(format!("no process can be watched here: {answer}")))?;
    let pid = Pid::from_raw(process.id() as i32);
    assert_eq!(waitpid(pid, None), Ok(WaitStatus::Stopped(pid, Signal::SIGTRAP)), "it stops when it starts");
    ptrace::setoptions(pid, Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL).unwrap();
    hide_vdso(pid).map_err(|errno| Skip(format!("the start of a process cannot be read here: {errno}")))?;
    let mut commands = process.stdin.take().unwrap();
    commands.write_all(input.as_bytes()).unwrap();
    let other_end = std::thread::spawn(move || meanwhile(commands));
    let calls = count(pid);
    other_end.join().unwrap();
    Ok(calls)
}

/// Takes the vDSO's address from what a new process is told on its stack:
/// arguments, environment and auxiliary vector, each ended by a zero.
fn hide_vdso(pid: Pid) -> nix::Result<()> {
    let mut at = ptrace::syscall_info(pid)?.stack_pointer;
    let word = |at: u64| ptrace::read(pid, at as ptrace::AddressType);
    at += WORD * (word(at)? as u64 + 2);
    while word(at)? != 0 {
        at += WORD;
    }
    at += WORD;
    loop {
        match word(at)? {
            AT_NULL => return Err(Errno::ENOENT),
            AT_SYSINFO_EHDR => return ptrace::write(pid, at as ptrace::AddressType, AT_IGNORE),
            _ => at += 2 * WORD,
        }
    }
}

/// Lets it run to its end. An edge asks for the switches of its thread: the
/// first one as its first call, the last one after its clocks.
fn count(pid: Pid) -> Calls {
    let (mut calls, mut edges, mut signal) = (Calls::new(), 0, None);
    loop {
        ptrace::syscall(pid, signal.take()).unwrap();
        match waitpid(pid, None).unwrap() {
            WaitStatus::PtraceSyscall(_) => {
                let Some(call) = entered(pid) else { continue };
                if call == libc::SYS_getrusage {
                    edges += 1;
                } else if edges == 1 {
                    *calls.entry(call).or_default() += 1;
                }
            }
            WaitStatus::Stopped(_, other) => signal = Some(other),
            ended => {
                assert_eq!(ended, WaitStatus::Exited(pid, 0));
                assert_eq!(edges, 2, "the measured part has two edges");
                return calls;
            }
        }
    }
}

/// The call at whose entry the process stands; `None` at its return.
fn entered(pid: Pid) -> Option<i64> {
    let info = ptrace::syscall_info(pid).unwrap();
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: `op` says that this part of the union is the one filled in.
    Some(unsafe { info.u.entry.nr } as i64)
}
