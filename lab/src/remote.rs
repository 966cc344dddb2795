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

use crate::greeting::AgentId;
use engine::channel::{self, ChannelError, Receiver};
use model::control::{FromEndpoint, FromHost, ToHost};
use model::plan::HostPlace;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clock::ClockWatch;
use crate::connection::EndReason;
use crate::refusal::Refusal;
use sys::clock::monotonic;

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
pub enum EndpointMessage {
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
    ended: EndReason,
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
    answers: Receiver<FromHost>,
    /// Messages of the endpoint that came while an answer of the host was awaited.
    overheard: VecDeque<FromHost>,
    /// Answers that came while its time was awaited.
    early: VecDeque<FromHost>,
    /// Commands that were sent ahead of their use, and whose answers are to come.
    ahead: VecDeque<ToHost>,
    pid: u32,
    boot: String,
    marks: u64,
    /// What is known of its clock.
    clock: ClockWatch,
    /// Something was said since an answer was waited for.
    spoken: bool,
    rounds: u32,
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
    pub fn rtt(&self) -> Duration {
        self.clock.rtt().into()
    }

    /// Asks for the host's time `times` times at once, unless answers are in flight; a process of this
    /// machine reads this process's clock and is not asked. [`hear_clocks`] takes the answers.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn ask_clock(&mut self, times: u32) -> Result<(), HostError> {
        for _ in 0..if self.agent().is_some() && !self.clock.is_awaited() { times } else { 0 } {
            self.clock.ask(monotonic());
            self.tell(&ToHost::Clock)?;
        }
        Ok(())
    }

    /// The host's clock against this process's.
    pub const fn clock(&self) -> &ClockWatch {
        &self.clock
    }

    /// The start of its machine (`boot_id`), by which hosts on one machine are known; empty where it is not known.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Round trips so far: how often an answer was waited for after something had been said.
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Takes what has come of the answers to [`Self::ask_clock`].
    fn take_clocks(&mut self) -> Result<(), HostError> {
        while self.clock.is_awaited() {
            match self.answers.receive_within(Duration::ZERO) {
                Ok(message) => self.keep(message)?,
                Err(ChannelError::Silent(_)) => return Ok(()),
                Err(answer) => return Err(self.lost(answer)),
            }
        }
        Ok(())
    }

    /// Keeps a message that came while another was awaited.
    fn keep(&mut self, message: FromHost) -> Result<(), HostError> {
        match message {
            FromHost::Clock { now } if self.clock.is_awaited() => self.clock.hear(now, monotonic()),
            message @ (FromHost::Endpoint(_) | FromHost::Gone { .. }) => self.overheard.push_back(message),
            answer => self.early.push_back(answer),
        }
        Ok(())
    }

    /// The next message but those of its time.
    fn next_within(&mut self, limit: Duration) -> Result<FromHost, ChannelError> {
        loop {
            let message = self.early.pop_front().map_or_else(|| self.answers.receive_within(limit), Ok)?;
            match message {
                FromHost::Clock { now } if self.clock.is_awaited() => self.clock.hear(now, monotonic()),
                message => return Ok(message),
            }
        }
    }

    /// Asks for the host until it is free. Meanwhile `waiting` is told the place
    /// in the queue, again and again, and may give up: then the answer is `None`.
    /// Otherwise it is whether trials of others may run next to this one. The commands `ahead`
    /// go out with the question, and once more where the host was not free: the next
    /// [`Self::ask`] of each finds it sent. With them go `sights` questions for its time.
    ///
    /// # Errors
    /// See [`HostError`]; and the error of `waiting`.
    pub fn turn<E: From<HostError>>(&mut self, waiting: &mut Queueing<E>, ahead: &[ToHost], sights: u32) -> Result<Option<bool>, E> {
        self.drop_ahead()?;
        // Those of the last turn have come by now, or are about to.
        hear_clocks(std::slice::from_mut(self))?;
        self.tell(&ToHost::Turn)?;
        self.tell_ahead(ahead)?;
        // The last answer comes after all of theirs.
        self.ask_clock(if ahead.is_empty() { 0 } else { sights.max(1) })?;
        let limit = self.command_limit();
        let (mut place, mut answers, mut shared) = (None, Vec::new(), None);
        loop {
            let settled = (place.is_none() && answers.is_empty()) || !self.clock.is_awaited();
            if let (Some(shared), true) = (shared, settled) {
                // What was refused goes out again; what was carried out is answered.
                if answers.iter().any(|answer| matches!(answer, FromHost::Failed { .. })) {
                    self.ahead.clear();
                    self.tell_ahead(ahead)?;
                } else {
                    self.early.extend(answers);
                }
                return Ok(Some(shared));
            }
            let patience = if place.is_some() { WAITING_STEP } else { limit };
            self.count_round();
            match self.next_within(patience) {
                Ok(FromHost::Yours { shared: with_others }) => shared = Some(with_others),
                Ok(FromHost::Waiting { place: now }) => place = Some(now),
                Ok(message @ (FromHost::Endpoint(_) | FromHost::Gone { .. })) => self.overheard.push_back(message),
                Ok(answer) if self.clock.is_awaited() => answers.push(answer),
                Ok(FromHost::Failed { error }) => return Err(self.refused(error).into()),
                Ok(other) => return Err(self.unexpected("its turn", &other).into()),
                Err(ChannelError::Silent(_)) if place.is_some() => {}
                Err(answer) => return Err(self.lost(answer).into()),
            }
            if let Some(place) = place
                && waiting(&self.name, place)?.is_break()
            {
                self.turn_given_up = true;
                // What was refused with the question is not waited for later.
                hear_clocks(std::slice::from_mut(self))?;
                self.early.clear();
                self.ahead.clear();
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
        COMMAND_LIMIT + self.rtt() * SLOW_ROUNDS
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
        self.ask(command)?;
        self.answer()
    }

    /// Sends a command without waiting, unless it was sent ahead. [`Self::answer`] takes the answer, if it has one.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn ask(&mut self, command: &ToHost) -> Result<(), HostError> {
        if self.ahead.front() == Some(command) {
            self.ahead.pop_front();
            return Ok(());
        }
        self.drop_ahead()?;
        self.tell(command)
    }

    /// Sends commands that will be asked for in this order, so that their answers are in flight.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn tell_ahead(&mut self, commands: &[ToHost]) -> Result<(), HostError> {
        for command in commands {
            if !self.ahead.contains(command) {
                self.tell(command)?;
                self.ahead.push_back(command.clone());
            }
        }
        Ok(())
    }

    /// Takes the answers to commands that were sent ahead and are not wanted any more.
    fn drop_ahead(&mut self) -> Result<(), HostError> {
        while self.ahead.pop_front().is_some() {
            match self.answer() {
                Ok(_) | Err(HostError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends a command without waiting, so that two hosts can work at once.
    ///
    /// # Errors
    /// See [`HostError`].
    pub fn tell(&mut self, command: &ToHost) -> Result<(), HostError> {
        self.spoken = true;
        let told = self.commands.as_mut().map_or(Err(ChannelError::Closed), |commands| channel::send(commands, command));
        told.map_err(|answer| self.lost(answer))
    }

    /// The answer to the last command.
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
        self.early.clear();
        self.ahead.clear();
        self.clock.forget_questions();
        Ok(())
    }

    /// Returns what has come from the endpoint, if anything; does not wait.
    fn heard(&mut self) -> Result<Option<EndpointMessage>, HostError> {
        let message = match self.overheard.pop_front() {
            Some(message) => message,
            None => match self.next_within(Duration::ZERO) {
                Ok(message) => message,
                Err(ChannelError::Silent(_)) => return Ok(None),
                Err(answer) => return Err(self.lost(answer)),
            },
        };
        match message {
            FromHost::Endpoint(FromEndpoint::Failed { error }) | FromHost::Failed { error } => Err(self.endpoint_error(error)),
            FromHost::Endpoint(message) => Ok(Some(EndpointMessage::Said(message))),
            FromHost::Gone { status } => Ok(Some(EndpointMessage::Gone(status))),
            other => Err(self.unexpected("a message of the endpoint", &other)),
        }
    }

    /// Returns how the endpoint died, where that is heard soon; `None` where it lives, has failed by itself
    /// or has ended as it should.
    fn death(&mut self) -> Option<String> {
        let deadline = Instant::now() + DEATH_LIMIT + self.rtt();
        while Instant::now() < deadline {
            match self.heard() {
                Ok(Some(EndpointMessage::Gone(status))) => return Some(status).filter(|status| status != SUCCESS),
                Ok(Some(EndpointMessage::Said(_))) => {}
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

    /// Counts a round trip where this is the first wait since something was said.
    fn count_round(&mut self) {
        self.rounds += u32::from(std::mem::take(&mut self.spoken));
    }

    fn receive(&mut self, deadline: Instant) -> Result<FromHost, HostError> {
        self.count_round();
        let left = deadline.saturating_duration_since(Instant::now());
        self.next_within(left).map_err(|answer| self.lost(answer))
    }

    /// The error for a message out of turn.
    pub fn unexpected(&self, expected: &str, got: &impl Debug) -> HostError {
        self.refused(format!("expected {expected}, got {}; are both ends of one version?", crate::connection::link::kind(got)))
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
pub fn hear_either(hosts: &mut [RemoteHost; 2], limit: Duration, awaited: &'static str) -> Result<(usize, EndpointMessage), HostError> {
    let deadline = Instant::now() + limit;
    loop {
        for at in [0, 1] {
            match hosts[at].heard() {
                Ok(Some(heard)) => return Ok((at, heard)),
                Ok(None) => {}
                // When an endpoint is killed the other one loses its connection, and may be heard first.
                Err(failed) => return hosts[1 - at].death().map(|status| (1 - at, EndpointMessage::Gone(status))).ok_or(failed),
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // Rounded up, so that the last millisecond is not spun away.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        hosts.iter_mut().for_each(RemoteHost::count_round);
        let [a, b] = &*hosts;
        let mut both = [a, b].map(|host| PollFd::new(host.answers.as_fd(), PollFlags::POLLIN));
        match poll(&mut both, timeout) {
            Ok(0) if left.is_zero() => return Err(HostError::Silent { awaited, limit }),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(a.endpoint_error(format!("waiting for the endpoints (poll): {errno}"))),
        }
    }
}

/// Takes the answers of all hosts to [`RemoteHost::ask_clock`], each when it comes.
///
/// # Errors
/// See [`HostError`].
pub fn hear_clocks(hosts: &mut [RemoteHost]) -> Result<(), HostError> {
    let limit = hosts.iter().map(RemoteHost::command_limit).max().unwrap_or_default();
    let deadline = Instant::now() + limit;
    loop {
        hosts.iter_mut().try_for_each(RemoteHost::take_clocks)?;
        let mut awaited: Vec<&mut RemoteHost> = hosts.iter_mut().filter(|host| host.clock.is_awaited()).collect();
        let left = deadline.saturating_duration_since(Instant::now());
        match awaited.first() {
            None => return Ok(()),
            Some(host) if left.is_zero() => return Err(host.lost(ChannelError::Silent(limit))),
            Some(_) => {}
        }
        awaited.iter_mut().for_each(|host| host.count_round());
        let mut fds: Vec<PollFd<'_>> = awaited.iter().map(|host| PollFd::new(host.answers.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(awaited[0].refused(format!("waiting for its time (poll): {errno}"))),
        }
    }
}

/// Returns whether an address means something on its link only.
pub(crate) fn is_link_local(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local())
}

/// An address with another scope, where it needs one.
pub(crate) fn scoped(mut address: SocketAddr, scope: u32) -> SocketAddr {
    let needs_one = is_link_local(address);
    if let SocketAddr::V6(v6) = &mut address {
        v6.set_scope_id(if needs_one { scope } else { 0 });
    }
    address
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
