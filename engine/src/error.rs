//! The ways in which a trial fails at one end.

use std::io;
use std::time::Duration;

use model::{Nanos, Protocol};

use crate::channel::ChannelError;

/// A trial that failed at this end.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The host cannot be heard or told any more.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A step with a socket failed.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// A user's own program did not keep to the contract.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A traffic thread could not do its work.
    #[error("traffic: {0}")]
    Traffic(#[from] io::Error),
    /// The host asked for something out of turn.
    #[error("expected {expected}, got another message")]
    OutOfTurn {
        /// The message that should have come.
        expected: &'static str,
    },
    /// The host asked for the impossible.
    #[error("the task cannot be carried out: {0}")]
    Task(String),
    /// The trial took longer than the host allows.
    #[error("the trial took longer than the {limit} that its host allows one; shorten it, or raise the limit there")]
    TooLong {
        /// The time that is allowed.
        limit: Nanos,
    },
    /// A loop did not end.
    #[error("the traffic did not end within {} after it was to end: does the other end still read?", Nanos::from(*limit))]
    Stuck {
        /// The time that was waited.
        limit: Duration,
    },
}

/// A user's own program that made its trial fail.
#[derive(Debug, thiserror::Error)]
#[error("the program '{command}': {did}; `nettoll endpoint check` tries it step by step")]
pub struct ProgramError {
    command: &'static str,
    did: String,
}

impl ProgramError {
    /// What it `did`, in words.
    pub fn new(program: model::Program, did: String) -> Self {
        Self { command: program.command(), did }
    }
}

/// A step with a socket that failed.
#[derive(Debug, thiserror::Error)]
#[error("{tried}: {answer}{remedy}")]
pub struct SocketError {
    tried: String,
    answer: io::Error,
    remedy: String,
}

impl SocketError {
    /// The system's `answer` to what was `tried`, with a remedy where the errno has one.
    pub fn new(tried: impl Into<String>, answer: io::Error) -> Self {
        let remedy = match answer.raw_os_error() {
            Some(libc::EADDRINUSE) => "; end what uses this port, or choose another",
            Some(libc::EADDRNOTAVAIL) => "; this host has no such address: check the link and its family",
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => {
                "; there is no route to the other host, or a firewall refuses it: check the link"
            }
            Some(libc::ECONNREFUSED) => "; nothing listens there: the other end may have died, or a firewall refuses the port",
            Some(libc::EAFNOSUPPORT) => "; this kernel lacks that address family: `nettoll doctor` says more",
            Some(libc::EMFILE | libc::ENFILE) => "; raise the limit on open files (ulimit -n)",
            _ => "",
        };
        Self { tried: tried.into(), answer, remedy: remedy.to_owned() }
    }

    /// Nothing came through within `limit`, though the control connection stands.
    pub fn unheard(tried: impl Into<String>, what: &str, limit: Duration, port: u16, protocol: Protocol) -> Self {
        let answer = io::Error::new(io::ErrorKind::TimedOut, format!("{what} within {}", Nanos::from(limit)));
        let remedy = format!("; control works, data does not: does a firewall between the hosts let {protocol} port {port} through?");
        Self { tried: tried.into(), answer, remedy }
    }
}
