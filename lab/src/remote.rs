//! The controller's side of one host: its process, and the talk with it.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use engine::channel::{self, ChannelError, Receiver};
use model::control::{CONTROL_VERSION, FromEndpoint, FromHost, ToEndpoint, ToHost};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long a host may take to carry out a command that needs no traffic.
const COMMAND_LIMIT: Duration = Duration::from_secs(20);

/// A host that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Its process could not be started.
    #[error("start host {name}: {answer}")]
    Start {
        /// Which host.
        name: String,
        /// What the system answered.
        answer: std::io::Error,
    },
    /// It cannot be heard or told any more.
    #[error("host {name}: {answer}; its process may have been ended (see the kernel's log for the OOM killer)")]
    Lost {
        /// Which host.
        name: String,
        /// Why.
        answer: ChannelError,
    },
    /// It speaks another version.
    #[error(
        "host {name} speaks version {theirs} of the control protocol, this is version {CONTROL_VERSION}: install the same nettoll on both"
    )]
    Version {
        /// Which host.
        name: String,
        /// Its version.
        theirs: u32,
    },
    /// It could not carry out a command.
    #[error("host {name}: {error}")]
    Refused {
        /// Which host.
        name: String,
        /// What was tried and what the system answered.
        error: String,
    },
    /// Its endpoint failed or died.
    #[error("endpoint on host {name}: {error}")]
    Endpoint {
        /// Which host.
        name: String,
        /// What happened.
        error: String,
    },
    /// Neither end said anything in time.
    #[error("neither end of the trial said anything for {limit:?}, waiting for {awaited}; a stopped process, or a machine far too busy?")]
    Silent {
        /// What should have come.
        awaited: &'static str,
        /// How long was waited.
        limit: Duration,
    },
}

/// What comes from a host of the endpoint on it.
#[derive(Debug)]
pub enum Heard {
    /// It says something.
    Said(FromEndpoint),
    /// Its process has ended, in words.
    Gone(String),
}

impl HostError {
    /// Whether the host itself is gone, not just a trial on it.
    pub const fn is_loss_of_host(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Start { .. } | Self::Version { .. })
    }
}

/// A host as the controller sees it. Dropped, it ends its process, and with
/// that its namespace and everything in it.
#[derive(Debug)]
pub struct RemoteHost {
    name: String,
    process: Child,
    commands: Option<ChildStdin>,
    answers: Receiver<FromHost, ChildStdout>,
    /// What the endpoint said while an answer of the host was awaited.
    overheard: VecDeque<FromHost>,
    pid: u32,
    marks: u64,
}

impl RemoteHost {
    /// Starts a host of this machine; `isolation` is the argument of
    /// `nettoll __host`.
    ///
    /// # Errors
    /// See [`HostError`]; a refused namespace is [`HostError::Refused`].
    pub fn start(name: &str, isolation: &str) -> Result<Self, HostError> {
        let failed = |answer| HostError::Start { name: name.to_owned(), answer };
        // Not by its path, which an upgrade may have given to another version.
        let mut process = Command::new("/proc/self/exe")
            .args(["__host", name, isolation])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of the terminal's reach: Ctrl-C is the controller's to answer.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (commands, answers) = pipes.ok_or_else(|| failed(std::io::Error::other("no pipes")))?;
        let pid = process.id();
        let answers = Receiver::new(answers);
        let mut host =
            Self { name: name.to_owned(), process, commands: Some(commands), answers, overheard: VecDeque::new(), pid, marks: 0 };
        host.greet()?;
        Ok(host)
    }

    fn greet(&mut self) -> Result<(), HostError> {
        match self.command(&ToHost::Hello { version: CONTROL_VERSION })? {
            FromHost::Hello { version: CONTROL_VERSION, pid } => {
                self.pid = pid;
                Ok(())
            }
            FromHost::Hello { version, .. } => Err(HostError::Version { name: self.name.clone(), theirs: version }),
            other => Err(self.unexpected("hello", &other)),
        }
    }

