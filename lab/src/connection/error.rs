//! Reasons why a host could not be reached.

use std::net::SocketAddr;

use super::attempt::AttemptError;
use super::command::CommandError;

/// A connection to an agent that did not come about.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Its name or address means nothing here.
    #[error("host {name}: look up '{address}': {answer}; check the name, or give the address itself")]
    Resolve {
        /// Name of the host in the study.
        name: String,
        /// The name looked up.
        address: String,
        /// Answer of the system.
        answer: String,
    },
    /// None of its addresses led to an agent that serves this controller.
    #[error("host {name}: no agent at {at}: {}", each(.tries))]
    Failed {
        /// Name of the host in the study.
        name: String,
        /// Address at which it was looked for, as given.
        at: String,
        /// Failure at each of its addresses; never empty.
        tries: Vec<(SocketAddr, AttemptError)>,
    },
    /// The command that was to start it did not.
    #[error("host {name}: no host by {at}: {why}")]
    Command {
        /// Name of the host in the study.
        name: String,
        /// The way there, as given.
        at: String,
        /// The failure.
        why: Box<CommandError>,
    },
    /// This machine lacks something that the connection needs.
    #[error("host {name}: {what}: {answer}; raise the limits on open files and processes (ulimit -n, -u)")]
    Local {
        /// Name of the host in the study.
        name: String,
        /// The attempt.
        what: &'static str,
        /// Answer of the system.
        answer: std::io::Error,
    },
}

fn each(tries: &[(SocketAddr, AttemptError)]) -> String {
    let words: Vec<String> = tries.iter().map(|(address, error)| format!("{address}: {error}")).collect();
    words.join("; then ")
}

impl ConnectError {
    /// Returns whether another attempt may fare better: no answer came, or the agent
    /// was busy. A refusal is final.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Resolve { .. } => false,
            Self::Local { .. } => true,
            Self::Command { why, .. } => why.may_pass(),
            Self::Failed { tries, .. } => tries.iter().any(|(_, error)| error.may_pass()),
        }
    }
}
