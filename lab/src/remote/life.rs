//! Begin and end of a host.

use std::collections::VecDeque;
use std::fs::File;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::time::Duration;

use engine::channel::Receiver;
use model::Family;
use model::control::{CONTROL_VERSION, FromHost, ToHost};
use model::plan::HostPlace;

use super::{Agent, COMMAND_LIMIT, Far, HostError, RemoteHost};
use crate::connection::{self, Credentials};
use crate::process;

/// Time that the process of a host may take to end by itself.
const END_LIMIT: Duration = Duration::from_millis(100);
/// Questions to a new host for its time, to know its distance.
const FIRST_SIGHTS: u32 = 10;

impl RemoteHost {
    /// Starts a host of this machine; `isolation` is the argument of
    /// `nettoll __host`.
    ///
    /// # Errors
    /// See [`HostError`]; a refused namespace is [`HostError::Refused`].
    pub fn start(name: &str, isolation: &str) -> Result<Self, HostError> {
        let failed = |answer| HostError::Start { name: name.to_owned(), answer };
        let (host, commands, answers) = process::start(&["__host", name, isolation]).map_err(failed)?;
        Self::over(name, commands, answers, Far::Process(host))
    }

    /// Reaches the agent of another machine, or starts a host by a command; an agent's name
    /// that has addresses of `family` is looked for at those alone.
    ///
    /// # Errors
    /// See [`HostError`] and [`connection::ConnectError`].
    pub fn reach(name: &str, at: &HostPlace, family: Option<Family>, credentials: &Credentials) -> Result<Self, HostError> {
        let connected = match at {
            HostPlace::Agent(at) => connection::connect_over(name, at, family, credentials)?,
            HostPlace::Command(host) => connection::start(name, host, credentials)?,
        };
        let connection::Connected { stream, local, peer, addresses, agent, cipher, ended } = connected;
        let failed = |answer| HostError::Start { name: name.to_owned(), answer };
        // An agent that takes nothing must not hold the controller for ever.
        stream.set_write_timeout(Some(COMMAND_LIMIT)).map_err(failed)?;
        let answers = File::from(OwnedFd::from(stream.try_clone().map_err(failed)?));
        let commands = File::from(OwnedFd::from(stream.try_clone().map_err(failed)?));
        let agent = Agent { id: agent, at: at.clone(), local, peer, addresses, cipher, ended, stream };
        let mut host = Self::over(name, commands, answers, Far::Agent(Box::new(agent)))?;
        host.sight(FIRST_SIGHTS)?;
        Ok(host)
    }

    fn over(name: &str, commands: File, answers: File, far: Far) -> Result<Self, HostError> {
        let mut host = Self {
            name: name.to_owned(),
            far,
            commands: Some(commands),
            answers: Receiver::new(answers),
            overheard: VecDeque::new(),
            pid: 0,
            marks: 0,
            rtt: Duration::ZERO,
            turn_given_up: false,
        };
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

    /// Ends the control connection, and with it what the host does.
    pub fn hang_up(&mut self) {
        self.commands = None;
        if let Far::Agent(agent) = &self.far {
            // One that is gone already needs no end.
            let _ = agent.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        // The end of its input is what a host goes by; the kill is for one that hangs.
        self.commands = None;
        if let Far::Process(host) = &mut self.far {
            process::end(host, END_LIMIT);
        }
    }
}