    /// The host's name in the run.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process that holds its namespace.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Has a command carried out and returns the answer.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn command(&mut self, command: &ToHost) -> Result<FromHost, HostError> {
        self.tell(command)?;
        self.answer()
    }

    /// Sends a command without waiting, so that two hosts can work at once.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn tell(&mut self, command: &ToHost) -> Result<(), HostError> {
        let name = &self.name;
        let lost = |answer| HostError::Lost { name: name.clone(), answer };
        let commands = self.commands.as_mut().ok_or_else(|| lost(ChannelError::Closed))?;
        channel::send(commands, command).map_err(lost)
    }

    /// The answer to the command that was told last.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn answer(&mut self) -> Result<FromHost, HostError> {
        let deadline = Instant::now() + COMMAND_LIMIT;
        loop {
            match self.receive(deadline)? {
                message @ (FromHost::Endpoint(_) | FromHost::Gone { .. }) => self.overheard.push_back(message),
                FromHost::Failed { error } => return Err(HostError::Refused { name: self.name.clone(), error }),
                answer => return Ok(answer),
            }
        }
    }

    /// Sends a message to the endpoint.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn tell_endpoint(&mut self, message: ToEndpoint) -> Result<(), HostError> {
        self.tell(&ToHost::Endpoint(message))
    }

    /// Ends the endpoint, if there is one, and forgets what it said and what
    /// the host answered to commands before this one.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stop_endpoint(&mut self) -> Result<(), HostError> {
        self.marks += 1;
        self.tell(&ToHost::Stop { mark: self.marks })?;
        let deadline = Instant::now() + COMMAND_LIMIT;
        while !matches!(self.receive(deadline)?, FromHost::Stopped { mark } if mark == self.marks) {}
        self.overheard.clear();
        Ok(())
    }

    /// What has come from the endpoint, if anything; does not wait.
    fn heard(&mut self) -> Result<Option<Heard>, HostError> {
        let message = match self.overheard.pop_front() {
            Some(message) => message,
            None => match self.answers.receive_within(Duration::ZERO) {
                Ok(message) => message,
                Err(ChannelError::Silent(_)) => return Ok(None),
                Err(answer) => return Err(HostError::Lost { name: self.name.clone(), answer }),
            },
        };
        match message {
            FromHost::Endpoint(FromEndpoint::Failed { error }) | FromHost::Failed { error } => Err(self.endpoint_error(error)),
            FromHost::Endpoint(message) => Ok(Some(Heard::Said(message))),
            FromHost::Gone { status } => Ok(Some(Heard::Gone(status))),
            other => Err(self.unexpected("a message of the endpoint", &other)),
        }
    }

    /// The error of a trial that failed on this host.
    pub fn endpoint_error(&self, error: String) -> HostError {
        HostError::Endpoint { name: self.name.clone(), error }
    }

    fn receive(&mut self, deadline: Instant) -> Result<FromHost, HostError> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.answers.receive_within(left).map_err(|answer| HostError::Lost { name: self.name.clone(), answer })
    }

    /// The error for a message out of turn.
    pub fn unexpected(&self, expected: &str, got: &impl Debug) -> HostError {
        let got: String = format!("{got:?}").chars().take(120).collect();
        HostError::Refused { name: self.name.clone(), error: format!("expected {expected}, got {got}") }
    }
}

/// What comes next from either host's endpoint, and from which; waits for both,
/// so that the loss of either is known at once.
///
/// # Errors
/// The failure of either, or that nothing came within `limit`.
pub fn hear_either(hosts: &mut [RemoteHost; 2], limit: Duration, awaited: &'static str) -> Result<(usize, Heard), HostError> {
    let deadline = Instant::now() + limit;
    loop {
        for (at, host) in hosts.iter_mut().enumerate() {
            if let Some(heard) = host.heard()? {
                return Ok((at, heard));
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // Rounded up, so that the last millisecond is not spun away.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        let [a, b] = &*hosts;
        let mut both = [a, b].map(|host| PollFd::new(host.answers.as_fd(), PollFlags::POLLIN));
        match poll(&mut both, timeout) {
            Ok(0) if left.is_zero() => return Err(HostError::Silent { awaited, limit }),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(a.endpoint_error(format!("waiting for the endpoints (poll): {errno}"))),
        }
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        // The end of its input is what a host goes by; the kill is for one that hangs.
        self.commands = None;
        for _ in 0..50 {
            if matches!(self.process.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
