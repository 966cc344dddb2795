//! The controller's side of a greeting.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::greeting::{AgentId, LONGEST_GREETING};
use model::Family;
use model::frame::Frames;
use model::plan::HostAddress;

use super::link::{Link, LinkError};
use super::pump::{End, silence};
use super::resolve::of_family;
use super::talk::{LOST, Lacking, Talk, pass_frames};
use super::{AttemptError, ConnectError, Connected, Credentials, resolve};

/// Time that each address may take to answer.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Time that a greeting may take, encryption included.
const GREETING_LIMIT: Duration = Duration::from_secs(5);

/// Connects to the agent of host `name`, and returns when it has let this
/// controller in. Every address of a name is tried in turn, each for at most
/// 10 s.
///
/// # Errors
/// See [`ConnectError`].
pub fn connect(name: &str, at: &HostAddress, credentials: &Credentials) -> Result<Connected, ConnectError> {
    connect_over(name, at, None, credentials)
}

/// The same at the addresses of `family` alone, if the name has any.
///
/// # Errors
/// See [`ConnectError`].
pub fn connect_over(name: &str, at: &HostAddress, family: Option<Family>, credentials: &Credentials) -> Result<Connected, ConnectError> {
    let addresses = resolve(&at.address, at.port).map(|all| of_family(all, family)).map_err(|answer| ConnectError::Resolve {
        name: name.to_owned(),
        address: at.address.clone(),
        answer,
    })?;
    let mut tries = Vec::new();
    for address in addresses {
        match attempt(address, &at.address, credentials) {
            Ok(greeted) => return join(name, address, greeted),
            Err(error) => tries.push((address, error)),
        }
    }
    Err(ConnectError::Failed { name: name.to_owned(), at: HostAddress { data: None, ..at.clone() }.to_string(), tries })
}

struct Greeted {
    talk: Talk,
    agent: AgentId,
}

fn attempt(address: SocketAddr, host: &str, credentials: &Credentials) -> Result<Greeted, AttemptError> {
    let socket = TcpStream::connect_timeout(&address, CONNECT_LIMIT).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => AttemptError::NoAnswer(CONNECT_LIMIT),
        _ => AttemptError::Unreachable(error),
    })?;
    let link = Link::new(socket, None).map_err(AttemptError::Broken)?;
    let mut talk = Talk::new(link, Frames::new(LONGEST_GREETING), GREETING_LIMIT, credentials.clone());
    if let Some(identity) = &credentials.tls {
        let tls = identity.connect(host).map_err(|error| AttemptError::Tls(error.to_string()))?;
        talk.link.start_tls(tls);
    }
    let agent = talk.greet(super::is_this_machine(address))?;
    Ok(Greeted { talk, agent })
}

/// Lets a thread pass frames between the connection and the controller.
fn join(name: &str, peer: SocketAddr, greeted: Greeted) -> Result<Connected, ConnectError> {
    let Greeted { talk: Talk { link, frames, credentials, .. }, agent } = greeted;
    let socket = link.socket().ok_or_else(|| io::Error::other("no socket")).and_then(TcpStream::local_addr);
    let local = socket.map_err(|answer| ConnectError::Local { name: name.to_owned(), what: "ask for this end's address", answer })?;
    let cipher = link.cipher();
    let words = move |end: &End| in_words(end, &credentials).map(|words| format!("the agent at {peer}: {words}"));
    let lacks = |lacking: Lacking| ConnectError::Local { name: name.to_owned(), what: lacking.what, answer: lacking.answer };
    let (stream, ended) = pass_frames(link, frames, words).map_err(lacks)?;
    Ok(Connected { stream, local, peer, addresses: Vec::new(), agent, cipher, ended })
}

fn in_words(end: &End, credentials: &Credentials) -> Option<String> {
    Some(match end {
        End::Near => return None,
        End::Far => "it closed the connection; its own log says why".to_owned(),
        End::Silent => format!("nothing came from it for {}; {LOST}", silence()),
        End::Stuck => format!("it took nothing for {}; {LOST}", silence()),
        End::Broken(LinkError::Io(error)) => format!("the connection broke: {error}"),
        End::Broken(LinkError::Tls(error)) => match &credentials.tls {
            Some(identity) => format!("TLS: {}", identity.describe(error, "the agent")),
            None => error.to_string(),
        },
        End::Because(words) => words.clone(),
    })
}
