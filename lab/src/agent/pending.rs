//! Somebody who has connected and is not let in yet.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::greeting::{AgentId, Answer, ClientHello, GreetingError, LONGEST_GREETING, Proof, RefusalMessage, Verdict, Wants};
use crate::hex::Hex;
use model::Nanos;
use model::frame::{Frames, encode};
use nix::poll::PollFd;
use serde::Serialize;

use super::served::Served;
use crate::connection::link::{Filled, Link, LinkError};
use crate::connection::proof::{Side, Transcript, random};
use crate::connection::{Credentials, is_this_machine, tls};
use crate::tool;

/// Time that a greeting may take, encryption included.
pub const GREETING_LIMIT: Duration = Duration::from_secs(5);
/// Time that somebody who was refused has to hear why.
const LEAVING_LIMIT: Duration = Duration::from_secs(1);
/// The first byte of a TLS connection: a handshake record (RFC 8446, 5.1). Of a
/// greeting it is the first byte of a length below 16 MiB: 0.
const TLS_HANDSHAKE: u8 = 22;

/// Identity of the agent, and the terms on which it admits.
#[derive(Debug)]
pub struct Terms {
    /// Identity of the agent.
    pub id: [u8; 16],
    /// Proofs that it asks for.
    pub credentials: Credentials,
    /// The controllers served now.
    pub served: Arc<Served>,
}

impl Terms {
    /// Returns why there is no room for `peer`, if so.
    fn full(&self, peer: SocketAddr) -> Option<GreetingError> {
        self.served.full(source(peer)).map(GreetingError::Busy)
    }
}

/// A connection without trust.
#[derive(Debug)]
pub struct Pending {
    link: Link,
    frames: Frames,
    /// Address that it comes from.
    pub peer: SocketAddr,
    /// When it is sent away.
    pub deadline: Instant,
    /// Identity of the controller's process, once it has said it.
    pub controller: Option<Hex<16>>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// It has said nothing.
    Silent,
    /// Its first message is awaited.
    ClientHello,
    /// Its proof is awaited.
    Proof(Box<(ClientHello, Answer)>),
    /// It was refused and may read why.
    Leaving,
}

/// Next step with one of them.
#[derive(Debug)]
pub enum Outcome {
    /// It has more to say.
    Stays,
    /// It has shown all that was wanted.
    Admitted,
    /// It is refused for this reason, and stays for a moment to read it.
    Refused(String),
    /// It is gone, or has to go.
    Gone(Option<String>),
}

/// Result of a message of one of them.
enum Step {
    More,
    Admit,
    Refuse(RefusalMessage),
}

impl Pending {
    pub fn new(socket: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        let deadline = Instant::now() + GREETING_LIMIT;
        Ok(Self { peer, stage: Stage::Silent, ..Self::over_pipes(Link::new(socket, None)?, &[], deadline) })
    }

    /// A controller on this machine, of which these bytes have come.
    pub fn over_pipes(link: Link, said: &[u8], deadline: Instant) -> Self {
        let (mut frames, peer) = (Frames::new(LONGEST_GREETING), (Ipv6Addr::LOCALHOST, 0).into());
        frames.push(said);
        Self { link, frames, peer, deadline, controller: None, stage: Stage::ClientHello }
    }

