//! Begin and end of a host.

use std::collections::VecDeque;
use std::fs::File;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use engine::channel::Receiver;
use model::Family;
use model::control::{CONTROL_VERSION, FromHost, ToHost};
use model::plan::HostPlace;

use super::{Agent, COMMAND_LIMIT, Far, HostError, RemoteHost, scoped};
use crate::clock::ClockWatch;
use crate::connection::{self, Credentials};
use crate::process;
use crate::remote;

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
        Self::over(name, commands, answers, Far::Process(host), &[])
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
        // What a session with this machine asks for: its own address, the way back, its CPUs.
        let back = SocketAddr::new(local.ip(), 0);
        let ahead = [ToHost::Route { to: scoped(peer, 0) }, ToHost::Route { to: scoped(back, 0) }, ToHost::Cpus];
        let agent = Agent { id: agent, at: at.clone(), local, peer, addresses, cipher, ended, stream };
        Self::over(name, commands, answers, Far::Agent(Box::new(agent)), &ahead)
    }

    /// A host that a test plays over the other end of a stream.
    #[cfg(test)]
    pub(crate) fn played(name: &str, stream: std::os::unix::net::UnixStream, peer: SocketAddr, is_agent: bool) -> Result<Self, HostError> {
        let file = || File::from(OwnedFd::from(stream.try_clone().unwrap()));
        let (commands, answers) = (file(), file());
        let far = match is_agent {
            true => {
                let id = crate::greeting::AgentId { tool: String::new(), id: crate::hex::Hex([7; 16]) };
                let at = HostPlace::Agent(peer.to_string().parse().unwrap());
                let ended = connection::EndReason::default();
                Far::Agent(Box::new(Agent { id, at, local: peer, peer, addresses: Vec::new(), cipher: None, ended, stream }))
            }
            false => Far::Process(std::process::Command::new("true").spawn().unwrap()),
        };
        Self::over(name, commands, answers, far, &[])
    }

    /// Over two streams. All that is asked at first goes out at once, with what will be asked for after it.
    fn over(name: &str, commands: File, answers: File, far: Far, ahead: &[ToHost]) -> Result<Self, HostError> {
        let mut host = Self {
            name: name.to_owned(),
            far,
            commands: Some(commands),
            answers: Receiver::new(answers),
            overheard: VecDeque::new(),
            early: VecDeque::new(),
            ahead: VecDeque::new(),
            pid: 0,
            boot: String::new(),
            marks: 0,
            clock: ClockWatch::default(),
            spoken: false,
            rounds: 0,
            turn_given_up: false,
        };
        host.tell(&ToHost::Hello { version: CONTROL_VERSION })?;
        host.ask_clock(FIRST_SIGHTS)?;
        host.tell_ahead(ahead)?;
        host.greet()?;
        remote::hear_clocks(std::slice::from_mut(&mut host))?;
        Ok(host)
    }

    fn greet(&mut self) -> Result<(), HostError> {
        match self.answer()? {
            FromHost::Hello { version: CONTROL_VERSION, pid, boot } => {
                (self.pid, self.boot) = (pid, boot);
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
