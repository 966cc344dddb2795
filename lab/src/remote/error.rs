//! Hosts that did not do what they were asked.

use std::time::Duration;

use engine::channel::ChannelError;
use model::control::CONTROL_VERSION;

use crate::connection::ConnectError;
use crate::session::PathError;

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
    /// Its agent cannot be reached or does not serve.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The hosts are reached, but nothing leads from one to the other.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Two names lead to one agent, which has one turn to give.
    #[error(
        "hosts a and b are one agent, which carries out one end of one trial at a time: start it with --share-host, \
         run a second one there on another --port, or leave one of the names out, so that this machine is that host"
    )]
    OneAgent,
    /// It cannot be heard or told any more.
    #[error("host {name}: {answer}; its process may have been ended (see the kernel's log for the OOM killer)")]
    Lost {
        /// Which host.
        name: String,
        /// Why.
        answer: ChannelError,
    },
    /// Its agent cannot be heard or told any more.
    #[error("host {name}: the agent at {at} was lost, and with it the trial at hand: {why}; see whether it still runs, and the network")]
    AgentLost {
        /// Which host.
        name: String,
        /// Where its agent was.
        at: String,
        /// What was noticed.
        why: String,
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
    /// The link cannot be made here, and nothing can take its place.
    #[error("making the link '{link}': {refusals}")]
    NoLink {
        /// The link.
        link: String,
        /// What was tried, what the system answered, what to do.
        refusals: String,
    },
    /// Its endpoint failed or died.
    #[error("endpoint on host {name}: {error}")]
    Endpoint {
        /// Which host.
        name: String,
        /// What happened.
        error: String,
    },
    /// The control connections work and neither end says that it found the other.
    #[error(
        "{error}; both hosts answer on their control connections, so a firewall between {from} and {to} may drop what the trial sends: \
         let it pass, or give it a port that passes with --data-port"
    )]
    NotJoined {
        /// Where one end is bound.
        from: String,
        /// Where the other is.
        to: String,
        /// What the ends said.
        error: Box<Self>,
    },
    /// The system has no random numbers for the trial's cookie.
    #[error("drawing the trial's cookie (getrandom): {answer}; run nettoll where the system's random numbers can be read")]
    NoRandom {
        /// What the system answered.
        answer: getrandom::Error,
    },
    /// The controller's own clock cannot be read.
    #[error("reading the clock (clock_gettime CLOCK_MONOTONIC): {0}; does a sandbox forbid it?")]
    NoClock(nix::errno::Errno),
    /// Neither end said anything in time.
    #[error("neither end of the trial said anything for {limit:?}, waiting for {awaited}; a stopped process, or a machine far too busy?")]
    Silent {
        /// What should have come.
        awaited: &'static str,
        /// How long was waited.
        limit: Duration,
    },
    /// The trial took longer than any may.
    #[error("the trial was not over after {limit:?}, waiting for {awaited}; a path far slower than thought? Ask for less in one trial")]
    OverTime {
        /// What should have come.
        awaited: &'static str,
        /// How long a trial of this plan may take.
        limit: Duration,
    },
}

impl HostError {
    /// Whether the host itself is gone, not just a trial on it.
    pub const fn is_loss_of_host(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::AgentLost { .. } | Self::Start { .. } | Self::Version { .. })
    }

    /// Whether another attempt to reach hosts that were reached before may fare
    /// better.
    pub fn may_pass(&self) -> bool {
        match self {
            // The names had addresses, so it is the name server that fails.
            Self::Connect(ConnectError::Resolve { .. }) | Self::Path(PathError::Data { .. }) => true,
            Self::Connect(error) => error.may_pass(),
            other => matches!(other, Self::Lost { .. } | Self::AgentLost { .. }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HostError;
    use crate::connection::{AttemptError, ConnectError};

    #[test]
    fn what_was_reached_before_is_looked_for_through_a_failing_name_server() {
        let connect = |error: ConnectError| HostError::from(error).may_pass();
        let (name, answer) = ("b".to_owned(), "Temporary failure in name resolution".to_owned());
        assert!(connect(ConnectError::Resolve { name: name.clone(), address: "db1".to_owned(), answer }));
        // A refusal stays one.
        let tries = vec![("192.0.2.1:1".parse().unwrap(), AttemptError::NoSecret)];
        assert!(!connect(ConnectError::Failed { name, at: "192.0.2.1:1".to_owned(), tries }));
        assert!(!HostError::OneAgent.may_pass());
    }
}
