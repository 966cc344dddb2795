//! The process that carries out what one controller asks for: the same as a
//! controller starts on its own machine.

use std::fs::File;
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use crate::process;

/// Time that it may take to end by itself, its endpoint included.
const END_LIMIT: Duration = Duration::from_millis(150);
/// Time that the kernel may take to end what was killed.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// Interval at which it is looked at meanwhile.
const STEP: Duration = Duration::from_millis(2);

/// A running host. Dropped, it is ended and waited for, and with it its
/// endpoint.
#[derive(Debug)]
pub struct HostProcess {
    process: Child,
    /// Its end, once it is waited for.
    ended: Option<String>,
}

impl HostProcess {
    /// Starts it; its output and its input never block.
    pub fn start() -> io::Result<(Self, File, File)> {
        let (process, input, output) = process::start(&["__host", "agent", "none"])?;
        let host = Self { process, ended: None };
        Ok((host, never_blocking(output)?, never_blocking(input)?))
    }

    /// Waits until it and all that it started have ended, which they do when
    /// its input does; what does not is killed. Says how it ended.
    pub fn end(&mut self) -> String {
        if let Some(status) = &self.ended {
            return status.clone();
        }
        let group = Pid::from_raw(self.process.id().cast_signed());
        let deadline = Instant::now() + END_LIMIT;
        while is_running(group) && Instant::now() < deadline {
            std::thread::sleep(STEP);
        }
        // Its endpoint too, whatever that is at. Until the host is waited for, the number is its group's alone.
        let _ = killpg(group, Signal::SIGKILL);
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        await_group(group, Instant::now() + KILL_LIMIT);
        self.ended = Some(status.clone());
        status
    }
}

/// Has the processes that a host leaves behind fall to this process, which then
/// knows when they have ended. Without it (Linux before 3.4) init waits for them.
pub fn adopt_orphans() {
    let _ = prctl::set_child_subreaper(true);
}

/// Returns whether a host has not ended yet; does not take its status.
fn is_running(host: Pid) -> bool {
    let how = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    matches!(waitid(Id::Pid(host), how), Ok(WaitStatus::StillAlive) | Err(Errno::EINTR))
}

/// Waits for what was killed, until none is left or the deadline.
fn await_group(group: Pid, deadline: Instant) {
    let everybody = Pid::from_raw(-group.as_raw());
    loop {
        match waitpid(everybody, Some(WaitPidFlag::WNOHANG)) {
            // One is gone; there may be more.
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => continue,
            // None is this process's child, or none yet: the endpoint of a host that has just ended.
            _ if killpg(group, None) == Err(Errno::ESRCH) || Instant::now() >= deadline => return,
            _ => {}
        }
        std::thread::sleep(STEP);
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.end();
    }
}

fn never_blocking(pipe: File) -> io::Result<File> {
    let flags = OFlag::from_bits_retain(fcntl(&pipe, FcntlArg::F_GETFL)?);
    fcntl(&pipe, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(pipe)
}
