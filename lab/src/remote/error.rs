//! Hosts that did not do what they were asked.

use std::net::IpAddr;
use std::time::Duration;

use engine::channel::ChannelError;
use model::Family;
use model::control::CONTROL_VERSION;

use crate::connection::ConnectError;

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
        /// Name of the host.
        name: String,
        /// The reason.
        answer: ChannelError,
    },
    /// Its agent cannot be heard or told any more.
    #[error("host {name}: the agent at {at} was lost, and with it the trial at hand: {why}; see whether it still runs, and the network")]
    AgentLost {
        /// Name of the host.
        name: String,
        /// Address of its agent.
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
    /// The link cannot be made here, and nothing can take its place.
    #[error("making the link '{link}': {refusals}")]
    NoLink {
        /// The link.
        link: String,
        /// The attempts, the system's answers and remedies.
        refusals: String,
    },
    /// Its endpoint failed or died.
    #[error("endpoint on host {name}: {error}")]
    Endpoint {
        /// Name of the host.
        name: String,
        /// The failure.
        error: String,
    },
    /// The control connections work and neither end says that it found the other.
    #[error(
        "{error}; both hosts answer on their control connections, so a firewall between {from} and {to} may drop what the trial sends: \
         let it pass, or give it a port that passes with --data-port"
    )]
    NotJoined {
        /// Address of one end.
        from: String,
        /// Address of the other.
        to: String,
        /// Answer of the ends.
        error: Box<Self>,
    },
    /// The system has no random numbers for the trial's cookie.
    #[error("drawing the trial's cookie (getrandom): {answer}; run nettoll where the system's random numbers can be read")]
    NoRandom {
        /// Answer of the system.
        answer: getrandom::Error,
    },
    /// The controller's own clock cannot be read.
    #[error("reading the clock (clock_gettime CLOCK_MONOTONIC): {0}; does a sandbox forbid it?")]
    NoClock(nix::errno::Errno),
    /// Neither end said anything in time.
    #[error("neither end of the trial said anything for {limit:?}, waiting for {awaited}; a stopped process, or a machine far too busy?")]
    Silent {
        /// The expected message.
        awaited: &'static str,
        /// Time waited.
        limit: Duration,
    },
    /// The trial took longer than any may.
    #[error("the trial was not over after {limit:?}, waiting for {awaited}; a path far slower than thought? Ask for less in one trial")]
    OverTime {
        /// The expected message.
        awaited: &'static str,
        /// Time limit of a trial of this plan.
        limit: Duration,
    },
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
            Self::Connect(ConnectError::Resolve { .. }) | Self::Path(PathError::Data { .. }) => true,
            Self::Connect(error) => error.may_pass(),
            other => matches!(other, Self::Lost { .. } | Self::AgentLost { .. }),
        }
    }
}

/// Two hosts between which no trial can be run.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// A host has no address of a family that the plan needs.
    #[error(
        "the plan has cells over {family}, but host {name} is known as {known} only; \
         name its address of that family (--host {name}=ADDRESS, or data=ADDRESS behind a comma), or leave those cells out (-4, -6)"
    )]
    Family {
        /// Name of the host.
        name: String,
        /// The family that is missing.
        family: Family,
        /// The address that is known.
        known: IpAddr,
    },
    /// The address behind `data=` leads nowhere.
    #[error("host {name}: look up data={data}: {answer}; name an address of that host")]
    Data {
        /// Name of the host.
        name: String,
        /// As given.
        data: String,
        /// Answer of the system.
        answer: String,
    },
    /// Nobody knows which link is meant.
    #[error(
        "host {name} is known as {address}, which means something only on a link of its own, and both hosts are other machines: \
         name addresses that each can reach (data=ADDRESS)"
    )]
    LinkLocal {
        /// Name of the host.
        name: String,
        /// Its address.
        address: IpAddr,
    },
    /// The address is translated on the way.
    #[error(
        "host {name} was reached at {address}, but it has no such address itself: something translates addresses on the way; \
         name the address that it has and the other can reach (data=ADDRESS), without translation between them"
    )]
    NotItsOwn {
        /// Name of the host.
        name: String,
        /// The address.
        address: IpAddr,
    },
    /// One of the hosts takes the other for itself.
    #[error(
        "host {near} reaches {address} over its own loopback device, but host {far}, which was to be there, is elsewhere; \
         name an address of host {far} that others can reach"
    )]
    HalfLoopback {
        /// The host that was asked.
        near: String,
        /// The other.
        far: String,
        /// The other's address as it was thought to be.
        address: IpAddr,
    },
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
