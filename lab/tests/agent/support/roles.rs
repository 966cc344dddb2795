//! What this program is when it is started with an argument.

use std::io::Read;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use lab::agent::{Agent, Listen, Settings};
use lab::connection::Credentials;
use lab::host::namespace::Isolation;
use model::control::{FromHost, Limits, ToHost};
use model::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::files::tls_files;
use super::talk::Controller;

/// An agent to be.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AgentSpec {
    pub listen: Vec<SocketAddr>,
    pub secret: Option<PathBuf>,
    /// Directory with the certificates.
    pub tls: Option<PathBuf>,
    pub share: bool,
    pub time: Option<Nanos>,
    pub bytes: Option<Bytes>,
    #[serde(default)]
    pub trust_loopback: bool,
}

/// A controller to be: it asks for its turn and keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ControllerSpec {
    pub agent: SocketAddr,
    /// Whether it starts an endpoint.
    pub start: bool,
}

/// A host as the agent starts it.
pub fn host() -> ExitCode {
    let served = lab::host_process::run("agent", Isolation::None);
    if let Err(error) = &served {
        eprintln!("host: {error}");
    }
    ExitCode::from(u8::from(served.is_err()))
}

/// An endpoint that does nothing until its host ends.
pub fn endpoint() -> ExitCode {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}

/// Serves until standard input ends.
pub fn agent(spec: &str) -> ExitCode {
    let spec: AgentSpec = serde_json::from_str(spec).unwrap();
    let tls = spec.tls.as_deref().map(|directory| tls_files(directory, "agent"));
    let settings = Settings {
        listen: Listen::At(spec.listen),
        credentials: Credentials {
            trust_loopback: spec.trust_loopback,
            ..Credentials::load(spec.secret.as_deref(), tls.as_ref()).unwrap()
        },
        at_once: if spec.share { NonZeroU32::MAX } else { NonZeroU32::MIN },
        limits: Limits { time: spec.time, bytes: spec.bytes },
        data_ports: None,
        endpoints: std::collections::BTreeMap::new(),
    };
    let agent = Agent::open(settings).unwrap();
    println!("{}", serde_json::to_string(agent.addresses()).unwrap());
    agent.serve(std::io::stdin().as_fd()).unwrap();
    ExitCode::SUCCESS
}

/// Says `mine` when it is its turn, then does nothing until its input ends.
pub fn controller(spec: &str) -> ExitCode {
    let spec: ControllerSpec = serde_json::from_str(spec).unwrap();
    let mut controller = Controller::connect(spec.agent, &Credentials::default()).unwrap();
    assert_eq!(controller.ask(&ToHost::Turn), FromHost::Yours { shared: false });
    if spec.start {
        assert_eq!(controller.ask(&ToHost::Start), FromHost::Done);
    }
    println!("mine");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}
