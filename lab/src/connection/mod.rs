//! The wire between a controller and an agent.
//!
//! ```text
//! RemoteHost == socketpair == pump == TCP, plain or TLS == pump == pipes == __host
//! ```
//!
//! A connection begins with a [greeting](model::greeting), in which each side
//! shows who it is. From then on it carries the frames of a local host's pipes,
//! with beats between them so that either side's death is known within 2 s.

mod certificates;
mod connect;
mod credentials;
mod error;
pub(crate) mod link;
pub(crate) mod proof;
pub(crate) mod pump;
mod resolve;
pub(crate) mod tls;

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};

use model::greeting::AgentId;

pub use certificates::{CertificatesError, Made, make_certificates};
pub use connect::{connect, connect_over};
pub use credentials::{CredentialError, Credentials, Secret, TlsFiles};
pub use error::{AttemptError, ConnectError};
pub use pump::{BEAT_EVERY, SILENCE};
pub use resolve::{literal, resolve};
pub use tls::Identity;

/// A connection to an agent that has let this controller in.
#[derive(Debug)]
pub struct Connected {
    /// Frames of [`ToHost`](model::control::ToHost) in, of
    /// [`FromHost`](model::control::FromHost) out. Dropped, it ends the
    /// connection, and with it all that the agent does for this controller.
    pub stream: UnixStream,
    /// This end of the control connection, scope included.
    pub local: SocketAddr,
    /// The agent's end.
    pub peer: SocketAddr,
    /// Which agent it is.
    pub agent: AgentId,
    /// How the connection is encrypted; `None`: it is not.
    pub cipher: Option<String>,
    /// Why the connection ended, once it did.
    pub ended: Ended,
}

/// Why a connection ended, for whoever sees `stream` end.
#[derive(Debug, Clone, Default)]
pub struct Ended(Arc<OnceLock<String>>);

impl Ended {
    /// In words; `None` while it lasts, or when this side ended it.
    pub fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Whether an address is one that only this machine has.
pub(crate) fn is_this_machine(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
