//! The wire between a controller and an agent.
//!
//! ```text
//! RemoteHost == socketpair == pump == TCP, plain or TLS == pump == pipes == __host
//! RemoteHost == socketpair == pump == pipes of ssh, srun, ... == pump == pipes == __host
//! ```
//!
//! A connection begins with a [greeting](crate::greeting), in which each side
//! shows who it is. From then on it carries the frames of a local host's pipes,
//! with beats between them so that either side's death is known within 2 s.

mod attempt;
mod certificates;
pub mod command;
mod connect;
mod credentials;
mod error;
pub(crate) mod link;
pub(crate) mod proof;
pub(crate) mod pump;
mod resolve;
mod talk;
pub(crate) mod tls;
mod wire;

use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::greeting::AgentId;
use model::plan::CommandHost;

use crate::refusal::Refusal;
use crate::threads::Stop;

pub use attempt::AttemptError;
pub use certificates::{CertificateSet, make_certificates};
pub use command::{Arrival, CommandError};
pub use connect::{connect, connect_over};
pub use credentials::{Secret, TlsFiles};
pub use error::ConnectError;
pub use pump::{BEAT_EVERY, SILENCE};
pub use resolve::{literal, resolve};
pub use tls::Identity;

/// Proofs to be let in, and to know whom one talks to. Empty, only a
/// peer on the same machine will do.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// Known to both sides alone.
    pub secret: Option<Secret>,
    /// Certificates, checked by both sides.
    pub tls: Option<Identity>,
    /// `true` if a peer on the same machine needs neither. Whoever comes through a
    /// tunnel or a proxy on this machine is such a peer.
    pub trust_loopback: bool,
    /// How nettoll comes to hosts that a command starts, which need no proof: the command's
    /// own is theirs.
    pub arrival: Arrival,
}

impl Credentials {
    /// The same for whoever may give up waiting for a login.
    pub(crate) fn until(&self, stop: &Stop) -> Self {
        Self { arrival: Arrival { stop: stop.clone(), ..self.arrival.clone() }, ..self.clone() }
    }

    /// Reads what the files hold.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn load(secret: Option<&Path>, tls: Option<&TlsFiles>) -> Result<Self, Refusal> {
        Ok(Self {
            secret: secret.map(Secret::load).transpose()?,
            tls: tls.map(Identity::load).transpose()?,
            trust_loopback: false,
            arrival: Arrival::default(),
        })
    }

    /// Returns whether they say nothing, so that only this machine can be served.
    pub const fn is_empty(&self) -> bool {
        self.secret.is_none() && self.tls.is_none()
    }
}

/// A connection to an agent that has let this controller in.
#[derive(Debug)]
pub struct Connected {
    /// Frames of [`ToHost`](model::control::ToHost) in, of
    /// [`FromHost`](model::control::FromHost) out. Dropped, it ends the
    /// connection, and with it all that the agent does for this controller.
    pub stream: UnixStream,
    /// This end of the control connection, scope included.
    pub local: SocketAddr,
    /// The agent's end; of a host behind a command its likeliest address, port 0.
    pub peer: SocketAddr,
    /// All addresses that a host behind a command says it has, the likeliest first;
    /// none of an agent.
    pub addresses: Vec<IpAddr>,
    /// Identity of the agent.
    pub agent: AgentId,
    /// Cipher of the connection; `None` without encryption.
    pub cipher: Option<String>,
    /// Reason for the end of the connection, once it ended.
    pub ended: EndReason,
}

/// Reason for the end of a connection, for the reader of `stream`.
#[derive(Debug, Clone, Default)]
pub struct EndReason(Arc<OnceLock<String>>);

impl EndReason {
    /// In words; `None` while it lasts, or when this side ended it.
    pub fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Starts host `name` by a command, and returns when its nettoll has answered.
///
/// # Errors
/// See [`ConnectError`].
pub fn start(name: &str, host: &CommandHost, credentials: &Credentials) -> Result<Connected, ConnectError> {
    let failed = |why| ConnectError::Command { name: name.to_owned(), at: host.transport.to_string(), why: Box::new(why) };
    command::connect(host, &credentials.arrival).map_err(failed)
}

/// Returns whether an address is one that only this machine has.
pub(crate) fn is_this_machine(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
