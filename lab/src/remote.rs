//! The controller's side of one host, and the talk with it: over the pipes of a
//! process of this machine, or over the connection to an agent of another.

mod error;
mod life;

use std::collections::VecDeque;
use std::fmt::Debug;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use engine::channel::{self, ChannelError, Receiver};
use model::control::{FromEndpoint, FromHost, ToHost};
use model::greeting::AgentId;
use model::plan::HostPlace;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clock::{self, Sight};
use crate::connection::Ended;
use crate::refusal::Refusal;

pub use error::HostError;

/// Time that a host may take to carry out a command that needs no traffic, or, where it says
/// that it gets on, to say so again.
const COMMAND_LIMIT: Duration = Duration::from_secs(20);
/// And as long as it says so, for one command.
const WORK_LIMIT: Duration = Duration::from_secs(600);
/// And how many round trips more over a slow path: a lossy one repeats. As many
/// are granted to a step of a trial.
pub const SLOW_ROUNDS: u32 = 16;
/// Longest wait, beyond a round trip, for the news that the other endpoint died: that may be why this one
/// failed.
const DEATH_LIMIT: Duration = Duration::from_millis(50);
/// How [`std::process::ExitStatus`] words success.
const SUCCESS: &str = "exit status: 0";
/// Interval at which whoever waits for a host is heard.
const WAITING_STEP: Duration = Duration::from_millis(250);

/// How long a command is waited for.
struct Patience {
    until: Instant,
    last: Instant,
    limit: Duration,
}

impl Patience {
    /// Of a command that was told at `now`, to a host that may be silent for `limit`.
    fn from(now: Instant, limit: Duration) -> Self {
        Self { until: now + limit, last: now + WORK_LIMIT.max(limit), limit }
    }

    /// The host says at `now` that it gets on.
    fn renew(&mut self, now: Instant) {
        self.until = (now + self.limit).min(self.last);
    }
}

/// Message from a host about the endpoint on it.
#[derive(Debug)]
pub enum Heard {
    /// It says something.
    Said(FromEndpoint),
    /// Its process has ended, in words.
    Gone(String),
}

/// An agent, or a host behind a command, as the controller reached it.
#[derive(Debug)]
pub struct Agent {
    /// Its identity: the same for two connections to one process.
    pub id: AgentId,
    /// Place at which it was looked for.
    pub at: HostPlace,
    /// The controller's end of the control connection, with its scope.
    pub local: SocketAddr,
    /// The agent's end, with the controller's scope.
    pub peer: SocketAddr,
    /// Addresses that a host behind a command says it has; none of an agent.
    pub addresses: Vec<IpAddr>,
    /// Cipher of the control connection, if any.
    pub cipher: Option<String>,
    ended: Ended,
    stream: UnixStream,
}

/// The far end of the control connection.
#[derive(Debug)]
enum Far {
    /// A process of this machine, which ends with the controller.
    Process(Child),
    /// An agent, or a host behind a command.
    Agent(Box<Agent>),
}

/// Listener to whoever waits for a host: told the host's name and the place in
/// its queue, it may give up.
pub type Queueing<'a, E> = dyn FnMut(&str, u32) -> Result<ControlFlow<()>, E> + 'a;

/// A host as the controller sees it. Dropped, it ends its process, and with
/// that its namespace and everything in it; an agent is free for others then.
#[derive(Debug)]
pub struct RemoteHost {
    name: String,
    far: Far,
    commands: Option<File>,
    answers: Receiver<FromHost, File>,
    /// Messages of the endpoint that came while an answer of the host was awaited.
    overheard: VecDeque<FromHost>,
    pid: u32,
    marks: u64,
    /// Least round-trip time of the control connection so far; 0 of a process.
    rtt: Duration,
    /// A turn was asked for and is not waited for any more.
    turn_given_up: bool,
}

impl RemoteHost {
    /// The agent, if it is one.
    pub const fn agent(&self) -> Option<&Agent> {
        match &self.far {
            Far::Process(_) => None,
            Far::Agent(agent) => Some(agent),
        }
    }

    /// Least round-trip time of the control connection so far; 0 of a host that
    /// is a process of this machine.
    pub const fn rtt(&self) -> Duration {
        self.rtt
    }

