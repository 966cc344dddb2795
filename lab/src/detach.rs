//! `nettoll __detach COMMAND...`: a command without a terminal.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes a command in a session of its own. What is started so cannot ask its user
/// anything: it has no terminal to ask on, and cannot be stopped for the attempt.
///
/// # Errors
/// What kept the command from being started; on success nothing is left to return.
pub fn run(words: &[OsString]) -> io::Result<Infallible> {
    // It fails only for the leader of a group, which a process that was just started is not.
    let _ = nix::unistd::setsid();
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("no command"))?;
    Err(Command::new(program).args(arguments).exec())
}
