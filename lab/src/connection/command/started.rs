//! The command as a process of this machine.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::printable::{Keep, printable};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::connection::link::Link;
use crate::keeper::{KeptCommand, PATIENCE};
use crate::process::{self, THIS_PROGRAM};

/// Time that its status may take once its output has ended.
const STATUS_LIMIT: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(5);
/// Last lines of its standard error that are kept, and bytes of each.
const LINES: usize = 4;
const LONGEST_LINE: u64 = 300;

/// A running command. Dropped, it is ended, with everything in its session.
#[derive(Debug)]
pub(super) struct Started {
    process: Child,
    said: Arc<Mutex<VecDeque<String>>>,
    /// Dropped last: what it is about has ended then.
    _kept: KeptCommand,
}

impl Started {
    /// Starts a command in a session of its own, without a terminal: what would ask for a
    /// password finds nobody to ask, and Ctrl-C is for this process to answer.
    pub(super) fn start(words: &[String]) -> io::Result<(Self, Link)> {
        let mut command = Command::new(THIS_PROGRAM);
        command.arg("__detach").args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let kept = match KeptCommand::new(process.id()) {
            Ok(kept) => kept,
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                return Err(error);
            }
        };
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        let errors = process.stderr.take();
        let started = Self { process, said: Arc::default(), _kept: kept };
        if let Some(errors) = errors {
            let said = Arc::clone(&started.said);
            thread::Builder::new().name("nettoll-errors".to_owned()).stack_size(64 << 10).spawn(move || keep_last(errors, &said))?;
        }
        let never_blocking = |pipe: OwnedFd| process::never_blocking(File::from(pipe));
        let link = Link::over_pipes(never_blocking(output.into())?, never_blocking(input.into())?);
        Ok((started, link))
    }

    /// Returns the last lines that it wrote to standard error.
    pub(super) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Returns its status, if it ends soon, and waits for its last words.
    pub(super) fn status_soon(&mut self) -> Option<Status> {
        let status = self.wait(STATUS_LIMIT)?;
        // What it wrote last may still be on its way to the thread that reads it.
        thread::sleep(STEP);
        Some(Status(status))
    }

    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
                Ok(None) if Instant::now() >= deadline => return None,
                Ok(None) => thread::sleep(STEP),
            }
        }
    }

    /// Waits for its end, which the end of its input is to bring about, and kills what
    /// does not end.
    pub(super) fn end(&mut self) {
        if self.wait(PATIENCE).is_none() {
            self.kill();
        }
    }

    /// Kills it and everything in its session's first group, and waits for it. While it is
    /// not waited for, nobody else has its number.
    fn kill(&mut self) {
        // It leads no group before it has made its session.
        if killpg(Pid::from_raw(self.process.id().cast_signed()), Signal::SIGKILL).is_err() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(ExitStatus);

impl Status {
    /// Its exit code; `None` where a signal ended it.
    pub fn code(self) -> Option<i32> {
        self.0.code()
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&sys::process::ending(self.0))
    }
}

/// Keeps the last lines until the writer ends; what is too long is cut into several.
fn keep_last(errors: impl Read, said: &Mutex<VecDeque<String>>) {
    let mut errors = BufReader::new(errors);
    loop {
        let mut line = Vec::new();
        match errors.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = printable(text.trim(), Keep::Nothing);
        if text.is_empty() {
            continue;
        }
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() == LINES {
            said.pop_front();
        }
        said.push_back(text.into_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{LINES, keep_last};

    #[test]
    fn of_a_flood_the_last_lines_stay() {
        let said = Mutex::default();
        let text: String = (0..10_000).map(|number| format!("line {number}\x1b[2J\r\n\n")).collect();
        keep_last(text.as_bytes(), &said);
        let said = said.into_inner().unwrap();
        assert_eq!(said.len(), LINES);
        assert_eq!(said.back().map(String::as_str), Some("line 9999\\u{1b}[2J"));
    }
}
