//! A user's program as a process: started, heard line by line, ended.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use model::control::ToEndpoint;
use model::printable::{Keep, printable};
use model::program::COMPANION;
use model::{Nanos, Program as Words};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};
use nix::sys::prctl::set_child_subreaper;
use sys::process;

use super::lines::{self, Endless, Lines};
use super::tree::{self, Family};
use crate::channel::{Receiver, Woken};
use crate::deadline::Deadline;
use crate::error::{EndpointError, ProgramError};

/// What is kept of its standard error: its last words.
const LAST_WORDS: usize = 2_048;
/// Bytes that are taken from a pipe in one go.
const AT_ONCE: usize = 4_096;
/// Time that it may take to end once it was told to.
const END_LIMIT: Duration = Duration::from_millis(500);

/// A running program. Dropped, it is ended with all that it started.
#[derive(Debug)]
pub struct Program {
    command: Words,
    child: Child,
    /// Readable once it has ended.
    ended: OwnedFd,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    lines: Lines,
    error: Option<ChildStderr>,
    words: Vec<u8>,
    may_end: bool,
    status: Option<ExitStatus>,
}

/// Process group of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// That of its host.
    Host,
    /// One of its own, which is stopped and goes on.
    Own,
}

/// What ended a wait.
#[derive(Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// It said a line.
    Line(String),
    /// The host has said something.
    Host,
    /// The time has passed.
    Time,
}

