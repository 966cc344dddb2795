//! The controller's side of a greeting.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use model::Family;
use model::frame::{Frames, encode};
use model::greeting::{AgentId, Answer, ClientHello, GreetingError, LONGEST_GREETING, Proof, Verdict, Wants};
use model::plan::HostAddress;
use nix::poll::{PollFd, poll};
use serde::Serialize;

use super::link::{Filled, Link, LinkError, timeout};
use super::proof::{Side, Transcript, random};
use super::pump::{End, Pump, Through, silence};
use super::resolve::of_family;
use super::{AttemptError, ConnectError, Connected, Credentials, Ended, resolve, tls};
use crate::tool;

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
    let mut talk =
        Talk { link, frames: Frames::new(LONGEST_GREETING), deadline: Instant::now() + GREETING_LIMIT, credentials: credentials.clone() };
    if let Some(identity) = &credentials.tls {
        let tls = identity.connect(host).map_err(|error| AttemptError::Tls(error.to_string()))?;
        talk.link.start_tls(tls);
    }
    let agent = talk.greet(address)?;
    Ok(Greeted { talk, agent })
}

/// Lets a thread pass frames between the connection and the controller.
fn join(name: &str, peer: SocketAddr, greeted: Greeted) -> Result<Connected, ConnectError> {
    let failed = |what| move |answer| ConnectError::Local { name: name.to_owned(), what, answer };
    let Greeted { talk: Talk { link, frames, credentials, .. }, agent } = greeted;
    let local = link.socket().local_addr().map_err(failed("ask for this end's address"))?;
    let cipher = link.cipher();
    let (stream, near) = UnixStream::pair().map_err(failed("make a pair of sockets"))?;
    near.set_nonblocking(true).map_err(failed("set a socket"))?;
    let to = File::from(OwnedFd::from(near));
    let from = to.try_clone().map_err(failed("duplicate a socket"))?;
    let ended = Ended::default();
    let reason = ended.clone();
    thread::Builder::new()
        .name("nettoll-wire".to_owned())
        .stack_size(256 << 10)
        .spawn(move || {
            let near = to.try_clone();
            let end = Pump::new(link, &frames.into_rest(), from, to, Through).run();
            if let Some(words) = in_words(&end, &credentials) {
                let _ = reason.0.set(format!("the agent at {peer}: {words}"));
            }
            // Only now, so that whoever sees the end finds its reason.
            drop(near);
        })
        .map_err(failed("start a thread"))?;
    Ok(Connected { stream, local, peer, agent, cipher, ended })
}

/// Possible causes of a connection on which nothing moves.
const LOST: &str = "its machine or the path to it is down, it was stopped, or the path drops what is large (an MTU black hole)";

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

/// A connection during its greeting.
struct Talk {
    link: Link,
    frames: Frames,
    deadline: Instant,
    credentials: Credentials,
}

impl Talk {
    fn greet(&mut self, peer: SocketAddr) -> Result<AgentId, AttemptError> {
        let hello = ClientHello::new(tool(), random().ok_or(AttemptError::NoRandom)?);
        self.say(&hello)?;
        let answer = Answer::parse(&self.hear("its answer")?).map_err(refused)?;
        match (answer.wants, self.credentials.secret.clone()) {
            (Wants::Proof, None) => return Err(AttemptError::NoSecret),
            (Wants::Nothing, Some(_)) if !(self.credentials.trust_loopback && super::is_this_machine(peer)) => {
                return Err(AttemptError::Unproved);
            }
            (Wants::Nothing, _) => {
                Verdict::parse(&self.hear("its verdict")?).map_err(refused)?;
            }
            (Wants::Proof, Some(secret)) => {
                let binding = self.link.tls().map(tls::binding).transpose().map_err(|error| AttemptError::Tls(error.to_string()))?;
                let said = Transcript { hello: &hello, answer: &answer, binding };
                self.say(&Proof { proof: said.prove(&secret, Side::Controller) })?;
                let verdict = Verdict::parse(&self.hear("its verdict")?).map_err(refused)?;
                let proved = verdict.proof.is_some_and(|proof| said.holds(&secret, Side::Agent, &proof));
                if !proved {
                    return Err(AttemptError::WrongSecret(secret.file().to_owned()));
                }
            }
        }
        Ok(answer.agent)
    }

    fn say<T: Serialize>(&mut self, message: &T) -> Result<(), AttemptError> {
        let frame = encode(message).map_err(|error| AttemptError::Broken(io::Error::other(error)))?;
        self.link.queue(&frame);
        Ok(())
    }

    /// The body of the next frame; sends what is in line meanwhile.
    fn hear(&mut self, awaited: &'static str) -> Result<Vec<u8>, AttemptError> {
        let mut closed = false;
        loop {
            if let Some(frame) = self.frames.take().map_err(|error| AttemptError::Foreign(error.to_string()))? {
                return Ok(frame[4..].to_vec());
            }
            if closed {
                return Err(AttemptError::Closed(if self.link.is_handshaking() { "the end of the TLS handshake" } else { awaited }));
            }
            self.flush()?;
            let mut fds = [PollFd::new(self.link.as_fd(), self.link.interest())];
            if matches!(poll(&mut fds, timeout(self.deadline)), Ok(0)) && Instant::now() >= self.deadline {
                let awaited = if self.link.is_handshaking() { "the TLS handshake" } else { awaited };
                return Err(AttemptError::Slow { awaited, limit: GREETING_LIMIT });
            }
            let mut bytes = Vec::new();
            closed = self.link.fill(&mut bytes).map_err(|error| self.broken(error))? == Filled::Closed;
            self.frames.push(&bytes);
        }
    }

    fn flush(&mut self) -> Result<(), AttemptError> {
        match self.link.flush() {
            // Closed there; what was said before that is still to be heard.
            Err(LinkError::Io(error)) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => Ok(()),
            Err(error) => Err(self.broken(error)),
            Ok(_) => Ok(()),
        }
    }

    fn broken(&self, error: LinkError) -> AttemptError {
        match (error, &self.credentials.tls) {
            (LinkError::Tls(error), Some(identity)) => AttemptError::Tls(identity.describe(&error, "the agent")),
            (LinkError::Tls(error), None) => AttemptError::Tls(error.to_string()),
            (LinkError::Io(error), _) => AttemptError::Broken(error),
        }
    }
}

fn refused(error: GreetingError) -> AttemptError {
    match error {
        GreetingError::Foreign(words) => AttemptError::Foreign(words),
        GreetingError::Version { theirs, tool } => AttemptError::Version { theirs, tool },
        GreetingError::Refused(words) => AttemptError::Refused(words),
        GreetingError::Busy(words) => AttemptError::Busy(words),
    }
}
