//! Hosts that did not do what they were asked.

use std::time::Duration;

use engine::channel::ChannelError;
use model::Nanos;
use model::control::CONTROL_VERSION;

use crate::connection::ConnectError;
use crate::refusal::Refusal;

/// A host that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Its process could not be started.
    #[error("start host {name}: {answer}")]
    Start {
        /// Name of the host.
        name: String,
        /// Answer of the system.
        answer: std::io::Error,
    },
    /// Its agent cannot be reached or does not serve.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It cannot be heard or told any more.
    #[error("host {name}: {answer}; its process may have been ended (see the kernel's log for the OOM killer)")]
    Lost {
        /// Name of the host.
        name: String,
        /// The reason.
        answer: ChannelError,
    },
    /// Its agent cannot be heard or told any more.
    #[error("host {name}: {at} was lost, and with it the trial at hand: {why}; see whether it still runs, and the network")]
    AgentLost {
        /// Name of the host.
        name: String,
        /// What it is: `the agent at ADDRESS`, or `the host by ssh:HOST`.
        at: String,
        /// The symptom.
        why: String,
    },
    /// It speaks another version.
    #[error(
        "host {name} speaks version {theirs} of the control protocol, this is version {CONTROL_VERSION}: install the same nettoll on both"
    )]
    Version {
        /// Name of the host.
        name: String,
        /// Its version.
        theirs: u32,
    },
    /// It could not carry out a command.
    #[error("host {name}: {error}")]
    Refused {
        /// Name of the host.
        name: String,
        /// The attempt and the system's answer.
        error: String,
    },
    /// Neither end said anything in time.
    #[error("neither end of the trial said anything for {}, waiting for {awaited}; a stopped process, or a machine far too busy?", Nanos::from(*limit))]
    Silent {
        /// The expected message.
        awaited: &'static str,
        /// Time waited.
        limit: Duration,
    },
    /// The address behind `data=` leads nowhere.
    #[error(transparent)]
    Data(Refusal),
    /// Anything else that kept hosts from a trial, or a trial from its end.
    #[error(transparent)]
    Other(#[from] Refusal),
}

impl HostError {
    /// Returns whether the host itself is gone, not just a trial on it.
    pub const fn is_loss_of_host(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::AgentLost { .. } | Self::Start { .. } | Self::Version { .. })
    }

    /// Returns whether another attempt to reach hosts that were reached before may fare
    /// better.
    pub fn may_pass(&self) -> bool {
        match self {
            // The names had addresses, so it is the name server that fails.
            Self::Connect(ConnectError::Resolve { .. }) | Self::Data(_) => true,
            Self::Connect(error) => error.may_pass(),
            other => matches!(other, Self::Lost { .. } | Self::AgentLost { .. }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HostError;
    use crate::connection::{AttemptError, ConnectError};
    use crate::refusal::Refusal;

    #[test]
    fn what_was_reached_before_is_looked_for_through_a_failing_name_server() {
        let connect = |error: ConnectError| HostError::from(error).may_pass();
        let (name, answer) = ("b".to_owned(), "Temporary failure in name resolution".to_owned());
        assert!(connect(ConnectError::Resolve { name: name.clone(), address: "db1".to_owned(), answer }));
        // A refusal stays one.
        let tries = vec![("192.0.2.1:1".parse().unwrap(), AttemptError::NoSecret)];
        assert!(!connect(ConnectError::Failed { name, at: "192.0.2.1:1".to_owned(), tries }));
        assert!(!HostError::from(Refusal::new("hosts a and b are one agent", "", "")).may_pass());
    }
}
