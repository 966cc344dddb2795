//! Reasons why an agent could not be reached, or would not serve.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use model::control::CONTROL_VERSION;

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
    /// Returns whether another attempt may fare better: nobody answered, or the agent
    /// was busy. A refusal is final.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Resolve { .. } => false,
            Self::Local { .. } => true,
            Self::Failed { tries, .. } => tries.iter().any(|(_, error)| error.may_pass()),
        }
    }
}

/// One address of an agent that did not serve.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// Nobody listens there, or nothing leads there.
    #[error("{0}; is `nettoll agent` running there, and does a firewall let its port through?")]
    Unreachable(std::io::Error),
    /// No answer to the attempt to connect.
    #[error("no answer for {0:?}; check the address, the route and firewalls on the way")]
    NoAnswer(Duration),
    /// It does not speak as an agent does.
    #[error("what listens there is no nettoll agent: {0}; check the port")]
    Foreign(String),
    /// It went away in the middle.
    #[error("it closed the connection while {0} was awaited; its own log says why")]
    Closed(&'static str),
    /// It took too long.
    #[error("it took more than {limit:?} for {awaited}; it may be flooded, or the path too slow")]
    Slow {
        /// The expected message.
        awaited: &'static str,
        /// Time waited.
        limit: Duration,
    },
    /// It speaks another version.
    #[error(
        "the agent (nettoll {tool}) speaks version {theirs} of the control protocol, this is nettoll {} with version {CONTROL_VERSION}: \
         install the same nettoll on both",
        crate::tool()
    )]
    Version {
        /// Its version.
        theirs: u64,
        /// The version of the tool there, made fit to print.
        tool: String,
    },
    /// It wants a secret and there is none here.
    #[error("the agent asks for its secret; give the file that holds the same one with --secret-file FILE")]
    NoSecret,
    /// It wants no proof though there is a secret here.
    #[error(
        "a secret was given, but the agent asks for none and so has not shown that it knows it; \
         start the agent with --secret-file, leave the secret out here, or give --trust-loopback for an agent on this machine"
    )]
    Unproved,
    /// Its proof is wrong.
    #[error("the agent does not know the secret in {0}; use the same file on both machines")]
    WrongSecret(PathBuf),
    /// The certificates do not hold.
    #[error("TLS: {0}")]
    Tls(String),
    /// It refused, and says why.
    #[error("the agent refused: {0}")]
    Refused(String),
    /// It has no room for another controller now, and says so.
    #[error("the agent is busy: {0}")]
    Busy(String),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(std::io::Error),
    /// This machine gave no random bytes.
    #[error("this machine gives no random numbers (getrandom), without which nothing can be proved")]
    NoRandom,
}

impl AttemptError {
    const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::NoAnswer(_)
                | Self::Closed(_)
                | Self::Slow { .. }
                | Self::Busy(_)
                | Self::Broken(_)
                | Self::NoRandom
        )
    }
}
