//! Commands that are started so that nothing is left of them: `nettoll __detach COMMAND...` in a session
//! of its own, `nettoll __tether PID COMMAND...` no longer than the process that started it.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use crate::process::THIS_PROGRAM;

/// Becomes a command in a session of its own. What is started so cannot ask its user
/// anything: it has no terminal to ask on, and cannot be stopped for the attempt.
///
/// # Errors
/// What kept the command from being started; on success nothing is left to return.
pub fn run(words: &[OsString]) -> io::Result<Infallible> {
    // It fails only for the leader of a group, which a process that was just started is not.
    let _ = nix::unistd::setsid();
    become_command(words)
}

/// What stands before a command that the kernel is to kill when this process ends, however it ends. The
/// thread that starts the command must outlive it: the kernel goes by that thread's end.
pub fn tether() -> Vec<OsString> {
    [THIS_PROGRAM, "__tether", &std::process::id().to_string()].map(OsString::from).into()
}

/// Becomes a command that the kernel kills when the process `parent`, which started it, ends.
///
/// # Errors
/// As [`run`]; that process has ended already.
pub fn run_tethered(parent: u32, words: &[OsString]) -> io::Result<Infallible> {
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != Pid::from_raw(parent.cast_signed()) {
        return Err(io::Error::other("the nettoll that started it has ended"));
    }
    become_command(words)
}

fn become_command(words: &[OsString]) -> io::Result<Infallible> {
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("no command"))?;
    Err(Command::new(program).args(arguments).exec())
}