impl Program {
    /// Starts it with an environment, on the CPUs of the calling thread; in a process group of its own, or in its host's, which
    /// is ended as one.
    ///
    /// # Errors
    /// A refusal of the system, with a remedy.
    pub fn start(command: Words, environment: &[(&'static str, String)], group: Group) -> Result<Self, EndpointError> {
        let mut words = command.words();
        let program = words.next().unwrap_or_default();
        let companion = command.shipped().is_some_and(|shipped| shipped.companion);
        let mut prepared = Command::new(if companion { find_companion() } else { program.into() });
        prepared.args(words).envs(environment.iter().map(|(name, value)| (name, value)));
        prepared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if group == Group::Own {
            prepared.process_group(0);
        }
        // What it starts and leaves behind is this process's to end.
        let _ = set_child_subreaper(true);
        // SAFETY: the function makes one system call and touches no memory.
        unsafe { prepared.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?)) };
        let failed = |tried: &str, answer: &io::Error| {
            let remedy = match answer.raw_os_error() {
                Some(libc::ENOENT) if companion => NO_COMPANION,
                Some(libc::ENOENT) => "; give a path from the directory of the study, or install the program in PATH",
                Some(libc::EACCES) => "; make it executable (chmod +x)",
                Some(libc::ENOEXEC) => "; a script needs a first line such as #!/bin/sh",
                _ => "",
            };
            ProgramError::new(command, format!("{tried}: {answer}{remedy}"))
        };
        let mut child = prepared.spawn().map_err(|answer| failed("start it", &answer))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ended = pidfd(&child).and_then(|ended| {
            for pipe in [pipes.1.as_ref().map(AsFd::as_fd), pipes.2.as_ref().map(AsFd::as_fd)].into_iter().flatten() {
                let flags = OFlag::from_bits_retain(fcntl(pipe, FcntlArg::F_GETFL)?);
                fcntl(pipe, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
            }
            Ok(ended)
        });
        let ended = ended.map_err(|answer| {
            let _ = child.kill();
            failed("watch it", &answer)
        })?;
        Ok(Self {
            command,
            child,
            ended,
            input: pipes.0,
            output: pipes.1,
            lines: Lines::default(),
            error: pipes.2,
            words: Vec::new(),
            may_end: false,
            status: None,
        })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its processes.
    pub fn family(&self) -> Family {
        tree::of_program(self.pid(), std::process::id())
    }

    /// Has its end be no fault from now on: a receiver that has seen the end of its stream has
    /// done its work.
    pub fn let_end(&mut self) {
        self.may_end = true;
    }

    /// Returns whether it has ended, once that is no fault.
    pub fn is_over(&self) -> bool {
        self.status.is_some()
    }

    /// Says a line to it. One that has closed its input shows in what it does not answer.
    pub fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.input
            && input.write_all(format!("{line}\n").as_bytes()).is_err()
        {
            self.input = None;
        }
    }

    /// Waits for its answer, which begins with `word`; returns what follows that.
    ///
    /// # Errors
    /// Another answer, none within `limit`, its end, the loss of the host.
    pub fn answer(
        &mut self,
        word: &str,
        limit: Duration,
        control: &mut Receiver<ToEndpoint>,
        deadline: &Deadline,
    ) -> Result<String, EndpointError> {
        let until = Instant::now() + limit;
        loop {
            // The host has nothing to say now but that it is gone.
            match self.hear(until, control, deadline, false)? {
                WaitEnd::Line(line) => match lines::after(&line, word) {
                    Some(rest) => return Ok(rest.to_owned()),
                    None => return Err(self.fault(format!("answered {} where `{word}` was due", quoted(&line))).into()),
                },
                WaitEnd::Time => return Err(self.fault(format!("did not say `{word}` within {}", Nanos::from(limit))).into()),
                WaitEnd::Host => {}
            }
        }
    }

    /// Waits for a line of the program, for `until`, or, where that is wanted, for the host's next message, which stays to be taken.
    ///
    /// # Errors
    /// Its end, a line that is too long, the loss of the host.
    pub fn hear(
        &mut self,
        until: Instant,
        control: &mut Receiver<ToEndpoint>,
        deadline: &Deadline,
        host: bool,
    ) -> Result<WaitEnd, EndpointError> {
        loop {
            match self.lines.take() {
                Ok(Some(line)) => return Ok(WaitEnd::Line(line)),
                Ok(None) => {}
                Err(Endless(begun)) => return Err(self.fault(format!("said {} and no end of the line", quoted(&begun))).into()),
            }
            let left = deadline.at_most(until.saturating_duration_since(Instant::now()));
            let readable = |pipe| PollFd::new(pipe, PollFlags::POLLIN);
            let ended = self.status.is_none().then(|| self.ended.as_fd());
            let watched: Vec<PollFd<'_>> = ended
                .into_iter()
                .map(readable)
                .chain(self.output.as_ref().map(|pipe| readable(pipe.as_fd())))
                .chain(self.error.as_ref().map(|pipe| readable(pipe.as_fd())))
                .collect();
            let woken = match host {
                true => control.wait_with(&watched, left)?,
                false => match control.wait_for_any(&watched, left)? {
                    ready if ready.is_empty() => Woken::Time,
                    ready => Woken::Others(ready),
                },
            };
            deadline.check()?;
            match woken {
                Woken::Message => return Ok(WaitEnd::Host),
                Woken::Time if Instant::now() >= until => return Ok(WaitEnd::Time),
                Woken::Time => {}
                Woken::Others(ready) => {
                    self.read();
                    if self.status.is_none() && ready.contains(&0) && !self.lines.is_waiting() {
                        self.note_end()?;
                    }
                }
            }
        }
    }

    /// Takes what has come from its output and its standard error.
    fn read(&mut self) {
        let mut bytes = [0; AT_ONCE];
        if let Some(pipe) = &mut self.output {
            match pipe.read(&mut bytes) {
                Ok(0) => self.output = None,
                Ok(length) => self.lines.push(&bytes[..length]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => self.output = None,
            }
        }
        if let Some(pipe) = &mut self.error {
            match pipe.read(&mut bytes) {
                Ok(0) => self.error = None,
                Ok(length) => self.words.extend_from_slice(&bytes[..length]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => self.error = None,
            }
            let beyond = self.words.len().saturating_sub(LAST_WORDS);
            self.words.drain(..beyond);
        }
    }

    /// A failure of the program, with its last words.
    pub fn fault(&mut self, did: impl Into<String>) -> ProgramError {
        self.read();
        ProgramError::new(self.command, did.into() + &self.last_words())
    }

    /// # Errors
    /// Its end, where it is not to end by itself or did so with a failure.
    fn note_end(&mut self) -> Result<(), ProgramError> {
        let status = match self.child.wait() {
            Ok(status) if self.may_end && status.success() => {
                self.status = Some(status);
                return Ok(());
            }
            Ok(status) => process::ending(status),
            Err(error) => error.to_string(),
        };
        Err(self.fault(format!("ended before `stop` ({status})")))
    }

    fn last_words(&self) -> String {
        let words = String::from_utf8_lossy(&self.words);
        match words.trim() {
            "" => String::new(),
            words => format!("; its last words: {}", quoted(words)),
        }
    }

    /// Tells it to stop, and ends it and all that it started; returns its faults, where ending by
    /// itself is expected.
    pub fn end(mut self, expected: bool) -> Vec<String> {
        let mut faults = Vec::new();
        self.say("stop");
        self.input = None;
        let over = || PollFd::new(self.ended.as_fd(), PollFlags::POLLIN);
        let millis = END_LIMIT.as_millis() as u16;
        if expected && !matches!(nix::poll::poll(&mut [over()], millis), Ok(1..)) {
            faults.push(format!("did not end within {} after `stop`, and was killed", Nanos::from(END_LIMIT)));
        }
        let left = tree::kill_all(self.child.id());
        if left > 0 && expected {
            let plural = if left == 1 { "a process of its own running, which was" } else { "processes of its own running, which were" };
            faults.push(format!("left {plural} killed ({left} in all)"));
        }
        faults
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        tree::kill_all(self.child.id());
        let _ = self.child.wait();
    }
}

/// What to do where the program of heavy implementations is not there.
const NO_COMPANION: &str = "; it is a program of its own, looked for next to nettoll, in ../libexec/nettoll and in PATH: build it with \
                            `cargo build --release --package nettoll-stacks --features runtimes`, or install it";

/// The program of heavy implementations: next to this one, below its `libexec`, or wherever PATH has it.
fn find_companion() -> PathBuf {
    let places = std::env::current_exe().ok().and_then(|own| {
        let directory = own.parent()?;
        Some([directory.join(COMPANION), directory.join("../libexec/nettoll").join(COMPANION)])
    });
    places.into_iter().flatten().find(|place| place.is_file()).unwrap_or_else(|| COMPANION.into())
}

/// A text of a program's, fit to be shown.
pub fn quoted(text: &str) -> String {
    /// Characters that are shown.
    const SHOWN: usize = 200;
    let short: String = text.chars().take(SHOWN).collect();
    let cut = if short.len() < text.len() { "..." } else { "" };
    format!("'{}{cut}'", printable(&short.replace('\n', "; "), Keep::Nothing))
}

/// A descriptor that is readable once a process has ended.
fn pidfd(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers alone.
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel opened it for this process, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}
