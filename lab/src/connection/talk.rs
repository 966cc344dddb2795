//! A greeting from the controller's side, and the frames after it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::greeting::{AgentId, Answer, ClientHello, GreetingError, Proof, Verdict, Wants};
use model::frame::{Frames, encode};
use nix::poll::poll;
use serde::Serialize;

use super::link::{Filled, Link, LinkError, timeout};
use super::proof::{Side, Transcript, random};
use super::pump::{End, Pump, Through};
use super::{AttemptError, Credentials, EndReason, tls};
use crate::tool;

/// Something that this machine lacks for a connection.
#[derive(Debug)]
pub(super) struct Lacking {
    /// The attempt.
    pub(super) what: &'static str,
    /// Answer of the system.
    pub(super) answer: io::Error,
}

/// Starts a thread that passes frames between a connection whose greeting is over and
/// the returned stream; `in_words` is called when that has ended, with the connection closed.
pub(super) fn pass_frames(
    link: Link,
    frames: Frames,
    in_words: impl FnOnce(&End) -> Option<String> + Send + 'static,
) -> Result<(UnixStream, EndReason), Lacking> {
    let failed = |what| move |answer| Lacking { what, answer };
    let (stream, near) = UnixStream::pair().map_err(failed("make a pair of sockets"))?;
    near.set_nonblocking(true).map_err(failed("set a socket"))?;
    let to = File::from(OwnedFd::from(near));
    let from = to.try_clone().map_err(failed("duplicate a socket"))?;
    let ended = EndReason::default();
    let reason = ended.clone();
    thread::Builder::new()
        .name("nettoll-wire".to_owned())
        .stack_size(256 << 10)
        .spawn(move || {
            let near = to.try_clone();
            let end = Pump::new(link, &frames.into_rest(), from, to, Through).run();
            if let Some(words) = in_words(&end) {
                let _ = reason.0.set(words);
            }
            // Only now, so that whoever sees the end finds its reason.
            drop(near);
        })
        .map_err(failed("start a thread"))?;
    Ok((stream, ended))
}

/// Possible causes of a connection on which nothing moves.
pub(super) const LOST: &str = "its machine or the path to it is down, it was stopped, or the path drops what is large (an MTU black hole)";

/// Identity of this process as a controller: hosts on one machine know by it that they
/// belong together.
fn controller_id() -> Option<[u8; 16]> {
    static ID: OnceLock<Option<[u8; 16]>> = OnceLock::new();
    *ID.get_or_init(random)
}

/// A connection during its greeting.
pub(super) struct Talk {
    pub(super) link: Link,
    pub(super) frames: Frames,
    pub(super) credentials: Credentials,
    limit: Duration,
    deadline: Instant,
}

impl Talk {
    /// That may take `limit` from now on.
    pub(super) fn new(link: Link, frames: Frames, limit: Duration, credentials: Credentials) -> Self {
        Self { link, frames, credentials, limit, deadline: Instant::now() + limit }
    }

    /// Greets whoever is there; `near` is somebody on this machine.
    pub(super) fn greet(&mut self, near: bool) -> Result<AgentId, AttemptError> {
        let hello = ClientHello::new(tool(), random().ok_or(AttemptError::NoRandom)?).of(controller_id().ok_or(AttemptError::NoRandom)?);
        self.say(&hello)?;
        let answer = Answer::parse(&self.hear("its answer")?).map_err(refused)?;
        match (answer.wants, self.credentials.secret.clone()) {
            (Wants::Proof, None) => return Err(AttemptError::NoSecret),
            (Wants::Nothing, Some(_)) if !(self.credentials.trust_loopback && near) => {
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
            if matches!(poll(&mut self.link.fds(true), timeout(self.deadline)), Ok(0)) && Instant::now() >= self.deadline {
                let awaited = if self.link.is_handshaking() { "the TLS handshake" } else { awaited };
                return Err(AttemptError::Slow { awaited, limit: self.limit });
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
