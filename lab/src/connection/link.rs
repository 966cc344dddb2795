//! One connection, plain or encrypted, that never blocks.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use nix::poll::{PollFd, PollTimeout, poll};

use super::wire::Wire;

/// Bytes read, and bytes encrypted, at a time.
const PIECE: usize = 16 << 10;

/// A connection that cannot go on.
#[derive(Debug)]
pub(crate) enum LinkError {
    Io(io::Error),
    Tls(rustls::Error),
}

impl LinkError {
    /// In words, without advice.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Io(error) => error.to_string(),
            Self::Tls(error) => error.to_string(),
        }
    }
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        // What the encryption refuses comes wrapped from some of its calls.
        match error.downcast::<rustls::Error>() {
            Ok(error) => Self::Tls(error),
            Err(error) => Self::Io(error),
        }
    }
}

/// Result of an attempt to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    /// Something came, if only a part of a record.
    Some,
    /// There is nothing for now.
    Nothing,
    /// The other side closed the connection.
    Closed,
}

/// A connection with what waits to be sent on it.
#[derive(Debug)]
pub(crate) struct Link {
    wire: Wire,
    tls: Option<Box<rustls::Connection>>,
    /// Not yet encrypted where it will be, not yet sent where not.
    out: Vec<u8>,
}

impl Link {
    /// Over a connected socket.
    pub(crate) fn new(socket: TcpStream, tls: Option<rustls::Connection>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // A control message is small and is waited for.
        socket.set_nodelay(true)?;
        Ok(Self { wire: Wire::Socket(socket), tls: tls.map(Box::new), out: Vec::new() })
    }

    /// Over the two pipes of a process, which must not block.
    pub(crate) const fn over_pipes(from: File, to: File) -> Self {
        Self { wire: Wire::Pipes { from, to: Some(to) }, tls: None, out: Vec::new() }
    }

    /// The socket; `None` of pipes.
    pub(crate) const fn socket(&self) -> Option<&TcpStream> {
        match &self.wire {
            Wire::Socket(socket) => Some(socket),
            Wire::Pipes { .. } => None,
        }
    }

    /// Encrypts from now on.
    pub(crate) fn start_tls(&mut self, tls: rustls::Connection) {
        self.tls = Some(Box::new(tls));
    }

    pub(crate) fn tls(&self) -> Option<&rustls::Connection> {
        self.tls.as_deref()
    }

    /// Returns whether certificates are still being checked.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Returns how it is encrypted, if it is.
    pub(crate) fn cipher(&self) -> Option<String> {
        let suite = self.tls.as_ref()?.negotiated_cipher_suite()?;
        Some(format!("{:?}", suite.suite()))
    }

    /// Puts bytes in line to be sent.
    pub(crate) fn queue(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Forgets what is in line: nobody takes it any more.
    pub(crate) fn forget(&mut self) {
        self.out.clear();
    }

    /// Bytes in line.
    pub(crate) const fn backlog(&self) -> usize {
        self.out.len()
    }

    /// Returns whether anything waits to be sent.
    pub(crate) fn wants_write(&self) -> bool {
        match &self.tls {
            Some(tls) => tls.wants_write() || !self.out.is_empty() && !tls.is_handshaking(),
            None => !self.out.is_empty(),
        }
    }

    /// What it waits for: bytes where it is to `listen`, and room for what is in line.
    pub(crate) fn fds(&self, listen: bool) -> Vec<PollFd<'_>> {
        self.wire.fds(listen, self.wants_write())
    }

    /// Sends what the other side takes now; returns how many bytes that was.
    pub(crate) fn flush(&mut self) -> Result<usize, LinkError> {
        let mut sent = 0;
        loop {
            let step = match &mut self.tls {
                Some(tls) if tls.wants_write() => tls.write_tls(&mut self.wire),
                Some(tls) if !tls.is_handshaking() && !self.out.is_empty() => {
                    let taken = tls.writer().write(&self.out[..self.out.len().min(PIECE)])?;
                    self.out.drain(..taken);
                    continue;
                }
                None if !self.out.is_empty() => self.wire.write(&self.out).inspect(|sent| drop(self.out.drain(..*sent))),
                _ => return Ok(sent),
            };
            match step {
                Ok(0) => return Err(io::Error::from(ErrorKind::WriteZero).into()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(sent),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes what has come, one piece at most.
    pub(crate) fn fill(&mut self, into: &mut Vec<u8>) -> Result<Filled, LinkError> {
        let read = match &mut self.tls {
            Some(tls) => tls.read_tls(&mut self.wire),
            None => {
                let mut piece = [0; PIECE];
                self.wire.read(&mut piece).inspect(|length| into.extend_from_slice(&piece[..*length]))
            }
        };
        match read {
            Ok(0) => return Ok(Filled::Closed),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(Filled::Nothing),
            Err(error) => return Err(error.into()),
        }
        let Some(tls) = &mut self.tls else { return Ok(Filled::Some) };
        if let Err(error) = tls.process_new_packets() {
            // The other side is to hear why, if it still listens.
            let _ = tls.write_tls(&mut self.wire);
            return Err(LinkError::Tls(error));
        }
        match tls.reader().read_to_end(into) {
            // Nothing more for now; or the end, which the next piece tells.
            Ok(_) => Ok(Filled::Some),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::UnexpectedEof) => Ok(Filled::Some),
            Err(error) => Err(error.into()),
        }
    }

    /// Says that nothing more will come.
    pub(crate) fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        let _ = self.flush();
        self.wire.close();
    }

    /// Reads and forgets what still comes, until the other side ends or the
    /// deadline. To be called after [`Link::close`]: the kernel answers bytes
    /// that nobody read with a reset, and that takes the last words away from
    /// the other side.
    pub(crate) fn drain(&mut self, deadline: Instant) {
        let mut piece = [0; PIECE];
        while Instant::now() < deadline {
            match self.wire.read(&mut piece) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Interrupted, it looks again.
                    let _ = poll(&mut self.wire.fds(true, false), timeout(deadline));
                }
                Err(_) => return,
            }
        }
    }
}

/// Timeout of `poll` until a moment, rounded up, so that a wait never ends early
/// and spins.
pub(crate) fn timeout(until: Instant) -> PollTimeout {
    let left = until.saturating_duration_since(Instant::now());
    let millis = left.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32;
    PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
}

/// The kind of a message in words, without what it holds: `Endpoint(Progress(..))` is an
/// `endpoint progress`.
pub(crate) fn kind(message: &impl std::fmt::Debug) -> String {
    let whole = format!("{message:?}");
    let names = whole.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '(').next().unwrap_or_default();
    names.split('(').filter(|name| !name.is_empty()).map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}