    /// What it waits for; never empty.
    pub fn fds(&self) -> Vec<PollFd<'_>> {
        self.link.fds(true)
    }

    /// Its connection and what came over it after its greeting.
    pub fn into_parts(self) -> (Link, Vec<u8>) {
        (self.link, self.frames.into_rest())
    }

    /// Its time is over.
    pub fn expire(&self) -> Outcome {
        Outcome::Gone(match self.stage {
            Stage::Leaving => None,
            Stage::Silent => Some(format!("said nothing for {}", Nanos::from(GREETING_LIMIT))),
            _ => Some(format!("did not end its greeting within {}", Nanos::from(GREETING_LIMIT))),
        })
    }

    /// Goes on with what can be read and written.
    pub fn step(&mut self, terms: &Terms) -> Outcome {
        match self.try_step(terms) {
            Ok(outcome) => outcome,
            Err(_) if matches!(self.stage, Stage::Leaving) => Outcome::Gone(None),
            Err(LinkError::Io(error)) => Outcome::Gone(Some(format!("broke the connection: {error}"))),
            Err(LinkError::Tls(error)) => {
                let why = match &terms.credentials.tls {
                    Some(identity) => identity.describe(&error, "the controller"),
                    None => error.to_string(),
                };
                // The alert is on its way already.
                self.leave();
                Outcome::Refused(format!("TLS: {why}"))
            }
        }
    }

    fn try_step(&mut self, terms: &Terms) -> Result<Outcome, LinkError> {
        if let Stage::Silent = self.stage {
            match self.look(terms)? {
                Outcome::Stays if matches!(self.stage, Stage::Silent) => return Ok(Outcome::Stays),
                Outcome::Stays => {}
                over => return Ok(over),
            }
        }
        let mut bytes = Vec::new();
        let filled = self.link.fill(&mut bytes)?;
        let outcome = match self.stage {
            // Read only so that the connection ends in order.
            Stage::Leaving => Outcome::Stays,
            _ => {
                self.frames.push(&bytes);
                self.listen(terms)?
            }
        };
        self.link.flush()?;
        Ok(match (outcome, filled) {
            (Outcome::Stays, Filled::Closed) => Outcome::Gone(match self.stage {
                Stage::Leaving => None,
                _ => Some("went away before its greeting was over".to_owned()),
            }),
            (outcome, _) => outcome,
        })
    }

    /// Tells by the first byte whether it comes encrypted.
    fn look(&mut self, terms: &Terms) -> Result<Outcome, LinkError> {
        let mut first = [0];
        match self.link.socket().map_or(Ok(1), |socket| socket.peek(&mut first)) {
            Ok(0) => return Ok(Outcome::Gone(None)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Outcome::Stays),
            Err(error) => return Err(error.into()),
        }
        self.stage = Stage::ClientHello;
        match &terms.credentials.tls {
            Some(identity) if first[0] == TLS_HANDSHAKE => self.link.start_tls(identity.accept().map_err(LinkError::Tls)?),
            None if first[0] == TLS_HANDSHAKE => {
                let why = "it speaks TLS, and this agent was given no certificate; start the agent with --tls-cert, --tls-key and --tls-ca";
                return self.refuse(RefusalMessage::new(tool(), why.to_owned()));
            }
            _ => {}
        }
        Ok(Outcome::Stays)
    }

    /// Takes what it has said, as far as it goes.
    fn listen(&mut self, terms: &Terms) -> Result<Outcome, LinkError> {
        loop {
            let frame = match self.frames.take() {
                Ok(None) => return Ok(Outcome::Stays),
                Ok(Some(frame)) => frame,
                Err(error) => return self.refuse(RefusalMessage::new(tool(), format!("it does not speak as a controller does: {error}"))),
            };
            let body = &frame[4..];
            let said = match &self.stage {
                Stage::Proof(said) => check(&self.link, self.peer, terms, said, body).map(|verdict| {
                    self.link.queue(&verdict);
                    Step::Admit
                }),
                _ => self.hello(terms, body),
            };
            match said.unwrap_or_else(|why| Step::Refuse(refusal(why))) {
                Step::More => {}
                Step::Admit => return Ok(Outcome::Admitted),
                Step::Refuse(why) => return self.refuse(why),
            }
        }
    }

    fn hello(&mut self, terms: &Terms, body: &[u8]) -> Result<Step, GreetingError> {
        let hello = ClientHello::parse(body)?;
        self.controller = hello.controller;
        let Credentials { secret, tls, trust_loopback, .. } = &terms.credentials;
        // A tunnel, or a proxy, makes a stranger look like this machine.
        let near = is_this_machine(self.peer) && *trust_loopback;
        if !near && tls.is_some() && self.link.tls().is_none() {
            let why = "this agent talks to holders of a certificate only; give the controller --tls-cert, --tls-key and --tls-ca";
            return Err(GreetingError::Refused(why.to_owned()));
        }
        let wants = if near || secret.is_none() { Wants::Nothing } else { Wants::Proof };
        let Some(nonce) = random() else {
            let why = "this machine gives no random numbers (getrandom), without which nothing can be proved";
            return Err(GreetingError::Refused(why.to_owned()));
        };
        if let (Wants::Nothing, Some(full)) = (wants, terms.full(self.peer)) {
            return Err(full);
        }
        let agent = AgentId { tool: tool().to_owned(), id: Hex(terms.id) };
        let answer = Answer::new(agent, nonce, wants);
        self.link.queue(&frame(&answer)?);
        Ok(match wants {
            Wants::Nothing => {
                self.link.queue(&frame(&Verdict { admitted: true, proof: None })?);
                Step::Admit
            }
            Wants::Proof => {
                self.stage = Stage::Proof(Box::new((hello, answer)));
                Step::More
            }
        })
    }

    fn refuse(&mut self, refusal: RefusalMessage) -> Result<Outcome, LinkError> {
        if let Ok(frame) = encode(&refusal) {
            self.link.queue(&frame);
        }
        self.link.flush()?;
        self.leave();
        Ok(Outcome::Refused(refusal.refused))
    }

    fn leave(&mut self) {
        self.link.close();
        self.stage = Stage::Leaving;
        self.deadline = self.deadline.min(Instant::now() + LEAVING_LIMIT);
    }
}

/// The agent's verdict on a proof, with its own.
fn check(
    link: &Link,
    peer: SocketAddr,
    terms: &Terms,
    (hello, answer): &(ClientHello, Answer),
    body: &[u8],
) -> Result<Vec<u8>, GreetingError> {
    let wrong =
        || GreetingError::Refused("it does not know the agent's secret; use the same file on both machines (--secret-file)".to_owned());
    let secret = terms.credentials.secret.as_ref().ok_or_else(wrong)?;
    let binding = link.tls().map(tls::binding).transpose().map_err(|error| GreetingError::Refused(format!("TLS: {error}")))?;
    let said = Transcript { hello, answer, binding };
    if !said.holds(secret, Side::Controller, &Proof::parse(body)?.proof) {
        return Err(wrong());
    }
    // Only who may come in hears how many are here.
    if let Some(full) = terms.full(peer) {
        return Err(full);
    }
    frame(&Verdict { admitted: true, proof: Some(said.prove(secret, Side::Agent)) })
}

fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>, GreetingError> {
    encode(message).map_err(|error| GreetingError::Refused(error.to_string()))
}

fn refusal(error: GreetingError) -> RefusalMessage {
    let words = match error {
        GreetingError::Busy(words) => return RefusalMessage::busy(tool(), words),
        GreetingError::Foreign(words) => format!("it does not speak as a controller does: {words}"),
        GreetingError::Version { theirs, tool } => {
            let (ours, here) = (model::control::CONTROL_VERSION, crate::tool());
            let there = format!("the controller (nettoll {tool}) speaks version {theirs} of the control protocol");
            format!("{there}, this agent is nettoll {here} with version {ours}: install the same nettoll on both")
        }
        GreetingError::Refused(words) => words,
    };
    RefusalMessage::new(tool(), words)
}

/// Returns the network that a peer counts with: its address, of IPv6 the /64 that
/// one machine usually has to itself.
pub fn source(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}