    /// The host's clock against this process's: of a process of this machine
    /// it is the same, an agent is asked `times` times.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn sight(&mut self, times: u32) -> Result<Sight, HostError> {
        let mut best: Option<Sight> = None;
        for _ in 0..if self.agent().is_some() { times } else { 0 } {
            let asked = clock::monotonic()?;
            let answer = match self.command(&ToHost::Clock)? {
                FromHost::Clock { now } => now,
                other => return Err(self.unexpected("its time", &other)),
            };
            let sight = Sight::from_answer(asked, answer, clock::monotonic()?);
            if best.is_none_or(|best| sight.rtt < best.rtt) {
                best = Some(sight);
            }
        }
        let sight = best.unwrap_or_default();
        let rtt = Duration::from(sight.rtt);
        self.rtt = if self.rtt.is_zero() { rtt } else { self.rtt.min(rtt) };
        Ok(sight)
    }

    /// Asks for the host until it is free. Meanwhile `waiting` is told the place
    /// in the queue, again and again, and may give up: then the answer is `None`.
    /// Otherwise it is whether trials of others may run next to this one.
    ///
    /// # Errors
    /// See [`HostError`]; and the error of `waiting`.
    pub fn turn<E: From<HostError>>(&mut self, waiting: &mut Queueing<E>) -> Result<Option<bool>, E> {
        self.tell(&ToHost::Turn)?;
        let limit = self.command_limit();
        let mut place = None;
        loop {
            let patience = if place.is_some() { WAITING_STEP } else { limit };
            match self.answers.receive_within(patience) {
                Ok(FromHost::Yours { shared }) => return Ok(Some(shared)),
                Ok(FromHost::Waiting { place: now }) => place = Some(now),
                Ok(FromHost::Failed { error }) => return Err(self.refused(error).into()),
                Ok(other) => return Err(self.unexpected("its turn", &other).into()),
                Err(ChannelError::Silent(_)) if place.is_some() => {}
                Err(answer) => return Err(self.lost(answer).into()),
            }
            if let Some(place) = place
                && waiting(&self.name, place)?.is_break()
            {
                self.turn_given_up = true;
                self.release();
                return Ok(None);
            }
        }
    }

    /// The trial is over: others may have the host. One that is lost is free.
    pub fn release(&mut self) {
        let _ = self.tell(&ToHost::Release);
    }

    fn lost(&self, answer: ChannelError) -> HostError {
        let name = self.name.clone();
        match &self.far {
            Far::Process(_) => HostError::Lost { name, answer },
            Far::Agent(agent) => {
                let why = agent.ended.reason().map_or_else(|| answer.to_string(), str::to_owned);
                let at = match &agent.at {
                    HostPlace::Agent(at) => format!("the agent at {at}"),
                    HostPlace::Command(host) => format!("the host by {}", host.transport),
                };
                HostError::AgentLost { name, at, why }
            }
        }
    }

    /// Returns how long it may take to carry out a command that needs no traffic.
    fn command_limit(&self) -> Duration {
        COMMAND_LIMIT + self.rtt * SLOW_ROUNDS
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
        let told = self.commands.as_mut().map_or(Err(ChannelError::Closed), |commands| channel::send(commands, command));
        told.map_err(|answer| self.lost(answer))
    }

    /// The answer to the command that was told last.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn answer(&mut self) -> Result<FromHost, HostError> {
        let mut patience = Patience::from(Instant::now(), self.command_limit());
        loop {
            match self.receive(patience.until)? {
                FromHost::Working => patience.renew(Instant::now()),
                message @ (FromHost::Endpoint(_) | FromHost::Gone { .. }) => self.overheard.push_back(message),
                // Of a turn that is not wanted any more.
                FromHost::Waiting { .. } | FromHost::Yours { .. } if self.turn_given_up => {}
                FromHost::Failed { error } => return Err(self.refused(error)),
                answer => return Ok(answer),
            }
        }
    }

    /// Has the endpoint ended, if there is one; [`Self::stopped`] waits for it.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stop_endpoint(&mut self) -> Result<(), HostError> {
        self.marks += 1;
        self.tell(&ToHost::Stop { mark: self.marks })
    }

    /// Waits for the end of the endpoint, and forgets what it said and what the
    /// host answered to commands before [`Self::stop_endpoint`].
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn stopped(&mut self) -> Result<(), HostError> {
        let mut patience = Patience::from(Instant::now(), self.command_limit());
        loop {
            match self.receive(patience.until)? {
                FromHost::Stopped { mark } if mark == self.marks => break,
                FromHost::Working => patience.renew(Instant::now()),
                _ => {}
            }
        }
        self.overheard.clear();
        Ok(())
    }

    /// Returns what has come from the endpoint, if anything; does not wait.
    fn heard(&mut self) -> Result<Option<Heard>, HostError> {
        let message = match self.overheard.pop_front() {
            Some(message) => message,
            None => match self.answers.receive_within(Duration::ZERO) {
                Ok(message) => message,
                Err(ChannelError::Silent(_)) => return Ok(None),
                Err(answer) => return Err(self.lost(answer)),
            },
        };
        match message {
            FromHost::Endpoint(FromEndpoint::Failed { error }) | FromHost::Failed { error } => Err(self.endpoint_error(error)),
            FromHost::Endpoint(message) => Ok(Some(Heard::Said(message))),
            FromHost::Gone { status } => Ok(Some(Heard::Gone(status))),
            other => Err(self.unexpected("a message of the endpoint", &other)),
        }
    }

    /// Returns how the endpoint died, where that is heard soon; `None` where it lives, has failed by itself
    /// or has ended as it should.
    fn death(&mut self) -> Option<String> {
        let deadline = Instant::now() + DEATH_LIMIT + self.rtt;
        while Instant::now() < deadline {
            match self.heard() {
                Ok(Some(Heard::Gone(status))) => return Some(status).filter(|status| status != SUCCESS),
                Ok(Some(Heard::Said(_))) => {}
                Ok(None) => std::thread::sleep(DEATH_LIMIT / 10),
                Err(_) => return None,
            }
        }
        None
    }

    /// The error of a trial that failed on this host.
    pub fn endpoint_error(&self, error: String) -> HostError {
        Refusal::new(format!("endpoint on host {}", self.name), error, "").into()
    }

    fn receive(&mut self, deadline: Instant) -> Result<FromHost, HostError> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.answers.receive_within(left).map_err(|answer| self.lost(answer))
    }

    /// The error for a message out of turn.
    pub fn unexpected(&self, expected: &str, got: &impl Debug) -> HostError {
        let got: String = format!("{got:?}").chars().take(120).collect();
        self.refused(format!("expected {expected}, got {got}"))
    }

    /// The error for a command that could not be carried out.
    pub fn refused(&self, error: String) -> HostError {
        HostError::Refused { name: self.name.clone(), error }
    }
}

