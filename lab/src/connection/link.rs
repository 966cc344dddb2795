//! One connection, plain or encrypted, that never blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Bytes read, and bytes encrypted, at a time.
const PIECE: usize = 16 << 10;

/// A connection that cannot go on.
#[derive(Debug)]
pub(crate) enum LinkError {
    Io(io::Error),
    Tls(rustls::Error),
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
    socket: TcpStream,
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
        Ok(Self { socket, tls: tls.map(Box::new), out: Vec::new() })
    }

    pub(crate) const fn socket(&self) -> &TcpStream {
        &self.socket
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

    /// Event that it waits for.
    pub(crate) fn interest(&self) -> PollFlags {
        if self.wants_write() { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN }
    }

    /// Sends what the other side takes now; returns how many bytes that was.
    pub(crate) fn flush(&mut self) -> Result<usize, LinkError> {
        let mut sent = 0;
        loop {
            let step = match &mut self.tls {
                Some(tls) if tls.wants_write() => tls.write_tls(&mut self.socket),
                Some(tls) if !tls.is_handshaking() && !self.out.is_empty() => {
                    let taken = tls.writer().write(&self.out[..self.out.len().min(PIECE)])?;
                    self.out.drain(..taken);
                    continue;
                }
                None if !self.out.is_empty() => self.socket.write(&self.out).inspect(|sent| drop(self.out.drain(..*sent))),
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
            Some(tls) => tls.read_tls(&mut self.socket),
            None => {
                let mut piece = [0; PIECE];
                self.socket.read(&mut piece).inspect(|length| into.extend_from_slice(&piece[..*length]))
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
            let _ = tls.write_tls(&mut self.socket);
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
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Reads and forgets what still comes, until the other side ends or the
    /// deadline. To be called after [`Link::close`]: the kernel answers bytes
    /// that nobody read with a reset, and that takes the last words away from
    /// the other side.
    pub(crate) fn drain(&mut self, deadline: Instant) {
        let mut piece = [0; PIECE];
        while Instant::now() < deadline {
            match self.socket.read(&mut piece) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
                    // Interrupted, it looks again.
                    let _ = poll(&mut fds, timeout(deadline));
                }
                Err(_) => return,
            }
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Timeout of `poll` until a moment, rounded up, so that a wait never ends early
/// and spins.
pub(crate) fn timeout(until: Instant) -> PollTimeout {
    let left = until.saturating_duration_since(Instant::now());
    let millis = left.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32;
    PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)
}
