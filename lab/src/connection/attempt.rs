//! Reasons why one address of an agent, or what a command started, would not serve.

use std::path::PathBuf;
use std::time::Duration;

use model::Nanos;
use model::control::CONTROL_VERSION;

/// One address of an agent that did not serve.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// Nobody listens there, or nothing leads there.
    #[error("{0}; is `nettoll agent` running there, and does a firewall let its port through?")]
    Unreachable(std::io::Error),
    /// No answer to the attempt to connect.
    #[error("no answer for {}; check the address, the route and firewalls on the way", Nanos::from(*.0))]
    NoAnswer(Duration),
    /// It does not speak as an agent does.
    #[error("what listens there is no nettoll agent: {0}; check the port")]
    Foreign(String),
    /// It went away in the middle.
    #[error("it closed the connection while {0} was awaited; its own log says why")]
    Closed(&'static str),
    /// It took too long.
    #[error("it took more than {} for {awaited}; it may be flooded, or the path too slow", Nanos::from(*limit))]
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
    pub(super) const fn may_pass(&self) -> bool {
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
