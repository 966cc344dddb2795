//! The talk with both hosts of a trial at once.

use std::time::{Duration, Instant};

use model::control::{FromEndpoint, FromHost, ToHost};
use model::{Nanos, Role};

use super::Trial;
use crate::error::TrialError;
use crate::event::Event;
use crate::refusal::Refusal;
use crate::remote::{self, EndpointMessage, HostError, RemoteHost, SLOW_ROUNDS};
use crate::session::turn;

/// Time that both ends may take for a step that needs no traffic; over a slow
/// path [`SLOW_ROUNDS`] round trips more.
pub const STEP_LIMIT: Duration = Duration::from_secs(30);

/// Time in which an end that does not answer any more may report its failure: a program is killed before, which may take
/// seconds.
const FAILURE_LIMIT: Duration = Duration::from_secs(3);

/// One value for each role.
#[derive(Debug, Clone, Copy, Default)]
pub struct Both<T> {
    pub sender: T,
    pub receiver: T,
}

impl<T> Both<T> {
    pub const fn of(&self, role: Role) -> &T {
        match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        }
    }

    pub const fn of_mut(&mut self, role: Role) -> &mut T {
        match role {
            Role::Sender => &mut self.sender,
            Role::Receiver => &mut self.receiver,
        }
    }
}

impl<T> Both<Option<T>> {
    /// Both values, once both are there.
    pub fn whole(&mut self) -> Option<Both<T>> {
        match (self.sender.take(), self.receiver.take()) {
            (Some(sender), Some(receiver)) => Some(Both { sender, receiver }),
            (sender, receiver) => {
                (self.sender, self.receiver) = (sender, receiver);
                None
            }
        }
    }
}

impl Trial<'_> {
    pub fn host(&mut self, role: Role) -> &mut RemoteHost {
        self.session.host(role, self.spec.swapped)
    }

    /// Returns how long a step may take that needs no traffic.
    pub fn step_limit(&mut self) -> Duration {
        let rtt = self.host(Role::Sender).rtt().max(self.host(Role::Receiver).rtt());
        STEP_LIMIT + rtt * SLOW_ROUNDS
    }

    pub fn tell(&mut self, command: impl Fn(Role) -> ToHost) -> Result<(), HostError> {
        // The receiver first: it has to be there when messages come.
        for role in [Role::Receiver, Role::Sender] {
            self.host(role).ask(&command(role))?;
        }
        Ok(())
    }

    /// Asks both hosts at once. Both answers are taken before either's failure
    /// is told, so that no answer is left for a later command.
    pub fn ask_both<T>(
        &mut self,
        command: impl Fn(Role) -> ToHost,
        read: impl Fn(FromHost) -> Result<T, FromHost>,
        expected: &str,
    ) -> Result<Both<T>, HostError> {
        self.tell(command)?;
        self.hear_answers(read, expected)
    }

    /// Takes both hosts' answers to their commands.
    pub fn hear_answers<T>(&mut self, read: impl Fn(FromHost) -> Result<T, FromHost>, expected: &str) -> Result<Both<T>, HostError> {
        let mut answer = |role| {
            let host = self.host(role);
            host.answer().and_then(|answer| read(answer).map_err(|other| host.unexpected(expected, &other)))
        };
        let (receiver, sender) = (answer(Role::Receiver), answer(Role::Sender));
        Ok(Both { sender: sender?, receiver: receiver? })
    }

    /// Hears both ends until each of them has said what `pick` picks out of it.
    pub fn hear_both<T>(
        &mut self,
        deadline: Instant,
        awaited: &'static str,
        pick: impl Fn(EndpointMessage) -> Result<T, EndpointMessage>,
    ) -> Result<Both<T>, TrialError> {
        let mut said = Both { sender: None, receiver: None };
        loop {
            let (role, heard) = self.hear(deadline, awaited)?;
            let picked = pick(heard).map_err(|other| self.out_of_turn(role, awaited, &other))?;
            *said.of_mut(role) = Some(picked);
            if let Some(both) = said.whole() {
                return Ok(both);
            }
        }
    }

    /// Returns the next message of either end. Progress is passed on and is none of them.
    pub fn hear(&mut self, deadline: Instant, awaited: &'static str) -> Result<(Role, EndpointMessage), TrialError> {
        loop {
            let now = Instant::now();
            let left = deadline.min(self.end).saturating_duration_since(now);
            if left.is_zero() && now >= self.end {
                return Err(self.over_time(awaited).into());
            }
            let swapped = self.spec.swapped;
            let (at, heard) = match remote::hear_either(self.session.hosts(), left, awaited) {
                // The whole trial's end came before the step's.
                Err(HostError::Silent { .. }) if self.end < deadline => {
                    return Err(self.over_time(awaited).into());
                }
                heard => heard?,
            };
            let role = if (at == 0) == swapped { Role::Receiver } else { Role::Sender };
            match heard {
                EndpointMessage::Said(FromEndpoint::Progress(progress)) => {
                    let flow = self.listener.hear(&Event::Progress { role, progress: &progress }).map_err(TrialError::Listener)?;
                    turn::heed(flow)?;
                }
                heard => return Ok((role, heard)),
            }
        }
    }

    /// The failure that an end reports, if one does soon.
    pub fn failure_of_end(&mut self) -> Option<TrialError> {
        const AWAITED: &str = "the reason of an end";
        let deadline = Instant::now() + FAILURE_LIMIT;
        loop {
            match self.hear(deadline, AWAITED) {
                Ok((role, gone @ EndpointMessage::Gone(_))) => return Some(self.out_of_turn(role, AWAITED, &gone).into()),
                // What it said before.
                Ok(_) => {}
                Err(TrialError::Host(HostError::Silent { .. })) => return None,
                Err(error) => return Some(error),
            }
        }
    }

    /// The error for a trial that takes longer than any may.
    fn over_time(&self, awaited: &str) -> HostError {
        let tried = format!("the trial was not over after {}, waiting for {awaited}", Nanos::from(self.limit));
        Refusal::new(tried, "", "the path may be slower than expected: ask for less in one trial").into()
    }

    pub fn out_of_turn(&mut self, role: Role, awaited: &str, heard: &EndpointMessage) -> HostError {
        let host = self.host(role);
        match heard {
            EndpointMessage::Gone(status) => {
                host.endpoint_error(format!("it ended while {awaited} was awaited ({status}); did something kill it?"))
            }
            EndpointMessage::Said(other) => host.unexpected(awaited, other),
        }
    }
}
