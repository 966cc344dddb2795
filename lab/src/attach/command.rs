//! A program that nettoll starts for the time of its observation.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::AttachError;
use crate::keeper::KeptCommand;
use crate::process;

/// Time that a program has to end by itself after it was asked to.
const PATIENCE: Duration = Duration::from_secs(3);

/// A program that was started, in a process group of its own. Dropped, the group is asked to end,
/// and ended where the program does not.
#[derive(Debug)]
pub struct Started {
    child: Child,
    /// Ends it where this process is killed.
    _kept: KeptCommand,
}

impl Started {
    /// Starts a command without standard input; what it prints goes to standard error. Ctrl-C does
    /// not reach it: the owner of this value ends it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new(words: &[String]) -> Result<Self, AttachError> {
        let (first, rest) = words.split_first().ok_or(AttachError::Ended)?;
        let failed = |answer| AttachError::Command { command: first.clone(), answer };
        let errors = std::io::stderr();
        let out = nix::unistd::dup(&errors).map(Stdio::from).map_err(|errno| failed(errno.into()))?;
        let mut child = Command::new(first).args(rest).stdin(Stdio::null()).stdout(out).process_group(0).spawn().map_err(failed)?;
        let kept = KeptCommand::new(&mut child).map_err(failed)?;
        Ok(Self { child, _kept: kept })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It is a child that nobody has waited for, so the id is its own, and that of its group.
        let group = Pid::from_raw(self.child.id().cast_signed());
        let _ = killpg(group, Signal::SIGTERM);
        if process::wait_within(&mut self.child, PATIENCE).is_none() {
            let _ = killpg(group, Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}
