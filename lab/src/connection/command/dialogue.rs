//! The talk with a shell or a nettoll behind a command, until frames can flow.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use crate::greeting::LONGEST_GREETING;
use crate::reach::{Marker, Noise, Ready};
use model::frame::Frames;
use nix::poll::poll;

use super::error::{CommandError, Fault};
use super::program::{self, Source};
use super::started::Started;
use super::{Arrival, LOGIN_LIMIT};
use crate::connection::link::kind;
use crate::connection::link::{Filled, Link, LinkError, timeout};
use crate::threads::Stop;

/// Time in which some of the program must be taken while it is copied.
const STUCK_LIMIT: Duration = Duration::from_secs(30);
/// Time that the host may take to check what was copied, and to start it.
const CHECK_LIMIT: Duration = Duration::from_secs(60);
/// Interval at which it is looked whether anybody still waits.
const STEP: Duration = Duration::from_millis(250);
/// Bytes of the program that are in line at once.
const PIECE: usize = 256 << 10;

/// The talk.
#[derive(Debug)]
pub(super) struct Dialogue {
    /// Dropped before the command: at the end of its input the script there takes away what it
    /// has written.
    link: Link,
    started: Started,
    noise: Noise,
    /// Bytes that came after a marker.
    rest: Vec<u8>,
    /// The program, while it is copied.
    file: Option<Source>,
    copied: bool,
    /// When the host took something last.
    moved: Instant,
    /// Nobody waits for the host any more.
    stop: Stop,
}

impl Dialogue {
    /// Begins with a script; `stop` says when nobody waits for the host any more.
    pub(super) fn new(started: Started, mut link: Link, stop: Stop, script: &str) -> Self {
        link.queue(script.as_bytes());
        Self { started, link, noise: Noise::default(), rest: Vec::new(), file: None, copied: false, moved: Instant::now(), stop }
    }

    /// Returns whether the program was copied.
    pub(super) const fn copied(&self) -> bool {
        self.copied
    }

    /// The command, the connection, and what has come over it already.
    pub(super) fn into_parts(self) -> (Started, Link, Frames) {
        let mut frames = Frames::new(LONGEST_GREETING);
        frames.push(&self.rest);
        (self.started, self.link, frames)
    }

    /// Answers the host until nettoll runs there.
    pub(super) fn until_ready(&mut self, arrival: &Arrival) -> Result<Ready, CommandError> {
        let mut limit = LOGIN_LIMIT;
        loop {
            match self.hear(limit)? {
                Marker::Ready(ready) => return Ok(ready),
                Marker::Need { os, arch, unpacks } if !self.copied => {
                    if (os.as_str(), arch.as_str()) != (OS, std::env::consts::ARCH) {
                        return Err(CommandError::Machine { os, arch });
                    }
                    self.file = Some(self.source(unpacks).map_err(CommandError::Program)?);
                    (self.copied, self.moved, limit) = (true, Instant::now(), CHECK_LIMIT);
                }
                Marker::Failed { fault, detail } => {
                    // Its standard error says more, on a way of its own.
                    let _ = self.started.status_soon();
                    return Err(CommandError::There { fault: Fault::new(&fault, arrival.deploy), detail, said: self.started.said() });
                }
                other => return Err(out_of_turn(other)),
            }
        }
    }

    /// The program, packed where the host unpacks it: the length is then sent before it.
    fn source(&mut self, packed: bool) -> io::Result<Source> {
        if !packed {
            return program::open().map(Source::Plain);
        }
        let bytes = program::packed()?;
        self.link.queue(format!("{}\n", bytes.len()).as_bytes());
        Ok(Source::Packed(bytes))
    }

    /// The host's next marker, if it comes within `limit`; while the program is being
    /// copied that does not count.
    pub(super) fn hear(&mut self, limit: Duration) -> Result<Marker, CommandError> {
        let mut deadline = Instant::now() + limit;
        loop {
            let rest = std::mem::take(&mut self.rest);
            let (taken, marker) = self.noise.take(&rest).map_err(|_| CommandError::Noise)?;
            self.rest = rest[taken..].to_vec();
            if let Some(marker) = marker {
                return Ok(marker);
            }
            self.feed()?;
            if self.is_copying() {
                if self.moved.elapsed() >= STUCK_LIMIT {
                    return Err(CommandError::Stuck { limit: STUCK_LIMIT, said: self.started.said() });
                }
                deadline = Instant::now() + limit;
            }
            if Instant::now() >= deadline {
                return Err(CommandError::Silent { limit, said: self.started.said() });
            }
            if self.stop.is_set() {
                return Err(CommandError::Silent { limit, said: self.started.said() });
            }
            let until = if self.is_copying() { self.moved + STUCK_LIMIT } else { deadline };
            let until = until.min(Instant::now() + STEP);
            // Interrupted, it looks again.
            let _ = poll(&mut self.link.fds(true), timeout(until));
            match self.link.fill(&mut self.rest) {
                Ok(Filled::Closed) => return self.last_words(),
                Ok(_) => {}
                Err(error) => return Err(CommandError::Broken(error.words())),
            }
        }
    }

    /// Sends what the host takes now, of the program as much as it takes.
    fn feed(&mut self) -> Result<(), CommandError> {
        loop {
            if let Some(file) = self.file.as_mut().filter(|_| self.link.backlog() < PIECE / 2) {
                let mut piece = vec![0; PIECE];
                let length = file.read(&mut piece).map_err(CommandError::Program)?;
                self.link.queue(&piece[..length]);
                if length == 0 {
                    self.file = None;
                }
            }
            match self.link.flush() {
                Ok(0) => {}
                Ok(_) => self.moved = Instant::now(),
                // It takes no more; what it said before that is still to be heard.
                Err(LinkError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => {
                    self.file = None;
                    self.link.forget();
                }
                Err(error) => return Err(CommandError::Broken(error.words())),
            }
            if self.file.is_none() || self.link.backlog() > 0 {
                return Ok(());
            }
        }
    }

    /// Returns whether some of the program is still to be sent.
    const fn is_copying(&self) -> bool {
        self.file.is_some() || self.copied && self.link.backlog() > 0
    }

    /// The host has closed its output: a marker may still be among its last bytes.
    fn last_words(&mut self) -> Result<Marker, CommandError> {
        let rest = std::mem::take(&mut self.rest);
        if let Ok((_, Some(marker))) = self.noise.take(&rest) {
            return Ok(marker);
        }
        let status = self.started.status_soon();
        Err(CommandError::Ended { status, said: self.started.said() })
    }
}

/// The system that this program runs on, as `uname -s` says it.
const OS: &str = "Linux";

/// A marker that was not asked for.
pub(super) fn out_of_turn(marker: Marker) -> CommandError {
    match marker {
        Marker::Failed { fault, detail } => CommandError::There { fault: Fault::new(&fault, false), detail, said: Vec::new() },
        other => CommandError::OutOfTurn(kind(&other)),
    }
}
