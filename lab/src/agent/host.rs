//! The process that carries out what one controller asks for: the same as a
//! controller starts on its own machine.

use std::fs::File;
use std::io;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::process;

/// Time that it may take to end by itself, its endpoint included.
const END_LIMIT: Duration = Duration::from_millis(150);
/// Time that the kernel may take to end what was killed.
const KILL_LIMIT: Duration = Duration::from_secs(5);
/// Interval at which it is looked at meanwhile.
const STEP: Duration = Duration::from_millis(2);

/// Lines of a host's standard error that are passed on.
const MOST_LINES: u32 = 20;
/// Bytes of each; a longer one counts as several.
const LONGEST_LINE: u64 = 1_000;

/// A running host. Dropped, it is ended and waited for, and with it its
/// endpoint.
#[derive(Debug)]
pub struct HostProcess {
    process: Child,
    /// Its end, once it is waited for.
    ended: Option<String>,
}

impl HostProcess {
    /// Starts it; its output and its input never block. Each line that it writes to
    /// standard error goes to `complain`, the first [`MOST_LINES`] of them: what a
    /// controller makes it say must not fill the agent's log.
    pub fn start(complain: impl FnMut(&str) + Send + 'static) -> io::Result<(Self, File, File)> {
        let (process, input, output) = process::start_heard(&["__host", "agent", "none"])?;
        let mut host = Self { process, ended: None };
        process::read_errors(&mut host.process, LONGEST_LINE, first_lines(complain))?;
        Ok((host, process::never_blocking(output)?, process::never_blocking(input)?))
    }

    /// Waits until it and all that it started have ended, which they do when
    /// its input does; what does not is killed. Says how it ended.
    pub fn end(&mut self) -> String {
        if let Some(status) = &self.ended {
            return status.clone();
        }
        let group = Pid::from_raw(self.process.id().cast_signed());
        process::await_end(&self.process, END_LIMIT);
        // Its endpoint too, whatever that is at. Until the host is waited for, the number is its group's alone.
        let _ = killpg(group, Signal::SIGKILL);
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        await_group(group, Instant::now() + KILL_LIMIT);
        self.ended = Some(status.clone());
        status
    }
}

/// Passes on the first lines.
fn first_lines(mut complain: impl FnMut(&str)) -> impl FnMut(&str) {
    let mut number = 0;
    move |line| {
        match number {
            0..MOST_LINES => complain(line),
            MOST_LINES => complain("(more lines are left out)"),
            _ => return,
        }
        number += 1;
    }
}

/// Has the processes that a host leaves behind fall to this process, which then
/// knows when they have ended. Without it (Linux before 3.4) init waits for them.
pub fn adopt_orphans() {
    let _ = prctl::set_child_subreaper(true);
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
        thread::sleep(STEP);
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LINE, MOST_LINES, first_lines};
    use crate::process::read_lines;

    #[test]
    fn a_flood_of_errors_is_cut_off() {
        let mut heard = Vec::new();
        let flood = "a line of many\n".repeat(100_000);
        read_lines(flood.as_bytes(), LONGEST_LINE, first_lines(|line| heard.push(line.to_owned())));
        assert_eq!(heard.len(), MOST_LINES as usize + 1);
        assert_eq!(heard[0], "a line of many");
        let mut longest = 0;
        read_lines("x".repeat(1 << 20).as_bytes(), LONGEST_LINE, first_lines(|line| longest = longest.max(line.len())));
        assert_eq!(longest as u64, LONGEST_LINE);
    }
}
