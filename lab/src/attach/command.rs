//! A program that nettoll starts for the time of its observation.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::AttachError;
use crate::keeper::KeptCommand;

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
        let kept = match KeptCommand::new(child.id()) {
            Ok(kept) => kept,
            Err(answer) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(answer));
            }
        };
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
        let group = i32::try_from(self.child.id()).map(Pid::from_raw);
        if let Ok(group) = group {
            let _ = killpg(group, Signal::SIGTERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        if let Ok(group) = group {
            let _ = killpg(group, Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