/// Returns what comes next from either host's endpoint, and from which; waits for both,
/// so that the loss of either is known at once.
///
/// # Errors
/// The failure of either, or that nothing came within `limit`. Where the other endpoint died,
/// its death is returned in place of the failure.
pub fn hear_either(hosts: &mut [RemoteHost; 2], limit: Duration, awaited: &'static str) -> Result<(usize, Heard), HostError> {
    let deadline = Instant::now() + limit;
    loop {
        for at in [0, 1] {
            match hosts[at].heard() {
                Ok(Some(heard)) => return Ok((at, heard)),
                Ok(None) => {}
                // When an endpoint is killed the other one loses its connection, and may be heard first.
                Err(failed) => return hosts[1 - at].death().map(|status| (1 - at, Heard::Gone(status))).ok_or(failed),
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

#[cfg(test)]
mod tests {
    use super::{COMMAND_LIMIT, Patience, WORK_LIMIT};
    use std::time::{Duration, Instant};

    #[test]
    fn a_host_that_gets_on_is_waited_for_and_not_for_ever() {
        let begun = Instant::now();
        let mut patience = Patience::from(begun, COMMAND_LIMIT);
        assert_eq!(patience.until, begun + COMMAND_LIMIT);
        let later = begun + COMMAND_LIMIT - Duration::from_millis(1);
        patience.renew(later);
        assert_eq!(patience.until, later + COMMAND_LIMIT);
        patience.renew(begun + WORK_LIMIT);
        assert_eq!(patience.until, begun + WORK_LIMIT);
    }
}
