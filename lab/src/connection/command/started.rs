//! The command as a process of this machine.

use std::collections::VecDeque;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

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
        let (mut process, input, output) = process::piped(command.arg("__detach").args(words).stderr(Stdio::piped()))?;
        let kept = KeptCommand::new(&mut process)?;
        let mut started = Self { process, said: Arc::default(), _kept: kept };
        let said = Arc::clone(&started.said);
        process::read_errors(&mut started.process, LONGEST_LINE, move |line| keep_last(&said, line))?;
        let link = Link::over_pipes(process::never_blocking(output)?, process::never_blocking(input)?);
        Ok((started, link))
    }

    /// Returns the last lines that it wrote to standard error.
    pub(super) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Returns its status, if it ends soon, and waits for its last words.
    pub(super) fn status_soon(&mut self) -> Option<ExitStatus> {
        let status = process::wait_within(&mut self.process, STATUS_LIMIT)?;
        // What it wrote last may still be on its way to the thread that reads it.
        thread::sleep(STEP);
        Some(status)
    }

    /// Waits for its end, which the end of its input is to bring about, and kills what
    /// does not end.
    pub(super) fn end(&mut self) {
        if process::wait_within(&mut self.process, PATIENCE).is_some() {
            return;
        }
        // While it is not waited for, nothing else has its number. It leads no group before it has made its session.
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

/// Keeps the last lines.
fn keep_last(said: &Mutex<VecDeque<String>>, line: &str) {
    let text = printable(line.trim(), Keep::Nothing);
    if text.is_empty() {
        return;
    }
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() == LINES {
        said.pop_front();
    }
    said.push_back(text.into_owned());
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{LINES, LONGEST_LINE, keep_last};
    use crate::process::read_lines;

    #[test]
    fn of_a_flood_the_last_lines_stay() {
        let said = Mutex::default();
        let text: String = (0..10_000).map(|number| format!("line {number}\x1b[2J\r\n\n")).collect();
        read_lines(text.as_bytes(), LONGEST_LINE, |line| keep_last(&said, line));
        let said = said.into_inner().unwrap();
        assert_eq!(said.len(), LINES);
        assert_eq!(said.back().map(String::as_str), Some("line 9999\\u{1b}[2J"));
    }
}
